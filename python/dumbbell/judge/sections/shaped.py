"""RFC 9743 section 6.3: wired paths with a policer or a shaper."""

from __future__ import annotations

from dumbbell.judge.description import LINK, QDISC, above, at_most, greedy, line
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743


def _trial(request: JudgeRequest) -> Trial:
    name = request.name
    bursts = request.cells(["100kb"], ["20kb", "500kb"])
    expectations = []
    for burst in bursts:
        where = {f"{LINK}.forward.police": f"police rate 10mbit burst {burst} drop"}
        expectations += [
            Expectation(
                f"policed-{burst}",
                f"{name} gets 60 % or more of the 10 Mbit/s that a policer with a burst of "
                f"{burst} lets through",
                "flow[bulk].goodput_bps",
                above("6mbit"),
                where,
                f"policer, burst {burst}",
            ),
            Expectation(
                f"policed-loss-{burst}",
                f"A policer with a burst of {burst} drops at most 5 % of the packets of {name}",
                "flow[bulk].loss_ratio",
                at_most(0.05),
                where,
            ),
        ]
    expectations.append(
        Expectation(
            "shaped",
            f"{name} gets 90 % or more of the 10 Mbit/s of a shaper (tbf) of 100 kB",
            "flow[bulk].goodput_bps",
            above("9mbit"),
            {QDISC: "tbf rate 10mbit burst 20kb limit 100kb"},
            "shaper",
        )
    )
    document = {
        "duration": "60s",
        "warm_up": "20s",
        "links": line(),
        "flows": [greedy("bulk", request.controller)],
    }
    return Trial(document, expectations)


SHAPED = Section(
    id="shaped",
    suite=RFC_9743,
    reference="6.3",
    title="Policers and shapers",
    short="Policers",
    question="How much of the rate that is sold does one flow get behind a policer and a shaper?",
    trouble="behind a policer",
    drawn=SectionFigure("goodput_bps", "goodput"),
    trial=_trial,
    not_covered="Policers of an operator, whose settings are not published.",
)
