"""``make bench``, controllers: cost of a congestion controller in Python.

The example in `examples/controllers/mine.py` gives the same run as our own ``reno``, so the two
runs differ in nothing but who computes the window. CPU time counts, the median of a few runs.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dumbbell.backends import simulate
from dumbbell.controllers import Ack, Controller
from dumbbell.spec import Experiment

ROOT = Path(__file__).resolve().parents[1]
GOAL_ACKS_PER_S = 150_000
RUNS = 3
DURATION = "100s"
EXPERIMENT = """
duration = "{duration}"
[[links]]
a = "server"
b = "router"
rate = "1gbit"
[[links]]
a = "router"
b = "home"
rate = "100mbit"
delay = "20ms"
qdisc = "pfifo limit 100"
[[flows]]
name = "download"
from = "server"
to = "home"
source = {{ kind = "greedy" }}
tcp = {{ congestion_control = "{controller}" }}
"""


def example() -> type[Controller]:
    """The class of the example."""
    space: dict[str, Any] = {"__name__": "mine"}
    text = (ROOT / "examples/controllers/mine.py").read_text(encoding="utf-8")
    exec(compile(text, "mine.py", "exec"), space)
    found: type[Controller] = space["Mine"]
    return found


def cpu_s(work: Callable[[], object]) -> float:
    """CPU time of all threads."""
    began = time.process_time()
    work()
    return time.process_time() - began


def counted(mine: type[Controller]) -> tuple[type[Controller], list[int]]:
    """The class, and how often it is called."""
    calls = [0]

    class Counted(mine):  # type: ignore[misc, valid-type]
        def on_ack(self, window: Any, ack: Ack) -> None:
            calls[0] += 1
            super().on_ack(window, ack)

    return Counted, calls


def acks_per_s(duration: str, runs: int) -> tuple[float, float]:
    """Acknowledgements a second of CPU time with the class, and its time over our reno's."""
    own, given = (
        Experiment.from_toml(EXPERIMENT.format(duration=duration, controller=controller))
        for controller in ("reno", "class:mine")
    )
    mine = example()
    wrapped, calls = counted(mine)
    expected = simulate(own).meta["digest"]
    if simulate(given, controllers={"mine": wrapped}).meta["digest"] != expected:
        raise SystemExit("the example is not our own reno")
    times = [
        (cpu_s(lambda: simulate(own)), cpu_s(lambda: simulate(given, controllers={"mine": mine})))
        for _ in range(runs)
    ]
    own_s, mine_s = (statistics.median(each) for each in zip(*times, strict=True))
    return calls[0] / mine_s, mine_s / own_s


def main(arguments: Sequence[str]) -> int:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--controller-duration", default=DURATION)
    parser.add_argument("--controller-runs", type=int, default=RUNS)
    options, _ = parser.parse_known_args(arguments)
    acks, ratio = acks_per_s(options.controller_duration, options.controller_runs)
    print("controllers                        a second of CPU time")
    print(f"acknowledgements, class in Python  {acks:>10,.0f}  (goal {GOAL_ACKS_PER_S:,})")
    print(f"its run takes {ratio:.2f} times the time of our reno's")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
