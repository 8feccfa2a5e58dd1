"""RFC 9743 section 7.7: packet reordering."""

from __future__ import annotations

from dumbbell.judge.description import above, greedy, line
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743

_BEFORE = "links[sender->router].forward.qdisc"


def _trial(request: JudgeRequest) -> Trial:
    name = request.name
    expectations = [
        Expectation(
            f"early-{percent}",
            f"{name} gets half of the link or more where {percent} % of its packets are 10 ms "
            "ahead of the others",
            "flow[bulk].goodput_bps",
            above("10mbit"),
            {_BEFORE: f"netem limit 10000 delay 10ms reorder {percent}%"},
            f"{percent} % ahead",
        )
        for percent in request.cells([1, 10], [50])
    ]
    document = {
        "duration": "60s",
        "warm_up": "10s",
        "links": line(),
        "flows": [greedy("bulk", request.controller)],
    }
    return Trial(document, expectations)


REORDERING = Section(
    id="reordering",
    suite=RFC_9743,
    reference="7.7",
    title="Reordering",
    short="Reordering",
    question="What is left of the rate where packets overtake each other?",
    trouble="where packets overtake each other",
    drawn=SectionFigure("goodput_bps", "goodput"),
    trial=_trial,
    not_covered="How much is the controller's and how much the sender's loss detection (RACK, "
    "RFC 8985), which is our TCP's.",
)
