"""Turn a ``[[claim]]`` table into a claim with its rule, and plan how to collect its evidence.

Everything is fixed before anything runs. The rules and their intervals come from `dumbbell.claims`;
this module makes no verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dumbbell.claims import Amendment, Claim, Grid, GridPoint
from dumbbell.claims.rules import Agreement, Direction, Published, PublishedInEnsemble, Rule
from dumbbell.claims.rules import Preview as PreviewRule
from dumbbell.claims.rules.prediction import Law, least_runs
from dumbbell.claims.rules.preview import Shortfall
from dumbbell.compare.cells import Cell
from dumbbell.compare.checking.kinds import (
    ClaimPlace,
    Evidence,
    PlannedClaim,
    calibration_of,
    planned_at,
)
from dumbbell.compare.checking.numbers import Numbers
from dumbbell.compare.checking.placing import (
    MOST_POINTS,
    Cells,
    first_difference,
    points_of,
    varied_in,
)
from dumbbell.compare.ensemble import Ensemble
from dumbbell.errors import SpecError
from dumbbell.spec.claim_tables import (
    AgreementTable,
    AnyClaim,
    CalibrationTable,
    EqualsTable,
    EquivalentTable,
    Measuring,
    OrderingTable,
    ShareTable,
    SpreadTable,
)
from dumbbell.spec.refusal import shown

OVER_GRIDS = (EqualsTable, OrderingTable, EquivalentTable, ShareTable, SpreadTable)
"""Claims that may be made about every point of a grid: directions. A printed number has one
setting.
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """A claim before anything has run.

    Attributes:
        claim: The claim with its rule.
        evidence: Collects the rule's evidence from the replications on a backend.
        is_of_backends: Whether it compares two backends.
        needs_runs: Whether it needs runs at all.
        note: Printed with the verdict.
    """

    claim: Claim[Any]
    evidence: Evidence
    is_of_backends: bool = False
    needs_runs: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Named:
    """A table and its path in the file."""

    table: AnyClaim
    path: str
    id: str


