"""RFC 9743 section 6.1: drop-tail queues from a quarter of a BDP to 64 of them."""

from __future__ import annotations

from dumbbell.judge.description import (
    BUSY,
    DROPPED,
    QDISC,
    at_least,
    at_most,
    bdp_words,
    fifo,
    greedy,
    line,
)
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743


def _trial(request: JudgeRequest) -> Trial:
    expectations = []
    for bdps in request.cells([0.25, 1, 16], [0.5, 2, 4, 8, 32, 64]):
        where = {QDISC: fifo(bdps)}
        expectations += [
            Expectation(
                f"busy-{bdps}bdp",
                f"One flow of {request.name} keeps the link 85 % busy or more with a buffer of "
                f"{bdp_words(bdps)}",
                BUSY,
                at_least(0.85),
                where,
                bdp_words(bdps),
            ),
            Expectation(
                f"lost-{bdps}bdp",
                f"One flow of {request.name} loses at most 1 % of its packets with a buffer of "
                f"{bdp_words(bdps)}",
                DROPPED,
                at_most(0.01),
                where,
            ),
        ]
    document = {
        "duration": "60s",
        "warm_up": "20s",
        "links": line(),
        "flows": [greedy("bulk", request.controller)],
    }
    return Trial(document, expectations)


TAIL_DROP = Section(
    id="tail-drop",
    suite=RFC_9743,
    reference="6.1",
    title="Drop-tail queues",
    short="Drop-tail",
    question="Does one flow use the link with a buffer of any size, and what does it lose?",
    trouble="where a drop-tail buffer has the wrong size for it",
    drawn=SectionFigure("utilization", "busy"),
    trial=_trial,
    not_covered="Rates other than 20 Mbit/s and round trips other than 40 ms (but see slow and "
    "long "
    "paths).",
)
