"""The pages in Chromium: quiet, offline, without a script, on a phone, in the dark."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from markupsafe import Markup
from playwright.sync_api import Browser
from report_samples import realistic_report
from report_topologies import dumbbell, tc_words

from browsing import (
    BANDS,
    bands,
    barriers,
    brought_to_life,
    findings,
    lies_under,
    moved,
    opened,
    outside,
    sheets,
    unfolded,
)
from dumbbell.report import (
    Advice,
    Cell,
    Curve,
    Figure,
    IndexEntry,
    IntervalRow,
    Opening,
    Report,
    Sample,
    Topology,
    ValueRow,
    ValueTable,
    ecdf_chart,
    line_with_band,
    points_with_interval,
    write_index,
    write_report,
)
from waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.slow]
WIDTHS = {"desktop": 1280, "phone": 360}
STUDY = "statistical-multiplexing/index.html"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    report = realistic_report()
    wide = Topology.from_resolved("Sixteen senders", dumbbell(16), tc_words())
    report = realistic_report(
        answer="One fast queue is twice as fast as two slow ones, as the delay's CDF shows.",
        done="Two streams share a router, first one queue, then one queue each.",
        hero="rtt-cdf",
        advice=[Advice(wish="Soon", setting="One queue", because="It was twice as fast.")],
        topologies=[*report.topologies, wide],
    )
    write_report(report, folder / report.study)
    write_index([IndexEntry.of(report)], folder)
    return folder


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
@pytest.mark.parametrize("name", ["statistical-multiplexing/index.html", "index.html"])
def test_pages_are_quiet_offline_and_fit(
    browser: Browser, site: Path, name: str, width: int
) -> None:
    page, seen = opened(browser, site / name, width)
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(200)
    assert seen.messages == []
    assert [url for url in seen.requests if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert outside(page, width) == []
    page.close()


@pytest.mark.parametrize("name", ["mean_network_power_l4", "At most " + 8 * "so many packets "])
def test_the_first_numbers_of_a_wide_table_stand_on_a_phones_screen(
    browser: Browser, tmp_path: Path, name: str
) -> None:
    number = Cell(0.290688, 0.290650, 0.290725)
    rows = [ValueRow(name, "Mbit/s per s", [number, number, number])]
    table = ValueTable("Flows", ["16 Mbit/s, 15 ms", "16 Mbit/s, 60 ms", "other"], rows)
    report = Report(study="flows", title="Flows", summary="Three", values=[table])
    page, _ = opened(browser, write_report(report, tmp_path / "flows"), 390)
    unfolded(page)
    row = page.locator(".values tbody tr")
    (first, *_) = (each for each in row.locator("td.number").all() if each.is_visible())
    box = first.bounding_box()
    assert box is not None
    assert box["x"] > 0
    assert box["x"] + box["width"] < 390
    assert row.locator("th .unit-below").is_visible()
    assert not row.locator("td.unit").is_visible()
    # The names stay where they are while the numbers are moved.
    page.locator(".values").evaluate("each => { each.scrollLeft = 200 }")
    box = row.locator("th").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    page.close()
    page, _ = opened(browser, tmp_path / "flows/index.html", 1440)
    unfolded(page)
    assert page.locator(".values td.unit").is_visible()
    assert not page.locator(".values .unit-below").is_visible()
    page.close()


def test_ranks_are_sorted_by_their_lower_then_their_upper_end(
    browser: Browser, tmp_path: Path
) -> None:
    ranks = {"a": (1, 2), "b": (10, 10), "c": (1, 10), "d": (2, 2), "e": (1, 7)}
    rows = [
        ValueRow(name, "", [Cell(words=" to ".join(map(str, each)), order=each), held, dominated])
        for (name, each), held, dominated in zip(
            ranks.items(), (9.0, 100.0, 20.0, 3.0, None), ("none", "a", "b", "c", "d"), strict=True
        )
    ]
    table = ValueTable("Ranks", ["rank", "holds", "by"], rows, is_sortable=True)
    report = Report(study="ranks", title="Ranks", summary="Five", values=[table])
    page, seen = opened(browser, write_report(report, tmp_path / "ranks"), 390)
    unfolded(page)

    def pressed(name: str) -> str:
        page.locator("table.sortable thead button", has_text=name).click()
        return "".join(page.locator("table.sortable tbody th").all_text_contents())

    assert pressed("rank") == "aecdb"
    assert pressed("rank") == "bdcea"
    assert pressed("holds") == "bcade"
    assert pressed("rank") == "aecdb"
    assert pressed("by") == "bcdea"
    assert seen.messages == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("name", ["statistical-multiplexing/index.html", "index.html"])
def test_axe_finds_nothing(
    browser: Browser, site: Path, name: str, width: int, scheme: Literal["light", "dark"]
) -> None:
    page, _ = opened(browser, site / name, width, scheme=scheme)
    unfolded(page)
    assert findings(page) == []
    page.close()


def test_the_search_finds_studies_by_their_claims(browser: Browser, tmp_path: Path) -> None:
    entries = [
        IndexEntry(study="a", title="Buffers?", summary="-", statements=["BBR gets more"]),
        IndexEntry(study="b", title="Policers?", summary="-", topic="Policing"),
    ]
    write_index(entries, tmp_path)
    page, seen = opened(browser, tmp_path / "index.html", WIDTHS["desktop"])
    box = page.locator("#search")
    box.fill("bbr MORE")
    assert page.locator(".topic article:visible").count() == 1
    assert page.locator("#study-a").is_visible() and not page.locator("#topic-2").is_visible()
    assert page.locator("[role=status]").inner_text() == "1 study"
    box.fill("")
    assert page.locator(".topic article:visible").count() == 2
    assert seen.messages == []
    page.close()
    page, _ = opened(browser, tmp_path / "index.html", WIDTHS["desktop"], has_script=False)
    assert not page.locator("#search").is_visible()
    page.close()


def test_axe_finds_no_barrier_in_a_live_figure(browser: Browser, site: Path) -> None:
    page, _ = opened(browser, site / STUDY, 1440)
    brought_to_life(page, "rtt-cdf")
    assert barriers(page) == []
    page.close()


def test_figures_with_widths_and_logarithmic_axes_are_quiet(
    browser: Browser, tmp_path: Path
) -> None:
    x = [1.0, 2.0, 4.0]
    curves = [Curve("a", x, x), Curve("b", x, x[::-1])]
    samples = [Sample("a", "", x), Sample("b", "", x)]
    figures = [
        Figure("log", *line_with_band(curves, x_title="x", y_title="y", log_y=True), caption="-"),
        Figure("widths", *ecdf_chart(samples, x_title="x", widths=(1.0, 2.5)), caption="-"),
    ]
    write_report(Report(study="s", title="t", summary="-", figures=figures), tmp_path)
    page, seen = opened(browser, tmp_path / "index.html", WIDTHS["desktop"])
    for figure in figures:
        brought_to_life(page, figure.name)
    assert seen.messages == []
    page.close()


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
def test_figures_are_drawn_at_a_readable_size(browser: Browser, site: Path, width: int) -> None:
    page, _ = opened(browser, site / STUDY, width, has_script=False)
    page.locator("#figures > details > summary").click()
    drawings = page.locator(".plot svg.chart:visible")
    assert drawings.count() == 3
    for number in range(3):
        box = drawings.nth(number).bounding_box()
        assert box is not None
        assert width * 0.5 < box["width"] <= width
    page.close()
    page, _ = opened(browser, site / STUDY, width)
    unfolded(page)
    smallest = page.evaluate(
        """() => Math.min(...[...document.querySelectorAll('.plot svg text, svg.topology text')]
            .filter(e => e.getBoundingClientRect().width > 0 && e.textContent.trim())
            .map(e => e.getBoundingClientRect().height))"""
    )
    assert smallest >= 8
    page.close()


@pytest.mark.parametrize(
    ("width", "height", "screens"), [(1440, 900, 1.5), (390, 844, 2.0)], ids=["desktop", "phone"]
)
def test_the_first_figure_is_near_the_top(
    browser: Browser, site: Path, width: int, height: int, screens: float
) -> None:
    page, _ = opened(browser, site / STUDY, width, height)
    box = page.locator("#hero svg.chart:visible").bounding_box()
    assert box is not None
    assert box["y"] <= screens * height
    page.close()


def test_without_a_script_folds_open_and_figures_are_there(browser: Browser, site: Path) -> None:
    page, seen = opened(browser, site / STUDY, WIDTHS["desktop"], has_script=False)
    row = page.locator("#claim-same-n")
    lost = page.locator("#claim-published-max")
    assert not row.is_visible() and not lost.is_visible()
    # What was not reproduced is named in sight while the claims are folded.
    named = page.locator(".against li")
    assert named.count() == 1 and named.is_visible()
    assert "with one fast queue is 15.6 ms" in named.inner_text()
    page.locator("#claims > details > summary").click()
    assert lost.is_visible() and not row.is_visible()
    page.locator("details.agreeing > summary").click()
    assert row.is_visible()
    page.locator("#figures > details > summary").click()
    assert page.locator("#figure-quartiles svg.chart:visible").count() == 1
    assert seen.messages == []
    page.close()


INK_OF_MARKS = """() => [...document.querySelectorAll('#hero svg.chart')]
    .filter(e => e.getBoundingClientRect().width > 0)
    .flatMap(e => [...e.querySelectorAll('path[stroke], line[stroke], text[fill], rect[fill]')])
    .flatMap(e => [getComputedStyle(e).stroke, getComputedStyle(e).fill])
    .filter(colour => colour.startsWith('rgb('))"""


def test_figures_and_text_follow_the_mode(browser: Browser, site: Path) -> None:
    seen_in = {}
    for scheme in ("light", "dark"):
        page, _ = opened(browser, site / STUDY, WIDTHS["desktop"], scheme=scheme)  # type: ignore[arg-type]
        ground, ink = page.evaluate(
            "() => [getComputedStyle(document.body).backgroundColor,"
            " getComputedStyle(document.body).color]"
        )
        seen_in[scheme] = (ground, ink, {*page.evaluate(INK_OF_MARKS)})
        page.close()
    assert seen_in["light"][:2] == ("rgb(255, 255, 255)", "rgb(27, 27, 27)")
    assert seen_in["dark"][:2] == ("rgb(21, 24, 28)", "rgb(232, 234, 237)")
    # No colour of a figure is the same in both.
    assert seen_in["light"][2] and not seen_in["light"][2] & seen_in["dark"][2]


def test_on_a_wide_screen_captions_and_terms_stand_in_the_margin(
    browser: Browser, site: Path
) -> None:
    page, _ = opened(browser, site / STUDY, 1440)
    unfolded(page)
    for beside, wanted in (
        ("#hero", ".hero figcaption"),
        ("header .answer", "header .beside"),
        ("#figure-factor .drawn-figure", "#figure-factor figcaption"),
    ):
        main, margin = (page.locator(name).bounding_box() for name in (beside, wanted))
        assert main is not None and margin is not None
        assert margin["x"] >= main["x"] + main["width"]
        assert margin["x"] + margin["width"] <= 1440
    page.close()


@pytest.mark.parametrize("width", [390, 820])
def test_no_legend_or_label_is_cut_off(browser: Browser, site: Path, width: int) -> None:
    page, _ = opened(browser, site / STUDY, width)
    unfolded(page)
    cut = page.evaluate(
        """() => [...document.querySelectorAll('.plot svg.chart')]
            .filter(e => e.getBoundingClientRect().width > 0)
            .flatMap(svg => [...svg.querySelectorAll('text')].filter(text => {
                const [box, all] = [text.getBoundingClientRect(), svg.getBoundingClientRect()];
                return box.width > 0 && (box.right > all.right + 1 || box.left < all.left - 1);
            }).map(text => text.textContent))"""
    )
    assert cut == []
    page.close()


def test_hovering_shows_values(browser: Browser, site: Path) -> None:
    page, _ = opened(browser, site / "statistical-multiplexing/index.html", WIDTHS["desktop"])
    live = brought_to_life(page, "quartiles")
    live.locator("path[aria-roledescription='point']").first.hover(force=True)
    tooltip = page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for(timeout=1000 * PATIENCE_S)
    assert "measured" in tooltip.inner_text()
    page.close()


def test_shift_and_wheel_zoom_and_the_bare_wheel_scrolls(browser: Browser, site: Path) -> None:
    page, _ = opened(browser, site / "statistical-multiplexing/index.html", WIDTHS["desktop"])
    figure = brought_to_life(page, "rtt-cdf")
    figure.scroll_into_view_if_needed()
    figure.hover(position={"x": 300, "y": 150}, force=True)

    def texts() -> list[str]:
        return page.locator("#figure-rtt-cdf svg.marks text").all_text_contents()

    def has_scrolled() -> bool:
        """Whether it stands where it did not stand before."""
        now = page.evaluate("scrollY")
        page.wait_for_timeout(100)
        return bool(top != now == page.evaluate("scrollY"))

    before = texts()
    top = page.evaluate("scrollY")
    page.mouse.wheel(0, 200)
    wait_until(has_scrolled, "the page has not scrolled")
    assert texts() == before
    page.keyboard.down("Shift")
    page.mouse.wheel(0, -300)
    wait_until(
        lambda: texts() != before,
        "the figure was not zoomed",
        pause=lambda: page.wait_for_timeout(50),
    )
    page.keyboard.up("Shift")
    page.close()


def test_claims_become_cards_on_a_phone(browser: Browser, site: Path) -> None:
    for name, display in (("desktop", "table-row"), ("phone", "block")):
        page, _ = opened(browser, site / "statistical-multiplexing/index.html", WIDTHS[name])
        unfolded(page)
        row = page.locator(".claims tbody tr").first
        assert row.evaluate("e => getComputedStyle(e).display") == display
        page.close()


def test_turning_the_phone_shows_the_other_drawing(browser: Browser, site: Path) -> None:
    page, seen = opened(browser, site / STUDY, WIDTHS["phone"])
    brought_to_life(page, "factor")
    page.set_viewport_size({"width": 740, "height": 360})
    page.locator("#figure-factor svg.chart.wide").wait_for()
    box = page.locator("#figure-factor svg.chart:visible").bounding_box()
    assert box is not None
    assert box["width"] > 500
    assert seen.messages == []
    page.close()


def test_commands_are_copied(browser: Browser, site: Path) -> None:
    page, _ = opened(browser, site / "statistical-multiplexing/index.html", WIDTHS["desktop"])
    unfolded(page)
    button = page.locator(".host-commands .copy").first
    page.evaluate("window.setTimeout = () => 0")  # else it stands there for 1.5 s only
    button.click()
    page.wait_for_function("document.querySelector('.copy').textContent === 'copied'")
    page.close()


def test_a_study_is_printed_on_eight_sheets_folds_closed(browser: Browser, site: Path) -> None:
    page, _ = opened(browser, site / "statistical-multiplexing/index.html", WIDTHS["desktop"])
    page.emulate_media(media="print")
    folded = page.locator("details:not([open])").count()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    # Figures and limitations are on paper, the rest of the evidence is not.
    assert (
        page.locator("details.fold[open]").count() == page.locator("#figures, #notes").count() > 0
    )
    assert 0 < page.locator("details:not([open])").count() < folded
    assert not page.locator("table.claims").first.is_visible()
    assert page.locator(".paper").is_visible()
    assert 2 <= sheets(page) <= 8
    page.close()


def test_a_page_of_runs_is_printed_unfolded(browser: Browser, site: Path) -> None:
    page, _ = opened(browser, site / "statistical-multiplexing/index.html", WIDTHS["desktop"])
    page.emulate_media(media="print")
    page.evaluate("document.body.classList.remove('explanation')")  # what a study's page alone has
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    assert page.locator("table.claims").first.is_visible()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() > 0
    page.close()


LAYOUT = Path(__file__).with_name("overview_layout.json")
"""Where each part of the overview begins and ends, in tenths of the screen (`browsing.bands`)."""
OVERVIEW = {
    "question": ".opening .question",
    "answer": ".opening .answer",
    "figure": ".opening svg",
    "control": ".opening .begin",
}
WITHOUT_LIVE = Path(__file__).with_name("study_layout.json")
"""The same of a study's page whose figure does not run, as of folklore and bbr-share."""
PLACES = {"question": "h1", "answer": "header .answer", "figure": "figure.hero .plot"}
OPENING = Opening(
    address="story.html",
    title="Your call is behind 1,000 packets",
    question="Somebody starts a download. What happens to your call?",
    answer="A download starts, the queue fills, and each packet waits 462 ms on average.",
    invitation="Push it yourself: seven steps",
    drawing=Markup('<svg viewBox="0 0 720 350" role="img" aria-label="A queue"></svg>'),
)


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_the_overview_begins_with_what_one_is_to_push(
    browser: Browser, tmp_path: Path, width: int, height: int
) -> None:
    report = realistic_report()
    write_report(report, tmp_path / report.study)
    write_index([IndexEntry.of(report)], tmp_path, opening=OPENING)
    page, seen = opened(browser, tmp_path / "index.html", width, height)
    tops = []
    for part in (".purpose", "h1", ".opening .question", ".opening .answer", ".opening .begin"):
        box = page.locator(part).bounding_box()
        assert box, part
        assert box["y"] + box["height"] <= height, part
        tops.append(box["y"])
    assert tops == sorted(tops)
    found = bands(page, OVERVIEW, height)
    assert moved(found, json.loads(LAYOUT.read_text(encoding="utf-8"))[str(width)]) == {}
    explaining = ".purpose, h1, .opening p, h2, h3, .overview .answer, .advice dt, .hint"
    assert lies_under(page, explaining) == []
    picture = page.locator(".opening svg").bounding_box()
    assert picture and picture["y"] + picture["height"] <= height
    assert barriers(page) == []
    assert seen.messages == []
    page.close()


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_a_study_without_a_live_figure_shows_question_answer_and_figure_first(
    browser: Browser, site: Path, width: int, height: int
) -> None:
    page, _ = opened(browser, site / "statistical-multiplexing/index.html", width, height)
    found = bands(page, PLACES, height)
    assert all(end < BANDS for _, end in found.values()), found
    assert moved(found, json.loads(WITHOUT_LIVE.read_text(encoding="utf-8"))[str(width)]) == {}
    assert lies_under(page, "h1, header .answer, figure.hero figcaption") == []
    page.close()


