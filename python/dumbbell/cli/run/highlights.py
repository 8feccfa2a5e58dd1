"""The main findings of a comparison, in a few lines below its table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dumbbell.cli.run.number_texts import change_text
from dumbbell.compare import Comparison, Difference, MeasureSubject, Outcome, Quantity
from dumbbell.compare.judging import BackendAgreement
from dumbbell.compare.measures import Scale
from dumbbell.compare.words import shown_number, with_unit

MOST_CHANGES = 2
"""Most differing numbers that are listed."""
MOST_NAMED = 3
"""Most other numbers that are named; the table has all."""


def highlights(found: Comparison) -> list[str]:
    """For each pair of cells or backends: the largest differences, equal numbers, undecided
    numbers.

    Empty for single runs, which support no statement.
    """
    if all(each.n < 2 for each in found.results.values()):
        return []
    return [*_of_cells(found), *_of_backends(found)]


def _of_cells(found: Comparison) -> Iterator[str]:
    several = len(found.backends) > 1
    pairs: dict[tuple[str, str, str], list[Difference]] = {}
    for each in found.differences:
        pairs.setdefault((each.backend, each.cell, each.base), []).append(each)
    for (backend, cell, base), rows in pairs.items():
        where = f" ({backend})" if several else ""
        differing = [each for each in rows if each.outcome is Outcome.DIFFERS]
        said = [f"{_counted(len(differing), len(rows))} differ"]
        said += _others(rows, {Outcome.SAME: "The same", Outcome.OPEN: "Not decided"})
        yield f"{cell} in place of {base}{where}: {'. '.join(said)}."
        for each in _largest(found, differing):
            yield f"  {_change(found, each)}"


def _of_backends(found: Comparison) -> Iterator[str]:
    pairs: dict[tuple[str, str, str], list[BackendAgreement]] = {}
    for each in found.agreements:
        pairs.setdefault((each.cell, each.backend, each.other), []).append(each)
    for (cell, backend, other), rows in pairs.items():
        judged = [each for each in rows if each.margin is not None]
        n = sum(each.outcome is Outcome.SAME for each in judged)
        said = [f"{_counted(n, len(judged))} agree"]
        said += _others(judged, {Outcome.DIFFERS: "They disagree on", Outcome.OPEN: "Not decided"})
        yield f"{backend} and {other}, {cell}: {'. '.join(said)}."


def _counted(n: int, of: int) -> str:
    return f"{n or 'none'} of {of} numbers"


def _others(
    rows: Sequence[Difference] | Sequence[BackendAgreement], words: dict[Outcome, str]
) -> Iterator[str]:
    for outcome, said in words.items():
        names = [each.quantity.words for each in rows if each.outcome is outcome]
        more = len(names) - MOST_NAMED
        if names:
            last = f"; and {more} more" if more > 0 else ""
            yield f"{said}: {'; '.join(names[:MOST_NAMED])}{last}"


def _largest(found: Comparison, rows: Sequence[Difference]) -> list[Difference]:
    """The differences that are largest relative to the larger value, one per mean and its
    percentiles; measures of applications first, then of queues.
    """

    def change(each: Difference) -> tuple[bool, float]:
        before, after = _both(found, each)
        is_seen = each.quantity.of is not MeasureSubject.QUEUE
        return is_seen, abs(after - before) / (max(abs(before), abs(after)) or 1.0)

    of_each: dict[tuple[MeasureSubject, str, str | Scale], Difference] = {}
    for each in sorted(rows, key=change, reverse=True):
        of_each.setdefault(_distribution(each.quantity), each)
    return [*of_each.values()][:MOST_CHANGES]


def _distribution(quantity: Quantity) -> tuple[MeasureSubject, str, str | Scale]:
    """Key that a mean and percentiles of one delay have in common."""
    is_delay = quantity.measure.scale in (Scale.DELAY, Scale.TAIL)
    return quantity.of, quantity.name, Scale.DELAY if is_delay else quantity.metric


def _change(found: Comparison, each: Difference) -> str:
    before, after = _both(found, each)
    numbers = f"{shown_number(each.quantity, before)} to {with_unit(each.quantity, after)}"
    return f"{each.quantity.words}: {numbers} ({change_text(each)})"


def _both(found: Comparison, each: Difference) -> tuple[float, float]:
    before, after = (
        found.measured(each.quantity, label, each.backend).value for label in (each.base, each.cell)
    )
    return before, after
