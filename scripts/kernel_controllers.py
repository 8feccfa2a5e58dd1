"""Tables of docs/controllers.md: Linux's sixteen controllers compared with the kernel and with
ours.

``--kernel`` runs each of them on six networks of the reference grid, three times, on the Linux
kernel in virtual time, and keeps what was measured in ``tests/reference/linux-controllers.json``;
names after it are those to run again. ``--write`` runs ``linux:NAME`` on the same networks in the
simulator, and our own controllers beside Linux's of the same name, and writes both tables into
``docs/controllers.md``. ``tests/reference/test_kernel_controllers.py`` holds page and file against
what the simulator does.

Needs what `dumbbell controller build linux` has built, and ``--kernel`` a kernel that was built.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/reference"))

import reference_grid as grid  # noqa: E402

from dumbbell.backends import Failure, get_backend, run_many  # noqa: E402
from dumbbell.spec import Experiment  # noqa: E402
from dumbbell.spec.tcp import LINUX_CONTROLLERS  # noqa: E402

KEPT = ROOT / "tests/reference/linux-controllers.json"
PAGE = ROOT / "docs/controllers.md"
NAMES = tuple(sorted(set(LINUX_CONTROLLERS) - {"reno"}))
TWINS = ("bbr", "cubic", "dctcp", "highspeed", "htcp", "illinois", "scalable", "vegas", "westwood")
"""Our controllers that also exist in Linux."""

NETWORKS = (
    ("pfifo-half", 10, 100, 2),
    ("pfifo-one", 40, 100, 1),
    ("pfifo-five", 10, 20, 8),
    ("tbf", 10, 20, 1),
    ("red", 10, 100, 2),
    ("fq_codel", 10, 20, 2),
)
"""Queue, Mbit/s, round-trip time in ms, flows: six networks of the reference grid."""

MEASURES = {
    "goodput_mbps": "goodput",
    "cwnd_mean_pkts": "mean window",
    "queueing_delay_mean_ms": "mean time in the queue",
    "retransmitted_pkts": "sent again",
}
MARGINS = {
    "goodput_mbps": 0.02,
    "cwnd_mean_pkts": 0.10,
    "queueing_delay_mean_ms": 0.10,
    "retransmitted_pkts": 0.10,
}
"""Margins beyond the nearer end of the kernel's range: those of `test_agreement.py`, and 10 % for
retransmissions, of which CUBIC's are at most 7 % beyond it over its twenty cells of the grid."""
SMALL = {"queueing_delay_mean_ms": 0.5, "retransmitted_pkts": 5.0}
"""Differences of the medians that always count as agreement."""


@dataclass(frozen=True, slots=True)
class Network(grid.Cell):  # type: ignore[misc]  # tests are not typed for scripts
    """A cell of the grid; DCTCP's queue marks after a sixth of the base RTT."""

    @property
    def name(self) -> str:
        """Return its name without the controller's."""
        return f"{self.queue}-{self.rate_mbps}mbit-{self.rtt_ms}ms-{self.flows}"

    def qdisc(self) -> str:
        """Return the bottleneck's discipline in tc syntax."""
        if not self.controller.endswith("dctcp"):
            return str(grid.Cell.qdisc(self))
        threshold_us = 1000 * self.rtt_ms // 6
        return f"codel target 1s interval 1s ce_threshold {threshold_us}us limit 1000 ecn"


MARKED_IN_PLACE_OF = {"tbf": "pfifo-one"}
"""DCTCP's queue marks and does not shape: the link has the rate, without a token bucket."""


def networks(name: str) -> list[Network]:
    """Return the six networks of Linux's controller of that name."""
    instead = MARKED_IN_PLACE_OF if name == "dctcp" else {}
    return [
        Network(instead.get(queue, queue), f"linux:{name}", *numbers)
        for queue, *numbers in NETWORKS
    ]


Runs = dict[str, list[list[float]]]
"""Rows per replication, of numbers in the order of `MEASURES`, by network."""


def measured(name: str, backend: str, jobs: int = 0) -> Runs:
    """Run one controller on its six networks.

    Raises:
        RuntimeError: A run failed.
    """
    cells = networks(name)
    tasks = [(cell, number) for cell in cells for number in range(grid.REPLICATIONS)]
    failures: list[Failure] = []
    rows: dict[int, list[float]] = {}
    given = ((cell.experiment(), number) for cell, number in tasks)
    for index, run in run_many(given, backend=backend, jobs=jobs, on_failure=failures.append):
        row, flows = grid.summary(tasks[index][0], run)
        window = statistics.mean(flow["cwnd_mean_pkts"] for flow in flows)
        values = row | {"cwnd_mean_pkts": window}
        rows[index] = [float(f"{values[measure]:.6g}") for measure in MEASURES]
    if failures:
        raise RuntimeError(f"{name} on {backend}: {failures[0]}")
    found: Runs = {}
    for index, (cell, _) in enumerate(tasks):
        found.setdefault(cell.name, []).append(rows[index])
    return found


