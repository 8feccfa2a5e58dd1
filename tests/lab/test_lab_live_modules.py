"""Modules of the live figures by themselves, in Node: axes, and the comparison of two samples."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dumbbell.stats import cdf_crossings
from waiting import PATIENCE_S

ASK = Path(__file__).with_name("ask_live.mjs")


def asked(requests: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Answers of one process; see ``ask_live.mjs``."""
    if shutil.which("node") is None:
        # A test that skips where it matters protects nobody.
        (pytest.fail if os.environ.get("CI") else pytest.skip)("node is not installed")
    lines = "".join(f"{json.dumps(request)}\n" for request in requests)
    done = subprocess.run(
        ["node", str(ASK)],
        input=lines,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def compared(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> list[Any]:
    return asked(
        [
            {"of": "crossing", "call": "compared", "with": [sorted(first), sorted(second)]}
            for first, second in pairs
        ]
    )


def test_shares_are_those_of_the_statistics() -> None:
    numbers = np.random.default_rng(7)
    pairs: list[tuple[list[float], list[float]]] = []
    for _ in range(60):
        sizes = numbers.integers(1, 40, 2)
        # Few values, so that many are equal.
        first, second = (numbers.integers(0, 12, size).astype(float).tolist() for size in sizes)
        pairs.append((first, second))
    for (first, second), found in zip(pairs, compared(pairs), strict=True):
        expected = 1 - cdf_crossings(first, second).share_a_lower
        assert found["share"] == pytest.approx(expected, abs=1e-12), (first, second)


def test_the_crossing_is_where_one_overtakes_the_other() -> None:
    # The first's lower 40 % are above the second's, its upper 60 % are below.
    low, high = np.arange(40.0), np.arange(100.0, 160.0)
    crossing = ([*(low + 1), *(high - 1)], [*low, *high])
    never = ([*(low + 1), *(high + 1)], [*low, *high])
    hardly = ([*(low[:2] - 1), *(low[2:] + 1), *(high + 1)], [*low, *high])
    none: tuple[list[float], list[float]] = ([], [1.0])
    found = compared([crossing, never, hardly, none])
    assert found[0] == {"share": pytest.approx(0.4), "crossing": pytest.approx(0.4)}
    assert (found[1]["share"], found[1]["crossing"]) == (1.0, None)
    assert found[2]["crossing"] is None
    assert found[3] == {"share": None, "crossing": None}


@pytest.mark.parametrize("is_log", [False, True])
def test_a_scale_says_where_and_what(is_log: bool) -> None:
    axis = {"title": "", "least": 0.1 if is_log else 0, "most": 1000, "log": is_log}
    values = [0.1, 1, 31.6, 1000]
    pixels = [46, 200, 500]
    (found,) = asked(
        [{"of": "chart", "call": "scale", "with": [axis, 46, 500], "at": values, "value": pixels}]
    )

    def share(value: float) -> float:
        return (math.log10(value) + 1) / 4 if is_log else value / 1000

    assert found["at"] == pytest.approx([46 + share(value) * 454 for value in values])
    assert [found["value"][0], found["value"][-1]] == pytest.approx([axis["least"], 1000])
    (back,) = asked(
        [
            {
                "of": "chart",
                "call": "scale",
                "with": [axis, 46, 500],
                "at": found["value"],
                "value": [],
            }
        ]
    )
    assert back["at"] == pytest.approx(pixels)


def test_nothing_that_is_zero_is_infinitely_far_on_a_logarithmic_axis() -> None:
    axis = {"title": "", "least": 1, "most": 100, "log": True}
    (found,) = asked(
        [{"of": "chart", "call": "scale", "with": [axis, 0, 200], "at": [0, -3], "value": []}]
    )
    assert found["at"] == [-100, -100]


def test_ticks_are_round_and_inside() -> None:
    limits = [(0, 1), (0, 7.3), (0, 260), (-2, 2), (0.3, 0.9), (0, 3e-4), (0, 5e7)]
    axes = [{"title": "", "least": least, "most": most} for least, most in limits]
    found = asked([{"of": "chart", "call": "rounds", "with": [axis, 5]} for axis in axes])
    for (least, most), ticks in zip(limits, found, strict=True):
        assert 2 <= len(ticks) <= 11, (least, most)
        assert all(least - 1e-9 * most <= tick <= most * (1 + 1e-9) for tick in ticks)
        steps = np.diff(ticks)
        assert np.allclose(steps, steps[0])
        lead = steps[0] / 10 ** math.floor(math.log10(steps[0]) + 1e-9)
        assert any(math.isclose(lead, each, rel_tol=1e-6) for each in (1, 2, 5, 10))


def test_powers_of_ten_and_their_words() -> None:
    axis = {"title": "", "least": 1e-4, "most": 1, "log": True}
    (powers,) = asked([{"of": "chart", "call": "powers", "with": [axis]}])
    assert powers == pytest.approx([1e-4, 1e-3, 1e-2, 1e-1, 1])
    values = [0, *powers, 2.5, 100, 20_000]
    words = asked([{"of": "chart", "call": "tickText", "with": [value]} for value in values])
    assert words == ["0", "10⁻⁴", "0.001", "0.01", "0.1", "1", "2.5", "100", "20000"]
