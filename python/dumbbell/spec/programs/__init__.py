"""Programs of the machine that run in the hosts of an experiment, one module each.

To add one, write a module with a class and add it to `MODELS` (docs/howto/add-a-program.md).
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
"""Classes of programs by kind."""

MOST_PROGRAMS = 1000
"""Maximum number of programs; each has its own ports."""

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
    """Kinds of programs whose output has a quantity."""
    return frozenset(kind for kind, model in MODELS.items() if says in model.SAYS)


def tools_of(resolved: Mapping[str, Any]) -> tuple[Tool, ...]:
    """The tools that the programs of a resolved description need, each once."""
    return tuple(dict.fromkeys(_tools(resolved)))


def _tools(resolved: Mapping[str, Any]) -> Iterator[Tool]:
    for asked in programs_of(resolved):
        yield from model_of(asked).tools(asked)


def runs_commands(resolved: Mapping[str, Any]) -> bool:
    """Whether one of its programs is an arbitrary command line."""
    return any(model_of(asked).NEEDS_ALLOWANCE for asked in programs_of(resolved))


def starts_others(resolved: Mapping[str, Any]) -> bool:
    """Whether one of its programs starts others, and so must see all programs of the machine."""
    return any(model_of(asked).STARTS_OTHERS for asked in programs_of(resolved))


def refuse_simulated(resolved: Mapping[str, Any]) -> None:
    """Refuse programs in the simulator.

    Raises:
        SpecError: The description has a program; the message names the replacement.
    """
    for index, asked in enumerate(programs_of(resolved)):
        raise SpecError(
            f"programs[{index}].kind",
            asked["kind"],
            "a program runs on the kernel only (--backend kernel): in the simulator "
            f"{model_of(asked).INSTEAD}",
        )
