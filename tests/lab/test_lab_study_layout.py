"""The first screen of a study's page, and that nothing that explains lies under something else.

`study_layout.json` has where each part begins and ends, in tenths of the screen (`browsing.bands`).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from live_page import STUDIES, LiveOpener
from playwright.sync_api import Browser, Page

from browsing import BANDS, bands, lies_under, moved, opened
from waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LAYOUT = Path(__file__).with_name("study_layout.json")
SCREENS = {"1440": (1440, 900), "390": (390, 844)}
PARTS = {
    "question": "h1",
    "answer": "header .answer",
    "figure": ".live-picture.first canvas",
    "control": ".live-controls input",
}
_SEEN = """selector => {
  const box = document.querySelector(selector).getBoundingClientRect();
  const found = document.elementFromPoint(box.left + 20, box.top + 8);
  return found !== null && document.querySelector(selector).contains(found);
}"""
"""Whether its first line is seen where the page stands."""
_COLLISIONS = """() => {
  const [first] = Object.values(liveFigure.charts);
  const words = first.written.filter(each => each.words);
  return words.flatMap((one, i) => words.slice(i + 1)
    .filter(other => one.from < other.until && other.from < one.until)
    .filter(other => Math.abs(one.y - other.y) < 13)
    .map(other => `${one.words} | ${other.words}`));
}"""
"""Words of the first picture that lie over each other."""


def _page(browser: Browser, results: Path, study: str, screen: str) -> Page:
    width, height = SCREENS[screen]
    page, _ = opened(browser, results / study / "index.html", width, height)
    wait_until(
        lambda: page.evaluate("window.liveFigure && liveFigure.done > 0"),
        study,
        pause=lambda: page.wait_for_timeout(20),
    )
    return page


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("study", STUDIES)
def test_question_answer_figure_and_control_stand_on_the_first_screen(
    browser: Browser, live_results: Path, study: str, screen: str
) -> None:
    page = _page(browser, live_results, study, screen)
    found = bands(page, PARTS, SCREENS[screen][1])
    assert all(end < BANDS for _, end in found.values()), found
    kept = json.loads(LAYOUT.read_text(encoding="utf-8"))[screen][study]
    assert moved(found, kept) == {}
    assert page.evaluate(_COLLISIONS) == []
    page.close()


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("study", STUDIES)
def test_nothing_that_explains_lies_under_something_else(
    browser: Browser, live_results: Path, study: str, screen: str
) -> None:
    page = _page(browser, live_results, study, screen)
    explaining = "h1, header .answer, .measured, .live-watch, #live-question, .so, figcaption"
    assert lies_under(page, explaining) == []
    page.locator("#live-bet").press("ArrowRight")
    done = page.evaluate("liveFigure.done")
    page.locator("#live-find-out").click()
    wait_until(
        lambda: page.evaluate(f"liveFigure.done > {done}"),
        study,
        pause=lambda: page.wait_for_timeout(20),
    )
    # Without scrolling: also on a phone, whose picture stays in sight.
    assert page.evaluate(_SEEN, "#live-outcome")
    assert page.evaluate(_COLLISIONS) == []
    page.close()


def test_the_other_controls_are_shown_on_demand_and_when_they_move(
    live_opener: LiveOpener,
) -> None:
    live = live_opener("queue-size-delay", 390)
    first, second = live.hero.controls[:2]
    assert live.page.locator(f"#live-{first.id}").is_visible()
    assert not live.page.locator(f"#live-{second.id}").is_visible()
    # The bet is on the second one: finding out moves it, in sight.
    assert second.id in live.hero.bet.settings
    done = live.page.evaluate("liveFigure.done")
    live.page.click("#live-find-out")
    live.until(f"liveFigure.done > {done}")
    assert live.page.locator(f"#live-{second.id}").is_visible()
