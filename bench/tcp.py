"""``make bench``, TCP: the engine compared with ns-3 and with a minimal dumbbell simulator.

Programs alternate as in the first table and cost is CPU time around the run. A row counts only
when both sides did the same work: goodput within 5 % and the share of packets that the bottleneck
dropped within 1.3 times. (The dumbbell by value has a TCP of its own, simpler than any: there
only the cost of a delivered packet is compared.) ns-3 is what the system has installed: Debian's
is an optimised build with logging compiled in, and one without takes about 0.7 of its time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import fmean, median

import entrants
import tcp_work
from paired import MedianInterval, median_interval, some_pairs
from run import RESULTS, difference, machine
from tcp_work import Work

from dumbbell.backends import run_many
from dumbbell.backends.guard import usable_threads

GOODPUT_TOLERANCE = 0.05
LOSS_FACTOR = 1.3
NS3_GOAL = 120
NS3_GIGABIT_GOAL = 300
NS3 = "ns-3: "
BUFFERS_PKTS = (18, 500)
CAMPAIGN_REPLICATIONS = 10
DELIVERED_PER_S_GOAL = 5e6
FLAT_GOAL = 1.5
SIZE_GOAL = 2.0
BY_VALUE_PACKETS = 2_000_000
BY_VALUE_CASES = ((1, 100, 0.4), (10, 100, 0.4), (100, 1000, 0.4), (1000, 1000, 0.3))
"""Flows, Mbit/s, goal."""
WINDOWS_PKTS = (10, 100, 1000, 10_000)
WINDOW_PACKETS = 4_000_000
SIZE_PACKETS = 2_000_000
BINARIES = entrants.BENCH / "rust" / "target" / "release"


@dataclass(frozen=True)
class Sample:
    """One run, as the program reported it.

    Attributes:
        engine: Who ran.
        delivered_pkts: Sent by the bottleneck.
        dropped_pkts: At the bottleneck.
        goodput_mbps: Payload that receivers had, over the run.
        sojourn_mean_s: At the bottleneck, each program by its own definition.
        cpu_s: Around the run.
        peak_rss_bytes: Of the process.
    """

    engine: str
    delivered_pkts: int
    dropped_pkts: int
    goodput_mbps: float
    sojourn_mean_s: float
    cpu_s: float
    peak_rss_bytes: int

    @property
    def cpu_ns_per_packet(self) -> float:
        """Cost of a delivered packet."""
        return self.cpu_s * 1e9 / self.delivered_pkts


Runner = Callable[[int], Sample]
"""Takes the number of the pair, from 1."""


@dataclass(frozen=True)
class Row:
    """The engine against another on one network, over all pairs."""

    name: str
    goal: float
    ours: list[Sample]
    other: list[Sample]
    is_floor: bool = False
    """Beside a TCP of its own: what a delivered packet costs is compared, whatever was lost."""

    def ratio(self) -> MedianInterval:
        """How many times cheaper our packets are."""
        pairs = zip(self.ours, self.other, strict=True)
        return median_interval([b.cpu_ns_per_packet / a.cpu_ns_per_packet for a, b in pairs])

    def why_not_the_same_work(self) -> str:
        """Empty when both did the same, else what differs."""
        if self.is_floor:
            return ""
        found = []
        goodput = difference(goodput_mbps(self.ours), goodput_mbps(self.other))
        if abs(goodput) > GOODPUT_TOLERANCE:
            found.append(f"goodput {goodput:+.1%}")
        factor = loss_factor(loss(self.ours), loss(self.other))
        if factor > LOSS_FACTOR:
            found.append(f"loss {factor:.2f} times")
        return ", ".join(found)

    def verdict(self) -> str:
        """What the row says about its goal."""
        reason = self.why_not_the_same_work()
        if reason:
            return f"not counted: {reason}"
        ratio = self.ratio()
        if ratio.low >= self.goal:
            return "met"
        return "missed" if ratio.high < self.goal else "open: the interval holds the goal"


def goodput_mbps(samples: Sequence[Sample]) -> float:
    """Mean over the runs."""
    return fmean(sample.goodput_mbps for sample in samples)


def loss(samples: Sequence[Sample]) -> float:
    """Dropped of all that came to the bottleneck, over the runs together."""
    dropped = sum(sample.dropped_pkts for sample in samples)
    return dropped / (dropped + sum(sample.delivered_pkts for sample in samples))


def loss_factor(ours: float, other: float) -> float:
    """How many times the larger is the smaller; 1 when both are 0."""
    small, large = sorted((ours, other))
    if large == 0:
        return 1.0
    return large / small if small else float("inf")


def sample_of(command: Sequence[str], given: str = "") -> Sample:
    """Runs a program and reads its line."""
    run = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{run.stderr}")
    line = json.loads(run.stdout)
    return Sample(**{field.name: line[field.name] for field in fields(Sample)})


def engine(work: Work) -> Runner:
    """Ours; each pair is a replication."""
    resolved, binary = work.experiment.resolved_json(), str(BINARIES / "experiment")
    return lambda pair: sample_of((binary, str(work.queue), str(pair)), resolved)


def ns3(binary: Path, *words: float | str) -> Runner:
    """ns-3: the network, its duration, and what comes after the seed."""
    network, duration, *rest = (str(word) for word in words)
    return lambda pair: sample_of((str(binary), network, duration, str(pair), *rest))


def compare(
    name: str, goal: float, sides: tuple[Runner, Runner], pairs: int, *, is_floor: bool = False
) -> Row:
    """Runs both, the other one first in every second pair."""
    print(f"running: {name} ...", flush=True)
    samples: tuple[list[Sample], list[Sample]] = ([], [])
    for pair in range(1, pairs + 1):
        for side in (0, 1) if pair % 2 else (1, 0):
            samples[side].append(sides[side](pair))
    return Row(name, goal, *samples, is_floor)


def beside_ns3(binary: Path, pairs: int, scale: float) -> list[Row]:
    """The networks that ns-3 runs too."""
    short, medium, long = (seconds * scale for seconds in (10, 15, 150))
    cases: list[tuple[Work, float, tuple[float | str, ...]]] = [
        (tcp_work.policing(medium), NS3_GOAL, ("policing", medium)),
        # In 15 s most drops are of one slow start; here hardly any.
        (tcp_work.policing(long), NS3_GOAL, ("policing", long)),
        (tcp_work.bulk(100, short), NS3_GOAL, ("bulk", short, 100)),
        (tcp_work.bulk(1000, short), NS3_GIGABIT_GOAL, ("bulk", short, 1000)),
    ]
    cases += [
        (tcp_work.buffer_sizing(limit, long), NS3_GOAL, ("buffer-sizing", long, limit))
        for limit in BUFFERS_PKTS
    ]
    return [
        compare(f"{NS3}{work.name}", goal, (engine(work), ns3(binary, *words)), pairs)
        for work, goal, words in cases
    ]


def beside_by_value(pairs: int, scale: float) -> list[Row]:
    """The dumbbell with nothing around it."""
    packets = int(BY_VALUE_PACKETS * scale)
    rows = []
    for flows, rate_mbps, goal in BY_VALUE_CASES:
        work = tcp_work.by_value(flows, rate_mbps, packets)
        words = (str(BINARIES / "by_value"), str(flows), str(rate_mbps), str(packets))
        sides = (engine(work), lambda _, words=words: sample_of(words))
        name = f"by value: {work.name}"
        rows.append(compare(name, goal, sides, pairs, is_floor=True))
    return rows


def table(rows: Sequence[Row]) -> str:
    """The rows as aligned text."""
    head = ("TCP beside", "runs", "delivered ours/other", "goodput Mbit/s", "loss %",
            "CPU ns/packet", "ratio, median [interval]", "goal", "")  # fmt: skip
    lines = [head, *(cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    texts = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in lines]
    return "\n".join(text.rstrip() for text in texts)


def cells(row: Row) -> tuple[str, ...]:
    """One line of the table."""
    sides = (row.ours, row.other)
    delivered, goodput, lost, cost = (
        [sum(s.delivered_pkts for s in side) // len(side) for side in sides],
        [goodput_mbps(side) for side in sides],
        [100 * loss(side) for side in sides],
        [median(s.cpu_ns_per_packet for s in side) for side in sides],
    )
    return (
        row.name,
        str(len(row.ours)),
        f"{delivered[0]:,} / {delivered[1]:,}",
        f"{goodput[0]:.2f} / {goodput[1]:.2f}",
        f"{lost[0]:.3f} / {lost[1]:.3f}",
        f"{cost[0]:.0f} / {cost[1]:,.0f}",
        str(row.ratio()),
        f">= {row.goal:g}",
        row.verdict(),
    )


def cost_by_window(rounds: int, scale: float) -> dict[int, float]:
    """Bandwidth-delay product in packets to CPU nanoseconds a packet, the median of the rounds."""
    print("running: windows ...", flush=True)
    runners = {
        window: engine(tcp_work.window(window, int(WINDOW_PACKETS * scale)))
        for window in WINDOWS_PKTS
    }
    samples: dict[int, list[float]] = {window: [] for window in WINDOWS_PKTS}
    for number in range(1, rounds + 1):
        for window, runner in runners.items():
            samples[window].append(runner(number).cpu_ns_per_packet)
    return {window: median(values) for window, values in samples.items()}


def window_line(costs: dict[int, float]) -> tuple[str, bool]:
    """Whether a packet costs the same whatever the window."""
    factor = max(costs.values()) / min(costs.values())
    flat = factor <= FLAT_GOAL
    each = ", ".join(f"{window:,}: {cost:.0f}" for window, cost in costs.items())
    verdict = "met" if flat else "missed"
    return f"CPU ns/packet by window: {each}; {factor:.2f} times, goal {FLAT_GOAL}: {verdict}", flat


@dataclass(frozen=True)
class Size:
    """What a packet costs on a large network beside a small one, the medians of the rounds.

    Attributes:
        small: Name of the small one.
        large: Name of the large one.
        small_ns: CPU nanoseconds a packet of the small one.
        large_ns: And of the large one.
        goal: Times at most, or None where there is none.
    """

    small: str
    large: str
    small_ns: float
    large_ns: float
    goal: float | None

    @property
    def factor(self) -> float:
        """How many times dearer a packet is on the large one."""
        return self.large_ns / self.small_ns

    @property
    def is_missed(self) -> bool:
        """Whether there is a goal, and it is not reached."""
        return self.goal is not None and self.factor > self.goal

    def __str__(self) -> str:
        """The line."""
        costs = f"{self.small} {self.small_ns:.0f}, {self.large} {self.large_ns:.0f}"
        line = f"CPU ns/packet: {costs}, {self.factor:.2f} times"
        if self.goal is None:
            return line
        return f"{line}, goal {self.goal:.1f}: {'missed' if self.is_missed else 'met'}"


def sizes(rounds: int, scale: float) -> list[Size]:
    """What a packet costs among many flows, hosts and links, beside few of them."""
    print("running: many flows, many hosts, three links ...", flush=True)
    packets = int(SIZE_PACKETS * scale)
    pairs: list[tuple[Work, Work, float | None]] = [
        (tcp_work.crowd(10, packets), tcp_work.crowd(10_000, packets), SIZE_GOAL),
        (tcp_work.tree(2, packets), tcp_work.tree(10, packets), SIZE_GOAL),
        (tcp_work.rush(10, packets), tcp_work.rush(10_000, packets), None),
    ]
    # Hops beside the bottleneck, which statistics apart do nothing.
    pairs += [(tcp_work.hops(n, 1, packets), tcp_work.hops(n, 3, packets), None) for n in (1, 100)]
    found = []
    for small, large, goal in pairs:
        costs = [
            median(engine(work)(number).cpu_ns_per_packet for number in range(1, rounds + 1))
            for work in (small, large)
        ]
        found.append(Size(small.name, large.name, costs[0], costs[1], goal))
    return found


def rate_lines(rows: Sequence[Row], rounds: int, scale: float) -> list[str]:
    """Delivered packets a second of CPU: of the dumbbells, and of a figure's worth of flows."""
    best = max(1e9 / median(s.cpu_ns_per_packet for s in row.ours) for row in rows)
    verdict = "met" if best >= DELIVERED_PER_S_GOAL else "missed"
    runner = engine(tcp_work.rrul(60 * scale))
    print("running: RRUL ...", flush=True)
    rrul = median(runner(number).cpu_ns_per_packet for number in range(1, rounds + 1))
    return [
        f"delivered packets/s, most of the dumbbells: {best / 1e6:.2f} M,"
        f" goal {DELIVERED_PER_S_GOAL / 1e6:g} M: {verdict}",
        f"RRUL, 8 CUBIC flows and 2 pings over fq_codel: {1e3 / rrul:.2f} M packets/s one way",
    ]


