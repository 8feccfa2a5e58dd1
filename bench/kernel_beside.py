"""``make bench``, the real kernel: the networks of `tcp.py` by guests, ns-3 and the simulator.

The guest runs with ``guest = "module"``: its kernel makes the traffic. Kernel and simulator get the
same description, with Linux's TCP; ns-3 runs its own program with its own TCP, whose timers and
recovery differ. So what a delivered packet costs is compared, whatever was lost, and goodput and
loss of all three are shown. The cost of a guest is the CPU time of its kernel and its processes
from boot to end; of ns-3, `Simulator::Run` alone. The last line says what a start of a guest takes
of it, and the ratios without that.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import entrants
import tcp
import tcp_work
from paired import MedianInterval, median_interval, pairs_or_none
from run import RESULTS, machine
from tcp_work import Work
from virtual_kernel import kernel_to_time, tables_of_guest

from dumbbell.backends import simulate
from dumbbell.spec.fields import time_ns
from dumbbell.spec.resolved import GuestKind

GOAL = 5.0
"""How many times cheaper a packet is to be on the kernel than on ns-3."""
NS3 = "ns-3"
SIMULATOR = "simulator"
START = "10ms"
"""Virtual time of a run that does nothing but start."""


@dataclass(frozen=True)
class Sample:
    """One run.

    Attributes:
        delivered_pkts: Sent by the bottleneck.
        dropped_pkts: At the bottleneck.
        goodput_mbps: Payload that receivers had, over the run.
        cpu_s: CPU time.
        start_cpu_s: Of a run of `START` on the same network, timed just before; 0 where a start
            is not part of `cpu_s`.
    """

    delivered_pkts: int
    dropped_pkts: int
    goodput_mbps: float
    cpu_s: float
    start_cpu_s: float = 0.0

    @property
    def cpu_us_per_packet(self) -> float:
        """Cost of a delivered packet."""
        return 1e6 * self.cpu_s / self.delivered_pkts

    @property
    def cpu_us_per_packet_without_start(self) -> float:
        """The same without the start."""
        return 1e6 * (self.cpu_s - self.start_cpu_s) / self.delivered_pkts


@dataclass(frozen=True)
class Row:
    """A network, by the kernel and by the others."""

    name: str
    kernel: list[Sample]
    others: dict[str, list[Sample]]

    def ratio(self, other: str, *, with_start: bool = True) -> MedianInterval:
        """CPU time of a packet by the other over the kernel's."""
        kernel = [
            sample.cpu_us_per_packet if with_start else sample.cpu_us_per_packet_without_start
            for sample in self.kernel
        ]
        pairs = zip(kernel, self.others[other], strict=True)
        return median_interval([theirs.cpu_us_per_packet / ours for ours, theirs in pairs])

    def verdict(self, other: str) -> str:
        """Whether the kernel reaches its goal beside ns-3."""
        if other != NS3:
            return ""
        ratio = self.ratio(other)
        if ratio.low >= GOAL:
            return "met"
        return "missed" if ratio.high < GOAL else "open: the interval holds the goal"


def cases(scale: float) -> list[tuple[Work, tuple[float | str, ...]]]:
    """The networks, and what `tcp_ns3` is asked for."""
    short, medium = 10 * scale, 150 * scale
    found: list[tuple[Work, tuple[float | str, ...]]] = [
        (tcp_work.policing(medium), ("policing", medium)),
        (tcp_work.bulk(100, short), ("bulk", short, 100)),
    ]
    # The trees' runs take minutes of ns-3's time: a third of them is enough for a cost.
    found += [
        (tcp_work.buffer_sizing(limit, medium / 3), ("buffer-sizing", medium / 3, limit))
        for limit in tcp.BUFFERS_PKTS
    ]
    return [(tcp_work.on_linux(work), words) for work, words in found]


def by_kernel(kernel: Path, work: Work, pair: int) -> Sample:
    """A guest; its module is compiled beforehand."""
    experiment = work.experiment.with_(guest=GuestKind.MODULE, seed=pair)
    _, start = tables_of_guest(kernel, experiment.with_(duration=START, sample_interval=START))
    tables, ended = tables_of_guest(kernel, experiment)
    return _sample(work, tables, ended.cpu_s, start.cpu_s)


def by_simulator(work: Work, pair: int) -> Sample:
    """The engine, in this process."""
    experiment = work.experiment.with_(seed=pair)
    began = time.process_time()
    run = simulate(experiment)
    return _sample(work, run.tables, time.process_time() - began)


