"""nsperf's random_loss: one flow at 1 Gbit/s and 100 ms with random loss."""

from __future__ import annotations

from dumbbell.judge.description import above
from dumbbell.judge.nsperf.network import FORWARD, NSPERF, bulk, links, netem
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial

_MBIT = 1000
_RTT_MS = 100
_BDPS = 1
_QUICK_PERCENT = ("0.001", "0.1", "1", "3")
_MORE_PERCENT = ("0.00001", "0.0001", "0.01", "0.2", "0.5", "2", "10", "15", "20")
_DESIGN_PERCENT = 2.0
"""Loss that BBR tolerates since version 2 (draft-ietf-ccwg-bbr, BBR.LossThresh)."""


def _trial(request: JudgeRequest) -> Trial:
    expectations = []
    for percent in request.cells(_QUICK_PERCENT, _MORE_PERCENT):
        share = "half" if float(percent) <= _DESIGN_PERCENT else "a hundredth"
        bound = _MBIT / 2 if float(percent) <= _DESIGN_PERCENT else _MBIT / 100
        expectations.append(
            Expectation(
                f"loss-{percent}",
                f"{request.name} gets {share} of 1 Gbit/s or more where {percent} % of packets are "
                "lost at random",
                "flow[bulk].goodput_bps",
                above(f"{bound:g}mbit"),
                {FORWARD: netem(_MBIT, _RTT_MS, _BDPS, percent)},
                f"{percent} % lost",
            )
        )
    document = {
        "duration": "60s",
        "links": links(netem(_MBIT, _RTT_MS, _BDPS, _QUICK_PERCENT[0]), _RTT_MS),
        "flows": [bulk("bulk", request.controller)],
    }
    return Trial(document, expectations)


RANDOM_LOSS = Section(
    id="nsperf-random-loss",
    suite=NSPERF,
    reference="random_loss",
    title="Random loss on a fast, long path",
    short="",
    question="What is left of 1 Gbit/s over a round trip of 100 ms where packets are lost at "
    "random?",
    trouble="where fast, long paths lose packets at random",
    drawn=SectionFigure("goodput_bps", "goodput"),
    trial=_trial,
    not_covered="Losses in bursts. At less than 0.001 % a run has a loss or none: means of few "
    "runs say "
    "little.",
)
