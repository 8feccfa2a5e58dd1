"""Links and files that somebody made to do harm: a message, and the page goes on."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from lab_page import Opened, Opener, check_equal
from main_thread import check_it_never_hangs
from playwright.sync_api import Browser
from typer.testing import CliRunner

from dumbbell.cli.app import app
from dumbbell.errors import DumbbellError
from dumbbell.lab import presets

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def _hash(state: object) -> str:
    text = state if isinstance(state, str) else json.dumps(state)
    return "#s=" + base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


_PRESET = {"v": 1, "preset": "bufferbloat", "own": None}
_OWN: dict[str, Any] = {"v": 1, "preset": None, "changes": []}
_RESOLVED = presets()[0].experiment.resolved()
_END = "links[1].forward"
_SCRIPT = "<img src=x onerror=alert(1)></textarea></script><script>alert(1)</script>"


def _changed(*changes: tuple[str, Any]) -> str:
    return _hash(_PRESET | {"changes": [list(each) for each in changes]})


def _own(**other: Any) -> str:
    """An experiment of a preset with other values at its top."""
    return _hash(_OWN | {"own": {"resolved": _RESOLVED | other, "queue": 2}})


def _own_task(task: object) -> str:
    return _hash(_OWN | {"own": {"resolved": _RESOLVED, "queue": 2, "task": task}})


def _nested(levels: int, inside: str) -> str:
    return "[" * levels + inside + "]" * levels


def _renamed(name: str) -> str:
    """A whole experiment in which hosts, flows and the experiment itself have hostile names."""
    text = json.dumps(_RESOLVED)
    for word in ("download-1", "router", "call", "bufferbloat"):
        text = text.replace(f'"{word}"', json.dumps(name + word))
    return _hash(_OWN | {"own": {"resolved": json.loads(text), "queue": 2}})


def _crowd(path: str, times: int) -> str:
    """Flows that become flows that become flows."""
    return _changed(*((f"flows[{path}{'-1' * i}].count", 9_000 + i) for i in range(times)))


REFUSED = {
    "no base64": "#s=%%%",
    "no UTF-8": "#s=" + base64.urlsafe_b64encode(b'{"v":1,"\xff\xfe":0}').decode().rstrip("="),
    "no JSON": _hash("{"),
    "no object": _hash([1]),
    "null": _hash(None),
    "another version": _hash({"v": 2}),
    "no changes": _hash({"v": 1, "preset": "bufferbloat", "own": None, "changes": 1}),
    "unknown preset": _hash({"v": 1, "preset": "x", "own": None, "changes": []}),
    "a preset of every object": _hash(
        {"v": 1, "preset": "constructor", "own": None, "changes": []}
    ),
    "script": _changed((_SCRIPT, "<script>")),
    "script in a value": _changed((f"{_END}.qdisc", _SCRIPT)),
    "prototype": _changed(("__proto__.x", 1)),
    "prototype of a flow": _changed(("flows[__proto__].count", 3)),
    "constructor": _changed(("constructor.prototype.x", "y")),
    "prototype in an experiment": _hash(
        '{"v":1,"preset":null,"changes":[],"__proto__":{"x":1},"own":{"queue":0,'
        '"__proto__":{"resolved":{}},"resolved":{"__proto__":{"links":[]}}}}'
    ),
    "endless": _changed(("duration_ns", 17_000_000_000_000_000)),
    "a duration beyond numbers": _changed(("duration_ns", 1e308)),
    "infinity": _hash(json.dumps(_PRESET)[:-1] + ', "changes": [["duration_ns", 1e999]]}'),
    "a number in words": _changed(("duration_ns", "NaN")),
    "a rate beyond numbers": _changed((f"{_END}.rate_bps", 2**70)),
    "a rate below nothing": _changed((f"{_END}.rate_bps", -1)),
    "a seed beyond numbers": _changed(("seed", 2**70)),
    "loss beyond one": _changed((f"{_END}.loss", 1e300)),
    "packets without a gap": _changed(
        ("flows[mice].source.gap.mean", 1e-300), ("flows[mice].count", 1)
    ),
    "many flows": _changed(("flows[download].count", 10_000)),
    "flows of flows": _crowd("download", 50),
    "an event a nanosecond": _changed(("probes[0].interval_ns", 1)),
    "a sample a nanosecond": _changed(("sample_interval_ns", 1)),
    "unknown qdisc": _changed((f"{_END}.qdisc", "fq_codle")),
    "unfinished qdisc": _changed((f"{_END}.qdisc", "htb default")),
    "many lines of tc": _changed((f"{_END}.qdisc", "root handle 1: htb\n" * 8_000)),
    "many words of tc": _changed((f"{_END}.qdisc", "fq_codel " + "ecn " * 35_000)),
    "letters that are not seen": _changed(
        (f"{_END}.qdisc", "pfifo \u202e\u0000\u200b\ud83d\ude00")
    ),
    "a path without an end": _changed(("links[" * 5_000, 1)),
    "many changes": _changed(*((f"a{i}", 1) for i in range(201))),
    "a task of numbers": _own_task({"title": "a", "parts": [{"heading": 1}]}),
    "a task without an end": _own_task(
        {"title": "a", "parts": [{"heading": "b", "paragraphs": ["c" * 60_000], "steps": []}]}
    ),
    "own script": _hash(_OWN | {"own": {"resolved": {"name": "<script>"}, "queue": 0}}),
    "own nothing": _hash(_OWN | {"own": {"resolved": None, "queue": 0}}),
    "own numbers": _own(links=[1, 2, 3]),
    "own keys that are not known": _own(**{"a" * 50_000: {"b" * 50_000: 1}}),
    "own without links": _own(links=[]),
    "no such queue": _hash(_OWN | {"own": {"resolved": _RESOLVED, "queue": 99}}),
    "negative queue": _hash(_OWN | {"own": {"resolved": _RESOLVED, "queue": -1}}),
    "a queue beyond numbers": _hash(_OWN | {"own": {"resolved": _RESOLVED, "queue": 2**40}}),
    "deep changes": _hash(json.dumps(_PRESET)[:-1] + f', "changes": {_nested(60_000, "1")}}}'),
    "deep experiment": _hash(
        json.dumps(_OWN)[:-1] + f', "own": {{"queue": 0, "resolved": {_nested(60_000, "1")}}}}}'
    ),
    "less deep": _hash(
        json.dumps(_OWN)[:-1] + f', "own": {{"queue": 0, "resolved": {_nested(200, "1")}}}}}'
    ),
    "long": "#s=" + "A" * 300_000,
    "a million letters": "#s=" + "A" * 1_000_000,
}
"""What a link holds, none of which can be run."""

ALLOWED = {
    "script in names": _renamed(_SCRIPT),
    "script in a task": _own_task(
        {
            "title": _SCRIPT,
            "parts": [{"heading": _SCRIPT, "paragraphs": [_SCRIPT], "steps": [f"`{_SCRIPT}`"]}],
        }
    ),
    "names of the prototype": _renamed("__proto__"),
    "names from right to left": _renamed("\u202e\u2066\ud83d\ude00\u0000"),
    "half a letter": _renamed("\ud800"),
    "long names": _renamed("n" * 2_000),
    "a fast link": _changed((f"{_END}.rate_bps", 10**11), ("duration_ns", 3 * 10**9)),
    "a long run": _changed(("duration_ns", 10**12), (f"{_END}.rate_bps", 10**9)),
    "a window without an end": _changed(
        ("flows[download].tcp.initial_window_pkts", 4_000_000_000), ("duration_ns", 3 * 10**9)
    ),
    "packets of four gigabytes": _changed(
        (f"{_END}.mtu_bytes", 2**32 - 1), (f"{_END}.overhead_bytes", 2**32 - 1)
    ),
    "many queues in one": _changed((f"{_END}.qdisc", "fq_codel flows 65536 limit 10000000")),
    "many links that change": _own(
        links=[
            _RESOLVED["links"][0],
            deepcopy(_RESOLVED["links"][1])
            | {
                "forward": _RESOLVED["links"][1]["forward"]
                | {
                    "changes": [
                        {"at_ns": at, "rate_bps": None, "delay_ns": None, "loss": 0.5}
                        for at in range(1, 1_500)
                    ]
                }
            },
        ]
    ),
}
"""What may be run or refused."""


@pytest.fixture(scope="module")
def endured(browser: Browser, laboratory: Path) -> Iterator[Opened]:
    """One page for all links, one after the other: what the last did would be seen."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    seen = Opened.of(page)
    page.goto(laboratory.as_uri())
    seen.until("window.laboratory && laboratory.done > 0")
    yield seen
    page.close()


