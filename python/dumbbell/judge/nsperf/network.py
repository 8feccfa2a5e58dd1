"""The network of nsperf: sender, a router with netem in both directions, receiver.

Facts from nsperf.py and run_tests.sh in github.com/google/bbr (branch v3, gtests/net/tcp/bbr). Its
two further hosts only forward packets and are omitted.
"""

from __future__ import annotations

from typing import Any

from dumbbell.judge.suite import ReferenceKind, Suite

NSPERF = Suite(
    id="nsperf",
    name="nsperf",
    references=ReferenceKind.NAME,
    cited="nsperf, {}",
    question="How does {} do in Google's BBR suite?",
    league_question="How do {} congestion controllers do in Google's BBR suite?",
    no_verdict="The suite draws figures and gives no thresholds",
    caution="The settings are nsperf's, which draws figures and gives no thresholds.",
    source="nsperf, the tests of Google's BBR (Cardwell, Hassas Yeganeh, Yang, Roy)",
    source_url="https://github.com/google/bbr/tree/v3/gtests/net/tcp/bbr/nsperf",
    network="The network is nsperf's: netem at a router holds, delays and loses packets. "
    "{controller} is alone there, beside its own kind, or beside CUBIC.",
    drawn="the network of nsperf",
)

QUEUE = "router->receiver"
FORWARD = f"links[{QUEUE}].forward.qdisc"
_MTU_BYTES = 1500
_FRAME_BYTES = 1514
_ACK_MBIT = 1000
_ACK_BUFFER_PKTS = 1000
_LARGEST_LIMIT_PKTS = 2_000_000_000
START_JITTER = "10ms"
"""Programs do not start at exact times; without jitter all replications would be identical."""


def buffer_pkts(mbit: int, rtt_ms: int, bdps: float) -> int:
    """Size in packets of a buffer given in bandwidth-delay products."""
    return int(mbit * 1e6 * rtt_ms / 1000 / (8 * _FRAME_BYTES) * bdps)


def _limit_pkts(mbit: int, rtt_ms: int, buffered_pkts: int) -> int:
    """Limit of netem, which holds both queued packets and packets in flight."""
    return int(mbit * 1e6 * (rtt_ms / 2000) / 8 / _MTU_BYTES) + buffered_pkts


def netem(mbit: int, rtt_ms: int, bdps: float, loss_percent: str = "0") -> str:
    """Delay, loss, rate and buffer towards the receiver, in ``tc`` syntax."""
    limit = _limit_pkts(mbit, rtt_ms, buffer_pkts(mbit, rtt_ms, bdps))
    loss = "" if loss_percent == "0" else f" loss random {loss_percent}%"
    return f"netem limit {limit} delay {rtt_ms / 2:g}ms{loss} rate {mbit}mbit"


def delay_only(rtt_ms: float) -> str:
    """Delay towards the receiver, where another discipline has the rate and the buffer."""
    return f"netem limit {_LARGEST_LIMIT_PKTS} delay {rtt_ms / 2:g}ms"


def links(forward: str, rtt_ms: int) -> list[dict[str, Any]]:
    """Links from sender via router to receiver; acknowledgements have 1 Gbit/s.

    Args:
        forward: The router's discipline towards the receiver.
        rtt_ms: Round-trip time, half of it in each direction.
    """
    limit = _limit_pkts(_ACK_MBIT, rtt_ms, _ACK_BUFFER_PKTS)
    back = f"netem limit {limit} delay {rtt_ms / 2:g}ms rate {_ACK_MBIT}mbit"
    return [
        {
            "a": "sender",
            "b": "router",
            "forward": {"qdisc": "fq"},
            "reverse": {"qdisc": back},
        },
        {"a": "router", "b": "receiver", "forward": {"qdisc": forward}},
    ]


def bulk(name: str, controller: str, **keys: Any) -> dict[str, Any]:
    """A netperf flow with the large buffers of run_tests.sh; half of 250 MB is usable as window."""
    tcp = {"receive_window": "125MB", "send_buffer": "250MB", **keys.pop("tcp", {})}
    return {
        "name": name,
        "from": "sender",
        "to": "receiver",
        "start_jitter": START_JITTER,
        "source": {"kind": "greedy"},
        "tcp": {"congestion_control": controller, **tcp},
        **keys,
    }
