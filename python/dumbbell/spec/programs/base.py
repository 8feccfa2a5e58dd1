"""Base classes of programs of the machine that run in a host of an experiment.

A built-in program is a file beside this one with a class, and a line in `MODELS` of the package.
Its class has typed keys instead of arguments, and builds the command lines from them: no text of a
file becomes an option. Names have been checked (letters, digits, ``._-``, the first a letter or
digit), so a host cannot be called ``-x``, and command lines contain addresses of hosts, not names.

A key is one field of the class, with its type, unit, default, range and meaning. The crate ``spec``
describes the other keys of a file but not these, because neither the engine nor the guest reads
them. Both read only name, kind, hosts and start.
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
"""Memory of a process with its libraries, bytes."""
GUEST = "dumbbell-guest"
"""Name of dumbbell's guest program, for command lines that it runs itself."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A program of the machine.

    Attributes:
        name: Name of the executable.
        package: Debian package; empty if no free package has it.
        reads: Files and folders of the machine that it reads, besides itself and its libraries.
        content: Further folders that are part of the program; a run records their hashes.
    """

    name: str
    package: str
    reads: tuple[Path, ...] = ()
    content: tuple[Path, ...] = ()


class RunTimes(enum.StrEnum):
    """When a command line runs."""

    BEFORE = "before"
    """Before the run's time zero: servers, which wait."""
    AT_START = "at-start"
    """At the program's start."""
    AFTERWARDS = "afterwards"
    """When all other programs have ended: readers of logs."""


class Ends(enum.StrEnum):
    """How a command line ends."""

    BY_ITSELF = "by-itself"
    """By itself; a program that does not end is an error."""
    INTERRUPTED = "interrupted"
    """By SIGINT when all programs that end by themselves have ended; its status is ignored."""


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
    """A file that a program writes to its home directory under a name not known in advance.

    Attributes:
        pattern: Pattern of its name, with ``*`` for the unknown part; exactly one file must match.
        kept_as: Name under which it is kept with the tables.
        reads: The reader of the file.
    """

    pattern: str
    kept_as: str
    reads: OutputReader


@dataclass(frozen=True, slots=True)
class Task:
    """A command line in a host.

    Attributes:
        tool: Name of the program.
        words: Its arguments.
        host: Host in which it runs.
        output: Name of the file for its standard output.
        errors: Name of the file for its standard error; if empty, that of the output.
        input: Name of another command line's output, used as standard input.
        when: When it runs.
        ends: How it ends.
        reads: The reader of the output.
        may_exit: Allowed exit statuses besides 0.
        most_bytes: Size limit of a file that it writes.
        also: Further files in its home directory, and the reader of each.
        left: Files whose names are not known in advance.
        is_shared: Whether programs with the same command line in a host share one process.
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
    """Context of a program: inputs of its command lines besides its keys.

    Command lines run in the home directory of their host, so files are named without a path.

    Attributes:
        index: Index of the program, from 0, which determines its ports.
        duration_ns: Duration of the run.
        seed: Seed of the program, derived from the description's seed, the replication and its
            name.
        address: Address of a host as seen from another host.
        device: Device of a host's link to a neighbour.
        files: Capture file by name of the program.
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
    """Tools of the machine that it needs."""
    ENDS: ClassVar[tuple[str, ...]] = ("from", "to")
    """Keys with names of hosts."""
    INSTEAD: ClassVar[str] = ""
    """The equivalent in the simulator, as the end of a sentence."""
    WITHOUT: ClassVar[str] = ""
    """An alternative if one of its tools is not installed, as a sentence."""
    STARTS_OTHERS: ClassVar[bool] = False
    """Whether it starts further programs of the machine, so that all of them must be visible."""
    NEEDS_ALLOWANCE: ClassVar[bool] = False
    """Whether a file with it needs ``--allow-programs``."""
    SAYS: ClassVar[frozenset[ProgramQuantities]] = frozenset()
    """Quantities in its output."""
    NOTE: ClassVar[str] = ""
    """Note on its reproducibility; empty if the same seed gives the same bytes."""

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
        """Its duration, ns; None if it runs until the end of the run, or as long as needed."""
        return None

    def refers_to(self) -> str | None:
        """Name of another program whose file it reads, or None."""
        return None

    @classmethod
    def tools(cls, asked: Mapping[str, Any]) -> tuple[Tool, ...]:
        """Tools that it needs with these keys.

        Args:
            asked: As resolved.
        """
        return cls.TOOLS

    @classmethod
    @abstractmethod
    def tasks(cls, asked: Mapping[str, Any], site: CommandContext) -> Sequence[Task]:
        """Its command lines; those of one instant start in this order.

        Args:
            asked: The resolved program.
            site: Its context.
        """

    @classmethod
    def packets(cls, asked: Mapping[str, Any], capacity_bps: float, duration_ns: int) -> float:
        """Approximate number of packets sent and received, to estimate the time of a run.

        Args:
            asked: The resolved program.
            capacity_bps: Rate of the slowest link on its path; infinite without a limit.
            duration_ns: Duration of the run.
        """
        return 0.0

    @classmethod
    def memory_bytes(cls, asked: Mapping[str, Any]) -> int:
        """Memory of a guest for its processes and their files, bytes.

        Args:
            asked: As resolved.
        """
        return PROCESS_BYTES * max(1, len(cls.TOOLS))


class BetweenHosts(Program):
    """A program that sends requests or data to another host."""

    from_: Name = Field(validation_alias="from", description="Host in which it runs.")
    to: Name = Field(description="Host that it sends to.", examples=["receiver-1"])


class AtHost(Program):
    """A program in one host."""

    ENDS: ClassVar[tuple[str, ...]] = ("host",)

    host: Name = Field(description="Host in which it runs.", examples=["router"])


def seconds(nanoseconds: int) -> str:
    """A time in seconds as text, ``0.2`` or ``10``, without an exponent."""
    whole, rest = divmod(nanoseconds, 10**9)
    return f"{whole}.{rest:09d}".rstrip("0").rstrip(".")


BULK_BPS = 1e9
"""Assumed rate of a program that sends as fast as it can, if no link is slower."""
PACKET_BITS = 12_000.0


def bulk_packets(capacity_bps: float, length_ns: int) -> float:
    """Packets of a transfer that saturates its path, with acknowledgements."""
    return 2 * min(capacity_bps, BULK_BPS) * length_ns / 1e9 / PACKET_BITS
