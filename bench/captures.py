"""``make bench``, captures: speed of writing and reading a capture.

One CUBIC flow at 1 Gbit/s, both directions of the bottleneck captured before and after the queue
and where they arrive, on one thread, beside the same run without a capture. Cost is CPU time of
the process, writing to the folder of temporary files included; the faster of a few runs counts.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

from dumbbell.backends import simulate
from dumbbell.formats import read_capture
from dumbbell.spec import Experiment
from dumbbell.tables import Run

GOAL_PPS = 1e6
"""Packets that are to be written in a second of CPU time, simulation and all."""
TOML = """
duration = "{duration:g}s"
[[links]]
a = "sender"
b = "receiver"
rate = "1gbit"
delay = "5ms"
qdisc = "pfifo limit 800"
capture = {capture}
[[flows]]
name = "bulk"
from = "sender"
to = "receiver"
source = {{ kind = "greedy" }}
"""


def experiment(duration_s: float, *, capture: bool) -> Experiment:
    """The flow, captured or not."""
    return Experiment.from_toml(
        TOML.format(duration=duration_s, capture="true" if capture else "false")
    )


def least_cpu_s(work: Callable[[], Run], times: int) -> tuple[float, Run]:
    """Least CPU time of a few runs, and what came of the last."""
    costs = []
    for _ in range(times):
        began = time.process_time()
        done = work()
        costs.append(time.process_time() - began)
    return min(costs), done


def main() -> int:
    """Print the table; status 1 when the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of the runs' length")
    scale, _ = parser.parse_known_args()
    duration_s, times = 4.0 * scale.scale, 3
    plain_s, _ = least_cpu_s(lambda: simulate(experiment(duration_s, capture=False)), times)
    written_s, run = least_cpu_s(lambda: simulate(experiment(duration_s, capture=True)), times)
    path = run.files["capture.pcapng"].path
    read_s, found = least_cpu_s(lambda: read_capture(path), times)
    pkts = found.meta["read"]["pkts"]
    size_mb = path.stat().st_size / 1e6
    rows = [
        ("simulated and written", written_s),
        ("writing alone: less the run without", written_s - plain_s),
        ("read, flows counted by both rules", read_s),
    ]
    print(f"captures: {pkts} packets, {size_mb:.0f} MB, {duration_s:g} s at 1 Gbit/s")
    for name, cost_s in rows:
        print(f"  {name:<38} {cost_s:7.3f} s CPU  {pkts / cost_s / 1e6:6.2f} M packets/s")
    is_reached = pkts / written_s >= GOAL_PPS
    print(f"  goal: {GOAL_PPS / 1e6:g} M packets/s written: {'yes' if is_reached else 'no'}")
    return 0 if is_reached else 1


if __name__ == "__main__":
    sys.exit(main())
