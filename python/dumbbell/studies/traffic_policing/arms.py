"""The experiments of the study: the source's, those of Linux, and the ensembles around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product, starmap
from typing import Any

from dumbbell.claims import Setting
from dumbbell.spec import Experiment
from dumbbell.spec.ccperf import BOTTLENECK, Policing, read_command
from dumbbell.studies.traffic_policing import published

FLOW = "flow_1"
QUEUE = BOTTLENECK
SOURCE_ARM = "NewReno (rfc)"
LINUX = ("reno", "cubic", "bbr")
"""Controllers of Linux 6.1 that the simulator also has."""
POLICE_BURST_BYTES = 125_000
PACKET_BYTES = 1502
_PACKET_NS = 3_004_000
"""Transmission time of a full packet at the policing rate, with PPP's two bytes."""


@dataclass(frozen=True, slots=True)
class Choices:
    """Parameters that the source does not give and a reader must choose.

    Attributes:
        access_rate: Rate of the sender's link, in tc syntax.
        initial_window_pkts: RFC 6928's ten, four (RFC 3390 allows four of 1095 bytes,
            and three of 1448), RFC 2581's two.
        is_ack_delayed: Whether every second segment is acknowledged, or each.
        has_sack: Whether selective acknowledgements are used.
        min_rto: Minimum retransmission timeout: RFC 6298's second, or Linux's 200 ms.
    """

    access_rate: str = "10gbit"
    initial_window_pkts: int = 10
    is_ack_delayed: bool = False
    has_sack: bool = True
    min_rto: str = "1s"

    @property
    def setting(self) -> Setting:
        """Return the value of each choice by name, in readable form."""
        return {
            "access rate": self.access_rate,
            "initial window": f"{self.initial_window_pkts} segments",
            "acknowledged": "every second segment" if self.is_ack_delayed else "every segment",
            "SACK": "on" if self.has_sack else "off",
            "least timeout": self.min_rto,
        }

    def of(self, policing: Policing) -> Policing:
        """Return an experiment with these choices."""
        chosen = {
            "initial_window": self.initial_window_pkts,
            "delayed_ack": self.is_ack_delayed,
            "sack": self.has_sack,
            "min_rto": self.min_rto,
        }
        flows = tuple(replace(flow, tcp={**flow.tcp, **chosen}) for flow in policing.flows)
        return replace(policing, flows=flows, access_rate=self.access_rate)


NS3_DEFAULTS = Choices()
"""Defaults of ns-3 3.37, except for acknowledgements (every second segment there)."""
OPEN = (
    NS3_DEFAULTS,
    *(
        choices
        for choices in starmap(
            Choices,
            product(
                ("10gbit", "1gbit", "100mbit"),
                (10, 4, 2),
                (False, True),
                (True, False),
                ("1s", "200ms"),
            ),
        )
        if choices != NS3_DEFAULTS
    ),
)
"""Every combination of plausible choices."""


@dataclass(frozen=True, slots=True)
class Jitter:
    """Small variations of an ensemble member that no source would specify.

    Attributes:
        rtt_factor: Factor of the base round-trip time.
        burst_packets: Additional full packets in the bucket.
        start_ns: Start of the flow, at most one transmission time.
    """

    rtt_factor: float = 1.0
    burst_packets: int = 0
    start_ns: int = 0

    @classmethod
    def at(cls, place: int) -> Jitter:
        """Return no jitter at place 0, then points of a low-discrepancy sequence.

        Base RTT +-1 %, burst +-1 packet, start later by up to a packet time. Additive recurrence
        with the powers of the root of x^4 = x + 1, the three-dimensional golden ratio.
        """
        if not place:
            return cls()
        rtt, burst, start = (place * step % 1.0 for step in _STEPS)
        return cls(1 + 0.01 * (2 * rtt - 1), int(3 * burst) - 1, int(start * _PACKET_NS))


_ROOT = 1.2207440846057596
_STEPS = (1 / _ROOT, 1 / _ROOT**2, 1 / _ROOT**3)


