"""RFC 9743 section 7.4: very slow links."""

from __future__ import annotations

from dumbbell.judge.description import BUSY, DROPPED, LINK, at_least, at_most, greedy, line
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743


def _trial(request: JudgeRequest) -> Trial:
    name = request.name
    expectations = []
    for rate, shown in request.cells(
        [("128kbit", "128 kbit/s"), ("1mbit", "1 Mbit/s")], [("32kbit", "32 kbit/s")]
    ):
        where = {f"{LINK}.forward.rate": rate}
        expectations += [
            Expectation(
                f"busy-{rate}",
                f"{name} keeps a link of {shown} 85 % busy or more",
                BUSY,
                at_least(0.85),
                where,
                shown,
            ),
            Expectation(
                f"lost-{rate}",
                f"{name} loses at most 10 % of its packets on a link of {shown}",
                DROPPED,
                at_most(0.1),
                where,
            ),
        ]
    document = {
        "duration": "120s",
        "warm_up": "40s",
        "links": line(delay="100ms", qdisc="pfifo limit 10"),
        "flows": [greedy("bulk", request.controller)],
    }
    return Trial(document, expectations)


SLOW = Section(
    id="slow",
    suite=RFC_9743,
    reference="7.4",
    title="Very slow links",
    short="Slow links",
    question="Does it work where the link carries a few packets a second and the queue has room "
    "for ten?",
    trouble="on very slow links",
    drawn=SectionFigure("utilization", "busy"),
    trial=_trial,
    not_covered="Power, memory and processor time of constrained nodes.",
)
