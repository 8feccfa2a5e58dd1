"""Resolved descriptions of a few graphs, and words for their numbers without the engine."""

from __future__ import annotations

import json
from typing import Any

from dumbbell import _engine
from dumbbell.report.topology import TcWords

FIFO = {"kind": "pfifo", "limit_packets": 1000}


def netem(rate_bps: int) -> dict[str, Any]:
    return {**json.loads(_engine.parse_qdisc("netem")), "rate_bps": rate_bps}


def end(
    *, rate_bps: int = 0, delay_ns: int = 0, qdisc: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    return {
        "rate_bps": rate_bps, "delay_ns": delay_ns, "mtu_bytes": 1500, "overhead_bytes": 14,
        "loss": 0.0, "loss_every_pkts": 0, "police": None, "qdisc": qdisc or FIFO, "changes": [],
        "record_packets": False, "capture": False,
    } | more  # fmt: skip


def link(a: str, b: str, forward: Any = None, reverse: Any = None) -> dict[str, Any]:
    return {"a": a, "b": b, "forward": forward or end(), "reverse": reverse or end()}


def resolved(
    links: list[dict[str, Any]], traffic: list[tuple[str, str]], name: str = "x"
) -> dict[str, Any]:
    hosts = list(dict.fromkeys(host for one in links for host in (one["a"], one["b"])))
    return {
        "schema": 1, "name": name, "seed": 1, "hosts": [{"name": host} for host in hosts],
        "links": links, "flows": [{"name": f"{a}-{b}", "from": a, "to": b} for a, b in traffic],
        "probes": [],
    }  # fmt: skip


MULTIPLEXED = resolved(
    [
        link("sender-1", "router"),
        link("sender-2", "router"),
        link("router", "receiver-1", end(qdisc=netem(1_000_000))),
    ],
    [("sender-1", "receiver-1"), ("sender-2", "receiver-1")],
)
SEPARATE = resolved(
    [
        link("sender-1", "router"),
        link("sender-2", "router"),
        link("router", "receiver-1", end(qdisc=netem(500_000))),
        link("router", "receiver-2", end(qdisc=netem(500_000))),
    ],
    [("sender-1", "receiver-1"), ("sender-2", "receiver-2")],
)


def dumbbell(senders: int) -> dict[str, Any]:
    return resolved(
        [
            *(link(f"sender-{i}", "left", end(delay_ns=1_000_000)) for i in range(1, senders + 1)),
            link(
                "left",
                "right",
                end(rate_bps=10_000_000, delay_ns=20_000_000,
                    qdisc={"kind": "pfifo", "limit_packets": 100}),
                end(rate_bps=10_000_000, delay_ns=20_000_000),
            ),
            *(link("right", f"receiver-{i}") for i in range(1, senders + 1)),
        ],
        [(f"sender-{i}", f"receiver-{i}") for i in range(1, senders + 1)],
    )  # fmt: skip


def tree(depth: int) -> dict[str, Any]:
    """A complete binary tree of senders above a bottleneck to one sink."""
    links, leaves = [], []
    for level in range(depth, 0, -1):
        for i in range(2**level):
            parent = "root" if level == 1 else f"n{level - 1}.{i // 2}"
            links.append(link(f"n{level}.{i}", parent, end(delay_ns=(i + 1) * 1_000_000)))
            if level == depth:
                leaves.append(f"n{level}.{i}")
    links.append(link("root", "sink", end(rate_bps=50_000_000)))
    return resolved(links, [(leaf, "sink") for leaf in leaves])


def ring(hosts: int) -> dict[str, Any]:
    names = [f"h{i}" for i in range(hosts)]
    return resolved(
        [link(a, b) for a, b in zip(names, [*names[1:], names[0]], strict=True)],
        [(names[0], names[hosts // 2])],
    )


def _qdisc_words(text: str) -> str:
    qdisc = json.loads(text)
    rate = f"rate {qdisc['rate_bps'] // 1000}kbit " if qdisc.get("rate_bps") else ""
    return f"{qdisc['kind']} {rate}limit {qdisc['limit_packets']}"


def tc_words() -> TcWords:
    return TcWords(
        rate=lambda bps: f"{bps // 1000}kbit",
        time=lambda ns: f"{ns / 1e6:g}ms",
        qdisc=_qdisc_words,
    )
