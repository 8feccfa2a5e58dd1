"""For each kind of ``[[claim]]``: the rule with its numbers, and how its evidence is collected."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dumbbell.claims import (
    Curves,
    Fitted,
    Origin,
    Pairing,
    Ratio,
    Runs,
    Side,
    Sides,
    relative_spread,
    share_better,
)
from dumbbell.claims import Ensemble as Members
from dumbbell.claims.rules import (
    Agreement,
    Calibration,
    Check,
    Equals,
    Equivalent,
    Law,
    Ordering,
    Published,
    PublishedInEnsemble,
    Rule,
    Share,
    Spread,
    Supremum,
)
from dumbbell.claims.rules.intervals import ANYTHING
from dumbbell.compare.cells import Cell
from dumbbell.compare.checking.amounts import PURE, Scale
from dumbbell.compare.checking.numbers import Number, Numbers, capacity_bps, paired
from dumbbell.compare.checking.placing import Cells
from dumbbell.compare.ensemble import Ensemble, packet_time_ns
from dumbbell.compare.judging import margin_of
from dumbbell.compare.measures import Scale as Spreads
from dumbbell.compare.summary import Floats
from dumbbell.errors import SpecError
from dumbbell.spec import Resolved, claim_tables
from dumbbell.spec.claim_tables import ComparisonTerm

Evidence = Callable[[Numbers, Numbers], Any]
"""Collects evidence from the numbers of the judged backend and of the one it is compared with."""
LEAST_DELAY_MARGIN_S = 0.5e-3
ORIGINS: Mapping[str, Origin] = {
    "theory": Origin.THEORY,
    "published": Origin.PUBLISHED,
    "elsewhere": Origin.ELSEWHERE,
}


@dataclass(frozen=True, slots=True)
class PlannedClaim:
    """A claim about one cell.

    Attributes:
        rule: The rule with all its numbers.
        evidence: Collects the rule's evidence.
        cell: The cell it is about.
    """

    rule: Rule[Any]
    evidence: Evidence
    cell: Cell


@dataclass(frozen=True, slots=True)
class ClaimPlace:
    """Where a claim is judged.

    Attributes:
        cells: The cells of the file.
        where: Values of this cell's settings, one each.
        path: Path of the claim in the file.
        ensemble: The ensemble that replaces randomness, or None.
    """

    cells: Cells
    where: Mapping[str, Any]
    path: str
    ensemble: Ensemble | None

    def number(
        self,
        quantity: str,
        other: ComparisonTerm | None = None,
        key: str = "",
        *,
        of_group: bool = False,
    ) -> Number:
        """The quantity here, or in the cell that differs by the settings of ``other``."""
        where, at, name = self.where, f"{self.path}.where", "quantity"
        if other is not None:
            where = self.cells.otherwise(where, other.where)
            at = f"{self.path}.{key}.where"
            name = f"{key}.quantity" if other.quantity else name
            quantity = other.quantity or quantity
        cell = self.cells.at(where, at)
        return Number.read(quantity, cell, f"{self.path}.{name}", of_group=of_group)

    def along(self, quantity: str, values: Mapping[str, Any]) -> list[Number]:
        """The quantity in the cell of each value of a path."""
        ((setting, each),) = values.items()
        path = f"{self.path}.along"
        return [
            Number.read(
                quantity,
                self.cells.at(self.cells.otherwise(self.where, {setting: value}), path),
                f"{self.path}.quantity",
            )
            for value in each
        ]


def planned_at(table: Any, place: ClaimPlace) -> PlannedClaim:
    """The rule and the evidence of a claim about one cell.

    Raises:
        SpecError: A value does not fit its quantity; with its path in the file.
        ValueError: The rule refuses its numbers.
    """
    return _PLANNED[type(table)](table, place)


def calibration_of(table: claim_tables.CalibrationTable) -> tuple[Rule[Fitted], Fitted]:
    """The rule, and the value of the chosen parameter; needs no runs."""
    rule = Calibration(
        parameter=table.parameter, unit=table.unit, used=table.used, nominal=table.nominal
    )
    return rule, Fitted(table.value)


# --- a mean, a printed number ------------------------------------------------------------------


def _equals(table: claim_tables.EqualsTable, place: ClaimPlace) -> PlannedClaim:
    number, other, scale = _with_other(table, place)
    value = scale.read(table.value, f"{place.path}.value")
    rule = Equals(
        value=value,
        margin=scale.read_margin(table.margin, f"{place.path}.margin", value),
        unit=scale.unit,
        origin=ORIGINS[table.origin],
        possible=_possible(number, table, has_other=other is not None),
        level=table.level,
    )

    def evidence(ours: Numbers, _: Numbers) -> Runs | Ratio | Sides:
        values = ours.of(number)
        if other is None:
            return Runs(values)
        values, beside = paired(values, ours.of(other, number.scale))
        if table.divided_by is not None:
            return Ratio(values, beside)
        return Sides(values, beside, Pairing.SHARED_STREAMS)

    return PlannedClaim(rule, evidence, number.cell)


def _published(table: claim_tables.PublishedTable, place: ClaimPlace) -> PlannedClaim:
    path = place.path
    if not table.source:
        raise SpecError(f"{path}.source", "nothing", "where the number is printed")
    number, other, scale = _with_other(table, place)
    printed = scale.read(table.printed, f"{path}.printed")
    rounding = (
        scale.rounding(table.printed, f"{path}.printed")
        if table.rounding is None
        else _width(scale, table.rounding, f"{path}.rounding")
    )

    def values(ours: Numbers) -> Floats:
        if other is None:
            return ours.of(number)
        found, beside = paired(ours.of(number), ours.of(other, number.scale))
        return found / beside if table.divided_by is not None else found - beside

    if place.ensemble is not None:
        in_ensemble = PublishedInEnsemble(
            printed=printed,
            rounding=rounding,
            declared=(place.ensemble.words,),
            unit=scale.unit,
            origin=ORIGINS[table.origin],
            level=table.level,
        )
        return PlannedClaim(in_ensemble, lambda ours, _: Members(values(ours)), number.cell)
    rule = Published(
        printed=printed,
        rounding=rounding,
        unit=scale.unit,
        law=Law(table.law),
        jitter=_width(scale, table.jitter, f"{path}.jitter"),
        origin=ORIGINS[table.origin],
        possible=_possible(number, table, has_other=other is not None),
        level=table.level,
    )
    return PlannedClaim(rule, lambda ours, _: Runs(values(ours)), number.cell)


def _possible(
    number: Number,
    table: claim_tables.EqualsTable | claim_tables.PublishedTable,
    *,
    has_other: bool,
) -> tuple[float, float]:
    """Possible range of the claim's number: a ratio is not negative, a difference is unbounded."""
    if not has_other:
        low, high = number.quantity.measure.possible
        return number.scale.factor * low, number.scale.factor * high
    return (0.0, math.inf) if table.divided_by is not None else ANYTHING


