"""Printed levels that one grid point must reproduce together."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from rule_samples import MAYBE, claim, runs, verdict

from dumbbell.claims import Grid, GridPoint, Runs, Verdict, judge, view_of
from dumbbell.claims.rules import Explained, Joint, Law, Level
from dumbbell.claims.rules.prediction import prediction_p_value
from dumbbell.stats import Together, prediction_fit

LEVELS = Explained(
    levels={"p50": Level(printed=20.0, reading=0.5), "p95": Level(printed=60.0, reading=0.5)},
    grid="load",
    unit="ms",
)


def levels(*means: tuple[float, float], n: int = 10, sd: float = 1.0) -> Grid[Any]:
    return Grid(
        [
            GridPoint({"load": float(k)}, {"p50": runs(a, sd, n), "p95": runs(b, sd, n)})
            for k, (a, b) in enumerate(means)
        ]
    )


def test_one_point_must_explain_all_levels() -> None:
    judged = judge(claim(LEVELS), levels((20.0, 40.0), (20.5, 60.5), (40.0, 60.0)))
    assert judged.verdict is Verdict.EXPLAINED_AT
    assert judged.decision.at == ({"load": 1.0},)
    assert view_of(judged).verdict_text == "explained at load = 1"
    assert [glyph.label for glyph in view_of(judged).glyphs] == ["p50", "p95"]
    # Each level is given somewhere; but nowhere both.
    never = judge(claim(LEVELS), levels((20.0, 40.0), (28.0, 60.0)))
    assert never.verdict is Verdict.NOT_EXPLAINED
    assert never.decision.nearest == {"load": 1.0}
    assert [missed.level for missed in never.decision.missed] == ["p50"]
    assert "misses p50 (printed 20 ms" in view_of(never).note


def test_a_region_that_explains() -> None:
    judged = judge(claim(LEVELS), levels((20.0, 60.0), (20.3, 60.2), (40.0, 60.0)))
    assert len(judged.decision.at) == 2
    assert "as well at" in view_of(judged).note


def test_levels_that_are_too_wide_or_too_few_explain_nothing() -> None:
    assert verdict(LEVELS, levels((20.0, 60.0), sd=15.0)) is Verdict.UNINFORMATIVE
    assert verdict(LEVELS, levels((20.0, 60.0), n=9)) is MAYBE
    one_wide = judge(claim(LEVELS), levels((20.0, 60.0), sd=6.0))
    assert one_wide.verdict is Verdict.EXPLAINED_AT
    assert "too wide to test: p50" in one_wide.note
    with pytest.raises(ValueError, match="p95"):
        judge(claim(LEVELS), Grid([GridPoint({"load": 1.0}, {"p50": runs(20, 1, 10)})]))


def correlated(mean: tuple[float, float], n: int, seed: int = 5) -> dict[str, Runs]:
    """Two levels that rise and fall together: standard deviation 1, of their difference 0.1."""
    random = np.random.default_rng(seed)
    common = random.normal(0.0, 1.0, n)
    return {
        name: Runs(centre + common + random.normal(0.0, 0.07, n))
        for name, centre in zip(("p50", "p95"), mean, strict=True)
    }


def test_levels_that_rise_together_are_held_at_once() -> None:
    at_once = dataclasses.replace(LEVELS, joint=Joint.HOTELLING)
    exact = {name: dataclasses.replace(level, reading=0.0) for name, level in LEVELS.levels.items()}
    sharp = dataclasses.replace(at_once, levels=exact)
    true, apart = (
        Grid([GridPoint({"load": 1.0}, correlated(mean, 40))])
        for mean in ((20.3, 60.3), (20.6, 59.4))
    )
    assert verdict(sharp, true) is Verdict.EXPLAINED_AT
    # Each level for itself is within a standard deviation; both at once never are.
    assert verdict(LEVELS, apart) is Verdict.EXPLAINED_AT
    judged = judge(claim(sharp), apart)
    assert judged.verdict is Verdict.NOT_EXPLAINED
    assert judged.decision.missed == ()
    assert "not all in one run" in view_of(judged).note
    # What print leaves open, or the instrument adds, counts: half a millisecond either way.
    loose = {name: dataclasses.replace(level, jitter=1.0) for name, level in exact.items()}
    assert verdict(dataclasses.replace(sharp, levels=loose), apart) is Verdict.EXPLAINED_AT
    assert "Hotelling" in sharp.words
    logs = {name: dataclasses.replace(level, law=Law.LOG_NORMAL) for name, level in exact.items()}
    assert verdict(dataclasses.replace(sharp, levels=logs), true) is Verdict.EXPLAINED_AT
    with pytest.raises(ValueError, match="positive"):
        Level(printed=0.0, reading=0.1, law=Law.LOG_NORMAL)


def p_value(values: Any, printed: Any, spread: Any) -> float:
    return prediction_fit(Together(values, printed, spread)).p_value


def test_the_joint_test_is_the_students_for_one_number() -> None:
    values = np.array([3.0, 4.5, 2.5, 3.5, 5.0, 4.0, 3.8, 4.2, 2.9, 3.3])
    for printed in (3.0, 4.0, 6.0):
        alone = prediction_p_value(values, printed, Law.NORMAL)
        together = p_value(values[:, None], np.array([printed]), np.zeros(1))
        assert together == pytest.approx(alone)


def test_the_joint_test_knows_numbers_that_never_differ() -> None:
    rows = np.column_stack([np.arange(12.0), np.full(12, 7.0)])
    at = np.array([5.0, 7.0])
    assert p_value(rows, at, np.zeros(2)) > 0.5
    assert p_value(rows, np.array([5.0, 7.1]), np.zeros(2)) == 0.0
    assert p_value(rows, np.array([5.0, 7.1]), np.array([0.0, 0.1])) > 0.2
    with pytest.raises(ValueError, match="2 replications of 2"):
        p_value(rows[:2], at, np.zeros(2))
