"""The tables of ``docs/qdisc/dualpi2.md``: a flow of L4S and a classic one behind ``dualpi2``.

``python scripts/l4s_tables.py`` runs each cell five times, some minutes in all, and prints them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/engine"))

from l4s_samples import Shared, shared  # noqa: E402

from dumbbell.stats import student_interval  # noqa: E402

SEEDS = range(1, 6)
RATES_MBPS = (10, 40, 120)
ROUND_TRIPS_MS = (5, 20, 80)
PAIRS = (("prague", "cubic"), ("prague", "reno"), ("dctcp", "cubic"))


def _with_interval(values: list[float], digits: int) -> str:
    """Mean and half of its 95 % interval."""
    estimate = student_interval(values)
    half = (estimate.high - estimate.low) / 2
    return f"{estimate.value:.{digits}f} ± {half:.{digits}f}"


def _cell(rate_mbps: int, rtt_ms: int, l4s: str, classic: str) -> list[Shared]:
    return [shared(rate_mbps, rtt_ms, l4s=l4s, classic=classic, seed=seed) for seed in SEEDS]


def _coupling_rows(cells: dict[tuple[int, int], list[Shared]]) -> Iterator[str]:
    yield "| Mbit/s, round trip | marked by p', % of L | dropped, % of C | marks / √drops |"
    yield "| --- | --- | --- | --- |"
    for (rate_mbps, rtt_ms), runs in cells.items():
        columns = (
            ([100 * run.coupled_share for run in runs], 2),
            ([100 * run.dropped_share for run in runs], 3),
            ([run.coupling for run in runs], 2),
        )
        values = " | ".join(_with_interval(values, digits) for values, digits in columns)
        yield f"| {rate_mbps}, {rtt_ms} ms | {values} |"


def _delay_rows(cells: dict[tuple[int, int], list[Shared]]) -> Iterator[str]:
    yield "| Mbit/s, round trip | L median, ms | L 99th percentile, ms | C mean, ms |"
    yield "| --- | --- | --- | --- |"
    for (rate_mbps, rtt_ms), runs in cells.items():
        columns = (
            [float(np.median(run.l4s_delays_ms)) for run in runs],
            [float(np.percentile(run.l4s_delays_ms, 99)) for run in runs],
            [float(np.mean(run.classic_delays_ms)) for run in runs],
        )
        values = " | ".join(_with_interval(values, 2) for values in columns)
        yield f"| {rate_mbps}, {rtt_ms} ms | {values} |"


def main() -> None:
    """Print all of them."""
    grid = [(rate, rtt) for rate in RATES_MBPS for rtt in ROUND_TRIPS_MS]
    by_pair = {}
    for l4s, classic in PAIRS:
        by_pair[l4s, classic] = {(rate, rtt): _cell(rate, rtt, l4s, classic) for rate, rtt in grid}
        print(f"{l4s} beside {classic}", file=sys.stderr, flush=True)
    first = by_pair[PAIRS[0]]
    print("\n".join([*_coupling_rows(first), "", *_delay_rows(first), ""]))
    names = " | ".join(f"{classic} beside {l4s}, %" for l4s, classic in PAIRS)
    print(f"| Mbit/s, round trip | {names} |\n| --- |{' --- |' * len(PAIRS)}")
    for rate, rtt in grid:
        shares = (
            _with_interval([100 * run.share_of_classic for run in by_pair[pair][rate, rtt]], 1)
            for pair in PAIRS
        )
        print(f"| {rate}, {rtt} ms | {' | '.join(shares)} |")


if __name__ == "__main__":
    main()
