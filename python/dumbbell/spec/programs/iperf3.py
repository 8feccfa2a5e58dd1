"""``iperf3`` (iperf3(1)): a client and a server of its own, both with JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from dumbbell.spec.fields import Dscp, Flag, PositiveTime, TransferSize, dscp_number, time_ns
from dumbbell.spec.programs.base import (
    BetweenHosts,
    Ends,
    Key,
    Reads,
    Site,
    Task,
    Tool,
    When,
    bulk_packets,
    plain,
    rate_key,
    seconds,
    size_key,
    time_key,
)
from dumbbell.spec.programs.fields import Controller, FiniteRate, Parallel
from dumbbell.spec.refusal import Refused

FIRST_PORT = 5201
_NS_PER_S = 10**9
_LEAST_INTERVAL_NS = 100_000_000


class Iperf3Program(BetweenHosts):
    """``iperf3 -c ADDRESS -t DURATION -i INTERVAL -C CONTROLLER -P PARALLEL -R -u -b RATE -J``."""

    TOOLS: ClassVar = (Tool("iperf3", "iperf3"),)
    KEYS: ClassVar[Mapping[str, Key]] = {
        "duration": time_key("duration"),
        "interval": time_key("interval"),
        "congestion_control": plain("congestion_control"),
        "parallel": plain("parallel"),
        "reverse": plain("reverse"),
        "udp": plain("udp"),
        "rate": rate_key("rate"),
        "length": size_key("length"),
        "dscp": Key("dscp", dscp_number, lambda number: number),
    }
    INSTEAD: ClassVar[str] = (
        '[[flows]] with source = { kind = "greedy" }, or { kind = "cbr" } over UDP, is like it'
    )

    kind: Literal["iperf3"] = Field(
        default="iperf3", description="`iperf3`, with a server of its own."
    )
    duration: PositiveTime = Field(description="How long it sends (`-t`); whole seconds.")
    interval: PositiveTime = Field(default="1s", description="Between its reports (`-i`).")
    congestion_control: Controller | None = Field(
        default=None, description="Of TCP (`-C`); the kernel's own, cubic, when left out."
    )
    parallel: Parallel = Field(default=1, description="Streams side by side (`-P`).")
    reverse: Flag = Field(default=False, description="Whether the server sends (`-R`).")
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
    def _check(self) -> Self:
        if time_ns(self.duration) % _NS_PER_S:
            raise Refused(self.duration, "whole seconds, as iperf3 takes them", path="duration")
        if time_ns(self.interval) < _LEAST_INTERVAL_NS:
            raise Refused(self.interval, "100ms or more, as iperf3 takes it", path="interval")
        if self.udp and self.rate is None:
            raise Refused("nothing", "a rate of UDP: this key is required", path="rate")
        if self.udp and self.congestion_control is not None:
            raise Refused(
                self.congestion_control, "no such key over UDP", path="congestion_control"
            )
        return self

    def length_ns(self) -> int:
        """As long as it sends."""
        return time_ns(self.duration)

    @classmethod
    def tasks(cls, asked: Mapping[str, Any], site: Site) -> tuple[Task, ...]:
        """A server for this client, and the client."""
        name, port = asked["name"], str(FIRST_PORT + site.index)
        words = ["-4", "-c", site.address(asked["from"], asked["to"]), "-p", port]
        words += ["-t", seconds(asked["duration_ns"]), "-i", seconds(asked["interval_ns"])]
        words += ["-P", str(asked["parallel"])]
        for key, option in (
            ("congestion_control", "-C"),
            ("rate_bps", "-b"),
            ("length_bytes", "-l"),
        ):
            if asked[key] is not None:
                words += [option, str(asked[key])]
        words += [option for key, option in (("reverse", "-R"), ("udp", "-u")) if asked[key]]
        if asked["dscp"]:
            words += ["-S", str(asked["dscp"] << 2)]
        interval = seconds(asked["interval_ns"])
        return (
            Task(
                "iperf3",
                ("-s", "-4", "-1", "-p", port, "-i", interval, "-J"),
                asked["to"],
                f"{name}.server.iperf3.json",
                When.BEFORE,
                Ends.INTERRUPTED,
                Reads.IPERF3,
            ),
            Task(
                "iperf3",
                (*words, "-J"),
                asked["from"],
                f"{name}.client.iperf3.json",
                reads=Reads.IPERF3,
            ),
        )

    @classmethod
    def packets(cls, asked: Mapping[str, Any], capacity_bps: float, duration_ns: int) -> float:
        """Those of a full way, or of the rate."""
        if asked["rate_bps"] is not None:
            capacity_bps = min(capacity_bps, asked["rate_bps"] * asked["parallel"])
        return bulk_packets(capacity_bps, asked["duration_ns"])
