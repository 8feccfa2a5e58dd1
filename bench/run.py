"""``make bench``: the engine and other simulators on the same work, one table out.

Two programs are compared in interleaved pairs (A B, B A, A B, ...), so that what else the
computer does weighs on both. Cost is CPU time, user and system, around the run itself: start-up
and imports do not count. A ratio is the other's CPU time per delivered packet over ours; the
median of the pairs' ratios is given with an order-statistic interval. A row counts only when
both sides delivered the same work: packets and mean sojourn time within 5 %.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import entrants
from paired import MedianInterval, median_interval, some_pairs

SAME_WORK_TOLERANCE = 0.05
LINDLEY_TARGET = 1 / 8
LINDLEY_PACKETS = 10_000_000
MEMORY_PACKETS = (1_000_000, 10_000_000)
# More per packet than this would be a record of each.
FLAT_BYTES_PER_PACKET = 0.1
THEORY_S = 1 / (1e6 / (8 * 512) - 220)
RESULTS = entrants.BENCH / "results"


@dataclass(frozen=True)
class Sample:
    """One run, as the program reported it."""

    engine: str
    packets: int
    mean_sojourn_s: float
    cpu_s: float
    peak_rss_bytes: int

    @property
    def cpu_ns_per_packet(self) -> float:
        """Cost of a delivered packet."""
        return self.cpu_s * 1e9 / self.packets


@dataclass(frozen=True)
class Row:
    """The engine against one other, over all pairs."""

    name: str
    target: float | None
    note: str
    ours: list[Sample]
    other: list[Sample]

    def ratio(self) -> MedianInterval:
        """How many times cheaper our packets are."""
        pairs = zip(self.ours, self.other, strict=True)
        return median_interval([b.cpu_ns_per_packet / a.cpu_ns_per_packet for a, b in pairs])

    def why_not_the_same_work(self) -> str:
        """Empty when both delivered the same, else what differs."""
        packets = difference(total_packets(self.ours), total_packets(self.other))
        sojourn = difference(pooled_mean_s(self.ours), pooled_mean_s(self.other))
        found = [("packets", packets), ("mean sojourn", sojourn)]
        return ", ".join(f"{what} {by:+.1%}" for what, by in found if abs(by) > SAME_WORK_TOLERANCE)

    def verdict(self) -> str:
        """What the row says about its target."""
        reason = self.why_not_the_same_work()
        if reason:
            return f"not counted: {reason}"
        if self.target is None:
            return "-"
        ratio = self.ratio()
        if ratio.low >= self.target:
            return "met"
        return "missed" if ratio.high < self.target else "open: the interval holds the target"


def difference(ours: float, other: float) -> float:
    """Of the other from ours, relative to ours."""
    return (other - ours) / ours


def total_packets(samples: list[Sample]) -> int:
    """Delivered in all runs."""
    return sum(sample.packets for sample in samples)


def pooled_mean_s(samples: list[Sample]) -> float:
    """Mean sojourn over the packets of all runs: one run's mean is noise of several per cent."""
    total = sum(sample.mean_sojourn_s * sample.packets for sample in samples)
    return total / total_packets(samples)


def samples_of(command: tuple[str, ...], *arguments: int | str) -> list[Sample]:
    """Runs a program and reads its lines."""
    words = [*command, *(str(argument) for argument in arguments)]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{' '.join(words)} failed:\n{run.stderr}")
    return [Sample(**json.loads(line)) for line in run.stdout.splitlines()]


def run_engine(packets: int, seed: int) -> Sample:
    """One run of ours."""
    return samples_of((str(entrants.OWN_BINARY), "engine"), packets, seed)[0]


def against_lindley(pairs: int, scale: float) -> Row:
    """Ours against the arithmetic floor, alternating in one process."""
    binary = str(entrants.OWN_BINARY)
    samples = samples_of((binary, "pairs"), int(LINDLEY_PACKETS * scale), 1, pairs)
    note = "same draws: the arithmetic floor, not a simulator"
    return Row("Lindley loop (Rust)", LINDLEY_TARGET, note, samples[::2], samples[1::2])