def campaign_ns_per_packet(work: Work, replications: int) -> float:
    """Wall time of a delivered packet when replications are run as a study runs them.

    By the module that Python loads, on one thread a processor, results gathered as tables.
    """
    experiments = [(work.experiment, number) for number in range(1, replications + 1)]
    began = time.perf_counter()
    delivered = sum(
        int(run.column("queues", "departed_pkts")[work.queue]) for _, run in run_many(experiments)
    )
    return (time.perf_counter() - began) * 1e9 / delivered


def campaign_line(row: Row, work: Work, replications: int) -> str:
    """How long one waits for a campaign, beside one run of the other simulator after another."""
    print(f"running: {replications} replications of {work.name} ...", flush=True)
    ours = campaign_ns_per_packet(work, replications)
    other = median(sample.cpu_ns_per_packet for sample in row.other)
    verdict = "met" if other / ours >= NS3_GOAL else "missed"
    return (
        f"{work.name}: {replications} replications on {usable_threads(0)} threads take"
        f" {ours:.0f} ns of wall time a packet, {other / ours:.1f} times less than runs of ns-3"
        f" one by one, goal {NS3_GOAL}: {verdict}"
    )


def write(rows: Sequence[Row], notes: Sequence[str]) -> Path:
    """Everything measured, as JSON."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "tcp.json"
    found = [
        {**asdict(row), "ratio": asdict(row.ratio()), "verdict": row.verdict()} for row in rows
    ]
    content = {"machine": machine(), "rows": found, "notes": list(notes)}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--tcp-pairs", type=some_pairs, default=3, help="interleaved pairs beside ns-3"
    )
    parser.add_argument(
        "--pairs", type=some_pairs, default=9, help="interleaved pairs of other rows"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="of the durations")
    parser.add_argument("--check", action="store_true", help="status 1 when a goal is missed")
    return parser.parse_known_args()[0]


def main() -> int:
    """Builds, runs, prints."""
    given = arguments()
    entrants.build_own()
    binary, missing = entrants.ns3_program("tcp_ns3", entrants.NS3_TCP_LIBRARIES)
    if missing:
        print(f"skipped: ns-3: {missing}")
    floor = beside_by_value(given.pairs, given.scale)
    windows, flat = window_line(cost_by_window(given.pairs, given.scale))
    notes = [*rate_lines(floor, given.pairs, given.scale), windows]
    sizes_found = sizes(given.tcp_pairs, given.scale)
    notes += map(str, sizes_found)
    rows = [] if missing else beside_ns3(binary, given.tcp_pairs, given.scale)
    by_name = {row.name: row for row in rows}
    for limit in BUFFERS_PKTS:
        work = tcp_work.buffer_sizing(limit, 150 * given.scale)
        if row := by_name.get(f"{NS3}{work.name}"):
            notes.append(campaign_line(row, work, CAMPAIGN_REPLICATIONS))
    rows += floor
    print("\n" + table(rows) + "\n\n" + "\n".join(notes))
    print(f"load average {os.getloadavg()[0]:.1f}; written: {write(rows, notes)}")
    missed = not flat or any(size.is_missed for size in sizes_found)
    missed = missed or any(row.verdict() == "missed" for row in rows)
    return 1 if given.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
