"""The same arrivals through the simulator's discipline and through the kernel's own.

A recorded trace overloads the queue, in bursts and for long, and leaves it idle. The same packets
must be dropped, and the others leave at the same instants: within 2 microseconds, since the guest's
clock ticks in 256 ns and a packet costs a few readings of it.

A further discipline is a line in `DETERMINISTIC`.
"""

from __future__ import annotations

from bisect import bisect
from typing import Any

import numpy as np
import pytest
from kernel_samples import network
from numpy.typing import NDArray

from dumbbell.backends import simulate
from dumbbell.spec import Experiment
from dumbbell.tables import Run

pytestmark = pytest.mark.usefixtures("kernel")

Ints = NDArray[np.int64]

QUEUE = "router->receiver"
LATE_NS = 2_000
TIE_US = 12
"""Of a transmitter on the kernel, an htb with a burst of one byte: 8 us at 1 Mbit/s."""
DEQUEUED, DROPPED = 1, 2

DSCPS = (0, 4, 2)
"""Of the three flows, TOS 0x00, 0x10 and 0x08: best effort, interactive and bulk."""
PORTS = (80, 443, 5201)
"""Of the three flows, where filters look at ports."""
FEWER_BANDS = (0, 4, 46)
"""Of pfifo_fast, whose bands take 1000 packets each: the first and the third share one."""

_HTB = """
root handle 1: htb default 20
class add parent 1: classid 1:1 htb rate 1mbit burst 2kb cburst 2kb
class add parent 1:1 classid 1:10 htb rate 400kbit ceil 1mbit burst 2kb cburst 2kb quantum 1514
class add parent 1:1 classid 1:20 htb rate 200kbit ceil 1mbit burst 2kb cburst 2kb {second}
class add parent 1:1 classid 1:30 htb rate 100kbit ceil 300kbit burst 2kb cburst 2kb quantum 1514
filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0x10 0xfc flowid 1:10
filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0x08 0xfc flowid 1:30
qdisc add parent 1:10 pfifo limit 8
qdisc add parent 1:20 bfifo limit 8kb
qdisc add parent 1:30 pfifo limit 5
"""

_UNDER_NETEM = _HTB.format(second="quantum 1514").replace("root", "parent 7:1")

_DRR = """
root handle 1: drr
class add parent 1: classid 1:1 drr quantum 300
class add parent 1: classid 1:2 drr quantum 1514
class add parent 1: classid 1:3 drr quantum 700
filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0x10 0xfc flowid 1:1
filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0x08 0xfc flowid 1:2
filter add parent 1: prio 2 matchall flowid 1:3
parent 1:1 pfifo limit 5
parent 1:2 bfifo limit 6kb
parent 1:3 codel limit 6 target 20ms
"""


def _hfsc(first: str, second: str, third: str, limit: str = "", of_third: str = "") -> str:
    """A tree whose leaves have curves of these kinds: concave, convex and linear."""
    return f"""
root handle 1: hfsc default 20
class add parent 1: classid 1:1 hfsc ls m2 800kbit{limit}
class add parent 1:1 classid 1:10 hfsc {first} m1 800kbit d 20ms m2 200kbit
class add parent 1:1 classid 1:20 hfsc {second} m1 100kbit d 30ms m2 400kbit
class add parent 1: classid 1:30 hfsc {third} m2 200kbit{of_third}
filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0x10 0xfc flowid 1:10
filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0x08 0xfc flowid 1:30
qdisc add parent 1:10 pfifo limit 8
qdisc add parent 1:20 bfifo limit 8kb
qdisc add parent 1:30 pfifo limit 5
"""


_RED = "limit 60kb min 2kb max 6kb avpkt 600 burst 6 probability 0.1 bandwidth 1mbit ecn harddrop"
"""Of packets that can be marked it drops by the average alone, whatever the random numbers."""