def _check_it_goes_on(seen: Opened) -> None:
    """Another experiment is run, whatever was asked before, and no script of anybody's."""
    seen.choose("mm1")
    check_equal(seen)
    assert seen.is_quiet(), [m[:300] for m in seen.messages]
    assert seen.page.evaluate("Object.prototype.x === undefined && [].x === undefined")


_TOLD = (
    "!document.getElementById('message').hidden"
    " || [...document.querySelectorAll('.problem')].some(each => each.textContent)"
)


@pytest.mark.parametrize("hash_", REFUSED.values(), ids=REFUSED.keys())
def test_a_hostile_link_gives_a_message(endured: Opened, browser: Browser, hash_: str) -> None:
    def followed() -> None:
        endured.page.evaluate("hash => { location.hash = hash }", hash_)
        endured.until(_TOLD)
        _check_it_goes_on(endured)

    check_it_never_hangs(browser, endured.page, followed)


@pytest.mark.parametrize("hash_", ALLOWED.values(), ids=ALLOWED.keys())
def test_a_strange_link_is_run_or_gives_a_message(
    endured: Opened, browser: Browser, hash_: str
) -> None:
    def followed() -> None:
        seen = endured
        seen.page.evaluate("hash => { location.hash = hash; laboratory.done = -1 }", hash_)
        seen.page.wait_for_timeout(300)
        seen.until(f"{_TOLD} || laboratory.done >= 0 || !document.getElementById('preview').hidden")
        _check_it_goes_on(seen)

    check_it_never_hangs(browser, endured.page, followed)


