"""What studies say on their pages: answers and advice follow from the numbers they are given."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from playwright.sync_api import Browser

from browsing import barriers, opened, sheets
from dumbbell.claims import Claim, Curves, Grid, GridPoint, Judged, Runs, Verdict, judge
from dumbbell.claims.rules import Direction, Equivalent, Ordering, Share
from dumbbell.metrics.ccperf import ROWS
from dumbbell.replication import Replications
from dumbbell.report import Answer, Curve, Figure, Report, line_with_band, write_report
from dumbbell.stats import Estimate, IntervalKind
from dumbbell.studies import MORE, STUDIES, StudyOptions, get_study
from dumbbell.studies.bbr_share import BbrShare
from dumbbell.studies.buffer_sizing import published as buffer_published
from dumbbell.studies.buffer_sizing import text as buffer_text
from dumbbell.studies.folklore import Folklore
from dumbbell.studies.l4s_adoption import L4sAdoption
from dumbbell.studies.pie_rrul import arms as pie_arms
from dumbbell.studies.pie_rrul import claims as pie_claims
from dumbbell.studies.pie_rrul import published as pie_published
from dumbbell.studies.pie_rrul import text as pie_text
from dumbbell.studies.pie_rrul.arms import Setting
from dumbbell.studies.queue_size_delay import claims as size_claims
from dumbbell.studies.queue_size_delay import published as size_published
from dumbbell.studies.queue_size_delay import text as size_text
from dumbbell.studies.queue_size_delay.measures import DelaysOfRuns
from dumbbell.studies.statistical_multiplexing import published as gain_published
from dumbbell.studies.statistical_multiplexing import text as gain_text
from dumbbell.studies.traffic_policing import published as policing_published
from dumbbell.studies.traffic_policing import text as policing_text
from dumbbell.studies.traffic_policing.titles import TITLES

pytestmark = pytest.mark.slow

LONGEST_ANSWER = 90
"""Characters: a clause."""
MOST_TERMS = 5
"""Words of the field that a page explains while its evidence is folded."""
MOST_SHEETS = 8
"""Of A4, on which it is printed."""
LONGEST_MEASURED = 400
"""Characters of what stands beside it in the margin."""
TEXTS = {
    "statistical-multiplexing": (gain_published.SOURCE, gain_text.DONE),
    "queue-size-delay": (size_published.SOURCE, size_text.DONE),
    "traffic-policing": (policing_published.SOURCE, policing_text.DONE),
    "buffer-sizing": (buffer_published.BOTH, buffer_text.DONE),
    "pie-rrul": (pie_published.SOURCE, pie_text.DONE),
    "folklore": (Folklore.source, Folklore.done),
    "bbr-share": (BbrShare.source, BbrShare.done),
    "l4s-adoption": (L4sAdoption.source, L4sAdoption.done),
}


def check_headline(answer: Answer) -> None:
    """One clause with one number: ranges and conditions stand in the margin."""
    sentence = answer.sentence
    assert sentence.endswith(".") and len(sentence) <= LONGEST_ANSWER
    assert not re.search(r"[;:()\u2013]|\bto \d|\balthough\b|\bwhere\b", sentence)
    assert len(re.findall(r"\d+(?:\.\d+)?", sentence)) <= 1
    assert len(answer.measured) <= LONGEST_MEASURED
    assert not answer.so or (answer.so.endswith(".") and answer.so.count(".") == 1)


def estimate(value: float, half: float = 0.01) -> Estimate:
    return Estimate(value, value - half, value + half, 0.95, 10, IntervalKind.MEAN)


def many(*peaks_ms: float) -> DelaysOfRuns:
    values = np.resize(peaks_ms, 5)
    return DelaysOfRuns(**dict.fromkeys(DelaysOfRuns.__slots__, values))  # type: ignore[arg-type]


def test_the_gain_is_what_was_measured() -> None:
    gains = {"sim": {2: estimate(1.7), 8: estimate(6.5)}}
    answer = gain_text.answer([], gains)
    check_headline(answer)
    assert "1.70 times as fast" in answer.sentence and answer.so
    assert "1.69 to 1.71" in answer.measured
    assert not gain_text.answer([], {"sim": {2: estimate(1.0, 0.2)}}).so
    (advice,) = gain_text.advice(gains)
    assert advice.wish.startswith("8 streams") and "6.50 times" in advice.because
    assert gain_text.advice({"sim": {2: estimate(1.0, 0.2)}}) == []
    assert gain_text.advice({}) == []
    assert "do not decide" in gain_text.answer([], {}).sentence


def test_the_buffer_advised_is_the_largest_that_kept_the_delay() -> None:
    by_limit = {"20kb": many(25.0), "40kb": many(50.0), "80kb": many(100.0)}
    (advice,) = size_text.advice(by_limit)
    assert advice.is_typed and advice.setting.endswith("limit 40kb")
    (slower,) = size_text.advice({**by_limit, "40kb": many(70.0)})
    assert slower.setting.endswith("limit 20kb")
    assert size_text.advice({"20kb": many(25.0)}) == []  # nothing shows where it ends


def judged_wait(away_ms: Sequence[float]) -> Judged:
    """That the worst case is m/mu, judged of runs so far from it."""
    rule = Equivalent.of_delays()
    claim = Claim(id="peak", statement="S", source="S", rule=rule, fact=size_claims.WORST_CASE)
    return judge(claim, Runs(np.array(away_ms)))


@pytest.mark.parametrize(
    ("away_ms", "verdict", "words"),
    [
        ([0.0, 0.1, -0.1, 0.0], Verdict.REPRODUCED, "the longest wait at every size"),
        ([90.0, 90.1, 90.2, 90.1], Verdict.NOT_REPRODUCED, "not always the longest wait"),
        ([90.0, -90.0, 40.0, -40.0], Verdict.INCONCLUSIVE, "do not decide"),
    ],
)
def test_what_is_said_of_full_buffers_is_the_verdict(
    away_ms: list[float], verdict: Verdict, words: str
) -> None:
    judged = [judged_wait(away_ms)]
    assert judged[0].verdict is verdict
    answer = size_text.answer(judged, {"200kb": many(250.2, 248.0, 251.9)})
    check_headline(answer)
    assert "wait 250 ms" in answer.sentence
    assert words in answer.measured and "248 to 252 ms (5 runs)" in answer.measured
    assert bool(answer.so) is (verdict is Verdict.REPRODUCED)


def share_of(workload: str, shares: Sequence[float]) -> Judged:
    """Observation 12 over a grid of two points, each with four runs close to a share."""
    near = np.array([-0.01, 0.0, 0.0, 0.01])
    claim = Claim(
        id=f"observation-12-{workload}",
        statement="Most get less",
        source="A source",
        rule=Direction(at_each=Share.most(of="flows"), grid="load"),
    )
    points = [GridPoint({"load": place}, Runs(near + each)) for place, each in enumerate(shares)]
    return judge(claim, Grid(points))


@pytest.mark.parametrize(
    ("shares", "verdict", "words"),
    [
        ([0.9, 0.8], Verdict.REPRODUCED, "A small buffer slows down 90 % of the long flows"),
        ([0.1, 0.2], Verdict.NOT_REPRODUCED, "A small buffer slows down only 10 %"),
        ([0.9, 0.1], Verdict.DEPENDS_ON, "depends on what the source leaves open"),
        ([0.5, 0.5], Verdict.INCONCLUSIVE, "these runs do not decide"),
    ],
)
def test_what_is_said_of_small_buffers_is_the_verdict(
    shares: list[float], verdict: Verdict, words: str
) -> None:
    judged = [share_of("persistent", shares)]
    assert judged[0].verdict is verdict
    answer = buffer_text.answer(judged)
    check_headline(answer)
    assert words in answer.sentence
    if verdict is not Verdict.INCONCLUSIVE:
        # With the interval over the grid.
        assert f"{100 * shares[0]:.0f} % (" in answer.measured


@dataclass
class Members:
    """In place of an ensemble through the bucket: as much as text asks of it."""

    throughput: list[float]
    again: list[float]
    srtt: list[float]

    @property
    def n(self) -> int:
        return len(self.srtt)

    def row(self, name: str) -> np.ndarray:
        rows = {
            "mean_throughput_l4": self.throughput,
            "total_retransmissions_l4": self.again,
            "mean_srtt_l4": self.srtt,
        }
        return np.array(rows[name])


def test_shaper_or_policer_is_advised_by_what_every_member_did() -> None:
    shaped = {
        "reno": Members([3.9, 3.9], [150, 155], [60, 62]),
        "cubic": Members([3.9, 3.9], [160, 158], [65, 64]),
    }
    policed = {
        "reno": Members([3.8, 3.8], [430, 431], [17, 17]),
        "cubic": Members([3.8, 3.8], [440, 439], [18, 18]),
    }
    loss, delay = policing_text.advice(shaped, policed)  # type: ignore[arg-type]
    assert loss.setting.startswith("A shaper") and "150 to 160" in loss.because
    assert "reno and cubic, 2 runs each" in loss.because
    assert delay.setting.startswith("A policer") and "17 to 18 ms" in delay.because
    assert policing_text.advice(policed, shaped) == []  # type: ignore[arg-type]
    assert policing_text.advice(shaped, {}) == []  # type: ignore[arg-type]
    # One member that says otherwise is enough to say nothing.
    policed["cubic"].again[1] = 100
    (only,) = policing_text.advice(shaped, policed)  # type: ignore[arg-type]
    assert only == delay


def test_a_loss_is_that_of_the_run_shown_with_the_range_of_all_beside_it() -> None:
    members = SimpleNamespace(
        n=3,
        results=[SimpleNamespace(rows={"total_qdisc_drops_l2": 86.0})],
        row=lambda name: {
            "total_qdisc_drops_l2": np.array([54.0, 86.0, 185.0]),
            "mean_qdisc_length_l2": np.array([12.0, 13.0, 15.0]),
            "mean_throughput_l4": np.array([3.5, 3.8, 3.9]),
        }[name],
    )
    answer = policing_text.answer(members, {}, are_both_decided=True)  # type: ignore[arg-type]
    check_headline(answer)
    assert "loses 86 packets" in answer.sentence and "lose 54 to 185" in answer.measured
    assert answer.so
    assert not policing_text.answer(members, {}).so  # type: ignore[arg-type]
    assert "do not say" in policing_text.answer(None, {}).sentence


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
    assert "PIE of the kernel of the time" in advice.because
    assert "11.0 ms" in advice.because
    assert pie_text.advice(Found(lost_mbps=20.0)) == []  # type: ignore[arg-type]
    answer = pie_text.answer(Found(lost_mbps=0.1), [])  # type: ignore[arg-type]
    check_headline(answer)
    # From 11 to 26 ms, the quantity of the figure under it, between targets 15 ms apart.
    assert answer.sentence.endswith("target adds 1.00 ms of latency.")
    assert "11.0 ms with target 5 ms and 26.0 ms with 20 ms" in answer.measured
    assert "5.0 and 20.0 ms in PIE's queue" in answer.measured
    assert "\u00b10.01 ms at most" in answer.measured and not answer.so
    rising = Curves.of_steps([np.full(4, 5.0), np.full(4, 20.0)])
    judged: list[Judged] = []
    for fact in (pie_claims.FOLLOWS, pie_claims.TUPDATE_DELAY):
        claim = Claim(
            id=fact.replace(" ", "-"),
            statement="Larger, longer",
            source="A source",
            rule=Ordering(over="targets", unit="ms"),
            fact=fact,
        )
        judged.append(judge(claim, rising))
    assert not pie_text.answer(Found(lost_mbps=0.1), judged[:1]).so  # type: ignore[arg-type]
    assert "target" in pie_text.answer(Found(lost_mbps=0.1), judged).so  # type: ignore[arg-type]


def tried(p99_ms: Mapping[str, Sequence[float]]) -> Replications[tuple[str, str], dict[str, float]]:
    """What was tried on the router, alone: label to the 99th percentile of each run."""
    results = {
        (label, "alone"): tuple(
            SimpleNamespace(latency_p99_ms=each, upload_mbps=90.0) for each in of
        )
        for label, of in p99_ms.items()
    }
    return Replications(results=results, n=3, stopped_because="")  # type: ignore[arg-type]


def test_a_router_is_advised_what_one_can_type_and_runs_decide() -> None:
    best = {"pie": [30.0, 31.0, 32.0], "fq_codel": [10.0, 11.0, 12.0]}
    not_to_be_had = {"fq_codel, no ring": [1.0, 1.0, 1.0], "pie of the time": [2.0, 2.0, 2.0]}
    (advice,) = pie_text.router_advice(tried(best | not_to_be_had))  # type: ignore[arg-type]
    assert advice.setting == "fq_codel" and advice.is_typed
    assert "takes 20.0 ms more (95 % interval 20.0 to 20.0, 3 runs)" in advice.because
    # Runs that lie across each other decide nothing; nor does one choice alone.
    close = {"pie": [10.0, 13.0, 8.0], "fq_codel": [11.0, 10.0, 9.0]}
    assert pie_text.router_advice(tried(close)) == []  # type: ignore[arg-type]
    assert pie_text.router_advice(tried({"pie": [9.0] * 3} | not_to_be_had)) == []  # type: ignore[arg-type]


def test_the_pages_of_all_studies_are_looked_at() -> None:
    assert set(TEXTS) == {*STUDIES, *MORE}


@pytest.fixture(scope="module")
def heads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages with the studies' own titles, sources and words, and an answer as long as may be."""
    folder = tmp_path_factory.mktemp("heads")
    plot = line_with_band([Curve("a", [1.0, 2.0], [1.0, 2.0])], x_title="x", y_title="y")
    for name, (source, done) in TEXTS.items():
        report = Report(
            study=name,
            title=get_study(name).title,
            summary="S.",
            answer="word " * (LONGEST_ANSWER // 5),
            measured="word " * (LONGEST_MEASURED // 5),
            so="Do this.",
            done=done,
            source=source,
            figures=[Figure("hero", *plot, caption="The policer, PIE's target and CDFs.")],
        )
        write_report(report, folder / name)
    return folder


SCREENS = [(1440, 900, 8), (390, 844, 14)]
"""Width, height, and how many of them a page has at most while its evidence is folded."""


@pytest.mark.browser
@pytest.mark.parametrize("screen", SCREENS, ids=["desktop", "phone"])
@pytest.mark.parametrize("name", TEXTS)
def test_question_answer_and_figure_are_on_the_first_screen(
    browser: Browser, heads: Path, name: str, screen: tuple[int, int, int]
) -> None:
    width, height, _ = screen
    page, _ = opened(browser, heads / name / "index.html", width, height)
    for part in ("h1", "header .answer", "#hero svg.chart:visible"):
        box = page.locator(part).bounding_box()
        assert box is not None and box["y"] + box["height"] <= height, part
    page.close()


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.parametrize("name", TEXTS)
def test_a_quick_page_answers_advises_and_fits(browser: Browser, name: str, tmp_path: Path) -> None:
    report = get_study(name).reproduce(StudyOptions(quick=True))
    check_headline(Answer(report.answer, report.measured, report.so))
    assert not report.answer.endswith("do not say.") and report.measured and report.so
    write_report(report, tmp_path / name)
    names = {figure.name for figure in report.figures}
    assert {advice.figure for advice in report.advice} <= names
    for width, height, screens in SCREENS:
        page, seen = opened(browser, tmp_path / name / "index.html", width, height)
        assert page.evaluate("document.documentElement.scrollHeight") <= screens * height
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert 1 <= page.locator("dfn:visible").count() <= MOST_TERMS
        assert sheets(page) <= MOST_SHEETS
        assert seen.messages == []
        assert barriers(page) == []
        page.close()
        page, _ = opened(browser, tmp_path / name / "index.html", width, height, scheme="dark")
        assert barriers(page) == []
        page.close()
