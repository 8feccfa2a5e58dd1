"""Compares the simulator with Linux 6.1 over the reference grid, with intervals.

``grid_agreement.py --write``  runs what the store lacks, and keeps what came of it in
                               tests/reference/grid-agreement.json and in the page docs/tcp.md
``grid_agreement.py``          prints the page's table of what is kept
``--only WORD``                takes the networks with the word in their names, and keeps nothing
``--replications N``           of each network on both, thirty unless said
``--for SECONDS``              begins no further network after so long, and keeps nothing; the next
                               call takes the runs so far from the store

Replication k has the same starts on both. The kernel in virtual time has to be built. Thirty runs
of all networks take some 35 minutes of CPU time.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dumbbell.compare import Cell, Comparison, compare
from dumbbell.compare.executing import Stored, Threads, cell_names
from dumbbell.compare.judging import Outcome
from dumbbell.compare.reference_grid import GridCell, grid_cells
from dumbbell.store import Store

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "tests/reference/grid-agreement.json"
PAGE = ROOT / "docs/tcp.md"
BEGIN, END = "<!-- grid agreement -->\n", "<!-- end of grid agreement -->\n"
REPLICATIONS = 30
BACKENDS = ("sim", "kernel")
GOODPUT, JAIN = "goodput of all flows", "Jain's index"
QUEUE = "queue[router->receiver]"
QUANTITIES = {
    "flows[flow].total_goodput_bps": GOODPUT,
    "flow[flow-1].goodput_bps": GOODPUT,  # where there is one flow
    f"{QUEUE}.mean_sojourn_s": "mean time in the queue",
    f"{QUEUE}.sojourn_p95_s": "95th percentile of the time in the queue",
    f"{QUEUE}.loss_ratio": "share of packets dropped",
    "network.jain_index": JAIN,
}
DIGITS = 6

Row = dict[str, Any]


def rounded(value: float | None) -> float | None:
    """Return it with `DIGITS` significant digits; None where it is undefined."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{DIGITS}g}")


def rows_of(found: Comparison) -> dict[str, Row]:
    """Return the compared numbers of a network: means, interval of the difference, outcome."""
    (cell,) = found.cells
    rows: dict[str, Row] = {}
    for each in found.agreements:
        words = QUANTITIES.get(each.quantity.path)
        if words is None:
            continue
        sides = {side: found.replicates(cell.label, side) for side in BACKENDS}
        values = {side: of.values(each.quantity) for side, of in sides.items()}
        rows[words] = {
            **{side: rounded(statistics.fmean(of)) for side, of in values.items()},
            "difference": [rounded(each.measured.low), rounded(each.measured.high)],
            "margin": rounded(each.margin),
            "outcome": each.outcome.value,
        }
    return rows


def compared(cell: GridCell, store: Path, jobs: int, replications: int) -> dict[str, Row]:
    """Run what the store lacks of a network, and return its rows.

    Raises:
        DumbbellError: A run failed.
    """
    cells = [Cell(cell.name, cell.experiment())]
    executor = Stored(Threads(jobs), Store(store), cells=cell_names(cells))
    found = compare(cells, backends=BACKENDS, replications=replications, executor=executor)
    if found.failed:
        raise found.failed[0].error
    return rows_of(found)


def has_difference(row: Row) -> bool:
    """Whether the interval of the difference lies on one side of zero."""
    low, high = row["difference"]
    return low is not None and high is not None and (low > 0 or high < 0)


def table(kept: Mapping[str, Any]) -> str:
    """Return the page's table."""
    return "\n".join(_lines(kept["networks"], kept["replications"])) + "\n"


def _lines(networks: Mapping[str, Mapping[str, Row]], replications: int) -> Iterator[str]:
    yield (
        f"| of networks, {replications} runs each on both | the same | not decided | differ "
        "| interval without 0 | median difference |"
    )
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for words in dict.fromkeys(QUANTITIES.values()):
        rows = [network[words] for network in networks.values() if words in network]
        outcomes = Counter(row["outcome"] for row in rows if row["margin"] is not None)
        counts = [outcomes[each.value] for each in (Outcome.SAME, Outcome.OPEN, Outcome.DIFFERS)]
        shown = [str(count) if outcomes else "" for count in counts]
        apart = sum(has_difference(row) for row in rows)
        relative = [abs(row["kernel"] / row["sim"] - 1) for row in rows if row["sim"]]
        median = f"{statistics.median(relative):.2%}"
        yield f"| {words}, {len(rows)} | {' | '.join(shown)} | {apart} | {median} |"


def with_table(page: str, kept: Mapping[str, Any]) -> str:
    """Return the page with its table replaced."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + table(kept) + END + rest.split(END)[1]


def main() -> int:
    """Run the requested action. Exit status 1 if the time did not suffice."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="run everything, keep it")
    parser.add_argument("--only", default="", help="networks with this word in their names")
    parser.add_argument("--replications", type=int, default=REPLICATIONS)
    parser.add_argument("--for", type=float, default=math.inf, dest="seconds")
    parser.add_argument("--jobs", type=int, default=0, help="guests side by side; 0: one a core")
    parser.add_argument("--store", type=Path, default=ROOT / "results/.store")
    given = parser.parse_args()
    if not given.write and not given.only:
        print(table(json.loads(KEPT.read_text(encoding="utf-8"))), end="")
        return 0
    until = time.monotonic() + given.seconds
    networks = {}
    for cell in (each for each in grid_cells() if given.only in each.name):
        if time.monotonic() > until:
            print(f"stopped before {cell.name}", file=sys.stderr)
            return 1
        networks[cell.name] = compared(cell, given.store, given.jobs, given.replications)
        print(f"{len(networks)}: {cell.name}", file=sys.stderr, flush=True)
    kept = {"replications": given.replications, "networks": networks}
    print(table(kept), end="")
    if not given.only:
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), kept), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