DETERMINISTIC = {
    "pfifo": {"rate": "1mbit", "qdisc": "pfifo limit 12"},
    "bfifo": {"rate": "1mbit", "qdisc": "bfifo limit 9kb"},
    "tbf": {"qdisc": "tbf rate 1mbit burst 4kb limit 12kb"},
    "tbf by latency": {"qdisc": "tbf rate 999kbit burst 3000 latency 60ms"},
    "tbf with peakrate": {"qdisc": "tbf rate 1mbit burst 8kb limit 12kb peakrate 1.5mbit mtu 1600"},
    "tbf, packets too long": {"qdisc": "tbf rate 1mbit burst 900 limit 12kb"},
    "tbf over pfifo": {
        "qdisc": "root handle 1: tbf rate 1mbit burst 4kb limit 1; parent 1:1 pfifo limit 9"
    },
    "police": {"rate": "2mbit", "police": "police rate 1mbit burst 4kb drop"},
    "police, two buckets": {
        "qdisc": "pfifo",
        "police": "police rate 1mbit burst 16kb mtu 2kb peakrate 2mbit drop",
    },
    "codel": {"rate": "1mbit", "qdisc": "codel"},
    "codel, limited": {"rate": "1mbit", "qdisc": "codel limit 20 target 2ms interval 20ms"},
    "fq": {
        "rate": "1mbit",
        "qdisc": "fq limit 30 flow_limit 12 quantum 1000 initial_quantum 3000 refill_delay 3ms",
    },
    "fq maxrate": {
        "qdisc": "fq maxrate 300kbit flow_limit 12 quantum 1000 initial_quantum 3000 timer_slack 0",
    },
    "fq maxrate, packet by packet": {
        "qdisc": "fq maxrate 350kbit low_rate_threshold 400kbit limit 25 quantum 600 "
        "initial_quantum 0 timer_slack 0",
    },
    "tbf over fq": {
        "qdisc": "root handle 1: tbf rate 1mbit burst 4kb limit 1;"
        "parent 1:1 fq limit 12 quantum 1000 initial_quantum 3000",
    },
    "fq_codel, one flow": {"rate": "1mbit", "qdisc": "fq_codel limit 60 drop_batch 8"},
    "codel ecn": {"rate": "1mbit", "qdisc": "codel limit 25 ecn target 2ms interval 20ms"},
    "codel noecn": {"rate": "1mbit", "qdisc": "codel limit 25 noecn target 2ms interval 20ms"},
    "red, forced": {"rate": "1mbit", "qdisc": f"red {_RED}"},
    "red, limited": {
        "rate": "1mbit",
        "qdisc": "red limit 9kb min 2kb max 6kb avpkt 600 burst 6 bandwidth 1mbit ecn",
    },
    "tbf over red": {
        "qdisc": f"root handle 1: tbf rate 1mbit burst 2kb limit 1; parent 1:1 red {_RED}"
    },
    "prio of red": {
        "rate": "1mbit",
        "qdisc": f"root handle 1: prio; parent 1:1 red {_RED}; parent 1:2 red {_RED};"
        "parent 1:3 pfifo limit 4",
    },
    "sfb, full bins": {"rate": "1mbit", "qdisc": "sfb max 6 target 6 increment 0"},
    "sfb, limited": {"rate": "1mbit", "qdisc": "sfb limit 9 max 50 increment 0"},
    # Probabilities of 0 and 1 alone.
    "sfb, no penalty rate": {
        "rate": "1mbit",
        "qdisc": "sfb target 5 max 9 increment 1 decrement 1 penalty_rate 0",
    },
    "sfb over bfifo": {
        "rate": "1mbit",
        "qdisc": "root handle 1: sfb max 9 increment 0; parent 1:1 bfifo limit 9kb",
    },
    "tbf over sfb": {
        "qdisc": "root handle 1: tbf rate 1mbit burst 4kb limit 1;"
        "parent 1:1 sfb target 5 max 9 increment 1 decrement 1 penalty_rate 0"
    },
    "netem rate": {"qdisc": "netem rate 1mbit limit 9"},
    "netem over tbf": {
        "qdisc": "root handle 1: netem delay 4ms limit 9;"
        "parent 1:1 handle 2: tbf rate 1mbit burst 4kb limit 9kb"
    },
    "netem over htb": {"qdisc": "root handle 7: netem delay 4ms;" + _UNDER_NETEM},
    "netem rate and delay": {"qdisc": "netem rate 1mbit 20 100 5 delay 4ms limit 15"},
    # Distances of whole ticks of the guest's clock: a slot counts from when the last was full.
    "netem in slots of packets": {"qdisc": "netem delay 3ms limit 15 slot 20ms packets 4"},
    "netem in slots of bytes": {"qdisc": "netem limit 15 slot 16ms bytes 2100"},
    "netem in slots, over tbf": {
        "qdisc": "root handle 1: netem limit 25 slot 15ms packets 6;"
        "parent 1:1 handle 2: tbf rate 1mbit burst 4kb limit 9kb"
    },
    "pfifo_fast": {"rate": "150kbit", "qdisc": "pfifo_fast"},
    "tbf over pfifo_fast": {
        "qdisc": "root handle 1: tbf rate 150kbit burst 4kb limit 1; parent 1:1 pfifo_fast"
    },
    "tbf over codel": {
        "qdisc": "root handle 1: tbf rate 1mbit burst 4kb limit 1;"
        "parent 1:1 codel limit 12 target 20ms"
    },
    "tbf over fq_codel, one flow": {
        "qdisc": "root handle 1: tbf rate 1mbit burst 4kb limit 1;"
        "parent 1:1 fq_codel limit 12 drop_batch 3 target 20ms"
    },
    "tbf over netem": {
        "qdisc": "root handle 1: tbf rate 1mbit burst 4kb limit 1;"
        "parent 1:1 netem limit 12 delay 3ms"
    },
    "tbf over prio of codel": {
        "qdisc": "root handle 1: tbf rate 1mbit burst 4kb limit 1; parent 1:1 handle 2: prio;"
        "parent 2:1 codel limit 5; parent 2:2 codel limit 6 target 20ms; parent 2:3 pfifo limit 4"
    },
    "tbf over prio": {
        "qdisc": "root handle 1: tbf rate 1mbit burst 4kb limit 1; parent 1:1 handle 2: prio;"
        "parent 2:1 pfifo limit 5; parent 2:2 pfifo limit 6; parent 2:3 bfifo limit 3kb"
    },
    "prio": {
        "rate": "1mbit",
        "qdisc": "root handle 1: prio bands 4 priomap 1 1 1 1 1 1 0 1 1 1 1 1 1 1 1 1;"
        "filter add parent 1: u32 match ip dsfield 0x08 0xff flowid 1:4;"
        "parent 1:1 pfifo limit 5; parent 1:2 pfifo limit 6; parent 1:4 bfifo limit 3kb",
    },
    "prio by ports": {
        "rate": "1mbit",
        "qdisc": "root handle 1: prio;"
        "filter add parent 1: protocol ip prio 1 u32 match ip dport 443 0xffff flowid 1:1;"
        "filter add parent 1: protocol ip prio 2 flower ip_proto udp dst_port 80-90 flowid 1:3;"
        "parent 1:1 pfifo limit 5; parent 1:2 pfifo limit 6; parent 1:3 bfifo limit 3kb",
    },
    "ets": {
        "rate": "1mbit",
        "qdisc": "root handle 1: ets bands 4 strict 1 quanta 300 1514 priomap 1 1 2 1 1 1 0;"
        "filter add parent 1: u32 match ip dsfield 0x08 0xff flowid 1:4;"
        "parent 1:1 pfifo limit 5; parent 1:2 pfifo limit 6; parent 1:4 bfifo limit 3kb",
    },
    "tbf over ets of codel": {
        "qdisc": "root handle 1: tbf rate 1mbit burst 4kb limit 1; parent 1:1 handle 2: ets"
        " quanta 1514 500 900 priomap 0 1 2 0 0 0 1; parent 2:1 codel limit 5;"
        "parent 2:2 codel limit 6 target 20ms; parent 2:3 pfifo limit 4"
    },
    "drr": {"rate": "1mbit", "qdisc": _DRR},
    "tbf over drr": {
        "qdisc": "root handle 8: tbf rate 1mbit burst 4kb limit 1;"
        + _DRR.replace("root", "parent 8:1")
    },
    "hfsc, real-time": {"rate": "1mbit", "qdisc": _hfsc("rt", "rt", "rt")},
    "hfsc, shared": {"rate": "1mbit", "qdisc": _hfsc("ls", "ls", "ls")},
    "hfsc, both": {"rate": "1mbit", "qdisc": _hfsc("sc", "ls", "sc")},
    "hfsc, limited": {"qdisc": _hfsc("sc", "ls", "ls", " ul m2 1mbit", " ul m2 300kbit")},
    "hfsc, a class limited": {
        "rate": "1mbit",
        "qdisc": _hfsc("ls", "ls", "ls", "", " ul m1 200kbit d 50ms m2 570kbit"),
    },
    "hfsc, no class": {
        "rate": "1mbit",
        "qdisc": _hfsc("sc", "sc", "sc").replace("default 20", "default 99"),
    },
    "cake": {"qdisc": "cake bandwidth 1mbit besteffort flowblind"},
    "cake, tins and cells": {
        "qdisc": "cake bandwidth 1200kbit diffserv8 metro atm overhead 40 mpu 96",
    },
    "cake, PTM, washed": {
        "qdisc": "cake bandwidth 900kbit besteffort flowblind pppoe-ptm rtt 20ms wash"
    },
    "cake ingress": {"qdisc": "cake bandwidth 1mbit besteffort flowblind ingress rtt 20ms"},
    "cake, eight tins": {"qdisc": "cake bandwidth 1mbit diffserv8 docsis regional"},
    "cake unlimited": {"rate": "1mbit", "qdisc": "cake unlimited besteffort flowblind"},
    "htb": {"qdisc": _HTB.format(second="quantum 1514")},
    "htb with prio": {"qdisc": _HTB.format(second="prio 1")},
}


