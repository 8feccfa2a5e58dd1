"""Compare experiments; the result is plain data that neither prints nor draws."""

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
"""Default number of replications: enough for the agreement of tails, which needs ten per side."""
MOST_REPLICATIONS = 200
"""Most replications when a precision is asked for; then it is reported as not reached."""


@dataclass(frozen=True)
class Comparison:
    """Result of comparing cells.

    Attributes:
        cells: The cells that ran, in the order given; the others are compared with the first.
        backends: Backends, in the order given.
        results: Summaries of the replications, by arm.
        quantities: Rows of the table.
        differences: Each other cell minus the first, for every row and backend.
        agreements: Each other backend minus the first, for every row and cell.
        failed: Cells that could not be described, checked or run.
        ensemble: The ensemble that replaces randomness; None if runs are random or there is one.
        interrupted: Whether it was stopped early.
        grid: Layout of a sweep's cells; None for other comparisons.
        figures: The figures that a sweep asks for.
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
        """All arms: backend by backend, each with its cells."""
        return tuple(self.results)

    @property
    def imprecise(self) -> tuple[Arm, ...]:
        """Arms that were stopped before they reached the precision asked for."""
        return tuple(
            arm
            for arm, replicates in self.results.items()
            if not replicates.precise and replicates.stopped_because
        )

    @property
    def plot(self) -> ComparisonPlots:
        """Its figures, one method each: ``comparison.plot.operating_points()``."""
        from dumbbell.compare.plots import ComparisonPlots

        return ComparisonPlots(self)

    def replicates(self, cell: str, backend: str = "") -> Replicates:
        """Replications of a cell; on the first backend by default.

        Raises:
            SpecError: There is no such arm.
        """
        arm = Arm(cell, backend or self.backends[0])
        if arm not in self.results:
            known = ", ".join(each.label for each in self.cells)
            raise SpecError("cell", f"{cell} on {arm.backend}", f"one of {known}")
        return self.results[arm]

    def measured(self, quantity: Quantity | str, cell: str, backend: str = "") -> Measured:
        """A quantity of a cell, with its interval or spread if it has one."""
        wanted = Quantity.parse(quantity) if isinstance(quantity, str) else quantity
        values = self.replicates(cell, backend).values(wanted)
        return measured(
            values,
            wanted.measure.scale,
            possible=wanted.measure.possible,
            is_ensemble=self.ensemble is not None,
        )

    def difference(self, quantity: Quantity | str, cell: str, backend: str = "") -> Difference:
        """One of `differences`.

        Raises:
            SpecError: There is no such difference.
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

    Replication k of every cell uses the same random numbers where flows, probes and links have the
    same names and the seed is the same (common random numbers).

    Args:
        cells: Cells to compare; a single one is only measured.
        backends: ``sim``, ``kernel``, or both; the two are then compared with each other as well.
        replications: Replications of each cell on each backend; `REPLICATIONS` when None.
        precision: Instead of a number: replicate each cell until the 95 % intervals of rates, mean
            delays and mean completion times are within this share of their means (0.05 is 5 %); at
            most `MOST_REPLICATIONS`.
        at_least: Replications before the precision is first checked.
        failed: Cells that were refused before, to be reported with the others.
        jobs: Threads; 0 for one per core. Results do not depend on it.
        memory_bytes: Memory that all runs may use together.
        executor: Performs the runs; None for threads of this process (``jobs``, ``memory_bytes``).
        keep: Number of replications of each cell whose runs are kept.
        grid: Layout of a sweep's cells: it names the base of each cell and the rows of the table
            (by default a few important ones).
        figures: Figures of a sweep.
        on_progress: Called about ten times a second.
        cancel: Set it to stop within a second and keep the finished replications.

    Raises:
        SpecError: No cell can be run, or both a number and a precision are asked for.
        RunError: Every cell failed.
        StatsError: The number or the precision is out of range.
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
    """Add the differences and agreements that follow from the results."""
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
    """Label of each cell and of its base, where both ran."""
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
    """Upper bounds of rates, by arm; each description is read once."""

    def __init__(self, bare: Comparison) -> None:
        self._results = bare.results
        self._cells = {each.label: each for each in bare.cells}
        self._described: dict[str, Resolved] = {}

    def of(self, quantity: Quantity, arm: Arm) -> float:
        """The bound from the description; if a link's rate varies, its mean also counts."""
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
