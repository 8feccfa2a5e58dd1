"""CCPerf's RTT fairness: flows whose paths have different propagation delays."""

from __future__ import annotations

from dumbbell.judge.ccperf.network import CCPERF, RECORDED, RTT_MS, experiment, greedy_flow, lost
from dumbbell.judge.description import above
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial

_BASE_RTT_MS = 60


def _trial(request: JudgeRequest) -> Trial:
    expectations = []
    for rtt_ms in request.cells([30, 60], [120]):
        where = {"links[far->router].delay": f"{(rtt_ms - RTT_MS) / 2:g}ms"}
        told = f"A flow of {request.name} with {rtt_ms} ms beside one with {RTT_MS} ms"
        expectations += [
            Expectation(
                f"far-{rtt_ms}ms",
                f"{told} gets 2 of 16 Mbit/s or more",
                "flow[flow_2].goodput_bps",
                above("2mbit"),
                where,
                f"{rtt_ms} ms",
            ),
            lost(f"{rtt_ms}ms", told, where),
        ]
    flows = [
        greedy_flow("flow_1", request.controller),
        {**greedy_flow("flow_2", request.controller), "from": "far"},
    ]
    described = experiment(flows)
    far = {
        "a": "far",
        "b": "router",
        "delay": f"{(_BASE_RTT_MS - RTT_MS) / 2:g}ms",
        "forward": dict(RECORDED),
        "reverse": dict(RECORDED),
    }
    return Trial({**described, "links": [*described["links"], far]}, expectations)


RTT = Section(
    id="ccperf-rtt",
    suite=CCPERF,
    reference="rtt",
    title="Flows with different round trips",
    short="",
    question="What does a flow with a longer round trip get beside one with 15 ms?",
    trouble="where flows have different round trips",
    drawn=SectionFigure("goodput_bps", "goodput of the farther flow"),
    trial=_trial,
    not_covered="More than two flows, and which round trips CCPerf runs: its page does not say.",
)
