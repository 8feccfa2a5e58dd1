"""Where the menu of experiments is: at the top on every screen, and under nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_page import Opened
from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_PLACE = """() => {
  const menu = document.getElementById("preset").getBoundingClientRect();
  const [x, y] = [menu.left + menu.width / 2, menu.top + menu.height / 2];
  return {
    bottom: menu.bottom,
    stage: document.getElementById("stage").getBoundingClientRect().top,
    hit: document.elementFromPoint(x, y).id,
  };
}"""


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_the_menu_of_experiments_is_on_the_first_screen(
    browser: Browser, laboratory: Path, width: int, height: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": height})
    seen = Opened.of(page)
    page.goto(laboratory.as_uri())
    seen.until("window.laboratory && laboratory.done > 0")
    place = page.evaluate(_PLACE)
    assert place["hit"] == "preset"
    assert place["bottom"] < height / 3
    if width < 760:
        assert place["bottom"] < place["stage"]
    page.close()
