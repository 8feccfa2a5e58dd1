"""Names, addresses and routes of hosts as one logs in to them; no kernel is needed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dumbbell.backends.kernel.job import job, links_of_hosts
from dumbbell.backends.kernel.login import MOST_HOSTS, Login, hosts_file, subnet_routes
from dumbbell.errors import SpecError
from dumbbell.spec import Experiment
from dumbbell.spec.topology import Topology

CHAIN = Topology(("client", "router", "server"), (("client", "router"), ("router", "server")))
RING = Topology(("a", "b", "c"), (("a", "b"), ("b", "c"), ("a", "c")))
TOOLS = {"ip": "/sbin/ip", "tc": "/sbin/tc"}


def routes(topology: Topology) -> list[tuple[str, str]]:
    return [(host, route.line) for host, route in subnet_routes(topology)]


def test_names_are_those_of_a_testbed() -> None:
    assert hosts_file(CHAIN, "client").splitlines() == [
        "127.0.0.1\tlocalhost",
        "10.10.1.1\tclient-link-0 client",
        "10.10.1.2\trouter-link-0 router",
        "10.10.2.1\trouter-link-1",
        "10.10.2.2\tserver-link-1 server",
    ]


def test_a_host_of_several_links_has_the_address_it_is_reached_by_first() -> None:
    lines = hosts_file(RING, "c").splitlines()
    assert lines[1:3] == ["10.10.3.1\ta-link-2 a", "10.10.1.1\ta-link-0"]
    assert hosts_file(RING, "b").splitlines()[1] == "10.10.1.1\ta-link-0 a"


def test_a_host_without_a_way_has_no_name_elsewhere() -> None:
    apart = Topology(("a", "b", "alone"), (("a", "b"),))
    assert "alone" not in hosts_file(apart, "a")
    assert "127.0.1.1\talone" in hosts_file(apart, "alone")
    assert list(subnet_routes(apart)) == []


def test_every_network_is_reached_by_its_nearer_end() -> None:
    assert routes(CHAIN) == [
        ("client", "route replace 10.10.2.0/24 via 10.10.1.2 dev eth1"),
        ("server", "route replace 10.10.1.0/24 via 10.10.2.1 dev eth1"),
    ]
    # From a, both ends of b-c are one hop away: the link's first end is taken.
    assert ("a", "route replace 10.10.2.0/24 via 10.10.1.2 dev eth1") in routes(RING)


def test_only_who_asks_for_it_gets_hosts_to_log_in_to(tmp_path: Path) -> None:
    text = Experiment.model_validate(
        {"name": "x", "duration": "1s", "links": [{"a": "client", "b": "server"}]}
    ).resolved_json()
    without = json.loads(job(text, 0, tmp_path, TOOLS))
    assert "login" not in without
    assert "shell" not in without
    made = json.loads(job(text, 0, tmp_path, TOOLS, login=Login(tmp_path / "homes")))
    assert made["login"]["names"] == ["client", "server"]
    assert made["login"]["homes"] == str(tmp_path / "homes")
    shown = made["login"]["shown"]
    assert not [path for path in shown if path.startswith(("/home", "/root", "/etc/shadow"))]
    assert "/etc" not in shown
    assert {"path": "net/ipv4/ip_default_ttl", "value": "64"} in made["sysctl"]


def test_who_types_sends_one_by_one_where_bursts_would_be_too_fast(tmp_path: Path) -> None:
    """tc counts an overhead once a burst; nobody's TCP has a key that says so there."""
    hops = [
        {"a": "client", "b": "router", "forward": {"rate": "10mbit", "overhead": "wire"}},
        {"a": "router", "b": "server", "overhead": "wire"},
    ]
    text = Experiment.model_validate({"name": "x", "duration": "1s", "links": hops}).resolved_json()

    def segments(login: Login | None) -> list[str]:
        _, links = links_of_hosts(text, login)
        lines = [link.line for of in links for link in of]
        return [line.split()[5] for line in lines if "gso_max_segs" in line]

    assert segments(None) == ["65535"] * 4
    # That of the one end with a rate.
    assert segments(Login(tmp_path / "homes")) == ["1", "65535", "65535", "65535"]


def test_too_many_hosts_are_refused() -> None:
    names = tuple(f"h{index}" for index in range(MOST_HOSTS + 1))
    with pytest.raises(SpecError, match=f"at most {MOST_HOSTS} hosts"):
        Login(Path("/homes")).for_guest(Topology(names, ()))
