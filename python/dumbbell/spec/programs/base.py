"""What a program of the host is that runs in a host of an experiment, and how it is started.

A built-in program is a file beside this one with a class, and a line in `MODELS` of the package.
Its class has typed keys, never arguments, and makes the command lines of them: no text of a file
becomes an option. Names have been checked (letters, digits, ``._-``, the first a letter or digit),
so a host called ``-x`` cannot be, and where one stands in a command line it is as its address.

A key is one field of the class, which says its type, unit, default, range and meaning. The crate
``spec`` describes the other keys of a file, but not these: neither the engine nor the guest reads
them. Both know name, kind, hosts and start.
"""

from __future__ import annotations

import enum
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from dumbbell.spec.base import Kind
from dumbbell.spec.conversions import ResolvedKey, keys_of
from dumbbell.spec.fields import Name, Time
from dumbbell.spec.program_list import ProgramQuantities

PROCESS_BYTES = 24 << 20
"""Of a process with its libraries."""
GUEST = "dumbbell-guest"
"""Our own program in a guest, where a command line is one of its own."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A program of the machine.

    Attributes:
        name: As it is called.
        package: Debian's, which has it; empty where no free one does.
        reads: Files and folders of the machine that it reads besides itself and its libraries.
        content: Folders with what it consists of besides its file; a run says their hashes.
    """

    name: str
    package: str
    reads: tuple[Path, ...] = ()
    content: tuple[Path, ...] = ()


class RunTimes(enum.StrEnum):
    """When a command line is run."""

    BEFORE = "before"
    """Before the run's time zero: servers, which wait."""
    AT_START = "at-start"
    """At the program's start."""
    AFTERWARDS = "afterwards"
    """When everything else has ended: what reads the others' logs."""


class Ends(enum.StrEnum):
    """How a command line ends."""

    BY_ITSELF = "by-itself"
    """When it has done what it was told; one that does not is a fault."""
    INTERRUPTED = "interrupted"
    """By SIGINT when all that end by themselves have ended; its status does not matter."""


class OutputReader(enum.StrEnum):
    """How an output file is read into tables (`dumbbell.formats.program_tables`)."""

    PING = "ping"
    ITGDEC = "itgdec"
    IPERF3 = "iperf3"
    IPERF = "iperf"
    CURL = "curl"
    NETPERF = "netperf"
    FLENT = "flent"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class NewOutputFile:
    """A file that a program leaves in its home under a name that is not known before.

    Attributes:
        pattern: Of its name, with ``*`` for what is not known; there has to be one such file.
        kept_as: Name under which it is kept beside the tables.
        reads: Who reads it.
    """

    pattern: str
    kept_as: str
    reads: OutputReader


@dataclass(frozen=True, slots=True)
class Task:
    """A command line in a host.

    Attributes:
        tool: Name of the program.
        words: What one would type after it.
        host: Where.
        output: Name of the file for what it prints.
        errors: Name of another one for its standard error; the same when empty.
        input: Name of the output of another command line that it reads as its standard input.
        when: When it is run.
        ends: How it ends.
        reads: Who reads the file.
        may_exit: Statuses besides 0 with which it may end.
        most_bytes: Most bytes of a file that it writes.
        also: Further files that it writes in its home, and who reads each into tables.
        left: Those whose names are not known before.
        is_shared: Whether one of it does for all programs that have the same command line there.
    """

    tool: str
    words: tuple[str, ...]
    host: str
    output: str
    when: RunTimes = RunTimes.AT_START
    ends: Ends = Ends.BY_ITSELF
    reads: OutputReader = OutputReader.NOTHING
    may_exit: tuple[int, ...] = ()
    most_bytes: int = 64 * 2**20
    also: tuple[tuple[str, OutputReader], ...] = ()
    left: tuple[NewOutputFile, ...] = ()
    errors: str = ""
    input: str = ""
    is_shared: bool = False


@dataclass(frozen=True, slots=True)
class CommandContext:
    """Where a program runs: all that its command lines need besides its keys.

    They are run in the home of their host, so files are named without a path.

    Attributes:
        index: Its place among the programs, from 0: ports follow from it.
        duration_ns: Of the run.
        seed: Random, of its own: of the description's seed, the replication and its name.
        address: From an asking host to where another one answers it.
        device: Of a host's link to a neighbour.
        files: Name of a program to the capture that it writes.
    """

    index: int
    duration_ns: int
    seed: int
    address: Callable[[str, str], str]
    device: Callable[[str, str], str]
    files: Mapping[str, str]


