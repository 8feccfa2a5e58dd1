"""The tables of ``docs/cca-bbr3.md``: ``bbr3`` alone, with itself, with ``cubic`` and with ``bbr``.

``python scripts/bbr3_tables.py`` runs each cell five times and prints the tables: means with half
of their 95 % intervals. A buffer is a FIFO; its size is in products of rate and round-trip time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import dumbbell
from dumbbell.metrics.flow import goodput_bps, retransmitted_share
from dumbbell.metrics.queue import mean_wait_s
from dumbbell.spec import Experiment
from dumbbell.stats import student_interval
from dumbbell.tables import Run

REPLICATIONS = 5
RTT_MS = 40
ALONE = (("bbr3", 10), ("bbr3", 100), ("bbr", 10))
"""A controller and the rate of the bottleneck, Mbit/s."""
BUFFERS = (0.25, 0.5, 1, 2, 4, 16)
SHARED_RATE_MBPS = 20
SHARED_BUFFERS = (1, 2, 4, 16)
PAIRS = (("bbr3", "bbr3"), ("bbr3", "cubic"), ("bbr", "cubic"), ("bbr3", "bbr"))
QUEUE = "router->home"
FULL_PACKET_BYTES = 1500

_SPEC = """
duration = "{duration}s"
warm_up = "{warm_up}s"

[[links]]
a = "server"
b = "router"
rate = "10gbit"

[[links]]
a = "router"
b = "home"
delay = "{delay_ms}ms"
forward = {{ rate = "{rate_mbps}mbit", qdisc = "pfifo limit {limit}" }}
"""

_FLOW = """
[[flows]]
name = "{name}"
from = "server"
to = "home"
start_jitter = "1s"
source = {{ kind = "greedy" }}
tcp = {{ congestion_control = "{controller}" }}
"""


@dataclass(frozen=True, slots=True)
class Cell:
    """A network with one flow of each controller.

    Attributes:
        controllers: The controllers, by name.
        rate_mbps: Rate of the bottleneck, Mbit/s.
        buffer: Its buffer in products of rate and round-trip time.
        duration_s: Duration of a run, seconds; the last three quarters are measured.
    """

    controllers: Sequence[str]
    rate_mbps: int
    buffer: float
    duration_s: int

    def experiment(self) -> Experiment:
        """Return the description."""
        product_bytes = self.rate_mbps * 1e6 / 8 * RTT_MS * 1e-3
        text = _SPEC.format(
            duration=self.duration_s,
            warm_up=self.duration_s // 4,
            delay_ms=RTT_MS // 2,
            rate_mbps=self.rate_mbps,
            limit=max(1, round(self.buffer * product_bytes / FULL_PACKET_BYTES)),
        )
        for index, controller in enumerate(self.controllers):
            text += _FLOW.format(name=f"flow-{index}", controller=controller)
        return Experiment.from_toml(text)

    def runs(self) -> list[Run]:
        """Return its replications."""
        experiment = self.experiment()
        jobs = [(experiment, replication) for replication in range(REPLICATIONS)]
        return [run for _, run in dumbbell.run_many(jobs)]


def _with_interval(values: list[float], digits: int) -> str:
    estimate = student_interval(values)
    half = (estimate.high - estimate.low) / 2
    return f"{estimate.value:.{digits}f} ± {half:.{digits}f}"


def _print(
    title: str,
    first: str,
    columns: Mapping[str, tuple[Callable[[Run], float], int]],
    cells: Mapping[str, Cell],
) -> None:
    print(f"{title}\n\n| {first} | {' | '.join(columns)} |")
    print(f"| --- |{' --- |' * len(columns)}")
    for name, cell in cells.items():
        runs = cell.runs()
        values = (
            _with_interval([value(run) for run in runs], digits)
            for value, digits in columns.values()
        )
        print(f"| {name} | {' | '.join(values)} |", flush=True)
    print()


def _alone() -> None:
    for controller, rate_mbps in ALONE:
        columns: Mapping[str, tuple[Callable[[Run], float], int]] = {
            "goodput, Mbit/s": (lambda run: goodput_bps(run, 0) * 1e-6, 2),
            "mean wait, ms": (lambda run: mean_wait_s(run, QUEUE) * 1e3, 2),
            "retransmitted, %": (lambda run: 100 * retransmitted_share(run, 0), 3),
        }
        cells = {f"{buffer:g}": Cell((controller,), rate_mbps, buffer, 60) for buffer in BUFFERS}
        _print(f"{controller} alone, {rate_mbps} Mbit/s", "buffer, products", columns, cells)


def _shared() -> None:
    for pair in PAIRS:
        columns: Mapping[str, tuple[Callable[[Run], float], int]] = {
            "first, Mbit/s": (lambda run: goodput_bps(run, 0) * 1e-6, 2),
            "second, Mbit/s": (lambda run: goodput_bps(run, 1) * 1e-6, 2),
            "mean wait, ms": (lambda run: mean_wait_s(run, QUEUE) * 1e3, 1),
            "retransmitted, first, %": (lambda run: 100 * retransmitted_share(run, 0), 2),
            "retransmitted, second, %": (lambda run: 100 * retransmitted_share(run, 1), 2),
        }
        cells = {
            f"{buffer:g}": Cell(pair, SHARED_RATE_MBPS, buffer, 120) for buffer in SHARED_BUFFERS
        }
        title = f"{pair[0]} and {pair[1]}, {SHARED_RATE_MBPS} Mbit/s"
        _print(title, "buffer, products", columns, cells)


def main() -> None:
    """Print all tables, row by row."""
    _alone()
    _shared()


if __name__ == "__main__":
    main()
