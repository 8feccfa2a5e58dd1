"""The multiplexing study: its fit, its arms, its report, and what is left when it is stopped."""

from __future__ import annotations

import math
import re
import subprocess
import threading

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.claims import Verdict, counts_of, to_rows, views_of
from dumbbell.claims.rules import CountedAs, Explained, Published
from dumbbell.replication import Progress, Replications, replicate
from dumbbell.report import Report
from dumbbell.studies import Interrupted, StudyOptions, get_study
from dumbbell.studies.statistical_multiplexing import (
    arms,
    claims,
    external_measurements,
    parts,
    published,
)
from dumbbell.studies.statistical_multiplexing.fit import fit_sender_and_base_rtt
from dumbbell.studies.statistical_multiplexing.measures import (
    PublishedRun,
    one_run_ratio,
    quartiles_ms,
    shaped_queues,
)
from dumbbell.studies.statistical_multiplexing.senders import (
    OVERSLEEPING,
    SENDERS,
    SLOWER,
    Sender,
)

STUDY = "statistical-multiplexing"
FEW = 9
"""Replications: the fewest the fit takes are eight."""


@pytest.fixture(scope="module")
def report() -> Report:
    return get_study(STUDY).reproduce(StudyOptions(quick=True, replications=FEW, seed=3))


def _quartiles(load: float, runs: int, seed: int, base_rtt_ms: float = 0.0) -> np.ndarray:
    """Quartiles of every run at a load, both arms; shape (runs, 6)."""
    at_load = arms.published_arms(
        seed, packets_per_second=load, base_rtt_ms=base_rtt_ms, duration_s=200
    )
    experiments = {(load, arm.key): arm.experiment for arm in at_load}
    return parts.quartile_rows(replicate(experiments, quartiles_ms, at_least=runs), load)


@pytest.mark.slow
@pytest.mark.parametrize(("load", "base_rtt_ms"), [(80.0, 1.5), (93.0, 0.4)])
def test_the_fit_finds_the_load_and_base_rtt_of_a_simulated_testbed(
    load: float, base_rtt_ms: float
) -> None:
    ensembles = {each: _quartiles(each, 60, seed=1) for each in (70.0, 78.0, 86.0, 94.0, 102.0)}
    # One run of another seed plays the testbed.
    seen = _quartiles(load, 1, 99, base_rtt_ms)[0]
    fit = fit_sender_and_base_rtt(seen, ensembles)
    assert fit.of_sender.low - 1.0 <= load <= fit.of_sender.high + 1.0
    assert fit.base_rtt_ms.low - 0.1 <= base_rtt_ms <= fit.base_rtt_ms.high + 0.1
    assert fit.freedom == 4
    assert fit.p_value > 0.001


@pytest.mark.slow
def test_the_fit_says_when_nothing_fits() -> None:
    ensembles = {each: _quartiles(each, 40, seed=1) for each in (70.0, 85.0, 100.0)}
    strange = np.array([2.0, 2.1, 2.2, 50.0, 51.0, 52.0])
    assert fit_sender_and_base_rtt(strange, ensembles).p_value < 1e-6
    with pytest.raises(ValueError, match="two values"):
        fit_sender_and_base_rtt(strange, {70.0: ensembles[70.0]})
    with pytest.raises(ValueError, match="needs 8 runs"):
        few = {load: each[:7] for load, each in ensembles.items()}
        fit_sender_and_base_rtt(strange, few)


def test_both_arms_see_the_same_arrivals() -> None:
    runs = {arm: simulate(arms.as_published(arm, 5, duration_s=50)) for arm in published.ARMS}
    for column in ("sent_datagrams", "sent_payload_bytes", "first_sent_ns"):
        sm, tdm = (run.column("flows", column).tolist() for run in runs.values())
        assert sm == tdm


def test_nominal_load_is_what_theory_says_with_headers_and_pings() -> None:
    run = simulate(arms.as_published("SM", 1, ping_count=3000), replication=2)
    queue = shaped_queues(run)[0]
    sent = run.column("queues", "arrived_bytes", queue=queue)[0] * 8 / 1e6 / published.DURATION_S
    assert sent == pytest.approx(0.986, abs=0.015)


