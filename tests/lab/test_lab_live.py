"""Live figures of studies' pages in Chromium: what they show is what the command line gives."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest
from live_page import STUDIES, LiveOpener, hero_of, write_page
from main_thread import check_no_task_is_long
from playwright.sync_api import Browser

import dumbbell
from browsing import barriers, opened, outside
from dumbbell.lab import LIVE, live_file, modules, write_live
from dumbbell.report import Report, write_report

pytestmark = [pytest.mark.browser, pytest.mark.slow]
Scheme = Literal["light", "dark"]


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 820, 1440])
def test_it_is_quiet_offline_and_fits(
    live_opener: LiveOpener, study: str, width: int, scheme: Scheme
) -> None:
    live = live_opener(study, width, scheme)
    assert live.seen.messages == []
    asked = [url for url in live.seen.requests if not url.startswith(("file:", "blob:", "data:"))]
    assert asked == []
    assert live.page.evaluate("document.documentElement.scrollWidth") == width
    assert outside(live.page, width) == []


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_axe_finds_no_barrier(
    live_opener: LiveOpener, study: str, width: int, scheme: Scheme
) -> None:
    live = live_opener(study, width, scheme)
    assert barriers(live.page) == []
    assert live.seen.messages == []


@pytest.mark.parametrize("study", STUDIES)
def test_every_control_gives_what_the_command_line_gives(
    live_opener: LiveOpener, study: str
) -> None:
    live = live_opener(study)
    live.check_equal()
    digests = "[...document.querySelectorAll('[data-digest]')].map(e => e.textContent).join()"
    for control in live.hero.controls:
        before = live.page.evaluate(digests)
        last = len(control.stops) - 1
        live.move({control.id: 0 if control.start == last else last})
        assert live.page.evaluate(digests) != before
        live.check_equal()
    # The run before stays in sight.
    assert live.page.evaluate("liveFigure.arms.every(each => each.before)")
    assert live.seen.messages == []


@pytest.mark.parametrize("study", STUDIES)
def test_a_bet_is_put_down_and_settled_by_keys_alone(live_opener: LiveOpener, study: str) -> None:
    live = live_opener(study)
    bet = live.hero.bet
    live.page.focus("#live-bet")
    live.page.keyboard.press("ArrowRight")
    mark = live.page.locator(".live-mark")
    assert mark.is_visible()
    put = float(live.page.input_value("#live-bet"))
    assert put > bet.start
    done = live.page.evaluate("liveFigure.done")
    live.page.focus("#live-find-out")
    live.page.keyboard.press("Enter")
    live.until(f"liveFigure.done > {done}")
    said = live.page.inner_text("#live-outcome")
    assert said.startswith("You bet ") and bet.lesson in said
    value = live.shown()[bet.arm, bet.number]
    assert live.page.evaluate(
        f"document.getElementById('live-outcome').textContent.includes("
        f"liveFigure.bet.words({value}))"
    )
    for control, place in bet.settings.items():
        assert (
            live.page.evaluate(
                f"liveFigure.controls.find(each => each.control.id === {control!r}).place"
            )
            == place
        )
    live.check_equal()


@pytest.mark.parametrize("study", STUDIES)
def test_the_mark_of_the_bet_can_be_dragged(live_opener: LiveOpener, study: str) -> None:
    live = live_opener(study)
    mark = live.page.locator(".live-mark")
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    before = live.page.evaluate("liveFigure.bet.value")
    moves = live.page.evaluate("liveFigure.view.betPlace(liveFigure.hero).moves")
    live.page.mouse.move(x, y)
    live.page.mouse.down()
    live.page.mouse.move(x + 40 * (moves == "x"), y - 40 * (moves == "y"), steps=4)
    live.page.mouse.up()
    assert live.page.evaluate("liveFigure.bet.value") > before


@pytest.mark.parametrize("study", STUDIES)
def test_every_control_has_a_name_and_is_reached_by_tab(
    live_opener: LiveOpener, study: str
) -> None:
    live = live_opener(study)
    live.page.click(".live-more > summary")
    fields = live.page.evaluate(
        "[...document.querySelectorAll('#live :is(input, button)')]"
        ".filter(each => !each.closest('details:not([open])'))"
        ".map(each => [each.id, ((each.labels || [])[0] || each).textContent.trim()])"
    )
    assert len(fields) >= len(live.hero.controls) + 3
    assert all(name for _, name in fields)
    reached = set()
    live.page.evaluate("document.activeElement.blur()")
    for _ in range(60):
        live.page.keyboard.press("Tab")
        reached.add(live.page.evaluate("document.activeElement.id"))
    assert {each for each, _ in fields} <= reached


@pytest.mark.parametrize("study", STUDIES)
def test_one_cursor_links_the_pictures(live_opener: LiveOpener, study: str) -> None:
    live = live_opener(study)
    for name in live.page.evaluate("liveFigure.clocks"):
        canvas = live.page.locator(f"canvas[data-picture={name}]")
        canvas.scroll_into_view_if_needed()
        canvas.hover(position={"x": 200, "y": 40})
        assert live.until("liveFigure.cursor_s") > 0
        live.page.mouse.move(1, 1)


def test_the_strip_says_what_the_senders_do(live_opener: LiveOpener) -> None:
    live = live_opener("traffic-policing")
    slow_start, recovery, startup, probe_bw = 0, 3, 5, 7
    of = "liveFigure.arms.map(each => [each.id, each.now.series.activities])"
    for arm, found in live.page.evaluate(of):
        toml = live.page.input_value(f"#live-toml-{arm}")
        run = dumbbell.simulate(dumbbell.Experiment.from_toml(toml))
        (queue,) = live.hero.arms[0].queues[0]
        first_loss_s = run.column("packets", "t_ns", queue=queue, event="drop")[0] / 1e9
        stretches = list(zip(found["from_s"], found["until_s"], found["activity"], strict=True))
        assert stretches[0][2] == slow_start and stretches[0][0] < 0.05
        assert all(one[1] <= other[0] for one, other in pairwise(stretches))
        # A loss is known a round trip later, and seen at the next sample.
        known_s = next(from_s for from_s, _, what in stretches if what == recovery)
        assert 0 < known_s - first_loss_s < 0.1, arm
    said = live.page.get_attribute("canvas[data-picture=states]", "aria-label")
    assert said.startswith("shaper: ") and "congestion avoidance" in said and "recovery" in said
    live.move({"sender": 2})
    for _, found in live.page.evaluate(of):
        assert {startup, probe_bw} <= set(found["activity"])
        assert slow_start not in found["activity"]
    assert "probe bandwidth" in live.page.get_attribute("canvas[data-picture=states]", "aria-label")


MOVES = """async ([name, stops]) => {
  const input = document.getElementById(`live-${name}`);
  for (let i = 0; i < 12; i++) {
    if (input.type === 'checkbox') input.checked = !input.checked;
    else input.value = String(i % stops);
    input.dispatchEvent(new Event('input', { bubbles: true }));
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
  await new Promise((resolve) => setTimeout(resolve, 500));
}"""


@pytest.mark.long
@pytest.mark.parametrize("study", STUDIES)
def test_no_task_is_long_while_a_slider_moves(
    browser: Browser, live_opener: LiveOpener, study: str
) -> None:
    live = live_opener(study)
    # What may not be drawn while one bets is most of it.
    live.page.click("#live-no-bet")

    def all_moved() -> None:
        for control in live.hero.controls:
            live.page.evaluate(MOVES, [control.id, len(control.stops)])

    all_moved()  # what is compiled on first use
    check_no_task_is_long(browser, live.page, all_moved)
    assert live.seen.messages == []


def test_a_part_of_a_run_is_called_a_preview(live_opener: LiveOpener) -> None:
    live = live_opener("buffer-sizing")
    live.page.evaluate(
        "window.said = new Set();"
        "new MutationObserver(() => said.add(liveFigure.status.textContent))"
        ".observe(liveFigure.status, { childList: true, characterData: true, subtree: true })"
    )
    # The most users: the longest run that there is, ten times as long as what needs no preview.
    live.move({"users": len(live.hero.control("users").stops) - 1})
    previews = [each for each in live.page.evaluate("[...said]") if each]
    assert previews and all(each.startswith("preview: the first ") for each in previews)
    assert live.page.inner_text(".live-status") == ""


@pytest.mark.long
@pytest.mark.parametrize("study", STUDIES)
def test_every_corner_runs(live_opener: LiveOpener, study: str) -> None:
    live = live_opener(study)
    seen: list[str] = []
    for places in live.hero.corners():
        live.move(places)
        assert live.page.locator("#live [role=alert]").is_hidden(), places
        seen.append(
            live.page.evaluate(
                "[...document.querySelectorAll('[data-digest]')].map(e => e.textContent).join()"
            )
        )
    # Nearly each is a run of its own: a queue that never fills is the same at any size.
    assert len(set(seen)) > 0.75 * len(seen)
    live.check_equal()


def test_without_the_bundle_the_page_is_whole(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(modules, "MODULE", "nothing.wasm")
    assert "make lab" in live_file.live_text()
    write_live(tmp_path)
    write_page(STUDIES[0], tmp_path)
    for has_script in (True, False):
        page, seen = opened(
            browser, tmp_path / STUDIES[0] / "index.html", 1440, has_script=has_script
        )
        assert page.locator("#hero svg.chart:visible").count() == 1
        assert "make lab" in page.inner_text("#live")
        assert seen.messages == []
        page.close()


def test_a_hostile_word_stays_inside_its_element(tmp_path: Path) -> None:
    from dataclasses import replace

    hostile = "</script><script>alert(1)</script><!--"
    hero = replace(hero_of(STUDIES[0]), watch=hostile)
    report = Report(study="s", title="T", summary="S", answer="A", live=hero)
    text = write_report(report, tmp_path / "s", live=f"../{LIVE}").read_text(encoding="utf-8")
    assert hostile not in text and "<!--" not in text


def test_the_laboratory_brings_the_bundle_to_pages_that_are_there(
    module: Path, tmp_path: Path
) -> None:
    from typer.testing import CliRunner

    from dumbbell.cli.app import app

    assert module.is_file()
    ask = ["lab", "--no-open", "--output", str(tmp_path / "laboratory.html")]
    assert CliRunner().invoke(app, ask).exit_code == 0
    assert not (tmp_path / LIVE).exists()
    write_page(STUDIES[0], tmp_path)
    (tmp_path / LIVE).write_text("// none\n", encoding="utf-8")
    assert CliRunner().invoke(app, ask).exit_code == 0
    assert (tmp_path / LIVE).read_text(encoding="utf-8") == live_file.live_text()
