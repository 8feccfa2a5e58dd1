"""Exit status 1: only theory, only beyond a familywise error of 0.1 %."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dumbbell.claims import contradicted, contradicting, views_of
from dumbbell.claims.legacy import Claim, Judged, Kind, Verdict, judge_theory_equals
from dumbbell.claims.p_values import contradiction_p_value
from dumbbell.stats import Estimate, IntervalKind, student_interval


def judged_with(p_value: float | None, kind: Kind = Kind.THEORY_EQUALS) -> Judged:
    claim = Claim("c", "s", "t", kind, "ms", theory=1.0, margin=0.1, published=1.0)
    return Judged(claim, "sim", 2.0, 1.9, 2.1, 20, Verdict.NOT_REPRODUCED, p_value=p_value)


def test_without_margin_it_is_the_two_sided_t_test() -> None:
    sample = np.random.default_rng(3).normal(0.4, 1.0, 25)
    expected = stats.ttest_1samp(sample, 0.0).pvalue
    assert contradiction_p_value(student_interval(sample), 0.0, 0.0) == pytest.approx(expected)


def test_not_reproduced_and_the_p_value_agree() -> None:
    """An interval that just leaves the margin has a one-sided p of 0.025."""
    estimate = Estimate(12.0, 11.0, 13.0, 0.95, 20, IntervalKind.MEAN)
    p_value = contradiction_p_value(estimate, 10.0, 1.0)
    assert p_value == pytest.approx(0.025, abs=1e-4)


def test_the_side_that_faces_theory_counts() -> None:
    lopsided = Estimate(12.0, 11.9, 20.0, 0.95, 20, IntervalKind.RATIO)
    other_way = Estimate(12.0, 4.0, 12.1, 0.95, 20, IntervalKind.RATIO)
    close, far = (contradiction_p_value(e, 10.0, 1.0) for e in (lopsided, other_way))
    assert close is not None
    assert far is not None
    assert close < 1e-9
    assert far > 0.3


def test_exact_numbers_without_spread() -> None:
    exact = Estimate(12.0, 12.0, 12.0, 0.95, 5, IntervalKind.MEAN)
    assert contradiction_p_value(exact, 10.0, 1.0) == 0.0
    assert contradiction_p_value(exact, 12.5, 1.0) == 1.0
    single = Estimate(12.0, 12.0, 12.0, 0.95, 1, IntervalKind.MEAN)
    assert contradiction_p_value(single, 10.0, 1.0) is None


def test_holm_divides_the_error_among_the_claims() -> None:
    assert contradicted([judged_with(0.0009)])
    assert not contradicted([judged_with(0.0009), judged_with(0.5)])
    assert contradicted([judged_with(0.0004), judged_with(0.5)])
    both = [judged_with(0.0004), judged_with(0.0009)]
    assert contradicting(both) == views_of(both)  # Holm: the second is tested at the full error


def test_only_theory_claims_can_contradict() -> None:
    assert not contradicted([])
    assert not contradicted([judged_with(1e-12, Kind.PUBLISHED_NUMBER)])
    assert not contradicted([judged_with(None)])


def test_true_theories_are_hardly_ever_contradicted_and_false_ones_are() -> None:
    generator = np.random.default_rng(11)
    claim = Claim("c", "s", "t", Kind.THEORY_EQUALS, "ms", theory=10.0, margin=0.1)

    def study(mean: float) -> list[Judged]:
        return [
            judge_theory_equals(claim, student_interval(generator.normal(mean, 1.0, 15)))
            for _ in range(5)
        ]

    # At the margin's very edge, the least favourable truth: expect 0.5 of 500 studies.
    assert sum(contradicted(study(10.1)) for _ in range(500)) <= 5
    assert all(contradicted(study(13.0)) for _ in range(20))
