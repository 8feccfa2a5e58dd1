"""Programs of the machine that run in the hosts of an experiment, a file each.

A new one is a file beside these, with a class like theirs, and a line in `MODELS`
(docs/howto/add-a-program.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import Field

from dumbbell.errors import SpecError
from dumbbell.spec.program_list import ALLOWANCE, ProgramQuantities, programs_of
from dumbbell.spec.programs.base import (
    GUEST,
    CommandContext,
    Ends,
    NewOutputFile,
    OutputReader,
    Program,
    RunTimes,
    Task,
    Tool,
)
from dumbbell.spec.programs.command import CommandProgram
from dumbbell.spec.programs.curl import CurlProgram
from dumbbell.spec.programs.ditg import DitgProgram
from dumbbell.spec.programs.flent import FlentProgram
from dumbbell.spec.programs.iperf import IperfProgram
from dumbbell.spec.programs.iperf3 import Iperf3Program
from dumbbell.spec.programs.netperf import NetperfProgram
from dumbbell.spec.programs.ping import PingProgram
from dumbbell.spec.programs.tcpdump import TcpdumpProgram
from dumbbell.spec.programs.tshark import TsharkProgram

MODELS: Mapping[str, type[Program]] = {
    "ditg": DitgProgram,
    "iperf3": Iperf3Program,
    "iperf": IperfProgram,
    "ping": PingProgram,
    "curl": CurlProgram,
    "netperf": NetperfProgram,
    "flent": FlentProgram,
    "tcpdump": TcpdumpProgram,
    "tshark": TsharkProgram,
    "any": CommandProgram,
}
"""By their kind."""

MOST_PROGRAMS = 1000
"""Each has ports of its own."""

if TYPE_CHECKING:
    AnyProgram = Program
else:
    AnyProgram = Annotated[Union[tuple(MODELS.values())], Field(discriminator="kind")]  # noqa: UP007

__all__ = [
    "ALLOWANCE",
    "GUEST",
    "MODELS",
    "MOST_PROGRAMS",
    "AnyProgram",
    "CommandContext",
    "CommandProgram",
    "CurlProgram",
    "DitgProgram",
    "Ends",
    "FlentProgram",
    "Iperf3Program",
    "IperfProgram",
    "NetperfProgram",
    "NewOutputFile",
    "OutputReader",
    "PingProgram",
    "Program",
    "ProgramQuantities",
    "RunTimes",
    "Task",
    "TcpdumpProgram",
    "Tool",
    "TsharkProgram",
    "kinds_that_say",
    "model_of",
    "programs_of",
    "refuse_simulated",
    "runs_commands",
    "starts_others",
    "tools_of",
]


def model_of(asked: Mapping[str, Any]) -> type[Program]:
    """The class of a resolved program."""
    return MODELS[asked["kind"]]


def kinds_that_say(says: ProgramQuantities) -> frozenset[str]:
    """Kinds of the programs whose output has a quantity."""
    return frozenset(kind for kind, model in MODELS.items() if says in model.SAYS)


def tools_of(resolved: Mapping[str, Any]) -> tuple[Tool, ...]:
    """What the programs of a resolved description need on the machine, each once."""
    return tuple(dict.fromkeys(_tools(resolved)))


def _tools(resolved: Mapping[str, Any]) -> Iterator[Tool]:
    for asked in programs_of(resolved):
        yield from model_of(asked).tools(asked)


def runs_commands(resolved: Mapping[str, Any]) -> bool:
    """Whether a program of it may be any of the machine."""
    return any(model_of(asked).NEEDS_ALLOWANCE for asked in programs_of(resolved))


def starts_others(resolved: Mapping[str, Any]) -> bool:
    """Whether a program of it starts others, and so sees all programs of the machine."""
    return any(model_of(asked).STARTS_OTHERS for asked in programs_of(resolved))


def refuse_simulated(resolved: Mapping[str, Any]) -> None:
    """Refuse programs where they cannot run.

    Raises:
        SpecError: There is one; the message says what to write instead.
    """
    for index, asked in enumerate(programs_of(resolved)):
        raise SpecError(
            f"programs[{index}].kind",
            asked["kind"],
            "a program runs on the kernel only (--backend kernel): in the simulator "
            f"{model_of(asked).INSTEAD}",
        )
