"""``tshark`` (tshark(1)) on the capture of a ``tcpdump`` of the same run, after the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from dumbbell.spec.fields import Name
from dumbbell.spec.programs.base import AtHost, CommandContext, RunTimes, Task, Tool
from dumbbell.spec.programs.fields import DisplayFilter, FieldName
from dumbbell.spec.refusal import Refused

USUAL_FIELDS = (
    *("frame.time_epoch", "ip.src", "ip.dst", "tcp.srcport", "tcp.dstport", "frame.len"),
    "tcp.analysis.retransmission",
)
"""Fields, in this order, that ``dumbbell analyze`` can read."""
MOST_FIELDS = 64
MOST_TEXT_BYTES = 1 << 31


class TsharkProgram(AtHost):
    """``tshark -r CAPTURE -Y FILTER -T fields -E separator=, -e FIELD ...``."""

    TOOLS: ClassVar = (
        Tool(
            "tshark",
            "tshark",
            reads=(
                *(Path(p) for p in ("/usr/lib/x86_64-linux-gnu/wireshark", "/usr/share/wireshark")),
                *(Path(p) for p in ("/usr/share/libwireshark", "/etc/wireshark")),
            ),
        ),
    )
    INSTEAD: ClassVar[str] = "capture = true of a link writes a file that it reads"

    kind: Literal["tshark"] = Field(
        default="tshark",
        description="`tshark`: fields of the packets that a tcpdump of the run captured, as "
        "comma-separated text.",
    )
    of: Name = Field(description="Name of the tcpdump.", examples=["at-router"])
    filter: DisplayFilter | None = Field(
        default=None, description="Only packets that this lets through (`-Y`)."
    )
    fields: Annotated[Sequence[FieldName], AfterValidator(tuple)] = Field(
        default=USUAL_FIELDS,
        description="Columns (`-e`); when left out those that `dumbbell analyze FILE` reads.",
        json_schema_extra={"x-unit": "fields"},
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not 1 <= len(self.fields) <= MOST_FIELDS:
            raise Refused(f"{len(self.fields)} fields", f"1 to {MOST_FIELDS}", path="fields")
        return self

    def refers_to(self) -> str:
        """See `Program`."""
        return self.of

    @classmethod
    def tasks(cls, asked: Mapping[str, Any], site: CommandContext) -> tuple[Task, ...]:
        """A command line that runs when the capture is complete."""
        words = ["-r", "-", "-n", "-T", "fields", "-E", "separator=,"]
        words += ["-Y", asked["filter"]] if asked["filter"] else []
        words += [word for field in asked["fields"] for word in ("-e", field)]
        return (
            Task(
                "tshark",
                tuple(words),
                asked["host"],
                f"{asked['name']}.tshark.csv",
                RunTimes.AFTERWARDS,
                most_bytes=MOST_TEXT_BYTES,
                errors=f"{asked['name']}.tshark.txt",
                input=site.files[asked["of"]],
            ),
        )
