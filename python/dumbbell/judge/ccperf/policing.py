"""CCPerf's traffic policing: a token bucket whose tokens run out."""

from __future__ import annotations

from dumbbell.judge.ccperf.network import CCPERF, experiment, greedy_flow, lost
from dumbbell.judge.description import LINK, above
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial

_FRAME_BYTES = 1514
_QUEUE_PKTS = 20
_FORWARD = f"{LINK}.forward"


def _token_bucket(mbit: int, burst_bytes: int = 125_000) -> str:
    """The bucket of ns-3, with its queue in packets as on Linux (see docs/traffic-policing.md)."""
    limit_bytes = _QUEUE_PKTS * _FRAME_BYTES
    return (
        f"root handle 1: tbf rate {mbit}mbit burst {burst_bytes}b peakrate 1gbit "
        f"mtu {_FRAME_BYTES}b limit {limit_bytes}b ; "
        f"parent 1:1 handle 10: pfifo limit {_QUEUE_PKTS}"
    )


def _trial(request: JudgeRequest) -> Trial:
    expectations = []
    for mbit in request.cells([4], [8, 12]):
        where = {_FORWARD: {"qdisc": _token_bucket(mbit)}}
        told = f"{request.name} behind a token bucket of {mbit} Mbit/s"
        expectations += [
            Expectation(
                f"goodput-{mbit}mbit",
                f"{told} gets 80 % of it or more",
                "flow[flow_1].goodput_bps",
                above(f"{0.8 * mbit:g}mbit"),
                where,
                f"{mbit} Mbit/s",
            ),
            lost(f"{mbit}mbit", told, where),
        ]
    described = experiment([greedy_flow("flow_1", request.controller)])
    described["links"][-1]["forward"] = {"qdisc": _token_bucket(4)}
    return Trial(described, expectations)


POLICING = Section(
    id="ccperf-policing",
    suite=CCPERF,
    reference="policing",
    title="A token bucket whose tokens run out",
    short="",
    question="What does one flow do when the tokens of a bucket run out, and the rate falls from "
    "1 Gbit/s to the policing rate?",
    trouble="behind a token bucket",
    drawn=SectionFigure("goodput_bps", "goodput"),
    trial=_trial,
    not_covered="Whether CCPerf's own numbers come out: the study traffic-policing compares its "
    "experiment 56 with an ensemble, in the profile of the RFCs; here it is Linux's TCP. Despite "
    "its name the bucket is a shaper: packets without tokens wait.",
)
