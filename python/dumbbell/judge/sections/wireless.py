"""RFC 9743 section 6.4: losses that are not caused by congestion."""

from __future__ import annotations

from dumbbell.judge.description import LINK, above, greedy, line
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743


def _trial(request: JudgeRequest) -> Trial:
    expectations = [
        Expectation(
            f"loss-{loss}",
            f"{request.name} gets half of the link or more where {100 * loss:g} % of packets are "
            "lost at random",
            "flow[bulk].goodput_bps",
            above("10mbit"),
            {f"{LINK}.forward.loss": loss},
            f"{100 * loss:g} % lost",
        )
        for loss in request.cells([0.0001, 0.001, 0.01], [0.02, 0.05])
    ]
    document = {
        "duration": "60s",
        "warm_up": "10s",
        "links": line(),
        "flows": [greedy("bulk", request.controller)],
    }
    return Trial(document, expectations)


WIRELESS = Section(
    id="wireless",
    suite=RFC_9743,
    reference="6.4",
    title="Random loss, as on radio links",
    short="Random loss",
    question="What is left of the rate where packets are lost at random?",
    trouble="where radio links lose packets",
    drawn=SectionFigure("goodput_bps", "goodput"),
    trial=_trial,
    not_covered="Losses in bursts, retransmission by the link, and media access.",
)
