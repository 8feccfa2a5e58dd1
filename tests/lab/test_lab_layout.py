"""The first screen of the laboratory, and that nothing that explains lies under something else.

`laboratory_layout.json` has where each part begins and ends (`browsing.bands`).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lab_page import Opened
from playwright.sync_api import Browser

from browsing import BANDS, bands, findings, lies_under, moved, sheets

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LAYOUT = Path(__file__).with_name("laboratory_layout.json")
SCREENS = {"1440": (1440, 900), "390": (390, 844)}
PARTS = {"question": "#question", "answer": "#answer", "figure": "#stage", "control": "#moment"}
EXPLAINING = (
    "h1, h2, legend, figcaption, .legend span, #question, #answer, #stage-words, "
    "#controls label, #controls output, #motion label, #motion output, #game label, caption, th"
)


def _opened(browser: Browser, laboratory: Path, screen: str) -> Opened:
    width, height = SCREENS[screen]
    seen = Opened.of(browser.new_page(viewport={"width": width, "height": height}))
    seen.page.goto(laboratory.as_uri())
    seen.until("window.laboratory && laboratory.done > 0")
    seen.until("document.getElementById('stage').getAttribute('aria-label').includes('packets,')")
    return seen


@pytest.mark.parametrize("screen", SCREENS)
def test_question_answer_figure_and_control_stand_on_the_first_screen(
    browser: Browser, laboratory: Path, screen: str
) -> None:
    seen = _opened(browser, laboratory, screen)
    found = bands(seen.page, PARTS, SCREENS[screen][1])
    assert all(end < BANDS for _, end in found.values()), found
    assert moved(found, json.loads(LAYOUT.read_text(encoding="utf-8"))[screen]) == {}
    seen.page.close()


@pytest.mark.parametrize("screen", SCREENS)
def test_nothing_that_explains_lies_under_something_else(
    browser: Browser, laboratory: Path, screen: str
) -> None:
    seen = _opened(browser, laboratory, screen)
    assert lies_under(seen.page, EXPLAINING) == []
    # What is looked for is found where there is something of it.
    seen.page.evaluate(
        """() => {
          const cover = document.createElement('div');
          cover.style = 'position: fixed; inset: 0; background: white; z-index: 9';
          document.body.append(cover);
        }"""
    )
    assert len(lies_under(seen.page, EXPLAINING)) > 10
    seen.page.close()


def test_on_paper_it_is_one_page_without_controls(browser: Browser, laboratory: Path) -> None:
    seen = _opened(browser, laboratory, "1440")
    assert sheets(seen.page) == 1
    seen.page.emulate_media(media="print")
    for part in ("#question", "#answer", "#calls", "#first", "#numbers", "#digest"):
        assert seen.page.locator(part).is_visible(), part
    assert seen.page.locator("main :is(input, button, select, textarea):visible").count() == 0
    seen.page.close()


@pytest.mark.parametrize("screen", SCREENS)
def test_axe_finds_nothing(browser: Browser, laboratory: Path, screen: str) -> None:
    seen = _opened(browser, laboratory, screen)
    seen.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert findings(seen.page) == []
    seen.page.close()
