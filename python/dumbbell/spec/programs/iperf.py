"""``iperf`` 2 (iperf(1)), with its comma-separated reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from dumbbell.spec.fields import PositiveTime, TransferSize, time_ns
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

FIRST_PORT = 5501


class IperfProgram(Streams):
    """``iperf -c ADDRESS -t DURATION -i INTERVAL -Z CONTROLLER -P PARALLEL -u -b RATE -y C``."""

    TOOLS: ClassVar = (Tool("iperf", "iperf"),)
    CONGESTION_OPTION: ClassVar[str] = "-Z"

    kind: Literal["iperf"] = Field(
        default="iperf", description="`iperf`, version 2, with a server of its own."
    )
    duration: PositiveTime | None = Field(
        default=None, description="How long it sends (`-t`). Either this or `amount`."
    )
    amount: TransferSize | None = Field(
        default=None, description="How much each stream sends (`-n`). Either this or `duration`."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.duration is None) == (self.amount is None):
            raise Refused(
                "nothing" if self.amount is None else self.amount,
                "one of duration and amount",
                path="amount",
            )
        return self

    def length_ns(self) -> int | None:
        """Its sending time; None if an amount is given."""
        return None if self.duration is None else time_ns(self.duration)

    @classmethod
    def tasks(cls, asked: Mapping[str, Any], site: CommandContext) -> tuple[Task, ...]:
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
        words += cls.options(asked)
        if asked["dscp"]:
            words += ["-S", hex(asked["dscp"] << 2)]
        return (
            Task(
                "iperf",
                ("-s", *report),
                asked["to"],
                f"{name}.server.iperf.csv",
                RunTimes.BEFORE,
                Ends.INTERRUPTED,
                OutputReader.IPERF,
            ),
            Task(
                "iperf",
                tuple(words),
                asked["from"],
                f"{name}.client.iperf.csv",
                reads=OutputReader.IPERF,
            ),
        )

    @classmethod
    def packets(cls, asked: Mapping[str, Any], capacity_bps: float, duration_ns: int) -> float:
        """Packets of a saturated path, of the rate, or of the amount."""
        if asked["amount_bytes"] is not None:
            return float(2 * 8 * asked["amount_bytes"] * asked["parallel"] / 12_000)
        return super().packets(asked, capacity_bps, duration_ns)
