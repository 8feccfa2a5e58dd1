"""Every test has its day, and one day only."""

from __future__ import annotations

import pytest

from rotation import Part, split

NAMES = [f"tests/engine/test_mutants.py::test_is_caught[{number}]" for number in range(500)]


def test_in_a_cycle_each_test_runs_once() -> None:
    ran = [
        name
        for day in range(20_000, 20_014)
        for name in split(NAMES, Part.parse(f"{day}/14"), str)[0]
    ]
    assert sorted(ran) == sorted(NAMES)


def test_no_day_has_more_than_twice_its_share() -> None:
    sizes = [len(split(NAMES, Part(day, 14), str)[0]) for day in range(14)]
    assert max(sizes) < 2 * len(NAMES) / 14


def test_those_that_are_left_keep_their_order() -> None:
    taken, left = split(NAMES, Part(0, 1), str)
    assert (taken, left) == (NAMES, [])


@pytest.mark.parametrize("text", ["", "3", "3/", "/14", "3/0", "-1/14", "a/b"])
def test_what_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="allowed"):
        Part.parse(text)
