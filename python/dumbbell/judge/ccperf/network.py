"""The network of CCPerf's benchmark: a dumbbell with a FIFO of 20 packets at 16 Mbit/s, 15 ms.

These values, and a run of 15 s, are those of the command line that CCPerf prints for its policing
experiment (ccperf.net, experiment 56). Its pages describe the other scenarios without all values:
numbers of flows, distances of starts, other round trips, and the sizes and times of changes are
chosen here. The hosts are named as in the other suites, not ``src_0`` and ``dst_0``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dumbbell.judge.description import DROPPED, LINK, at_most
from dumbbell.judge.section import Expectation
from dumbbell.judge.suite import ReferenceKind, Suite

CCPERF = Suite(
    id="ccperf",
    name="CCPerf",
    references=ReferenceKind.NAME,
    cited="CCPerf, {}",
    question="How does {} do in CCPerf's benchmark?",
    league_question="How do {} congestion controllers do in CCPerf's benchmark?",
    no_verdict="CCPerf gives numbers and no thresholds",
    caution="The scenarios and metrics are CCPerf's, which gives one run of each and no "
    "thresholds. Its pages do not give all settings: the files here have ours.",
    source="CCPerf, Benchmarking Congestion Control Algorithms",
    source_url="https://ccperf.net/",
    network="The network is a dumbbell: 16 Mbit/s, a round trip of 15 ms, a FIFO of 20 packets. "
    "All flows run {controller}.",
    drawn="the network of CCPerf",
)

MBIT = 16
RTT_MS = 15
QUEUE_PKTS = 20
DURATION_S = 15
_ACCESS_RATE = "10gbit"
_SAMPLE_INTERVAL = "100ms"
_SEND_BUFFER = "4MB"
"""Fixed, since rows of the application layer (`mean_one_way_delay_l7`) need it."""
_START_JITTER = "10ms"
"""Programs do not start at exact times; without jitter all replications would be identical."""
RECORDED: Mapping[str, Any] = {"rate": _ACCESS_RATE, "record_packets": True}
"""A sender's own link: CCPerf's rows on recovery and on gaps need its packets."""


def links() -> list[dict[str, Any]]:
    """Links from sender via router to receiver; the second is the bottleneck."""
    forward = {"rate": f"{MBIT}mbit", "qdisc": f"pfifo limit {QUEUE_PKTS}"}
    return [
        {"a": "sender", "b": "router", "forward": dict(RECORDED), "reverse": dict(RECORDED)},
        {"a": "router", "b": "receiver", "delay": f"{RTT_MS / 2:g}ms", "forward": forward},
    ]


def experiment(flows: list[dict[str, Any]], **keys: Any) -> dict[str, Any]:
    """The description of a scenario with these flows."""
    described = {"duration": f"{DURATION_S}s", "sample_interval": _SAMPLE_INTERVAL}
    return {**described, "links": links(), "flows": flows, **keys}


def greedy_flow(name: str, controller: str, **keys: Any) -> dict[str, Any]:
    """A flow that always has data to send, from ``sender`` to ``receiver``."""
    return {
        "name": name,
        "from": "sender",
        "to": "receiver",
        "start_jitter": _START_JITTER,
        "source": {"kind": "greedy"},
        "tcp": {"congestion_control": controller, "send_buffer": _SEND_BUFFER},
        **keys,
    }


def delay_of(rtt_ms: float) -> str:
    """One-way delay behind the bottleneck for a round-trip time."""
    return f"{rtt_ms / 2:g}ms"


def lost(id_: str, told: str, where: Mapping[str, Any]) -> Expectation:
    """At most 5 % of the packets are dropped at the bottleneck, whatever the scenario.

    Args:
        id_: Last part of the expectation's id.
        told: Who sends where: ``Two flows of cubic``.
        where: The cell.
    """
    statement = f"{told}: at most 5 % of the packets are dropped at the bottleneck"
    return Expectation(f"lost-{id_}", statement, DROPPED, at_most(0.05), where)


RATE = f"{LINK}.forward.rate"
DELAY = f"{LINK}.delay"
LOSS = f"{LINK}.forward.loss"
CHANGES = f"{LINK}.forward.changes"
