"""``make bench``, the study pie-rrul: its cost compared with ten flows over the dumbbell network.

Seven settings of PIE, three scenarios, five replications of 70 s: eight TCP flows, four latency
flows, and what the scenario adds. The study's router has a driver's ring, which is a hop more for
every packet of the uploads; a second row is the network that the source printed, without it. Cost
is CPU time around each run, with its tables and digest. A
packet is a full segment whose payload a receiver got, both ways together; acknowledgements and
probes are the work around it, as in the dumbbell's figure.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median

import entrants
import tcp
import tcp_work
from run import RESULTS, machine
from tcp_work import Work

from dumbbell.studies.pie_rrul import arms, published

GOAL = 0.7
TEN_FLOWS_PACKETS = 2_000_000
REPLICATIONS = 5


@dataclass(frozen=True)
class Study:
    """What the study cost.

    Attributes:
        name: For the row.
        runs: How many.
        cpu_s: Of all of them.
        packets: Delivered by all of them.
        ten_flows: Packets a CPU second of the dumbbell with ten flows.
    """

    name: str
    runs: int
    cpu_s: float
    packets: float
    ten_flows: float

    @property
    def packets_per_s(self) -> float:
        """Packets a CPU second."""
        return self.packets / self.cpu_s

    @property
    def ratio(self) -> float:
        """Of the dumbbell's figure."""
        return self.packets_per_s / self.ten_flows

    @property
    def verdict(self) -> str:
        """What it says about the goal."""
        return "met" if self.ratio >= GOAL else "missed"

    def __str__(self) -> str:
        """The row."""
        return (
            f"pie-rrul, {self.name}, {self.runs} runs: {self.cpu_s:.1f} CPU s, "
            f"{self.packets / 1e6:.1f} M packets, {self.packets_per_s / 1e6:.2f} M/s; "
            f"ten flows of the dumbbell {self.ten_flows / 1e6:.2f} M/s: "
            f"{self.ratio:.2f}, goal {GOAL:g}: {self.verdict}"
        )


def works(length_s: int, ring_bytes: int = arms.RING_BYTES) -> Iterator[Work]:
    """The study's experiments, with PIE of the kernel of the time."""
    test = arms.rrul(length_s)
    for scenario in arms.SCENARIOS:
        for setting in arms.SETTINGS:
            experiment = arms.experiment(
                setting.qdisc(), scenario, test=test, ring_bytes=ring_bytes
            )
            name = f"{scenario}-{setting.name}"
            yield Work(name, experiment, arms.queue_name(ring_bytes))


def packets(goodput_mbps: float, duration_s: float) -> float:
    """Full segments in a goodput over a run's time."""
    return goodput_mbps * 1e6 * duration_s / (8 * published.PAYLOAD_BYTES)


def measure(name: str, studied: Sequence[Work], replications: int, ten_flows_packets: int) -> Study:
    """Runs everything; the dumbbell once after each setting, so that both see the same machine."""
    ten = tcp.engine(tcp_work.by_value(10, 100, ten_flows_packets))
    beside: list[float] = []
    cpu_s = delivered = 0.0
    runs = 0
    for work in studied:
        print(f"running: {work.name} ...", flush=True)
        runner = tcp.engine(work)
        duration_s = work.experiment.resolved()["duration_ns"] / 1e9
        for replication in range(1, replications + 1):
            sample = runner(replication)
            cpu_s += sample.cpu_s
            delivered += packets(sample.goodput_mbps, duration_s)
            runs += 1
        beside.append(ten(1).cpu_ns_per_packet)
    return Study(name, runs, cpu_s, delivered, 1e9 / median(beside))


def main(words: Sequence[str] | None = None) -> int:
    """Builds, runs, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scale", type=float, default=1.0, help="of the durations")
    parser.add_argument("--replications", type=int, default=REPLICATIONS, help="of each setting")
    parser.add_argument("--check", action="store_true", help="status 1 when the goal is missed")
    given = parser.parse_known_args(words)[0]
    entrants.build_own()
    length_s = max(5, round(published.LENGTH_S * given.scale))
    ten_flows = int(TEN_FLOWS_PACKETS * given.scale)
    studies = [
        measure("with the ring", list(works(length_s)), given.replications, ten_flows),
        measure("as printed", list(works(length_s, 0)), 1, ten_flows),
    ]
    for study in studies:
        print(study)
    print(f"load average {os.getloadavg()[0]:.1f}")
    RESULTS.mkdir(exist_ok=True)
    content = {
        "machine": machine(),
        "rows": [
            {**asdict(study), "ratio": study.ratio, "verdict": study.verdict} for study in studies
        ],
    }
    path = RESULTS / "rrul.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    missed = any(study.verdict == "missed" for study in studies)
    return 1 if given.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
