"""Experiments compared: a value that says everything, and prints and draws nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dumbbell.backends import Cancellation
from dumbbell.compare.capacity import possible_bps
from dumbbell.compare.cells import Cell, FailedCell
from dumbbell.compare.ensemble import Ensemble, ensemble_for, packet_time_ns
from dumbbell.compare.executing import Executor, Threads
from dumbbell.compare.judging import (
    BackendAgreement,
    Difference,
    Measured,
    agreement,
    judged,
    margin_of,
    measured,
    paired,
)
from dumbbell.compare.measures import MeasureSubject, Scale
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.replicating import Arm, Replicates, replicate_cells
from dumbbell.compare.rows import shown_rows, telling_rows
from dumbbell.errors import SpecError
from dumbbell.replication import Interrupted, ProgressCallback
from dumbbell.spec import Resolved
from dumbbell.stats import StoppingRule

if TYPE_CHECKING:
    from dumbbell.compare.axes import Grid
    from dumbbell.compare.plots import ComparisonPlots
    from dumbbell.compare.sweep_plans import Plan

REPLICATIONS = 10
"""Where nothing else is asked for: enough for the agreement of tails (VERDICTS asks for ten)."""
MOST_REPLICATIONS = 200
"""At which a precision that is asked for and not reached is given up."""


@dataclass(frozen=True)
class Comparison:
    """What came of comparing cells.

    Attributes:
        cells: Those that ran, in the order given; the first is what the others are compared with.
        backends: Where, in the order given.
        results: Summaries of each arm's replications.
        quantities: The rows of the table.
        differences: Each other cell against the first, for every row and backend.
        agreements: Each other backend against the first, for every row and cell.
        failed: Cells that could not be described, checked or run.
        ensemble: What stands in for randomness; None where there is randomness, or one run.
        interrupted: Whether somebody stopped it early.
        grid: How the cells of a sweep lie; None of other comparisons.
        figures: Those of a sweep that were asked for.
    """

    cells: tuple[Cell, ...]
    backends: tuple[str, ...]
    results: Mapping[Arm, Replicates]
    quantities: tuple[Quantity, ...]
    differences: tuple[Difference, ...] = ()
    agreements: tuple[BackendAgreement, ...] = ()
    failed: tuple[FailedCell, ...] = ()
    ensemble: Ensemble | None = None
    interrupted: bool = False
    grid: Grid | None = None
    figures: tuple[Plan, ...] = ()

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Backend after backend, each with its cells."""
        return tuple(self.results)

    @property
    def imprecise(self) -> tuple[Arm, ...]:
        """Those that were stopped before they were as precise as was asked."""
        return tuple(
            arm
            for arm, replicates in self.results.items()
            if not replicates.precise and replicates.stopped_because
        )

    @property
    def plot(self) -> ComparisonPlots:
        """Its figures, one call each, as in ``comparison.plot.operating_points()``."""
        from dumbbell.compare.plots import ComparisonPlots

        return ComparisonPlots(self)

    def replicates(self, cell: str, backend: str = "") -> Replicates:
        """Replications of a cell; on the first backend when none is named.

        Raises:
            SpecError: There is no such arm.
        """
        arm = Arm(cell, backend or self.backends[0])
        if arm not in self.results:
            known = ", ".join(each.label for each in self.cells)
            raise SpecError("cell", f"{cell} on {arm.backend}", f"one of {known}")
        return self.results[arm]

    def measured(self, quantity: Quantity | str, cell: str, backend: str = "") -> Measured:
        """A number of a cell, with its interval or spread where it has one."""
        wanted = Quantity.parse(quantity) if isinstance(quantity, str) else quantity
        values = self.replicates(cell, backend).values(wanted)
        return measured(
            values,
            wanted.measure.scale,
            possible=wanted.measure.possible,
            is_ensemble=self.ensemble is not None,
        )

    def difference(self, quantity: Quantity | str, cell: str, backend: str = "") -> Difference:
        """A row of `differences`.

        Raises:
            SpecError: There is no such row.
        """
        wanted = Quantity.parse(quantity) if isinstance(quantity, str) else quantity
        place = (wanted, cell, backend or self.backends[0])
        for each in self.differences:
            if (each.quantity, each.cell, each.backend) == place:
                return each
        raise SpecError("quantity", f"{wanted} of {cell}", "a row of the comparison's table")


