"""Contents to keep, and a run with tables."""

from __future__ import annotations

import hashlib

import numpy as np

import dumbbell
from dumbbell.store import CellName, Content, Numbers
from dumbbell.tables import Run

LAYOUT = '["a", "b", "c"]'
LINE = CellName("line", (("links[0].qdisc", "pie"),))
OTHER = CellName("other")


def key_of(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest()


def values_of(number: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([number / 3, np.nan, -np.inf])


def content(number: int, *, layout: str = LAYOUT, run: Run | None = None) -> Content:
    numbers = Numbers(layout, values_of(number))
    return Content(key_of(number), "sim", number, '{"dumbbell": "1"}', numbers, run)


def small_run() -> Run:
    described = {
        "duration": "100ms",
        "links": [{"a": "a", "b": "b", "rate": "1mbit"}],
        "probes": [{"name": "call", "from": "a", "to": "b", "interval": "20ms"}],
        "sample_interval": "10ms",
    }
    return dumbbell.simulate(dumbbell.Experiment.read(described))
