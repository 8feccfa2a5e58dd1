"""What one takes along: the address follows the page, Back takes a change back, buttons copy."""

from __future__ import annotations

import json

import pytest
from lab_page import Opener, check_equal, moved

from browsing import barriers

pytestmark = [pytest.mark.browser, pytest.mark.slow]
RATE = "laboratory.described.resolved.links[1].forward.rate_bps"


def test_the_address_follows_and_back_takes_back(opener: Opener) -> None:
    seen = opener()
    address = "location.hash === '#' + document.getElementById('link').value.split('#')[1]"
    seen.until(address)
    first_bps, first = seen.page.evaluate(RATE), seen.digest()
    entries = seen.page.evaluate("history.length")
    seen.after(moved("rate", 0.4))
    seen.until(f"laboratory.isReplicating && {address}")
    changed = seen.digest()
    assert seen.page.evaluate(RATE) != first_bps
    assert seen.page.evaluate("history.length") == entries + 1
    seen.choose("mm1")
    seen.until(f"laboratory.isReplicating && {address}")
    other = seen.digest()
    for digest in (changed, first):
        seen.page.evaluate("history.back()")
        seen.until(f"document.getElementById('digest').textContent === {json.dumps(digest)}")
        check_equal(seen)
        seen.until(f"laboratory.isReplicating && {address}")
        assert seen.page.evaluate("history.length") == entries + 2
    seen.page.evaluate("history.go(2)")
    seen.until(f"document.getElementById('digest').textContent === {json.dumps(other)}")
    assert seen.is_quiet(), seen
    # It opens what was there when it was copied.
    again = opener(seen.page.evaluate("location.hash"))
    assert again.digest() == other


def test_each_field_is_copied(opener: Opener) -> None:
    seen = opener()
    seen.page.evaluate("navigator.clipboard.writeText = async (text) => { window.taken = text }")
    for field in ("toml", "command", "tc", "link", "frame"):
        seen.page.click(f"#copy-{field}")
        seen.until(f"document.getElementById('copy-{field}').textContent === 'Copied'")
        assert seen.page.evaluate("taken") == seen.page.input_value(f"#{field}")
    assert barriers(seen.page) == []
    # Where the clipboard is refused, as in a frame, the selection is copied.
    seen.page.evaluate(
        "navigator.clipboard.writeText = async () => { throw new Error('refused') };"
        "document.execCommand = (name) => { window.taken = name + getSelection(); return true }"
    )
    seen.page.click("#copy-command")
    seen.until("taken.startsWith('copy')")
    assert seen.page.evaluate("document.activeElement.id") == "command"
    assert seen.is_quiet(), seen


@pytest.mark.parametrize("preset", ["bufferbloat", "by-hand", "mm1"])
def test_slow_motion_opens_where_there_is_something_to_see(opener: Opener, preset: str) -> None:
    seen = opener()
    seen.choose(preset)
    held = "laboratory.lastDone.series.queue"
    dropped = seen.page.evaluate(f"[...{held}.dropped_pkts].findIndex((each) => each > 0)")
    longest = seen.page.evaluate(f"{held}.system_pkts.indexOf(Math.max(...{held}.system_pkts))")
    place = dropped if dropped >= 0 else longest
    all_s = seen.page.evaluate("laboratory.now.duration_s")
    before_s = seen.page.evaluate(f"{held}.t_s[{max(0, place - 1)}]")
    moment_s = int(seen.page.input_value("#moment")) / 1000 * all_s
    assert before_s - all_s / 1000 <= moment_s <= before_s
    seen.until("laboratory.stage.packets && laboratory.stage.packets.in_ns.length > 0")
    # What was chosen stays, until another experiment is opened.
    seen.page.focus("#moment")
    seen.page.keyboard.press("End")
    seen.after(moved("seed", 0))
    assert seen.page.input_value("#moment") == "1000"
    assert seen.is_quiet(), seen


def test_a_link_that_is_followed_while_a_run_ends_is_opened(opener: Opener) -> None:
    seen = opener()
    seen.page.evaluate(
        "() => { const own = window.setTimeout; window.waiting = [];"
        " window.setTimeout = (act, ms) => { window.waiting.push(act); return own(act, ms) } }"
    )
    seen.after(moved("rate", 0.4))
    # What the page does when a run has ended comes before it hears of the link.
    seen.page.evaluate(
        "() => { location.hash = '#s=WzFd'; for (const act of window.waiting) act() }"
    )
    seen.until("!document.getElementById('message').hidden")
    assert seen.is_quiet(), seen
