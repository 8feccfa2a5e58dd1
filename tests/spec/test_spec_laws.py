"""Laws: text, tables, and numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell import _engine
from dumbbell.spec.experiment import canonical_json
from dumbbell.spec.laws import GAP, LAWS, SIZE, mean_of
from dumbbell.spec.refusal import Refused


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("512B", {"law": "constant", "value": 512.0}),
        ("constant 1kb", {"law": "constant", "value": 1024.0}),
        ("  exponential   512.5B ", {"law": "exponential", "mean": 512.5}),
        ("uniform 0B 1500B", {"law": "uniform", "low": 0.0, "high": 1500.0}),
        ("pareto 1.5 100B", {"law": "pareto", "shape": 1.5, "scale": 100.0}),
        ("normal 500B 0B", {"law": "normal", "mean": 500.0, "sd": 0.0}),
        ("lognormal -1 0.5", {"law": "lognormal", "mu": -1.0, "sigma": 0.5}),
        ("gamma 2 256B", {"law": "gamma", "shape": 2.0, "scale": 256.0}),
        ("weibull 0.8 500B", {"law": "weibull", "shape": 0.8, "scale": 500.0}),
    ],
)
def test_sizes(text: str, resolved: dict) -> None:
    assert SIZE.resolve(SIZE.check(text)) == resolved
    assert SIZE.resolve(SIZE.text_of(resolved)) == resolved


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("10ms", {"law": "constant", "value": 0.01}),
        ("1000pps", {"law": "constant", "value": 0.001}),
        ("exponential 110pps", {"law": "exponential", "mean": 1 / 110}),
        ("uniform 200pps 100pps", {"law": "uniform", "low": 0.005, "high": 0.01}),
    ],
)
def test_gaps(text: str, resolved: dict) -> None:
    assert GAP.resolve(text) == resolved
    assert GAP.resolve(GAP.text_of(resolved)) == resolved


def test_a_table_is_its_short_form() -> None:
    table = {"law": "weibull", "scale": "500B", "shape": 0.8}
    assert SIZE.check(table) == "weibull 0.8 500B"


@given(st.floats(1e-12, 1e6), st.floats(1e-6, 1e6), st.sampled_from(sorted(LAWS)))
def test_every_number_goes_there_and_back(quantity: float, number: float, law: str) -> None:
    values = {"quantity": quantity, "shape": number, "log": math.log(number)}
    resolved = {"law": law} | {p.name: values[p.kind] for p in LAWS[law]}
    if law == "uniform":
        resolved["high"] = 2 * quantity
    assert GAP.resolve(GAP.text_of(resolved)) == resolved


@pytest.mark.parametrize(
    "text", ["", " ", "5", "ms", "exponential", "exponential 1ms 2ms", "pareto 1ms 2"]
)
def test_what_is_no_law(text: str) -> None:
    with pytest.raises(Refused):
        GAP.check(text)


@pytest.mark.parametrize(
    "text",
    [
        "3ms",
        "exponential 3ms",
        "uniform 1ms 5ms",
        "pareto 3.5 2ms",
        "normal 3ms 4ms",
        "lognormal -6 0.5",
        "gamma 2 1ms",
        "weibull 1.5 3ms",
    ],
)
def test_the_mean_is_that_of_what_the_engine_draws(text: str) -> None:
    law = GAP.resolve(text)
    drawn = _engine.golden_stream(1, 0, "mean", canonical_json(law), 100_000)
    error = drawn.std() / math.sqrt(len(drawn))
    assert abs(float(np.mean(drawn)) - mean_of(law)) <= 4 * error + 1e-15


def test_a_pareto_law_of_shape_one_has_no_mean() -> None:
    assert mean_of(GAP.resolve("pareto 1 1ms")) == math.inf
