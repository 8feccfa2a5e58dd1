"""``netperf`` to a ``netserver`` (manual: "Care and Feeding of Netperf"), where the user has it.

Debian has it only in non-free, so nothing in dumbbell depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from dumbbell.spec.fields import Dscp, PositiveTime, time_ns, word
from dumbbell.spec.program_list import ProgramQuantities
from dumbbell.spec.programs.base import (
    BetweenHosts,
    CommandContext,
    Ends,
    OutputReader,
    RunTimes,
    Task,
    Tool,
    bulk_packets,
    seconds,
)
from dumbbell.spec.programs.fields import Controller, words_schema
from dumbbell.spec.refusal import Refused

TESTS = ("TCP_STREAM", "TCP_MAERTS", "TCP_RR", "UDP_RR")
FIRST_PORT = 12_865
_NS_PER_S = 10**9
_REQUESTS_PPS = 2_000.0

Test = Annotated[str, BeforeValidator(word(*TESTS)), words_schema(*TESTS)]


class NetperfProgram(BetweenHosts):
    """``netperf -H ADDRESS -t TEST -l DURATION -D INTERVAL``."""

    TOOLS: ClassVar = (Tool("netperf", ""), Tool("netserver", ""))
    SAYS: ClassVar = frozenset({ProgramQuantities.THROUGHPUT, ProgramQuantities.INTERVALS})
    WITHOUT: ClassVar[str] = 'kind = "iperf3" or "iperf" streams as much'
    INSTEAD: ClassVar[str] = '[[flows]] with source = { kind = "greedy" } is like TCP_STREAM'

    kind: Literal["netperf"] = Field(
        default="netperf", description="`netperf`, with a netserver of its own; not Debian's."
    )
    test: Test = Field(
        default="TCP_STREAM", description="`-t`: of streams who sends, of `_RR` round trips."
    )
    duration: PositiveTime = Field(description="How long (`-l`); whole seconds.")
    interval: PositiveTime = Field(default="1s", description="Between its reports (`-D`).")
    congestion_control: Controller | None = Field(
        default=None, description="Of TCP (`-K`); the kernel's own, cubic, when left out."
    )
    dscp: Dscp = Field(default=0, description="Differentiated services code point (`-Y`).")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if time_ns(self.duration) % _NS_PER_S:
            raise Refused(self.duration, "whole seconds, as netperf takes them", path="duration")
        if self.congestion_control is not None and self.test == "UDP_RR":
            allowed = "no such key over UDP"
            raise Refused(self.congestion_control, allowed, path="congestion_control")
        return self

    def length_ns(self) -> int:
        """Its sending time."""
        return time_ns(self.duration)

    @classmethod
    def tasks(cls, asked: Mapping[str, Any], site: CommandContext) -> tuple[Task, ...]:
        """A netserver for this netperf, and netperf."""
        name, port = asked["name"], str(FIRST_PORT + site.index)
        words = ["-H", site.address(asked["from"], asked["to"]), "-p", port, "-4"]
        words += ["-t", asked["test"], "-l", seconds(asked["duration_ns"])]
        words += ["-D", f"-{seconds(asked['interval_ns'])}"]
        # Transactions per second have no unit option: with one netperf prints 0.00.
        words += [] if asked["test"].endswith("_RR") else ["-f", "m"]
        if asked["dscp"]:
            words += ["-Y", f"{asked['dscp'] << 2:#04x},{asked['dscp'] << 2:#04x}"]
        if asked["congestion_control"] is not None:
            words += ["--", "-K", asked["congestion_control"]]
        return (
            Task(
                "netserver",
                ("-D", "-4", "-f", "-p", port),
                asked["to"],
                f"{name}.netserver.txt",
                RunTimes.BEFORE,
                Ends.INTERRUPTED,
            ),
            Task(
                "netperf",
                tuple(words),
                asked["from"],
                f"{name}.netperf.txt",
                reads=OutputReader.NETPERF,
            ),
        )

    @classmethod
    def packets(cls, asked: Mapping[str, Any], capacity_bps: float, duration_ns: int) -> float:
        """Packets of a saturated path; for round trips an assumed number."""
        if asked["test"].endswith("_RR"):
            return float(_REQUESTS_PPS * asked["duration_ns"] / 1e9)
        return bulk_packets(capacity_bps, asked["duration_ns"])
