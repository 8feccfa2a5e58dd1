"""``tcpdump`` (tcpdump(8), pcap-filter(7)): a capture at a host, kept beside the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from dumbbell.spec.fields import Name, word
from dumbbell.spec.programs.base import AtHost, CommandContext, Ends, RunTimes, Task, Tool
from dumbbell.spec.programs.fields import Port, SnapLength, words_schema

MOST_CAPTURE_BYTES = 1 << 33

Direction = Annotated[
    str, BeforeValidator(word("inout", "in", "out")), words_schema("inout", "in", "out")
]
Protocol = Annotated[
    str, BeforeValidator(word("tcp", "udp", "icmp")), words_schema("tcp", "udp", "icmp")
]


class TcpdumpProgram(AtHost):
    """``tcpdump -i DEVICE -s SNAPLEN -w NAME.pcap``, from the start to the end of the run."""

    TOOLS: ClassVar = (Tool("tcpdump", "tcpdump"),)
    INSTEAD: ClassVar[str] = "capture = true of a link writes one there"

    kind: Literal["tcpdump"] = Field(
        default="tcpdump", description="`tcpdump`: a capture, `NAME.pcap` beside the run."
    )
    neighbor: Name = Field(
        description="On the link to this neighbour it listens.", examples=["receiver-1"]
    )
    direction: Direction = Field(
        default="inout", description="Packets that come in, go out, or both (`-Q`)."
    )
    snap_length: SnapLength = Field(
        default=262_144, description="Bytes kept of a packet (`-s`); all when left out."
    )
    protocol: Protocol | None = Field(default=None, description="Only packets of this protocol.")
    port: Port | None = Field(default=None, description="Only packets from or to this port.")

    def ends(self) -> dict[str, str]:
        """See `Program`."""
        return {"host": self.host}

    @classmethod
    def file(cls, asked: Mapping[str, Any]) -> str:
        """Name of its capture."""
        return f"{asked['name']}.pcap"

    @classmethod
    def tasks(cls, asked: Mapping[str, Any], site: CommandContext) -> tuple[Task, ...]:
        """A capture from its start; before the first packet if that is the start of the run."""
        device = site.device(asked["host"], asked["neighbor"])
        # Keep the user, so that the files belong to it, and write packets as they arrive.
        words = ["-i", device, "-n", "-Z", "root", "--immediate-mode"]
        words += ["--time-stamp-precision=nano", "-Q", asked["direction"]]
        words += ["-s", str(asked["snap_length"]), "-w", "-"]
        wanted = [asked["protocol"]] if asked["protocol"] else []
        wanted += ["port", str(asked["port"])] if asked["port"] else []
        if asked["protocol"] and asked["port"]:
            wanted = [asked["protocol"], "port", str(asked["port"])]
        return (
            Task(
                "tcpdump",
                (*words, *wanted),
                asked["host"],
                cls.file(asked),
                RunTimes.AT_START if asked["start_ns"] else RunTimes.BEFORE,
                Ends.INTERRUPTED,
                most_bytes=MOST_CAPTURE_BYTES,
                errors=f"{asked['name']}.tcpdump.txt",
            ),
        )
