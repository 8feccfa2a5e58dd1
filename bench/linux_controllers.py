"""``make bench``, controllers of Linux: its C files compared with the built-in controllers.

Both do the same work to the bit, so what differs is the way into a shared object and the fields of
the kernel's structures. Cost is CPU time around the run, in alternating pairs.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Sequence

from paired import MedianInterval, median_interval, some_pairs

from dumbbell import _engine
from dumbbell.backends.native import SourceError, built, kernel_source, objects_of
from dumbbell.spec import Experiment
from dumbbell.spec.linux import keep, name_built

MOST_RATIO = 1.3
"""Goal: CPU time of a packet with the kernel's file over ours."""
NAMES = ("cubic", "bbr")
DURATION_S = 6.0
_TOML = """
duration = "{duration}s"
[[links]]
a = "server"
b = "home"
rate = "1gbit"
delay = "10ms"
qdisc = "pfifo limit 800"
[[flows]]
name = "download"
from = "server"
to = "home"
source = {{ kind = "greedy" }}
tcp = {{ congestion_control = "{name}" }}
"""


def experiment(name: str, duration_s: float) -> Experiment:
    """A flow that fills a gigabit, with this controller."""
    return Experiment.from_toml(_TOML.format(name=name, duration=duration_s))


def cost(described: Experiment) -> tuple[float, str]:
    """CPU time of a run in this process, seconds, and its digest."""
    text = described.resolved_json()
    objects = objects_of(text)
    since_s = time.process_time()
    stream = _engine.simulate([(text, 0, None)], threads=1, memory_bytes=None, controllers=objects)
    while (completed := stream.poll(1.0)) is None:
        pass
    return time.process_time() - since_s, completed.digest


def ratios(name: str, pairs: int, duration_s: float) -> MedianInterval:
    """The kernel's over ours, of a controller of that name."""
    sides = (experiment(name, duration_s), experiment(f"linux:{name}", duration_s))
    found = []
    for pair in range(pairs):
        costs: list[tuple[float, str]] = [(0.0, ""), (0.0, "")]
        for side in (0, 1) if pair % 2 else (1, 0):
            costs[side] = cost(sides[side])
        (own_s, own), (kernels_s, kernels) = costs
        if own != kernels:
            sys.exit(f"linux:{name} did other work than {name}: the digests differ")
        found.append(kernels_s / own_s)
    return median_interval(found)


def main(given: Sequence[str]) -> int:
    """Prints the table; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=some_pairs, default=9)
    parser.add_argument("--scale", type=float, default=1.0, help="of the work; 1 for the table")
    options, _ = parser.parse_known_args(given)
    if shutil.which("cc") is None:
        print("controllers of Linux: left out, no C compiler")
        return 0
    try:
        source = kernel_source(None)
    except SourceError as error:
        print(f"controllers of Linux: left out, {error}")
        return 0
    kept = [
        keep(files, source.version, str(source.place))
        for files in source.controllers()
        if files.name in NAMES
    ]
    for each in kept:
        built(each.sha256)
    name_built(kept)
    is_missed = False
    for name in NAMES:
        ratio = ratios(name, options.pairs, DURATION_S * options.scale)
        is_missed |= ratio.low > MOST_RATIO
        verdict = "missed" if ratio.low > MOST_RATIO else "met"
        print(f"linux:{name}: {ratio} times the CPU time of {name}, goal {MOST_RATIO}: {verdict}")
    return int(is_missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