def _with_other(
    table: claim_tables.EqualsTable | claim_tables.PublishedTable, place: ClaimPlace
) -> tuple[Number, Number | None, Scale]:
    """The quantity, the one it is divided by or reduced by, and the scale of the result."""
    if table.divided_by is not None and table.less is not None:
        raise SpecError(f"{place.path}.less", "both", "either divided_by or less")
    number = place.number(table.quantity)
    key = "divided_by" if table.divided_by is not None else "less"
    asked = table.divided_by or table.less
    if asked is None:
        return number, None, number.scale
    other = place.number(table.quantity, asked, key)
    _check_alike(number, other, place, key)
    return number, other, PURE if table.divided_by is not None else number.scale


# --- order and sameness ----------------------------------------------------------------------


def _ordering(table: claim_tables.OrderingTable, place: ClaimPlace) -> PlannedClaim:
    given = [key for key in ("along", "above", "below") if getattr(table, key) is not None]
    if len(given) != 1:
        raise SpecError(
            place.path, " and ".join(given) or "nothing", "one of along, above or below"
        )
    if table.along is not None:
        # Not only values of `where`, which need not repeat the values of `along`.
        number, *later = place.along(table.quantity, table.along)
        over, evidence = _growth(table.along, [number, *later])
    else:
        number = place.number(table.quantity)
        over, evidence = _order(table, place, number)
    scale = number.scale
    rule = Ordering(
        over=over,
        unit=scale.unit,
        slack=_width(scale, table.slack, f"{place.path}.slack"),
        origin=ORIGINS[table.origin],
        level=table.level,
    )
    return PlannedClaim(rule, evidence, number.cell)


def _growth(along: Mapping[str, Any], each: Sequence[Number]) -> tuple[str, Evidence]:
    """The compared range in words, and the differences between successive values."""
    (path,) = along

    def steps(ours: Numbers, _: Numbers) -> Curves:
        return Curves.of_steps(paired(*(ours.of(one) for one in each)))

    return f"from each value of {path} to the next", steps