def read_kept() -> dict[str, Any]:
    """Return the stored kernel results: `versions`, and `runs` by controller."""
    if not KEPT.is_file():
        return {"versions": {}, "runs": {}}
    found: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def keep_kernels(names: Sequence[str]) -> None:
    """Run these on the kernel, and store each result when it is done."""
    resolved = networks("cubic")[0].experiment().resolved()
    versions = dict(get_backend("kernel").versions(resolved))
    for name in names:
        found = measured(name, "kernel")
        kept = read_kept()
        kept["versions"] = {key: versions[key] for key in ("kernel", "kernel_hz")}
        runs = kept["runs"] | {name: found}
        kept["runs"] = {each: runs[each] for each in sorted(runs)}
        KEPT.write_text(_as_lines(kept), encoding="utf-8")
        print(f"{name}: kept", flush=True)


def _as_lines(kept: Mapping[str, Any]) -> str:
    """Return JSON with a line for each network."""
    parts = []
    for name, places in kept["runs"].items():
        lines = (f"   {json.dumps(place)}: {json.dumps(rows)}" for place, rows in places.items())
        parts.append(f"  {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n  }")
    versions = json.dumps(kept["versions"])
    return f'{{\n "versions": {versions},\n "runs": {{\n' + ",\n".join(parts) + "\n }\n}\n"


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure of one network: the simulator's distance from the range of the kernel's runs."""

    measure: str
    place: str
    simulator: Sequence[float]
    kernel: Sequence[float]

    @property
    def relative(self) -> float:
        """Return the relative difference of the medians; 0 for negligible differences."""
        ours, theirs = statistics.median(self.simulator), statistics.median(self.kernel)
        if abs(ours - theirs) <= SMALL.get(self.measure, 0.0):
            return 0.0
        return ours / theirs - 1 if theirs else float("inf")

    @property
    def excess(self) -> float:
        """Return the median's relative distance from the nearer end of the kernel's range."""
        ours = statistics.median(self.simulator)
        low, high = min(self.kernel), max(self.kernel)
        if low <= ours <= high or self.relative == 0:
            return 0.0
        if ours < low:
            return 1 - ours / low
        return ours / high - 1 if high else float("inf")

    @property
    def is_outside(self) -> bool:
        """Return whether the margin is exceeded."""
        return self.excess > MARGINS[self.measure]


def differences(simulator: Runs, kernel: Runs) -> list[Difference]:
    """Return every measure of every network of one controller."""
    return [
        Difference(
            measure,
            place,
            [row[column] for row in simulator[place]],
            [row[column] for row in kernel[place]],
        )
        for place in kernel
        for column, measure in enumerate(MEASURES)
    ]


def bottlenecks(controller: str) -> list[Experiment]:
    """Return sixteen networks of two flows for 20 s; for DCTCP eight, whose queue marks."""
    found = []
    for rate_mbps, delay_ms, products in itertools.product((10, 100), (5, 40), (0.5, 2)):
        packets = max(10, int(rate_mbps * 1e6 * 2e-3 * delay_ms / 12_000 * products))
        for loss in (0, 0.0005):
            qdisc = f"pfifo limit {packets}"
            if controller.endswith("dctcp"):
                least_kb = 15 if products < 1 else 45
                marks = f"min {least_kb}kb max {least_kb}.1kb burst {2 * least_kb // 3 + 1} ecn"
                qdisc = f"red limit 4mb avpkt 1500 {marks}"
            flow = {"from": "server", "to": "home", "start_jitter": "200ms"}
            tcp = {"source": {"kind": "greedy"}, "tcp": {"congestion_control": controller}}
            slow = {"rate": f"{rate_mbps}mbit", "delay": f"{delay_ms}ms", "loss": loss}
            network = {
                "duration": "20s",
                "links": [
                    {"a": "server", "b": "router", "rate": "1gbit"},
                    {"a": "router", "b": "home", "qdisc": qdisc, **slow},
                ],
                "flows": [{"name": f"flow-{number}", **flow, **tcp} for number in (1, 2)],
            }
            found.append(Experiment.read(network))
    return found


@dataclass(frozen=True, slots=True)
class Twins:
    """Our controller compared with Linux's of the same name, both in the simulator.

    Attributes:
        same: Number of networks with the same digest.
        ratios: Our goodput over Linux's, for each network.
    """

    same: int
    ratios: Sequence[float]

    def __str__(self) -> str:
        """Return two cells of the table."""
        ratios = self.ratios
        if self.same == len(ratios):
            return f"{self.same} of {len(ratios)} | 1"
        middle = statistics.median(ratios)
        ends = f"{min(ratios):.3f} to {max(ratios):.3f}"
        return f"{self.same} of {len(ratios)} | {middle:.3f}, {ends}"


def twins(name: str) -> Twins:
    """Run one controller, ours and Linux's.

    Raises:
        RuntimeError: A run failed.
    """
    failures: list[Failure] = []
    sides = [bottlenecks(name), bottlenecks(f"linux:{name}")]
    jobs = [(each, 0) for side in sides for each in side]
    done = dict(run_many(jobs, on_failure=failures.append))
    if failures:
        raise RuntimeError(f"{name}: {failures[0]}")
    count = len(sides[0])
    pairs = [(done[index], done[count + index]) for index in range(count)]
    digests = [(own.meta["digest"], linuxs.meta["digest"]) for own, linuxs in pairs]
    received = [
        [int(run.column("flows", "received_payload_bytes").sum()) for run in pair] for pair in pairs
    ]
    return Twins(sum(a == b for a, b in digests), [own / linuxs for own, linuxs in received])


OUTSIDE: Mapping[tuple[str, str, str], str] = {
    ("bic", "red-10mbit-100ms-2", "retransmitted_pkts"): (
        "three runs are a draw: twenty of the simulator have 27 to 66, and the kernel's lie among"
        " them"
    ),
    ("cdg", "pfifo-half-10mbit-100ms-2", "goodput_mbps"): (
        "CDG backs off at random: twelve runs of the kernel (mean 8.56) and sixty of the simulator"
        " (8.41) differ with p = 0.06"
    ),
    ("cdg", "pfifo-half-10mbit-100ms-2", "queueing_delay_mean_ms"): (
        "the same: means 3.50 and 3.45, p = 0.83"
    ),
    ("scalable", "tbf-10mbit-20ms-1", "retransmitted_pkts"): (
        "each cycle of 0.32 s loses one packet or two: which depends on the tokens at that"
        " instant, and stays so for many cycles"
    ),
    ("vegas", "pfifo-five-10mbit-20ms-8", "retransmitted_pkts"): (
        "three runs are a draw: twenty of the simulator have 0 to 96, median 14, and the kernel's"
        " lie among them"
    ),
}
"""Causes of results outside the margins, by controller, network and measure."""

WHY = {
    "cubic": "the cube root, as above",
    "dctcp": "alpha in real numbers; Linux's are 1/1024",
}
"""Causes of digests that differ from Linux's, by controller."""


