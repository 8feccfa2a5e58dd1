"""The work every peer does, and the line of JSON it reports.

An M/M/1 queue of packets: Poisson arrivals at 220 packets/s, exponential sizes of mean 512 B, a
link of 1 Mbit/s, a buffer without bound. The load is 0.901 and the mean sojourn time
1/(mu - lambda) = 41.4 ms.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ARRIVALS_PER_S = 220.0
MEAN_SIZE_BYTES = 512.0
LINK_BPS = 1e6
SERVICES_PER_S = LINK_BPS / (8 * MEAN_SIZE_BYTES)


def transmission_s(size_bytes: float) -> float:
    """How long the link is busy with a packet."""
    return size_bytes * 8 / LINK_BPS


def asked() -> tuple[int, int]:
    """Number of packets and seed, from the command line."""
    packets, seed = sys.argv[1:3]
    return int(packets), int(seed)


def peak_rss_bytes() -> int:
    """The peak resident size; 0 where there is no /proc.

    ``getrusage`` would give the size of the process that started this one when that was larger.
    """
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    sizes_kib = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(sizes_kib[0]) * 1024 if sizes_kib else 0


@dataclass
class Sojourns:
    """Count and sum of sojourn times: what every peer has to deliver."""

    packets: int = 0
    total_s: float = 0.0
    started_cpu_s: float = field(default_factory=time.process_time)

    def add(self, sojourn_s: float) -> None:
        """One packet has left."""
        self.packets += 1
        self.total_s += sojourn_s

    def report(self, engine: str) -> None:
        """Prints the result; CPU time counts from the construction of this object."""
        cpu_s = time.process_time() - self.started_cpu_s
        line = {
            "engine": engine,
            "packets": self.packets,
            "mean_sojourn_s": self.total_s / self.packets,
            "cpu_s": cpu_s,
            "peak_rss_bytes": peak_rss_bytes(),
        }
        print(json.dumps(line))
