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
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell.spec import Experiment
from dumbbell.tables import Run

FOLDER = Path(__file__).parent / "kernel-6.1"
COMMAND = "python scripts/reference_runs.py"

DURATION_S = 30
FROM_S = 5
SAMPLE_MS = 10
SERIES_MS = 100
REPLICATIONS = 3
START_JITTER_MS = 100
SEED = 1
PACKET_BYTES = 1514
BOTTLENECK = 2
"""Index of the queue from router to receiver."""
BACKLOG = -1
"""In place of a flow in the series: packets that the bottleneck's discipline holds."""

_TABLE = """
pfifo-half  reno    10   20  1
pfifo-half  reno    10  100  2
pfifo-half  reno    40  100  1
pfifo-half  cubic   10  100  2
pfifo-half  cubic   40  100  8
pfifo-half  bbr     40   20  1
pfifo-half  bbr     40   20  8
pfifo-one   reno    40   20  2
pfifo-one   reno    40   20  8
pfifo-one   cubic   10  100  1
pfifo-one   cubic   40   20  8
pfifo-one   cubic   40  100  1
pfifo-one   bbr     10   20  1
pfifo-one   bbr     10  100  2
pfifo-one   bbr     10  100  8
pfifo-five  reno    10  100  1
pfifo-five  reno    10  100  8
pfifo-five  cubic   10   20  8
pfifo-five  cubic   40   20  1
pfifo-five  cubic   40   20  2
pfifo-five  bbr     10  100  2
pfifo-five  bbr     40   20  2
pfifo-five  bbr     40  100  8
tbf         reno    10   20  8
tbf         reno    40   20  1
tbf         reno    40  100  2
tbf         cubic   40   20  2
tbf         cubic   40  100  8
tbf         bbr     10   20  1
tbf         bbr     10   20  8
tbf         bbr     40  100  2
red         reno    10   20  8
red         reno    40  100  2
red         cubic   10   20  1
red         cubic   10  100  2
red         cubic   40   20  8
red         bbr     10   20  1
red         bbr     40  100  1
red         bbr     40  100  8
codel       reno    10   20  8
codel       reno    40   20  2
codel       reno    40  100  1
codel       cubic   10  100  1
codel       cubic   10  100  8
codel       bbr     10  100  2
codel       bbr     40   20  2
fq_codel    reno    10  100  2
fq_codel    reno    40   20  8
fq_codel    reno    40  100  1
fq_codel    cubic   10   20  2
fq_codel    cubic   10  100  1
fq_codel    bbr     10   20  1
fq_codel    bbr     40  100  8
pie         reno    10   20  2
pie         reno    10  100  8
pie         cubic   10   20  2
pie         cubic   40   20  1
pie         cubic   40  100  1
pie         bbr     10  100  8
pie         bbr     40   20  2
"""
# queue, congestion controller, Mbit/s, round-trip time in ms, flows: 60 of the 288 combinations,
# chosen once by exchanging cells until every level, every pair of levels and, after them, every
# triple is as evenly present as 60 cells allow.

QUEUES = ("pfifo-half", "pfifo-one", "pfifo-five", "tbf", "red", "codel", "fq_codel", "pie")
CONTROLLERS = ("reno", "cubic", "bbr")
RATES_MBPS = (10, 40)
RTTS_MS = (20, 100)
FLOWS = (1, 2, 8)

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


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination.

    Attributes:
        queue: One of `QUEUES`; of a pfifo, its limit in bandwidth-delay products.
        controller: Congestion controller of all flows.
        rate_mbps: Of the bottleneck.
        rtt_ms: Without queueing.
        flows: How many, all greedy and from the same host.
    """

    queue: str
    controller: str
    rate_mbps: int
    rtt_ms: int
    flows: int

    @property
    def name(self) -> str:
        """Such as ``pie-cubic-10mbit-20ms-2``."""
        return f"{self.queue}-{self.controller}-{self.rate_mbps}mbit-{self.rtt_ms}ms-{self.flows}"

    @property
    def bdp_bytes(self) -> int:
        """Bandwidth-delay product."""
        return self.rate_mbps * self.rtt_ms * 125

    def qdisc(self) -> str:
        """The bottleneck's discipline as ``tc`` takes it."""
        packets = self.bdp_bytes / PACKET_BYTES
        factor = {"pfifo-half": 0.5, "pfifo-one": 1.0, "pfifo-five": 5.0}.get(self.queue)
        if factor is not None:
            return f"pfifo limit {max(2, math.ceil(factor * packets))}"
        if self.queue == "tbf":
            return f"tbf rate {self.rate_mbps}mbit burst 10kb limit {self.bdp_bytes + 10240}b"
        if self.queue == "red":
            # tc-red(8): max at least twice min, burst (2 min + max) / (3 avpkt), limit above max.
            low, high = self.bdp_bytes // 3, self.bdp_bytes
            burst = math.ceil((2 * low + high) / 3000)
            return (
                f"red limit {4 * high}b min {low}b max {high}b avpkt 1000 burst {burst}"
                f" bandwidth {self.rate_mbps}mbit probability 0.02"
            )
        return self.queue

    def experiment(self) -> Experiment:
        """Its description; replications differ in when flows start."""
        shaped = self.queue == "tbf"
        delay = f"{self.rtt_ms / 2:g}ms"
        forward = {
            "rate": "inf" if shaped else f"{self.rate_mbps}mbit",
            "delay": delay,
            "qdisc": self.qdisc(),
        }
        flows = [
            {
                "name": f"flow-{number}",
                "from": "sender",
                "to": "receiver",
                "start_jitter": f"{START_JITTER_MS}ms",
                "source": {"kind": "greedy"},
                "tcp": {"congestion_control": self.controller},
            }
            for number in range(1, self.flows + 1)
        ]
        return Experiment.model_validate(
            {
                "name": self.name,
                "seed": SEED,
                "duration": f"{DURATION_S}s",
                "sample_interval": f"{SAMPLE_MS}ms",
                "links": [
                    {"a": "sender", "b": "router"},
                    {
                        "a": "router",
                        "b": "receiver",
                        "forward": forward,
                        "reverse": {"delay": delay},
                    },
                ],
                "flows": flows,
            }
        )


def cells() -> tuple[Cell, ...]:
    """All sixty."""
    words = (line.split() for line in _TABLE.split("\n") if line)
    return tuple(Cell(q, c, int(rate), int(rtt), int(n)) for q, c, rate, rtt, n in words)


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
