"""Groups of flows beyond those whose controls are shown at once: counted, and unfolded if asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_page import Opened, typed
from playwright.sync_api import Browser

from dumbbell import Experiment
from dumbbell.lab import LabExperiment, page_text

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SHOWN = 12


def experiment(groups: int) -> Experiment:
    source = {"kind": "cbr", "rate": "20pps", "size": "500B"}
    flows = [
        {"name": f"from{index}", "from": "a", "to": "b", "source": source}
        for index in range(groups)
    ]
    link = {"a": "a", "b": "b", "rate": "2mbit"}
    return Experiment.model_validate({"duration": "1s", "links": [link], "flows": flows})


@pytest.fixture
def opened(
    browser: Browser, module: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Opened]:
    """The page with this number of groups."""
    groups: int = request.param
    file = tmp_path / "laboratory.html"
    file.write_text(page_text([LabExperiment("many", "Many groups", "", experiment(groups))]))
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    seen = Opened.of(page)
    page.goto(file.as_uri())
    seen.until("window.laboratory && laboratory.done > 0")
    yield seen
    page.close()


@pytest.mark.parametrize("opened", [SHOWN], indirect=True)
def test_few_groups_are_shown_at_once(opened: Opened) -> None:
    page = opened.page
    assert page.locator("#traffic-fields input[id^='control-count-']").count() == SHOWN
    assert page.locator("#other-groups").count() == 0
    assert opened.is_quiet()


@pytest.mark.parametrize("opened", [SHOWN + 3], indirect=True)
def test_the_others_are_counted_and_can_be_changed(opened: Opened) -> None:
    page = opened.page
    last = f"control-count-from{SHOWN + 2}"
    assert page.text_content("#other-groups summary") == "3 more groups of flows"
    assert page.locator(f"#{last}").count() == 0
    page.click("#other-groups summary")
    opened.until(f"document.getElementById('{last}')")
    assert page.input_value(f"#{last}") == "1"
    before = opened.digest()
    opened.after(typed(f"count-from{SHOWN + 2}", "4"))
    assert opened.digest() != before
    assert opened.is_quiet()
