"""Resolved descriptions of one queue, and batches of runs of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from dumbbell import _engine

MEAN_BYTES = 512.0
RATE_BPS = 1_000_000
MU = RATE_BPS / (8 * MEAN_BYTES)
S = 10**9
UNBOUNDED = 1_000_000_000

EXPONENTIAL = {"law": "exponential", "mean": MEAN_BYTES}
CONSTANT = {"law": "constant", "value": MEAN_BYTES}


def end(rate_bps: int, limit_packets: int) -> dict[str, Any]:
    return {
        "rate_bps": rate_bps,
        "delay_ns": 0,
        "mtu_bytes": 1500,
        "overhead_bytes": 14,
        "loss": 0.0,
        "loss_every_pkts": 0,
        "qdisc": {"kind": "pfifo", "limit_packets": limit_packets},
        "changes": [],
        "record_packets": False,
    }


def one_queue(
    rho: float,
    size: Mapping[str, Any],
    *,
    packets: float,
    limit_packets: int = UNBOUNDED,
    warm_up_s: int = 60,
    seed: int = 1,
    sample_interval_s: int = 0,
) -> dict[str, Any]:
    """Poisson arrivals at load rho for about `packets` packets after the warm-up."""
    lam = rho * MU
    duration_ns = (warm_up_s + round(packets / lam)) * S
    return {
        "schema": 1,
        "name": "one queue",
        "seed": seed,
        "duration_ns": duration_ns,
        "warm_up_ns": warm_up_s * S,
        "sample_interval_ns": sample_interval_s * S,
        "timer_hz": 1000,
        "hosts": [{"name": "a"}, {"name": "b"}],
        "links": [
            {"a": "a", "b": "b", "forward": end(RATE_BPS, limit_packets), "reverse": end(0, 1000)}
        ],
        "flows": [
            {
                "name": "flow",
                "from": "a",
                "to": "b",
                "start_ns": 0,
                "stop_ns": duration_ns,
                "start_jitter_ns": 0,
                "dscp": 0,
                "ecn": "not-ect",
                "transport": "udp",
                "tcp": None,
                "source": {
                    "kind": "poisson",
                    "gap": {"law": "exponential", "mean": 1 / lam},
                    "size": dict(size),
                    "size_at": "wire",
                },
            }
        ],
        "probes": [],
    }


def tables(spec: Mapping[str, Any], replications: range, threads: int = 0) -> list[Any]:
    """The tables of every replication, in order."""
    text = json.dumps(spec)
    jobs = ((text, replication) for replication in replications)
    done = sorted(_engine.simulate(jobs, threads=threads), key=lambda completed: completed.index)
    assert all(completed.error is None for completed in done)
    return [completed.take_tables() for completed in done]


def queue_column(all_tables: list[Any], column: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A column of the first queue, one value a replication."""
    return np.array([each["queues"][column][0] for each in all_tables], dtype=np.float64)
