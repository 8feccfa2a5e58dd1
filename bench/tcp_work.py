"""TCP over a bottleneck: the networks that the engine and the others run, as descriptions.

Each has the settings of the program it stands beside (`peers/tcp_ns3.cc`,
`rust/src/bin/by_value.rs`): packets of 1500 bytes, initial window 10, and queues that count as
that program's do. ns-3's device holds a packet between the discipline and the wire, so a limit
of its FIFO is one more here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dumbbell.spec import Experiment

MTU_BYTES = 1500
DEVICE_PKTS = 1
"""What ns-3's device holds besides the packet on the wire."""
LARGE_QUEUE = "pfifo limit 100000"
LARGE_BUFFER = "64mb"


@dataclass(frozen=True)
class Work:
    """A network, and where to look.

    Attributes:
        name: For the table.
        experiment: What the engine runs.
        bottleneck: Name of the queue.
    """

    name: str
    experiment: Experiment
    bottleneck: str

    @property
    def queue(self) -> int:
        """Index of the bottleneck among the queues."""
        return self.experiment.queue_names.index(self.bottleneck)


def greedy(name: str, source: str, sink: str, tcp: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """A flow that always has something to send."""
    return {
        "name": name,
        "from": source,
        "to": sink,
        "source": {"kind": "greedy"},
        "tcp": tcp,
        **keys,
    }


def ppp(a: str, b: str, rate: str, delay: str, queue: str = LARGE_QUEUE) -> dict[str, Any]:
    """ns-3's point-to-point link, with its queue at `a`."""
    ends = {"forward": {"qdisc": queue}, "reverse": {"qdisc": LARGE_QUEUE}}
    return {"a": a, "b": b, "rate": rate, "delay": delay, "overhead": "ppp", **ends}


def on_linux(work: Work) -> Work:
    """The same network with Linux's TCP, which the kernel has and the simulator models.

    Its timers, acknowledgements and recovery are not ns-3's, and its buffers grow by themselves.
    Segments leave one by one, as there.
    """
    described = work.experiment.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for flow in described["flows"]:
        for key in ("profile", "send_buffer", "receive_window"):
            flow["tcp"].pop(key, None)
        flow["tcp"]["gso_max_segs"] = 1
    return Work(work.name, Experiment.model_validate(described), work.bottleneck)


def line(name: str, duration_s: float, middle: dict[str, Any], tcp: dict[str, Any]) -> Work:
    """Sender, two routers, receiver; access links of 10 Gbit/s without delay."""
    experiment = {
        "name": name,
        "duration": f"{duration_s:g}s",
        "sample_interval": "100ms",
        "links": [
            ppp("sender", "router-1", "10gbit", "0s"),
            middle,
            ppp("router-2", "receiver", "10gbit", "0s"),
        ],
        "flows": [greedy("flow", "sender", "receiver", tcp)],
    }
    return Work(name, Experiment.model_validate(experiment), "router-1->router-2")


def policing(duration_s: float = 15) -> Work:
    """One NewReno flow through a token bucket of 4 Mbit/s with a queue of 20 packets.

    The settings are equal; up to 0.1 s, where slow start overruns the bucket, ns-3 3.37 and the
    engine send 113 packets and drop 91, both the same. Then they part: by 0.3 s ns-3 has dropped
    98 and the engine 121, repairing losses, and of the slow start after the timeout (1 to 2 s)
    ns-3 drops 8 and the engine 40. `prr`, `hystart`, `rack` and buffer sizes change nothing of
    that, so 15 s are not the same work by the rule of loss; 150 s are.
    """
    queue = "tbf rate 4mbit burst 125000b peakrate 1gbit mtu 1500 limit 30000b"
    middle = ppp("router-1", "router-2", "inf", "7.5ms", queue)
    middle["overhead"] = "none"
    tcp = {"profile": "rfc", "congestion_control": "reno", "delayed_ack": False}
    return line(f"policing-{duration_s:g}s", duration_s, middle, tcp)


def bulk(rate_mbps: int, duration_s: float = 10) -> Work:
    """One CUBIC flow, 20 ms, a FIFO of one bandwidth-delay product."""
    limit = rate_mbps * 20 * 125 // MTU_BYTES + DEVICE_PKTS
    middle = ppp("router-1", "router-2", f"{rate_mbps}mbit", "10ms", f"pfifo limit {limit}")
    tcp = {
        "profile": "rfc",
        "congestion_control": "cubic",
        "hystart": False,
        "send_buffer": LARGE_BUFFER,
        "receive_window": LARGE_BUFFER,
    }
    return line(f"cubic-{rate_mbps}mbit", duration_s, middle, tcp)


def buffer_sizing(limit_pkts: int, duration_s: float = 150) -> Work:
    """Sixty NewReno flows from a tree of eighteen sources over 50 Mbit/s."""
    links = [
        ppp("target-1", "sink", "100mbit", "2ms"),
        ppp("target-2", "target-1", "50mbit", "5ms", f"pfifo limit {limit_pkts + DEVICE_PKTS}"),
    ]
    sources = [f"source-{number}" for number in range(18)]
    links += [ppp(sources[i], "target-2", "100mbit", "10ms") for i in range(2)]
    links += [ppp(sources[2 + i], sources[i // 2], "100mbit", "100ms") for i in range(4)]
    links += [ppp(sources[6 + i], sources[2 + i // 3], "100mbit", "150ms") for i in range(12)]
    tcp = {
        "profile": "rfc",
        "congestion_control": "reno",
        "hystart": False,
        "send_buffer": "8mb",
        "receive_window": "8mb",
    }
    flows = [
        greedy(f"flow-{n}", sources[n % 18], "sink", tcp, start_jitter="1s") for n in range(60)
    ]
    name = f"buffer-sizing-{limit_pkts}"
    experiment = {"name": name, "duration": f"{duration_s:g}s", "links": links, "flows": flows}
    return Work(name, Experiment.model_validate(experiment), "target-2->target-1")


def by_value(flows: int, rate_mbps: int, packets: int) -> Work:
    """NewReno flows with eight round-trip times and a queue of 50 ms."""
    rate_bps = rate_mbps * 10**6
    limit = max(20, rate_bps // 20 // (8 * MTU_BYTES))
    links = [
        {
            "a": f"source-{k}",
            "b": "router",
            "forward": {"delay": f"{5 + 2 * k}ms"},
            "reverse": {"delay": f"{10 + 4 * k}ms"},
        }
        for k in range(8)
    ]
    links += [
        {"a": f"sink-{k}", "b": "far", "reverse": {"delay": f"{5 + 2 * k}ms"}} for k in range(8)
    ]
    # A transmitter holds one packet besides its queue.
    bottleneck = {"rate": f"{rate_mbps}mbit", "qdisc": f"pfifo limit {limit - 1}"}
    links.append({"a": "router", "b": "far", "overhead": "none", "forward": bottleneck})
    tcp = {
        "profile": "rfc",
        "congestion_control": "reno",
        "sack": False,
        "timestamps": False,
        "delayed_ack": False,
        "hystart": False,
        "min_rto": "200ms",
        "send_buffer": LARGE_BUFFER,
        "receive_window": LARGE_BUFFER,
    }
    described = [
        greedy(
            f"flow-{n}", f"source-{n % 8}", f"sink-{n % 8}", tcp,
            start=f"{n * 1_000_003 % 100_000_000}ns",
        )
        for n in range(flows)
    ]  # fmt: skip
    name = f"reno-{flows}x-{rate_mbps}mbit"
    duration_s = packets * 8 * MTU_BYTES / rate_bps
    experiment = {
        "name": name,
        "duration": f"{duration_s:g}s",
        "links": links,
        "flows": described,
    }
    return Work(name, Experiment.model_validate(experiment), "router->far")


def window(packets_in_flight: int, packets: int) -> Work:
    """One CUBIC flow with a bandwidth-delay product, and a queue, of `packets` packets."""
    rate_bps = packets_in_flight * 8 * 1514 / 20e-3
    link = {
        "a": "sender",
        "b": "receiver",
        "delay": "10ms",
        "forward": {"rate": f"{rate_bps:.0f}bit", "qdisc": f"pfifo limit {packets_in_flight}"},
    }
    tcp = {
        "congestion_control": "cubic",
        "hystart": False,
        "send_buffer": LARGE_BUFFER,
        "receive_window": LARGE_BUFFER,
    }
    name = f"window-{packets_in_flight}"
    experiment = {
        "name": name,
        "duration": f"{packets * 8 * 1514 / rate_bps:g}s",
        "links": [link],
        "flows": [greedy("flow", "sender", "receiver", tcp)],
    }
    return Work(name, Experiment.model_validate(experiment), "sender->receiver")


def rrul(duration_s: float = 60) -> Work:
    """Four CUBIC flows each way over 100 Mbit/s and fq_codel, and two pings: Flent's RRUL."""
    link = {
        "a": "client",
        "b": "server",
        "delay": "10ms",
        "rate": "100mbit",
        "qdisc": "fq_codel",
    }
    tcp = {"congestion_control": "cubic"}
    flows = [greedy(f"up-{n}", "client", "server", tcp) for n in range(4)]
    flows += [greedy(f"down-{n}", "server", "client", tcp) for n in range(4)]
    probes = [
        {"name": kind, "kind": kind, "from": "client", "to": "server", "interval": "100ms"}
        for kind in ("ping", "udp")
    ]
    experiment = {
        "name": "rrul",
        "duration": f"{duration_s:g}s",
        "sample_interval": "100ms",
        "links": [link],
        "flows": flows,
        "probes": probes,
    }
    return Work("rrul", Experiment.model_validate(experiment), "client->server")


def hops(flows: int, links: int, packets: int) -> Work:
    """`flows` CUBIC flows over a line of links each way, 10 ms there; 100 Mbit/s in the middle."""
    hosts = [f"host-{n}" for n in range(links + 1)]
    middle = links // 2
    described = [
        {
            "a": hosts[n],
            "b": hosts[n + 1],
            "delay": f"{10 / links:.4f}ms",
            "rate": "100mbit" if n == middle else "1gbit",
            "forward": {"qdisc": "pfifo limit 170" if n == middle else "pfifo limit 1000"},
        }
        for n in range(links)
    ]
    experiment = {
        "name": f"cubic-{flows}x-{links}-links",
        "duration": f"{packets * 8 * 1514 / 100e6:g}s",
        "links": described,
        "flows": [
            greedy(f"flow-{n}", hosts[0], hosts[-1], {}, start_jitter="100ms") for n in range(flows)
        ],
    }
    bottleneck = f"{hosts[middle]}->{hosts[middle + 1]}"
    return Work(f"cubic-{flows}x-{links}-links", Experiment.model_validate(experiment), bottleneck)


def crowd(flows: int, packets: int) -> Work:
    """`flows` CUBIC flows of 1 Mbit/s each over one bottleneck, 50 ms."""
    return _together(f"crowd-{flows}", flows, packets, 50, "1s")


def rush(flows: int, packets: int) -> Work:
    """A crowd that begins at once: its host's queue has more segments than its limit in packets."""
    return _together(f"rush-{flows}", flows, packets, 20, "10ms")


def _together(name: str, flows: int, packets: int, buffer_ms: int, start_jitter: str) -> Work:
    rate_bps = flows * 10**6
    limit = max(20, rate_bps * buffer_ms // 1000 // (8 * MTU_BYTES))
    link = {
        "a": "sender",
        "b": "receiver",
        "delay": "25ms",
        "forward": {"rate": f"{flows}mbit", "qdisc": f"pfifo limit {limit}"},
    }
    described = [
        greedy(f"flow-{n}", "sender", "receiver", {}, start_jitter=start_jitter)
        for n in range(flows)
    ]
    experiment = {
        "name": name,
        "duration": f"{1 + packets * 8 * MTU_BYTES / rate_bps:g}s",
        "links": [link],
        "flows": described,
    }
    return Work(name, Experiment.model_validate(experiment), "sender->receiver")


def tree(branches: int, packets: int) -> Work:
    """A tree of three tiers, a CUBIC flow of 1 Mbit/s from each leaf to the sink below its root."""
    tiers = [["root"]]
    links: list[dict[str, Any]] = []
    for depth, delay in enumerate(("5ms", "10ms", "20ms"), start=1):
        tiers.append([f"{depth}-{n}" for n in range(branches**depth)])
        links += [
            {"a": host, "b": tiers[depth - 1][n // branches], "rate": "1gbit", "delay": delay}
            for n, host in enumerate(tiers[depth])
        ]
    leaves = tiers[-1]
    rate_bps = len(leaves) * 10**6
    limit = max(20, rate_bps // 20 // (8 * MTU_BYTES))
    queue = {"rate": f"{len(leaves)}mbit", "qdisc": f"pfifo limit {limit}"}
    links.append({"a": "root", "b": "sink", "delay": "1ms", "forward": queue})
    name = f"tree-{sum(len(tier) for tier in tiers) + 1}"
    experiment = {
        "name": name,
        "duration": f"{1 + packets * 8 * MTU_BYTES / rate_bps:g}s",
        "links": links,
        "flows": [greedy(f"flow-{host}", host, "sink", {}, start_jitter="1s") for host in leaves],
    }
    return Work(name, Experiment.model_validate(experiment), "root->sink")
