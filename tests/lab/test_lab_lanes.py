"""Rows of the slow motion: for each class, and for each flow where there is a queue for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lab_page import Opened, Opener, typed

import dumbbell
from browsing import barriers
from dumbbell.lab import LabExperiment, write_laboratory

pytestmark = pytest.mark.browser

_LANES = """() => {
  const { stage } = laboratory, { lanes, packets, places } = stage;
  const rows = lanes.map(({ name }) => ({ name, pkts: 0, flows: [] }));
  if (!rows.length) return rows;
  places.forEach((place, i) => {
    if (packets.drop[i]) return;
    rows[place].pkts += 1;
    rows[place].flows.push(`${packets.flow[i]} ${packets.probe[i]}`);
  });
  return rows.map(each => ({ ...each, flows: [...new Set(each.flows)] }));
}"""


def _rows(seen: Opened) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = seen.page.evaluate(_LANES)
    return found


def _looked(seen: Opened, act: str) -> None:
    """Does something, and waits for the packets of the run that follows."""
    seen.after(act)
    # Packets of the run before may still come in.
    text = "JSON.stringify(laboratory.{}.resolved)"
    seen.until(f"laboratory.looked && {text.format('looked')} === {text.format('described')}")


def test_a_fifo_has_one_row(opener: Opener) -> None:
    seen = opener()
    seen.until("laboratory.stage.packets && laboratory.stage.packets.in_ns.length > 0")
    assert _rows(seen) == []
    assert seen.page.evaluate("document.getElementById('stage').style.height") == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "fq_codel",
        "fq",
        "cake",
        "root handle 1: tbf rate 19mbit burst 20kb limit 200kb; parent 1:1 fq_codel",
    ],
)
def test_each_flow_has_a_row_of_its_own_packets(opener: Opener, text: str) -> None:
    seen = opener()
    _looked(seen, typed("qdisc", text))
    rows = _rows(seen)
    assert [each["name"] for each in rows] == ["call", "download-1", "download-2"]
    assert [each["flows"] for each in rows] == [["-1 0"], ["0 -1"], ["1 -1"]]
    assert rows[1]["pkts"] > 10 and rows[2]["pkts"] > 10
    words = str(seen.page.get_attribute("#stage", "aria-label"))
    assert words.endswith("a queue for each flow, in rows: call, download-1, download-2")
    assert barriers(seen.page) == []
    # Packets are drawn in the row of their flow, in its colour, and in no other.
    found = seen.page.evaluate(
        """() => {
          const { stage } = laboratory, found = [];
          stage.play(false);
          const pen = stage.canvas.getContext("2d"), { fillRect } = pen;
          pen.fillRect = (x, y, width, height) => found.push([Math.round(y), pen.fillStyle]);
          stage.now_ns = (stage.packets.from_ns + stage.packets.until_ns) / 2;
          stage.draw();
          delete pen.fillRect;
          const row = (flow, probe) => stage.colourOf(flow, probe);
          return { found, call: row(-1, 0), download: row(0, -1) };
        }"""
    )
    inside = {y: ink for y, ink in found["found"] if y in (34, 60, 86)}
    assert inside[60] == inside[86] == found["download"] != found["call"]
    assert seen.messages == []


def test_no_more_than_eight_rows_and_the_rest_in_the_last(opener: Opener) -> None:
    seen = opener(width=390)
    seen.after(typed("count-download", "20"))
    _looked(seen, typed("qdisc", "fq_codel"))
    rows = _rows(seen)
    assert len(rows) == 8
    assert rows[-1]["name"] == f"and {len(rows[-1]['flows'])} more"
    assert len(rows[-1]["flows"]) > 8
    assert seen.page.evaluate("document.documentElement.scrollWidth") == 390
    _looked(seen, typed("qdisc", "cake flowblind"))
    assert _rows(seen) == []


def test_cake_has_rows_for_hosts_where_it_is_fair_to_hosts(opener: Opener) -> None:
    seen = opener()
    seen.choose("game-call-backup")
    text = "JSON.stringify(laboratory.{}.resolved)"
    seen.until(f"laboratory.looked && {text.format('looked')} === {text.format('described')}")
    seen.page.evaluate(
        "() => { const moment = document.getElementById('moment'); moment.value = '500';"
        " laboratory.stage.packets = null;"
        " moment.dispatchEvent(new Event('input', { bubbles: true })); }"
    )
    seen.until("laboratory.stage.packets !== null")
    rows = _rows(seen)
    assert [each["name"] for each in rows] == ["call", "game", "nas: 8 flows", "upload"]
    assert [len(each["flows"]) for each in rows] == [1, 1, 8, 1]
    headings = seen.page.evaluate("laboratory.stage.lanes.map(({ heading }) => heading)")
    assert headings == ["Voice", "Best Effort", "Best Effort", "Best Effort"]
    # Each packet that is inside is drawn in its row.
    assert seen.page.evaluate(
        """() => {
          const { stage } = laboratory, { out_ns, in_ns, drop } = stage.packets, seen = [];
          stage.play(false);
          for (let share = 0; share < 1; share += 0.05) {
            const { from_ns, until_ns } = stage.packets;
            stage.now_ns = from_ns + share * (until_ns - from_ns);
            const found = [], pen = stage.canvas.getContext("2d"), { fillRect } = pen;
            pen.fillRect = (x, y) => found.push([y, x]);
            stage.draw();
            delete pen.fillRect;
            const inside = [...out_ns.keys()].filter(i => stage.places[i] === 2 && !drop[i]
              && in_ns[i] <= stage.now_ns && stage.now_ns < out_ns[i]);
            seen.push([inside.length, found.filter(([y]) => y === 34 + 2 * 26 + 2 * 20).length]);
          }
          return seen.every(([inside, drawn]) => drawn >= inside)
            && seen.some(([inside]) => inside > 1);
        }"""
    )
    _looked(seen, typed("qdisc", "cake bandwidth 9500kbit diffserv4 flows"))
    assert len(_rows(seen)) == 8
    assert barriers(seen.page) == []
    assert seen.messages == []


_OVER_NAMES = """() => {
  const { stage } = laboratory, { from_ns, until_ns } = stage.packets, found = [];
  stage.play(false);
  const pen = stage.canvas.getContext("2d"), { fillRect, fillText } = pen;
  const names = stage.lanes.map(({ name }) => name);
  let boxes = [], texts = [], arriving = 0;
  pen.fillRect = (x, y, width, height) => boxes.push([x, y, x + width, y + height]);
  pen.fillText = (text, x, y, most) => {
    const wide = Math.min(most ?? Infinity, pen.measureText(text).width);
    if (names.includes(text)) texts.push([text, x - wide, y - 6, x, y + 6]);
  };
  for (let share = 0; share < 1; share += 0.002) {
    [boxes, texts] = [[], []];
    stage.now_ns = from_ns + share * (until_ns - from_ns);
    stage.draw();
    const middle = stage.canvas.getBoundingClientRect().width / 3;
    arriving += boxes.filter(([left]) => left < middle).length;
    for (const [text, left, top, right, bottom] of texts) {
      if (left < 0) found.push(`${text} begins at ${left}`);
      for (const box of boxes) {
        if (box[0] < right && left < box[2] && box[1] < bottom && top < box[3]) found.push(text);
      }
    }
    if (texts.length !== names.length) found.push(`${texts.length} names`);
  }
  delete pen.fillRect;
  delete pen.fillText;
  return { arriving, found: [...new Set(found)] };
}"""
"""Packets that come along the left of the picture, and names of rows that one is drawn over."""


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1440])
def test_no_packet_passes_over_the_name_of_a_row(opener: Opener, width: int) -> None:
    seen = opener(width=width)
    _looked(seen, typed("qdisc", "fq_codel"))
    assert len(_rows(seen)) == 3
    found = seen.page.evaluate(_OVER_NAMES)
    assert found["arriving"] > 100
    assert found["found"] == []
    assert seen.messages == []


TWO_KINDS = """
name = "two-kinds"
duration = "4s"
sample_interval = "50ms"
links = [
    { a = "server", b = "router" },
    { a = "router", b = "home", delay = "10ms", rate = "20mbit" },
]
[[flows]]
name = "cubic"
from = "server"
to = "home"
source = { kind = "greedy" }
[[flows]]
name = "prague"
from = "server"
to = "home"
source = { kind = "greedy" }
tcp = { congestion_control = "prague" }
[[flows]]
name = "fast"
from = "server"
to = "home"
dscp = 4
source = { kind = "poisson", rate = "300pps", size = "constant 500B" }
"""
HTB = (
    "root handle 1: htb default 20; class add parent 1: classid 1:1 htb rate 20mbit; "
    "class add parent 1:1 classid 1:10 htb rate 5mbit ceil 20mbit; "
    "class add parent 1:1 classid 1:20 htb rate 15mbit ceil 20mbit; "
    "filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0x10 0xfc flowid 1:10; "
    "parent 1:20 fq_codel"
)
CUBIC, PRAGUE, FAST = "0 -1", "1 -1", "2 -1"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "title", "rows"),
    [
        (
            "dualpi2",
            "a queue for each kind of traffic",
            [("", "L: L4S", {PRAGUE}), ("", "C: classic", {CUBIC, FAST})],
        ),
        (
            "prio",
            "a queue for each band",
            [
                ("", "band 0", {FAST}),
                ("", "band 1", {CUBIC, PRAGUE}),
                ("", "band 2", set[str]()),
            ],
        ),
        (
            HTB,
            "a queue for each flow of each class",
            [
                ("", "class 10", {FAST}),
                ("class 20", "cubic", {CUBIC}),
                ("class 20", "prague", {PRAGUE}),
            ],
        ),
        (
            "cake",
            "a queue for each flow of each tin",
            [
                ("Voice", "fast", {FAST}),
                ("Best Effort", "cubic", {CUBIC}),
                ("Best Effort", "prague", {PRAGUE}),
            ],
        ),
    ],
    ids=["dualpi2", "prio", "htb", "cake"],
)
def test_each_class_has_a_row_of_its_own_packets(
    opener: Opener, tmp_path: Path, text: str, title: str, rows: list[tuple[str, str, set[str]]]
) -> None:
    experiment = dumbbell.Experiment.from_toml(TWO_KINDS)
    place = tmp_path / "two-kinds.html"
    write_laboratory(place, [LabExperiment("two", "two", "", experiment, "router->home")])
    seen = opener(place=place)
    _looked(seen, typed("qdisc", text))
    # Somewhere in the middle, where the queue is long.
    seen.page.evaluate(
        "() => { const moment = document.getElementById('moment'); moment.value = '600';"
        " laboratory.stage.packets = null;"
        " moment.dispatchEvent(new Event('input', { bubbles: true })); }"
    )
    seen.until("laboratory.stage.packets !== null")
    headings = seen.page.evaluate("laboratory.stage.lanes.map(({ heading }) => heading)")
    found = [
        (heading, row["name"], set(row["flows"]))
        for heading, row in zip(headings, _rows(seen), strict=True)
    ]
    assert found == rows
    assert seen.page.evaluate("laboratory.stage.title") == title
    assert f"; {title}, in rows: " in str(seen.page.get_attribute("#stage", "aria-label"))
    assert barriers(seen.page) == []
    assert seen.messages == []


def test_what_codel_drops_does_not_leave_by_the_link(opener: Opener) -> None:
    """A packet that is dropped from inside a queue waits, falls, and is sent nowhere."""
    seen = opener()
    _looked(seen, typed("qdisc", "codel target 1ms interval 20ms"))
    counted = seen.page.evaluate(
        """() => {
          const { packets, leaving } = laboratory.stage, count = (column) =>
            column.reduce((sum, each) => sum + each, 0);
          const { from_ns, until_ns } = packets;
          const within = (t) => from_ns <= t && t <= until_ns;
          return { from_ns, until_ns, leaving: [...leaving].filter(within).length,
            drops: [...packets.out_ns].filter((t, i) => packets.drop[i] && within(t)).length };
        }"""
    )
    experiment = dumbbell.Experiment.from_toml(seen.toml())
    resolved = experiment.resolved()
    name = "router->home"
    place = experiment.queue_names.index(name)
    resolved["links"][place // 2]["forward"]["record_packets"] = True
    run = dumbbell.simulate(dumbbell.Experiment.from_resolved(resolved))
    for event, key in (("dequeue", "leaving"), ("drop", "drops")):
        t_ns = run.column("packets", "t_ns", queue=name, event=event)
        inside = (t_ns >= counted["from_ns"]) & (t_ns <= counted["until_ns"])
        assert counted[key] == inside.sum(), event
    assert counted["drops"] > 0
