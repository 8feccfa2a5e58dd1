"""``make bench``, the laboratory: response time of its page, and speed of its simulator.

In Chromium, each preset, at two widths: a slider is moved, and from there on it is timed until
the first picture (a preview where the run is long) and until the run's last one; the medians count.
Then frames of the slow motion a second, and the longest task of the main thread in between, in its
own processor time: by the clock it is as long as other programs let it. The experiments of the
studies likewise, with fewer changes; a game while its window is moved; and the live figures of
studies' pages, every control in turn. Then a number of changes in a row,
and what JavaScript's heap has grown by. Under Node the same run as
the native module does, in turns: its speed as a share of the native one. What is not there
(Chromium, Node, the page's module) is left out, and said. All of it takes minutes; with ``--short``
one preset is tried, with a few changes, and nothing is written.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from paired import median_interval
from run import RESULTS, machine

from dumbbell.backends import simulate
from dumbbell.cli.lab import of_studies
from dumbbell.lab import LIVE, LabExperiment, presets, write_laboratory, write_live
from dumbbell.lab.modules import MODULE
from dumbbell.lab.page_file import SOURCES
from dumbbell.report import LiveHero, Report, write_report
from dumbbell.spec import Experiment
from dumbbell.studies import STUDIES

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/lab"))  # what reads tasks from a trace
WIDTHS = (1440, 390)
GOALS = {"first_ms": 100, "whole_ms": 2000, "frames_per_s": 20, "task_ms": 50}
SHORT_CHANGES = 5
CHANGES_A_STUDY = 10
"""One change in this number is of a study's experiment, whose run is longer than a preset's."""
GAME_S = 5
"""Seconds of a game."""
GOAL_SPEED = 0.4
GOAL_GROWTH_BYTES = 5e6
MOVE = """async (changes) => {
  const page = window.laboratory, hear = page.front.hear, first = [], whole = [];
  const named = ['rate', 'round-trip'].map((each) => document.getElementById('control-' + each));
  const sliders = [...named, ...document.querySelectorAll('#controls input[type=range]')];
  const slider = sliders.find((each) => each && !each.disabled);
  const middle = Math.round(slider.max * 0.6);
  let began = 0, isDrawn = false;
  page.front.hear = (message) => {
    hear(message);
    const passed = performance.now() - began;
    if (!isDrawn && (message.kind === 'soFar' || message.kind === 'done')) first.push(passed);
    isDrawn ||= message.kind === 'soFar' || message.kind === 'done';
    if (message.kind === 'done') whole.push(passed);
  };
  for (let i = 0; i < changes; i++) {
    const done = page.done;
    [began, isDrawn] = [performance.now(), false];
    slider.value = String(middle + (i % 40));
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    while (page.done === done) await new Promise((resolve) => setTimeout(resolve, 3));
  }
  const frames = page.stage.frames, from = performance.now();
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const frames_per_s = ((page.stage.frames - frames) / (performance.now() - from)) * 1000;
  page.front.hear = hear;
  const middleOf = (values) => values.sort((a, b) => a - b)[values.length >> 1];
  return { first_ms: middleOf(first), whole_ms: middleOf(whole), frames_per_s };
}"""
GAME = "by-hand"
"""Preset in which one plays."""
GAME_GOALS = {"frames_per_s": 20, "task_ms": 50}
PLAY = """async (seconds) => {
  const page = window.laboratory, { stage } = page, follow = stage.follow;
  let frames = 0;
  stage.follow = (...words) => { frames += 1; follow.apply(stage, words); };
  document.getElementById('begin').click();
  while (frames === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  const hand = document.getElementById('window'), from = performance.now();
  frames = 0;
  for (let i = 0; i < 10 * seconds; i++) {
    hand.value = String((3 * i) % Number(hand.max));
    hand.dispatchEvent(new Event('input', { bubbles: true }));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const frames_per_s = (1000 * frames) / (performance.now() - from);
  delete stage.follow;
  page.game.stop();
  return { frames_per_s };
}"""

LIVE_GOALS = {"first_ms": 100, "whole_ms": 2000, "task_ms": 50}
"""Of a study's live figure; nothing in it moves by itself."""
MOVE_LIVE = """async (changes) => {
  const live = window.liveFigure, first = [], whole = [];
  for (let i = 0; i < changes; i++) {
    const { control, input, place } = live.controls[i % live.controls.length], done = live.done;
    const next = (place + 1) % control.stops.length;
    if (control.kind === 'switch') input.checked = next === 1;
    else input.value = String(next);
    input.dispatchEvent(new Event('input', { bubbles: true }));
    while (live.done === done) await new Promise((resolve) => setTimeout(resolve, 3));
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    first.push(live.drawn_ms);
    whole.push(live.finished_ms);
  }
  const middleOf = (values) => values.sort((a, b) => a - b)[values.length >> 1];
  return { first_ms: middleOf(first), whole_ms: middleOf(whole) };
}"""


def _chromium(playwright: Any) -> Any:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    flags = ["--disable-gpu", "--no-sandbox", "--js-flags=--expose-gc"]
    return playwright.chromium.launch(executable_path=path, args=flags)


def _ready(page: Any) -> None:
    while not page.evaluate("window.laboratory && laboratory.done > 0"):
        page.wait_for_timeout(50)


def _measured(browser: Any, page: Any, script: str, argument: int) -> dict[str, float]:
    """What a script gives, and the longest task of the page's thread meanwhile."""
    from main_thread import tasks_ms

    row: dict[str, float] = {}
    tasks = tasks_ms(browser, page, lambda: row.update(page.evaluate(script, argument)))
    return row | {"task_ms": max(tasks)}


def answers(
    place: Path, changes: int, many: int, experiments: Sequence[LabExperiment]
) -> dict[str, Any]:
    """Rows by width and experiment; and what the heap grew by over many changes, if any."""
    from playwright.sync_api import sync_playwright

    rows: dict[str, Any] = {}
    with sync_playwright() as playwright:
        browser = _chromium(playwright)
        for width in WIDTHS:
            page = browser.new_page(viewport={"width": width, "height": 900})
            page.goto(place.as_uri())
            for experiment in experiments:
                is_preset = not experiment.group
                _ready(page)
                page.evaluate(f"laboratory.done = 0; laboratory.open({experiment.id!r})")
                _ready(page)
                moves = changes if is_preset else max(2, changes // CHANGES_A_STUDY)
                rows[f"{width} {experiment.id}"] = _measured(browser, page, MOVE, moves)
            if many and width == WIDTHS[0]:
                before = page.evaluate("gc(), performance.memory.usedJSHeapSize")
                page.evaluate(MOVE, many)
                after = page.evaluate("gc(), performance.memory.usedJSHeapSize")
                rows["growth_bytes"] = after - before
            page.close()
        browser.close()
    return rows


def games(place: Path) -> dict[str, Any]:
    """Rows by width, of a game while its window is moved."""
    from playwright.sync_api import sync_playwright

    rows: dict[str, Any] = {}
    with sync_playwright() as playwright:
        browser = _chromium(playwright)
        for width in WIDTHS:
            page = browser.new_page(viewport={"width": width, "height": 900})
            page.goto(place.as_uri())
            _ready(page)
            page.evaluate(f"laboratory.done = 0; laboratory.open({GAME!r})")
            _ready(page)
            rows[f"{width} {GAME}"] = _measured(browser, page, PLAY, GAME_S)
            page.close()
        browser.close()
    return rows


def studies_with_live() -> dict[str, LiveHero]:
    """Study to its live figure, of those that have one."""
    names = {name: f"{study.__module__}.live" for name, study in STUDIES.items()}
    return {
        name: import_module(module).hero(1)
        for name, module in names.items()
        if find_spec(module) is not None
    }


def live_answers(folder: Path, changes: int) -> dict[str, Any]:
    """Rows by width and study, of the live figures."""
    from playwright.sync_api import sync_playwright

    rows: dict[str, Any] = {}
    write_live(folder)
    pages = {
        name: write_report(
            Report(study=name, title=name, summary="", answer=name, live=hero),
            folder / name,
            live=f"../{LIVE}",
        )
        for name, hero in studies_with_live().items()
    }
    with sync_playwright() as playwright:
        browser = _chromium(playwright)
        for width in WIDTHS:
            for name, place in pages.items():
                page = browser.new_page(viewport={"width": width, "height": 900})
                page.goto(place.as_uri())
                while not page.evaluate("window.liveFigure && liveFigure.done > 0"):
                    page.wait_for_timeout(50)
                rows[f"{width} {name}"] = _measured(browser, page, MOVE_LIVE, changes)
                page.close()
        browser.close()
    return rows


def speeds(pairs: int) -> list[float]:
    """Events a second in WebAssembly over those of the native module, a pair after the other."""
    experiment = Experiment.from_toml(ROOT / "examples/cubic-and-bbr.toml")
    script = f"""
import {{ readFileSync }} from "node:fs";
import {{ Engine }} from {json.dumps((SOURCES / "engine.js").as_uri())};
const engine = await Engine.from(readFileSync({str(SOURCES.parent / MODULE)!r}));
engine.ask({{ do: "load", resolved: {experiment.resolved_json()} }});
const once = (replication) => {{
  engine.ask({{ do: "begin", replication }});
  while (engine.advance(1e9));
  engine.ask({{ do: "finish", queue: 0 }});
}};
for (let i = 0; i < 5; i++) once(i);
const began = performance.now();
for (let i = 0; i < 20; i++) once(i);
console.log((performance.now() - began) / 1000);
"""
    found = []
    for _ in range(pairs):
        words = ["node", "--input-type=module", "-"]
        done = subprocess.run(words, input=script, capture_output=True, text=True, check=True)
        began = time.perf_counter()
        for replication in range(20):
            simulate(experiment, replication)
        found.append((time.perf_counter() - began) / float(done.stdout))
    return found


def is_met(row: dict[str, float], goals: Mapping[str, float]) -> bool:
    """Whether a row keeps its goals."""
    return all(
        row[name] >= goal if name == "frames_per_s" else row[name] <= goal
        for name, goal in goals.items()
    )


def told(what: str, rows: dict[str, Any], goals: Mapping[str, float]) -> None:
    """Prints rows with their verdicts."""
    for name, row in rows.items():
        shown = ", ".join(f"{key} {value:.0f}" for key, value in row.items())
        print(f"{what} {name}: {shown}: {'met' if is_met(row, goals) else 'missed'}")


def main(words: Sequence[str] | None = None) -> int:
    """Measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--changes", type=int, default=50, help="of a slider, for each preset")
    parser.add_argument("--many", type=int, default=500, help="changes, for memory")
    parser.add_argument("--pairs", type=int, default=6, help="how often speed is measured")
    parser.add_argument("--short", action="store_true", help="one preset, a few changes")
    given = parser.parse_known_args(words)[0]
    lacks = [name for name in ("node", "chromium") if shutil.which(name) is None]
    lacks += [] if (SOURCES.parent / MODULE).is_file() else ["the module (make lab)"]
    if lacks:
        print(f"laboratory: left out, as {' and '.join(lacks)} is not there")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "laboratory.html"
        write_laboratory(place, more=of_studies())
        if given.short:
            told("laboratory", answers(place, SHORT_CHANGES, 0, presets()[:1]), GOALS)
            return 0
        played = games(place)
        rows = answers(place, given.changes, given.many, (*presets(), *of_studies()))
        live = live_answers(Path(folder), given.changes)
    growth = rows.pop("growth_bytes")
    told("laboratory", rows, GOALS)
    told("game", played, GAME_GOALS)
    told("live figure", live, LIVE_GOALS)
    print(f"laboratory, {given.many} changes: heap {growth / 1e6:+.1f} MB")
    share = median_interval(speeds(given.pairs))
    print(f"laboratory, speed in WebAssembly: x{share} of native, goal at least {GOAL_SPEED}")
    RESULTS.mkdir(exist_ok=True)
    content = {"machine": machine(), "goals": GOALS, "rows": rows, "growth_bytes": growth}
    content |= {"live_goals": LIVE_GOALS, "live_rows": live}
    content |= {"game_goals": GAME_GOALS, "game_rows": played}
    content |= {"goal_speed": GOAL_SPEED, "speed": share.median}
    text = json.dumps(content, indent=1) + "\n"
    (RESULTS / "lab.json").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
