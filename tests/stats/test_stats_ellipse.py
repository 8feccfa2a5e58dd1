"""The covariance ellipse: closed forms and what a normal law has inside it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dumbbell.stats import StatsError, covariance_ellipse


def test_axes_of_uncorrelated_samples() -> None:
    x, y = [-3.0, 3.0, 0.0, 0.0], [0.0, 0.0, -1.0, 1.0]
    ellipse = covariance_ellipse(x, y, 2.0)
    assert ellipse.centre == (0.0, 0.0)
    assert ellipse.axes == pytest.approx((2 * math.sqrt(6), 2 * math.sqrt(2 / 3)))
    assert math.sin(ellipse.angle_rad) == pytest.approx(0.0, abs=1e-12)
    assert ellipse.half_extent == pytest.approx(ellipse.axes)


def test_a_turned_law_has_the_share_that_theory_says() -> None:
    """P(within n sd) = 1 - exp(-n^2 / 2) for a bivariate normal law."""
    random = np.random.default_rng(1)
    turn = 0.5
    along, across = random.normal(0, 4, 100_000), random.normal(0, 1, 100_000)
    x = 7 + along * math.cos(turn) - across * math.sin(turn)
    y = -2 + along * math.sin(turn) + across * math.cos(turn)
    ellipse = covariance_ellipse(x, y)
    assert ellipse.angle_rad == pytest.approx(turn, abs=0.01)
    assert ellipse.axes == pytest.approx((8, 2), rel=0.01)
    cos, sin = math.cos(ellipse.angle_rad), math.sin(ellipse.angle_rad)
    u = (x - ellipse.centre[0]) * cos + (y - ellipse.centre[1]) * sin
    v = (y - ellipse.centre[1]) * cos - (x - ellipse.centre[0]) * sin
    inside = np.mean((u / ellipse.axes[0]) ** 2 + (v / ellipse.axes[1]) ** 2 <= 1)
    assert inside == pytest.approx(1 - math.exp(-2), abs=0.004)
    px, py = ellipse.outline(360)
    assert (px.min(), px.max()) == pytest.approx(ellipse.x_range, rel=1e-3)
    assert (py.min(), py.max()) == pytest.approx(ellipse.y_range, rel=1e-3)


def test_what_is_refused() -> None:
    with pytest.raises(StatsError, match="at least 3"):
        covariance_ellipse([1, 2], [1, 2])
    with pytest.raises(StatsError, match="x has 3 values and y 4"):
        covariance_ellipse([1, 2, 3], [1, 2, 3, 4])
