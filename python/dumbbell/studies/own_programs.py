"""Runs with the programs that a source itself used, on the kernel: a column of a study's page.

They are there where the kernel is asked for and the programs are installed; else the page says why
not. Their random numbers are their own, so that a run of theirs has no twin among ours: means stand
beside means, each with its interval.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dumbbell.backends.kernel.programs import are_installed
from dumbbell.spec import Experiment
from dumbbell.spec.programs import tools_of
from dumbbell.studies.base import StudyOptions
from dumbbell.tables import NO_INSTANT, Run

COLUMN = "own programs"
_NS_PER_MS = 1e6


def missing_programs(experiments: Iterable[Experiment]) -> list[str]:
    """Names of the programs of these experiments that are not installed, each once."""
    tools = dict.fromkeys(tool for each in experiments for tool in tools_of(each.resolved()))
    return [tool.name for tool in tools if not are_installed((tool,))]


def are_wanted(options: StudyOptions, experiments: Iterable[Experiment]) -> bool:
    """Whether they are run: the kernel is asked for, and the programs are there."""
    return "kernel" in options.backends and not missing_programs(experiments)


def why_absent(options: StudyOptions, experiments: Iterable[Experiment]) -> str:
    """A sentence where the kernel is asked for and a program is missing; else empty."""
    missing = missing_programs(experiments)
    if "kernel" not in options.backends or not missing:
        return ""
    return (
        f"There is no column with the source's own programs: {', '.join(missing)} "
        f"{'is' if len(missing) == 1 else 'are'} not installed."
    )


def round_trips_ms(run: Run) -> NDArray[np.float64]:
    """What ping printed: round trips of the answered requests, of all pings pooled, shape (n,)."""
    rtt_ns = run.column("program_round_trips", "rtt_ns")
    answered: NDArray[np.float64] = rtt_ns[rtt_ns != NO_INSTANT] / _NS_PER_MS
    return answered