def test_a_token_bucket_lets_its_burst_through_at_once() -> None:
    rtt = np.array([5.0, 16.384, 20.0])
    out = external_measurements.through_token_bucket(rtt, 2048, 1e6)
    assert out.tolist() == pytest.approx([0.0, 0.0, 3.616])


def test_theory_of_the_study_is_the_textbook() -> None:
    law = claims.multiplexing(2)
    assert law.T_sm == pytest.approx(1 / (244.140625 - 220))
    assert law.T_tdm == pytest.approx(2 / (244.140625 - 220))


def test_every_claim_has_a_row_that_json_can_hold(report: Report) -> None:
    rows = to_rows(report.judged)
    assert len({row["id"] for row in rows}) == len(rows) == 4 + 10 + 2 + 1 + 2 * 4 + 8
    for row in rows:
        assert row["verdict"] in {v.value for v in Verdict}
        for key in ("published", "theory", "measured", "low", "high", "margin"):
            assert row[key] is None or math.isfinite(row[key])


def test_what_chose_the_load_is_no_claim_at_it(report: Report) -> None:
    rows = {row["id"]: row for row in to_rows(report.judged)}
    assert rows["load"]["verdict"] == "calibration"
    assert rows["oversleep"]["verdict"] == "calibration"
    for sender in SENDERS:
        at_fitted = {name for name in rows if name.startswith(f"{sender.label}-")}
        free = ("sm-max", "tdm-max", "mean-ratio", "sm-left-of-tdm")
        assert at_fitted == {f"{sender.label}-{name}" for name in free}


def test_both_senders_were_tried_on_one_grid(report: Report) -> None:
    (together,) = (one for one in report.judged if one.claim.id == "quartiles-together")
    assert isinstance(together.claim.rule, Explained)
    assert set(together.claim.rule.levels) == {f"{q.arm} {q.name}" for q in published.QUARTILES}
    assert "load of 4 values" in together.claim.rule.grid
    assert "oversleep of 4 values" in together.claim.rule.grid
    # Nine replications are fewer than ten.
    assert together.verdict is Verdict.INCONCLUSIVE


@pytest.mark.slow
def test_an_oversleeping_testbed_is_told_from_a_slower_one() -> None:
    printed = np.array([q.ms for q in published.QUARTILES])
    seen = {}
    for sender, values in ((SLOWER, (74.0, 80.0, 86.0)), (OVERSLEEPING, (2.5, 3.0, 3.5))):
        rows = {value: _ensemble(sender, value, 60) for value in values}
        seen[sender] = fit_sender_and_base_rtt(printed, rows).distance
    assert seen[OVERSLEEPING] < seen[SLOWER]


def _ensemble(sender: Sender, value: float, runs: int) -> np.ndarray:
    of_sender = arms.published_arms(1, duration_s=200, **sender.arguments(value))
    experiments = {(value, arm.key): arm.experiment for arm in of_sender}
    return parts.quartile_rows(replicate(experiments, quartiles_ms, at_least=runs), value)


def test_what_was_measured_elsewhere_is_not_published(report: Report) -> None:
    rows = [row for row in to_rows(report.judged) if row["id"].startswith("kernel-")]
    assert len(rows) == 8
    assert all(row["published"] is None and row["measured_elsewhere"] for row in rows)


def test_facts_are_counted_and_not_rows(report: Report) -> None:
    counts = {count.standing: count for count in counts_of(views_of(report.judged))}
    # Two facts in four rows of theory; at the nominal load each arm's quantiles, the ratio and the
    # order; with either of the fitted senders two maxima, the ratio and the order; the joint one.
    assert (counts[CountedAs.THEORY].facts, counts[CountedAs.THEORY].rows) == (2, 4)
    assert (counts[CountedAs.SOURCE].facts, counts[CountedAs.SOURCE].rows) == (9, 19)
    assert (counts[CountedAs.ELSEWHERE].facts, counts[CountedAs.ELSEWHERE].rows) == (8, 8)


