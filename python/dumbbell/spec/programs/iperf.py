"""``iperf`` 2 (iperf(1)), with its comma-separated reports."""

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

FIRST_PORT = 5501
_LEAST_INTERVAL_NS = 100_000_000


class IperfProgram(BetweenHosts):
    """``iperf -c ADDRESS -t DURATION -i INTERVAL -Z CONTROLLER -P PARALLEL -u -b RATE -y C``."""

    TOOLS: ClassVar = (Tool("iperf", "iperf"),)
    KEYS: ClassVar[Mapping[str, Key]] = {
        "duration": time_key("duration"),
        "amount": size_key("amount"),
        "interval": time_key("interval"),
        "congestion_control": plain("congestion_control"),
        "parallel": plain("parallel"),
        "udp": plain("udp"),
        "rate": rate_key("rate"),
        "length": size_key("length"),
        "dscp": Key("dscp", dscp_number, lambda number: number),
    }
    INSTEAD: ClassVar[str] = (
        '[[flows]] with source = { kind = "greedy" }, or { kind = "cbr" } over UDP, is like it'
    )

    kind: Literal["iperf"] = Field(
        default="iperf", description="`iperf`, version 2, with a server of its own."
    )
    duration: PositiveTime | None = Field(
        default=None, description="How long it sends (`-t`). Either this or `amount`."
    )
    amount: TransferSize | None = Field(
        default=None, description="How much each stream sends (`-n`). Either this or `duration`."
    )
    interval: PositiveTime = Field(default="1s", description="Between its reports (`-i`).")
    congestion_control: Controller | None = Field(
        default=None, description="Of TCP (`-Z`); the kernel's own, cubic, when left out."
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
    def _check(self) -> Self:
        if (self.duration is None) == (self.amount is None):
            raise Refused(
                "nothing" if self.amount is None else self.amount,
                "one of duration and amount",
                path="amount",
            )
        if time_ns(self.interval) < _LEAST_INTERVAL_NS:
            raise Refused(self.interval, "100ms or more, as iperf takes it", path="interval")
        if self.udp and self.rate is None:
            raise Refused("nothing", "a rate of UDP: this key is required", path="rate")
        if self.udp and self.congestion_control is not None:
            raise Refused(
                self.congestion_control, "no such key over UDP", path="congestion_control"
            )
        return self

    def length_ns(self) -> int | None:
        """As long as it sends; not known of an amount."""
        return None if self.duration is None else time_ns(self.duration)

    @classmethod
    def tasks(cls, asked: Mapping[str, Any], site: Site) -> tuple[Task, ...]:
        """A server for this client, and the client."""
        name, port = asked["name"], str(FIRST_PORT + site.index)
        report = ["-p", port, "-i", seconds(asked["interval_ns"]), "-y", "C"]
        report += ["-u"] if asked["udp"] else []
        words = ["-c", site.address(asked["from"], asked["to"]), *report]
        words += (
            ["-t", seconds(asked["duration_ns"])]
            if asked["amount_bytes"] is None
            else ["-n", str(asked["amount_bytes"])]
        )
        words += ["-P", str(asked["parallel"])]
        for key, option in (
            ("congestion_control", "-Z"),
            ("rate_bps", "-b"),
            ("length_bytes", "-l"),
        ):
            if asked[key] is not None:
                words += [option, str(asked[key])]
        if asked["dscp"]:
            words += ["-S", hex(asked["dscp"] << 2)]
        return (
            Task(
                "iperf",
                ("-s", *report),
                asked["to"],
                f"{name}.server.iperf.csv",
                When.BEFORE,
                Ends.INTERRUPTED,
                Reads.IPERF,
            ),
            Task(
                "iperf",
                tuple(words),
                asked["from"],
                f"{name}.client.iperf.csv",
                reads=Reads.IPERF,
            ),
        )

    @classmethod
    def packets(cls, asked: Mapping[str, Any], capacity_bps: float, duration_ns: int) -> float:
        """Those of a full way, of the rate, or of the amount."""
        if asked["amount_bytes"] is not None:
            return float(2 * 8 * asked["amount_bytes"] * asked["parallel"] / 12_000)
        if asked["rate_bps"] is not None:
            capacity_bps = min(capacity_bps, asked["rate_bps"] * asked["parallel"])
        return bulk_packets(capacity_bps, asked["duration_ns"])
