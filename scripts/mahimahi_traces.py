"""Links with traces of Mahimahi: opportunities used, and controllers beside the kernel.

    python scripts/mahimahi_traces.py FILE...              # two tables of docs/traces.md
    python scripts/mahimahi_traces.py FILE... --opportunities

The first table compares the packets that leave a saturated link with the opportunities of the
file. For the second, each file becomes steps of rates, which the kernel can follow (a mean of half
a second each, at least 100 kbit/s), and one flow of each controller runs over them on both
backends. The margins are those of the reference grid; a number outside is marked with a star.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/reference"))

from test_agreement import BOUNDS, MEASURES, Comparison, Values  # noqa: E402

from dumbbell.backends import run_many, simulate  # noqa: E402
from dumbbell.spec import Experiment  # noqa: E402

CONTROLLERS = ("cubic", "bbr", "vegas")
REPLICATIONS = 3
OPPORTUNITY_BYTES = 1504
STEP_MS = 500
LEAST_BPS = 100_000
DURATION_S, WARM_UP_S = 45, 5
BOTTLENECK = 2
"""Index of the queue from router to phone."""


def opportunities_ms(file: Path) -> np.ndarray:
    """Return the opportunities of a file, ms, in ascending order."""
    return np.array(file.read_text().split(), dtype=np.int64)


def saturated(file: Path, folder: Path) -> tuple[int, int]:
    """Return the opportunities of one round of a file, and the packets of UDP that left in it."""
    times = opportunities_ms(file)
    (folder / file.name).write_bytes(file.read_bytes())
    per_ms = int(np.bincount(times).max())
    (folder / "udp.toml").write_text(
        f"""duration = "{times[-1] + 1}ms"
links = [{{ a = "s", b = "r", forward = {{ trace = "{file.name}", qdisc = "pfifo limit 1000" }} }}]
[[flows]]
name = "f"
from = "s"
to = "r"
source = {{ kind = "cbr", rate = "{1000 * (per_ms + 1)}pps", size = "1504B", size_at = "wire" }}
"""
    )
    run = simulate(Experiment.from_toml(folder / "udp.toml"))
    return len(times), int(run.column("queues", "departed_pkts")[0])


def steps_csv(file: Path) -> str:
    """Return a file's mean rates as CSV."""
    times = opportunities_ms(file)
    counts = np.bincount(times // STEP_MS)
    rates = np.maximum(counts * OPPORTUNITY_BYTES * 8_000 // STEP_MS, LEAST_BPS)
    rows = [f"{place * STEP_MS},{rate}" for place, rate in enumerate(rates)]
    return "\n".join(["time_ms,rate_bps", *rows]) + "\n"


def download(controller: str, trace: str, folder: Path) -> Experiment:
    """Return one download over a trace beside it, with 40 ms and a queue of 200 packets."""
    file = folder / f"{controller}.toml"
    file.write_text(
        f"""seed = 1
guest = "module"
duration = "{DURATION_S}s"
warm_up = "{WARM_UP_S}s"
sample_interval = "20ms"
[[links]]
a = "server"
b = "router"
rate = "1gbit"
[[links]]
a = "router"
b = "phone"
delay = "20ms"
forward = {{ qdisc = "pfifo limit 200", trace = "{trace}" }}
reverse = {{ rate = "100mbit" }}
[[flows]]
name = "download"
from = "server"
to = "phone"
start_jitter = "100ms"
source = {{ kind = "greedy" }}
tcp = {{ congestion_control = "{controller}" }}
"""
    )
    return Experiment.from_toml(file)


def measured(file: Path, backend: str, folder: Path) -> dict[str, Values]:
    """Return what each controller does over the steps of a file.

    Raises:
        RuntimeError: A run failed.
    """
    name = f"{file.name}.csv"
    (folder / name).write_text(steps_csv(file))
    jobs = [
        (download(controller, name, folder), number)
        for controller in CONTROLLERS
        for number in range(REPLICATIONS)
    ]
    times = opportunities_ms(file)
    mbps = 8e-3 * OPPORTUNITY_BYTES * len(times) / float(times[-1])
    failures: list[Any] = []
    found: dict[int, tuple[float, ...]] = {}
    for index, run in run_many(jobs, backend=backend, jobs=1, on_failure=failures.append):
        sampled = run.column("queue_samples", "t_ns", queue=BOTTLENECK) >= WARM_UP_S * 10**9
        backlog = run.column("queue_samples", "backlog_bytes", queue=BOTTLENECK)[sampled]
        moved = run.column("flow_samples", "delivered_payload_bytes", flow=0)
        window = run.column("flow_samples", "cwnd_pkts", flow=0)
        late = run.column("flow_samples", "t_ns", flow=0) >= WARM_UP_S * 10**9
        goodput = 8e-6 * float(moved[late][-1] - moved[late][0]) / (DURATION_S - WARM_UP_S)
        found[index] = (goodput, 8e-3 * float(backlog.mean()) / mbps, float(window[late].mean()))
    if failures:
        raise RuntimeError(f"{file.name} on {backend}: {failures[0]}")
    return {
        controller: {
            measure: [found[place * REPLICATIONS + n][k] for n in range(REPLICATIONS)]
            for k, measure in enumerate(MEASURES)
        }
        for place, controller in enumerate(CONTROLLERS)
    }


def opportunities_table(files: Sequence[Path], folder: Path) -> str:
    """Return the table of saturated links."""
    lines = ["| trace | opportunities | packets of UDP |", "| --- | ---: | ---: |"]
    for file in files:
        wanted, left = saturated(file, folder)
        lines.append(f"| {file.name} | {wanted:,} | {left:,} |")
    return "\n".join(lines)


def controllers_table(files: Sequence[Path], folder: Path) -> str:
    """Return the table of controllers; numbers outside their margin are marked."""
    head = "goodput, Mbit/s", "backlog over mean rate, ms", "window, packets"
    lines = [
        f"| trace | controller | {' | '.join(head)} |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for file in files:
        sides = [measured(file, backend, folder) for backend in ("sim", "kernel")]
        for controller in CONTROLLERS:
            cells = []
            for measure in MEASURES:
                ours, theirs = (side[controller][measure] for side in sides)
                compared = Comparison(file.name, measure, theirs, ours)
                mark = " *" if compared.excess > BOUNDS[measure] else ""
                pair = f"{statistics.median(ours):.2f} / {statistics.median(theirs):.2f}"
                cells.append(f"{pair}{mark}")
            lines.append(f"| {file.name} | {controller} | {' | '.join(cells)} |")
            print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--opportunities", action="store_true", help="the first table alone")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(opportunities_table(asked.files, folder))
        if not asked.opportunities:
            print("\n" + controllers_table(asked.files, folder))


if __name__ == "__main__":
    main()
