"""``make bench``, learning agents: steps per second of the Gymnasium environment.

One sender at 10 Mbit/s that fills its link, monitor intervals of 100 ms, the environment as
`gymnasium.make` gives it, on one processor. CPU time counts, new episodes included; the median of a
few measurements, and the best, because a machine that others use as well slows down some of them.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence

import gymnasium
import numpy as np

from dumbbell.learning import ENVIRONMENT

GOAL_STEPS_PER_S = 15_000
STEPS = 6000
RUNS = 7
FILLING_STEPS = 4
"""In which the window goes from 10 packets to 50, a round trip and a little: 10 Mbit/s, 40 ms."""


def steps_per_s(steps: int) -> float:
    """Of CPU time, over whole episodes."""
    environment = gymnasium.make(ENVIRONMENT)
    environment.reset(seed=1)
    grow, hold = np.ones(1, np.float32), np.zeros(1, np.float32)
    done = 0
    began = time.process_time()
    while done < steps:
        environment.reset()
        place, is_over = 0, False
        while not is_over:
            action = grow if place < FILLING_STEPS else hold
            _, _, terminated, truncated, said = environment.step(action)
            is_over = terminated or truncated
            place += 1
        done += place
        if said["delivery_rate_bps"] < 9e6:
            raise SystemExit("the sender does not fill its link")
    return done / (time.process_time() - began)


def main(arguments: Sequence[str]) -> int:
    """Print the row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--learning-steps", type=int, default=STEPS)
    parser.add_argument("--learning-runs", type=int, default=RUNS)
    options, _ = parser.parse_known_args(arguments)
    found = [steps_per_s(options.learning_steps) for _ in range(options.learning_runs)]
    print("learning agents                    a second of CPU time, median (best)")
    print(
        f"steps of 100 ms at 10 Mbit/s       {statistics.median(found):>10,.0f}  "
        f"({max(found):,.0f}; goal {GOAL_STEPS_PER_S:,})"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