def _sample(
    work: Work, tables: Mapping[str, Any], cpu_s: float, start_cpu_s: float = 0.0
) -> Sample:
    queues = tables["queues"]
    names = ("dropped_overlimit_pkts", "dropped_aqm_pkts")
    duration_s = time_ns(work.experiment.duration) / 1e9
    return Sample(
        delivered_pkts=int(queues["departed_pkts"][work.queue]),
        dropped_pkts=sum(int(queues[name][work.queue]) for name in names),
        goodput_mbps=8e-6 * float(sum(tables["flows"]["received_payload_bytes"])) / duration_s,
        cpu_s=cpu_s,
        start_cpu_s=start_cpu_s,
    )


def by_ns3(binary: Path, words: tuple[float | str, ...], pair: int) -> Sample:
    """Its own program."""
    found = tcp.ns3(binary, *words)(pair)
    return Sample(found.delivered_pkts, found.dropped_pkts, found.goodput_mbps, found.cpu_s)


def measured(kernel: Path, ns3: Path | None, pairs: int, scale: float) -> list[Row]:
    """Runs of all, the kernel last in every second pair."""
    rows = []
    for work, words in cases(scale):
        print(f"running: {work.name} on the kernel ...", flush=True)
        sides: dict[str, Callable[[int], Sample]] = {
            "": partial(by_kernel, kernel, work),
            SIMULATOR: partial(by_simulator, work),
        }
        if ns3 is not None:
            sides[NS3] = partial(by_ns3, ns3, words)
        samples: dict[str, list[Sample]] = {name: [] for name in sides}
        for pair in range(1, pairs + 1):
            for name in list(sides) if pair % 2 else list(sides)[::-1]:
                samples[name].append(sides[name](pair))
        rows.append(Row(work.name, samples.pop(""), samples))
    return rows


def table(rows: Sequence[Row]) -> str:
    """The rows as aligned text."""
    head = ("kernel beside", "runs", "delivered", "goodput Mbit/s", "loss %", "CPU us/packet",
            "over the kernel's, median [95 %]", "without its start", "goal", "")  # fmt: skip
    lines: list[tuple[str, ...]] = [head]
    for row in rows:
        lines.append((row.name, *_cells(row.kernel), "", "", "", ""))
        for other, samples in row.others.items():
            goal = f">= {GOAL:g}" if other == NS3 else ""
            without = str(row.ratio(other, with_start=False))
            ratios = (str(row.ratio(other)), without, goal, row.verdict(other))
            lines.append((f"  {other}", *_cells(samples), *ratios))
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    texts = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in lines]
    return "\n".join(text.rstrip() for text in texts)


def _cells(samples: Sequence[Sample]) -> tuple[str, ...]:
    delivered = sum(sample.delivered_pkts for sample in samples)
    dropped = sum(sample.dropped_pkts for sample in samples)
    goodput = sum(sample.goodput_mbps for sample in samples) / len(samples)
    cost = median(sample.cpu_us_per_packet for sample in samples)
    loss = 100 * dropped / (dropped + delivered)
    mean = delivered // len(samples)
    return (str(len(samples)), f"{mean:,}", f"{goodput:.2f}", f"{loss:.3f}", f"{cost:.3g}")


def start_line(rows: Sequence[Row]) -> str:
    """What starts cost."""
    each = ", ".join(
        f"{row.name} {median(sample.start_cpu_s for sample in row.kernel):.2f} s" for row in rows
    )
    return f"CPU time of a start, median: {each}"


def main() -> int:
    """Runs, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--kernel-pairs", type=pairs_or_none, default=3, help="interleaved runs; 0 for none"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="of the durations")
    parser.add_argument("--check", action="store_true", help="status 1 when the goal is missed")
    given, _ = parser.parse_known_args()
    print("\nThe kernel in virtual time beside ns-3 and the simulator")
    kernel = kernel_to_time(given.kernel_pairs)
    if kernel is None:
        return 0
    binary, missing = entrants.ns3_program("tcp_ns3", entrants.NS3_TCP_LIBRARIES)
    if missing:
        print(f"skipped: ns-3: {missing}")
    rows = measured(kernel.path, None if missing else binary, given.kernel_pairs, given.scale)
    print(table(rows))
    print(start_line(rows))
    print(f"written: {write(rows, kernel.sha256)}")
    missed = any(row.verdict(NS3) == "missed" for row in rows if NS3 in row.others)
    return 1 if given.check and missed else 0


def write(rows: Sequence[Row], kernel_sha256: str) -> Path:
    """Everything measured, as JSON."""
    found = [
        {**asdict(row), "ratios": {name: asdict(row.ratio(name)) for name in row.others}}
        for row in rows
    ]
    content = {"machine": machine(), "kernel_sha256": kernel_sha256, "rows": found}
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "kernel-beside.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    sys.exit(main())
