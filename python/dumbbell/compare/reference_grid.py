"""The reference grid: sixty networks that combine queue, controller, rate, delay and flow count.

The simulator is tested against recorded runs of the Linux kernel on them (`tests/reference`);
`dumbbell kernel compare` compares two kernels on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dumbbell.spec import Experiment

DURATION_S = 30
SAMPLE_MS = 10
START_JITTER_MS = 100
SEED = 1
PACKET_BYTES = 1514

_TABLE = """
pfifo-half  reno    10   20  1
pfifo-half  reno    10  100  2
pfifo-half  reno    40  100  1
pfifo-half  cubic   10  100  2
pfifo-half  cubic   40  100  8
pfifo-half  bbr     40   20  1
pfifo-half  bbr     40   20  8
pfifo-one   reno    40   20  2
pfifo-one   reno    40   20  8
pfifo-one   cubic   10  100  1
pfifo-one   cubic   40   20  8
pfifo-one   cubic   40  100  1
pfifo-one   bbr     10   20  1
pfifo-one   bbr     10  100  2
pfifo-one   bbr     10  100  8
pfifo-five  reno    10  100  1
pfifo-five  reno    10  100  8
pfifo-five  cubic   10   20  8
pfifo-five  cubic   40   20  1
pfifo-five  cubic   40   20  2
pfifo-five  bbr     10  100  2
pfifo-five  bbr     40   20  2
pfifo-five  bbr     40  100  8
tbf         reno    10   20  8
tbf         reno    40   20  1
tbf         reno    40  100  2
tbf         cubic   40   20  2
tbf         cubic   40  100  8
tbf         bbr     10   20  1
tbf         bbr     10   20  8
tbf         bbr     40  100  2
red         reno    10   20  8
red         reno    40  100  2
red         cubic   10   20  1
red         cubic   10  100  2
red         cubic   40   20  8
red         bbr     10   20  1
red         bbr     40  100  1
red         bbr     40  100  8
codel       reno    10   20  8
codel       reno    40   20  2
codel       reno    40  100  1
codel       cubic   10  100  1
codel       cubic   10  100  8
codel       bbr     10  100  2
codel       bbr     40   20  2
fq_codel    reno    10  100  2
fq_codel    reno    40   20  8
fq_codel    reno    40  100  1
fq_codel    cubic   10   20  2
fq_codel    cubic   10  100  1
fq_codel    bbr     10   20  1
fq_codel    bbr     40  100  8
pie         reno    10   20  2
pie         reno    10  100  8
pie         cubic   10   20  2
pie         cubic   40   20  1
pie         cubic   40  100  1
pie         bbr     10  100  8
pie         bbr     40   20  2
"""
# queue, congestion controller, Mbit/s, round-trip time in ms, flows: 60 of the 288 combinations,
# chosen once by exchanging cells until every level, every pair of levels and, after them, every
# triple is as evenly present as 60 cells allow.

QUEUES = ("pfifo-half", "pfifo-one", "pfifo-five", "tbf", "red", "codel", "fq_codel", "pie")
CONTROLLERS = ("reno", "cubic", "bbr")
RATES_MBPS = (10, 40)
RTTS_MS = (20, 100)
FLOWS = (1, 2, 8)


@dataclass(frozen=True, slots=True)
class GridCell:
    """One combination.

    Attributes:
        queue: One of `QUEUES`; for a pfifo with its limit in bandwidth-delay products.
        controller: Congestion controller of all flows.
        rate_mbps: Rate of the bottleneck.
        rtt_ms: Base round-trip time.
        flows: Number of flows, all greedy and from the same host.
    """

    queue: str
    controller: str
    rate_mbps: int
    rtt_ms: int
    flows: int

    @property
    def name(self) -> str:
        """Such as ``pie-cubic-10mbit-20ms-2``."""
        return f"{self.queue}-{self.controller}-{self.rate_mbps}mbit-{self.rtt_ms}ms-{self.flows}"

    @property
    def bdp_bytes(self) -> int:
        """Bandwidth-delay product."""
        return self.rate_mbps * self.rtt_ms * 125

    def qdisc(self) -> str:
        """The bottleneck's discipline in ``tc`` syntax."""
        packets = self.bdp_bytes / PACKET_BYTES
        factor = {"pfifo-half": 0.5, "pfifo-one": 1.0, "pfifo-five": 5.0}.get(self.queue)
        if factor is not None:
            return f"pfifo limit {max(2, math.ceil(factor * packets))}"
        if self.queue == "tbf":
            return f"tbf rate {self.rate_mbps}mbit burst 10kb limit {self.bdp_bytes + 10240}b"
        if self.queue == "red":
            # tc-red(8): max at least twice min, burst (2 min + max) / (3 avpkt), limit above max.
            low, high = self.bdp_bytes // 3, self.bdp_bytes
            burst = math.ceil((2 * low + high) / 3000)
            return (
                f"red limit {4 * high}b min {low}b max {high}b avpkt 1000 burst {burst}"
                f" bandwidth {self.rate_mbps}mbit probability 0.02"
            )
        return self.queue

    def experiment(self) -> Experiment:
        """Its description; flows start at random times, so replications differ."""
        shaped = self.queue == "tbf"
        delay = f"{self.rtt_ms / 2:g}ms"
        forward = {
            "rate": "inf" if shaped else f"{self.rate_mbps}mbit",
            "delay": delay,
            "qdisc": self.qdisc(),
        }
        flows = [
            {
                "name": f"flow-{number}",
                "from": "sender",
                "to": "receiver",
                "start_jitter": f"{START_JITTER_MS}ms",
                "source": {"kind": "greedy"},
                "tcp": {"congestion_control": self.controller},
            }
            for number in range(1, self.flows + 1)
        ]
        return Experiment.model_validate(
            {
                "name": self.name,
                "seed": SEED,
                "duration": f"{DURATION_S}s",
                "sample_interval": f"{SAMPLE_MS}ms",
                "links": [
                    {"a": "sender", "b": "router"},
                    {
                        "a": "router",
                        "b": "receiver",
                        "forward": forward,
                        "reverse": {"delay": delay},
                    },
                ],
                "flows": flows,
            }
        )


def grid_cells() -> tuple[GridCell, ...]:
    """All sixty."""
    words = (line.split() for line in _TABLE.split("\n") if line)
    return tuple(GridCell(q, c, int(rate), int(rtt), int(n)) for q, c, rate, rtt, n in words)
