"""The experiments of the study, as a user would describe them.

Streams have the same names in both arms, so both have the same arrivals (common random numbers).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dumbbell.spec import Experiment
from dumbbell.studies.shape import Arm
from dumbbell.studies.statistical_multiplexing import external_measurements, published

WARM_UP_S = 60
"""Far longer than the slow queue's relaxation time, 1/(mu (1 - sqrt(rho))^2) = 3.1 s."""
PINGED_S = published.PING_COUNT * published.PING_INTERVAL_S
"""The part of the published 600 s with pings: later traffic does not affect them."""
ENLARGED_ON_KERNEL = 8
"""Scaling on the kernel: mean size 4096 bytes on links eight times as fast, so that the minimum
frame size hardly matters."""
LABELS = {
    "SM": "SM: one queue of 1 Mbit/s for both streams",
    "TDM": "TDM: a queue of 500 kbit/s for each stream",
}
"""Names of the arms on the page."""
SHAPED = "router->receiver-"
"""Prefix of the names of the shaped queues."""


def _from_ms(value: float) -> str:
    return f"{round(value * 1e6)}ns"


def _links(arm: str, streams: int, bottleneck: Mapping[str, Any], fast: Mapping[str, Any]) -> Any:
    access = [{"a": f"sender-{i}", "b": "router"} for i in range(1, streams + 1)]
    if arm == "SM":
        return [*access, {"a": "router", "b": "receiver-1", "forward": dict(fast)}]
    receivers = [f"receiver-{i}" for i in range(1, streams + 1)]
    slow = [{"a": "router", "b": name, "forward": dict(bottleneck)} for name in receivers]
    return [*access, *slow]


def receiver(arm: str, stream: int) -> str:
    """Return the receiver of a stream: a common one, or one per stream."""
    return "receiver-1" if arm == "SM" else f"receiver-{stream}"


def ideal_arms(streams: int, packets: float, seed: int, *, enlarged: int = 1) -> list[Arm[str]]:
    """Return both arms with the ideal source.

    Args:
        streams: Number of streams m.
        packets: Packets of a replication, total of all streams. The precision of a mean delay
            depends on the number of packets, so it is the same for any number of streams.
        seed: Seed; with the replication it determines all random numbers.
        enlarged: As in `ideal`.
    """
    seconds = packets / (published.PACKETS_PER_SECOND * streams)
    return [
        Arm(arm, ideal(arm, streams, seconds, seed, enlarged=enlarged), f"{arm}, m = {streams}")
        for arm in published.ARMS
    ]


def published_arms(seed: int, **settings: Any) -> list[Arm[str]]:
    """Return both arms of the testbed's run, with parameters changed as in `as_published`."""
    return [Arm(arm, as_published(arm, seed, **settings), LABELS[arm]) for arm in published.ARMS]


def arms_measured_elsewhere(seed: int) -> list[Arm[str]]:
    """Return the same traffic for the duration of the measurement on a real kernel."""
    return published_arms(
        seed,
        duration_s=external_measurements.DURATION_S,
        ping_count=external_measurements.PING_COUNT,
        oversleep_us=external_measurements.OVERSLEEP_US,
    )


def ideal(arm: str, streams: int, duration_s: float, seed: int, *, enlarged: int = 1) -> Experiment:
    """Return the system of queueing theory: Poisson packets, exponential sizes, no headers.

    Each stream sends 110 packets/s and 500 kbit/s, so the load is the same for any number of
    streams; the queue is an unbounded FIFO in front of a transmitter.

    Args:
        arm: ``SM`` or ``TDM``.
        streams: Number of streams m.
        duration_s: Measured time, after the warm-up.
        seed: Seed; with the replication it determines all random numbers.
        enlarged: Factor of sizes and rates, which leaves all times unchanged. A real frame has 42
            bytes of headers: with packets of 512 bytes that floor lengthens the mean delay at this
            load by 3 %, with packets of 4096 bytes by 0.05 %.
    """
    rate = published.STREAM_RATE_BPS * enlarged
    endless = "pfifo limit 100000000"
    flows = [
        {
            "name": f"stream-{i}",
            "from": f"sender-{i}",
            "to": receiver(arm, i),
            "source": {
                "kind": "poisson",
                "rate": f"{published.PACKETS_PER_SECOND:g}pps",
                "size": f"exponential {published.MEAN_PAYLOAD_BYTES * enlarged:g}B",
            },
        }
        for i in range(1, streams + 1)
    ]
    return Experiment.read(
        {
            "name": f"statistical-multiplexing-ideal-{arm}-{streams}",
            "duration": f"{round(duration_s + WARM_UP_S)}s",
            "warm_up": f"{WARM_UP_S}s",
            "seed": seed,
            "links": _links(
                arm,
                streams,
                {"rate": f"{rate}bit", "qdisc": endless},
                {"rate": f"{streams * rate}bit", "qdisc": endless},
            ),
            "flows": flows,
        }
    )


def as_published(
    arm: str,
    seed: int,
    *,
    packets_per_second: float = published.PACKETS_PER_SECOND,
    base_rtt_ms: float = 0.0,
    duration_s: float = published.DURATION_S,
    ping_count: int = published.PING_COUNT,
    oversleep_us: float = 0.0,
) -> Experiment:
    """Return the testbed's run: two ITGSend, two pings from the start, `netem rate` shapers.

    Args:
        arm: ``SM`` or ``TDM``.
        seed: Seed; with the replication it determines all random numbers.
        packets_per_second: Actual rate of each sender; 110 is requested.
        base_rtt_ms: Round-trip time of the empty path, split over the senders' links.
        duration_s: Sending time of ITGSend; the run also waits for outstanding pings.
        ping_count: Requests of each sender.
        oversleep_us: Oversleep of each of ITGSend's sleeps.
    """
    rate = published.STREAM_RATE_BPS
    source: dict[str, Any] = {
        "kind": "ditg",
        "gap": f"exponential {packets_per_second!r}pps",
        "size": f"exponential {published.MEAN_PAYLOAD_BYTES:g}B",
    }
    if oversleep_us:
        source["oversleep"] = f"constant {oversleep_us:g}us"
    one_way = _from_ms(base_rtt_ms / 2)
    links = _links(
        arm,
        2,
        {"qdisc": f"netem rate {rate}bit"},
        {"qdisc": f"netem rate {2 * rate}bit"},
    )
    for link in links[:2]:
        link["delay"] = one_way
    between = [(i, f"sender-{i}", receiver(arm, i)) for i in (1, 2)]
    return Experiment.read(
        {
            "name": f"statistical-multiplexing-{arm}",
            "duration": f"{round(duration_s + 20)}s",
            "sample_interval": "1s",
            "seed": seed,
            "links": links,
            "flows": [
                {
                    "name": f"stream-{i}",
                    "from": sender,
                    "to": to,
                    "stop": f"{round(duration_s)}s",
                    "source": source,
                }
                for i, sender, to in between
            ],
            "probes": [
                {
                    "name": f"ping-{i}",
                    "from": sender,
                    "to": to,
                    "interval": _from_ms(1e3 * published.PING_INTERVAL_S),
                    "count": ping_count,
                    # Two terminals are not started at the same instant.
                    "start_jitter": _from_ms(1e3 * published.PING_INTERVAL_S),
                }
                for i, sender, to in between
            ],
        }
    )
