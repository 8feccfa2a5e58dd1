"""The first screen of the laboratory: the answer of a run, and a queue that is not empty."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_page import Opened, Opener, moved, preset_ids
from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


def _cell(seen: Opened, end: str, column: int = 0) -> str:
    row = f"#numbers tr[data-path$='.{end}'] td >> nth={column}"
    return str(seen.page.text_content(row))


def _answer(seen: Opened) -> str:
    """A number and its unit stay on one line."""
    return str(seen.page.text_content("#answer")).replace("\u00a0", " ")


def test_the_answer_is_that_of_the_table_and_has_the_run_before(opener: Opener) -> None:
    seen = opener()
    answer = _answer(seen)
    ends = ("mean_rtt_ms", "total_goodput_bps", "loss_ratio")
    first = {end: _cell(seen, end) for end in ends}
    assert answer == (
        f"This run: call: round trip, mean {first['mean_rtt_ms']}; "
        f"download: goodput, sum {first['total_goodput_bps']}; dropped {first['loss_ratio']}."
    )
    seen.after(moved("rate", 0.3))
    seen.until("laboratory.before !== null")
    answer = _answer(seen)
    assert f"call: round trip, mean {_cell(seen, 'mean_rtt_ms')} (before: " in answer
    assert f"(before: {first['mean_rtt_ms']})" in answer
    assert seen.messages == []


@pytest.mark.slow
def test_the_slow_motion_begins_where_there_is_something_to_see(
    browser: Browser, laboratory: Path
) -> None:
    seen = Opened.of(browser.new_page(reduced_motion="reduce"))
    seen.page.goto(laboratory.as_uri())
    seen.until("window.laboratory && laboratory.done > 0")
    for name in preset_ids():
        seen.page.evaluate("laboratory.stage.packets = null")
        seen.choose(name)
        seen.until("laboratory.stage.packets !== null && laboratory.stage.packets.in_ns.length > 0")
        words = str(seen.page.text_content("#stage-words"))
        assert int(words.partition(" packets")[0]) > 0, (name, words)
    assert seen.messages == []
    seen.page.close()
