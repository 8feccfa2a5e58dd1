"""nsperf's shallow: 1 to 100 flows at 1 Gbit/s and 100 ms with a buffer of 2 ms."""

from __future__ import annotations

from dumbbell.judge.description import at_most
from dumbbell.judge.nsperf.network import NSPERF, START_JITTER, bulk, links, netem
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial

_MBIT = 1000
_RTT_MS = 100
_BDPS = 0.02
_START_GAP_MS = 139
_MOST_AGAIN = 0.05


def _trial(request: JudgeRequest) -> Trial:
    expectations = []
    for flows in request.cells([1, 10], [30, 60, 100]):
        jitter = f"{_START_GAP_MS * (flows - 1)}ms" if flows > 1 else START_JITTER
        told = f"{flows} flows of {request.name} send" if flows > 1 else f"{request.name} sends"
        expectations.append(
            Expectation(
                f"again-{flows}",
                f"{told} at most {100 * _MOST_AGAIN:g} % of packets again in a buffer of 2 ms",
                "flows[bulk].retransmitted_share",
                at_most(_MOST_AGAIN),
                {"flows[bulk].count": flows, "flows[bulk].start_jitter": jitter},
                f"{flows} flow{'s' if flows > 1 else ''}",
            )
        )
    document = {
        "duration": "300s",
        "links": links(netem(_MBIT, _RTT_MS, _BDPS), _RTT_MS),
        "flows": [bulk("bulk", request.controller, count=1)],
    }
    return Trial(document, expectations)


SHALLOW = Section(
    id="nsperf-shallow",
    suite=NSPERF,
    reference="shallow",
    title="Many flows in a shallow buffer",
    short="",
    question="How much is sent again where 1 Gbit/s over 100 ms has a buffer of 2 ms?",
    trouble="where a fast, long path has a small buffer",
    drawn=SectionFigure("retransmitted_share", "sent again"),
    trial=_trial,
    not_covered="Starts 139 ms apart: each flow starts at random in the time that nsperf takes to "
    "start "
    "all of them.",
)
