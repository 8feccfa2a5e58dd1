"""One writes a controller's rule on the page: it runs closed off, as the engine's own do."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from lab_module import asked
from lab_page import OWN_SCHEMES, Opened, Opener, check_equal, moved

from browsing import barriers, outside
from dumbbell.lab import page_file

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PRESET = "by-hand"
EXAMPLES = ("reno", "aimd", "delay")
LINUX_RENO = """function on_ack(w, ack) {
  if (!ack.is_cwnd_limited) return;
  let left = ack.newly_delivered_pkts;
  if (w.cwnd_pkts < w.ssthresh_pkts) left = slow_start(w, left);
  if (left) grow_by_one_per(w, w.cwnd_pkts, left);
}
function on_loss(w, now) { w.ssthresh_pkts = Math.max(2, Math.floor(w.cwnd_pkts / 2)); }
"""
SILENT = "function on_ack(w, ack) {}\nfunction on_loss(w, now) {}\n"


def _hash(rule: object, **other: object) -> str:
    state = {"v": 1, "preset": PRESET, "own": None, "changes": [], "rule": rule} | other
    return "#s=" + base64.urlsafe_b64encode(json.dumps(state).encode()).decode().rstrip("=")


def _written(seen: Opened, text: str) -> None:
    seen.page.evaluate("document.getElementById('rule-panel').open = true")
    seen.page.fill("#rule", text)


def _run(seen: Opened, text: str) -> None:
    """Until it has ended, however."""
    _written(seen, text)
    seen.page.click("#rule-run")
    seen.until("laboratory.rule.run === null")


def _problem(seen: Opened) -> str:
    return seen.page.inner_text("#rule-problem")


def _scores(seen: Opened) -> dict[str, dict[str, Any]]:
    seen.until("laboratory.game.scores.size > 0")
    seen.until("laboratory.game.scores.size === laboratory.game.awaited")
    return dict(seen.page.evaluate("[...laboratory.game.scores]"))


def test_reno_as_a_rule_is_reno(opener: Opener) -> None:
    """Of Linux, in whole packets: the same digest, the same score."""
    seen = opener()
    seen.choose(PRESET)
    before = seen.digest()
    _run(seen, LINUX_RENO)
    assert _problem(seen) == ""
    scores = _scores(seen)
    assert list(scores) == ["rule", "cubic", "bbr", "reno"]
    assert scores["rule"] == scores["reno"]
    assert seen.page.inner_text("#rule-digest") == scores["reno"]["digest"]
    # The experiment is as it was.
    assert seen.digest() == before
    check_equal(seen)
    names = [row.split("\t")[0] for row in seen.page.locator("#scores tr").all_inner_texts()]
    assert names == ["your rule", "CUBIC", "BBR", "Reno"]
    assert seen.is_quiet(), seen


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs_and_gives_the_same_digest_again(opener: Opener, example: str) -> None:
    seen = opener()
    seen.choose(PRESET)
    seen.page.click("#rule-panel > summary")
    seen.page.select_option("#rule-example", example)
    digests = []
    for _ in range(2):
        seen.page.click("#rule-run")
        seen.until("laboratory.rule.run === null")
        assert _problem(seen) == ""
        digests.append(_scores(seen)["rule"]["digest"])
    assert digests[0] == digests[1]
    # And follows the seed and the sliders.
    seen.after(moved("rate", 0.6))
    assert not seen.page.is_visible("#score")
    assert seen.page.inner_text("#rule-words") == ""
    seen.page.click("#rule-run")
    seen.until("laboratory.rule.run === null")
    assert _scores(seen)["rule"]["digest"] != digests[0]
    assert seen.is_quiet(), seen


def test_state_is_of_each_connection_and_chance_of_the_seed(opener: Opener) -> None:
    seen = opener()
    seen.choose("bbr-against-cubic")
    rule = """const state = { acks: 0 };
