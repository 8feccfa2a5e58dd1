"""nsperf's ecn_bulk: 1 to 100 flows at 1 Gbit/s and 1 ms, with marks above 242 microseconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell.judge.description import above, at_least, at_most, below
from dumbbell.judge.nsperf.network import NSPERF, START_JITTER, bulk, delay_only, links
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial

_RTT_MS = 1
_START_GAP_MS = 5
_MOST_AGAIN = 0.01
_BOTTLENECK = """
root handle 1: htb default 11
class add parent 1: classid 1:11 htb rate 1000mbit ceil 1000mbit
parent 1:11 handle 20: codel ce_threshold 242us limit 1000 target 100ms
"""


def _trial(request: JudgeRequest) -> Trial:
    expectations = []
    for flows in request.cells([1, 10, 100], [4, 40]):
        jitter = f"{_START_GAP_MS * (flows - 1)}ms" if flows > 1 else START_JITTER
        where = {"flows[bulk].count": flows, "flows[bulk].start_jitter": jitter}
        whose = f"{flows} flows of {request.name}" if flows > 1 else f"one flow of {request.name}"
        expectations += [
            Expectation(
                f"srtt-{flows}",
                f"The median smoothed round trip of {whose} is below {2 * _RTT_MS} ms where marks "
                "say that packets wait more than 242 us",
                "flows[bulk].srtt_p50_s",
                below(f"{2 * _RTT_MS}ms"),
                where,
                f"{flows} flow{'s' if flows > 1 else ''}",
            ),
            Expectation(
                f"again-{flows}",
                f"At most {100 * _MOST_AGAIN:g} % of the packets of {whose} are sent again there",
                "flows[bulk].retransmitted_share",
                at_most(_MOST_AGAIN),
                where,
            ),
            *_also_named(flows, whose, where),
        ]
    way = links(delay_only(_RTT_MS), _RTT_MS)
    way[-1]["b"] = "ifb"
    document = {
        "duration": "10s",
        "sample_interval": "100ms",
        "links": [*way, {"a": "ifb", "b": "receiver", "forward": {"qdisc": _BOTTLENECK}}],
        "flows": [bulk("bulk", request.controller, count=1, tcp={"ecn": True})],
    }
    return Trial(document, expectations)


def _also_named(flows: int, whose: str, where: Mapping[str, Any]) -> Iterator[Expectation]:
    """Quantities that run_tests.sh names and its graphs leave out: p95, throughput, fairness."""
    yield Expectation(
        f"srtt-p95-{flows}",
        f"95 % of the smoothed round trips of {whose} are below {4 * _RTT_MS} ms there",
        "flows[bulk].srtt_p95_s",
        below(f"{4 * _RTT_MS}ms"),
        where,
    )
    yield Expectation(
        f"goodput-{flows}",
        f"{whose[0].upper()}{whose[1:]} {'together get' if flows > 1 else 'gets'} half of 1 Gbit/s "
        "or more there",
        "flows[bulk].total_goodput_bps",
        above("500mbit"),
        where,
    )
    if flows > 1:
        yield Expectation(
            f"jain-{flows}",
            f"{whose[0].upper()}{whose[1:]} have Jain's index 0.8 or more there",
            "flows[bulk].jain_index",
            at_least(0.8),
            where,
        )


ECN_BULK = Section(
    id="nsperf-ecn-bulk",
    suite=NSPERF,
    reference="ecn_bulk",
    title="Many flows and early marks",
    short="",
    question="Do marks above 242 us keep the queue short where 1 to 100 flows share 1 Gbit/s over "
    "1 ms?",
    trouble="where marks are meant to keep queues short",
    drawn=SectionFigure("srtt_p50_s", "median smoothed round trip"),
    trial=_trial,
    not_covered="A host that hands over packets as they come (the receiver's ifb is a hop here), "
    "and "
    "starts exactly 5 ms apart.",
)
