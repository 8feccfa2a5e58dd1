"""Thinned curves keep their picture; printed numbers keep the digits they deserve."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dumbbell.report.model import LoadRow
from dumbbell.report.numbers import json_safe, plain, signed_percent, unit_suffix, with_uncertainty
from dumbbell.report.sampling import ecdf_points, thin


def test_small_samples_are_kept_whole() -> None:
    x, share = ecdf_points([3.0, 1.0, 2.0, 2.0, math.nan])
    assert x.tolist() == [1.0, 2.0, 3.0]
    assert share.tolist() == [0.25, 0.75, 1.0]


def test_weights_are_time() -> None:
    x, share = ecdf_points([0, 1, 2], weights=[6.0, 3.0, 1.0])
    assert x.tolist() == [0.0, 1.0, 2.0]
    assert share == pytest.approx([0.6, 0.9, 1.0])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 20_000))
def test_thinning_stays_on_the_curve_and_close_everywhere(seed: int, size: int) -> None:
    generator = np.random.default_rng(seed)
    sample = np.sort(generator.pareto(1.2, size))
    x, share = ecdf_points(sample, max_points=500)
    assert x.size <= 500
    exact = np.searchsorted(sample, x, side="right") / size
    assert share == pytest.approx(exact)
    assert (x[0], x[-1], share[-1]) == (sample[0], sample[-1], 1.0)
    # Between two kept points the curve either rises little or spans little of the range.
    rises, spans = np.diff(share), np.diff(x) / max(np.ptp(sample), 1e-300)
    assert bool(((rises < 0.0085) | (spans < 0.0085)).all()) or size <= 500


@pytest.mark.parametrize(
    ("values", "weights", "words"),
    [([], None, "at least one"), ([1.0], [0.0], "not all 0"), ([1.0, 2.0], [1.0], "2 values with")],
)
def test_no_curve_from_nothing(
    values: list[float], weights: list[float] | None, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        ecdf_points(values, weights)


def test_thin_keeps_both_ends() -> None:
    kept = thin(10_000, 100)
    assert (kept[0], kept[-1], kept.size) == (0, 9_999, 100)
    assert thin(3).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "∞"),
        (0.0, "0"),
        (0.546, "0.546"),
        (15.600, "15.6"),
        (-2.5, "−2.5"),
        (1000.0, "1000"),
        (123456.7, "123457"),
        (1.23e-7, "1.23e−07"),
    ],
)
def test_plain(value: float | None, text: str) -> None:
    assert plain(value) == text


@pytest.mark.parametrize(
    ("numbers", "texts"),
    [
        ((41.3712, 41.061, 41.6814), ("41.37", "[41.06, 41.68]")),
        ((163.2, 128.4, 201.2), ("163", "[128, 201]")),
        ((0.507, 0.41, 0.61), ("0.507", "[0.41, 0.61]")),
        ((0.04, -0.18, 0.26), ("0.04", "[−0.18, 0.26]")),
        ((812.0, None, None), ("812", "")),
        ((None, 1.0, 2.0), ("–", "")),
        ((5.0, 5.0, 5.0), ("5", "[5, 5]")),
    ],
)
def test_digits_follow_the_uncertainty(
    numbers: tuple[float | None, float | None, float | None], texts: tuple[str, str]
) -> None:
    assert with_uncertainty(*numbers) == texts


def test_units_and_per_cents() -> None:
    assert unit_suffix("1") == ""
    assert unit_suffix("ms") == "\u202fms"
    assert signed_percent(0.0854) == "+8.5 %"
    assert signed_percent(-0.0021) == "−0.2 %"


def test_json_safe_unpacks_numpy_and_drops_what_json_lacks() -> None:
    value = {"a": np.float64("nan"), 2: (np.int32(3), np.array([1.0, np.inf])), "p": Path("x")}
    assert json_safe(value) == {"a": None, "2": [3, [1.0, None]], "p": "x"}
    with pytest.raises(TypeError, match="no JSON form for object"):
        json_safe(object())


@pytest.mark.parametrize(
    ("asked", "measured", "differs"),
    [(100.0, 101.0, False), (100.0, 101.1, True), (100.0, 98.9, True), (0.0, 0.0, False),
     (0.0, 1.0, True), (100.0, math.nan, True)],
)  # fmt: skip
def test_a_load_row_warns_beyond_one_per_cent(asked: float, measured: float, differs: bool) -> None:
    assert LoadRow("x", asked, measured, "Mbit/s").differs is differs