def against_peer(peer: entrants.Peer, pairs: int, scale: float) -> Row:
    """Ours against a program of its own."""
    packets = int(peer.packets * scale)
    ours, other = [], []
    for seed in range(1, pairs + 1):
        if seed % 2:
            ours.append(run_engine(packets, seed))
            other += samples_of(peer.command, packets, seed)
        else:
            other += samples_of(peer.command, packets, seed)
            ours.append(run_engine(packets, seed))
    return Row(other[0].engine, peer.target, peer.note, ours, other)


def table(rows: list[Row]) -> str:
    """The rows as aligned text."""
    head = ("against", "runs", "packets ours/other", "mean sojourn ms", "CPU ns/packet",
            "ratio, median [95 %]", "target", "")  # fmt: skip
    lines = [head, *(cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    texts = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in lines]
    return "\n".join(text.rstrip() for text in texts)


def cells(row: Row) -> tuple[str, ...]:
    """One line of the table."""
    ours_ns, other_ns = (
        median_interval([sample.cpu_ns_per_packet for sample in side]).median
        for side in (row.ours, row.other)
    )
    return (
        row.name,
        str(len(row.ours)),
        f"{total_packets(row.ours):,} / {total_packets(row.other):,}",
        f"{pooled_mean_s(row.ours) * 1e3:.2f} / {pooled_mean_s(row.other) * 1e3:.2f}",
        f"{ours_ns:.1f} / {other_ns:.1f}",
        str(row.ratio()),
        "-" if row.target is None else f">= {row.target:g}",
        row.verdict(),
    )


def memory(scale: float) -> tuple[str, bool]:
    """Peak memory of two runs of different length in processes of their own; whether it is flat."""
    few, many = (run_engine(int(packets * scale), 1) for packets in MEMORY_PACKETS)
    grown = (many.peak_rss_bytes - few.peak_rss_bytes) / (many.packets - few.packets)
    flat = grown < FLAT_BYTES_PER_PACKET
    sizes = ", ".join(
        f"{s.packets:,} packets {s.peak_rss_bytes / 2**20:.1f} MiB" for s in (few, many)
    )
    return (
        f"peak memory of ours: {sizes}: {'flat' if flat else f'grows {grown:.1f} B/packet'}",
        flat,
    )


def machine() -> dict[str, object]:
    """Where this was measured."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "python": platform.python_version(),
        "built_by_a_profile": entrants.PROFILE_VARIABLE in os.environ,
    }


def write(rows: list[Row], skipped: list[entrants.Peer], memory_text: str) -> Path:
    """Everything measured, as JSON."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "mm1.json"
    content = {
        "machine": machine(),
        "rows": [
            {**asdict(row), "ratio": asdict(row.ratio()), "verdict": row.verdict()} for row in rows
        ],
        "skipped": {peer.name: peer.missing for peer in skipped},
        "memory": memory_text,
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=some_pairs, default=9, help="interleaved pairs a row")
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of packets")
    parser.add_argument("--check", action="store_true", help="status 1 when a target is missed")
    return parser.parse_known_args()[0]


def main() -> int:
    """Builds, runs, prints."""
    given = arguments()
    entrants.build_own()
    there = entrants.peers()
    skipped = [peer for peer in there if peer.missing]
    print(f"M/M/1: 220 packets/s, 512 B exponential, 1 Mbit/s; theory {THEORY_S * 1e3:.2f} ms")
    for peer in skipped:
        print(f"skipped: {peer.name}: {peer.missing}")
    rows = [against_lindley(given.pairs, given.scale)]
    for peer in there:
        if not peer.missing:
            print(f"running: {peer.name} ...", flush=True)
            rows.append(against_peer(peer, given.pairs, given.scale))
    memory_text, flat = memory(given.scale)
    print("\n" + table(rows) + "\n\n" + memory_text)
    print("\n".join(f"{row.name}: {row.note}" for row in rows if row.note))
    print(f"written: {write(rows, skipped, memory_text)}")
    missed = not flat or any(row.verdict() == "missed" for row in rows)
    return 1 if given.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
