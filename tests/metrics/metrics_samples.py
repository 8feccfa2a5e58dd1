"""Runs to measure: from the engine, and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from dumbbell.backends import simulate
from dumbbell.spec import Experiment
from dumbbell.tables import SCHEMA, Run, empty_table

BOTTLENECK = "router->receiver"


def experiment(**changes: Any) -> Experiment:
    """Two senders, one bottleneck of 1 Mbit/s that drops a little; the run outlives its flows."""
    described: dict[str, Any] = {
        "name": "lab",
        "duration": "130s",
        "warm_up": "10s",
        "sample_interval": "1s",
        "links": [
            {"a": "sender", "b": "router"},
            {
                "a": "router",
                "b": "receiver",
                "forward": {"rate": "1mbit", "qdisc": "pfifo limit 30"},
            },
        ],
        "flows": [
            {
                "name": "testbed",
                "from": "sender",
                "to": "receiver",
                "stop": "110s",
                "source": {
                    "kind": "ditg",
                    "gap": "exponential 110pps",
                    "size": "exponential 512B",
                },
            },
            {
                "name": "ideal",
                "from": "sender",
                "to": "receiver",
                "start": "20s",
                "stop": "110s",
                "source": {"kind": "poisson", "rate": "110pps", "size": "exponential 512B"},
            },
        ],
        "probes": [{"name": "ping", "from": "sender", "to": "receiver", "interval": "200ms"}],
    }
    return Experiment.read({**described, **changes})


def lab() -> Run:
    return simulate(experiment())


def by_hand(tables: dict[str, dict[str, list[float]]], spec: dict[str, Any] | None = None) -> Run:
    """A run with only the columns given; a column left out is zero."""
    filled = {}
    for name, given in tables.items():
        rows = len(next(iter(given.values())))
        columns = {column: np.zeros(rows, values.dtype) for column, values in
                   empty_table(name).items()}  # fmt: skip
        for column, values in given.items():
            columns[column] = np.array(values, columns[column].dtype)
        filled[name] = columns
    assert filled.keys() <= SCHEMA.keys()
    resolved = experiment().resolved() if spec is None else spec
    return Run("simulated", 0, resolved, filled)
