"""Runs with the programs that a source itself used, on the kernel: a column of a study's page.

They are there where the kernel is asked for and the programs are installed; else the page says why
not. Their random numbers are their own, so that a run of theirs has no twin among ours: means stand
beside means, each with its interval.
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
    """Whether all of them are installed."""
    return are_installed(tools)


def missing_programs(experiments: Iterable[Experiment]) -> list[str]:
    """Names of the programs of these experiments that are not installed, each once."""
    tools = dict.fromkeys(tool for each in experiments for tool in asked_tools(each.resolved()))
    return [tool.name for tool in tools if not are_installed((tool,))]


def are_wanted(options: StudyOptions, experiments: Iterable[Experiment]) -> bool:
    """Whether they are run: the kernel is asked for, and they can run there."""
    return "kernel" in options.backends and not _obstacle(list(experiments))


def why_absent(options: StudyOptions, experiments: Iterable[Experiment]) -> str:
    """A sentence where the kernel is asked for and they cannot run; else empty."""
    obstacle = _obstacle(list(experiments)) if "kernel" in options.backends else ""
    return obstacle and f"There is no column with the source's own programs: {obstacle}."


def _obstacle(experiments: list[Experiment]) -> str:
    """Why they cannot run on this machine, as the end of a sentence; empty where they can."""
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
    """A part with them: run where the kernel is asked for and they are there.

    Attributes:
        experiments: All that it runs with them, by arm.
    """

    name = "the source's own programs"
    experiments: Mapping[A, Experiment]

    def is_wanted(self, options: StudyOptions) -> bool:
        """See `Part`."""
        return are_wanted(options, self.experiments.values())

    def on_kernel(self) -> Iterable[Experiment]:
        """All of them, where they can be run."""
        experiments = list(self.experiments.values())
        return () if _obstacle(experiments) else experiments

    def why_absent(self, options: StudyOptions) -> list[str]:
        """A note where the kernel is asked for and they cannot run; else none."""
        absent = why_absent(options, self.experiments.values())
        return [absent] if absent else []
