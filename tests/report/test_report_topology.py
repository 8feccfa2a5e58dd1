"""Topologies: what is read from a resolved description, where it is placed, how it is drawn."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import pytest
from report_topologies import (
    MULTIPLEXED,
    SEPARATE,
    dumbbell,
    end,
    link,
    netem,
    resolved,
    ring,
    tc_words,
    tree,
)

from dumbbell import _engine
from dumbbell.report.drawing import NARROW, WIDE, Style, topology_svg
from dumbbell.report.layout import lay_out
from dumbbell.report.topology import Topology, hop_rows

BARE = resolved([link("a", "b", end(rate_bps=1_000_000))], [("a", "b")])
PARALLEL = resolved([link("s", "r"), link("r", "t"), link("r", "t"), link("t", "u")], [("s", "u")])
PARKING_LOT = resolved(
    [link("s0", "r0"), link("r0", "r1"), link("r1", "r2"), link("s1", "r1"), link("r1", "d1"),
     link("r2", "d0")],
    [("s0", "d0"), ("s1", "d0"), ("s0", "d1")],
)  # fmt: skip
SILENT = resolved([link("a", "b"), link("b", "c")], [])
BOTH_WAYS = resolved([link("a", "r"), link("r", "b")], [("a", "b"), ("b", "a")])
GRAPHS = {
    "multiplexed": MULTIPLEXED, "separate": SEPARATE, "bare": BARE, "dumbbell 2": dumbbell(2),
    "dumbbell 16": dumbbell(16), "tree": tree(3), "ring": ring(5), "parallel": PARALLEL,
    "parking lot": PARKING_LOT, "silent": SILENT, "both ways": BOTH_WAYS,
}  # fmt: skip


def topology(description: dict[str, Any]) -> Topology:
    return Topology.from_resolved("A label", description, tc_words())


def test_hops_carry_rate_delay_and_queue_of_both_directions() -> None:
    description = resolved(
        [
            link(
                "a",
                "b",
                end(rate_bps=10_000_000, delay_ns=20_000_000, loss=0.01,
                    changes=[{"at_ns": 5_000_000_000}, {"at_ns": 9_000_000_000}]),
                end(qdisc=netem(500_000)),
            )
        ],
        [("a", "b")],
    )  # fmt: skip
    only = topology(description).links[0]
    assert only.forward.text[:3] == ("10000kbit", "20ms", "pfifo limit 1000")
    assert only.forward.details[2:] == ("loss 1 %", "2 changes from 5 s to 9 s")
    assert only.reverse.rate == "inf"
    assert only.reverse.service == "500kbit"
    assert (only.reverse.sender, only.reverse.receiver) == ("b", "a")


def test_hop_rows_put_the_bottleneck_first_and_share_rows_of_a_family() -> None:
    rows = hop_rows(topology(dumbbell(16)))
    assert [(row.sender, row.receiver, row.count) for row in rows] == [
        ("left", "right", 1),
        ("right", "left", 1),
        ("sender-1 … sender-16", "left", 16),
        ("left", "sender-1 … sender-16", 16),
        ("right", "receiver-1 … receiver-16", 16),
        ("receiver-1 … receiver-16", "right", 16),
    ]


@pytest.mark.parametrize("name", GRAPHS)
def test_every_hop_is_in_the_table_once(name: str) -> None:
    rows = hop_rows(topology(GRAPHS[name]))
    assert sum(row.count for row in rows) == 2 * len(GRAPHS[name]["links"])


def columns(description: dict[str, Any]) -> dict[str, int]:
    return {node.name: node.column for node in lay_out(topology(description)).nodes}


def test_senders_stand_left_and_receivers_right() -> None:
    assert columns(MULTIPLEXED) == {"sender-1": 0, "sender-2": 0, "router": 1, "receiver-1": 2}
    assert columns(BOTH_WAYS) == {"a": 0, "r": 1, "b": 2}
    placed = columns(tree(3))
    assert [placed[name] for name in ("n3.0", "n2.0", "n1.0", "root", "sink")] == [0, 1, 2, 3, 4]


def test_a_sender_that_joins_half_way_stands_beside_its_router() -> None:
    placed = columns(PARKING_LOT)
    assert placed["s0"] == 0
    assert placed["s1"] == placed["r1"] - 1


def test_many_identical_leaves_share_a_box_and_different_ones_do_not() -> None:
    counts = {node.name: node.count for node in lay_out(topology(dumbbell(16))).nodes}
    assert counts == {
        "sender-1 … sender-16": 16, "left": 1, "right": 1, "receiver-1 … receiver-16": 16,
    }  # fmt: skip
    assert len(lay_out(topology(tree(3))).nodes) == 8 + 4 + 2 + 2


@pytest.mark.parametrize("name", GRAPHS)
def test_boxes_of_a_column_do_not_overlap(name: str) -> None:
    nodes = lay_out(topology(GRAPHS[name])).nodes
    for one, other in combinations(nodes, 2):
        if one.column == other.column:
            assert one.top + one.rows <= other.top + 1e-9 or other.top + other.rows <= (
                one.top + 1e-9
            )


@pytest.mark.parametrize("name", ["multiplexed", "separate", "dumbbell 2", "tree", "parallel"])
def test_links_of_a_tree_are_horizontal(name: str) -> None:
    for edge in lay_out(topology(GRAPHS[name])).edges:
        assert edge.adjacent
        assert edge.y_left == pytest.approx(edge.y_right)


@pytest.mark.parametrize("style", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("name", GRAPHS)
def test_drawings_are_well_formed_and_inside_their_frame(name: str, style: Style) -> None:
    root = ET.fromstring(topology_svg(topology(GRAPHS[name]), style))
    width, height = (float(root.attrib[side]) for side in ("width", "height"))
    boxes = list(root.iter("rect"))
    assert len(boxes) >= len(lay_out(topology(GRAPHS[name])).nodes)
    for box in boxes:
        x, y = float(box.attrib["x"]), float(box.attrib["y"])
        assert 0 <= x <= x + float(box.attrib["width"]) <= width
        assert 0 <= y <= y + float(box.attrib["height"]) <= height


def home(qdisc: dict[str, Any]) -> dict[str, Any]:
    """A chain as of a twin: five hosts with rates in both directions."""
    hosts = ["laptop", "router", "modem", "provider", "server"]
    ends = [end(rate_bps=rate, qdisc=qdisc) for rate in (10_000_000_000, 95_499_000)]
    links = [link(a, b, *ends) for a, b in pairwise(hosts)]
    return resolved(links, [("laptop", "server"), ("server", "laptop")])


@pytest.mark.parametrize("style", [WIDE, NARROW], ids=["wide", "narrow"])
def test_a_home_line_fits_its_page(style: Style) -> None:
    qdisc = json.loads(_engine.parse_qdisc("fq_codel"))
    read = Topology.from_resolved("x", home(qdisc))
    root = ET.fromstring(topology_svg(read, style))
    (least,) = re.findall(r"min-width:(\d+)px", root.attrib["style"])
    assert int(least) <= style.page_width
    texts = [text.text or "" for text in root.iter("text")]
    assert {"laptop", "router", "modem", "provider", "server"} <= set(texts)
    # Both directions of each of the four links, each with its arrow.
    arrows = "→←" if style is WIDE else "↓↑"
    assert [sum(arrow in text for text in texts) for arrow in arrows] == [4, 4]
    assert sum("95499kbit" in text for text in texts) == 4


def test_the_wide_drawing_prints_the_queue_at_every_hop() -> None:
    texts = [text.text for text in ET.fromstring(topology_svg(topology(SEPARATE))).iter("text")]
    assert texts.count("netem rate 500kbit limit 1000") == 2
    assert texts.count("pfifo limit 1000") == 6


def test_a_long_queue_is_cut_in_the_drawing_and_whole_in_the_table() -> None:
    """Else the drawing of one such link is so wide that nothing in it can be read."""
    read = topology(SEPARATE)
    qdisc = "tbf rate 100mbit burst 77500b limit 100mb ; parent 1:1 handle 10: pie"
    first = read.links[0]
    longer = replace(first, forward=replace(first.forward, qdisc=qdisc))
    svg = topology_svg(replace(read, links=[longer, *read.links[1:]]))
    texts = [text.text or "" for text in ET.fromstring(svg).iter("text")]
    (cut,) = [text for text in texts if "tbf" in text]
    assert cut == f"{qdisc[:59]}…"


def test_names_are_escaped() -> None:
    evil = "<script>alert(1)</script>"
    svg = topology_svg(topology(resolved([link(evil, "b")], [(evil, "b")])))
    assert "<script" not in svg
    assert evil in [text.text for text in ET.fromstring(svg).iter("text")]


def test_the_engines_words_are_tcs() -> None:
    """Without words given, rates, times and queues are worded by the native module."""
    pytest.importorskip("dumbbell._engine")
    read = Topology.from_resolved("x", MULTIPLEXED)
    bottleneck = read.links[2].forward
    assert bottleneck.service == "1mbit"
    assert bottleneck.delay.startswith("0")
    assert "netem" in bottleneck.qdisc
    assert "rate 1mbit" in bottleneck.qdisc
