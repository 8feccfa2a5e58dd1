"""M/M/1 in SimPy as its tutorial would write it: a source, a transmitter, a store between them."""

from __future__ import annotations

import random
from collections.abc import Generator
from typing import Any

import simpy
import workload


def source(
    env: simpy.Environment, queue: simpy.Store, draw: random.Random, packets: int
) -> Generator[Any, Any, None]:
    """Packets at exponential gaps; a packet is its arrival time and its size."""
    for _ in range(packets):
        yield env.timeout(draw.expovariate(workload.ARRIVALS_PER_S))
        queue.put((env.now, draw.expovariate(1 / workload.MEAN_SIZE_BYTES)))


def transmitter(
    env: simpy.Environment, queue: simpy.Store, sojourns: workload.Sojourns, packets: int
) -> Generator[Any, Any, None]:
    """Sends them one after another."""
    for _ in range(packets):
        arrived_s, size_bytes = yield queue.get()
        yield env.timeout(workload.transmission_s(size_bytes))
        sojourns.add(env.now - arrived_s)


def main() -> None:
    packets, seed = workload.asked()
    sojourns = workload.Sojourns()
    env = simpy.Environment()
    queue = simpy.Store(env)
    env.process(source(env, queue, random.Random(seed), packets))
    env.run(until=env.process(transmitter(env, queue, sojourns, packets)))
    sojourns.report(f"SimPy {simpy.__version__}")


if __name__ == "__main__":
    main()
