"""What studies say on their pages: answers and advice follow from the numbers they are given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser

from browsing import opened
from dumbbell.metrics.ccperf import ROWS
from dumbbell.report import Curve, Figure, Report, line_with_band, write_report
from dumbbell.stats import Estimate, IntervalKind
from dumbbell.studies import STUDIES, StudyOptions
from dumbbell.studies.buffer_sizing import published as buffer_published
from dumbbell.studies.buffer_sizing import text as buffer_text
from dumbbell.studies.pie_rrul import arms as pie_arms
from dumbbell.studies.pie_rrul import published as pie_published
from dumbbell.studies.pie_rrul import text as pie_text
from dumbbell.studies.pie_rrul.arms import Setting
from dumbbell.studies.queue_size_delay import published as size_published
from dumbbell.studies.queue_size_delay import text as size_text
from dumbbell.studies.queue_size_delay.measures import Many
from dumbbell.studies.statistical_multiplexing import published as gain_published
from dumbbell.studies.statistical_multiplexing import text as gain_text
from dumbbell.studies.traffic_policing import published as policing_published
from dumbbell.studies.traffic_policing import text as policing_text
from dumbbell.studies.traffic_policing.titles import TITLES

LONGEST_ANSWER = 280
"""Characters: a sentence that one reads in one go."""
TEXTS = {
    "statistical-multiplexing": (gain_published.SOURCE, gain_text.DONE),
    "queue-size-delay": (size_published.SOURCE, size_text.DONE),
    "traffic-policing": (policing_published.SOURCE, policing_text.DONE),
    "buffer-sizing": (buffer_published.BOTH, buffer_text.DONE),
    "pie-rrul": (pie_published.SOURCE, pie_text.DONE),
}


def estimate(value: float, half: float = 0.01) -> Estimate:
    return Estimate(value, value - half, value + half, 0.95, 10, IntervalKind.MEAN)


def many(peak_ms: float) -> Many:
    values = np.full(5, peak_ms)
    return Many(**dict.fromkeys(Many.__slots__, values))  # type: ignore[arg-type]


def test_the_gain_is_what_was_measured() -> None:
    gains = {"sim": {2: estimate(1.7), 8: estimate(6.5)}}
    assert "1.70 times as long" in gain_text.answer([], gains)
    (advice,) = gain_text.advice(gains)
    assert advice.wish.startswith("8 streams") and "6.50 times" in advice.because
    assert gain_text.advice({"sim": {2: estimate(1.0, 0.2)}}) == []
    assert gain_text.advice({}) == []
    assert "do not decide" in gain_text.answer([], {})


def test_the_buffer_advised_is_the_largest_that_kept_the_delay() -> None:
    by_limit = {"20kb": many(25.0), "40kb": many(50.0), "80kb": many(100.0)}
    (advice,) = size_text.advice(by_limit)
    assert advice.is_typed and advice.setting.endswith("limit 40kb")
    (slower,) = size_text.advice({**by_limit, "40kb": many(70.0)})
    assert slower.setting.endswith("limit 20kb")
    assert size_text.advice({"20kb": many(25.0)}) == []  # nothing shows where it ends
    assert "250 ms" in size_text.answer([], {"200kb": many(250.2)})


def rows(throughput: float, again: float, srtt: float) -> dict[str, float]:
    return {
        "mean_throughput_l4": throughput,
        "total_retransmissions_l4": again,
        "mean_srtt_l4": srtt,
    }


def test_shaper_or_policer_is_advised_by_what_each_did() -> None:
    shaped = {"reno": rows(3.9, 150, 60), "cubic": rows(3.9, 160, 65)}
    policed = {"reno": rows(3.8, 430, 17), "cubic": rows(3.8, 440, 18)}
    loss, delay = policing_text.advice(shaped, policed)
    assert loss.setting.startswith("A shaper") and "150 to 160" in loss.because
    assert delay.setting.startswith("A policer") and "17 to 18 ms" in delay.because
    assert policing_text.advice(policed, shaped) == []
    assert policing_text.advice(shaped, {}) == []


def test_every_row_of_the_policing_tables_has_a_title() -> None:
    assert TITLES.keys() == ROWS.keys()
    assert len({*TITLES.values()}) == len(TITLES)


@dataclass
class Found:
    """In place of the runs of a scenario: as much as text asks of them."""

    lost_mbps: float
    settings: tuple[Setting, ...] = (Setting(target_ms=5), Setting(target_ms=20))

    def mean(self, setting: Setting, quantity: str) -> Estimate:
        if quantity == "upload_mbps":
            return estimate(91.0 - self.lost_mbps * (setting.target_ms == 5))
        return estimate(setting.target_ms + 6.0 * (quantity == "latency_ms"))

    def difference(self, a: Setting, b: Setting, quantity: str) -> Estimate:
        return estimate(self.mean(a, quantity).value - self.mean(b, quantity).value)


def test_the_target_advised_costs_no_throughput() -> None:
    (advice,) = pie_text.advice(Found(lost_mbps=0.1))  # type: ignore[arg-type]
    assert advice.setting == Setting(target_ms=5).qdisc(pie_arms.TODAY)
    assert "11.0 ms" in advice.because
    assert pie_text.advice(Found(lost_mbps=20.0)) == []  # type: ignore[arg-type]
    answer = pie_text.answer(Found(lost_mbps=0.1))  # type: ignore[arg-type]
    assert "with target 5 ms packets wait 5.0 ms and with 20 ms 20.0 ms" in answer


@pytest.fixture(scope="module")
def heads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages with the studies' own titles, sources and words, and an answer as long as may be."""
    folder = tmp_path_factory.mktemp("heads")
    plot = line_with_band([Curve("a", [1.0, 2.0], [1.0, 2.0])], x_title="x", y_title="y")
    for name, (source, done) in TEXTS.items():
        report = Report(
            study=name,
            title=STUDIES[name].title,
            summary="S.",
            answer="word " * (LONGEST_ANSWER // 5),
            done=done,
            source=source,
            figures=[Figure("hero", *plot, caption="The policer, PIE's target and CDFs.")],
        )
        write_report(report, folder / name)
    return folder


SCREENS = [(1440, 900, 1.5), (390, 844, 2.0)]


@pytest.mark.browser
@pytest.mark.parametrize("screen", SCREENS, ids=["desktop", "phone"])
@pytest.mark.parametrize("name", TEXTS)
def test_the_hero_is_near_the_top(
    browser: Browser, heads: Path, name: str, screen: tuple[int, int, float]
) -> None:
    width, height, screens = screen
    page, _ = opened(browser, heads / name / "index.html", width, height)
    box = page.locator("#hero svg.chart:visible").bounding_box()
    assert box is not None and box["y"] <= screens * height
    page.close()


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.parametrize("name", TEXTS)
def test_a_quick_page_answers_advises_and_fits(browser: Browser, name: str, tmp_path: Path) -> None:
    report = STUDIES[name].reproduce(StudyOptions(quick=True))
    assert report.answer.endswith(".") and len(report.answer) <= LONGEST_ANSWER
    assert report.advice
    write_report(report, tmp_path / name)
    names = {figure.name for figure in report.figures}
    assert {advice.figure for advice in report.advice} <= names
    for width, height, screens in SCREENS:
        page, seen = opened(browser, tmp_path / name / "index.html", width, height)
        box = page.locator("#hero svg.chart:visible").bounding_box()
        assert box is not None and box["y"] <= screens * height
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert seen.messages == []
        page.close()
