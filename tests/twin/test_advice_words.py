"""Numbers of advice, as they are printed."""

from __future__ import annotations

import pytest

from dumbbell.stats import Estimate, IntervalKind
from dumbbell.twin.advice.words import _number


@pytest.mark.parametrize(
    ("value", "half_width", "words"),
    [
        (11.567, 0.0274, "11.567 [11.540, 11.594]"),
        (8.58, 3.75, "8.58 [4.8, 12.3]"),
        # A setting that is so exact has no more digits for that.
        (36.83538, 1e-6, "36.84 [36.84, 36.84]"),
        (36.83538, 0.0, "36.84 [36.84, 36.84]"),
    ],
)
def test_no_number_has_more_digits_than_matter(value: float, half_width: float, words: str) -> None:
    estimate = Estimate(
        value, value - half_width, value + half_width, 0.95, 8, IntervalKind.PREDICTION
    )
    assert _number(estimate) == words
