"""RFC 9743 section 7.8: transient congestion and outages."""

from __future__ import annotations

from dumbbell.judge.description import BUSY, LINK, at_least, greedy, line
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743


def _trial(request: JudgeRequest) -> Trial:
    name = request.name
    expectations = [
        Expectation(
            "crowd-gone",
            f"Ten seconds after a flood of 15 Mbit/s over 10 s {name} keeps the link 85 % busy "
            "or more",
            BUSY,
            at_least(0.85),
            {"warm_up": "40s"},
            "after a flood",
        ),
        Expectation(
            "outage-over",
            f"Ten seconds after an outage of 3 s {name} keeps the link 85 % busy or more",
            BUSY,
            at_least(0.85),
            {
                "warm_up": "33s",
                "flows[flood].stop": "20001ms",
                f"{LINK}.forward.changes": [
                    {"at": "20s", "loss": 1.0},
                    {"at": "23s", "loss": 0.0},
                ],
            },
            "after an outage",
        ),
    ]
    flood = {
        "name": "flood",
        "from": "sender",
        "to": "receiver",
        "start": "20s",
        "stop": "30s",
        "source": {"kind": "cbr", "rate": "1250pps", "size": "1472B", "size_at": "payload"},
    }
    document = {
        "duration": "60s",
        "warm_up": "40s",
        "links": line(),
        "flows": [greedy("bulk", request.controller), flood],
    }
    return Trial(document, expectations)


TRANSIENT = Section(
    id="transient",
    suite=RFC_9743,
    reference="7.8",
    title="Transient events",
    short="Transients",
    question="Does it recover from a flood of other traffic, and from an outage?",
    trouble="where congestion and outages come and go",
    drawn=SectionFigure("utilization", "busy"),
    trial=_trial,
    not_covered="What happens in the first seconds of the event, and mobility with a change of "
    "address.",
)
