"""Compares the simulator's bursts with the kernel's over the reference grid.

``burst_grid.py --write``  runs the sixty networks on both, with segments one by one and in the
                           kernel's own bursts, once each, and keeps what came of it in
                           tests/reference/bursts.json and in the page docs/host-bursts.md
``burst_grid.py``          prints the page's table of what is kept
``--only WORD``            takes the networks with the word in their names, and keeps nothing

Flows start at the same instants on both. What is said is the difference, relative to the kernel's,
as the median over the networks and as the share that lies within a tenth: of drops and
retransmissions where the kernel has more than ten.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell.backends import Failure, run_many
from dumbbell.compare.reference_grid import GridCell, grid_cells
from dumbbell.metrics import goodput_bps, mean_sojourn_s
from dumbbell.spec import Experiment
from dumbbell.tables import Run

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "tests/reference/bursts.json"
PAGE = ROOT / "docs/host-bursts.md"
BEGIN, END = "<!-- grid -->\n", "<!-- end of grid -->\n"
SEGMENTS = (1, 65535)
STARTS = 1
START_NS = 2_000_000_000
FEW = 10
"""Below this number of packets a share is not meaningful."""
NEAR = 0.1
SETTINGS = {
    "1": "one by one on both",
    "65535": "bursts on both",
    "1 beside 65535": "one by one in the simulator, bursts on the kernel",
}
MEASURES = {
    "goodput_mbps": "goodput of all flows",
    "sojourn_mean_ms": "mean time in the queue",
    "dropped_pkts": "drops",
    "dropped_at_start_pkts": "drops in the first 2 s",
    "retransmitted_pkts": "retransmissions",
    "largest_cwnd_pkts": "largest window",
}
COUNTED = ("dropped_pkts", "dropped_at_start_pkts", "retransmitted_pkts")

Numbers = dict[str, float]


def numbers(run: Run) -> Numbers:
    """Return the compared numbers of a run; packets are counted at the router's queue."""
    queue = {"queue": "router->receiver"}
    times_ns = run.column("queue_samples", "t_ns", **queue)
    dropped = run.column("queue_samples", "dropped_pkts", **queue)
    return {
        "goodput_mbps": 1e-6 * sum(goodput_bps(run, flow) for flow in run.flow_names),
        "sojourn_mean_ms": 1e3 * mean_sojourn_s(run, queue["queue"]),
        "dropped_pkts": float(dropped[-1]),
        "dropped_at_start_pkts": float(dropped[np.searchsorted(times_ns, START_NS) - 1]),
        "retransmitted_pkts": float(run.column("flows", "retransmitted_pkts").sum()),
        "largest_cwnd_pkts": float(run.column("flow_samples", "cwnd_pkts").max()),
    }


def described(cell: GridCell, segments: int) -> Experiment:
    """Return its experiment with bursts of up to `segments` segments."""
    text = cell.experiment().model_dump(by_alias=True, exclude_unset=True)
    for flow in text["flows"]:
        flow["tcp"]["gso_max_segs"] = segments
    return Experiment.model_validate(text)


def measured(cells: Sequence[GridCell], backend: str, segments: int) -> dict[str, Numbers]:
    """Return the numbers of each network.

    Raises:
        RuntimeError: A run failed.
    """
    jobs = [(described(cell, segments), start) for cell in cells for start in range(STARTS)]
    found: dict[int, Numbers] = {}
    failures: list[Failure] = []
    for index, run in run_many(jobs, backend=backend, on_failure=failures.append):
        found[index] = numbers(run)
        print(f"{backend}, {segments}: {len(found)} of {len(jobs)}", file=sys.stderr, end="\r")
    if failures:
        raise RuntimeError(f"{backend}: {failures[0]}")
    means = {}
    for place, cell in enumerate(cells):
        of_cell = [found[place * STARTS + start] for start in range(STARTS)]
        means[cell.name] = {
            name: round(statistics.fmean(each[name] for each in of_cell), 4) for name in MEASURES
        }
    return means


def differences(
    simulator: Mapping[str, Numbers], kernel: Mapping[str, Numbers], measure: str
) -> list[float]:
    """Return differences relative to the kernel, of networks where the measure is meaningful."""
    pairs = [(simulator[name][measure], kernel[name][measure]) for name in kernel]
    least = FEW if measure in COUNTED else 0
    return [abs(one / other - 1) for one, other in pairs if other > least]


def rows(kept: Mapping[str, Any]) -> Iterator[str]:
    """Return the rows of the page's table."""
    yield (
        f"| median over the networks, share within {NEAR:.0%} | "
        + " | ".join(SETTINGS.values())
        + " |"
    )
    yield "| --- |" + " --- |" * len(SETTINGS)
    sides = kept["networks"]
    for measure, words in MEASURES.items():
        cells = []
        for setting in SETTINGS:
            simulated, _, on_kernel = setting.partition(" beside ")
            found = differences(
                sides["sim"][simulated], sides["kernel"][on_kernel or simulated], measure
            )
            share = sum(each <= NEAR for each in found) / len(found)
            cells.append(f"{statistics.median(found):.1%}, {share:.0%} of {len(found)}")
        yield f"| {words} | " + " | ".join(cells) + " |"


def table(kept: Mapping[str, Any]) -> str:
    """Return the page's table."""
    return "\n".join(rows(kept)) + "\n"


def with_table(page: str, kept: Mapping[str, Any]) -> str:
    """Return the page with its table replaced."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + table(kept) + END + rest.split(END)[1]


def main() -> int:
    """Run the requested action."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="run everything, keep it")
    parser.add_argument("--only", default="", help="networks with this word in their names")
    given = parser.parse_args()
    if not given.write and not given.only:
        print(table(json.loads(KEPT.read_text(encoding="utf-8"))), end="")
        return 0
    cells = [cell for cell in grid_cells() if given.only in cell.name]
    kept = {
        "starts": STARTS,
        "networks": {
            backend: {str(count): measured(cells, backend, count) for count in SEGMENTS}
            for backend in ("sim", "kernel")
        },
    }
    print(table(kept), end="")
    if given.write and not given.only:
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), kept), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
