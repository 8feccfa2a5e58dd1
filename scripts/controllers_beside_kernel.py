"""Compares controllers with the kernel's: one flow over 10 Mbit/s, 40 ms and a queue of one BDP.

``python scripts/controllers_beside_kernel.py vegas htcp`` runs each of them three times on the
simulator and on the Linux kernel in virtual time, and prints the table of its page in ``docs``.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/reference"))

import reference_grid as grid  # noqa: E402

from dumbbell.backends import run_many  # noqa: E402

MEASURES = {
    "goodput_mbps": ("goodput, Mbit/s", 2),
    "cwnd_mean_pkts": ("mean window, packets", 1),
    "queueing_delay_mean_ms": ("mean time in the queue, ms", 1),
    "retransmitted_pkts": ("sent again, packets", 0),
}
"""Label and decimals of each row."""
MARKING = "codel target 1s interval 1s ce_threshold 6ms limit 100 ecn"
"""For DCTCP: every packet with a longer queueing delay is marked; RFC 8257 section 3.1."""


class Cell(grid.Cell):  # type: ignore[misc]  # found by its path
    """One flow; DCTCP over a queue that marks."""

    def qdisc(self) -> str:
        """Return the bottleneck's discipline in tc syntax."""
        return MARKING if self.controller == "dctcp" else grid.Cell.qdisc(self)


def measured(controller: str, backend: str) -> list[grid.Row]:
    """Return a row for each replication.

    Raises:
        RuntimeError: A run failed.
    """
    cell = Cell("pfifo-one", controller, rate_mbps=10, rtt_ms=40, flows=1)
    jobs = ((cell.experiment(), replication) for replication in range(grid.REPLICATIONS))
    failures: list[object] = []
    rows = []
    for _, run in run_many(jobs, backend=backend, jobs=1, on_failure=failures.append):
        row, (flow,) = grid.summary(cell, run)
        rows.append(row | {"cwnd_mean_pkts": flow["cwnd_mean_pkts"]})
    if failures:
        raise RuntimeError(f"{controller} on {backend}: {failures[0]}")
    return rows


def table(controller: str) -> str:
    """Return the table of the page."""
    sides = [measured(controller, backend) for backend in ("sim", "kernel")]
    lines = ["| | simulator | Linux 6.1 |", "| --- | --- | --- |"]
    for name, (words, digits) in MEASURES.items():
        cells = [", ".join(f"{row[name]:.{digits}f}" for row in rows) for rows in sides]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Print a table for each named controller."""
    for controller in sys.argv[1:]:
        print(f"{controller}\n\n{table(controller)}\n", flush=True)


if __name__ == "__main__":
    main()
