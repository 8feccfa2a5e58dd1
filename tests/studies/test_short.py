"""Trials of short studies: what is said becomes a rule, numbers of runs its evidence."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dumbbell import metrics
from dumbbell.claims import Verdict, judge
from dumbbell.claims.glyphs import Side
from dumbbell.replication import Replications
from dumbbell.spec import Experiment
from dumbbell.studies import MORE, STUDIES, StudyOptions, get_study, topic_of
from dumbbell.studies import short as short_module
from dumbbell.studies.one_line import FAR, greedy, one_line
from dumbbell.studies.short import Trial, of_neighbours

LONGEST_OWN_CODE = 250
"""Lines of a study of `MORE`, its words included."""
NOTHING: dict[str, Experiment] = {}
trial = partial(
    Trial, id="x", statement="s", source="a", arms=NOTHING, runs=5, number=metrics.total_goodput_bps
)


def found(**arms: list[float]) -> Replications[str, float]:
    results = {arm: tuple(values) for arm, values in arms.items()}
    return Replications(results, n=len(next(iter(results.values()))), stopped_because="")


def verdict_of(tried: Trial, **arms: list[float]) -> Verdict:
    return judge(tried.claim, tried.evidence(found(**arms))).verdict


NEAR_ONE = [0.99, 1.0, 1.01, 1.0, 1.0]
NEAR_TWO = [2 * value for value in NEAR_ONE]


def test_a_margin_makes_an_equality() -> None:
    assert verdict_of(trial(said=1, margin=0.05), a=NEAR_ONE) is Verdict.REPRODUCED
    assert verdict_of(trial(said=2, margin=0.05), a=NEAR_ONE) is Verdict.NOT_REPRODUCED


@pytest.mark.parametrize(
    ("side", "said", "verdict"),
    [
        (Side.AT_LEAST, 0.9, Verdict.REPRODUCED),
        (Side.AT_LEAST, 1.1, Verdict.NOT_REPRODUCED),
        (Side.AT_MOST, 1.1, Verdict.REPRODUCED),
        (Side.AT_MOST, 0.9, Verdict.NOT_REPRODUCED),
    ],
)
def test_without_a_margin_one_side_is_claimed(side: Side, said: float, verdict: Verdict) -> None:
    assert verdict_of(trial(said=said, side=side), a=NEAR_ONE) is verdict


def test_on_a_grid_it_depends_on_what_varies() -> None:
    tried = trial(said=1, margin=0.05, grid="two lines", varied="line")
    judged = judge(tried.claim, tried.evidence(found(a=NEAR_ONE, b=NEAR_TWO)))
    assert judged.verdict is Verdict.DEPENDS_ON and judged.decision.depends_on == ("line",)
    assert verdict_of(tried, a=NEAR_ONE, b=NEAR_ONE) is Verdict.REPRODUCED


def test_neighbours_are_divided() -> None:
    tried = trial(said=2, margin=0.05, points=of_neighbours)
    assert verdict_of(tried, a=NEAR_ONE, b=NEAR_TWO) is Verdict.REPRODUCED
    assert verdict_of(tried, a=NEAR_TWO, b=NEAR_ONE) is Verdict.NOT_REPRODUCED
    one_side = trial(said=1.5, points=of_neighbours)
    assert verdict_of(one_side, a=NEAR_ONE, b=NEAR_TWO) is Verdict.REPRODUCED


def test_a_line_has_the_round_trip_times_asked_for() -> None:
    experiment = one_line(
        greedy("reno", "near"), greedy("cubic", FAR, from_=FAR, start="5s", sack=False),
        seed=3, rtt_ms=20, far_rtt_ms=80, rate="10mbit",
    )  # fmt: skip
    links = {link["a"]: link for link in experiment.resolved()["links"]}
    way = {host: links[host]["forward"]["delay_ns"] for host in ("sender", FAR, "router")}
    assert 2 * (way["sender"] + way["router"]) == 20_000_000
    assert 2 * (way[FAR] + way["router"]) == 80_000_000
    near, far, _ = experiment.resolved()["flows"]
    assert near["tcp"]["congestion_control"] == "reno" and far["tcp"]["sack"] is False
    assert far["start_ns"] == 5_000_000_000


def test_all_is_the_five_and_the_others_are_run_when_named() -> None:
    assert len(STUDIES) >= 5 and not set(STUDIES) & set(MORE)
    for name in MORE:
        assert get_study(name).id == name
    assert all(topic_of(name) for name in (*STUDIES, *MORE))


@pytest.mark.parametrize("name", MORE)
def test_a_short_study_is_short(name: str) -> None:
    study: Any = get_study(name)
    folder = Path(short_module.__file__).parent
    (file,) = folder.glob(f"{study.__module__.rpartition('.')[2]}.py")
    assert len(file.read_text(encoding="utf-8").splitlines()) <= LONGEST_OWN_CODE


SHORT = [name for name in MORE if issubclass(get_study(name), short_module.ShortStudy)]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SHORT)
def test_quick_runs_the_first_of_full(name: str) -> None:
    study: Any = get_study(name)
    quick, full = (study(StudyOptions(quick=each)).trials for each in (True, False))
    assert len({each.id for each in quick}) == len(quick)
    whole = {each.id: each for each in full}
    for each in quick:
        of_full = whole[each.id]
        assert each.runs <= of_full.runs and each.claim == of_full.claim
        assert all(of_full.arms[name] == arm for name, arm in each.arms.items())


def test_folklore_has_its_ten_rules() -> None:
    trials = get_study("folklore")(StudyOptions(quick=True)).trials  # type: ignore[operator]
    rules = {each.id.removeprefix("fq-").partition("-")[0] for each in trials}
    assert rules == {
        *("buffer", "cubic", "loss", "rtt", "acks"),
        *("codel", "policer", "bbr", "tbf", "upload"),
    }
    assert all(each.source and each.words and np.isfinite(each.said) for each in trials)


@pytest.mark.usefixtures("pretended_kernel")
def test_rules_are_judged_on_the_kernel_too_and_the_backends_are_compared() -> None:
    study: Any = get_study("folklore")(  # type: ignore[operator]
        StudyOptions(quick=True, replications=5, backends=("sim", "kernel"), jobs=1)
    )
    study.parts = [part for part in study.parts if part.name == "cubic"]
    report = study.report()
    assert {(each.claim.id, each.backend) for each in report.judged} == {
        ("cubic", "sim"),
        ("cubic", "kernel"),
        ("cubic-agreement", "kernel"),
    }
    assert "agree in 1 of 1" in report.measured
    (table,) = report.values
    assert list(table.columns) == ["simulator", "Linux kernel"]


def test_rules_that_the_kernel_runs_are_long_but_few() -> None:
    study: Any = get_study("folklore")(  # type: ignore[operator]
        StudyOptions(quick=False, backends=("kernel",))
    )
    asked = {each.id for each in study.trials if each.is_for_kernel}
    assert len(asked) == 13 and "acks" not in asked
    assert all(each.kernel_runs == 5 < each.runs for each in study.trials)
    assert {each.resolved()["guest"] for each in study.on_kernel()} == {"module"}
