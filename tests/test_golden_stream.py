"""The wheel draws the golden stream, and the stream is what its documentation says it is.

``tests/golden/stream.json`` is also compared in cargo (``spec/tests/golden_stream.rs``, which
writes it) and in WebAssembly (``tests/wasm``).
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dumbbell import _engine

ENTRIES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "golden" / "stream.json").read_text(encoding="utf-8")
)
MASK = 2**64 - 1


def draws(entry: dict[str, Any]) -> np.ndarray:
    return _engine.golden_stream(
        entry["seed"], entry["replication"], entry["component"], entry["law"], entry["count"]
    )


def name(entry: dict[str, Any]) -> str:
    return f"{entry['component']} {entry['law']}"


def xoshiro256plusplus(state: list[int]) -> int:
    """One step of Blackman and Vigna's generator, in plain integers."""

    def rotate_left(word: int, by: int) -> int:
        return (word << by | word >> (64 - by)) & MASK

    s0, s1, s2, s3 = state
    word = (rotate_left((s0 + s3) & MASK, 23) + s0) & MASK
    shifted = s1 << 17 & MASK
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    state[:] = [s0, s1, s2, rotate_left(s3, 45)]
    return word


def seeded(seed: int, replication: int, component: str) -> list[int]:
    """The state as ``core/src/random.rs`` documents it."""
    numbers = seed.to_bytes(8, "little") + replication.to_bytes(8, "little")
    text = b"dumbbell stream 1\0" + numbers + component.encode()
    digest = hashlib.sha256(text).digest()
    return [int.from_bytes(digest[i : i + 8], "little") for i in range(0, 32, 8)]


DISTRIBUTIONS: dict[str, Callable[..., Any]] = {
    "exponential": lambda mean: stats.expon(scale=mean),
    "uniform": lambda low, high: stats.uniform(low, high - low),
    "pareto": lambda shape, scale: stats.pareto(shape, scale=scale),
    "normal": lambda mean, sd: stats.norm(loc=mean, scale=sd),
    "lognormal": lambda mu, sigma: stats.lognorm(sigma, scale=np.exp(mu)),
    "gamma": lambda shape, scale: stats.gamma(shape, scale=scale),
    "weibull": lambda shape, scale: stats.weibull_min(shape, scale=scale),
}


@pytest.mark.parametrize("entry", ENTRIES, ids=name)
def test_draws_are_the_golden_ones(entry: dict[str, Any]) -> None:
    bits = draws(entry).astype("<f8").view("<u8")
    assert [f"{word:016x}" for word in bits[: len(entry["first"])]] == entry["first"]
    assert hashlib.sha256(bits.tobytes()).hexdigest() == entry["sha256"]


def test_uniform_draws_are_xoshiro_seeded_by_sha256() -> None:
    for entry in ENTRIES:
        if json.loads(entry["law"]) != {"law": "uniform", "low": 0, "high": 1}:
            continue
        state = seeded(entry["seed"], entry["replication"], entry["component"])
        expected = [(xoshiro256plusplus(state) >> 11) * 2.0**-53 for _ in range(entry["count"])]
        assert draws(entry).tolist() == expected
        return
    pytest.fail("the golden file has no uniform law on [0, 1)")


@pytest.mark.parametrize("entry", ENTRIES, ids=name)
def test_draws_have_scipys_distribution(entry: dict[str, Any]) -> None:
    parameters = json.loads(entry["law"])
    law = parameters.pop("law")
    found = draws(entry)
    if law == "constant":
        assert set(found) == {parameters["value"]}
        return
    exact = DISTRIBUTIONS[law](**parameters)
    if law == "normal":
        # Draws below 0 count as 0; what is above is a truncated normal.
        below = exact.cdf(0.0)
        share = stats.binomtest(int(np.sum(found == 0.0)), found.size, below)
        assert share.pvalue > 1e-5
        found = found[found > 0.0]
        assert stats.kstest(found, lambda x: (exact.cdf(x) - below) / (1 - below)).pvalue > 1e-5
        return
    assert stats.kstest(found, exact.cdf).pvalue > 1e-5


@pytest.mark.parametrize(
    ("law", "path"),
    [
        ({"law": "exponential", "mean": 0}, "mean"),
        ({"law": "uniform", "low": 2, "high": 1}, "high"),
        ({"law": "exponential", "mean": 1, "sd": 1}, "law"),
    ],
)
def test_what_is_not_a_law_is_refused(law: dict[str, Any], path: str) -> None:
    with pytest.raises(_engine.SpecInvalid) as refused:
        _engine.golden_stream(1, 0, "x", json.dumps(law), 1)
    assert refused.value.path == path
