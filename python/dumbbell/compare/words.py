"""A comparison in sentences: what differs, what is the same, what is undecided."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from dumbbell.compare.comparison import Comparison
from dumbbell.compare.judging import BackendAgreement, Basis, Difference, Outcome
from dumbbell.compare.quantity import Quantity
from dumbbell.stats import Group, TwoGroups


def sentences(comparison: Comparison) -> list[str]:
    """Sentences about every pair of cells and of backends; none for a single run."""
    if all(each.n < 2 for each in comparison.results.values()):
        return []
    if comparison.grid is not None:
        from dumbbell.compare.sweep_words import sentences_of_sweep

        return [*sentences_of_sweep(comparison, comparison.grid)]
    return [*_of_cells(comparison), *_of_backends(comparison)]


def shown_number(quantity: Quantity, value: float) -> str:
    """A value in the unit of tables, as text."""
    return digits(value * quantity.measure.shown_unit[1])


def digits(value: float, significant: int = 3) -> str:
    """The value with `significant` significant digits, but all digits before the point."""
    if not math.isfinite(value):
        return "-"
    if value and (abs(value) >= 1e6 or abs(value) < 1e-3):
        return f"{value:.{significant - 1}e}"
    text = f"{value:#.{significant}g}".rstrip(".")
    return text if "e" not in text else f"{value:.0f}"


def with_reach(value: float, reach: float) -> str:
    """``31.03 ±0.01``: the half-width has two digits if four digits of the value show them."""
    size = max(abs(value), reach)
    if not math.isfinite(size) or not 1e-3 <= size < 1e6 or reach <= 0.0:
        return f"{digits(value)} ±{digits(reach, 2)}"
    of_reach, of_value = 1 - math.floor(math.log10(reach)), 3 - math.floor(math.log10(size))
    decimals = max(0, min(of_reach, of_value))
    # Rounded up to one unit of the last digit shown: no value is more precise than shown.
    shown = max(reach, 10.0**-decimals)
    return f"{value:.{decimals}f} ±{shown:.{decimals}f}"


def with_unit(quantity: Quantity, value: float) -> str:
    """A value with the unit of tables, as text."""
    return f"{shown_number(quantity, value)} {quantity.measure.shown_unit[0]}".rstrip()


MOST_GROUPED = 12
"""Most numbers with two groups of runs that are described; the JSON has all."""


def sentences_of_groups(comparison: Comparison) -> list[str]:
    """For each number whose runs fall into two groups: both groups, with their shares."""
    said = []
    for arm in comparison.arms:
        where = ", ".join(filter(None, (arm.cell, arm.backend if _has_several(comparison) else "")))
        for quantity in comparison.quantities:
            groups = comparison.measured(quantity, arm.cell, arm.backend).groups
            if groups is not None:
                named = f"{quantity.words} ({where})" if where else quantity.words
                unit, factor = quantity.measure.shown_unit
                said.append(f"{named}: {group_words(groups, unit, factor)}.")
    more = len(said) - MOST_GROUPED
    return [*said[:MOST_GROUPED], f"{more} more numbers so."] if more > 0 else said


def group_words(groups: TwoGroups, unit: str, factor: float = 1.0) -> str:
    """Two groups of runs in words, larger one first.

    Args:
        groups: The groups.
        unit: Unit shown; ``1`` for a pure number.
        factor: Factor from the values to that unit.
    """
    larger, smaller = groups.upper, groups.lower
    if smaller.n > larger.n:
        larger, smaller = smaller, larger
    return (
        f"the runs fall into two groups, {larger.n} of {groups.n} at "
        f"{_group(larger, unit, factor)} and {smaller.n} at {_group(smaller, unit, factor)}; the "
        "mean of all describes neither"
    )


def _group(group: Group, unit: str, factor: float) -> str:
    ends = dict.fromkeys(digits(factor * end) for end in (group.low, group.high))
    return f"{' to '.join(ends)} {'' if unit == '1' else unit}".rstrip()


def _has_several(comparison: Comparison) -> bool:
    return len(comparison.backends) > 1


def _of_cells(comparison: Comparison) -> Iterator[str]:
    several = len(comparison.backends) > 1
    pairs = dict.fromkeys((each.backend, each.cell, each.base) for each in comparison.differences)
    for backend, cell, base in pairs:
        rows = [
            each for each in comparison.differences if (each.backend, each.cell) == (backend, cell)
        ]
        where = f" ({backend})" if several else ""
        said = _said(comparison, rows)
        yield f"{cell} in place of {base}{where}: {said}."


def _said(comparison: Comparison, rows: Sequence[Difference]) -> str:
    parts = []
    differing = [each for each in rows if each.outcome is Outcome.DIFFERS]
    if differing:
        parts.append(", ".join(_change(comparison, each) for each in differing))
    same = [each for each in rows if each.outcome is Outcome.SAME]
    if same:
        parts.append("the same: " + ", ".join(_same(each) for each in same))
    undecided = [each.quantity.words for each in rows if each.outcome is Outcome.OPEN]
    if undecided:
        parts.append("not decided: " + ", ".join(undecided))
    return "; ".join(parts) or "nothing to compare"


def _change(comparison: Comparison, each: Difference) -> str:
    before, after = (
        comparison.measured(each.quantity, label, each.backend).value
        for label in (each.base, each.cell)
    )
    first = shown_number(each.quantity, before)
    return f"{each.quantity.words} from {first} to {with_unit(each.quantity, after)}"


def _same(each: Difference) -> str:
    if each.measured.basis is Basis.CONSTANT and each.measured.value == 0:
        return f"{each.quantity.words} (in every run)"
    margin = each.margin or 0.0
    return f"{each.quantity.words} (within {with_unit(each.quantity, margin)})"


def _of_backends(comparison: Comparison) -> Iterator[str]:
    pairs = dict.fromkeys((each.cell, each.backend, each.other) for each in comparison.agreements)
    for cell, backend, other in pairs:
        rows = [
            each for each in comparison.agreements if (each.cell, each.backend) == (cell, backend)
        ]
        parts = []
        for outcome, words in (
            (Outcome.SAME, "agree on"),
            (Outcome.DIFFERS, "disagree on"),
            (Outcome.OPEN, "not decided:"),
        ):
            told = [each for each in rows if each.margin is not None]
            named = [_named(each) for each in told if each.outcome is outcome]
            if named:
                parts.append(f"{words} {', '.join(named)}")
        free = [each.quantity.words for each in rows if each.margin is None]
        if free:
            parts.append(f"without a margin: {', '.join(free)}")
        yield f"{backend} and {other}, {cell}: {'; '.join(parts)}."


def _named(each: BackendAgreement) -> str:
    if each.margin is None or each.outcome is Outcome.OPEN:
        return each.quantity.words
    within = "within" if each.outcome is Outcome.SAME else "by more than"
    return f"{each.quantity.words} ({within} {with_unit(each.quantity, each.margin)})"