def _order(
    table: claim_tables.OrderingTable, place: ClaimPlace, number: Number
) -> tuple[str, Evidence]:
    """The compared range in words, and the difference in the claimed direction."""
    key = "above" if table.above is not None else "below"
    sign = 1.0 if key == "above" else -1.0
    bound = table.above if table.above is not None else table.below
    if isinstance(bound, ComparisonTerm):
        other = place.number(table.quantity, bound, key)
        _check_alike(number, other, place, key)

        def difference(ours: Numbers, _: Numbers) -> Curves:
            values, beside = paired(ours.of(number), ours.of(other, number.scale))
            return Curves(sign * (values - beside).reshape(-1, 1))

        words = ["the quantity", "the other"] if sign > 0 else ["the other", "the quantity"]
        return f"of {words[0]} less {words[1]}", difference
    assert bound is not None
    limit = number.scale.read(bound, f"{place.path}.{key}")

    def beyond(ours: Numbers, _: Numbers) -> Curves:
        return Curves(sign * (ours.of(number) - limit).reshape(-1, 1))

    shown = f"{limit:g}{'' if number.scale.unit == '1' else f' {number.scale.unit}'}"
    return f"of the mean less {shown}" if sign > 0 else f"of {shown} less the mean", beyond


def _equivalent(table: claim_tables.EquivalentTable, place: ClaimPlace) -> PlannedClaim:
    if (table.to is None) == (table.along is None):
        raise SpecError(
            place.path, "both" if table.to else "nothing", "one of to (a cell) or along (a path)"
        )
    if table.along is not None:
        each = place.along(table.quantity, table.along)
        number = each[0]
    else:
        number = place.number(table.quantity)
        other = place.number(table.quantity, table.to, "to")
        _check_alike(number, other, place, "to")
        each = [number, other]
    rule = Equivalent(
        margin=_margin(table, each, place),
        unit=number.scale.unit,
        origin=ORIGINS[table.origin],
        level=table.level,
    )

    def evidence(ours: Numbers, _: Numbers) -> Curves | Sides:
        columns = paired(*(ours.of(one, number.scale) for one in each))
        if table.along is not None:
            return Curves.of_all_pairs(columns)
        return Sides(columns[0], columns[1], Pairing.SHARED_STREAMS)

    return PlannedClaim(rule, evidence, number.cell)


def _margin(table: claim_tables.EquivalentTable, each: list[Number], place: ClaimPlace) -> float:
    """The claim's margin, or the default for delays and rates (docs/rules.md)."""
    number = each[0]
    if table.margin is not None:
        return number.scale.read_margin(table.margin, f"{place.path}.margin")
    margin = margin_of(number.quantity, min(capacity_bps(one) for one in each))
    if margin is None:
        allowed = "what does not matter: of this quantity nothing says it"
        raise SpecError(f"{place.path}.margin", "nothing", allowed)
    return margin * number.scale.factor


# --- flows of a group ------------------------------------------------------------------------


def _share(table: claim_tables.ShareTable, place: ClaimPlace) -> PlannedClaim:
    fields = _one_sided(table, place)
    if table.better_than is None:
        number = place.number(table.quantity)
        if number.quantity.unit != "1":
            allowed = "a share, such as flow[NAME].capacity_share; or better_than"
            raise SpecError(f"{place.path}.quantity", table.quantity, allowed)
        rule = Share(of=number.quantity.words, **fields)
        return PlannedClaim(rule, lambda ours, _: Runs(ours.of(number, PURE)), number.cell)
    number = place.number(table.quantity, of_group=True)
    other = place.number(table.quantity, table.better_than, "better_than", of_group=True)
    better = table.better or ("higher" if number.quantity.unit == "bit/s" else "lower")

    def evidence(ours: Numbers, _: Numbers) -> Runs:
        here, there = ours.of_flows(number), ours.of_flows(other)
        rows = zip(here, there, strict=False)
        return Runs([_share_of(a, b, higher=better == "higher") for a, b in rows])

    words = f"flows {number.quantity.name} whose {number.quantity.measure.words} is {better}"
    return PlannedClaim(Share(of=words, **fields), evidence, number.cell)


def _share_of(here: Floats, there: Floats, *, higher: bool) -> float:
    if not (np.isfinite(here).all() and np.isfinite(there).all()):
        return float("nan")
    return share_better(here, there, better="higher" if higher else "lower")


def _spread(table: claim_tables.SpreadTable, place: ClaimPlace) -> PlannedClaim:
    number = place.number(table.quantity, of_group=True)
    words = f"{number.quantity.measure.words} over the flows {number.quantity.name}"
    rule = Spread(of=words, **_one_sided(table, place))
    if table.divided_by is None:
        return PlannedClaim(rule, lambda ours, _: Runs(_spreads(ours, number)), number.cell)
    other = place.number(table.quantity, table.divided_by, "divided_by", of_group=True)
    return PlannedClaim(
        rule,
        lambda ours, _: Ratio(*paired(_spreads(ours, number), _spreads(ours, other))),
        number.cell,
    )


