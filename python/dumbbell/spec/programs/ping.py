"""``ping`` of iputils (ping(8)): echo requests over ICMP, as the program prints them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from dumbbell.spec.fields import Dscp, EchoPayload, PositiveTime, time_ns
from dumbbell.spec.program_list import ProgramQuantities
from dumbbell.spec.programs.base import (
    BetweenHosts,
    CommandContext,
    OutputReader,
    Task,
    Tool,
    seconds,
)
from dumbbell.spec.programs.fields import PingCount

PING = Tool("ping", "iputils-ping")


class PingProgram(BetweenHosts):
    """``ping -D -n -i INTERVAL -c COUNT -s PAYLOAD -Q CLASS ADDRESS``."""

    TOOLS: ClassVar = (PING,)
    SAYS: ClassVar = frozenset({ProgramQuantities.ROUND_TRIPS, ProgramQuantities.LOSS})
    INSTEAD: ClassVar[str] = '[[probes]] with kind = "ping" measures the same there'

    kind: Literal["ping"] = Field(
        default="ping", description="`ping` of iputils: echo requests over ICMP."
    )
    interval: PositiveTime = Field(default="1s", description="Between requests (`-i`).")
    count: PingCount = Field(description="How many requests (`-c`).", examples=[1000])
    payload: EchoPayload = Field(default="56B", description="Payload of a request (`-s`).")
    dscp: Dscp = Field(default=0, description="Differentiated services code point (`-Q`).")

    def length_ns(self) -> int:
        """Time until the last request is sent."""
        return (self.count - 1) * time_ns(self.interval)

    @classmethod
    def tasks(cls, asked: Mapping[str, Any], site: CommandContext) -> tuple[Task, ...]:
        """The client; the kernel of the other host answers."""
        words = ["-D", "-n", "-i", seconds(asked["interval_ns"]), "-c", str(asked["count"])]
        words += ["-s", str(asked["payload_bytes"])]
        if asked["dscp"]:
            words += ["-Q", str(asked["dscp"] << 2)]
        words.append(site.address(asked["from"], asked["to"]))
        # status 1 means that no answer came, which is a result
        return (
            Task(
                "ping",
                tuple(words),
                asked["from"],
                f"{asked['name']}.ping.txt",
                reads=OutputReader.PING,
                may_exit=(1,),
            ),
        )

    @classmethod
    def packets(cls, asked: Mapping[str, Any], capacity_bps: float, duration_ns: int) -> float:
        """Two packets per request."""
        return float(2 * asked["count"])
