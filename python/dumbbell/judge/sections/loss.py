"""RFC 9743 section 5.1.3: what is the loss rate of several flows?"""

from __future__ import annotations

from dumbbell.judge.description import DROPPED, QDISC, at_most, bdp_words, fifo, greedy, line
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743


def _trial(request: JudgeRequest) -> Trial:
    cells = request.cells(
        [(2, 0.5), (4, 0.5), (4, 1), (4, 4)], [(2, 1), (2, 4), (16, 0.5), (16, 1), (16, 4)]
    )
    expectations = [
        Expectation(
            f"lost-{flows}-{bdps}bdp",
            f"{flows} flows of {request.name} in a buffer of {bdp_words(bdps)} lose at most 5 % of "
            "their packets",
            DROPPED,
            at_most(0.05),
            {"flows[bulk].count": flows, QDISC: fifo(bdps)},
            f"{flows} flows, {bdp_words(bdps)}",
        )
        for flows, bdps in cells
    ]
    document = {
        "duration": "60s",
        "warm_up": "10s",
        "links": line(),
        "flows": [greedy("bulk", request.controller, count=2)],
    }
    return Trial(document, expectations)


LOSS = Section(
    id="loss",
    suite=RFC_9743,
    reference="5.1.3",
    title="High packet loss",
    short="High loss",
    question="How much do several flows lose that share a buffer?",
    trouble="where several flows share a small buffer",
    drawn=SectionFigure("loss_ratio", "dropped"),
    trial=_trial,
    not_covered="More than 16 flows, and loss at the start alone: the first ten seconds are not "
    "counted.",
)
