"""The resolved description read with types: every attribute is that of the JSON."""

from __future__ import annotations

import pytest

from dumbbell.errors import SpecError
from dumbbell.spec import Experiment, Resolved, resolved

TEXT = """
name = "all"
duration = "20s"
warm_up = "2s"
seed = 7
sample_interval = "100ms"
timer_hz = 250
hosts = ["client", "router", "server"]

[[links]]
a = "client"
b = "router"
mtu = "1000B"
overhead = "ppp"
delay = "3ms"
loss = 0.25
reverse = { delay = "4ms", record_packets = true, capture = true }

[[links]]
a = "router"
b = "server"
rate = "8mbit"
qdisc = "tbf rate 1mbit burst 10kb limit 40kb peakrate 2mbit mtu 1600"
police = "rate 3mbit burst 20kb drop"
changes = [{ at = "5s", rate = "4mbit" }]

[[links]]
a = "router"
b = "server"
qdisc = "pie limit 100"

[[flows]]
name = "stream"
from = "client"
to = "server"
start = "1s"
stop = "9s"
start_jitter = "1ms"
dscp = 46
[flows.source]
kind = "ditg"
gap = "exponential 100pps"
size = "constant 512B"
oversleep = "constant 9us"

[[flows]]
name = "transfer"
from = "client"
to = "server"
tcp = { congestion_control = "bbr", initial_window = 3, min_rto = "1s", sack = false }
source = { kind = "sized", size = "1MB" }

[[flows]]
name = "ideal"
from = "router"
to = "server"
source = { kind = "poisson", rate = "10pps", size = "exponential 100B" }

[[probes]]
name = "ping"
from = "server"
to = "client"
interval = "10ms"
count = 3
payload = "100B"
"""


@pytest.fixture(scope="module")
def found() -> Resolved:
    return Resolved(Experiment.from_toml(TEXT).resolved())


def views(found: Resolved) -> list[resolved._View]:
    laws = [found.flow(0).source.gap, found.flow(0).source.size, found.flow(0).source.oversleep]
    queues = [*found.queues]
    qdiscs = [queue.qdisc for queue in queues]
    changes = [change for queue in queues for change in queue.changes]
    police = [queue.police for queue in queues]
    flows = [*found.flows]
    more = [flow.source for flow in flows], [flow.tcp for flow in flows]
    every = [found, *laws, *queues, *qdiscs, *changes, *police, *flows, *found.probes]
    return [each for each in [*every, *more[0], *more[1]] if each is not None]


def test_every_attribute_is_a_key_of_the_description(found: Resolved) -> None:
    """A key that was misspelt or renamed would raise here, or stand at its default everywhere."""
    defaulted: dict[tuple[type, str], bool] = {}
    for view in views(found):
        for kind in type(view).__mro__:
            for name, of in vars(kind).items():
                if isinstance(of, resolved._Key):
                    assert getattr(view, name) == view.mapping[of.key]
                if isinstance(of, resolved._KeyOr):
                    known = defaulted.get((kind, name), False)
                    defaulted[kind, name] = known or of.key in view.mapping
    seen = {key for key, there in defaulted.items() if there}
    # Sources of bursts are the ones with packets, those of transfers may have a number of them.
    others = {(resolved.Source, "packets"), (resolved.Source, "transfers")}
    # Left out of the resolved description where nothing is merged and everything is cut.
    others |= {(resolved.Queue, "tso"), (resolved.Queue, "gro_ns")}
    assert set(defaulted) - seen == others
    bursts = {"kind": "bursts", "packets": 4}
    assert resolved.Source(bursts).packets == 4
    assert resolved.Source({"kind": "arrivals", "transfers": 9}).transfers == 9


def test_offloads_of_a_link() -> None:
    experiment = Experiment.model_validate(
        {
            "duration": "1s",
            "links": [{"a": "x", "b": "y", "tso": True, "forward": {"gro": "50us"}}],
        }
    )
    there, back = Resolved(experiment.resolved()).queues
    assert (there.tso, there.gro_ns, back.tso, back.gro_ns) == (True, 50_000, True, None)
    assert "gro_ns" not in back.mapping


def test_queues_by_name(found: Resolved) -> None:
    assert [queue.name for queue in found.queues] == [
        "client->router",
        "router->client",
        "router->server",
        "server->router",
        "router->server#2",
        "server->router#2",
    ]
    there, back = found.queue("client->router"), found.queue("router->client")
    assert (there.index, there.from_, there.to) == (0, "client", "router")
    assert (back.index, back.from_, back.to) == (1, "router", "client")
    assert (there.delay_ns, back.delay_ns) == (3_000_000, 4_000_000)
    assert (there.capture, back.capture, back.record_packets) == (False, True, True)
    assert found.queue(1) == back
    assert [queue.name for queue in found.route("client", "server")] == [
        "client->router",
        "router->server",
    ]


