"""The laboratory for those who do not see it, or have no mouse."""

from __future__ import annotations

import json
from typing import Literal

import pytest
from lab_page import Opener, moved, preset_ids, typed
from playwright.sync_api import Browser

from browsing import barriers

pytestmark = [pytest.mark.browser, pytest.mark.slow]
_FOCUSABLE = """() => [...document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [tabindex]:not([tabindex='-1'])")]
  .filter(each => !each.disabled && each.getClientRects().length)"""
NUMBERED = f"() => ({_FOCUSABLE})().forEach((each, place) => {{ each.dataset.place = place }})"


def test_axe_finds_a_barrier_where_there_is_one(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content("<!doctype html><html lang=en><title>t</title><main><button></button></main>")
    assert [each.split(":")[0] for each in barriers(page)] == ["button-name"]
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_axe_finds_no_barrier_in_any_preset(
    opener: Opener, width: int, scheme: Literal["light", "dark"]
) -> None:
    seen = opener(width=width, scheme=scheme)
    found = {}
    for name in preset_ids():
        seen.choose(name)
        found[name] = barriers(seen.page)
    assert {name: each for name, each in found.items() if each} == {}
    assert seen.is_quiet(), seen


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_barrier_where_something_is_wrong(
    opener: Opener, scheme: Literal["light", "dark"]
) -> None:
    seen = opener("#s=%%%", scheme=scheme)
    assert seen.page.is_visible("#message")
    seen.page.evaluate(typed("qdisc", "fq_codle"))
    seen.until("document.getElementById('control-qdisc-problem').textContent")
    assert barriers(seen.page) == []


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("name", preset_ids())
def test_the_tab_key_reaches_every_control_and_leaves_it(
    opener: Opener, name: str, width: int
) -> None:
    seen = opener(width=width)
    seen.choose(name)
    # What is folded up has places on the page in Chromium, and cannot be reached.
    seen.page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    seen.page.evaluate(NUMBERED)
    expected = set(seen.page.evaluate(f"({_FOCUSABLE})().map(each => each.dataset.place)"))
    assert len(expected) > 12
    for key in ("Tab", "Shift+Tab"):
        seen.page.evaluate("document.activeElement.blur()")
        reached = []
        for _ in range(2 * len(expected) + 2):
            seen.page.keyboard.press(key)
            reached.append(seen.page.evaluate("document.activeElement.dataset.place"))
        assert expected <= set(reached)


def test_the_name_of_a_figure_says_what_it_shows(opener: Opener) -> None:
    seen = opener()
    names = "() => [...document.querySelectorAll('main canvas, main svg:not([aria-hidden])')]"
    names += ".filter(each => !each.closest('[hidden]'))"
    names += ".map(each => each.getAttribute('aria-label'))"
    seen.until(f"({names})().every(Boolean)")
    before = seen.page.evaluate(names)
    assert len(before) >= 5
    # Numbers, not titles alone, and those of the run that is shown.
    seen.until(f"({names})().every(each => /\\d/.test(each))")
    seen.choose("mm1")
    seen.until(f"({names})().every((each, i) => each !== {before!r}[i])")


_CHATTER = """() => {
  window.said = [];
  const live = [...document.querySelectorAll("[aria-live], [role=status], [role=alert], output")]
    .filter(each => each.getAttribute("aria-live") !== "off");
  const watch = new MutationObserver(all => said.push(...all.map(each => each.target.id)));
  const all = { childList: true, subtree: true, characterData: true };
  for (const each of live) watch.observe(each, all);
}"""


def test_what_is_read_aloud_does_not_chatter(opener: Opener) -> None:
    """While the slow motion plays and replications arrive, nothing interrupts a listener."""
    seen = opener()
    seen.until("document.getElementById('stage').getAttribute('aria-label').includes('packets,')")
    seen.until("document.getElementById('told').textContent")
    frames = seen.page.evaluate("laboratory.stage.frames")
    done = seen.page.evaluate("Number(document.getElementById('replications').textContent)")
    seen.page.evaluate(_CHATTER)
    seen.until(f"laboratory.stage.frames > {frames} + 20")
    seen.until(f"Number(document.getElementById('replications').textContent) > {done} + 2")
    assert seen.page.evaluate("said") == []


_ONE_AFTER_THE_OTHER = """() => {
  const moves = MOVES, { requestAnimationFrame } = window;
  const next = () => {
    window.requestAnimationFrame = (act) => setTimeout(act);
    moves.shift()();
    window.requestAnimationFrame = requestAnimationFrame;
  };
  let { done } = laboratory;
  Object.defineProperty(laboratory, "done", {
    get: () => done,
    set: (to) => {
      done = to;
      if (moves.length) queueMicrotask(next);
    },
  });
  next();
}"""
"""Moves of which each comes as soon as the run of the one before has ended.

A run is told by a timer of 0.4 s, which is set at its end and cleared when the next begins. That
waits for a timer here and not for a frame: timers fire in order of their due times, however busy
a machine is, and frames do not.
"""


def test_a_run_is_told_when_sliders_rest_and_not_before(opener: Opener) -> None:
    seen = opener()
    seen.choose("mm1")
    # It has been told when its replications begin.
    seen.until("laboratory.isReplicating")
    told = "document.getElementById('told').textContent"
    before, done = seen.page.evaluate(f"[{told}, laboratory.done]")
    assert before
    seen.page.evaluate(_CHATTER)
    moves = [f"() => {moved('rate', share)}" for share in (0.5, 0.52, 0.54, 0.56, 0.58, 0.6)]
    seen.page.evaluate(_ONE_AFTER_THE_OTHER.replace("MOVES", f"[{', '.join(moves)}]"))
    seen.until(f"{told} !== {json.dumps(before)}")
    seen.until(f"laboratory.done === {done + len(moves)} && laboratory.isReplicating")
    assert seen.page.evaluate("said") == ["told"]


def test_a_slider_says_its_value_with_the_unit(opener: Opener) -> None:
    seen = opener()
    sliders = "[...document.querySelectorAll('input[type=range]:enabled')]"
    told = f"{sliders}.map(each => each.getAttribute('aria-valuetext'))"
    seen.until(f"{told}.every(Boolean)")
    assert len(seen.page.evaluate(told)) >= 4
