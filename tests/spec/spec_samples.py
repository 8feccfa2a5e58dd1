"""Experiments for the tests: small ones to bend, and a strategy for any."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))

SMALL: dict[str, Any] = {
    "duration": "10s",
    "links": [{"a": "left", "b": "middle"}, {"a": "middle", "b": "right"}],
    "flows": [
        {
            "name": "stream",
            "from": "left",
            "to": "right",
            "source": {"kind": "poisson", "rate": "110pps", "size": "exponential 512B"},
        }
    ],
    "probes": [{"name": "ping", "from": "left", "to": "right"}],
}


def bent(**changes: Any) -> dict[str, Any]:
    """The small experiment with other values; a key ``a__0__b`` stands for ``a[0].b``."""
    data = copy.deepcopy(SMALL)
    for key, value in changes.items():
        *steps, last = [int(part) if part.isdigit() else part for part in key.split("__")]
        place: Any = data
        for step in steps:
            place = place.setdefault(step, {}) if isinstance(place, dict) else place[step]
        place[last] = value
    return data


times = st.sampled_from(["0s", "1ms", "1.5ms", "17us", "3ns", "2s"])
positive_times = st.sampled_from(["1ms", "250us", "2s", "33ns"])
rates = st.sampled_from(["inf", "1mbit", "6.55mbit", "125kbps", "1gbit", "999bit"])
probabilities = st.floats(0, 1)
sizes = st.sampled_from(["512B", "1kb", "constant 40B", "exponential 512.5B", "uniform 1B 1500B"])
size_laws = st.one_of(
    sizes,
    st.sampled_from(["pareto 1.2 100B", "lognormal 6.2 0.5", "normal 500B 0B", "gamma 2 256B"]),
    st.fixed_dictionaries(
        {"law": st.just("weibull"), "shape": st.floats(0.1, 9), "scale": st.just("1kb")}
    ),
)
gap_laws = st.sampled_from(
    ["10ms", "exponential 110pps", "uniform 0s 7ms", "gamma 0.5 3ms", "lognormal -5 1.5"]
)
qdiscs = st.sampled_from(
    ["pfifo", "pfifo limit 7", "bfifo limit 50kb", "netem rate 1mbit", "netem delay 3ms limit 9"]
)
end = st.fixed_dictionaries(
    {},
    optional={
        "rate": rates,
        "delay": times,
        "mtu": st.sampled_from(["68B", "1500B", "9000B"]),
        "overhead": st.sampled_from(["ethernet", "wire", "ppp", "none", "22B"]),
        "loss": probabilities,
        "loss_every": st.integers(0, 10**6),
        "qdisc": qdiscs,
        "changes": st.lists(
            st.fixed_dictionaries(
                {"delay": times, "loss": probabilities}, optional={"rate": rates}
            ),
            max_size=3,
        ).map(lambda changes: [{"at": f"{i}s", **change} for i, change in enumerate(changes)]),
        "record_packets": st.booleans(),
        "capture": st.booleans(),
        "capture_flows": st.booleans(),
        "tso": st.booleans(),
        "gro": st.sampled_from(["off", "0s", "50us", "1s"]),
    },
)
spaced = st.one_of(
    st.fixed_dictionaries({"rate": st.sampled_from(["110pps", "1.7kpps"])}),
    st.fixed_dictionaries({"gap": positive_times}),
)
size_at = st.fixed_dictionaries({}, optional={"size_at": st.sampled_from(["wire", "payload"])})


def _merged(*tables: st.SearchStrategy) -> st.SearchStrategy:
    return st.tuples(*tables).map(lambda parts: {k: v for part in parts for k, v in part.items()})


def _of(**keys: Any) -> st.SearchStrategy:
    strategies = (st.just(v) if isinstance(v, str) else v for v in keys.values())
    return st.fixed_dictionaries(dict(zip(keys, strategies, strict=True)))


sources = st.one_of(
    _merged(_of(kind="poisson", size=size_laws), spaced, size_at),
    _merged(_of(kind="cbr", size=size_laws), spaced, size_at),
    _merged(_of(kind="renewal", gap=gap_laws, size=size_laws), size_at),
    _merged(_of(kind="bursts", gap=gap_laws, size=size_laws, packets=st.integers(1, 9)), size_at),
    _of(kind="ditg", gap=gap_laws, size=size_laws),
    _of(kind="ditg", gap=gap_laws, size=size_laws, oversleep="exponential 90us"),
    _merged(
        st.lists(st.integers(0, 10**9), max_size=5).map(
            lambda ns: {
                "kind": "replay",
                "times": [f"{t}ns" for t in sorted(ns)],
                "sizes": ["60B"] * len(ns),
            }
        ),
        size_at,
    ),
)


tcp_sources = st.one_of(
    _of(kind="greedy"),
    _of(kind="greedy", write_size=st.sampled_from(["100B", "1448B", "128kb"])),
    _of(kind="greedy", first_write="37B", rest_after=st.sampled_from(["0s", "3ms", "1.5s"])),
    _of(kind="iperf3"),
    _of(kind="iperf3", write_size=st.sampled_from(["100B", "1448B"])),
    _of(kind="sized", size=st.sampled_from(["1B", "100kb", "1gb"])),
    _of(kind="closed_loop", size=size_laws, think=gap_laws),
    _of(kind="arrivals", size=size_laws, gap=gap_laws),
    _merged(_of(kind="poisson", size=size_laws), spaced),
)
cwnd_changes = st.dictionaries(st.integers(0, 10**10), st.integers(1, 100_000), max_size=4).map(
    lambda windows: [{"at": f"{at}ns", "cwnd": windows[at]} for at in sorted(windows)]
)


def _of_its_profile(tcp: dict[str, Any]) -> dict[str, Any]:
    """Bursts are Linux's."""
    return tcp | {"gso_max_segs": 1} if tcp.get("profile") == "rfc" else tcp