_LINK = '{ a = "x", b = "y", delay = "9ms", rate = "3mbit" }'
_FLOW = 'from = "x", to = "y", source = { kind = "greedy" }'
_CROWD = ", ".join(f'{{ name = "f{i}x", {_FLOW} }}' for i in range(1_500))
FILES = {
    "script": f"name = {json.dumps(_SCRIPT)}\nduration = '5s'\nlinks = [{_LINK}]\n"
    f"flows = [{{ name = 'up', {_FLOW} }}]\n",
    "too many events": f"duration = '5s'\nlinks = [{_LINK}]\n"
    "probes = [{ name = 'p', from = 'x', to = 'y', interval = '1ns' }]\n",
    "many flows of many names": f"duration = '1s'\nlinks = [{_LINK}]\nflows = [{_CROWD}]\n",
    "no packet": f"duration = '5s'\nlinks = [{_LINK}]\n"
    f"flows = [{{ name = 'up', start = '4999ms', {_FLOW} }}]\n",
    "nobody sends": f"duration = '5s'\nlinks = [{_LINK}]\n",
    "no links": "duration = '5s'\nlinks = []\n",
    "no file of ours": "\u202e\x00[[[[" * 1_000,
    "deep": "x = " + _nested(3_000, "1") + "\n",
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_a_hostile_file_gives_a_message_or_runs(
    opener: Opener, browser: Browser, tmp_path: Path, text: str
) -> None:
    file, place = tmp_path / "own.toml", tmp_path / "page.html"
    file.write_text(text, encoding="utf-8")
    done = CliRunner().invoke(app, ["lab", str(file), "--no-open", "--output", str(place)])
    if done.exit_code != 0:
        # What the program says in a line or two.
        assert isinstance(done.exception, DumbbellError), done.exception
        assert len(str(done.exception)) < 1_000
        assert not place.exists()
        return
    seen = opener(place=place, wait="window.laboratory")

    def looked_at() -> None:
        seen.until(f"{_TOLD} || laboratory.done > 0")
        _check_it_goes_on(seen)

    check_it_never_hangs(browser, seen.page, looked_at)


_HANGS = """async () => {
  const { front, opened } = laboratory, Bench = front.constructor;
  const source = document.getElementById("worker").textContent
    + "; const inner = onmessage; onmessage = (event) => {"
    + " if (event.data.kind === 'hang') for (;;); return inner(event); };";
  const kinds = [];
  await new Promise((resolve) => {
    const bench = new Bench(source, front.module, ({ kind }) => {
      kinds.push(kind);
      if (["done", "problem", "fault"].includes(kind)) resolve(bench.worker.terminate());
    });
    const waits = setInterval(() => {
      if (!bench.isReady) return;
      clearInterval(waits);
      bench.send("hang", {});
      const order = { resolved: opened.resolved, changes: [], queue: 0, replication: 0 };
      bench.send("run", order);
    }, 5);
  });
  return kinds.at(-1);
}"""


def test_a_simulator_that_hears_nothing_is_started_anew(opener: Opener) -> None:
    seen = opener()
    assert seen.page.evaluate(_HANGS) == "done"
    assert seen.is_quiet(), seen