@dataclass
class Planning:
    """Converts tables to plans.

    Attributes:
        cells: The cells of the file.
        ensemble: The ensemble that replaces randomness in all cells, or None.
        source: Source of claims that name none.
    """

    cells: Cells
    ensemble: Ensemble | None
    source: str
    _ids: dict[str, str] = field(default_factory=dict)

    def plans(self, tables: Sequence[AnyClaim]) -> list[Plan]:
        """One plan per table.

        Raises:
            SpecError: A table does not fit the experiment; with its path in the file.
        """
        return [self._plan(each) for each in self._named(tables)]

    def _named(self, tables: Sequence[AnyClaim]) -> Iterator[_Named]:
        for index, table in enumerate(tables):
            path = f"claim[{index}]"
            name = table.id or f"claim-{index + 1}"
            if name in self._ids:
                allowed = f"a name no other claim has ({self._ids[name]} has it)"
                raise SpecError(f"{path}.id", name, allowed)
            self._ids[name] = path
            yield _Named(table, path, name)

    def _plan(self, named: _Named) -> Plan:
        table = named.table
        if isinstance(table, CalibrationTable):
            rule, fitted = calibration_of(table)
            return Plan(self._claim(named, rule), lambda ours, other: fitted, needs_runs=False)
        try:
            rule, evidence = self._rule(named, table)
        except ValueError as error:
            # The rule refuses its own numbers.
            raise SpecError(named.path, named.id, str(error)) from None
        return Plan(
            self._claim(named, rule),
            evidence,
            is_of_backends=isinstance(table, AgreementTable),
            note="; ".join(filter(None, (table.note, self._members(rule)))),
        )

    def _members(self, rule: Rule[Any]) -> str:
        """Note for verdicts that rest on an ensemble, unless the rule mentions it."""
        if self.ensemble is None or isinstance(rule, PublishedInEnsemble):
            return ""
        which = ", ".join(self.ensemble.because)
        return f"nothing is random in {which}: members of an ensemble, {self.ensemble.words}"

    def _rule(self, named: _Named, table: Measuring) -> tuple[Rule[Any], Evidence]:
        points = points_of(table.where)
        varied = varied_in(table.where)
        path = f"{named.path}.where"
        if varied and not isinstance(table, OVER_GRIDS):
            value = shown(table.where[varied[0]])
            allowed = "one value: this kind of claim is about one cell"
            raise SpecError(f"{path}: {varied[0]}", value, allowed)
        if len(points) > MOST_POINTS:
            raise SpecError(path, f"{len(points)} points", f"at most {MOST_POINTS}")
        planned = [self._at(named, table, point) for point in points]
        first = planned[0]
        if not varied:
            return self._preview(named, table, first), first.evidence
        settings = [{each: _value(point[each]) for each in varied} for point in points]
        rule: Rule[Any] = Direction(
            at_each=first.rule, grid=f"{', '.join(varied)}: {len(points)} points"
        )

        def evidence(ours: Numbers, other: Numbers) -> Grid[Any]:
            return Grid(
                [
                    GridPoint(setting, each.evidence(ours, other))
                    for setting, each in zip(settings, planned, strict=True)
                ]
            )

        return self._preview(named, table, PlannedClaim(rule, evidence, first.cell)), evidence

    def _at(self, named: _Named, table: Measuring, where: Mapping[str, Any]) -> PlannedClaim:
        return planned_at(table, ClaimPlace(self.cells, where, named.path, self.ensemble))

    def _preview(self, named: _Named, table: Measuring, planned: PlannedClaim) -> Rule[Any]:
        """The rule, or a preview of it if the run falls short of the published one."""
        lacks = tuple(self._shortfalls(named, table, planned.cell))
        return PreviewRule(of=planned.rule, shortfalls=lacks) if lacks else planned.rule

    def _shortfalls(self, named: _Named, table: Measuring, cell: Cell) -> Iterator[Shortfall]:
        for path, value in table.as_published.items():
            where = f"{named.path}.as_published"
            published = self.cells.described(cell, {path: value}, where)
            differs = first_difference(cell.experiment.resolved(), published.resolved())
            if differs is None:
                continue
            step, ours, theirs = differs
            if not (_is_number(ours) and _is_number(theirs)):
                raise SpecError(f"{where}: {path}", shown(value), "a setting that is a number")
            unit, factor = _unit_of(step)
            yield Shortfall(what=path, ours=ours * factor, published=theirs * factor, unit=unit)

    def _claim(self, named: _Named, rule: Rule[Any]) -> Claim[Any]:
        table = named.table
        changed = table.amended
        return Claim(
            id=named.id,
            statement=table.statement,
            source=table.source or self.source,
            rule=rule,
            fact=table.fact or "",
            amended=None if changed is None else Amendment(changed.when, changed.what),
        )


def least_replications(rule: Rule[Any]) -> int:
    """Fewest replications for a conclusion by this rule."""
    match rule:
        case PreviewRule():
            return least_replications(rule.of)
        case Direction():
            return least_replications(rule.at_each)
        case Published():
            return least_runs(rule.law, rule.level)
        case PublishedInEnsemble():
            return least_runs(Law.ANY, rule.level)
        case Agreement():
            return rule.least
        case _:
            return rule.least_replications


def _value(value: Any) -> float | str:
    return float(value) if _is_number(value) else shown(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_UNITS = {"_ns": ("s", 1e-9), "_bps": ("Mbit/s", 1e-6), "_bytes": ("bytes", 1.0)}


def _unit_of(path: str) -> tuple[str, float]:
    """Unit of a key of a resolved description, from the suffix of its name."""
    return next((unit for end, unit in _UNITS.items() if path.endswith(end)), ("1", 1.0))
