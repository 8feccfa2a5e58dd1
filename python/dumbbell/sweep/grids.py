"""Grids of parameters: the same comparison at every combination of values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dumbbell.spec import Experiment
from dumbbell.sweep.progress import Progress, ProgressCallback
from dumbbell.sweep.replications import Measure, Replications, replicate


@dataclass(frozen=True, slots=True)
class GridPoint:
    """One combination of values and what was measured there.

    Attributes:
        parameters: Name to value.
        replications: What was measured.
    """

    parameters: Mapping[str, Any]
    replications: Replications


def grid(**axes: Sequence[Any]) -> list[dict[str, Any]]:
    """Every combination of the axes' values, the last axis fastest.

    >>> grid(rate=["1mbit", "2mbit"], limit=[10, 100])[1]
    {'rate': '1mbit', 'limit': 100}
    """
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def replicate_grid(
    points: Sequence[Mapping[str, Any]],
    make: Callable[..., Mapping[str, Experiment] | Experiment],
    measure: Measure,
    *,
    on_progress: ProgressCallback | None = None,
    **options: Any,
) -> Iterator[GridPoint]:
    """Replicate at each point of a grid, in order.

    All points share their random numbers (same seed, same replication numbers), so differences
    between them are sharper than the values.

    Args:
        points: Parameters of each, such as `grid` gives.
        make: From the parameters, as keywords, to the arms; one experiment is the arm ``run``.
        measure: As for `replicate`.
        on_progress: Called about ten times a second, the point in the task's name.
        **options: As for `replicate`.

    Yields:
        Each point as it is done. After an interruption no further point is begun.

    Raises:
        SpecError: As `replicate`.
    """
    task = str(options.pop("task", "grid"))
    for number, parameters in enumerate(points, start=1):
        arms = make(**parameters)
        if isinstance(arms, Experiment):
            arms = {"run": arms}
        done = replicate(
            arms,
            measure,
            task=f"{task} {number} of {len(points)}",
            on_progress=_named(on_progress, parameters),
            **options,
        )
        yield GridPoint(dict(parameters), done)
        if done.interrupted:
            return


def _named(
    on_progress: ProgressCallback | None, parameters: Mapping[str, Any]
) -> ProgressCallback | None:
    if on_progress is None:
        return None
    where = ", ".join(f"{name} = {value}" for name, value in parameters.items())

    def tell(progress: Progress) -> None:
        on_progress(Progress(progress.task, progress.done, progress.total, progress.unit, where))

    return tell
