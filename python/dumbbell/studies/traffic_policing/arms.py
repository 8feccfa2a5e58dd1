"""The experiments of the study: the source's, those of Linux, and the ensemble around each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from dumbbell.spec import Experiment
from dumbbell.spec.ccperf import BOTTLENECK, Policing, read_command
from dumbbell.studies.traffic_policing import published

FLOW = "flow_1"
QUEUE = BOTTLENECK
SOURCE_ARM = "NewReno (rfc)"
LINUX = ("reno", "cubic", "bbr")
"""Controllers of Linux 6.1 that the simulator has too."""
POLICE_BURST_BYTES = 125_000
_PACKET_BYTES = 1502
_PACKET_NS = 3_004_000
"""Of a full packet at the policing rate, PPP's two bytes included."""


@dataclass(frozen=True, slots=True)
class Member:
    """One member of the ensemble: how it differs from the source's settings.

    Attributes:
        rtt_factor: Times the base round-trip time.
        burst_packets: Full packets more in the bucket.
        start_ns: Start of the flow, at most one packet time.
    """

    rtt_factor: float = 1.0
    burst_packets: int = 0
    start_ns: int = 0


def ensemble(per_axis: int) -> tuple[Member, ...]:
    """The declared ensemble, the source's own settings first.

    Base RTT +-1 %, burst +-1 packet, start later by up to a packet time: a grid with so many
    values of each, the ends included.

    Args:
        per_axis: Odd, 3 or more.
    """
    middle = per_axis // 2
    steps = [(place - middle) / middle for place in range(per_axis)]
    grid = [
        Member(1 + 0.01 * rtt, burst, round(_PACKET_NS * (1 + start) / 2))
        for rtt, burst, start in product(steps, (-1, 0, 1), steps)
    ]
    nominal = Member()
    return (nominal, *(member for member in grid if member != nominal))


def source() -> Policing:
    """The experiment of the source's command."""
    return read_command(published.COMMAND)[0]


def linux(controller: str) -> Policing:
    """The same bottleneck and path with Linux's TCP; headers as on an Ethernet."""
    base = source()
    flow = replace(base.flows[0], tcp={"profile": "linux-6.1", "congestion_control": controller})
    return replace(base, name=f"traffic_policing_{controller}", flows=(flow,), overhead="ethernet")


def policed(policing: Policing) -> Policing:
    """With Linux's policer in place of the shaper: no queue, what has no token is dropped."""
    police = f"police rate {policing.policing_rate_bps}bit burst {POLICE_BURST_BYTES}b drop"
    rate = f"{policing.peak_rate_bps}bit"
    end: dict[str, Any] = {"rate": rate, "qdisc": "pfifo limit 1000", "police": police}
    return replace(policing, name=f"{policing.name}_police", bottleneck=end)


def member_of(policing: Policing, member: Member) -> Experiment:
    """A member of the ensemble around an experiment."""
    flow = policing.flows[0]
    moved = replace(
        flow,
        rtt_ns=2 * round(flow.rtt_ns * member.rtt_factor / 2),
        start_ns=flow.start_ns + member.start_ns,
    )
    burst = policing.burst_bytes + member.burst_packets * _PACKET_BYTES
    return replace(policing, flows=(moved,), burst_bytes=burst).experiment()


def sweeps() -> Iterator[tuple[str, str, list[tuple[float, dict[str, int]]]]]:
    """(name, axis title, points): each point its x and the fields of `Policing` it changes."""
    bursts = (3_000, 15_000, 30_000, 62_500, 125_000, 250_000, 500_000, 1_000_000)
    yield "burst", "Burst of the bucket (kB)", [(b / 1e3, {"burst_bytes": b}) for b in bursts]
    rates = (1, 2, 4, 8, 16, 32, 64)
    yield (
        "rate",
        "Policing rate (Mbit/s)",
        [(rate, {"policing_rate_bps": rate * 10**6}) for rate in rates],
    )
    rtts = (2, 5, 10, 15, 30, 60, 120, 240)
    yield "rtt", "Base round-trip time (ms)", [(rtt, {"rtt_ns": rtt * 10**6}) for rtt in rtts]


def swept(policing: Policing, change: dict[str, int]) -> Experiment:
    """An experiment with one parameter changed; packets are not recorded."""
    fields: dict[str, Any] = dict(change)
    flows = policing.flows
    if "rtt_ns" in fields:
        flows = tuple(replace(flow, rtt_ns=fields["rtt_ns"]) for flow in flows)
        del fields["rtt_ns"]
    return replace(policing, flows=flows, record_packets=False, **fields).experiment()
