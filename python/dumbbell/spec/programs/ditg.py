"""D-ITG: ``ITGSend`` to an ``ITGRecv``, and ``ITGDec`` for their logs (D-ITG 2.8.1 manual).

Two options are added to ``ITGSend -a HOST ...``:

- ``-s``: by default ITGSend seeds its random numbers with the time of day, so two senders that
  start at the same virtual time would send the same packets; each gets its own seed, derived from
  that of the description;
- ``-rp``: by default all send to port 8999, and an ``ITGRecv`` mixes the packets of two such flows
  in its logs; each gets its own port.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from dumbbell.spec.fields import Dscp, PositiveTime, time_ns, word
from dumbbell.spec.laws import GapLaw, SizeLaw, gap_law, mean_of, size_law
from dumbbell.spec.program_list import ProgramQuantities
from dumbbell.spec.programs.base import (
    BetweenHosts,
    CommandContext,
    Ends,
    OutputReader,
    RunTimes,
    Task,
    Tool,
)
from dumbbell.spec.programs.fields import words_schema
from dumbbell.spec.refusal import Refused, one_of

LAWS = ("constant", "exponential", "uniform")
"""Distributions that both dumbbell and ITGSend have."""
LOGS = ("receiver", "sender", "both", "none")
FIRST_DATA_PORT = 20_000
MOST_LOG_BYTES = 1 << 31
LOGGED_BYTES = 400
"""Bytes of a packet in a log (144) and in its text (about 200)."""
_NS_PER_MS = 1_000_000
_SEEDS = 10**9 - 1
_GAPS = {
    "constant": lambda law: ["-C", _number(1 / law["value"])],
    "exponential": lambda law: ["-E", _number(1 / law["mean"])],
    "uniform": lambda law: ["-U", _number(1 / law["high"]), _number(1 / law["low"])],
}
_SIZES = {
    "constant": lambda law: ["-c", _number(law["value"])],
    "exponential": lambda law: ["-e", _number(law["mean"])],
    "uniform": lambda law: ["-u", _number(law["low"]), _number(law["high"])],
}


def _number(value: float) -> str:
    return f"{value:.9g}"


Protocol = Annotated[str, BeforeValidator(word("UDP", "TCP")), words_schema("UDP", "TCP")]
LogOf = Annotated[str, BeforeValidator(word(*LOGS)), words_schema(*LOGS)]


def _decoders(log: str, host: str) -> tuple[Task, Task]:
    """Command lines of ITGDec for a log: with ``-l`` it prints packets, without it the summary."""
    return (
        Task(
            "ITGDec",
            (f"{log}.log",),
            host,
            f"{log}.ITGDec.txt",
            RunTimes.AFTERWARDS,
            reads=OutputReader.ITGDEC,
        ),
        Task(
            "ITGDec",
            (f"{log}.log", "-l", f"{log}.packets.txt"),
            host,
            f"{log}.ITGDec-l.txt",
            RunTimes.AFTERWARDS,
            most_bytes=MOST_LOG_BYTES,
            also=((f"{log}.packets.txt", OutputReader.ITGDEC),),
        ),
    )


class DitgProgram(BetweenHosts):
    """``ITGSend -a ADDRESS -E RATE -e SIZE -T UDP -t DURATION``, as `ITGDec` reads its logs."""

    TOOLS: ClassVar = tuple(Tool(name, "d-itg") for name in ("ITGSend", "ITGRecv", "ITGDec"))
    SAYS: ClassVar = frozenset(
        {ProgramQuantities.THROUGHPUT, ProgramQuantities.DELAY, ProgramQuantities.LOSS}
    )
    INSTEAD: ClassVar[str] = '[[flows]] with source = { kind = "ditg" } sends the same there'

    kind: Literal["ditg"] = Field(
        default="ditg", description="D-ITG's ITGSend to an ITGRecv; ITGDec reads the logs."
    )
    gap: GapLaw = Field(
        description="Between packets, or their rate: constant, exponential or uniform (`-C`, "
        '`-E`, `-U`), such as `"exponential 110pps"`.'
    )
    size: SizeLaw = Field(
        description="UDP payload: constant, exponential or uniform (`-c`, `-e`, `-u`), such as "
        '`"exponential 512B"`.'
    )
    protocol: Protocol = Field(default="UDP", description="What carries the packets (`-T`).")
    duration: PositiveTime = Field(description="How long it sends (`-t`); whole milliseconds.")
    dscp: Dscp = Field(default=0, description="Differentiated services code point (`-b`).")
    log: LogOf = Field(
        default="receiver",
        description="Whose log is written and decoded: that of the receiver has one-way delays, "
        "that of the sender what was sent; `none` as when no log is asked for.",
    )

    @model_validator(mode="after")
    def _check(self) -> DitgProgram:
        for key, text, drawn in (("gap", self.gap, gap_law), ("size", self.size, size_law)):
            law = drawn(text)
            if law["law"] not in LAWS:
                raise Refused(law["law"], f"a law of ITGSend: {one_of(LAWS)}", path=key)
            if law["law"] == "uniform" and not law["low"]:
                raise Refused(text, "a uniform law from above 0", path=key)
        if mean_of(gap_law(self.gap)) <= 0 or mean_of(size_law(self.size)) < 1:
            raise Refused(self.size, "sizes of a byte or more on average", path="size")
        if time_ns(self.duration) % _NS_PER_MS:
            raise Refused(
                self.duration, "whole milliseconds, as ITGSend takes them", path="duration"
            )
        return self

    def length_ns(self) -> int:
        """Its sending time."""
        return time_ns(self.duration)

    @classmethod
    def tasks(cls, asked: Mapping[str, Any], site: CommandContext) -> tuple[Task, ...]:
        """One ITGRecv per host for all its senders, a sender, and the decoders."""
        name, log = asked["name"], asked["log"]
        words = ["-a", site.address(asked["from"], asked["to"])]
        words += ["-rp", str(FIRST_DATA_PORT + site.index)]
        words += _GAPS[asked["gap"]["law"]](asked["gap"])
        words += _SIZES[asked["size"]["law"]](asked["size"])
        words += ["-T", asked["protocol"], "-t", str(asked["duration_ns"] // _NS_PER_MS)]
        words += ["-s", f"0.{site.seed % _SEEDS + 1:09d}"]
        if asked["dscp"]:
            words += ["-b", str(asked["dscp"] << 2)]
        logs = [side for side in ("receiver", "sender") if log in (side, "both")]
        for side in logs:
            words += [{"receiver": "-x", "sender": "-l"}[side], f"{name}.{side}.log"]
        receiver = Task(
            "ITGRecv",
            (),
            asked["to"],
            f"ITGRecv.{asked['to']}.txt",
            RunTimes.BEFORE,
            Ends.INTERRUPTED,
            most_bytes=MOST_LOG_BYTES,
            is_shared=True,
        )
        sender = Task(
            "ITGSend",
            tuple(words),
            asked["from"],
            f"{name}.ITGSend.txt",
            most_bytes=MOST_LOG_BYTES,
        )
        ends = {"receiver": asked["to"], "sender": asked["from"]}
        decoders = (task for side in logs for task in _decoders(f"{name}.{side}", ends[side]))
        return (receiver, sender, *decoders)

    @classmethod
    def packets(cls, asked: Mapping[str, Any], capacity_bps: float, duration_ns: int) -> float:
        """One packet per gap."""
        return float(asked["duration_ns"] / 1e9 / mean_of(asked["gap"]))

    @classmethod
    def memory_bytes(cls, asked: Mapping[str, Any]) -> int:
        """Memory for its logs and their text."""
        sides = {"both": 2, "none": 0}.get(asked["log"], 1)
        of_logs = sides * LOGGED_BYTES * cls.packets(asked, 0.0, 0)
        return super().memory_bytes(asked) + int(of_logs)
