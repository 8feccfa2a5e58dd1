"""Names of queues, interfaces, and routes that are those the engine takes."""

import itertools

from hypothesis import given, settings
from spec_samples import networks

from dumbbell import _engine
from dumbbell.spec import Experiment
from dumbbell.spec.topology import LINKS_A_NET, Topology


def topology(*pairs: str) -> Topology:
    ends = tuple((pair[0], pair[1]) for pair in pairs)
    return Topology(tuple(sorted({host for pair in ends for host in pair})), ends)


def test_parallel_links_are_numbered() -> None:
    assert topology("ab", "ab", "ba").queue_names == [
        "a->b",
        "b->a",
        "a->b#2",
        "b->a#2",
        "b->a#3",
        "a->b#3",
    ]


def test_a_ring_takes_the_earlier_link_on_ties() -> None:
    ring = topology("ab", "bc", "cd", "da")
    assert ring.route("a", "c") == [0, 2]
    assert ring.route("c", "a") == [3, 1]
    assert ring.route("d", "b") == [5, 3]
    assert ring.route("a", "a") == []


def test_an_island_is_not_reached() -> None:
    islands = topology("ab", "cd")
    assert islands.route("a", "d") is None
    parts = islands.connected()
    assert parts["a"] == parts["b"] != parts["c"] == parts["d"]


def test_interfaces_count_up_on_each_host_and_lie_in_one_network_with_their_peer() -> None:
    star = topology(*(f"r{leaf}" for leaf in "abc")).interfaces
    assert [i.device for i in star if i.host == "r"] == ["eth1", "eth2", "eth3"]
    assert {i.device for i in star if i.host != "r"} == {"eth1"}
    assert (star[2].address, star[2].peer_address) == ("10.10.2.1", "10.10.2.2")
    assert (star[3].address, star[3].peer_address) == ("10.10.2.2", "10.10.2.1")


def test_addresses_are_unique_over_many_links() -> None:
    n = LINKS_A_NET + 2
    many = Topology(("a", "b"), (("a", "b"),) * n).interfaces
    assert len({interface.address for interface in many}) == 2 * n
    assert many[2 * LINKS_A_NET].address == "10.11.1.1"


@settings(max_examples=40, deadline=None)
@given(networks())
def test_routes_are_shortest(network: tuple[list[str], list[tuple[str, str]]]) -> None:
    hosts, pairs = network
    net = Topology(tuple(hosts), tuple(pairs))
    distance = {(a, b): 0 if a == b else len(hosts) for a in hosts for b in hosts}
    for a, b in pairs:
        distance[a, b] = distance[b, a] = 1
    for via, a, b in itertools.product(hosts, hosts, hosts):  # Floyd and Warshall
        distance[a, b] = min(distance[a, b], distance[a, via] + distance[via, b])
    for (a, b), hops in distance.items():
        route = net.route(a, b)
        assert route is not None and len(route) == hops


@settings(max_examples=40, deadline=None)
@given(networks())
def test_the_engine_takes_the_same_routes(
    network: tuple[list[str], list[tuple[str, str]]],
) -> None:
    hosts, pairs = network
    start, end = hosts[0], hosts[-1]
    source = {"kind": "replay", "times": ["0s"], "sizes": ["100B"]}
    experiment = Experiment.read(
        {
            "duration": "1s",
            "hosts": hosts,
            "links": [{"a": a, "b": b} for a, b in pairs],
            "flows": [{"name": "one", "from": start, "to": end, "source": source}],
        }
    )
    (done,) = _engine.simulate([(experiment.resolved_json(), 0)], threads=1)
    arrived = done.take_tables()["queues"]["arrived_pkts"]
    passed = [name for name, n in zip(experiment.queue_names, arrived, strict=True) if n]
    assert passed == sorted(experiment.route(start, end), key=experiment.queue_names.index)
