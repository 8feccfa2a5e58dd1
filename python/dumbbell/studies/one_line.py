"""Networks of short studies: TCP flows that share one bottleneck, some with a longer path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dumbbell.spec import Experiment

SENDER, FAR, QUEUE, PING = "sender", "far", "router->receiver", "ping"
FLOW_KEYS = ("count", "from", "start", "start_jitter")
CHATTER = {
    "name": "chatter",
    "from": SENDER,
    "to": "receiver",
    "source": {"kind": "poisson", "rate": "10pps", "size": "100B", "size_at": "payload"},
}
"""Ten small packets per second, which make runs of greedy flows differ."""


def greedy(controller: str, name: str = "flow", **keys: Any) -> dict[str, Any]:
    """A greedy TCP flow that starts at a random time in the first second.

    Args:
        controller: Congestion control.
        name: Name of the flow. **keys: Keys of the flow if in `FLOW_KEYS` (``from_`` for ``from``),
            otherwise of its TCP.
    """
    keys = {key.rstrip("_"): value for key, value in keys.items()}
    own = {key: keys.pop(key) for key in FLOW_KEYS if key in keys}
    return {
        "name": name,
        "from": SENDER,
        "to": "receiver",
        "start_jitter": "1s",
        "source": {"kind": "greedy"},
        "tcp": {"congestion_control": controller, **keys},
        **own,
    }


def one_line(
    *flows: Mapping[str, Any],
    seed: int,
    rtt_ms: float = 40.0,
    far_rtt_ms: float | None = None,
    length_s: float = 120.0,
    warm_up_s: float = 20.0,
    **line: Any,
) -> Experiment:
    """An experiment with flows from the sender, or from a more distant host, over one bottleneck.

    Args:
        *flows: Flows made by `greedy`.
        seed: Seed of all random streams.
        rtt_ms: Base round-trip time of the sender.
        far_rtt_ms: Base round-trip time of the host ``far``; None without it.
        length_s: Duration of the run.
        warm_up_s: Warm-up, excluded from statistics.
        **line: Keys of the bottleneck's direction to the receiver, such as ``rate`` and ``qdisc``.
    """
    hop = f"{rtt_ms / 4:g}ms"
    links: list[dict[str, Any]] = [{"a": SENDER, "b": "router", "delay": hop}]
    if far_rtt_ms is not None:
        links.append({"a": FAR, "b": "router", "delay": f"{far_rtt_ms / 2 - rtt_ms / 4:g}ms"})
    links.append({"a": "router", "b": "receiver", "delay": hop, "forward": line})
    return Experiment.read(
        {
            "duration": f"{length_s:g}s",
            "warm_up": f"{warm_up_s:g}s",
            "seed": seed,
            # On the kernel: the packets of a process, in a third of its CPU time.
            "guest": "module",
            "links": links,
            "flows": [*flows, CHATTER],
            "probes": [
                {
                    "name": PING,
                    "from": SENDER,
                    "to": "receiver",
                    "interval": "100ms",
                    "start": f"{warm_up_s:g}s",
                }
            ],
        }
    )
