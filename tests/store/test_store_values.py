"""Values that runs are reduced to: kept and read to the last bit; what is none is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.spec import Experiment
from dumbbell.store import NotKeptError, Numbers, StoreError, numbers_of, value_from
from small_networks import home_line


@dataclass(frozen=True, eq=False)
class Inner:
    flows: np.ndarray
    chosen: np.ndarray
    bytes: np.ndarray


@dataclass(frozen=True, eq=False)
class Outer:
    mean: float
    count: int
    is_large: bool
    name: str
    by_name: Mapping[str, Inner]
    several: tuple[float | None, ...]
    last: np.float64


def outer() -> Outer:
    inner = Inner(
        np.array([[0.1, math.nan], [-0.0, math.inf]]),
        np.array([True, False, True]),
        np.array([-1, 2**62], dtype=np.int64),
    )
    return Outer(0.1 + 0.2, -(2**60), True, "häuser", {"a": inner}, (1.5, None), np.float64(1 / 3))


def back(value: Any) -> Any:
    return value_from(numbers_of(value), __name__)


def test_a_dataclass_comes_back_to_the_last_bit() -> None:
    value, found = outer(), back(outer())
    assert isinstance(found, Outer)
    for name in ("mean", "count", "is_large", "name", "several", "last"):
        assert getattr(found, name) == getattr(value, name)
        assert type(getattr(found, name)) is type(getattr(value, name))
    for name in ("flows", "chosen", "bytes"):
        ours, theirs = getattr(found.by_name["a"], name), getattr(value.by_name["a"], name)
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert ours.tobytes() == theirs.tobytes()


def test_a_run_comes_back_with_its_tables() -> None:
    import tomllib

    run = simulate(Experiment.read(tomllib.loads(home_line("1s", rate="5mbit"))))
    (found,) = back((run,))
    assert (found.origin, found.replication, found.spec) == (run.origin, 0, run.spec)
    assert (found.meta, found.provenance) == (run.meta, run.provenance)
    assert list(found.tables) == list(run.tables)
    for name, columns in run.tables.items():
        for column, values in columns.items():
            assert found.tables[name][column].dtype == values.dtype
            assert found.tables[name][column].tobytes() == values.tobytes()


@pytest.mark.parametrize(
    "value", [object(), {1.5: 2.0}, 2**63, {1, 2}, np.array(["text"]), lambda: None, Outer]
)
def test_what_is_no_such_value_is_not_kept(value: Any) -> None:
    with pytest.raises(NotKeptError):
        numbers_of((value,))


@pytest.mark.parametrize(
    "layout",
    [
        "none",
        "[]",
        '{"value": "word"}',
        '{"value": {"dataclass": "Experiment", "fields": {}}}',
        '{"value": {"dataclass": "simulate", "fields": {}}}',
        '{"value": {"dataclass": "Inner", "fields": {"flows": "float"}}}',
        '{"value": {"array": "O", "dimensions": 1}}',
        '{"value": {"array": "<f8", "dimensions": 1}}',
        '{"value": {"set": []}}',
        '{"value": {"map": [[[], "float"]]}}',
        '{"value": ' + 100_000 * '{"tuple": [' + "]}" * 100_000 + "}",
    ],
)
def test_a_layout_that_is_none_is_refused(layout: str) -> None:
    with pytest.raises(StoreError):
        value_from(Numbers(layout, np.array([1e300])), __name__)


def test_a_layout_is_the_same_for_values_of_one_shape() -> None:
    short, long = (numbers_of((np.arange(n, dtype=float), n)) for n in (3, 30))
    assert short.layout == long.layout
    assert json.loads(short.layout)
