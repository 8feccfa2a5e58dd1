"""What a page takes for a simulator that hangs: silence, and not one that is slow.

The page's clock is put forward here, as a test that waited would not know how slow its machine is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from lab_page import Opener

from dumbbell.lab import live_file, modules, page_file

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WORKERS = {"laboratory": page_file.WORKER, "live figure": live_file.WORKER}
_CLOCKED = """([source, kind, more, holds]) => {
  // Timers of this bench alone: those that are set while it does something.
  const timers = new Map(), { setTimeout, clearTimeout } = window;
  const set = (act, ms) => { timers.set(-1 - timers.size, { act, ms }); return -timers.size; };
  window.clearTimeout = (id) => {
    if (timers.has(id)) timers.get(id).act = null;
    clearTimeout(id);
  };
  const { front } = laboratory;
  const asked = window.asked = { kinds: [], isHeld: false, isHeard: false };
  // What is held back is the end of the work: all of it has been done, however long it took.
  const held = `const own = postMessage; postMessage = (message, ...more) => own(`
    + `${JSON.stringify(holds)}.includes(message.kind) ? { kind: "heard", isHeld: true } : message,`
    + ` ...more);`;
  const bench = new front.constructor(held + source, front.module, (message) => {
    asked.kinds.push(message.kind);
  });
  bench.worker.addEventListener("message", ({ data }) => {
    asked.isHeard ||= data.kind === "heard" && data.id === bench.id;
    asked.isHeld ||= data.isHeld === true;
  });
  asked.bench = bench;
  asked.send = () => {
    const { resolved, queue } = laboratory.opened;
    const lanes = [{ resolved, changes: [], queue }];
    const order = { resolved, changes: [], queue, replication: 0, lanes, ...more };
    window.setTimeout = set;
    bench.send(kind, order);
    window.setTimeout = setTimeout;
  };
  asked.pass = (passed_ms) => {
    for (const timer of timers.values()) {
      const { act, ms } = timer;
      if (!act || ms > passed_ms) continue;
      timer.act = null;
      act();
    }
  };
}"""
"""A simulator of its own, a worker's source with what it is asked: what it says, and its clock."""

_LOOK: Mapping[str, Any] = {"from_ns": 2e9, "until_ns": 2.1e9, "at_s": 2, "packet_bytes": 1500}
_SCORE: Mapping[str, Any] = {"rivals": [{"name": name, "changes": []} for name in ("a", "b")]}
_HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("worker", "kind", "more", "answer"),
    [
        ("laboratory", "look", _LOOK, "packets"),
        ("live figure", "look", _LOOK, "packets"),
        ("laboratory", "score", _SCORE, "scored"),
    ],
)
def test_work_that_takes_long_is_no_hang(
    opener: Opener, worker: str, kind: str, more: Mapping[str, Any], answer: str
) -> None:
    seen = opener()
    source = modules.joined(WORKERS[worker])
    seen.page.evaluate(_CLOCKED, [source, kind, more, [answer]])
    seen.until("asked.bench.isReady")
    seen.page.evaluate("asked.send()")
    seen.until("asked.isHeld")
    seen.page.evaluate(f"asked.pass({_HOUR_MS})")
    assert answer not in seen.page.evaluate("asked.kinds")
    assert "fault" not in seen.page.evaluate("asked.kinds")
    assert seen.is_quiet(), seen


_SILENT = "onmessage = ({ data }) => postMessage({ kind: 'heard', id: data.id });"
_READY = _SILENT.replace("'heard'", "data.kind === 'module' ? 'ready' : 'heard'")


@pytest.mark.parametrize(
    ("source", "is_ready", "patience_ms"),
    [(_READY, True, 8_000), (_SILENT, False, 60_000)],
    ids=["at work", "compiling"],
)
def test_silence_is_a_hang(opener: Opener, source: str, is_ready: bool, patience_ms: int) -> None:
    """A worker that still compiles its module is given longer, as it is on a slow telephone."""
    seen = opener()
    seen.page.evaluate(_CLOCKED, [source, "run", {}, []])
    if is_ready:
        seen.until("asked.bench.isReady")
    seen.page.evaluate("asked.send()")
    seen.until("asked.isHeard")
    assert seen.page.evaluate("asked.bench.isReady") is is_ready
    seen.page.evaluate(f"asked.pass({patience_ms - 1})")
    assert "fault" not in seen.page.evaluate("asked.kinds")
    seen.page.evaluate(f"asked.pass({patience_ms})")
    assert seen.page.evaluate("asked.kinds").count("fault") == 1
