"""The reference grid: sixty cells that the real kernel was run on, and what is kept of a run.

The simulator is held against these runs on machines that have no kernel in virtual time. A test
takes a cell's `experiment`, runs it on the simulator, and compares `summary` of that run with
`read_runs` and `read_flows`; `read_series` has the curves. `scripts/reference_runs.py` renews them.

Every number is taken from the sampled tables between `FROM_S` and the end in the same way for both
backends, so what is compared is the same estimator.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell.compare.reference_grid import (
    CONTROLLERS,
    DURATION_S,
    FLOWS,
    PACKET_BYTES,
    QUEUES,
    RATES_MBPS,
    RTTS_MS,
    SAMPLE_MS,
    SEED,
    START_JITTER_MS,
)
from dumbbell.compare.reference_grid import GridCell as Cell
from dumbbell.compare.reference_grid import grid_cells as cells
from dumbbell.tables import Run

__all__ = [
    "CONTROLLERS",
    "DURATION_S",
    "FLOWS",
    "PACKET_BYTES",
    "QUEUES",
    "RATES_MBPS",
    "RTTS_MS",
    "SAMPLE_MS",
    "SEED",
    "START_JITTER_MS",
    "Cell",
    "cells",
]

FOLDER = Path(__file__).parent / "kernel-6.1"
COMMAND = "python scripts/reference_runs.py"

FROM_S = 5
SERIES_MS = 100
REPLICATIONS = 3
BOTTLENECK = 2
"""Index of the queue from router to receiver."""
BACKLOG = -1
"""In place of a flow in the series: packets that the bottleneck's discipline holds."""

RUN_COLUMNS = (
    "goodput_mbps",  # payload, all flows
    "utilization",  # bytes on the wire over what the rate allows
    "queueing_delay_mean_ms",  # mean backlog in bytes over the rate
    "backlog_mean_pkts",
    "dropped_pkts",
    "marked_pkts",
    "retransmitted_pkts",
    "jain",  # of the flows' goodputs
)
FLOW_COLUMNS = ("goodput_mbps", "retransmitted_pkts", "cwnd_mean_pkts", "srtt_mean_ms")

Row = dict[str, Any]


def summary(cell: Cell, run: Run) -> tuple[Row, list[Row]]:
    """What is kept of a run, of either backend.

    Returns:
        The run's row (`RUN_COLUMNS`) and a row for each flow (`FLOW_COLUMNS`). Numbers that the
        backend does not know are NaN.
    """
    seconds = DURATION_S - FROM_S
    flows = [_flow_row(run, flow, seconds) for flow in range(cell.flows)]
    goodputs = np.array([row["goodput_mbps"] for row in flows])
    queue = {
        name: _samples(run, "queue_samples", name, queue=BOTTLENECK)
        for name in (
            "backlog_bytes",
            "backlog_pkts",
            "departed_bytes",
            "dropped_pkts",
            "marked_pkts",
        )
    }
    row = {
        "goodput_mbps": goodputs.sum(),
        "utilization": 8e-6 * _rise(queue["departed_bytes"]) / seconds / cell.rate_mbps,
        "queueing_delay_mean_ms": 8e-3 * queue["backlog_bytes"][1:].mean() / cell.rate_mbps,
        "backlog_mean_pkts": queue["backlog_pkts"][1:].mean(),
        "dropped_pkts": _rise(queue["dropped_pkts"]),
        "marked_pkts": _rise(queue["marked_pkts"]),
        "retransmitted_pkts": sum(each["retransmitted_pkts"] for each in flows),
        "jain": goodputs.sum() ** 2 / (len(flows) * (goodputs**2).sum()),
    }
    return row, flows


def series(cell: Cell, run: Run) -> list[tuple[int, Sequence[int]]]:
    """Packets each `SERIES_MS`: the bottleneck's backlog (`BACKLOG`) and each flow's window."""
    step = SERIES_MS // SAMPLE_MS
    found = [(BACKLOG, _column(run, "queue_samples", "backlog_pkts", queue=BOTTLENECK))]
    found += [
        (flow, _column(run, "flow_samples", "cwnd_pkts", flow=flow)) for flow in range(cell.flows)
    ]
    times = _column(run, "queue_samples", "t_ns", queue=BOTTLENECK)
    kept = times % (SERIES_MS * 10**6) == 0
    assert kept.sum() >= len(times) // step
    return [(flow, values[kept].astype(int).tolist()) for flow, values in found]


def read_runs(folder: Path = FOLDER) -> dict[tuple[str, int], Row]:
    """(name of the cell, replication) to the row of the kernel's run, its digest included."""
    rows = _read_csv(folder / "runs.csv.gz")
    return {(row["cell"], row["replication"]): row for row in rows}


def read_flows(folder: Path = FOLDER) -> dict[tuple[str, int], list[Row]]:
    """(name of the cell, replication) to a row for each flow, in order."""
    found: dict[tuple[str, int], list[Row]] = {}
    for row in _read_csv(folder / "flows.csv.gz"):
        found.setdefault((row["cell"], row["replication"]), []).append(row)
    return found


def read_series(folder: Path = FOLDER) -> dict[tuple[str, int, int], np.ndarray]:
    """(name of the cell, replication, flow or `BACKLOG`) to packets at 0, 100, 200, ... ms."""
    with gzip.open(folder / "series.json.gz", "rt", encoding="utf-8") as stream:
        rows = json.load(stream)
    return {
        (name, replication, flow): np.cumsum(np.array(steps, dtype=np.int64))
        for name, replication, flow, steps in rows
    }


def read_meta(folder: Path = FOLDER) -> Row:
    """What the runs were made with: kernel, its patches, guest, tools; and the command."""
    meta: Row = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
    return meta


def _column(run: Run, table: str, column: str, **where: int) -> np.ndarray:
    columns = run.tables[table]
    ((key, value),) = where.items()
    return np.asarray(columns[column])[np.asarray(columns[key]) == value]


def _samples(run: Run, table: str, column: str, **where: int) -> np.ndarray:
    """Values from `FROM_S` on; -1, which is not known, as NaN."""
    times = _column(run, table, "t_ns", **where)
    values = _column(run, table, column, **where)[times >= FROM_S * 10**9].astype(float)
    return np.where(values < 0, np.nan, values)


def _rise(totals: np.ndarray) -> float:
    return float(totals[-1] - totals[0])


def _flow_row(run: Run, flow: int, seconds: float) -> Row:
    values = {
        name: _samples(run, "flow_samples", name, flow=flow)
        for name in ("delivered_payload_bytes", "retransmitted_pkts", "cwnd_pkts", "srtt_ns")
    }
    return {
        "goodput_mbps": 8e-6 * _rise(values["delivered_payload_bytes"]) / seconds,
        "retransmitted_pkts": _rise(values["retransmitted_pkts"]),
        "cwnd_mean_pkts": values["cwnd_pkts"][1:].mean(),
        "srtt_mean_ms": 1e-6 * values["srtt_ns"][1:].mean(),
    }


def _read_csv(file: Path) -> list[Row]:
    text = gzip.decompress(file.read_bytes()).decode("utf-8")
    words = {"cell": str, "digest": str, "replication": int, "flow": int}
    return [
        {name: words.get(name, float)(value) for name, value in row.items()}
        for row in csv.DictReader(io.StringIO(text))
    ]