def arrivals() -> tuple[Ints, Ints]:
    """Instants in us and sizes: four spells of 2 s at 0.5, 1.3, 3 and 0.8 of 1 Mbit/s."""
    random = np.random.default_rng(20261121)
    spells = []
    for spell, load in enumerate((0.5, 1.3, 3.0, 0.8)):
        count = int(load * 125_000 * 2 / 550)
        instants = spell * 2.5e6 + np.cumsum(random.exponential(2e6 / count, count))
        spells.append(instants[instants < spell * 2.5e6 + 2e6].astype(np.int64))
    times_us = np.concatenate(spells)
    return apart(times_us), random.integers(60, 1040, len(times_us))


def apart(times_us: Ints) -> Ints:
    """The instants, none nearer than a few microseconds to the one before."""
    steps = 2 * TIE_US * np.arange(len(times_us))
    return np.maximum.accumulate(np.sort(times_us) - steps) + steps


def experiment(times_us: Ints, sizes: Ints, link: dict[str, Any]) -> Experiment:
    """Packets in turn from three flows; of one where fq_codel queues flows apart.

    Sizes on the wire, or, for CoDel and cake, of payload: for the former the kernel's devices have
    an MTU of 65535 bytes, and CoDel drops nothing while no more than an MTU waits, cake's while a
    packet waits for less than its time.
    """
    reckons_with_mtu = any(name in link.get("qdisc", "") for name in ("codel", "cake"))
    dscps = DSCPS[:1] if "fq_codel" in link.get("qdisc", "") else DSCPS
    if "pfifo_fast" in link.get("qdisc", ""):
        dscps = FEWER_BANDS
    flows = []
    for index, dscp in enumerate(dscps):
        own = slice(index, None, len(dscps))
        source = {
            "kind": "replay",
            "size_at": "payload" if reckons_with_mtu else "wire",
            "times": [f"{at}us" for at in times_us[own]],
            "sizes": [f"{size}B" for size in sizes[own]],
        }
        ends = {"from": "sender", "to": "receiver"}
        marking = {"dscp": dscp, "ecn": "ect0" if "ecn" in link.get("qdisc", "") else "not-ect"}
        port = {"port": PORTS[index]} if "dport" in link.get("qdisc", "") else {}
        flows.append({"name": f"flow-{index}", "source": source, **marking, **ends, **port})
    return network(link={**link, "record_packets": True}, duration="12s", flows=flows)


