"""Statements of Flent files about their networks: titles, ``tc``, sysctl, and unusual ones."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from dumbbell.formats.flent import (
    FlentFile,
    StatedQueue,
    TitleFacts,
    said_by_sysctl,
    said_by_tc,
    said_by_title,
)


@pytest.mark.parametrize(
    ("title", "says"),
    [
        (
            "qdisc:codel rep:01 rtt:10ms rate:10Mbit/10Mbit cc:bbr",
            TitleFacts(("10mbit",), "codel", "bbr", "10ms"),
        ),
        ("10/1 Mbit fq_codel", TitleFacts(("10mbit", "1mbit"), "fq_codel")),
        ("10Mbit/1Mbit", TitleFacts(("10mbit", "1mbit"))),
        ("100 Mbps cubic", TitleFacts(("100mbit",), "", "cubic")),
        ("2.5gbit, cake, RTT=20 ms", TitleFacts(("2.5gbit",), "cake", "", "20ms")),
        ("cc:cubic-sce qdisc:lfq_cobalt", TitleFacts((), "lfq_cobalt", "cubic-sce")),
        # Two things, bytes, one direction, another word, nothing.
        ("cubic against bbr", TitleFacts()),
        ("50 Mbit shaped to 40 Mbit", TitleFacts()),
        ("20 MB/s or 20 MBps", TitleFacts()),
        ("10 Mbit down", TitleFacts()),
        ("red wine, yeah", TitleFacts()),
        ("cubic-sce", TitleFacts()),
        ("0mbit rtt:multi", TitleFacts()),
        ("x" * 400 + " 10mbit", TitleFacts()),
        ("", TitleFacts()),
    ],
)
def test_a_title_is_read_with_care(title: str, says: TitleFacts) -> None:
    assert said_by_title(title) == says


def host(rate: str) -> dict[str, Any]:
    tbf = {"id": "1:", "name": "tbf", "params": {"rate": rate}, "parent": "root"}
    leaf = {"id": "2:", "name": "codel", "params": {"limit": "90p", "ecn": ""}, "parent": "1:1"}
    return {"EGRESS_INFO": {"qdiscs": [tbf, leaf]}, "INGRESS_INFO": {"qdiscs": [tbf]}}


METADATA: dict[str, Any] = {
    "REMOTE_METADATA": {"fast": host("1Gbit"), "slow": host("10Mbit")},
    "SYSCTLS": {"net.ipv4.tcp_congestion_control": "cubic"},
}


def test_the_slowest_of_each_direction_is_the_bottleneck() -> None:
    file = FlentFile([], {}, {}, METADATA)
    assert said_by_tc(file) == [
        StatedQueue("slow", True, "10mbit", "codel limit 90 ecn"),
        StatedQueue("slow", False, "10mbit", ""),
    ]
    assert said_by_sysctl(file) == "cubic"


def places(node: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    for key in (
        node if isinstance(node, dict) else range(len(node) if isinstance(node, list) else 0)
    ):
        yield from places(node[key], (*at, key))


@pytest.mark.parametrize("odd", [None, 7, 1e308, True, "\x1b[2J", "-5mbit", "9" * 99, [], {}, [1]])
def test_odd_metadata_say_less_and_do_no_harm(odd: object) -> None:
    for at in places(METADATA):
        made = copy.deepcopy(METADATA)
        node = made
        for key in at[:-1]:
            node = node[key]
        node[at[-1]] = odd
        file = FlentFile([], {}, {}, made)
        for each in said_by_tc(file):
            assert each.rate in ("10mbit", "1gbit") and each.qdisc.isprintable()
        assert said_by_sysctl(file) in ("cubic", "")