def kernel_table(simulator: Mapping[str, Runs], kernel: Mapping[str, Runs]) -> str:
    """Return a row for each controller: the largest excess of each measure over six networks."""
    words = " | ".join(MEASURES.values())
    lines = [f"| controller | {words} | outside |", "| --- |" + " --- |" * (len(MEASURES) + 1)]
    for name in kernel:
        found = differences(simulator[name], kernel[name])
        cells = []
        for measure in MEASURES:
            worst = max(each.excess for each in found if each.measure == measure)
            cells.append(f"{100 * worst:.1f} %" if worst else "0")
        outside = sum(each.is_outside for each in found)
        lines.append(f"| {name} | {' | '.join(cells)} | {outside} of {len(found)} |")
    if missing := sorted(set(NAMES) - set(kernel)):
        lines += ["", f"Still to be run on the kernel: {', '.join(missing)}."]
    lines += ["", "| outside | simulator | kernel | cause |", "| --- | --- | --- | --- |"]
    for (name, place, measure), cause in OUTSIDE.items():
        column = list(MEASURES).index(measure)
        sides = (simulator[name][place], kernel[name][place])
        cells = [", ".join(f"{row[column]:g}" for row in rows) for rows in sides]
        what = f"{name}, {place}: {MEASURES[measure]}"
        lines.append(f"| {what} | {' | '.join(cells)} | {cause} |")
    return "\n".join(lines)


def twins_table(found: Mapping[str, Twins]) -> str:
    """Return a row for each of our controllers."""
    head = "| ours | same digest | goodput over Linux's: median, range | why it differs |"
    rows = (f"| {name} | {each} | {WHY.get(name, '')} |" for name, each in found.items())
    return "\n".join([head, "| --- | --- | --- | --- |", *rows])


def between(text: str, word: str) -> tuple[str, str, str]:
    """Return a page before, between and after the markers of this word.

    Raises:
        ValueError: It has no such markers.
    """
    begin, end = f"<!-- {word} -->\n", f"<!-- end of {word} -->"
    first, last = text.index(begin) + len(begin), text.index(end)
    return text[:first], text[first:last].strip(), text[last:]


def write_tables() -> None:
    """Run the simulator, and write both tables into the page."""
    kernel = read_kept()["runs"]
    tables = {
        "beside the kernel": kernel_table({name: measured(name, "sim") for name in kernel}, kernel),
        "beside linux": twins_table({name: twins(name) for name in TWINS}),
    }
    text = PAGE.read_text(encoding="utf-8")
    for word, table in tables.items():
        before, _, after = between(text, word)
        text = f"{before}{table}\n{after}"
    PAGE.write_text(text, encoding="utf-8")


def main() -> None:
    """Run the named controllers on the kernel, or write the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--kernel", action="store_true", help="run on the kernel, and keep that")
    parser.add_argument("--write", action="store_true", help="write both tables into the page")
    given = parser.parse_args()
    if unknown := set(given.names) - set(NAMES):
        parser.error(f"{', '.join(sorted(unknown))}: allowed are {', '.join(NAMES)}")
    if not (given.kernel or given.write):
        parser.error("--kernel or --write is needed")
    if given.kernel:
        keep_kernels(given.names or NAMES)
    if given.write:
        write_tables()


if __name__ == "__main__":
    main()
