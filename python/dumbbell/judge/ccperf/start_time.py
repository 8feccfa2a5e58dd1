"""CCPerf's start-time fairness: equal paths, and a second flow that starts later."""

from __future__ import annotations

from dumbbell.judge.ccperf.network import CCPERF, experiment, greedy_flow, lost
from dumbbell.judge.description import above
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial


def _trial(request: JudgeRequest) -> Trial:
    expectations = []
    for later_s in request.cells([5], [1, 10]):
        where = {"flows[flow_2].start": f"{later_s}s", "duration": f"{2 * later_s + 15}s"}
        told = f"A flow of {request.name} that starts {later_s} s after another one"
        expectations += [
            Expectation(
                f"later-{later_s}s",
                f"{told} gets 4 of 16 Mbit/s or more from then on",
                "flow[flow_2].goodput_bps",
                above("4mbit"),
                where,
                f"{later_s} s later",
            ),
            lost(f"{later_s}s", told, where),
        ]
    flows = [
        greedy_flow("flow_1", request.controller),
        greedy_flow("flow_2", request.controller, start="5s"),
    ]
    return Trial(experiment(flows), expectations)


START_TIME = Section(
    id="ccperf-start-time",
    suite=CCPERF,
    reference="start_time",
    title="A flow that starts later",
    short="",
    question="What does a flow get that starts when another one of its controller has the "
    "bottleneck?",
    trouble="where flows start at different times",
    drawn=SectionFigure("goodput_bps", "goodput of the later flow"),
    trial=_trial,
    not_covered="More than two flows. The rows of each flow are means over the time it is on, so "
    "that those of the first include the time alone.",
)