class Program(Kind):
    """A program of the machine in a host of the experiment; on the kernel only."""

    TOOLS: ClassVar[tuple[Tool, ...]] = ()
    """What it needs on the machine."""
    ENDS: ClassVar[tuple[str, ...]] = ("from", "to")
    """Keys with names of hosts."""
    INSTEAD: ClassVar[str] = ""
    """What does the same in the simulator, as the end of a sentence."""
    WITHOUT: ClassVar[str] = ""
    """What can be done where one of its tools is not installed, as a sentence."""
    STARTS_OTHERS: ClassVar[bool] = False
    """Whether it starts further programs of the machine, so that it has to see them all."""
    NEEDS_ALLOWANCE: ClassVar[bool] = False
    """Whether a file may have it only where the command line allows programs."""
    SAYS: ClassVar[frozenset[ProgramQuantities]] = frozenset()
    """Quantities that its output has."""
    NOTE: ClassVar[str] = ""
    """What is to be known of its repetition; empty where the same seed gives the same bytes."""

    name: Name = Field(
        description="Unique among flows, probes and programs; names its rows and its files.",
        examples=["bulk"],
    )
    start: Time = Field(default="0s", description="When it is started.")

    @classmethod
    def resolved_keys(cls) -> list[ResolvedKey]:
        """Its keys in the order of the resolved description: first those of every program."""
        keys = keys_of(cls)
        common = ("name", "kind", *cls.ENDS, "start")
        return [keys[name] for name in dict.fromkeys((*common, *keys))]

    def resolved(self) -> dict[str, Any]:
        """The program for the resolved description."""
        return {key.resolved: key.of(self) for key in self.resolved_keys()}

    def ends(self) -> dict[str, str]:
        """Its keys with names of hosts."""
        keys = keys_of(type(self))
        return {name: keys[name].of(self) for name in self.ENDS}

    def length_ns(self) -> int | None:
        """How long it runs; None until the end of the run, or as long as it takes."""
        return None

    def refers_to(self) -> str | None:
        """Name of another program whose file it reads; None of none."""
        return None

    @classmethod
    def tools(cls, asked: Mapping[str, Any]) -> tuple[Tool, ...]:
        """What it needs on the machine, as it is asked for.

        Args:
            asked: As resolved.
        """
        return cls.TOOLS

    @classmethod
    @abstractmethod
    def tasks(cls, asked: Mapping[str, Any], site: CommandContext) -> Sequence[Task]:
        """Its command lines, in the order in which those of one instant begin.

        Args:
            asked: As resolved.
            site: Where it runs.
        """

    @classmethod
    def packets(cls, asked: Mapping[str, Any], capacity_bps: float, duration_ns: int) -> float:
        """About how many packets it sends and gets, by which the time of a run is foreseen.

        Args:
            asked: As resolved.
            capacity_bps: Of the narrowest link on its way; infinite where there is none.
            duration_ns: Of the run.
        """
        return 0.0

    @classmethod
    def memory_bytes(cls, asked: Mapping[str, Any]) -> int:
        """What its processes, and what they write in their homes, take of a guest's memory.

        Args:
            asked: As resolved.
        """
        return PROCESS_BYTES * max(1, len(cls.TOOLS))


class BetweenHosts(Program):
    """A program that asks or sends to another host."""

    from_: Name = Field(validation_alias="from", description="Host in which it runs.")
    to: Name = Field(description="Host that it sends to.", examples=["receiver-1"])


class AtHost(Program):
    """A program in one host."""

    ENDS: ClassVar[tuple[str, ...]] = ("host",)

    host: Name = Field(description="Host in which it runs.", examples=["router"])


def seconds(nanoseconds: int) -> str:
    """A time as a program takes it: ``0.2``, ``10``, never with an exponent."""
    whole, rest = divmod(nanoseconds, 10**9)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".")


BULK_BPS = 1e9
"""What is foreseen of a program that sends as fast as it can where no link is narrower."""
PACKET_BITS = 12_000.0


def bulk_packets(capacity_bps: float, length_ns: int) -> float:
    """Packets of a transfer that fills its way, with their acknowledgements."""
    return 2 * min(capacity_bps, BULK_BPS) * length_ns / 1e9 / PACKET_BITS
