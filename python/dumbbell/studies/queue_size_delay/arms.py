"""The experiments of the study, as a user would describe them.

All of them use the same names of flow and probe, so they have the same arrivals and ping times
(common random numbers).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Any

from dumbbell.spec import Experiment
from dumbbell.studies.queue_size_delay import measured, published

FLOW, PING, QUEUE = "stream", "ping", "router->server"
DRAIN_S = 5
"""Time after the sender's last packet: 2 mb take 2.6 s to drain."""


class SourceKind(StrEnum):
    """A source of the study."""

    IDEAL = "ideal"
    """Poisson packets of exponential size, no headers: the source of queueing theory."""
    DITG = "ditg"
    """ITGSend's traffic: headers, fragments, oversleeping."""
    CONSTANT = "constant"
    """Constant gaps and sizes: D/D/1."""


RANDOM = (SourceKind.IDEAL, SourceKind.DITG)
SOURCES = {
    SourceKind.IDEAL: "ideal source",
    SourceKind.DITG: "D-ITG source",
    SourceKind.CONSTANT: "constant gaps and sizes",
}
"""Names of sources on the page."""


@dataclass(frozen=True, slots=True)
class SourceBehindQueue:
    """An arm: a source behind a queue.

    Attributes:
        kind: Kind of the source.
        limit: Limit of the queue, in tc syntax.
    """

    kind: SourceKind
    limit: str


def behind(
    kinds: Iterable[SourceKind], sizes: Iterable[str], seed: int
) -> dict[SourceBehindQueue, Experiment]:
    """Return the experiments of every source behind every queue, at the nominal load."""
    return {
        SourceBehindQueue(kind, limit): experiment(kind, limit, seed)
        for kind, limit in product(kinds, tuple(sizes))
    }


def source(
    kind: SourceKind, packets_per_second: float, oversleep_us: float = measured.OVERSLEEP_US
) -> dict[str, Any]:
    """A source of the study.

    Args:
        kind: The kind of source.
        packets_per_second: Requested rate.
        oversleep_us: Oversleep of each of ITGSend's sleeps.
    """
    rate, size = f"{packets_per_second!r}pps", f"{published.MEAN_PAYLOAD_BYTES:g}B"
    if kind is SourceKind.DITG:
        return {
            "kind": "ditg",
            "gap": f"exponential {rate}",
            "size": f"exponential {size}",
            "oversleep": f"constant {round(1e3 * oversleep_us)}ns",
        }
    if kind is SourceKind.CONSTANT:
        return {"kind": "cbr", "rate": rate, "size": size, "size_at": "wire"}
    return {"kind": "poisson", "rate": rate, "size": f"exponential {size}"}


def experiment(
    kind: SourceKind,
    limit: str,
    seed: int,
    *,
    packets_per_second: float = published.PACKETS_PER_SECOND,
    oversleep_us: float = measured.OVERSLEEP_US,
    warm_up_s: float = 0.0,
    pings: bool = True,
    record_packets: bool = False,
) -> Experiment:
    """Return one run: ten seconds of traffic through a token bucket, with a ping per second.

    Args:
        kind: Kind of the source.
        limit: Queue limit in tc syntax, such as ``40kb``.
        seed: Seed; with the replication it determines all random numbers.
        packets_per_second: Requested rate of the sender.
        oversleep_us: Oversleep of each of ITGSend's sleeps.
        warm_up_s: Warm-up, excluded from statistics.
        pings: Whether pings are sent.
        record_packets: Whether to record every packet at the router.
    """
    qdisc = f"tbf rate 6.55mbit limit {limit} burst 10kb"
    probes = [
        {
            "name": PING,
            "from": "client",
            "to": "server",
            "interval": "1s",
            "count": published.PING_COUNT,
            # The two commands are started by hand, so not at the same instant.
            "start_jitter": "1s",
        }
    ]
    return Experiment.read(
        {
            "name": f"queue-size-delay-{kind}-{limit}",
            "duration": f"{published.DURATION_S + DRAIN_S:g}s",
            "warm_up": f"{warm_up_s:g}s",
            "seed": seed,
            "links": [
                {"a": "client", "b": "router"},
                {
                    "a": "router",
                    "b": "server",
                    "forward": {"qdisc": qdisc, "record_packets": record_packets},
                },
            ],
            "flows": [
                {
                    "name": FLOW,
                    "from": "client",
                    "to": "server",
                    "stop": f"{published.DURATION_S:g}s",
                    "source": source(kind, packets_per_second, oversleep_us),
                }
            ],
            "probes": probes if pings else [],
        }
    )
