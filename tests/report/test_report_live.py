"""Declarations of live figures: what leads nowhere is refused, and pages carry them as data."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from dumbbell.report import (
    ControlKind,
    LiveControl,
    LiveCurve,
    LiveHero,
    LiveStop,
    Report,
    has_pages,
    link_laboratory,
    write_index,
    write_report,
)
from dumbbell.report.model import IndexEntry
from dumbbell.studies import STUDIES

HEROES: dict[str, LiveHero] = {
    name: import_module(f"{study.__module__}.live").hero(1)
    for name, study in STUDIES.items()
    if find_spec(f"{study.__module__}.live")
}


@pytest.mark.parametrize("name", HEROES)
def test_every_experiment_of_a_study_resolves(name: str) -> None:
    hero = HEROES[name]
    told = hero.as_json()
    assert [each["id"] for each in told["arms"]] == [arm.id for arm in hero.arms]
    for places in hero.corners():
        for arm in hero.arms:
            experiment, changes = hero.asked(arm, places)
            assert experiment in arm.variants
            assert changes
    stops = [len(each.stops) for each in hero.controls]
    assert 2 <= len(stops) <= 3 and max(stops) > 2


def test_a_change_of_a_whole_thing_comes_before_changes_inside_it() -> None:
    hero = HEROES["queue-size-delay"]
    _, changes = hero.asked(hero.arms[0], {"source": 1})
    paths = list(changes)
    assert paths.index("flows[stream].source") < paths.index("flows[stream].source.gap.mean")


def _hero(**changes: Any) -> LiveHero:
    return replace(HEROES["statistical-multiplexing"], **changes)


def test_names_that_lead_nowhere_are_refused() -> None:
    hero = _hero()
    with pytest.raises(ValueError, match="no nothing"):
        _hero(curves=[LiveCurve(label="a", x=[1], y=[1], arm="nothing")])
    with pytest.raises(ValueError, match="no speed"):
        _hero(bet=replace(hero.bet, settings={"speed": 0}))
    with pytest.raises(ValueError, match="load has no stop 99"):
        _hero(bet=replace(hero.bet, settings={"load": 99}))
    with pytest.raises(ValueError, match="different names"):
        _hero(arms=[hero.arms[0], hero.arms[0]])
    with pytest.raises(ValueError, match=r"variants \[0, 1, 7\]"):
        lanes = hero.control("lanes")
        wrong = replace(lanes, stops=[*lanes.stops[:2], replace(lanes.stops[0], variant=7)])
        _hero(controls=[hero.control("load"), wrong, hero.control("headers")])
    with pytest.raises(ValueError, match="queues"):
        replace(hero.arms[0], queues=[["nowhere"]] * 3)
    with pytest.raises(ValueError, match="2 x, 1 y"):
        LiveCurve(label="a", x=[1, 2], y=[1])


def test_controls_that_cannot_be_moved_are_refused() -> None:
    stops = [LiveStop(value=each, words=str(each)) for each in range(3)]
    with pytest.raises(ValueError, match="a switch has two"):
        LiveControl(id="a", label="A", stops=stops, kind=ControlKind.SWITCH)
    with pytest.raises(ValueError, match="start 3 of 3"):
        LiveControl(id="a", label="A", stops=stops, start=3)
    with pytest.raises(ValueError, match="lower case"):
        LiveControl(id="A b", label="A", stops=stops)


def _report(**more: Any) -> Report:
    return Report(study="s", title="T?", summary="S.", answer="A.", **more)


def test_only_a_page_that_is_told_of_the_bundle_asks_for_it(tmp_path: Path) -> None:
    alone = write_report(_report(live=_hero()), tmp_path / "alone").read_text(encoding="utf-8")
    assert "live-hero" not in alone and "<script defer" not in alone
    with_it = write_report(_report(live=_hero()), tmp_path / "with", live="../live.js")
    text = with_it.read_text(encoding="utf-8")
    assert '<script defer src="../live.js"></script>' in text
    assert "make lab" in text
    without = write_report(_report(), tmp_path / "no", live="../live.js")
    assert "<script defer" not in without.read_text(encoding="utf-8")


def test_an_index_leads_to_the_laboratory_once_it_is_there(tmp_path: Path) -> None:
    entries = [IndexEntry(study="s", title="T", summary="S", not_run="no")]
    index = write_index(entries, tmp_path)
    link = '<a href="laboratory.html">'
    assert link not in index.read_text(encoding="utf-8")
    assert link_laboratory(tmp_path)
    late = index.read_text(encoding="utf-8")
    assert late.count(link) == 1
    assert link_laboratory(tmp_path) and index.read_text(encoding="utf-8") == late
    (tmp_path / "laboratory.html").write_text("", encoding="utf-8")
    assert write_index(entries, tmp_path).read_text(encoding="utf-8") == late
    assert not link_laboratory(tmp_path / "elsewhere")


def test_somebody_elses_index_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text('<p class="laboratory" hidden></p>', encoding="utf-8")
    assert not link_laboratory(tmp_path)
    assert "href" not in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert not has_pages(tmp_path)
    write_report(_report(), tmp_path / "s")
    assert has_pages(tmp_path) and not has_pages(tmp_path / "nowhere")
