"""Every row of the table of rules, at its boundaries."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dumbbell.claims.legacy import (
    Claim,
    Judged,
    Kind,
    Verdict,
    judge_hardly_matters,
    judge_ordering,
    judge_published_number,
    judge_stated,
    judge_supremum,
    judge_theory_equals,
    not_testable,
)
from dumbbell.stats import Band, Estimate, IntervalKind, prediction_quantiles, simultaneous_band


def claim(kind: Kind, **fields: object) -> Claim:
    defaults: dict[str, object] = {
        "id": "c",
        "statement": "A statement.",
        "source": "A source",
        "unit": "ms",
    }
    return Claim(kind=kind, **(defaults | fields))  # type: ignore[arg-type]


def interval(
    low: float, high: float, kind: IntervalKind = IntervalKind.MEAN, n: int = 20
) -> Estimate:
    return Estimate((low + high) / 2, low, high, 0.95, n, kind)


THEORY = claim(Kind.THEORY_EQUALS, theory=10.0, margin=1.0)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (9.5, 10.5, Verdict.REPRODUCED),
        (9.0, 11.0, Verdict.REPRODUCED),  # touching the margin from inside
        (8.9, 10.0, Verdict.INCONCLUSIVE),
        (5.0, 20.0, Verdict.INCONCLUSIVE),
        (10.9, 11.5, Verdict.INCONCLUSIVE),
        (11.1, 12.0, Verdict.NOT_REPRODUCED),
        (7.0, 8.9, Verdict.NOT_REPRODUCED),
    ],
)
def test_theory_equals_is_equivalence_with_the_margin(
    low: float, high: float, verdict: Verdict
) -> None:
    assert judge_theory_equals(THEORY, interval(low, high)).verdict is verdict


def test_an_interval_that_misses_theory_but_stays_in_the_margin_is_reproduced() -> None:
    judged = judge_theory_equals(THEORY, interval(10.1, 10.3))
    assert judged.verdict is Verdict.REPRODUCED
    assert judged.p_value == 1.0


@pytest.mark.parametrize(
    ("published", "low", "high", "verdict"),
    [
        (15.0, 10.0, 20.0, Verdict.REPRODUCED),
        (10.0, 10.0, 20.0, Verdict.REPRODUCED),
        (20.1, 10.0, 20.0, Verdict.NOT_REPRODUCED),
        # +-50 % of the centre 10 is 5 to 15: that wide still tests, any wider does not.
        (15.0, 5.0, 15.0, Verdict.REPRODUCED),
        (10.0, 4.9, 15.1, Verdict.UNINFORMATIVE),
        (99.0, 4.9, 15.1, Verdict.UNINFORMATIVE),
        (0.0, -1.0, 1.0, Verdict.UNINFORMATIVE),
    ],
)
def test_a_published_number_is_held_against_a_prediction(
    published: float, low: float, high: float, verdict: Verdict
) -> None:
    judged = judge_published_number(
        claim(Kind.PUBLISHED_NUMBER, published=published),
        interval(low, high, IntervalKind.PREDICTION),
    )
    assert judged.verdict is verdict
    assert (judged.low, judged.high) == (low, high)


def test_the_interval_of_a_mean_is_refused_for_a_published_number() -> None:
    published = claim(Kind.PUBLISHED_NUMBER, published=10.0)
    with pytest.raises(ValueError, match="prediction interval"):
        judge_published_number(published, interval(9.0, 11.0, IntervalKind.MEAN))


def test_too_few_replications_for_the_level_are_inconclusive_and_say_so() -> None:
    few = prediction_quantiles(np.linspace(9.0, 11.0, 10))
    assert few.level < 0.95
    judged = judge_published_number(claim(Kind.PUBLISHED_NUMBER, published=10.0), few)
    assert judged.verdict is Verdict.INCONCLUSIVE
    assert "10 replications give an interval of 81.8 % only, not 95 %" in judged.note


def test_one_replication_is_inconclusive_and_no_number_is_not_testable() -> None:
    one = Estimate(10.0, -math.inf, math.inf, 0.95, 1, IntervalKind.MEAN)
    judged = judge_theory_equals(THEORY, one)
    assert (judged.verdict, judged.low, judged.high) == (Verdict.INCONCLUSIVE, None, None)
    assert judged.p_value is None
    nothing = Estimate(math.nan, math.nan, math.nan, 0.95, 20, IntervalKind.MEAN)
    judged = judge_theory_equals(THEORY, nothing)
    assert (judged.verdict, judged.measured) == (Verdict.NOT_TESTABLE, None)


def test_a_wider_level_than_the_claims_is_a_mistake() -> None:
    with pytest.raises(ValueError, match=r"level is 0\.99"):
        judge_theory_equals(THEORY, Estimate(10.0, 9.0, 11.0, 0.99, 20, IntervalKind.MEAN))


def band(values: list[float], half_width: float) -> Band:
    value = np.array(values)
    return Band(np.arange(value.size), value, value - half_width, value + half_width, 0.95, 30, 2.8)


@pytest.mark.parametrize(
    ("values", "half_width", "verdict"),
    [
        ([0.1, 0.3, 0.1], 0.05, Verdict.REPRODUCED),
        ([0.1, 0.3, 0.1], 0.1, Verdict.INCONCLUSIVE),  # an edge at exactly 0 shows no order
        ([0.1, 0.3, -0.02], 0.05, Verdict.INCONCLUSIVE),
        ([0.1, 0.3, -0.2], 0.05, Verdict.NOT_REPRODUCED),  # one point is enough
    ],
)
def test_ordering_needs_the_whole_band(
    values: list[float], half_width: float, verdict: Verdict
) -> None:
    judged = judge_ordering(claim(Kind.ORDERING, unit="1"), band(values, half_width))
    assert judged.verdict is verdict
    assert judged.measured == min(values)
    assert judged.low == pytest.approx(min(values) - half_width)


def test_an_ordering_may_allow_a_margin() -> None:
    lenient = claim(Kind.ORDERING, margin=0.1, unit="1")
    assert judge_ordering(lenient, band([0.0, 0.0], 0.05)).verdict is Verdict.REPRODUCED


def test_ordering_by_a_real_band_is_seldom_claimed_falsely() -> None:
    """Two equal laws, 40 points: a pointwise rule would claim an order far more often."""
    generator = np.random.default_rng(7)
    ordered = claim(Kind.ORDERING, unit="1")
    verdicts = [
        judge_ordering(
            ordered, simultaneous_band(generator.normal(size=(20, 40)), draws=200)
        ).verdict
        for _ in range(60)
    ]
    # Somewhere wholly negative: 2.5 % of 60 is 1.5; more than 7 has a chance below 0.1 %.
    assert verdicts.count(Verdict.NOT_REPRODUCED) <= 7
    assert verdicts.count(Verdict.REPRODUCED) == 0


def test_hardly_matters_uses_its_units_margin_and_width_is_not_equality() -> None:
    same = claim(Kind.HARDLY_MATTERS)
    assert judge_hardly_matters(same, interval(-1.9, 1.5)).verdict is Verdict.REPRODUCED
    assert judge_hardly_matters(same, interval(-9.0, 9.0)).verdict is Verdict.INCONCLUSIVE
    assert judge_hardly_matters(same, interval(2.1, 2.4)).verdict is Verdict.NOT_REPRODUCED
    rates = claim(Kind.HARDLY_MATTERS, unit="Mbit/s")
    assert judge_hardly_matters(rates, interval(2.1, 2.9)).verdict is Verdict.REPRODUCED
    with pytest.raises(ValueError, match="no default for unit 'apples'"):
        judge_hardly_matters(claim(Kind.HARDLY_MATTERS, unit="apples"), interval(0, 1))


def test_share_by_equivalence_by_prediction_and_one_sided() -> None:
    with_margin = claim(Kind.SHARE, published=0.7, margin=0.05, unit="1")
    share = interval(0.67, 0.73, "share")
    assert judge_stated(with_margin, share).verdict is Verdict.REPRODUCED
    without = claim(Kind.SHARE, published=0.7, unit="1")
    assert (
        judge_stated(without, interval(0.6, 0.8, IntervalKind.PREDICTION)).verdict
        is Verdict.REPRODUCED
    )
    with pytest.raises(ValueError, match="prediction"):
        judge_stated(without, share)
    most = claim(Kind.SHARE, published=0.5, unit="1")
    assert judge_stated(most, share, side="at least").verdict is Verdict.REPRODUCED
    assert judge_stated(most, share, side="at most").verdict is Verdict.NOT_REPRODUCED
    unclear = interval(0.45, 0.55, "share")
    assert judge_stated(most, unclear, side="at least").verdict is Verdict.INCONCLUSIVE


def test_range_needs_a_number() -> None:
    varied = claim(Kind.RANGE, published=4.0, margin=0.5)
    assert judge_stated(varied, interval(3.8, 4.2)).verdict is Verdict.REPRODUCED
    with pytest.raises(ValueError, match="published or theoretical"):
        judge_stated(claim(Kind.RANGE), interval(1.0, 2.0))


@pytest.mark.parametrize(
    ("maxima", "verdict"),
    [
        ([99.0, 100.0], Verdict.REPRODUCED),
        ([98.0], Verdict.REPRODUCED),
        ([97.9, 99.0], Verdict.NOT_REPRODUCED),  # every run must reach it
        ([99.0, 100.001], Verdict.NOT_REPRODUCED),  # and none may pass it
    ],
)
def test_a_supremum_is_reached_within_a_packet_and_never_passed(
    maxima: list[float], verdict: Verdict
) -> None:
    bound = claim(Kind.SUPREMUM, theory=100.0, margin=2.0)
    judged = judge_supremum(bound, maxima, rounding=1e-6)
    assert judged.verdict is verdict
    assert (judged.low, judged.high) == (min(maxima), max(maxima))
    assert bool(judged.note) is (verdict is Verdict.NOT_REPRODUCED)


def test_a_supremum_may_be_off_by_the_resolution() -> None:
    bound = claim(Kind.SUPREMUM, theory=100.0, margin=2.0)
    assert judge_supremum(bound, [100.0 + 5e-7], rounding=1e-6).verdict is Verdict.REPRODUCED
    assert judge_supremum(bound, [math.nan]).verdict is Verdict.NOT_TESTABLE


def test_a_judge_refuses_another_kind_of_claim() -> None:
    with pytest.raises(ValueError, match="this judge takes 'theory: equals'"):
        judge_theory_equals(claim(Kind.ORDERING), interval(0, 1))
    with pytest.raises(ValueError, match="needs margin"):
        judge_theory_equals(claim(Kind.THEORY_EQUALS, theory=1.0), interval(0, 1))


def test_not_testable_keeps_the_reason() -> None:
    judged = not_testable(THEORY, "There is no capture.")
    assert (judged.verdict, judged.note) == (Verdict.NOT_TESTABLE, "There is no capture.")
    assert judged.n_replications == 0


def test_claims_are_checked_when_written() -> None:
    with pytest.raises(ValueError, match="margin is -1"):
        claim(Kind.THEORY_EQUALS, margin=-1.0)
    with pytest.raises(ValueError, match="published is nan"):
        claim(Kind.PUBLISHED_NUMBER, published=math.nan)
    with pytest.raises(ValueError, match="level is 95"):
        claim(Kind.THEORY_EQUALS, level=95.0)
    with pytest.raises(ValueError, match="belong together"):
        Judged(THEORY, "sim", 1.0, 0.9, 1.1, 5, Verdict.REPRODUCED, depends_on="load")


@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_has_a_rule_in_words(kind: Kind) -> None:
    assert len(claim(kind, margin=2.0).rule) > 40
    assert claim(kind, rule="Mine.").rule == "Mine."


def test_the_rule_names_its_margin_and_level() -> None:
    rule = claim(Kind.THEORY_EQUALS, margin=0.8, level=0.99).rule
    assert "±0.8 ms" in rule
    assert "99 %" in rule