let all = 0;
function on_ack(w, ack) {
  state.acks += 1;
  all += 1;
  if (all === 400) throw new Error(`${state.acks < all} ${below(1000) < 1000}`);
  w.cwnd_pkts += below(3) / w.cwnd_pkts;
}
function on_loss(w, now) { w.ssthresh_pkts = w.cwnd_pkts / 2; }
"""
    group = seen.page.input_value("#player")
    seen.after(
        f"const field = document.getElementById('control-count-{group}'); field.value = '2';"
        " field.dispatchEvent(new Event('input', { bubbles: true }))"
    )
    _run(seen, rule)
    assert _problem(seen) == "Line 6: Error: true true"
    calm = rule.replace("all === 400", "false")
    _run(seen, calm)
    first = _scores(seen)["rule"]["digest"]
    _run(seen, calm)
    assert _scores(seen)["rule"]["digest"] == first
    assert seen.is_quiet(), seen


WRONG = {
    "no such name": ("function on_ack(w, ack) {\n  w.cwnd = 5;\n}\nfunction on_loss() {}", 2),
    "no such number": (
        "function on_ack(w, ack) {\n  w.cwnd_pkts += ack.acked;\n}\nfunction on_loss() {}",
        2,
    ),
    "no such state": (
        "const state = { a: 1 };\nfunction on_loss() {}\n"
        "function on_ack(w) {\n  w.cwnd_pkts += state.b;\n}",
        4,
    ),
    "not a number": ("function on_loss() {}\nfunction on_ack(w) {\n  w.cwnd_pkts = 0 / 0;\n}", 3),
    "read only": ("function on_loss() {}\nfunction on_ack(w) {\n  w.mss_bytes = 1;\n}", 3),
    "thrown": ("function on_loss() {}\nfunction on_ack(w) {\n\n\n  throw new Error('so');\n}", 5),
    "at once": ("const x = 1;\nx.y.z;", 2),
    "syntax": ("const a = 1;\nconst b = ;\n", 2),
    "not closed": ("function on_ack(w, ack) {\n", 2),
    "behind its end": ("});\npostMessage(1);\n(() => {", 1),
    "a comment without an end": ("/* ", 1),
    "no function": ("const on_ack = 5;\nfunction on_loss() {}", 0),
    "nothing": ("", 0),
    "state of words": ("const state = { a: 'x' };" + SILENT, 0),
}
"""A rule, and the line that has to be named; 0 for none."""


@pytest.mark.parametrize("text, line", WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_told_at_its_line(opener: Opener, text: str, line: int) -> None:
    seen = opener()
    seen.choose(PRESET)
    _run(seen, text)
    said = _problem(seen)
    assert said
    assert said.startswith(f"Line {line}: ") if line else not said.startswith("Line"), said
    marked = seen.page.locator("#rule-lines .wrong").all_inner_texts()
    assert marked == ([str(line)] if line else [])
    assert not seen.page.is_visible("#score")
    _run(seen, LINUX_RENO)
    assert _problem(seen) == ""
    assert seen.is_quiet(), seen


_REACHES = (
    "fetch",
    "XMLHttpRequest",
    "WebSocket",
    "WebTransport",
    "EventSource",
    "importScripts",
    "indexedDB",
    "caches",
    "navigator",
    "location",
    "postMessage",
    "self",
    "close",
    "Worker",
    "SharedWorker",
    "BroadcastChannel",
    "MessageChannel",
    "setTimeout",
    "setInterval",
    "queueMicrotask",
    "performance",
    "Date",
    "crypto",
    "WebAssembly",
    "eval",
    "Function",
    "Blob",
    "URL",
    "SharedArrayBuffer",
    "Atomics",
    "FileReaderSync",
    "OffscreenCanvas",
    "console",
    "reportError",
    "structuredClone",
    "onmessage",
    "addEventListener",
    "dispatchEvent",
    "WeakRef",
    "Intl",
    "document",
    "window",
    "Promise",
    "RTCPeerConnection",
    "requestAnimationFrame",
    "constructor",
    "TEMPORARY",
)


def test_a_rule_reaches_nothing(opener: Opener) -> None:
    seen = opener()
    seen.choose(PRESET)
    names = json.dumps(_REACHES)
    _run(
        seen,
        f"const open = {names}.filter((name) => globalThis[name] !== undefined"
        " && globalThis[name] !== Object);\nthrow new Error('open: ' + open);\n",
    )
    # `constructor` comes from Object.prototype, and is Object.
    assert re.fullmatch(r"Line 2: Error: open: (TEMPORARY)?", _problem(seen)), _problem(seen)
    # Nor by what has no name: every object of the global's line of prototypes.
    _run(
        seen,
        "const found = [];\n"
        "for (let at = globalThis; at && at !== Object.prototype; at = Object.getPrototypeOf(at))\n"
        "  for (const key of Reflect.ownKeys(at))\n"
        "    if (typeof at[key] === 'function') found.push(String(key));\n"
        "throw new Error(found.sort().join(' '));\n",
    )
    there = _problem(seen).removeprefix("Line 5: Error: ").split()
    assert "below" in there
    assert not {"postMessage", "fetch", "addEventListener", "close"} & set(there), there
    assert seen.is_quiet(), seen


HOSTILE = {
    "fetch": "fetch('https://example.org/');\n",
    "an import": f"import('https://example.org/x.js');\n{SILENT}",
    "an import of a text": f"import('data:text/javascript,postMessage(1)');\n{SILENT}",
    "code from a text": "(() => {}).constructor('postMessage(1)')();\n",
    "code from a text, later": "(async () => {}).constructor('postMessage(1)')();\n",
    "messages": "for (let i = 0; i < 1e6; i++) self.postMessage(i);\n",
    "messages by the global": "for (let i = 0; i < 1e6; i++)"
    " globalThis.postMessage({ kind: 'done' });\n",
    "prototypes": "Array.prototype.map = () => [];\n",
    "prototypes of all": "Object.prototype.kind = 'done';\n",
    "prototypes of numbers": "Object.getPrototypeOf(Float64Array.prototype).set = () => {};\n",
    "parts of the language": "globalThis.JSON = { parse: () => ({ digest: 'x' }) };\n",
    "an iterator": "Object.getPrototypeOf([].values()).next = () => ({ done: true });\n",
    "traces": "Error.prepareStackTrace = () => { throw 1; };\n",
    "the worker's own": "dumbbell_rule(() => ({ functions: {} }), 0, 0);\nmodule_engine.Engine;\n",
    "what is thrown throws": "throw { toString() { throw this; } };\n",
    "a trace that throws": "const e = new Error('x');"
    " Object.defineProperty(e, 'stack', { get() { throw 1; } }); throw e;\n",
    "a trace of scripts": "const e = new Error('<img src=x onerror=alert(1)>');"
    " e.stack = ':1:1'.repeat(9e4); throw e;\n",
    "a window beyond numbers": "function on_ack(w) { w.cwnd_pkts = 1e300; }"
    "\nfunction on_loss() {}\n",
    "a window below nothing": "function on_ack(w) { w.cwnd_pkts = -1e300; }"
    "\nfunction on_loss() {}\n",
    "pacing without an end": "const wants_pacing = true;"
    "function on_ack(w) { w.pacing_rate_bytes_per_s = 1e-300; }\nfunction on_loss() {}\n",
    "a name of the prototype": f"const state = {{ __proto__: {{ x: 1 }} }};\n{SILENT}",
    "a state that is asked": "const state = new Proxy({}, { get() { throw 1; } });\n" + SILENT,
    "calls without an end": f"const f = () => f();\nf();\n{SILENT}",
    "later": f"(async () => {{ await 0; throw 1; }})();\n{SILENT}",
    "a global with a name of ours": "function Engine() {}\nfunction postMessage() {}\n"
    f"function Object() {{}}\n{SILENT}",
    "the end of a script": "const x = '</script><script>alert(1)</script>';\nthrow x;\n",
}
"""Each runs, or ends with a message; nothing is asked of anybody, and the page goes on."""


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_rule_does_no_harm(opener: Opener, text: str) -> None:
    seen = opener()
    refused: list[str] = []
    seen.page.on(
        "requestfailed", lambda each: refused.append(each.url) if each.failure == "csp" else None
    )
    seen.choose(PRESET)
    _run(seen, text)
    if not _problem(seen):
        # It ran as the rule that it is.
        assert re.fullmatch("[0-9a-f]{64}", seen.page.inner_text("#rule-digest"))
    else:
        assert not seen.page.is_visible("#score")
    _run(seen, LINUX_RENO)
    scores = _scores(seen)
    assert scores["rule"] == scores["reno"]
    check_equal(seen)
    # An import is syntax, and cannot be taken away: the page's policy refuses it before it is sent.
    said = ("Content Security Policy", "Failed to fetch dynamically imported module")
    assert not [each for each in seen.messages if not any(word in each for word in said)]
    asked_for = {url for url in seen.requests if not url.startswith(OWN_SCHEMES)}
    assert asked_for <= set(refused)
    assert ("example.org" in "".join(asked_for)) == text.startswith("import('https:")


ENDLESS = {
    "at once": f"for (;;);\n{SILENT}",
    "at an acknowledgement": "function on_ack(w) { for (;;); }\nfunction on_loss() {}\n",
    "put off": f"(async () => {{ for (;;) await 0; }})();\n{SILENT}",
    "in words": "throw { toString() { for (;;); } };\n",
}


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS.keys())
def test_an_endless_rule_is_stopped(opener: Opener, text: str) -> None:
    seen = opener()
    seen.choose(PRESET)
    _run(seen, text)
    assert "endless loop" in _problem(seen)
    # A person needs not wait for that.
    _written(seen, text)
    seen.page.click("#rule-run")
    assert seen.page.inner_text("#rule-run") == "Stop"
    seen.page.click("#rule-run")
    assert seen.page.evaluate("laboratory.rule.run") is None
    seen.choose("mm1")
    check_equal(seen)
    assert seen.is_quiet(), seen


def test_a_link_brings_a_rule_and_does_not_run_it(opener: Opener) -> None:
    first = opener()
    first.choose(PRESET)
    text = LINUX_RENO + "// <b>\u202e</textarea><script>alert(1)</script>\n"
    _written(first, text)
    link = "#" + first.page.input_value("#link").split("#")[1]
    seen = opener(link)
    assert seen.page.input_value("#rule") == text
    assert seen.page.is_visible("#rule")
    assert seen.page.is_visible("#rule-brought")
    # Not even after all that a page does by itself.
    seen.until("laboratory.isReplicating")
    seen.until("Number(document.getElementById('replications').textContent) > 2")
    assert seen.page.evaluate("[laboratory.rule.run, laboratory.game.scores.size]") == [None, 0]
    assert seen.page.evaluate("laboratory.rule.compiled") is None
    seen.page.click("#rule-run")
    seen.until("laboratory.rule.run === null")
    assert not seen.page.is_visible("#rule-brought")
    scores = _scores(seen)
    assert scores["rule"] == scores["reno"]
    # An example as it stands is not carried.
    seen.page.select_option("#rule-example", "aimd")
    assert "rule" not in _state(seen) or _state(seen)["rule"] is None
    seen.page.select_option("#rule-example", "own")
    assert _state(seen)["rule"] == text
    assert seen.is_quiet(), seen


def _state(seen: Opened) -> dict[str, Any]:
    text = seen.page.input_value("#link").split("#s=")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return found


@pytest.mark.parametrize("rule", [1, ["x"], {"a": 1}, "x" * 10_001, True])
def test_a_link_with_what_is_no_rule_gives_a_message(opener: Opener, rule: object) -> None:
    seen = opener(_hash(rule))
    assert seen.page.is_visible("#message")
    assert not seen.page.is_visible("#rule-brought")
    assert seen.is_quiet(), seen


def test_a_rule_is_written_and_run_by_the_keyboard(opener: Opener) -> None:
    seen = opener()
    seen.choose(PRESET)
    seen.page.focus("#rule-panel > summary")
    seen.page.keyboard.press("Enter")
    seen.page.keyboard.press("Tab")
    assert seen.page.evaluate("document.activeElement.id") == "rule-example"
    seen.page.keyboard.press("Tab")
    seen.page.keyboard.press("Tab")
    assert seen.page.evaluate("document.activeElement.id") == "rule"
    seen.page.keyboard.press("Control+A")
    seen.page.keyboard.insert_text(LINUX_RENO)
    seen.page.keyboard.press("Control+Enter")
    seen.until("laboratory.rule.run === null && laboratory.game.scores.size")
    assert _scores(seen)["rule"]["digest"] == seen.page.inner_text("#rule-digest")
    # The tab key leaves the box.
    seen.page.keyboard.press("Tab")
    assert seen.page.evaluate("document.activeElement.id") != "rule"
    assert seen.is_quiet(), seen


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 820, 1440])
def test_the_box_fits_and_has_no_barrier(opener: Opener, width: int, scheme: Any) -> None:
    seen = opener(width=width, scheme=scheme)
    seen.choose(PRESET)
    _run(seen, LINUX_RENO)
    _scores(seen)
    seen.page.evaluate("document.querySelector('#rule-panel .help').open = true")
    assert seen.page.evaluate("document.documentElement.scrollWidth") == width
    assert [each for each in outside(seen.page, width) if "rule" in each] == []
    assert barriers(seen.page) == []
    _run(seen, "x.y;\n" * 40)
    assert _problem(seen).startswith("Line 1: ")
    assert barriers(seen.page) == []
    assert seen.is_quiet(), seen


def test_help_has_every_name_that_a_rule_is_told(module: Path) -> None:
    """They are those of the interface in C, whose other names have other places here."""
    (fields,) = asked(module, [{"do": "rule_fields"}])
    page = (page_file.SOURCES / "page.html").read_text(encoding="utf-8")
    shown = set(re.findall(r"[a-z_.]+", " ".join(re.findall(r"<code>(.*?)</code>", page))))
    heads = {name.partition("(")[0] for name in shown}
    header = page_file.SOURCES.parents[1] / "backends/native/dumbbell_cc.h"
    c = header.read_text(encoding="utf-8")
    told = {f"w.{each}" for each in fields["window"]}
    told |= {name for each in fields["events"].values() for name in each}
    for name in [*told, *fields["events"]]:
        bare = name.rpartition(".")[2]
        assert {name, bare, f"ack.{bare}"} & heads, name
        assert re.search(rf"\b{bare}\b", c), name
    worker = (page_file.SOURCES / "rule_worker.js").read_text(encoding="utf-8")
    listed = re.search(r"const FUNCTIONS = \[(.*?)\];", worker, re.DOTALL)
    assert listed
    assert re.findall(r'"(\w+)"', listed[1]) == fields["order"]


def test_an_idle_window_does_not_win(opener: Opener) -> None:
    """By power alone a window that hardly moves does better than BBR."""
    path = "flows[download].tcp.cwnd_changes"
    by_hand = ["flows[download].tcp.congestion_control", "manual"]
    idle = [{"at_ns": 1_000_000, "cwnd_pkts": 16}]
    seen = opener(_hash(None, changes=[by_hand, [path, idle]]))
    scores = _scores(seen)
    assert scores["manual"]["power"] > scores["bbr"]["power"] > scores["cubic"]["power"]
    assert scores["manual"]["share"] < 0.9 * scores["cubic"]["share"]
    row = seen.page.locator("#scores tr[data-name=manual]").inner_text()
    assert "too little goodput" in row
    best = max((name for name in scores if name != "manual"), key=lambda n: scores[n]["power"])
    assert seen.page.get_attribute("#scores tr.first", "data-name") == best == "bbr"
    assert seen.page.inner_text("#winner").startswith("BBR wins, with power 0.")
    # One that fills the link and builds no queue does.
    full = [{"at_ns": 1_000_000, "cwnd_pkts": 25}]
    seen = opener(_hash(None, changes=[by_hand, [path, full]]))
    scores = _scores(seen)
    assert scores["manual"]["power"] > scores["bbr"]["power"]
    assert seen.page.inner_text("#winner").startswith("You win, with power 0.")
    assert seen.is_quiet(), seen
