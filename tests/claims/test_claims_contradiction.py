"""Exit status 1: only for theory claims, and only beyond a familywise error of 0.1 %."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dumbbell.claims import Claim, Judged, Runs, contradicted, contradicting, judge, views_of
from dumbbell.claims.p_values import contradiction_p_value
from dumbbell.claims.rules import Equals, Published
from dumbbell.stats import Estimate, IntervalKind, student_interval


def sample(n: int = 20) -> np.ndarray:  # type: ignore[type-arg]
    """Evenly spread, of mean 0 and standard deviation 1."""
    values = np.linspace(-1.0, 1.0, n)
    return (values - values.mean()) / values.std(ddof=1)


def judged_with(p_value: float) -> Judged:
    """A claim of theory with that p-value, by numbers as far from the margin as it takes."""
    n = 20
    away = stats.t.isf(p_value, n - 1) / np.sqrt(n)
    claim = Claim(id="c", statement="s", source="t", rule=Equals(value=1.0, margin=0.1, unit="ms"))
    judged = judge(claim, Runs(1.1 + away + sample(n)))
    found = views_of([judged])[0].p_value
    # The other side of the margin adds a little.
    assert found is not None and p_value <= found <= 1.4 * p_value
    return judged


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
    assert contradicted([judged_with(0.0008)])
    assert not contradicted([judged_with(0.0008), judged_with(0.5)])
    assert contradicted([judged_with(0.0004), judged_with(0.5)])
    both = [judged_with(0.0004), judged_with(0.0008)]
    assert contradicting(both) == views_of(both)  # Holm: the second is tested at the full error


def test_only_theory_claims_can_contradict() -> None:
    assert not contradicted([])
    printed = Claim(
        id="c", statement="s", source="t", rule=Published(printed=100.0, rounding=0.5, unit="ms")
    )
    assert not contradicted([judge(printed, Runs(1.0 + sample()))])
    single = Claim(id="c", statement="s", source="t", rule=Equals(value=1.0, margin=0.1, unit="ms"))
    assert not contradicted([judge(single, Runs(np.array([9.0])))])


def test_true_theories_are_hardly_ever_contradicted_and_false_ones_are() -> None:
    generator = np.random.default_rng(11)
    claim = Claim(id="c", statement="s", source="t", rule=Equals(value=10.0, margin=0.1, unit="ms"))

    def study(mean: float) -> list[Judged]:
        return [judge(claim, Runs(generator.normal(mean, 1.0, 15))) for _ in range(5)]

    # At the margin's very edge, the least favourable truth: expect 0.5 of 500 studies.
    assert sum(contradicted(study(10.1)) for _ in range(500)) <= 5
    assert all(contradicted(study(13.0)) for _ in range(20))
