"""A sweep in sentences: each value of a parameter compared with its first, over the other
values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dumbbell.compare.axes import Grid
from dumbbell.compare.comparison import Comparison
from dumbbell.compare.judging import BackendAgreement, Basis, Difference, Outcome
from dumbbell.compare.words import digits


def sentences_of_sweep(found: Comparison, grid: Grid) -> Iterator[str]:
    """Sentences about differences, with the number of cells.

    First each value is compared with the first one, where all counted differences were judged
    jointly (Holm over the whole table); then each backend is compared with the first one.
    """
    yield from _of_values(found, grid)
    yield from _of_backends(found)


def _of_values(found: Comparison, grid: Grid) -> Iterator[str]:
    places = {cell.label: cell.place for cell in found.cells}
    groups: dict[tuple[str, int], list[Difference]] = {}
    for each in found.differences:
        groups.setdefault((each.backend, places[each.cell][grid.along]), []).append(each)
    axis = grid.axes[grid.along] if grid.axes else None
    for (backend, index), differences in groups.items():
        assert axis is not None
        where = f" ({backend})" if len(found.backends) > 1 else ""
        n = len({each.cell for each in differences})
        name = f"{axis.name} " if axis.is_numeric else ""
        pairs = f", {n} pairs of cells" if n > 1 else ""
        said = "; ".join(
            _of_quantity([each for each in differences if each.quantity == quantity])
            for quantity in found.quantities
        )
        yield f"{name}{axis.label(index)} in place of {axis.label(0)}{where}{pairs}: {said}."


def _of_backends(found: Comparison) -> Iterator[str]:
    """``kernel and sim, 12 cells: call: round trip agree in 11, disagree in 1``."""
    for backend in found.backends[1:]:
        here = [each for each in found.agreements if each.backend == backend]
        n = len({each.cell for each in here})
        said = "; ".join(
            _agreed([each for each in here if each.quantity == quantity])
            for quantity in found.quantities
        )
        if n:
            yield f"{backend} and {found.backends[0]}, {n} cell{'s' if n > 1 else ''}: {said}."


def _agreed(rows: Sequence[BackendAgreement]) -> str:
    """Without a margin nothing is decided, whatever the number of runs."""
    parts = []
    for outcome, words in (
        (Outcome.SAME, "agree"),
        (Outcome.DIFFERS, "disagree"),
        (Outcome.OPEN, "not decided"),
    ):
        some = [each for each in rows if each.margin is not None and each.outcome is outcome]
        if some:
            parts.append(f"{words}{_in(some, rows)}")
    free = [each for each in rows if each.margin is None]
    if free:
        parts.append(f"without a margin{_in(free, rows)}")
    return f"{rows[0].quantity.words} {', '.join(parts)}"


def _of_quantity(rows: Sequence[Difference]) -> str:
    """``call: round trip lower in 12 (by 3.1 to 570 ms), not decided in 2``."""
    parts = []
    for word, sign in (("higher", 1), ("lower", -1)):
        some = [each for each in rows if each.outcome is Outcome.DIFFERS and _sign(each) == sign]
        if some:
            parts.append(f"{word}{_in(some, rows)} ({_reach(some)})")
    for outcome, words in ((Outcome.SAME, "the same"), (Outcome.OPEN, "not decided")):
        some = [each for each in rows if each.outcome is outcome]
        if some:
            parts.append(f"{words}{_in(some, rows)}")
    return f"{rows[0].quantity.words} {', '.join(parts)}" if rows else ""


def _in(some: Sequence[object], rows: Sequence[object]) -> str:
    if len(rows) == 1:
        return ""
    return " in all" if len(some) == len(rows) else f" in {len(some)}"


def _sign(each: Difference) -> int:
    over = 1.0 if each.measured.basis is Basis.GEOMETRIC else 0.0
    return 1 if each.measured.value > over else -1


def _reach(some: Sequence[Difference]) -> str:
    """Smallest to largest difference; for skewed quantities, ratios."""
    quantity = some[0].quantity
    if all(each.measured.basis is Basis.GEOMETRIC for each in some):
        times = sorted(each.measured.value for each in some)
        ends = dict.fromkeys(digits(each) for each in (times[0], times[-1]))
        return f"{' to '.join(ends)} times"
    sizes = sorted(
        abs(each.measured.value) for each in some if each.measured.basis is not Basis.GEOMETRIC
    )
    unit, factor = quantity.measure.shown_unit
    ends = dict.fromkeys(digits(factor * each) for each in (sizes[0], sizes[-1]))
    return f"by {' to '.join(ends)} {unit}".rstrip()
