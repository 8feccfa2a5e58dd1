"""What the page's own thread does while a slider moves, in its processor time.

By the clock a task takes as long as other programs let it; its processor time is its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lab_page import Opener
from playwright.sync_api import Browser

from dumbbell.cli.lab_command import of_studies
from dumbbell.lab import presets, write_laboratory

pytestmark = pytest.mark.browser
LONGEST_MS = 50
"""What the performance timeline calls a long task."""
MOVES = """async () => {
  const sliders = [...document.querySelectorAll('#controls input[type=range]')];
  const slider = sliders.find((each) => !each.disabled), middle = Math.round(slider.max * 0.6);
  for (let i = 0; i < 20; i++) {
    slider.value = String(middle + (i % 10));
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
  await new Promise((resolve) => setTimeout(resolve, 600));
}"""
HEAVIEST = "buffer-sizing-2"
"""Of the studies' experiments the one with the most flows."""


def _tasks_ms(trace: Any) -> list[float]:
    """Processor time of each task of the page's thread."""
    events = trace["traceEvents"]
    threads = {
        (each["pid"], each["tid"])
        for each in events
        if each.get("name") == "thread_name" and each["args"].get("name") == "CrRendererMain"
    }
    return [
        each["tdur"] / 1e3
        for each in events
        if each.get("name", "").endswith("RunTask")
        and (each["pid"], each["tid"]) in threads
        and "tdur" in each
    ]


@pytest.mark.parametrize("name", [*(each.id for each in presets()), HEAVIEST])
def test_no_task_is_long_while_a_slider_moves(
    browser: Browser, opener: Opener, laboratory: Path, tmp_path: Path, name: str
) -> None:
    place = laboratory
    if name == HEAVIEST:
        place = tmp_path / "studies.html"
        write_laboratory(place, more=of_studies())
    seen = opener(place=place)
    seen.choose(name)
    seen.page.evaluate(MOVES)  # what is compiled on first use
    browser.start_tracing(page=seen.page, categories=["toplevel"])
    seen.page.evaluate(MOVES)
    tasks_ms = _tasks_ms(json.loads(browser.stop_tracing()))
    assert len(tasks_ms) > 50
    assert max(tasks_ms) < LONGEST_MS
    assert seen.messages == []
