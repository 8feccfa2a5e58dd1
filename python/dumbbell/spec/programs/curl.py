"""``curl`` (curl(1)): downloads from a small web server, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from dumbbell.spec.fields import Flag, TransferSize
from dumbbell.spec.program_list import ProgramQuantities
from dumbbell.spec.programs.base import (
    GUEST,
    BetweenHosts,
    CommandContext,
    Ends,
    OutputReader,
    RunTimes,
    Task,
    Tool,
)
from dumbbell.spec.programs.fields import PageCount

FIRST_PORT = 8000
_WRITTEN = (
    '{"number":%{num_connects},"status":%{http_code},"bytes":%{size_download},'
    '"connect_s":%{time_connect},"first_byte_s":%{time_starttransfer},"total_s":%{time_total}}\\n'
)


class CurlProgram(BetweenHosts):
    """``curl -s -o /dev/null http://ADDRESS:PORT/`` several times, and how long each took."""

    TOOLS: ClassVar = (Tool("curl", "curl"),)
    SAYS: ClassVar = frozenset({ProgramQuantities.THROUGHPUT, ProgramQuantities.TRANSFERS})
    INSTEAD: ClassVar[str] = '[[flows]] with source = { kind = "sized" } transfers as much there'

    kind: Literal["curl"] = Field(
        default="curl",
        description="`curl`, from a web server of ours that has a page of a given size.",
    )
    size: TransferSize = Field(description="Of the page, without the head of the answer.")
    count: PageCount = Field(default=1, description="How often it is fetched.")
    keep_alive: Flag = Field(
        default=False, description="Whether all go over one connection, or each over its own."
    )

    @classmethod
    def tasks(cls, asked: Mapping[str, Any], site: CommandContext) -> tuple[Task, ...]:
        """A server with one page, and curl."""
        name, port = asked["name"], FIRST_PORT + site.index
        address = site.address(asked["from"], asked["to"])
        # Without ``--globoff`` curl would interpret brackets in the URL as a range.
        words = ["-q", "-sS", "-g", "--no-progress-meter", "-w", _WRITTEN]
        if not asked["keep_alive"]:
            words += ["-H", "Connection: close"]
        for _ in range(asked["count"]):
            words += ["-o", "/dev/null", f"http://{address}:{port}/"]
        return (
            Task(
                GUEST,
                ("web-server", str(port), str(asked["size_bytes"])),
                asked["to"],
                f"{name}.web-server.txt",
                RunTimes.BEFORE,
                Ends.INTERRUPTED,
            ),
            Task("curl", tuple(words), asked["from"], f"{name}.curl.txt", reads=OutputReader.CURL),
        )

    @classmethod
    def packets(cls, asked: Mapping[str, Any], capacity_bps: float, duration_ns: int) -> float:
        """Packets of the pages."""
        return float(asked["count"] * (10 + 2 * 8 * asked["size_bytes"] / 12_000))