def test_too_few_runs_decide_no_printed_number(report: Report) -> None:
    decided = {one.claim.id for one in report.judged if one.verdict is not Verdict.INCONCLUSIVE}
    rules = {one.claim.id: one.claim.rule for one in report.judged}
    printed = {name for name, rule in rules.items() if isinstance(rule, Published)}
    assert FEW < 10
    assert len(printed) == 9 + 2 * 3 + 8
    assert not decided & printed


def test_a_printed_ratio_of_two_runs_is_held_against_two_runs() -> None:
    """Arms of one replication share their arrivals, the source's two runs did not."""
    rng = np.random.default_rng(3)
    traffic = rng.gamma(2.0, 50.0, 400)
    runs = {
        "SM": tuple(PublishedRun(np.array([each])) for each in traffic),
        "TDM": tuple(PublishedRun(np.array([2.0 * each])) for each in traffic),
    }
    ratio = one_run_ratio(Replications(runs, 400, "as asked"))
    assert np.median(ratio) == pytest.approx(0.5, rel=0.1)
    # Of independent gamma variables, not the one half that pairs would give in each replication.
    assert ratio.std() > 0.3


def test_both_backends_and_presets_judge_full_runs() -> None:
    quick, full = parts.PRESETS.quick, parts.PRESETS.full
    assert set(quick.ideal.over) < set(full.ideal.over)
    assert quick.on_kernel.runs >= 10
    assert quick.nominal.runs >= 39


def test_ping_files_are_in_the_sources_format(report: Report) -> None:
    stems = [f"pingtimes-{sender}-{arm}" for sender in "12" for arm in ("sm", "tdm")]
    files = {f"{stem}.{suffix}" for stem in stems for suffix in ("txt", "csv")}
    assert set(report.files) == files | {"pingtimes-all.csv"}
    lines = str(report.files["pingtimes-1-sm.csv"]).splitlines()
    assert len(lines) == published.PING_COUNT
    assert all(re.fullmatch(r"1,SM,\d+,\d+(\.\d+)?", line) for line in lines)
    # The published line, run by the real awk on what ping printed.
    line = """grep "bytes from" | awk 'BEGIN { FS = " |=" } ; { print "1,SM," $7 "," $11 }'"""
    text = str(report.files["pingtimes-1-sm.txt"])
    done = subprocess.run(
        ["sh", "-c", line], input=text, capture_output=True, text=True, check=True
    )
    assert done.stdout == report.files["pingtimes-1-sm.csv"]
    together = str(report.files["pingtimes-all.csv"]).splitlines()
    assert len(together) == 4 * published.PING_COUNT


@pytest.mark.slow
def test_the_same_on_one_thread_and_on_two(report: Report) -> None:
    alone = get_study(STUDY).reproduce(StudyOptions(quick=True, replications=FEW, seed=3, jobs=1))
    assert to_rows(alone.judged) == to_rows(report.judged)
    assert alone.meta == report.meta
    assert alone.files == report.files


@pytest.mark.slow
def test_stopped_early_it_reports_on_what_was_finished() -> None:
    stop = threading.Event()

    def watch(progress: Progress) -> None:
        if progress.task == "ideal source, 2 streams" and progress.done == progress.total:
            stop.set()

    options = StudyOptions(quick=True, replications=FEW, on_progress=watch, cancel=stop)
    report = get_study(STUDY).reproduce(options)
    assert {one.claim.id.split("-")[0] for one in report.judged} == {"ideal"}
    assert report.meta["complete"] is False
    assert "Interrupted" in report.notes[0]
    assert [figure.name for figure in report.figures] == ["gain-against-streams"]


@pytest.mark.slow
def test_with_too_few_runs_for_a_fit_it_says_so_and_does_the_rest() -> None:
    report = get_study(STUDY).reproduce(StudyOptions(quick=True, replications=5))
    ids = {one.claim.id for one in report.judged}
    assert {each.split("-")[0] for each in ids} == {"ideal", "nominal", "kernel"}
    assert any("With 5 replications there is no fit" in note for note in report.notes)


def test_stopped_before_anything_was_finished_it_says_so() -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Interrupted):
        get_study(STUDY).reproduce(StudyOptions(quick=True, cancel=stop))
