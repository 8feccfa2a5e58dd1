"""The numbers from which a claim is judged, and checks that the cell has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dumbbell.compare.capacity import possible_bps
from dumbbell.compare.cells import Cell
from dumbbell.compare.checking.amounts import Scale
from dumbbell.compare.comparison import Comparison
from dumbbell.compare.measures import MeasureSubject
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.replicating import Arm, Replicates
from dumbbell.compare.summary import SENDS_TRANSFERS, Floats, groups_of_one, named_groups
from dumbbell.errors import DumbbellError, SpecError
from dumbbell.spec import Resolved
from dumbbell.spec.programs import programs_of
from dumbbell.spec.refusal import nearest, one_of


class NoRunsError(DumbbellError):
    """A cell whose runs failed or were stopped, so that claims about it cannot be judged."""


@dataclass(frozen=True, slots=True)
class Number:
    """A quantity in a cell.

    Attributes:
        quantity: The quantity; ``flow[GROUP].METRIC`` of a group of equal flows is one number per
            flow.
        cell: The cell.
        scale: Unit of its values.
    """

    quantity: Quantity
    cell: Cell
    scale: Scale

    @classmethod
    def read(cls, path: str, cell: Cell, where: str, *, of_group: bool = False) -> Number:
        """Parse the path of a quantity.

        Args:
            path: The path as typed.
            cell: The cell in which it is measured.
            where: Path of the key in the file, for errors.
            of_group: Whether it is a number of each flow in a group of equal flows.

        Raises:
            SpecError: It is not a quantity, or the cell has no such flow, queue or probe.
        """
        try:
            quantity = Quantity.parse(path)
        except SpecError as error:
            raise SpecError(where, error.value, error.allowed, error.hint) from None
        _check_there(quantity, cell, where, of_group=of_group)
        return cls(quantity, cell, Scale.of(quantity.measure))


class Numbers:
    """Numbers of the replications on one backend."""

    def __init__(self, found: Comparison, backend: str) -> None:
        """Use the runs of a comparison on one backend."""
        self._found = found
        self.backend = backend

    def of(self, number: Number, scale: Scale | None = None) -> Floats:
        """One number per replication, shape (n,); NaN where a run has none.

        Raises:
            LackingError: Its cell has no runs.
        """
        factor = (scale or number.scale).factor
        return factor * self._replicates(number.cell).values(number.quantity)

    def of_flows(self, number: Number) -> Floats:
        """One number per replication and flow of a group, shape (n, flows), in the quantity's own
        unit.

        Raises:
            LackingError: Its cell has no runs.
        """
        replicates = self._replicates(number.cell)
        summary, name = replicates.summaries[0], number.quantity.name
        alone = groups_of_one(summary.names(MeasureSubject.FLOW), summary.groups)
        names = summary.groups.get(name) or (alone[name],)
        metric = number.quantity.metric
        return np.column_stack(
            [replicates.values(Quantity(MeasureSubject.FLOW, name, metric)) for name in names]
        )

    def _replicates(self, cell: Cell) -> Replicates:
        arm = Arm(cell.label, self.backend)
        if arm not in self._found.results:
            raise NoRunsError(f"{cell.label or 'the experiment'} has no runs on {self.backend}")
        return self._found.results[arm]


def paired(*columns: Floats) -> list[Floats]:
    """Number of replications that all cells have; some may have been stopped early."""
    n = min(len(each) for each in columns)
    return [each[:n] for each in columns]


def capacity_bps(number: Number) -> float:
    """Upper bound of a rate; infinite if nothing limits it."""
    return possible_bps(number.quantity, Resolved(number.cell.experiment.resolved()))


def _check_there(quantity: Quantity, cell: Cell, where: str, *, of_group: bool) -> None:
    described = cell.experiment.resolved()
    groups = named_groups(described)
    names = _names(quantity.of, described, cell)
    if of_group:
        if quantity.of is not MeasureSubject.FLOW or quantity.name not in groups:
            allowed = f"flow[GROUP].METRIC of a group: {one_of(list(groups)) if groups else 'none'}"
            raise SpecError(where, quantity.path, allowed, nearest(quantity.name, groups))
        members: Sequence[int] = groups[quantity.name]
    elif quantity.of is MeasureSubject.NETWORK:
        members = range(len(described["flows"]))
    elif quantity.name not in names:
        close = nearest(quantity.name, names)
        hint = quantity.path.replace(f"[{quantity.name}]", f"[{close}]") if close else None
        if quantity.of is MeasureSubject.FLOW and quantity.name in groups:
            hint = f"flow[{quantity.name}-1].{quantity.metric}"
        raise SpecError(where, quantity.path, f"a name there is: {one_of(names)}", hint)
    else:
        members = _members(quantity, described, groups)
    if quantity.of is MeasureSubject.PROGRAM:
        _check_of_kind(quantity, described, where)
    kinds = {described["flows"][place]["source"]["kind"] for place in members}
    if quantity.measure.of_transfers and not kinds & SENDS_TRANSFERS:
        raise SpecError(where, quantity.path, "a number of a flow that sends transfers")


def _check_of_kind(quantity: Quantity, described: Mapping[str, Any], where: str) -> None:
    """Check that a program of that kind reports the number."""
    wanted = quantity.measure.of_kinds
    for each in programs_of(described):
        if each["name"] == quantity.name and each["kind"] not in wanted:
            raise SpecError(where, quantity.path, f"a number of {one_of(sorted(wanted))}")


def _names(of: MeasureSubject, described: Mapping[str, Any], cell: Cell) -> list[str]:
    match of:
        case MeasureSubject.QUEUE:
            return cell.experiment.queue_names
        case MeasureSubject.PROBE:
            return [each["name"] for each in described["probes"]]
        case MeasureSubject.PROGRAM:
            return [each["name"] for each in programs_of(described)]
        case MeasureSubject.FLOWS:
            return list(named_groups(described))
        case _:
            return [each["name"] for each in described["flows"]]


def _members(
    quantity: Quantity, described: Mapping[str, Any], groups: Mapping[str, list[int]]
) -> Sequence[int]:
    if quantity.of is MeasureSubject.FLOWS:
        return groups[quantity.name]
    if quantity.of is MeasureSubject.FLOW:
        return [i for i, each in enumerate(described["flows"]) if each["name"] == quantity.name]
    return ()