def compare(
    cells: Sequence[Cell],
    *,
    backends: Sequence[str] = ("sim",),
    replications: int | None = None,
    precision: float | None = None,
    at_least: int = REPLICATIONS,
    failed: Sequence[FailedCell] = (),
    jobs: int = 0,
    memory_bytes: int | None = None,
    executor: Executor | None = None,
    keep: int = 0,
    grid: Grid | None = None,
    figures: Sequence[Plan] = (),
    on_progress: ProgressCallback | None = None,
    cancel: Cancellation | None = None,
) -> Comparison:
    """Run replications of cells and compare them, pair by pair.

    Replication k of every cell sees the same random numbers wherever flows, probes and links have
    the same names and the seed is the same (common random numbers).

    Args:
        cells: What to compare; one alone is measured.
        backends: Where: ``sim``, ``kernel``, or both, which are then compared too.
        replications: Of each cell on each backend; `REPLICATIONS` when None.
        precision: In place of a number: until the 95 % intervals of rates, mean delays and mean
            completion times are within this share of their means (0.05 is 5 %), in each cell for
            itself; at most `MOST_REPLICATIONS`.
        at_least: Replications before a precision is looked at.
        failed: Cells that were refused before, to be reported with the rest.
        jobs: Threads; 0 for one a core. Results do not depend on it.
        memory_bytes: What the runs may use together.
        executor: Who does them; None for threads of this process (``jobs``, ``may_use_bytes``).
        keep: Keep the runs of this number of replications of each cell.
        grid: How the cells of a sweep lie: each is compared with the one that the grid names, and
            its rows are those of the grid, or a few that say most.
        figures: Those of a sweep.
        on_progress: Called about ten times a second.
        cancel: Set it to stop within a second and keep the finished replications.

    Raises:
        SpecError: No cell can be run, or both a number and a precision are asked for.
        RunError: Every cell failed.
        StatsError: The number or the precision makes no rule.
        Interrupted: It was stopped before every cell had one replication.
    """
    rule = _rule(replications, precision, at_least)
    ensemble = None
    if rule.at_least > 1:
        ensemble = ensemble_for({each.label: each.experiment for each in cells})
    if ensemble is not None and precision is not None:
        settled = f"in {', '.join(ensemble.because)} nothing is random"
        allowed = "--replications N, members of an ensemble"
        raise SpecError("--precision", precision, allowed, reason=settled)
    running = replicate_cells(
        cells,
        backends,
        rule,
        executor=executor or Threads(jobs, memory_bytes),
        ensemble=ensemble,
        keep=keep,
        on_progress=on_progress,
        cancel=cancel,
    )
    broken, results = running.failed, running.results
    if not results:
        if running.interrupted:
            raise Interrupted("stopped before there was anything to compare")
        raise broken[0].error
    there = tuple(each for each in cells if any(arm.cell == each.label for arm in results))
    return _compared(
        Comparison(
            cells=there,
            backends=tuple(backends),
            results=results,
            quantities=_rows(results, grid),
            grid=grid,
            figures=tuple(figures),
            failed=(*failed, *broken),
            ensemble=ensemble,
            interrupted=running.interrupted,
        )
    )


def _rows(results: Mapping[Arm, Replicates], grid: Grid | None) -> tuple[Quantity, ...]:
    if grid is not None and grid.quantities:
        return grid.quantities
    rows = shown_rows(each.summaries for each in results.values())
    return tuple(rows if grid is None else telling_rows(rows))


