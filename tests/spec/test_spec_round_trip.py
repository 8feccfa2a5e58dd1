"""The round trip of an empty path, and the source whose times follow from it."""

from __future__ import annotations

from typing import Any

import pytest

from dumbbell.backends import simulate
from dumbbell.errors import SpecError
from dumbbell.metrics import base_rtts_s
from dumbbell.spec import Experiment, Resolved
from dumbbell.spec.round_trip import RoundTrip

SLOW_BACK = {"rate": "1mbit", "delay": "3ms"}
"""Towards the client."""
LATER = [{"at": "2s", "delay": "50ms", "rate": "100kbit"}, {"at": "4s", "delay": "7ms"}]


def described(**more: Any) -> Experiment:
    """A client, a router and a server: 12 ms there, 5 back."""
    return Experiment.read(
        {
            "duration": "9s",
            "links": [
                {"a": "client", "b": "router", "delay": "2ms"},
                {
                    "a": "router",
                    "b": "server",
                    "overhead": "10B",
                    "forward": {"rate": "8mbit", "delay": "10ms"},
                    "reverse": SLOW_BACK,
                },
            ],
            "flows": [
                {"name": "f", "from": "client", "to": "server", "source": {"kind": "iperf3"}}
            ],
            **more,
        }
    )


def between(experiment: Experiment, at_ns: int = 0) -> RoundTrip:
    return RoundTrip.between(Resolved(experiment.resolved()), "client", "server", at_ns)


def rest_after_ns(experiment: Experiment) -> int:
    found: int = experiment.resolved()["flows"][0]["source"]["rest_after_ns"]
    return found


def test_delays_of_both_ways_add_up() -> None:
    there = between(described())
    back = RoundTrip.between(Resolved(described().resolved()), "server", "client")
    assert there.propagation_ns == back.propagation_ns == 17_000_000
    assert base_rtts_s(simulate(described())).tolist() == [0.017]


def test_a_transmitter_takes_its_time_for_each_packet() -> None:
    """90 and 10 bytes at 8 Mbit/s there, 40 and 10 at 1 Mbit/s back; links without a rate none."""
    there = between(described())
    assert there.transmission_ns(there_bytes=[90], back_bytes=[40]) == 100_000 + 400_000
    without_rate = between(described(links=[{"a": "client", "b": "server"}]))
    assert without_rate.transmission_ns(there_bytes=[90], back_bytes=[40]) == 0


def test_what_netem_delays_is_part_of_it() -> None:
    queue = "tbf rate 1mbit burst 10kb limit 40kb"
    links: list[dict[str, Any]] = [
        {"a": "client", "b": "router", "forward": {"qdisc": "netem delay 20ms"}},
        {"a": "router", "b": "server", "delay": "1ms", "qdisc": queue},
    ]
    assert between(described(links=links)).propagation_ns == 22_000_000


@pytest.mark.parametrize(("at_s", "propagation_ms"), [(0, 10), (2, 55), (3, 55), (4, 12)])
def test_changes_count_from_their_instant(at_s: int, propagation_ms: int) -> None:
    forward = {"delay": "5ms", "rate": "1mbit", "changes": LATER}
    link = {"a": "client", "b": "server", "forward": forward, "reverse": {"delay": "5ms"}}
    found = between(described(links=[link]), at_s * 10**9)
    assert found.propagation_ns == propagation_ms * 10**6
    wire_bits = 8 * (100 + found.there[0].overhead_bytes)
    rate_bps = 10**6 if at_s < 2 else 10**5
    took_ns = wire_bits * 10**9 // rate_bps
    assert found.transmission_ns(there_bytes=[100]) == took_ns


def test_iperf3_is_greedy_with_a_cookie_and_the_rest_two_round_trips_later() -> None:
    """SYN and SYN-ACK, an acknowledgement and the cookie, and the server's word; 0.25 ms for it."""
    (flow,) = described().resolved()["flows"]
    there_ns = 1000 * (60 + 10) + 1000 * (52 + 10) + 1000 * (89 + 10)
    back_ns = 8000 * (60 + 10) + 8000 * (53 + 10)
    rest_ns = 2 * 17_000_000 + there_ns + back_ns + 250_000
    assert flow["transport"] == "tcp"
    assert flow["source"] == {
        "kind": "greedy",
        "first_write_bytes": 37,
        "rest_after_ns": rest_ns,
        "write_size_bytes": 128 * 1024,
    }


def test_without_a_handshake_the_rest_is_a_round_trip_earlier() -> None:
    flow = {"name": "f", "from": "client", "to": "server", "source": {"kind": "iperf3"}}
    other = described(flows=[{**flow, "tcp": {"handshake": False}}])
    there_ns, back_ns = 1000 * (60 + 10) + 1000 * (52 + 10), 8000 * (60 + 10)
    assert rest_after_ns(described()) - rest_after_ns(other) == 17_000_000 + there_ns + back_ns


def test_every_flow_has_the_times_of_its_own_path_at_its_start() -> None:
    links = [
        {"a": "near", "b": "router", "delay": "1ms"},
        {"a": "far", "b": "router", "delay": "40ms"},
        {"a": "router", "b": "server", "forward": {"delay": "2ms", "changes": LATER}},
    ]
    source = {"kind": "iperf3", "write_size": "1000B"}
    flows = [
        {"name": name, "from": host, "to": "server", "start": start, "source": source}
        for name, host, start in (("n", "near", "0s"), ("f", "far", "0s"), ("l", "near", "3s"))
    ]
    sources = [each["source"] for each in described(links=links, flows=flows).resolved()["flows"]]
    assert [each["rest_after_ns"] // 10**6 for each in sources[:2]] == [8, 164]
    assert sources[2]["rest_after_ns"] > 104 * 10**6
    assert {each["write_size_bytes"] for each in sources} == {1000}


def test_what_it_resolved_to_is_written_as_greedy() -> None:
    resolved = described().resolved()
    again = Experiment.from_resolved(resolved)
    assert again.flows[0].source.kind == "greedy"
    assert again.resolved() == resolved


def test_it_goes_over_tcp_only_and_is_told_so() -> None:
    flow = {"name": "f", "from": "client", "to": "server", "source": {"kind": "iperf3"}}
    with pytest.raises(SpecError, match=r"flows\[0\]\.transport"):
        described(flows=[{**flow, "transport": "udp"}])
