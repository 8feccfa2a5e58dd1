"""What the page's own thread does while a slider moves, in its processor time."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_page import Opener
from main_thread import WORK, check_it_never_hangs, check_no_task_is_long
from playwright.sync_api import Browser

from dumbbell.cli.lab import of_studies
from dumbbell.lab import presets, write_laboratory

pytestmark = [pytest.mark.browser, pytest.mark.slow]
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
    check_no_task_is_long(browser, seen.page, lambda: seen.page.evaluate(MOVES))
    assert seen.messages == []


def test_a_page_that_hangs_is_found(browser: Browser) -> None:
    page = browser.new_page()
    hang = f"() => {{ for (let i = 0; i < 100; i++) ({WORK})(); }}"

    def hung() -> None:
        for _ in range(3):  # a trace that begins too late has not the first
            page.evaluate(hang)

    with pytest.raises(AssertionError):
        check_it_never_hangs(browser, page, hung)
    check_it_never_hangs(browser, page, lambda: page.evaluate(f"() => ({WORK})()"))
    page.close()
