"""``iperf3`` (iperf3(1)): a client and its server, both with JSON output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from dumbbell.spec.fields import Flag, PositiveTime, time_ns
from dumbbell.spec.programs.base import (
    CommandContext,
    Ends,
    OutputReader,
    RunTimes,
    Task,
    Tool,
    seconds,
)
from dumbbell.spec.programs.streams import Streams
from dumbbell.spec.refusal import Refused

FIRST_PORT = 5201
_NS_PER_S = 10**9


class Iperf3Program(Streams):
    """``iperf3 -c ADDRESS -t DURATION -i INTERVAL -C CONTROLLER -P PARALLEL -R -u -b RATE -J``."""

    TOOLS: ClassVar = (Tool("iperf3", "iperf3"),)
    CONGESTION_OPTION: ClassVar[str] = "-C"
    INSTEAD: ClassVar[str] = (
        '[[flows]] with source = { kind = "iperf3" }, or { kind = "cbr" } over UDP, is like it'
    )

    kind: Literal["iperf3"] = Field(
        default="iperf3", description="`iperf3`, with a server of its own."
    )
    duration: PositiveTime = Field(description="How long it sends (`-t`); whole seconds.")
    reverse: Flag = Field(default=False, description="Whether the server sends (`-R`).")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if time_ns(self.duration) % _NS_PER_S:
            raise Refused(self.duration, "whole seconds, as iperf3 takes them", path="duration")
        return self

    def length_ns(self) -> int:
        """Its sending time."""
        return time_ns(self.duration)

    @classmethod
    def tasks(cls, asked: Mapping[str, Any], site: CommandContext) -> tuple[Task, ...]:
        """A server for this client, and the client."""
        name, port = asked["name"], str(FIRST_PORT + site.index)
        words = ["-4", "-c", site.address(asked["from"], asked["to"]), "-p", port]
        words += ["-t", seconds(asked["duration_ns"]), "-i", seconds(asked["interval_ns"])]
        words += cls.options(asked)
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
                RunTimes.BEFORE,
                Ends.INTERRUPTED,
                OutputReader.IPERF3,
            ),
            Task(
                "iperf3",
                (*words, "-J"),
                asked["from"],
                f"{name}.client.iperf3.json",
                reads=OutputReader.IPERF3,
            ),
        )
