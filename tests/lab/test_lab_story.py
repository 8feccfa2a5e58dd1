"""The story: each step is the engine's run, and is seen, reached and understood by everybody."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from lab_page import Opened, Opener
from playwright.sync_api import Browser, Page

import dumbbell
from browsing import findings, opened, sheets
from dumbbell.lab import STORY, modules, story_opening, write_story
from dumbbell.lab.story_file import story_text
from dumbbell.lab.story_pictures import Funnel
from dumbbell.lab.story_runs import CALL, FULL_PKTS, GAME, Bottleneck, Setting, told
from dumbbell.report import write_index
from dumbbell.tables.codes import REASONS_FROM_INSIDE
from waiting import PATIENCE_S, wait_until

STUDIES = ("queue-size-delay", "buffer-sizing", "pie-rrul", "traffic-policing")
MOST_SHEETS = 8
"""Of A4, on which it is printed."""
STEPS = ("fill", "bet", "wall", "more", "lanes", "policer", "duel")
CONTROLS = {
    "fill": "#download",
    "bet": "#bet",
    "wall": "#wall",
    "more": "#downloads",
    "lanes": "#split",
    "policer": "#burst",
    "duel": "#window",
}
SCREENS = {"desktop": (1440, 900), "phone": (390, 844)}
LAYOUT = Path(__file__).with_name("story_layout.json")
TOLERANCE_PX = 40
"""Of a position: about two lines, as machines have different fonts."""
MOST_BYTES = 1_500_000
MOST_TAPS = 3


@pytest.fixture(scope="module")
def story(module: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert module.is_file()
    return write_story(tmp_path_factory.mktemp("story"), STUDIES)


def _begun(
    browser: Browser,
    story: Path,
    screen: tuple[int, int],
    *,
    motion: Literal["reduce", "no-preference"] = "reduce",
    scheme: Literal["light", "dark"] = "light",
) -> Opened:
    width, height = screen
    page = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion=motion
    )
    seen = Opened.of(page)
    page.goto(story.as_uri())
    seen.until("window.story && story.done > 0")
    return seen


def _at(seen: Opened, step: str) -> None:
    """Scrolls there as its link does, and waits for its run."""
    number = STEPS.index(step) + 1
    seen.page.evaluate(f"document.getElementById('step-{number}').scrollIntoView()")
    seen.until(f"story.step === '{step}'")
    if step != "duel":
        seen.until(f"story.run && story.run.step === '{step}' && !story.isDirty")


@pytest.fixture(params=SCREENS.values(), ids=SCREENS.keys())
def seen(request: pytest.FixtureRequest, browser: Browser, story: Path) -> Iterator[Opened]:
    made = _begun(browser, story, request.param)
    yield made
    made.page.close()


slow = pytest.mark.slow
in_browser = pytest.mark.browser


# --- without a browser ------------------------------------------------------------------------


def test_the_funnel_holds_the_largest_buffer_and_narrows() -> None:
    for width, height in ((600.0, 176.0), (290.0, 140.0), (1000.0, 300.0)):
        funnel = Funnel.of(width, height)
        assert sum(funnel.rows) >= FULL_PKTS
        assert list(funnel.rows) == sorted(funnel.rows)
        assert len(funnel.rows) * funnel.size <= width
        assert funnel.rows[-1] * funnel.size <= height
        assert funnel.columns(0) == 0
        assert funnel.columns(funnel.rows[0]) == 1


def test_the_page_takes_the_same_drops_for_those_from_inside_a_queue() -> None:
    text = (modules.FOLDER / "page" / "packets.js").read_text(encoding="utf-8")
    listed = re.search(r"const FROM_INSIDE = \[([\d, ]+)\];", text)
    assert listed
    assert {int(code) for code in listed[1].split(",")} == REASONS_FROM_INSIDE


def test_a_full_queue_makes_the_call_wait_for_its_bytes_over_the_rate() -> None:
    run = told(Setting())
    # 999 packets of 1500 bytes before it at 20 Mbit/s: 599 ms; packets of the call are smaller.
    assert 560 < run.longest_wait_ms < 600
    assert (
        max(len(run.inside(each.in_ns)) for each in run.packets if each.is_dropped) == FULL_PKTS + 1
    )
    lanes = told(Setting(32, Bottleneck.LANES))
    assert lanes.mean_wait_ms < 2
    assert lanes.lost_share == 0


def test_a_smaller_wall_is_a_shorter_wait_and_ten_packets_leave_the_link_idle() -> None:
    runs = [told(Setting(limit_pkts=limit)) for limit in (10, 100, 1000)]
    waits = [run.mean_wait_ms for run in runs]
    assert waits == sorted(waits)
    assert runs[0].download_bps < 0.85 * runs[1].download_bps


def test_the_page_is_pictures_where_there_is_no_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "has_module", lambda: False)
    text = story_text()
    assert text.count('<svg class="still"') == len(STEPS) - 1
    assert '<script type="text/plain" id="module"></script>' in text
    assert "How do we know?" not in text


def test_the_page_is_small_enough_to_be_passed_on(story: Path) -> None:
    assert len(gzip.compress(story.read_bytes())) <= MOST_BYTES


# --- in a browser -----------------------------------------------------------------------------


@slow
@in_browser
def test_each_step_is_the_run_of_the_command_line(browser: Browser, story: Path) -> None:
    page = _begun(browser, story, SCREENS["desktop"])
    wanted = {
        "bet": Setting(),
        "wall": Setting(),
        "more": Setting(32, limit_pkts=1000),  # the wall is left as it was
        "lanes": Setting(32),
        "policer": Setting(1, Bottleneck.POLICER),
    }
    for step, setting in wanted.items():
        _at(page, step)
        run = page.page.evaluate("({ digest: story.run.digest, toml: story.run.toml })")
        assert run["digest"] == told(setting).digest, step
        written = dumbbell.simulate(dumbbell.Experiment.from_toml(run["toml"]))
        assert written.meta["digest"] == run["digest"], step
    page.page.evaluate("document.getElementById('split').click()")
    _at(page, "lanes")
    page.until("story.run.setting.bottleneck === 'lanes'")
    assert page.page.evaluate("story.run.digest") == told(Setting(32, Bottleneck.LANES)).digest
    assert page.is_quiet(), page
    page.page.close()


@slow
@in_browser
def test_question_answer_picture_and_control_are_on_one_screen(seen: Opened) -> None:
    size = seen.page.viewport_size
    assert size
    kept = json.loads(LAYOUT.read_text(encoding="utf-8"))[str(size["width"])]
    for step in STEPS:
        _at(seen, step)
        found = {}
        for name, selector in {
            "question": f"#question-{step}",
            "answer": f"#answer-{step}",
            "figure": "#tank",
            "control": CONTROLS[step],
        }.items():
            box = seen.page.locator(selector).bounding_box()
            assert box, (step, name)
            assert box["y"] >= -1, (step, name, box)
            assert box["y"] + box["height"] <= size["height"] + 1, (step, name, box)
            found[name] = round(box["y"])
        for name, y in found.items():
            assert abs(y - kept[step][name]) <= TOLERANCE_PX, (step, name, y, kept[step][name])
    assert seen.page.evaluate("document.documentElement.scrollWidth") == size["width"]


_COVERED = """(selectors) => {
  const boxesOf = (each) => {
    const range = document.createRange();
    range.selectNodeContents(each);
    const all = each.childNodes.length ? range.getClientRects() : [each.getBoundingClientRect()];
    return [...all].filter(({ width, height }) => width > 1 && height > 1);
  };
  const isSeen = (each, { left, top, width, height }) => {
    const on = document.elementFromPoint(left + width / 2, top + height / 2);
    return on !== null && on !== document.body && (each.contains(on) || on.contains(each));
  };
  return selectors.flatMap((selector) => [...document.querySelectorAll(selector)]
    .filter((each) => each.getClientRects().length)
    .filter((each) => boxesOf(each).some((box) => !isSeen(each, box)))
    .map((each) => `${selector}: ${each.outerHTML.slice(0, 80)}`));
}"""


@slow
@in_browser
def test_nothing_that_explains_lies_under_something_else(seen: Opened) -> None:
    seen.page.evaluate("document.getElementById('download').click()")
    for number, step in enumerate(STEPS, start=1):
        _at(seen, step)
        if step == "bet":
            seen.page.click("#show")
        inside = f"#step-{number}"
        wanted = [
            f"{inside} h1, {inside} h2",
            f"{inside} .what",
            f"{inside} .answer",
            f"{inside} button",
            f"{inside} input",
            f"{inside} label",
            ".readings dt",
            ".readings dd",
            ".line-title",
        ]
        assert seen.page.evaluate(_COVERED, wanted) == [], step


@slow
@in_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS.values(), ids=SCREENS.keys())
def test_axe_finds_nothing(
    browser: Browser, story: Path, screen: tuple[int, int], scheme: Literal["light", "dark"]
) -> None:
    seen = _begun(browser, story, screen, scheme=scheme)
    for step in STEPS:
        _at(seen, step)
        assert findings(seen.page) == [], step
    assert seen.is_quiet(), seen
    seen.page.close()


@slow
@in_browser
def test_everything_is_done_by_keys(seen: Opened) -> None:
    page = seen.page
    reached: list[str] = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id"))
        if reached[-1] == "download":
            page.keyboard.press("Space")
            seen.until("story.step === 'fill' && story.run?.setting.downloads === 1")
        if reached[-1] == "begin":
            break
    # The wall's slider is there while its step is.
    assert {"pause", "download", "bet", "show", "downloads", "split", "burst", "window"} <= {
        *reached
    }
    _at(seen, "wall")
    page.focus("#wall")
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    seen.until("story.run.step === 'wall' && story.run.setting.limit_pkts === 903")
    assert page.get_attribute("#wall", "aria-valuetext") == "903 packets"


@slow
@in_browser
def test_a_phone_takes_three_taps_at_most_from_the_overview_to_what_one_has_pushed(
    browser: Browser, story: Path
) -> None:
    width, height = SCREENS["phone"]
    write_index([], story.parent, opening=story_opening())
    page = browser.new_page(viewport={"width": width, "height": height}, has_touch=True)
    seen = Opened.of(page)
    page.goto((story.parent / "index.html").as_uri())
    taps = 0
    for element in (".begin", "#download"):
        page.locator(element).wait_for(timeout=1000 * PATIENCE_S)
        box = page.locator(element).bounding_box()
        # Nobody has to scroll for it.
        assert box is not None and box["y"] + box["height"] <= height, element
        page.tap(element)
        taps += 1
    seen.until("story.run?.setting.downloads === 1")
    seen.until("document.getElementById('reading-call').dataset.state === 'dead'")
    assert taps <= MOST_TAPS
    assert seen.is_quiet(), seen
    page.close()


_FRAMES = """() => new Promise((resolve) => {
  const next = (left) => (left ? requestAnimationFrame(() => next(left - 1)) : resolve());
  next(10);
})"""


@slow
@in_browser
def test_nothing_moves_for_who_wants_no_motion_until_it_is_asked_for(seen: Opened) -> None:
    _at(seen, "wall")
    before = seen.page.evaluate("story.t_ns")
    seen.page.evaluate(_FRAMES)
    assert seen.page.evaluate("story.t_ns") == before
    of_call = [each for each in told(Setting()).packets if each.flow == CALL]
    longest = max((each.out_ns - each.in_ns, each.out_ns) for each in of_call if each.out_ns)
    assert before == longest[1] - 1
    seen.page.click("#pause")
    seen.until(f"story.t_ns !== {before}")


@slow
@in_browser
def test_it_moves_where_nobody_minds(browser: Browser, story: Path) -> None:
    seen = _begun(browser, story, SCREENS["phone"], motion="no-preference")
    before = seen.page.evaluate("story.t_ns")
    seen.until(f"story.t_ns !== {before}")
    seen.page.click("#download")
    seen.until(
        "story.run.setting.downloads === 1"
        " && document.getElementById('reading-call').textContent === 'dead'"
    )
    seen.page.close()


@slow
@in_browser
def test_the_bet_is_told_what_it_was(seen: Opened) -> None:
    _at(seen, "bet")
    assert seen.page.text_content("#answer-bet") == ""
    assert seen.page.text_content("#reading-wait") == "?"
    seen.page.click("#show")
    answer = seen.page.text_content("#answer-bet") or ""
    assert answer.startswith(f"{told(Setting()).longest_wait_ms:.0f} ms") and "too short" in answer
    assert seen.page.text_content("#reading-wait") != "?"


@slow
@in_browser
@pytest.mark.parametrize("width", [390, 1440])
def test_without_a_script_there_are_pictures_and_answers(
    browser: Browser, story: Path, width: int
) -> None:
    page, seen = opened(browser, story, width, has_script=False)
    assert page.locator("svg.still:visible").count() == len(STEPS) - 1
    assert page.locator(":is(button, input):visible").count() == 0
    assert page.locator("#answer-lanes").is_visible()
    links = page.locator("a:text('How do we know?')")
    assert [each.get_attribute("href") for each in links.all()] == [
        f"{study}/index.html"
        for study in (
            "queue-size-delay",
            "queue-size-delay",
            "buffer-sizing",
            "buffer-sizing",
            "pie-rrul",
            "traffic-policing",
        )
    ]
    assert seen.messages == []
    page.close()


@slow
@in_browser
def test_on_paper_every_step_has_its_picture_and_the_answer_to_it(
    browser: Browser, story: Path
) -> None:
    still, _ = opened(browser, story, 1440, has_script=False)
    drawn = still.locator(".answer").all_inner_texts()
    still.close()
    page, _ = opened(browser, story, 1440)
    # Nobody has started the download that the first picture shows.
    wait_until(
        lambda: page.inner_text("#answer-fill") != drawn[0],
        "the first run",
        pause=lambda: page.wait_for_timeout(20),
    )
    of_runs = page.locator(".answer").all_inner_texts()
    assert sheets(page) <= MOST_SHEETS
    assert page.locator(".answer").all_inner_texts() == of_runs
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".answer").all_inner_texts() == drawn
    assert page.locator("svg.still:visible").count() == len(STEPS) - 1
    assert page.locator("a:text-is('Next'):visible").count() == 0
    page.close()


def _winner(page: Page) -> str:
    return str(page.text_content("#answer-duel"))


@slow
@in_browser
def test_the_game_names_a_winner_and_gives_its_run_to_pass_on(
    browser: Browser, story: Path, opener: Opener
) -> None:
    seen = _begun(browser, story, SCREENS["phone"])
    _at(seen, "duel")
    seen.page.click("#begin")
    assert seen.page.evaluate("document.activeElement.id") == "window"
    seen.until("story.game && story.game.now_ns > 1e9")
    seen.page.keyboard.press("PageUp")
    wait_until(
        lambda: "Digest" in _winner(seen.page),
        lambda: (_winner(seen.page), seen.messages),
        pause=lambda: seen.page.wait_for_timeout(200),
    )
    words = _winner(seen.page)
    assert words.startswith(("You beat Reno: you ", "Reno wins: you "))
    digest = words.rsplit("Digest of your run: ", 1)[1].rstrip(".")
    link = seen.page.get_attribute("#duel-link", "href") or ""
    assert link.startswith("laboratory.html#s=")
    laboratory = opener(link.removeprefix("laboratory.html"))
    assert laboratory.digest().startswith(digest)
    reno = dumbbell.simulate(GAME).meta["digest"]
    assert seen.page.evaluate("story.duel.scores.get('reno').digest") == reno
    seen.page.close()


def test_the_name_of_the_page_is_kept() -> None:
    """The site and the index lead to it."""
    assert STORY == "story.html"