def _rule(replications: int | None, precision: float | None, at_least: int) -> StoppingRule:
    if precision is None:
        n = REPLICATIONS if replications is None else replications
        return StoppingRule(at_least=n, at_most=n, batch=n)
    if not precision > 0.0:
        allowed = "a share of the mean above 0, such as 0.05"
        raise SpecError("--precision", precision, allowed)
    if replications is not None:
        allowed = "either --replications or --precision"
        raise SpecError("--precision", precision, allowed)
    return StoppingRule(
        at_least=at_least,
        at_most=max(at_least, MOST_REPLICATIONS),
        batch=REPLICATIONS,
        relative_half_width=precision,
    )


def _compared(bare: Comparison) -> Comparison:
    """With what follows from its results."""
    return replace(
        bare,
        differences=tuple(judged([*_differences(bare)])),
        agreements=tuple(_agreements(bare)),
    )


def _differences(bare: Comparison) -> Sequence[Difference]:
    found, capacities = [], _Capacities(bare)
    for backend in bare.backends:
        for cell, base in _pairs(bare, backend):
            ours, theirs = (bare.results[Arm(label, backend)] for label in (cell, base))
            for quantity in bare.quantities:
                capacity = min(
                    capacities.of(quantity, Arm(label, backend)) for label in (cell, base)
                )
                found.append(
                    paired(
                        quantity,
                        (cell, base, backend),
                        ours.values(quantity),
                        theirs.values(quantity),
                        margin_of(quantity, capacity),
                        is_ensemble=bare.ensemble is not None,
                    )
                )
    return found


def _pairs(bare: Comparison, backend: str) -> Iterator[tuple[str, str]]:
    """Labels of each cell and of the one that it is compared with, where both ran."""
    here = [each for each in bare.cells if Arm(each.label, backend) in bare.results]
    labels = {each.place: each.label for each in here}
    for cell in here:
        base = here[0].label
        if bare.grid is not None:
            base = labels.get(bare.grid.base_of(cell.place), cell.label)
        if base != cell.label:
            yield cell.label, base


def _agreements(bare: Comparison) -> Sequence[BackendAgreement]:
    found, capacities = [], _Capacities(bare)
    for cell in bare.cells:
        here = [each for each in bare.backends if Arm(cell.label, each) in bare.results]
        packet_s = packet_time_ns(Resolved(cell.experiment.resolved())) / 1e9
        for backend in here[1:]:
            ours, other = (bare.results[Arm(cell.label, each)] for each in (backend, here[0]))
            for quantity in bare.quantities:
                found.append(
                    agreement(
                        quantity,
                        (cell.label, backend, here[0]),
                        ours.values(quantity),
                        other.values(quantity),
                        capacity_bps=capacities.of(quantity, Arm(cell.label, here[0])),
                        packet_s=packet_s,
                        is_ensemble=bare.ensemble is not None,
                    )
                )
    return found


class _Capacities:
    """The most that a rate can be, of each arm; its description is read once."""

    def __init__(self, bare: Comparison) -> None:
        self._results = bare.results
        self._cells = {each.label: each for each in bare.cells}
        self._described: dict[str, Resolved] = {}

    def of(self, quantity: Quantity, arm: Arm) -> float:
        """By the description; where a link's rate changes, by its mean too."""
        if quantity.measure.scale is not Scale.RATE:
            return math.inf
        if arm.cell not in self._described:
            experiment = self._cells[arm.cell].experiment
            self._described[arm.cell] = Resolved(experiment.resolved())
        possible = possible_bps(quantity, self._described[arm.cell])
        if quantity.of not in (MeasureSubject.FLOW, MeasureSubject.FLOWS):
            return possible
        capacity = Quantity(quantity.of, quantity.name, "path_capacity_bps")
        values = self._results[arm].summaries[0].values
        return min(possible, float(values.get(capacity, math.inf)))
