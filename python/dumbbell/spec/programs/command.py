"""Arbitrary command lines, which the user must allow.

A file with one is refused without ``--allow-programs``; a Python program needs no permission. Words
are passed to the program unchanged, without a shell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from dumbbell.spec.fields import Flag, word
from dumbbell.spec.program_list import ALLOWANCE
from dumbbell.spec.programs.base import AtHost, CommandContext, Ends, RunTimes, Task, Tool
from dumbbell.spec.programs.fields import MOST_WORDS, CommandWord, words_schema
from dumbbell.spec.refusal import Refused

MOST_OUTPUT_BYTES = 16 << 20

Begins = Annotated[
    str, BeforeValidator(word("at-start", "before")), words_schema("at-start", "before")
]
Stops = Annotated[
    str, BeforeValidator(word("by-itself", "interrupted")), words_schema("by-itself", "interrupted")
]


class CommandProgram(AtHost):
    """The command line ``command``, run in a host."""

    INSTEAD: ClassVar[str] = "there are only flows and probes there"
    STARTS_OTHERS: ClassVar[bool] = True
    NEEDS_ALLOWANCE: ClassVar[bool] = True

    kind: Literal["any"] = Field(
        default="any",
        description="Any program of the machine, inside the guest; in a file only with "
        "`--allow-programs`.",
    )
    command: Annotated[Sequence[CommandWord], AfterValidator(tuple)] = Field(
        description="The program and its arguments, a list of words; no shell reads them. Other "
        "hosts are known by their names.",
        examples=[["ITGSend", "-a", "receiver-1", "-E", "110", "-t", "10000"]],
        json_schema_extra={"x-unit": "words"},
    )
    begins: Begins = Field(
        default="at-start", description="`before`: before the run's time zero, as servers do."
    )
    stops: Stops = Field(
        default="by-itself",
        description="`interrupted`: by SIGINT when all that end by themselves have, as servers do.",
    )
    may_fail: Flag = Field(default=False, description="Whether any exit status will do.")

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        if not 1 <= len(self.command) <= MOST_WORDS or not self.command[0].strip():
            raise Refused(self.command, f"1 to {MOST_WORDS} words, a program first", path="command")
        # A file is read with a context; a Python program has none.
        if isinstance(info.context, Mapping) and not info.context.get(ALLOWANCE):
            raise Refused(
                " ".join(self.command),
                "a built-in program, or --allow-programs on the command line, which lets this file "
                "run any program of this machine inside the guest",
                path="command",
            )
        return self

    @classmethod
    def tools(cls, asked: Mapping[str, Any]) -> tuple[Tool, ...]:
        """The program named by the command."""
        return (Tool(asked["command"][0], ""),)

    @classmethod
    def tasks(cls, asked: Mapping[str, Any], site: CommandContext) -> tuple[Task, ...]:
        """A single command line."""
        tool, *words = asked["command"]
        return (
            Task(
                tool,
                tuple(words),
                asked["host"],
                f"{asked['name']}.txt",
                RunTimes(asked["begins"]),
                Ends(asked["stops"]),
                may_exit=tuple(range(1, 256)) if asked["may_fail"] else (),
                most_bytes=MOST_OUTPUT_BYTES,
            ),
        )
