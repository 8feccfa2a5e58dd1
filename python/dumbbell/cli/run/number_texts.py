"""Numbers of a comparison as text, with their intervals."""

from __future__ import annotations

from dumbbell.compare import Basis, Difference, Measured, Outcome, Quantity
from dumbbell.compare.words import digits, with_reach

MARKS = {Outcome.DIFFERS: "*", Outcome.SAME: "=", Outcome.OPEN: "?"}
"""Mark for the outcome of a difference."""


def measured_text(quantity: Quantity, number: Measured) -> str:
    """A number with its interval."""
    factor = quantity.measure.shown_unit[1]
    if number.basis is Basis.UNDEFINED:
        return "-"
    value = digits(factor * number.value)
    if not number.has_ends:
        return value
    if number.basis is Basis.MEAN and not number.is_cut:
        return with_reach(factor * number.value, factor * (number.high - number.value))
    if number.basis is Basis.GEOMETRIC:
        return f"{value} {_percent(number)}"
    return f"{value} [{digits(factor * number.low)}, {digits(factor * number.high)}]"


def difference_mark(each: Difference) -> str:
    """The mark for a difference's outcome."""
    return MARKS[each.outcome]


def change_text(each: Difference) -> str:
    """The difference or ratio as text."""
    number = each.measured
    if number.basis is Basis.GEOMETRIC:
        times = f"×{digits(number.value)}"
        return f"{times} {_percent(number)}" if number.has_ends else times
    sign = "+" if number.value > 0 else ""
    return f"{sign}{measured_text(each.quantity, number)}"


def difference_text(each: Difference) -> str:
    """The same with its mark, if runs were repeated."""
    has_mark = each.measured.basis is Basis.GEOMETRIC or each.measured.n > 1
    return f"{change_text(each)} {difference_mark(each)}" if has_mark else change_text(each)


def _percent(number: Measured) -> str:
    """Half-width of a geometric mean's interval: up to this much more, or less by the
    same factor.
    """
    return f"±{digits(100 * (number.high / number.value - 1), 2)} %"
