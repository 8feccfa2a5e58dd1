"""Sources in the laboratory: load, transfers and pauses, and those that are not there at first."""

from __future__ import annotations

import pytest
from lab_page import Opener, check_equal, moved, typed

import dumbbell

pytestmark = pytest.mark.browser


def test_the_load_of_a_poisson_source_is_a_slider(opener: Opener) -> None:
    seen = opener()
    seen.choose("mm1")
    load = "#control-load-stream"
    words = seen.page.locator(f"{load} + *, .head:has(+ {load}) output").first
    assert words.inner_text().startswith("0.799")
    seen.after(moved("load-stream", 0.9))
    check_equal(seen)
    source = dumbbell.Experiment.from_toml(seen.toml()).resolved()["flows"][0]["source"]
    found = float(words.inner_text().split(" ")[0])
    assert 8 * 512 / source["gap"]["mean"] / 1e6 == pytest.approx(found, rel=2e-3)
    assert 0.9 < found < 1.5
    assert seen.messages == []


@pytest.mark.slow
def test_sources_that_are_not_there_have_no_fields_until_wanted(opener: Opener) -> None:
    seen = opener()
    for name in ("pause-on-off", "size-on-off", "size-mice", "load-mice", "load-stream"):
        assert not seen.page.is_visible(f"#control-{name}"), name
    seen.after(typed("count-on-off", "2"))
    seen.after(typed("count-mice", "1"))
    seen.after(typed("count-stream", "3"))
    before = seen.digest()
    for name in ("pause-on-off", "size-on-off", "size-mice", "load-mice", "load-stream"):
        assert seen.page.is_visible(f"#control-{name}"), name
        seen.after(moved(name, 0.4))
        assert seen.digest() != before
        before = seen.digest()
    check_equal(seen)
    for kind in ("closed_loop", "arrivals", "poisson"):
        assert f'kind = "{kind}"' in seen.toml()
    # The load is that of all equal ones together.
    flows = dumbbell.Experiment.from_toml(seen.toml()).resolved()["flows"]
    gaps = [flow["source"]["gap"]["mean"] for flow in flows if flow["name"].startswith("stream")]
    load = sum(8 * 1000 / gap for gap in gaps) / 20e6
    shown = seen.page.evaluate(
        "laboratory.form.fields.find(each => each.control.id === 'load-stream').output.textContent"
    )
    assert float(shown.split(" ")[0]) == pytest.approx(load, rel=2e-3)
    assert shown.endswith("each)")
    assert seen.messages == []
