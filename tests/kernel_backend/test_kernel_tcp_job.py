"""What a guest is told about TCP; no kernel is needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kernel_samples import EXPONENTIAL, network, ping

from dumbbell.backends.kernel.backend import socket_bytes
from dumbbell.backends.kernel.job import check_kernel_can, job, links_of_hosts, watched_packets
from dumbbell.errors import SpecError
from dumbbell.spec import Resolved

TOOLS = {"ip": "/sbin/ip", "tc": "/sbin/tc"}


def flows(*settings: dict[str, Any]) -> list[dict[str, Any]]:
    ends = {"from": "sender", "to": "receiver", "source": {"kind": "greedy"}}
    return [{"name": f"flow-{i}", **ends, "tcp": tcp} for i, tcp in enumerate(settings)]


def told(**changes: Any) -> dict[str, Any]:
    experiment = network(link={"rate": "10mbit"}, **changes)
    text: dict[str, Any] = json.loads(job(experiment.resolved_json(), 0, Path("/out"), TOOLS))
    return text


def lines(**changes: Any) -> list[str]:
    """Of `ip` and `tc`, behind the host."""
    experiment = network(link={"rate": "10mbit"}, **changes)
    _, links = links_of_hosts(experiment.resolved_json())
    of_ip = [f"h{host}: {link.line}" for host, of in enumerate(links) for link in of]
    steps = told(**changes)["steps"]
    return of_ip + [f"h{step['host']}: {line}" for step in steps for line in step["lines"]]


@pytest.mark.parametrize(
    ("first", "second", "path"),
    [
        ({"profile": "rfc"}, {}, "flows[0].tcp.profile"),
        ({"ack_every": 4}, {}, "flows[0].tcp.ack_every"),
        ({"congestion_control": "bbr", "pacing": False}, {}, "flows[0].tcp.pacing"),
        ({"ecn": "accurate"}, {}, "flows[0].tcp.ecn"),
        ({"sack": False}, {}, "flows[1].tcp.sack"),
        ({}, {"hystart": False}, "flows[1].tcp.hystart"),
        ({}, {"initial_window": 2}, "flows[1].tcp.initial_window"),
    ],
)
def test_what_the_kernel_has_not_or_not_apart_is_refused(
    first: dict[str, Any], second: dict[str, Any], path: str
) -> None:
    with pytest.raises(SpecError) as refused:
        check_kernel_can(network(flows=flows(first, second)).resolved())
    assert refused.value.path == path


def test_flows_with_other_controllers_may_differ_where_sockets_differ() -> None:
    settings = [{"congestion_control": "bbr"}, {"pacing": True}, {"send_buffer": "64kb"}]
    check_kernel_can(network(flows=flows(*settings)).resolved())


def test_routes_carry_what_a_socket_cannot_be_told() -> None:
    tcp = {"initial_window": 3, "min_rto": "50ms"}
    found = lines(flows=flows(tcp))
    route = "route replace 10.10.2.2/32 via 10.10.1.2 dev eth1 initcwnd 3 rto_min 50ms"
    assert f"h0: {route}" in found
    assert "h2: route replace 10.10.1.1/32 via 10.10.2.1 dev eth1" in found
    found = lines(flows=flows({"delayed_ack": False}))
    assert "h2: route replace 10.10.1.1/32 via 10.10.2.1 dev eth1 quickack 1" in found


def test_hosts_have_the_settings_of_their_flows() -> None:
    text = told(flows=flows({"ecn": True, "rack": False}))
    (sender, router, receiver) = (
        {each["path"]: each["value"] for each in settings} for settings in text["host_sysctl"]
    )
    assert sender == receiver
    assert sender["net/ipv4/tcp_ecn"] == "1"
    assert (sender["net/ipv4/tcp_recovery"], sender["net/ipv4/tcp_early_retrans"]) == ("0", "0")
    assert router == {}


def test_a_queue_is_watched_where_no_schedule_tells_when_packets_come() -> None:
    watched = told(flows=flows({}))["watched"]
    expected = {"queue": 2, "host": 1, "device": "eth2", "copies": "see-eth2"}
    assert watched == [expected]
    assert told(source=EXPONENTIAL, probes=[ping()])["watched"] == []
    found = lines(flows=flows({}))
    copy = "matchall action mirred egress mirror dev see-eth2"
    assert f"h1: filter add dev eth2 egress {copy}" in found


def test_a_narrower_link_behind_is_told_to_the_sender() -> None:
    link = {"mtu": "1000B"}
    experiment = network(link=link, flows=flows({}))
    _, links = links_of_hosts(experiment.resolved_json())
    found = [link.line for of in links for link in of]
    assert any(line.endswith("dev eth1 mtu 1000") and "10.10.2.2" in line for line in found)


def test_a_guest_has_memory_for_the_sockets_of_its_flows() -> None:
    def flow(source: dict[str, object], transport: str = "tcp") -> dict[str, object]:
        return {"transport": transport, "source": source}

    greedy, loop = flow({"kind": "greedy"}), flow({"kind": "closed_loop"})
    small, large = (flow({"kind": "sized", "bytes": size}) for size in (20_000, 10**9))
    datagrams = flow({"kind": "poisson"}, "udp")
    assert socket_bytes(Resolved({"flows": [greedy, large]})) == 2 * 6 * 2**20
    assert socket_bytes(Resolved({"flows": [loop, small, datagrams]})) == 2**20 + 40_000
    assert socket_bytes(Resolved({"flows": [greedy] * 10_000})) == 4 * 2**30


def test_a_guest_has_memory_for_the_packets_that_are_looked_at() -> None:
    """The access link's 1 Gbit/s does not count behind 10 Mbit/s: 20 s of packets of 700 bytes."""
    hops = [{"forward": {"rate": "1gbit"}}, {"forward": {"rate": "10mbit"}}]
    flow = {"kind": "greedy"}
    most = watched_packets(network(source=flow, hops=hops).resolved())
    assert most == 2 * int(20 * 10e6 / 8 / 700)
    plain = {"kind": "cbr", "rate": "100pps", "size": "512B"}
    assert watched_packets(network(source=plain, hops=[{}, hops[1]]).resolved()) == 0
    pressed = {"kind": "cbr", "rate": "50000pps", "size": "1000B"}
    seen = watched_packets(network(source=pressed, hops=hops).resolved())
    assert 20 * 50_000 <= seen / 2 <= 1.3 * 20 * 50_000  # 400 Mbit/s come to the first queue
    changed = {"rate": "10mbit", "changes": [{"at": "5s", "rate": "20mbit"}]}
    faster = watched_packets(network(source=flow, hops=[{}, {"forward": changed}]).resolved())
    assert faster == int(20 * 20e6 / 8 / 700)
