"""CCPerf's single flow: one greedy flow on a path that does not change."""

from __future__ import annotations

from dumbbell.judge.ccperf.network import (
    CCPERF,
    DELAY,
    MBIT,
    RATE,
    RTT_MS,
    delay_of,
    experiment,
    greedy_flow,
    lost,
)
from dumbbell.judge.description import BUSY, at_least
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial


def _trial(request: JudgeRequest) -> Trial:
    expectations = []
    for mbit, rtt_ms in request.cells([(MBIT, RTT_MS), (MBIT, 60)], [(4, RTT_MS), (64, RTT_MS)]):
        where = {RATE: f"{mbit}mbit", DELAY: delay_of(rtt_ms)}
        label = f"{mbit} Mbit/s, {rtt_ms} ms"
        expectations += [
            Expectation(
                f"busy-{mbit}mbit-{rtt_ms}ms",
                f"One flow of {request.name} keeps the bottleneck 80 % busy or more at {label}",
                BUSY,
                at_least(0.8),
                where,
                label,
            ),
            lost(f"{mbit}mbit-{rtt_ms}ms", f"One flow of {request.name} at {label}", where),
        ]
    return Trial(experiment([greedy_flow("flow_1", request.controller)]), expectations)


SINGLE_FLOW = Section(
    id="ccperf-single-flow",
    suite=CCPERF,
    reference="single_flow",
    title="One flow on a path that does not change",
    short="",
    question="What does one greedy flow do in steady state on a path with a FIFO of 20 packets?",
    trouble="on paths with a small FIFO",
    drawn=SectionFigure("utilization", "busy"),
    trial=_trial,
    not_covered="Which rates and round trips CCPerf runs: its page does not say.",
)
