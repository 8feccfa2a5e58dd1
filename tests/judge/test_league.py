"""A league: ranks only as far as decided, and dominance."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dumbbell import _engine
from dumbbell.compare import Measured
from dumbbell.compare.judging import Basis
from dumbbell.compare.quantity import Quantity
from dumbbell.judge.description import BUSY
from dumbbell.judge.league import (
    Entry,
    League,
    Number,
    Point,
    Scenario,
    entries_of,
    native_controllers,
)
from dumbbell.judge.league_numbers import numbers_frame
from dumbbell.judge.league_page import (
    _Label,
    _labels,
    answer,
    latex_text,
    league_report,
    points_frame,
)
from dumbbell.judge.nsperf.coexist import COEXIST
from dumbbell.judge.nsperf.network import NSPERF
from dumbbell.judge.request import Depth, JudgeRequest
from dumbbell.judge.sections.rfc9743 import RFC_9743
from dumbbell.judge.sections.tail_drop import TAIL_DROP
from dumbbell.judge.words import FAILS, HOLDS, OPEN
from small_dossiers import short_dossier

LINE = Scenario("6.1", "tail-drop", "busy", "6.1 Drop-tail: 1 BDP")
NOISE = np.array([-0.1, 0.0, 0.1, 0.05, -0.05, 0.0])


def entry(name: str, outcomes: str, busy: float = 90.0, wait: float = 20.0) -> Entry:
    """One with an outcome a letter (h, f, o), and a point in `LINE`."""
    words = {"h": HOLDS, "f": FAILS, "o": OPEN}
    ids = [f"claim-{number}" for number in range(len(outcomes))]
    return Entry(
        name,
        {each: words[letter] for each, letter in zip(ids, outcomes, strict=True)},
        {LINE: Point(busy + NOISE, wait + NOISE[::-1])},
        {each: number(busy / 100) for each in ids},
    )


def number(value: float) -> Number:
    """Utilization of a drop-tail queue, with an interval."""
    trial = TAIL_DROP.trial(JudgeRequest("reno"))
    assert trial is not None
    measured = Measured(value, value - 0.01, value + 0.01, Basis.MEAN, 6)
    return Number(TAIL_DROP, "1 BDP", Quantity.parse(BUSY), measured, trial.expectations[0])


def league(*entries: Entry) -> League:
    return League(entries, Depth.QUICK, ("reno",), RFC_9743)


def ranks(of: League) -> dict[str, str]:
    return {row.entry.name: row.rank for row in of.standings()}


def test_a_rank_is_one_number_where_all_is_decided() -> None:
    of = league(entry("c", "hfff"), entry("a", "hhhh"), entry("b", "hhff"))
    assert ranks(of) == {"a": "1", "b": "2", "c": "3"}
    assert answer(of).startswith("a is first: it keeps 4 of 4 expectations")


def test_what_is_open_leaves_a_range() -> None:
    of = league(entry("a", "hhhf"), entry("b", "hhoo"), entry("c", "ffff"))
    assert ranks(of) == {"a": "1 to 2", "b": "1 to 2", "c": "3"}


def test_equals_share_their_ranks() -> None:
    of = league(entry("a", "hhf"), entry("b", "hfh"))
    assert ranks(of) == {"a": "1 to 2", "b": "1 to 2"}
    assert answer(of).startswith("None is first")


def test_only_what_was_asked_of_all_counts() -> None:
    of = league(entry("a", "hf"), entry("b", "hfhhh"))
    assert of.shared == ["claim-0", "claim-1"]
    assert ranks(of) == {"a": "1 to 2", "b": "1 to 2"}


@pytest.mark.parametrize(
    ("busy", "wait", "dominates"),
    [
        (95.0, 20.0, True),
        (90.0, 10.0, True),
        (95.0, 10.0, True),
        (90.0, 20.0, False),
        (95.0, 30.0, False),  # better in one, worse in the other
        (80.0, 10.0, False),
        (90.5, 19.5, False),  # less than the margins
        (89.5, 10.0, True),  # worse, but by less than the margin
    ],
)
def test_who_is_better_in_one_and_not_worse_in_the_other_dominates(
    busy: float, wait: float, dominates: bool
) -> None:
    of = league(entry("old", "h"), entry("new", "h", busy, wait))
    assert ((0, 1) in of.dominations(LINE)) is dominates
    (old,) = [row for row in of.standings() if row.entry.name == "old"]
    assert old.dominated == ({LINE: ["new"]} if dominates else {})


def test_what_intervals_leave_open_dominates_nothing() -> None:
    wide = Point(95 + 100 * NOISE, 10 + 100 * NOISE)
    of = league(entry("old", "h"), Entry("new", {"claim-0": HOLDS}, {LINE: wide}, {}))
    assert of.dominations(LINE) == []


def test_a_cell_that_failed_for_one_is_no_scenario() -> None:
    of = league(entry("a", "h"), Entry("b", {"claim-0": HOLDS}, {}, {"claim-0": number(0.9)}))
    assert of.scenarios == []
    assert league_report(of).figures[0].name == "standings"


def of_nsperf(name: str, goodputs_bps: dict[str, float]) -> Entry:
    """An entry of a suite without utilization or waiting times; NaN is a failed cell."""
    trial = COEXIST.trial(JudgeRequest(name))
    assert trial is not None
    first = trial.expectations[0]
    numbers = {
        f"coexist-{label.replace(' ', '')}": Number(
            COEXIST,
            label,
            Quantity.parse(first.quantity),
            Measured(value, value - 1e6, value + 1e6, Basis.MEAN, 6)
            if np.isfinite(value)
            else Measured(np.nan, np.nan, np.nan, Basis.UNDEFINED, 0),
            first,
        )
        for label, value in goodputs_bps.items()
    }
    return Entry(name, dict.fromkeys(numbers, HOLDS), {}, numbers)


def test_a_suite_without_operating_points_shows_its_numbers_side_by_side() -> None:
    of = League(
        [
            of_nsperf("a", {"1 BDP": 20e6, "4 BDP": 10e6}),
            of_nsperf("b", {"1 BDP": 5e6, "4 BDP": np.nan}),
        ],
        Depth.QUICK,
        (),
        NSPERF,
    )
    report = league_report(of)
    assert report.title == "How do 2 congestion controllers do in Google's BBR suite?"
    assert NSPERF.source_url == report.source_url
    league, sections, numbers = report.values
    assert "dominated in" not in league.columns
    assert len(sections.rows) == 1
    assert numbers.columns == ["1 BDP", "4 BDP"]
    assert numbers.title == "coexist Beside CUBIC: goodput (Mbit/s)"
    assert [row.name for row in numbers.rows] == ["a", "b"]
    assert numbers.rows[0].filled[0].value == pytest.approx(20)
    assert numbers.rows[1].filled[1].words == "–"
    assert [each.title for each in report.figures[1:]] == ["coexist: 1 BDP", "coexist: 4 BDP"]
    assert not any("dominated" in each for each in report.notes)
    assert "points.csv" not in report.files
    frame = numbers_frame(of)
    assert frame.height == 4
    assert frame["measured"][1] == pytest.approx(5)
    assert "lrrrr" not in latex_text(of, of.standings())
    assert "llrrr" in latex_text(of, of.standings())


def test_names_do_no_harm_in_latex_or_a_spreadsheet() -> None:
    of = league(entry("=a_b&c.c", "hh"), entry("b", "hf"))
    assert r"=a\_b\&c.c & 1 & 2 & 0 & 0 & 0 of 1 \\" in latex_text(of, of.standings())
    report = league_report(of)
    rows = list(csv.DictReader(io.StringIO(str(report.files["league.csv"]))))
    assert rows[0]["controller"].lstrip("'") == "=a_b&c.c"
    assert not rows[0]["controller"].startswith("=")
    assert rows[1]["last_rank"] == "2"


def test_labels_of_close_points_are_one_and_none_lies_on_another() -> None:
    def point(name: str, wait: float, busy: float) -> dict[str, Any]:
        return {"controller": name, "wait": wait, "busy": busy}

    left, right = point("left", 0.0, 40.0), point("right", 100.0, 100.0)
    near, twin = point("near", 10.0, 95.0), point("twin", 11.0, 96.0)
    under = point("under", 20.0, 93.5)
    apart = point("apart", 20.0, 70.0)
    points = [left, right, near, twin, under, apart]
    assert _labels(points, points) == {
        "left": _Label("left"),
        "right": _Label("right", is_left=True),
        "near": _Label("near and twin"),
        "apart": _Label("apart"),
    }
    assert _labels([left], [left]) == {"left": _Label("left")}


def test_labels_stay_in_the_panel() -> None:
    def at(wait: float, *names: str) -> list[dict[str, Any]]:
        return [{"controller": name, "wait": wait, "busy": 50.0} for name in names]

    ends = [*at(0.0, "a"), {"controller": "z", "wait": 100.0, "busy": 100.0}]
    few, many = at(90.0, "westwood", "scalable"), at(40.0, "highspeed", "westwood", "scalable")
    assert _labels([*ends, *few], [*ends, *few])["westwood"] == _Label(
        "westwood and scalable", is_left=True
    )
    assert _labels([*ends, *many], [*ends, *many])["highspeed"] == _Label("highspeed and 2 others")


def test_all_controllers_of_the_simulator_but_one_that_controls_nothing() -> None:
    assert set(_engine.congestion_controllers()) - set(native_controllers()) == {"manual"}


def test_points_are_those_of_the_dossier(tmp_path: Path) -> None:
    dossier = short_dossier(JudgeRequest("bbr", against=("cubic",)), tmp_path)
    (found,) = entries_of(dossier)
    assert sum(len(each.judged) for each in dossier.found) == len(found.outcomes)
    tail_drop = dossier.found[1]
    busy = [each for each in tail_drop.written.trial.expectations if each.label]
    assert [each.title for each in found.points] == [f"6.1 Drop-tail: {e.label}" for e in busy]
    for expectation, point in zip(busy, found.points.values(), strict=True):
        measured = tail_drop.measured(expectation, "sim")
        assert 100 * measured.value == pytest.approx(point.busy_percent.mean())
        assert (point.wait_ms > 0).all()
    of = League([found, found], Depth.QUICK, ("cubic",), RFC_9743)
    assert points_frame(of).height == 2 * len(busy)
