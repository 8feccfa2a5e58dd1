"""nsperf's bufferbloat: two flows with buffers of 1 to 100 BDP."""

from __future__ import annotations

from dumbbell.judge.description import bdp_words, below
from dumbbell.judge.nsperf.network import FORWARD, NSPERF, bulk, links, netem
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial

_MBIT = 50
_RTT_MS = 30
_BDPS = (1, 10, 50, 100)


def _trial(request: JudgeRequest) -> Trial:
    expectations = [
        Expectation(
            f"srtt-{name}-{bdps}bdp",
            f"The {name} of two flows of {request.name} has a median smoothed round trip below "
            f"{2 * _RTT_MS} ms in a buffer of {bdp_words(bdps)}",
            f"flow[{name}].srtt_p50_s",
            below(f"{2 * _RTT_MS}ms"),
            {FORWARD: netem(_MBIT, _RTT_MS, bdps)},
            bdp_words(bdps) if name == "first" else "",
        )
        for bdps in _BDPS
        for name in ("first", "second")
    ]
    document = {
        "duration": "120s",
        "sample_interval": "100ms",
        "links": links(netem(_MBIT, _RTT_MS, _BDPS[0]), _RTT_MS),
        "flows": [
            bulk("first", request.controller),
            bulk("second", request.controller, start="2s"),
        ],
    }
    return Trial(document, expectations)


BUFFERBLOAT = Section(
    id="nsperf-bufferbloat",
    suite=NSPERF,
    reference="bufferbloat",
    title="Two flows in a deep buffer",
    short="",
    question="How long is the round trip of two flows, at 50 Mbit/s and 30 ms, in buffers of 1 to "
    "100 BDP?",
    trouble="where buffers are deep",
    drawn=SectionFigure("srtt_p50_s", "median smoothed round trip of the first"),
    trial=_trial,
    not_covered="nsperf's one median of both flows' samples: here each flow has its own.",
)
