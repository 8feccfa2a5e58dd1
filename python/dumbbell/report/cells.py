"""Cells of tables of values: numbers formatted with their uncertainty."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from dumbbell.report.numbers import plain, with_uncertainty
from dumbbell.stats import Estimate


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of a table, with text beside it or instead of it.

    Attributes:
        value: The number, or None.
        low: Lower end of its interval, or None.
        high: Upper end.
        words: Text, such as a mark after the number.
        digits: Significant digits of a number without an interval.
        order: Numbers by which a sortable table orders the cell, the first that differs decides;
            by default its number. Cells without any are ordered by their text.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    words: str = ""
    digits: int = 4
    order: tuple[float, ...] = ()

    @classmethod
    def of(cls, given: CellLike, words: str = "") -> Cell:
        """Make a cell of an estimate, a number or text; None is a missing number."""
        if isinstance(given, Cell):
            return given
        if isinstance(given, Estimate):
            return cls(given.value, given.low, given.high, words)
        if isinstance(given, str):
            return cls(words=given)
        return cls(None if given is None else float(given), words=words)

    @property
    def text(self) -> str:
        """Return the printed form, with as many digits as the interval supports."""
        return " ".join(filter(None, self.parts))

    @property
    def parts(self) -> tuple[str, str, str]:
        """Return the printed number, its interval in brackets, and the text; some are empty."""
        if self.value is None and self.words:
            return "", "", self.words
        if self.low is None or self.high is None:
            return plain(self.value, self.digits), "", self.words
        return *with_uncertainty(self.value, self.low, self.high), self.words

    @property
    def sort_key(self) -> str:
        """Return the numbers by which a table is sorted, separated by spaces; empty for text."""
        numbers = self.order or (() if self.value is None else (self.value,))
        return " ".join(repr(each) for each in numbers if math.isfinite(each))

    @property
    def fields(self) -> Mapping[str, Any]:
        """Return the entries of ``values.json``: finite numbers, and any text."""
        numbers = {"value": self.value, "low": self.low, "high": self.high}
        known = {name: _finite(each) for name, each in numbers.items() if each is not None}
        return {**known, **({"words": self.words} if self.words else {})}


CellLike: TypeAlias = Cell | Estimate | float | str | None
"""Accepted as a cell: a `Cell`, an estimate, a number, text, or None."""


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
