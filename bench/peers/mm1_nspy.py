"""M/M/1 in ns.py: a packet generator, a port with a rate, a sink.

The generator of ns.py 0.4.3 stamps a packet and then waits for its arrival, so that the delay it
lets a sink measure holds one gap between arrivals (4.5 ms here) too much. The number is reported
as ns.py gives it.
"""

from __future__ import annotations

import random
from importlib.metadata import version
from typing import Any

import simpy
import workload
from ns.packet.dist_generator import DistPacketGenerator
from ns.port.port import Port


class Sink:
    """Adds up delays; ns.py's own sink keeps every packet's in several lists."""

    def __init__(self, env: simpy.Environment, sojourns: workload.Sojourns) -> None:
        self.env = env
        self.sojourns = sojourns

    def put(self, packet: Any) -> None:
        """Called by the port when it has sent a packet."""
        self.sojourns.add(self.env.now - packet.time)


def main() -> None:
    packets, seed = workload.asked()
    draw = random.Random(seed)
    duration_s = packets / workload.ARRIVALS_PER_S
    sojourns = workload.Sojourns()
    env = simpy.Environment()
    generator = DistPacketGenerator(
        env,
        "source",
        lambda: draw.expovariate(workload.ARRIVALS_PER_S),
        lambda: draw.expovariate(1 / workload.MEAN_SIZE_BYTES),
        finish=duration_s,
    )
    port = Port(env, workload.LINK_BPS)
    generator.out = port
    port.out = Sink(env, sojourns)
    env.run(until=duration_s)
    sojourns.report(f"ns.py {version('ns.py')}")


if __name__ == "__main__":
    main()
