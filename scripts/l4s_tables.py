"""The tables of ``docs/qdisc/dualpi2.md``: a flow of L4S and a classic one behind ``dualpi2``.

``python scripts/l4s_tables.py`` runs each cell five times, some minutes in all, and prints a table
for each pair of controllers, one for slow links, and one beside two published sets of figures:
means with half of their 95 % intervals.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/engine"))

from l4s_samples import Shared, shared  # noqa: E402

from dumbbell.stats import student_interval  # noqa: E402

SEEDS = range(1, 6)
RATES_MBPS = (10, 20, 40, 100)
ROUND_TRIPS_MS = (10, 20, 40, 80)
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


SLOW_LINKS_MBPS = (10, 20)
STEPS = ("", "min_qlen_step 1", "min_qlen_step 2", "step_thresh 3ms")


@dataclass(frozen=True, slots=True)
class Published:
    """A row of a published set, or of the experiment that changes one of its settings.

    Attributes:
        source: The source; empty for a changed setting.
        rate_mbps: Rate of the bottleneck.
        rtt_ms: Base round-trip time.
        target_ms: Delay target of the classic queue.
        rtt_independence: Whether Prague has RTT independence.
        classic_ecn: Whether CUBIC negotiated ECN.
        share: CUBIC's share of the total goodput, %; None if not measured.
        min_qlen_step: Length of the L queue from which the step marks, packets.
    """

    source: str
    rate_mbps: int
    rtt_ms: int
    target_ms: int
    rtt_independence: bool
    classic_ecn: bool
    share: float | None
    min_qlen_step: int = 2


_HEIST = "Heist 2020"
_PAM = "PAM 2025"
PUBLISHED = (
    Published(_HEIST, 10, 10, 15, False, True, 32.0),
    Published(_HEIST, 10, 20, 15, False, True, 35.3),
    Published(_HEIST, 10, 80, 15, False, True, 36.8),
    Published(_HEIST, 50, 10, 15, False, True, 27.2),
    Published(_HEIST, 50, 20, 15, False, True, 32.2),
    Published(_HEIST, 50, 80, 15, False, True, 37.3),
    Published(_PAM, 100, 10, 5, True, False, 55.7),
    Published("", 50, 10, 5, False, True, None),
    Published("", 50, 10, 15, True, True, None),
    Published("", 50, 10, 5, True, True, None),
    Published("", 100, 10, 5, False, False, None),
    Published("", 100, 10, 15, True, False, None),
    Published("", 100, 10, 15, False, False, None),
    Published("", 10, 10, 15, False, True, None, 1),
    Published("", 10, 20, 15, False, True, None, 1),
    Published("", 10, 80, 15, False, True, None, 1),
    Published("", 10, 10, 15, False, True, None, 0),
    Published("", 10, 20, 15, False, True, None, 0),
    Published("", 10, 80, 15, False, True, None, 0),
)
"""CUBIC beside Prague through DualPI2: Heist and Morton's ``s1_table.md`` (means of both orders),
and the means over five buffers of ten runs each in the data of Sarpkaya, Fund and Panwar."""


def _with_interval(values: list[float], digits: int) -> str:
    estimate = student_interval(values)
    half = (estimate.high - estimate.low) / 2
    return f"{estimate.value:.{digits}f} ± {half:.{digits}f}"


def _pairs() -> None:
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


def _slow_links() -> None:
    print("cubic beside prague on slow links\n")
    print("| Mbit/s, 20 ms | what is set | all marks, % of L | L median, ms | share of C, % |")
    print("| --- | --- | --- | --- | --- |")
    for rate_mbps in SLOW_LINKS_MBPS:
        for step in STEPS:
            runs = [
                shared(rate_mbps, 20, classic="cubic", qdisc=f"dualpi2 {step}", seed=seed)
                for seed in SEEDS
            ]
            cells = (
                _with_interval([value(run) for run in runs], digits)
                for value, digits in (COLUMNS[name] for name in _OF_SLOW_LINKS)
            )
            print(f"| {rate_mbps} | `{step}` | {' | '.join(cells)} |", flush=True)
    print()


_OF_SLOW_LINKS = ("all marks, % of L", "L median, ms", "share of C, %")


def _published() -> None:
    print("beside published figures\n")
    print(
        "| source | Mbit/s, round trip | `target` | RTT independence | `min_qlen_step` "
        "| printed, % | ours, % |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for row in PUBLISHED:
        shares = [
            100
            * shared(
                row.rate_mbps,
                row.rtt_ms,
                classic="cubic",
                qdisc=f"dualpi2 target {row.target_ms}ms min_qlen_step {row.min_qlen_step}",
                seed=seed,
                rtt_independence=row.rtt_independence,
                classic_ecn=row.classic_ecn,
            ).share_of_classic
            for seed in SEEDS
        ]
        cells = (
            row.source,
            f"{row.rate_mbps}, {row.rtt_ms} ms",
            f"{row.target_ms} ms",
            "yes" if row.rtt_independence else "no",
            str(row.min_qlen_step),
            "" if row.share is None else f"{row.share:.1f}",
            _with_interval(shares, 1),
        )
        print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print all tables, row by row."""
    _pairs()
    _slow_links()
    _published()


if __name__ == "__main__":
    main()
