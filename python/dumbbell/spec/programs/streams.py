"""Common parts of ``iperf`` and ``iperf3``: streams from a client to its server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from dumbbell.spec.fields import Dscp, Flag, PositiveTime, TransferSize, time_ns
from dumbbell.spec.program_list import ProgramQuantities
from dumbbell.spec.programs.base import (
    BetweenHosts,
    bulk_packets,
)
from dumbbell.spec.programs.fields import Controller, FiniteRate, Parallel
from dumbbell.spec.refusal import Refused

_LEAST_INTERVAL_NS = 100_000_000


class Streams(BetweenHosts):
    """Streams over TCP, or over UDP at a rate."""

    SAYS: ClassVar = frozenset(
        {ProgramQuantities.THROUGHPUT, ProgramQuantities.INTERVALS, ProgramQuantities.LOSS}
    )
    INSTEAD: ClassVar[str] = (
        '[[flows]] with source = { kind = "greedy" }, or { kind = "cbr" } over UDP, is like it'
    )
    CONGESTION_OPTION: ClassVar[str]
    """Option that selects the congestion controller."""

    interval: PositiveTime = Field(default="1s", description="Between its reports (`-i`).")
    congestion_control: Controller | None = Field(
        default=None, description="Of TCP; the kernel's own, cubic, when left out."
    )
    parallel: Parallel = Field(default=1, description="Streams side by side (`-P`).")
    udp: Flag = Field(default=False, description="UDP at `rate` in place of TCP (`-u`).")
    rate: FiniteRate | None = Field(
        default=None,
        description="Of each stream (`-b`); required of UDP, and TCP sends no faster.",
    )
    length: TransferSize | None = Field(
        default=None, description="What is written at once (`-l`); of UDP a datagram's payload."
    )
    dscp: Dscp = Field(default=0, description="Differentiated services code point (`-S`).")

    @model_validator(mode="after")
    def _check_streams(self) -> Self:
        if time_ns(self.interval) < _LEAST_INTERVAL_NS:
            allowed = "100ms or more, as iperf and iperf3 take it"
            raise Refused(self.interval, allowed, path="interval")
        if self.udp and self.rate is None:
            raise Refused("nothing", "a rate of UDP: this key is required", path="rate")
        if self.udp and self.congestion_control is not None:
            allowed = "no such key over UDP"
            raise Refused(self.congestion_control, allowed, path="congestion_control")
        return self

    @classmethod
    def options(cls, asked: Mapping[str, Any]) -> list[str]:
        """Options of a client for its streams, without UDP and the code point."""
        words = ["-P", str(asked["parallel"])]
        for key, option in (
            ("congestion_control", cls.CONGESTION_OPTION),
            ("rate_bps", "-b"),
            ("length_bytes", "-l"),
        ):
            if asked[key] is not None:
                words += [option, str(asked[key])]
        return words

    @classmethod
    def packets(cls, asked: Mapping[str, Any], capacity_bps: float, duration_ns: int) -> float:
        """Packets of a saturated path, or of the rate."""
        if asked["rate_bps"] is not None:
            capacity_bps = min(capacity_bps, asked["rate_bps"] * asked["parallel"])
        return bulk_packets(capacity_bps, asked["duration_ns"])