tcp_knobs = st.fixed_dictionaries(
    {},
    optional={
        "profile": st.sampled_from(["linux-6.1", "rfc"]),
        "congestion_control": st.sampled_from(["reno", "cubic", "bbr", "manual", "veno"]),
        "cwnd_changes": cwnd_changes,
        "initial_window": st.integers(1, 20),
        "sack": st.booleans(),
        "rack": st.booleans(),
        "timestamps": st.booleans(),
        "delayed_ack": st.booleans(),
        "ack_every": st.integers(1, 4),
        "ecn": st.booleans(),
        "pacing": st.sampled_from([True, False, "auto"]),
        "hystart": st.booleans(),
        "prr": st.sampled_from(["rfc6937", "rfc9937"]),
        "small_queues": st.booleans(),
        "min_rto": times,
        "handshake": st.booleans(),
        "gso_max_segs": st.sampled_from([1, 2, 44, 65535]),
        "send_buffer": st.sampled_from(["4kb", "1mb"]),
        "receive_window": st.sampled_from(["64kb", "6mb"]),
    },
).map(_of_its_profile)
udp_flows = st.fixed_dictionaries({"source": sources})
tcp_flows = st.fixed_dictionaries(
    {"source": tcp_sources, "transport": st.just("tcp")}, optional={"tcp": tcp_knobs}
)


@st.composite
def networks(draw: st.DrawFn) -> tuple[list[str], list[tuple[str, str]]]:
    """Hosts and links between them; every host can be reached, some by several ways."""
    n = draw(st.integers(2, 6))
    hosts = [f"h{i}" for i in range(n)]
    tree = [(hosts[draw(st.integers(0, i - 1))], hosts[i]) for i in range(1, n)]
    pair = st.tuples(st.sampled_from(hosts), st.sampled_from(hosts))
    more = draw(st.lists(pair.filter(lambda p: p[0] != p[1]), max_size=4))
    return hosts, draw(st.permutations(tree + more))


@st.composite
def experiments(draw: st.DrawFn) -> dict[str, Any]:
    """Any experiment that is allowed, as a file would give it."""
    hosts, pairs = draw(networks())
    links = []
    for a, b in pairs:
        link = {"a": a, "b": b, **draw(end)}
        link |= draw(st.fixed_dictionaries({}, optional={"forward": end, "reverse": end}))
        links.append(link)
    two = st.permutations(hosts).map(lambda order: order[:2])
    flows, probes = [], []
    for i in range(draw(st.integers(0, 3))):
        a, b = draw(two)
        flow = {"name": f"flow-{i}", "from": a, "to": b}
        flow |= draw(st.one_of(udp_flows, tcp_flows))
        optional = {"start": times, "start_jitter": times, "dscp": st.sampled_from([0, "EF", 63])}
        flows.append(flow | draw(st.fixed_dictionaries({}, optional=optional)))
    for i in range(draw(st.integers(0, 2))):
        a, b = draw(two)
        optional = {"interval": positive_times, "count": st.integers(1, 9), "start": times}
        optional["kind"] = st.sampled_from(["ping", "udp"])
        probe = {"name": f"probe-{i}", "from": a, "to": b}
        probes.append(probe | draw(st.fixed_dictionaries({}, optional=optional)))
    top = draw(
        st.fixed_dictionaries(
            {"duration": st.sampled_from(["3s", "100s"])},
            optional={
                "warm_up": times,
                "seed": st.integers(0, 2**64 - 1),
                "sample_interval": times,
                "timer_hz": st.sampled_from([100, 250, 1000]),
            },
        )
    )
    return {**top, "links": links, "flows": flows, "probes": probes}
