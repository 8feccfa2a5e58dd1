"""The pages in Chromium: quiet console, no request beyond files, no sideways scrolling."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser
from report_samples import realistic_report
from report_topologies import dumbbell, tc_words

from browsing import opened, outside
from dumbbell.report import (
    Curve,
    Figure,
    IndexEntry,
    Report,
    Sample,
    Topology,
    ecdf_chart,
    line_with_band,
    write_index,
    write_report,
)

pytestmark = pytest.mark.browser
WIDTHS = {"desktop": 1280, "phone": 360}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    report = realistic_report()
    wide = Topology.from_resolved("Sixteen senders", dumbbell(16), tc_words())
    report = realistic_report(topologies=[*report.topologies, wide])
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
    assert seen.messages == []
    page.close()


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
def test_figures_are_drawn_at_a_readable_size(browser: Browser, site: Path, width: int) -> None:
    page, _ = opened(browser, site / "statistical-multiplexing/index.html", width)
    plots = page.locator(".plot svg.marks")
    assert plots.count() == 3
    for number in range(3):
        box = plots.nth(number).bounding_box()
        assert box is not None
        assert width * 0.5 < box["width"] <= width
    smallest = page.evaluate(
        """() => Math.min(...[...document.querySelectorAll('.plot svg text, svg.topology text')]
            .filter(e => e.getBoundingClientRect().width > 0)
            .map(e => e.getBoundingClientRect().height))"""
    )
    assert smallest >= 8
    page.close()


def test_hovering_shows_values(browser: Browser, site: Path) -> None:
    page, _ = opened(browser, site / "statistical-multiplexing/index.html", WIDTHS["desktop"])
    points = page.locator("#figure-quartiles svg.marks path[aria-roledescription='point']")
    points.first.hover(force=True)
    tooltip = page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for(timeout=20_000)
    assert "measured" in tooltip.inner_text()
    page.close()


def test_shift_and_wheel_zoom_and_the_bare_wheel_scrolls(browser: Browser, site: Path) -> None:
    page, _ = opened(browser, site / "statistical-multiplexing/index.html", WIDTHS["desktop"])
    figure = page.locator("#figure-rtt-cdf svg.marks")
    figure.scroll_into_view_if_needed()
    figure.hover(position={"x": 300, "y": 150}, force=True)
    before = page.locator("#figure-rtt-cdf svg.marks text").all_text_contents()
    top = page.evaluate("scrollY")
    page.mouse.wheel(0, 200)
    page.wait_for_timeout(300)
    assert page.evaluate("scrollY") != top
    assert page.locator("#figure-rtt-cdf svg.marks text").all_text_contents() == before
    page.keyboard.down("Shift")
    page.mouse.wheel(0, -300)
    page.wait_for_timeout(300)
    page.keyboard.up("Shift")
    assert page.locator("#figure-rtt-cdf svg.marks text").all_text_contents() != before
    page.close()


def test_claims_become_cards_on_a_phone(browser: Browser, site: Path) -> None:
    for name, display in (("desktop", "table-row"), ("phone", "block")):
        page, _ = opened(browser, site / "statistical-multiplexing/index.html", WIDTHS[name])
        row = page.locator(".claims tbody tr").first
        assert row.evaluate("e => getComputedStyle(e).display") == display
        page.close()


def test_turning_the_phone_redraws_the_figures(browser: Browser, site: Path) -> None:
    page, seen = opened(browser, site / "statistical-multiplexing/index.html", WIDTHS["phone"])
    page.set_viewport_size({"width": 740, "height": 360})
    page.wait_for_timeout(500)
    box = page.locator(".plot svg.marks").first.bounding_box()
    assert box is not None
    assert box["width"] > 500
    assert seen.messages == []
    page.close()


def test_commands_are_copied(browser: Browser, site: Path) -> None:
    page, _ = opened(browser, site / "statistical-multiplexing/index.html", WIDTHS["desktop"])
    button = page.locator(".host-commands .copy").first
    button.click()
    page.wait_for_function("document.querySelector('.copy').textContent === 'copied'")
    page.close()


def test_printing_unfolds_and_fits(browser: Browser, site: Path) -> None:
    page, _ = opened(browser, site / "statistical-multiplexing/index.html", WIDTHS["desktop"])
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() > 0
    assert page.pdf().startswith(b"%PDF-")
    page.close()