def test_a_leading_table_stands_before_the_figures_and_fits_a_phone(
    browser: Browser, tmp_path: Path
) -> None:
    columns = ["rank", "holds", "does not hold", "not decided", "dominated in"]
    row = ValueRow("highspeed", "", [Cell(words="10 to 11", order=(10, 11)), 101, 10, 2, 24])
    league = ValueTable("The league", columns, [row], is_sortable=True, is_leading=True)
    later = ValueTable("Numbers", ["wait"], [ValueRow("highspeed", "", [1.0])])
    report = Report(study="league", title="League", summary="One", values=[later, league])
    page, _ = opened(browser, write_report(report, tmp_path / "league"), 390)
    assert page.locator("main > section").first.locator("h2").inner_text() == "The league"
    assert page.locator("#values h3").all_inner_texts() == ["Numbers"]
    table = page.locator(".leading .values")
    assert table.evaluate("each => each.scrollWidth <= each.clientWidth")
    page.close()
    # Also where the page begins with an answer and its picture.
    drawn = Figure(
        "hero", *points_with_interval([IntervalRow("a", 1.0, 0.5, 1.5)], x_title="x"), ""
    )
    report = replace(report, answer="It is one of 24", figures=[drawn])
    page, _ = opened(browser, write_report(report, tmp_path / "answer"), 390)
    tops = [page.locator(each).bounding_box() for each in (".leading", "#figure-hero")]
    assert tops[0] is not None
    assert tops[1] is not None
    assert tops[0]["y"] < tops[1]["y"]
    page.close()
