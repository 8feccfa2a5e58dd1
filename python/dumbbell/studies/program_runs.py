"""Runs with the source's own programs on the kernel: a column of a study's page.

They exist if the kernel is requested and the programs are installed; otherwise the page gives the
reason. The programs use their own random numbers, so their runs cannot be paired with the
simulator's: only means are compared, each with its interval.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, TypeVar

from dumbbell.backends.kernel.confinement import ConfinementMethod, best_confinement
from dumbbell.backends.kernel.programs import are_installed, asked_tools
from dumbbell.spec import Experiment
from dumbbell.spec.programs import Tool, runs_commands
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.shape import Part

COLUMN = "own programs"
D = TypeVar("D")
A = TypeVar("A", bound=Hashable)


def can_run(tools: Iterable[Tool]) -> bool:
    """Whether all tools are installed."""
    return are_installed(tools)


def missing_programs(experiments: Iterable[Experiment]) -> list[str]:
    """Names of missing programs of these experiments, each once."""
    tools = dict.fromkeys(tool for each in experiments for tool in asked_tools(each.resolved()))
    return [tool.name for tool in tools if not are_installed((tool,))]


def are_wanted(options: StudyOptions, experiments: Iterable[Experiment]) -> bool:
    """Whether the kernel is requested and the programs can run there."""
    return "kernel" in options.backends and not _obstacle(list(experiments))


def why_absent(options: StudyOptions, experiments: Iterable[Experiment]) -> str:
    """A note if the kernel is requested and the programs cannot run; otherwise empty."""
    obstacle = _obstacle(list(experiments)) if "kernel" in options.backends else ""
    return obstacle and f"There is no column with the source's own programs: {obstacle}."


def _obstacle(experiments: list[Experiment]) -> str:
    """Why they cannot run on this machine, as the end of a sentence; empty if they can."""
    missing = missing_programs(experiments)
    if missing:
        return f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed"
    if any(runs_commands(each.resolved()) for each in experiments):
        confined = best_confinement()
        if confined.means is ConfinementMethod.NOTHING:
            return (
                "its scripts run only where this machine holds a guest to its files, and here is "
                f"{confined}"
            )
    return ""


class OwnProgramsPart(Part[D], Generic[A, D]):
    """A part with the source's programs: it runs if the kernel is requested and they are installed.

    Attributes:
        experiments: Its experiments with the programs, by arm.
    """

    name = "the source's own programs"
    experiments: Mapping[A, Experiment]

    def is_wanted(self, options: StudyOptions) -> bool:
        """See `Part`."""
        return are_wanted(options, self.experiments.values())

    def on_kernel(self) -> Iterable[Experiment]:
        """Its experiments, if they can be run."""
        experiments = list(self.experiments.values())
        return () if _obstacle(experiments) else experiments

    def why_absent(self, options: StudyOptions) -> list[str]:
        """A note if the kernel is requested and they cannot run; otherwise none."""
        absent = why_absent(options, self.experiments.values())
        return [absent] if absent else []