def test_limits_and_rates(found: Resolved) -> None:
    shaped, aqm = found.queue("router->server"), found.queue("router->server#2")
    assert (shaped.limit_bytes, shaped.limit_pkts) == (40960, None)
    assert (aqm.limit_bytes, aqm.limit_pkts, aqm.qdisc.kind) == (None, 100, "pie")
    assert (shaped.rate_bps, shaped.served_bps, shaped.qdisc.rate_bps) == (
        8_000_000,
        1_000_000,
        1_000_000,
    )
    assert (aqm.served_bps, aqm.passed_bps, shaped.passed_bps) == (0, 0, 1_000_000)
    assert shaped.police is not None
    assert (shaped.police.rate_bps, aqm.police is None) == (3_000_000, True)
    assert [(change.at_ns, change.rate_bps) for change in shaped.changes] == [
        (5_000_000_000, 4_000_000)
    ]
    assert found.queue("client->router").qdisc.is_plain_fifo
    assert not aqm.qdisc.is_plain_fifo


HTB = """
qdisc add dev X root handle 1: htb default DEFAULT
class add dev X parent 1: classid 1:1 htb rate 5mbit ceil 8mbit
class add dev X parent 1:1 classid 1:10 htb rate 1mbit ceil 8mbit
class add dev X parent 1: classid 1:20 htb rate 2mbit
"""
PRIO = """
qdisc add dev X root handle 1: prio bands 2 priomap 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1
qdisc add dev X parent 1:1 tbf rate 1mbit burst 5k limit 50k
"""


@pytest.mark.parametrize(
    ("qdisc", "rate_bps"),
    [
        ("pfifo limit 9", 0),
        ("fq maxrate 5mbit", 0),
        ("netem delay 3ms", 0),
        ("netem rate 3mbit", 3_000_000),
        ("tbf rate 4mbit burst 5k limit 50k", 4_000_000),
        ("tbf rate 4mbit burst 5k limit 50k peakrate 9mbit mtu 1600", 4_000_000),
        # What two classes at the root may reach together; none where some pass unclassified.
        (HTB.replace("DEFAULT", "10"), 10_000_000),
        (HTB.replace("DEFAULT", "1"), 0),
        (HTB.replace("DEFAULT", "0"), 0),
        # One of two bands is held back, then both.
        (PRIO, 0),
        (PRIO + "qdisc add dev X parent 1:2 netem rate 2mbit", 3_000_000),
        (
            "qdisc add dev X root handle 1: tbf rate 4mbit burst 5k limit 50k\n"
            "qdisc add dev X parent 1: netem rate 3mbit",
            3_000_000,
        ),
    ],
)
def test_what_a_discipline_holds_a_queue_to(qdisc: str, rate_bps: int) -> None:
    link = {"a": "x", "b": "y", "forward": {"qdisc": qdisc}, "reverse": {"qdisc": qdisc}}
    for rate, served_bps in (("inf", rate_bps), ("1mbit", 1_000_000), ("1gbit", rate_bps or 10**9)):
        described = {"duration": "1s", "links": [{**link, "rate": rate}]}
        queue = Resolved(Experiment.read(described).resolved()).queue("x->y")
        assert queue.qdisc.shaped_bps == rate_bps
        assert queue.served_bps == queue.passed_bps == served_bps


def test_flows_and_probes(found: Resolved) -> None:
    stream, transfer, _ = found.flows
    assert stream.tcp is None
    assert stream.source.gap is not None
    assert stream.source.gap.parameter("mean") == 0.01
    assert transfer.tcp is not None
    assert transfer.tcp.congestion_control == "bbr"
    assert transfer.source.gap is None
    assert transfer.source.trace == []
    assert found.probe("ping").count == 3


def test_what_is_not_there_is_said_with_what_is(found: Resolved) -> None:
    with pytest.raises(SpecError, match=r"queue: 'router->servers' .* mean 'router->server'"):
        found.queue("router->servers")
    with pytest.raises(
        SpecError, match="flow: '3' is not allowed here; one of stream, transfer, ideal"
    ):
        found.flow(3)
    with pytest.raises(SpecError, match="one of ping"):
        found.probe("pong")