def _spreads(ours: Numbers, number: Number) -> Floats:
    flows = ours.of_flows(number)
    return np.array([relative_spread(row) if _has_spread(row) else np.nan for row in flows])


def _has_spread(row: Floats) -> bool:
    return bool(np.isfinite(row).all() and np.median(row) > 0)


def _one_sided(
    table: claim_tables.ShareTable | claim_tables.SpreadTable, place: ClaimPlace
) -> dict[str, Any]:
    path = place.path
    margin = None if table.margin is None else PURE.read_margin(table.margin, f"{path}.margin")
    side = Side(table.side)
    if (side is Side.EQUALS) != (margin is not None):
        allowed = f"{'one' if side is Side.EQUALS else 'none'} where side is {side.value!r}"
        raise SpecError(f"{path}.margin", "nothing" if margin is None else table.margin, allowed)
    return {
        "value": PURE.read(table.value, f"{path}.value"),
        "side": side,
        "margin": margin,
        "origin": ORIGINS[table.origin],
        "level": table.level,
    }


# --- every single run, two backends ---------------------------------------------------------


def _supremum(table: claim_tables.SupremumTable, place: ClaimPlace) -> PlannedClaim:
    number = place.number(table.quantity)
    scale = number.scale
    rule = Supremum(
        bound=scale.read(table.bound, f"{place.path}.bound"),
        packet=scale.read_margin(table.packet, f"{place.path}.packet"),
        resolution=_width(scale, table.resolution, f"{place.path}.resolution"),
        unit=scale.unit,
        origin=ORIGINS[table.origin],
        level=table.level,
    )
    return PlannedClaim(rule, lambda ours, _: Runs(ours.of(number)), number.cell)


def _check(table: claim_tables.CheckTable, place: ClaimPlace) -> PlannedClaim:
    number = place.number(table.quantity)
    scale = number.scale
    rule = Check(
        value=scale.read(table.value, f"{place.path}.value"),
        because=table.because,
        unit=scale.unit,
        side=Side(table.side),
        tolerance=_width(scale, table.tolerance, f"{place.path}.tolerance"),
    )
    return PlannedClaim(rule, lambda ours, _: Runs(ours.of(number)), number.cell)


def _agreement(table: claim_tables.AgreementTable, place: ClaimPlace) -> PlannedClaim:
    number = place.number(table.quantity)
    scale = number.scale
    rule = Agreement(
        relative=table.relative,
        floor=_floor(table, number, place),
        unit=scale.unit,
        is_tail=number.quantity.measure.scale is Spreads.TAIL,
        level=table.level,
    )

    def evidence(ours: Numbers, other: Numbers) -> Sides:
        here, there = paired(ours.of(number), other.of(number))
        return Sides(here, there, Pairing.SHARED_STREAMS)

    return PlannedClaim(rule, evidence, number.cell)


def _floor(table: claim_tables.AgreementTable, number: Number, place: ClaimPlace) -> float:
    if table.floor is not None:
        return number.scale.read_margin(table.floor, f"{place.path}.floor")
    if number.quantity.measure.scale in (Spreads.DELAY, Spreads.TAIL):
        packet_s = packet_time_ns(Resolved(number.cell.experiment.resolved())) / 1e9
        in_unit = 1e3 if number.quantity.unit == "ms" else 1.0
        return max(packet_s, LEAST_DELAY_MARGIN_S) * in_unit * number.scale.factor
    margin = margin_of(number.quantity, capacity_bps(number))
    if margin is None:
        allowed = "the least margin: of this quantity nothing says it"
        raise SpecError(f"{place.path}.floor", "nothing", allowed)
    return margin * number.scale.factor


def _width(scale: Scale, value: str | float | None, path: str) -> float:
    """The given width, or zero."""
    found = 0.0 if value is None else scale.read(value, path)
    if not found >= 0:
        raise SpecError(path, value, "zero or more")
    return found


def _check_alike(number: Number, other: Number, place: ClaimPlace, key: str) -> None:
    if other.quantity.unit != number.quantity.unit:
        allowed = f"a quantity in {number.quantity.unit}, as {number.quantity}"
        raise SpecError(f"{place.path}.{key}.quantity", other.quantity.path, allowed)


_PLANNED: Mapping[type, Callable[[Any, ClaimPlace], PlannedClaim]] = {
    claim_tables.EqualsTable: _equals,
    claim_tables.PublishedTable: _published,
    claim_tables.OrderingTable: _ordering,
    claim_tables.EquivalentTable: _equivalent,
    claim_tables.ShareTable: _share,
    claim_tables.SpreadTable: _spread,
    claim_tables.SupremumTable: _supremum,
    claim_tables.CheckTable: _check,
    claim_tables.AgreementTable: _agreement,
}