def without_ties(link: dict[str, Any]) -> Experiment:
    """The arrivals, moved until none comes within a few microseconds of a departure.

    There the guest's clock decides which was first, and in front of a full queue that decides what
    is dropped.
    """
    times_us, sizes = arrivals()
    for _ in range(100):
        described = experiment(times_us, sizes, link)
        departures, _ = fates(simulate(described))
        left = sorted((at, packet) for packet, at in departures.items())

        def is_tied(place: int, at_us: int, left: list[tuple[int, int]] = left) -> bool:
            at, tie = at_us * 1000, TIE_US * 1000
            near = left[bisect(left, (at - tie, 0)) : bisect(left, (at + tie, 0))]
            return any(packet != place for _, packet in near)

        tied = [is_tied(place, at) for place, at in enumerate(times_us.tolist())]
        if not any(tied):
            return described
        times_us = apart(times_us + np.array(tied) * TIE_US * (2 + np.arange(len(tied)) % 7))
    raise AssertionError("ties remain")


def fates(run: Run) -> tuple[dict[int, int], set[int]]:
    """Departure in ns by the packet's place among the arrivals, and the places of those dropped."""

    def rows(column: str, event: int) -> Ints:
        return run.column("packets", column, queue=QUEUE, event=event)

    def places(event: int) -> list[int]:
        found: Ints = (rows("seq", event) - 1) * len(run.flow_names) + rows("flow", event)
        return found.tolist()

    departures = dict(zip(places(DEQUEUED), rows("t_ns", DEQUEUED).tolist(), strict=True))
    return departures, set(places(DROPPED))


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_the_same_packets_leave_at_the_same_instants(
    name: str, request: pytest.FixtureRequest
) -> None:
    # Later ones have bands by priority in fq, and other square roots in cake.
    if {"fq", "cake"} & set(name.replace(",", " ").split()):
        request.getfixturevalue("linux_6_1")
    described = without_ties(DETERMINISTIC[name])
    expected, expected_lost = fates(simulate(described))
    found, found_lost = fates(simulate(described, backend="kernel"))
    assert len(expected_lost) > 50
    assert found_lost == expected_lost
    late = np.array([found[packet] - at for packet, at in expected.items()])
    assert -LATE_NS <= late.min() <= late.max() <= LATE_NS
