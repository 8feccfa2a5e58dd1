"""The tables of ``docs/qdisc/dualpi2.md``: a flow of L4S and a classic one behind ``dualpi2``.

``python scripts/l4s_tables.py`` runs each cell five times, some minutes in all, and prints a table
for each pair of controllers: means with half of their 95 % intervals.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/engine"))

from l4s_samples import Shared, shared  # noqa: E402

from dumbbell.stats import student_interval  # noqa: E402

SEEDS = range(1, 6)
RATES_MBPS = (10, 40, 80)
ROUND_TRIPS_MS = (10, 40)
PAIRS = (("prague", "cubic"), ("dctcp", "cubic"))
COLUMNS: Mapping[str, tuple[Callable[[Shared], float], int]] = {
    "marked by p', % of L": (lambda run: 100 * run.coupled_share, 2),
    "dropped, % of C": (lambda run: 100 * run.dropped_share, 3),
    "marks / √drops": (lambda run: run.coupling, 2),
    "all marks, % of L": (lambda run: 100 * run.marked_share, 1),
    "L median, ms": (lambda run: float(np.median(run.l4s_delays_ms)), 2),
    "L 99th percentile, ms": (lambda run: float(np.percentile(run.l4s_delays_ms, 99)), 2),
    "C mean, ms": (lambda run: float(np.mean(run.classic_delays_ms)), 1),
    "share of C, %": (lambda run: 100 * run.share_of_classic, 1),
}


def _with_interval(values: list[float], digits: int) -> str:
    estimate = student_interval(values)
    half = (estimate.high - estimate.low) / 2
    return f"{estimate.value:.{digits}f} ± {half:.{digits}f}"


def main() -> None:
    """Print all of them, row by row."""
    for l4s, classic in PAIRS:
        print(f"{classic} beside {l4s}\n")
        print(f"| Mbit/s, round trip | {' | '.join(COLUMNS)} |")
        print(f"| --- |{' --- |' * len(COLUMNS)}")
        for rate_mbps in RATES_MBPS:
            for rtt_ms in ROUND_TRIPS_MS:
                runs = [
                    shared(rate_mbps, rtt_ms, l4s=l4s, classic=classic, seed=seed) for seed in SEEDS
                ]
                cells = (
                    _with_interval([value(run) for run in runs], digits)
                    for value, digits in COLUMNS.values()
                )
                print(f"| {rate_mbps}, {rtt_ms} ms | {' | '.join(cells)} |", flush=True)
        print()


if __name__ == "__main__":
    main()
