"""RFC 9743 section 5.1.2: how large is its standing queue in a deep buffer?"""

from __future__ import annotations

from dumbbell.judge.description import (
    QDISC,
    RTT_MS,
    SOJOURN,
    bdp_words,
    below,
    fifo,
    greedy,
    line,
)
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743


def _trial(request: JudgeRequest) -> Trial:
    expectations = [
        Expectation(
            f"queue-{bdps}bdp",
            f"With one flow of {request.name} the mean sojourn time is less than one round trip "
            f"({RTT_MS} ms) in a buffer of {bdp_words(bdps)}",
            SOJOURN,
            below(f"{RTT_MS}ms"),
            {QDISC: fifo(bdps)},
            bdp_words(bdps),
        )
        for bdps in request.cells([4, 16], [64])
    ]
    document = {
        "duration": "60s",
        "warm_up": "20s",
        "links": line(),
        "flows": [greedy("bulk", request.controller)],
    }
    return Trial(document, expectations)


BUFFERBLOAT = Section(
    id="bufferbloat",
    suite=RFC_9743,
    reference="5.1.2",
    title="Bufferbloat",
    short="Bufferbloat",
    question="Does one flow keep a deep buffer full, so that all others wait?",
    trouble="where buffers are deep",
    drawn=SectionFigure("mean_sojourn_s", "waiting time in the queue, mean"),
    trial=_trial,
    not_covered="Standard Reno and CUBIC fill any buffer, too, as the RFC says itself: a failure "
    "here "
    "is no reason against a controller that is no worse.",
)