@dataclass(frozen=True, slots=True)
class Member:
    """One member of an ensemble."""

    jitter: Jitter
    choices: Choices | None = None
    """The parameters that the source does not give; None if there are none."""

    def of(self, policing: Policing) -> Experiment:
        """Return the experiment of this member."""
        if self.choices is not None:
            policing = self.choices.of(policing)
        flow = policing.flows[0]
        moved = replace(
            flow,
            rtt_ns=2 * round(flow.rtt_ns * self.jitter.rtt_factor / 2),
            start_ns=flow.start_ns + self.jitter.start_ns,
        )
        burst = policing.burst_bytes + self.jitter.burst_packets * PACKET_BYTES
        return replace(policing, flows=(moved,), burst_bytes=burst).experiment()


def members_of_source(count: int) -> tuple[Member, ...]:
    """Return the ensemble of the source's experiment, ns-3's defaults without jitter first.

    Every combination of the open choices occurs equally often, each time with different jitter. A
    smaller ensemble is a prefix of a larger one.

    Args:
        count: Number of members with each combination.
    """
    return tuple(
        Member(Jitter.at(turn * len(OPEN) + place), choices)
        for turn in range(count)
        for place, choices in enumerate(OPEN)
    )


def jittered(count: int, choices: Choices | None = None) -> tuple[Member, ...]:
    """Return the experiment unchanged, then with jitter.

    Args:
        count: Total number of members.
        choices: Choices of the source's experiment, if fixed.
    """
    return tuple(Member(Jitter.at(place), choices) for place in range(count))


def source() -> Policing:
    """Return the experiment of the source's command."""
    return read_command(published.COMMAND)[0]


def linux(controller: str) -> Policing:
    """Return the same bottleneck and path with Linux's TCP; headers as on an Ethernet."""
    base = source()
    flow = replace(base.flows[0], tcp={"profile": "linux-6.1", "congestion_control": controller})
    return replace(base, name=f"traffic_policing_{controller}", flows=(flow,), overhead="ethernet")


def policed(policing: Policing) -> Policing:
    """Replace the shaper by Linux's policer: no queue, non-conforming packets are dropped."""
    police = f"police rate {policing.policing_rate_bps}bit burst {POLICE_BURST_BYTES}b drop"
    rate = f"{policing.peak_rate_bps}bit"
    end: dict[str, Any] = {"rate": rate, "qdisc": "pfifo limit 1000", "police": police}
    return replace(policing, name=f"{policing.name}_police", bottleneck=end)


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """One parameter of the experiment, with its values.

    Attributes:
        name: Short name.
        quantity: Quantity of the axis.
        unit: Unit of the axis.
        x: The values on the axis.
        changes: Changes for each value: fields of `Policing`, and ``rtt_ns`` of its flows.
    """

    name: str
    quantity: str
    unit: str
    x: tuple[float, ...]
    changes: tuple[Mapping[str, int], ...]


_BURSTS_BYTES = (3_000, 15_000, 30_000, 62_500, 125_000, 250_000, 500_000, 1_000_000)
_RATES_MBPS = (1, 2, 4, 8, 16, 32, 64)
_RTTS_MS = (2, 5, 10, 15, 30, 60, 120, 240)
SWEEPS = (
    Sweep(
        "burst",
        "Burst of the bucket",
        "kB",
        tuple(burst / 1e3 for burst in _BURSTS_BYTES),
        tuple({"burst_bytes": burst} for burst in _BURSTS_BYTES),
    ),
    Sweep(
        "rate",
        "Policing rate",
        "Mbit/s",
        _RATES_MBPS,
        tuple({"policing_rate_bps": rate * 10**6} for rate in _RATES_MBPS),
    ),
    Sweep(
        "rtt",
        "Base round-trip time",
        "ms",
        _RTTS_MS,
        tuple({"rtt_ns": rtt * 10**6} for rtt in _RTTS_MS),
    ),
)


def swept(policing: Policing, change: Mapping[str, int]) -> Policing:
    """Return an experiment with one parameter changed; packets are not recorded."""
    fields: dict[str, Any] = dict(change)
    flows = policing.flows
    if "rtt_ns" in fields:
        flows = tuple(replace(flow, rtt_ns=fields["rtt_ns"]) for flow in flows)
        del fields["rtt_ns"]
    return replace(policing, flows=flows, record_packets=False, **fields)
