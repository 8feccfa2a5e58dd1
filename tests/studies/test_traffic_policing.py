"""The study of traffic policing: ensemble, bucket, rows, report."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.claims import Judged, Verdict, counts_of, views_of
from dumbbell.claims.rules import CountedAs, PublishedInEnsemble
from dumbbell.metrics.ccperf import ROWS
from dumbbell.report import Report, ValueRow, write_report
from dumbbell.spec.ccperf import SOURCE_SETTINGS
from dumbbell.studies import StudyOptions, get_study
from dumbbell.studies.shape import Runner
from dumbbell.studies.traffic_policing import (
    PRESETS,
    Controllers,
    arms,
    bucket,
    claims,
    published,
    run_members,
    text,
)
from dumbbell.studies.traffic_policing.measures import EnsembleRun, Policed


@pytest.fixture(scope="module")
def report() -> Report:
    return get_study("traffic-policing").reproduce(StudyOptions(quick=True))


def test_the_declared_ensemble() -> None:
    """Every combination of the open choices equally often; the smaller begins the larger."""
    members = arms.members_of_source(PRESETS.quick.source.runs)
    assert len(members) == len(set(members)) == 2 * 3 * 3 * 2 * 2 * 2
    assert members == arms.members_of_source(PRESETS.full.source.runs)[: len(members)]
    for name, value in {"SACK": "off", "least timeout": "200ms"}.items():
        having = [one for one in members if one.choices and one.choices.setting[name] == value]
        assert len(having) == len(members) // 2
    assert {member.jitter.burst_packets for member in members} == {-1, 0, 1}
    rtts = [member.jitter.rtt_factor for member in members]
    assert 0.99 <= min(rtts) < 0.991 and 1.009 < max(rtts) <= 1.01
    assert max(member.jitter.start_ns for member in members) < 3_004_000


def test_the_first_member_is_ns_3_with_its_defaults() -> None:
    first = arms.members_of_source(1)[0].of(arms.source())
    given = {**SOURCE_SETTINGS, "congestion_control": "reno", "initial_window": 10, "sack": True}
    expected = arms.source()
    assert first.resolved() == expected.experiment().resolved()
    assert given.items() >= dict(expected.flows[0].tcp).items()


def test_cubic_loses_as_many_packets_as_on_the_kernel() -> None:
    """148 on Linux 6.1; 206 here when HyStart did not see round trips in recovery."""
    flows = simulate(arms.linux("cubic").experiment()).tables["flows"]
    assert flows["retransmitted_pkts"][0] == pytest.approx(148, rel=0.10)


def test_windows_of_a_bucket_by_hand() -> None:
    """1 byte/us: three packets of 100 bytes at 0, 50 and 1000 us."""
    t_ns = np.array([0, 50_000, 1_000_000])
    size = np.array([100, 100, 100], dtype=np.int32)
    # The first two are 200 bytes in 50 us; 50 bytes of them are what the rate allows.
    assert bucket.most_beyond(t_ns, size, 8e6) == pytest.approx(150)
    assert bucket.most_beyond(t_ns[::2], size[::2], 8e6) == pytest.approx(100)


@pytest.fixture(scope="module")
def nominal() -> EnsembleRun:
    members = arms.jittered(1)
    return run_members(Runner(StudyOptions()), arms.source(), members, "test")


def test_a_bucket_that_gives_too_much_is_found_out(nominal: EnsembleRun) -> None:
    """The same packets held against a smaller bucket: the promise is broken."""
    good = list(claims.judge_bucket(nominal, "good", "sim"))
    assert [one.verdict for one in good] == [Verdict.CHECK_HOLDS] * 3
    run = simulate(arms.source().experiment())
    t_ns = run.column("packets", "t_ns", queue=arms.QUEUE, event="dequeue")
    size = run.column("packets", "bytes", queue=arms.QUEUE, event="dequeue")
    (of,) = nominal.excesses
    broken = replace(of, rate_bytes=bucket.most_beyond(t_ns, size, 3.9e6))
    ran = EnsembleRun(nominal.members, [replace(nominal.results[0], excess=broken)])
    verdicts = {one.claim.id: one.verdict for one in claims.judge_bucket(ran, "bad", "sim")}
    assert verdicts["bucket-burst-bad"] is Verdict.CHECK_FAILS
    half = EnsembleRun(
        nominal.members,
        [replace(nominal.results[0], excess=replace(of, rate_bytes=of.burst_bytes / 2))],
    )
    verdicts = {one.claim.id: one.verdict for one in claims.judge_bucket(half, "half", "sim")}
    assert verdicts["bucket-use-half"] is Verdict.CHECK_FAILS


def test_what_is_printed_is_a_row_of_ours() -> None:
    assert all(ROWS[name].is_published for name in published.VALUES)
    assert published.FACTS.keys() < published.VALUES.keys()


def _printed(report: Report) -> dict[str, Judged]:
    rules = {one.claim.id: one for one in report.judged}
    return {
        name: one for name, one in rules.items() if isinstance(one.claim.rule, PublishedInEnsemble)
    }


def test_the_rows_and_their_verdicts(report: Report) -> None:
    rows = _printed(report)
    # One number chose the send buffer, one holds by construction.
    assert len(rows) == len(published.VALUES) - 2
    for name in ("mean-throughput-l4", "mean-qdisc-delay-l2", "mean-srtt-l4"):
        assert rows[name].verdict is Verdict.REPRODUCED
    # Drops go from 54 to 189 with what the source leaves open: 120 of them say little.
    assert rows["total-qdisc-drops-l2"].verdict is Verdict.UNINFORMATIVE
    verdicts = {one.claim.id: one.verdict for one in report.judged}
    assert verdicts["send-buffer"] is Verdict.CALIBRATION
    assert verdicts["flow-completion-time-l4"] is Verdict.CHECK_HOLDS


def test_the_printed_value_is_held_against_the_band_of_the_ensemble(report: Report) -> None:
    for one in _printed(report).values():
        low, high = one.found.low, one.found.high
        assert low is not None and high is not None
        inside = low <= one.claim.rule.stated[0].value <= high
        assert inside is (one.verdict is not Verdict.NOT_REPRODUCED)


def test_a_number_far_from_every_member_is_not_reproduced(nominal: EnsembleRun) -> None:
    count = 40
    far = {**nominal.results[0].rows, "mean_cwnd_l4": 46.0}
    ran = EnsembleRun(
        arms.members_of_source(1)[:count], [replace(nominal.results[0], rows=far)] * count
    )
    assert claims.judge_rows(ran)["mean_cwnd_l4"].verdict is Verdict.NOT_REPRODUCED


def test_headlines_count_facts(report: Report) -> None:
    counts = counts_of(views_of(report.judged))
    (source,) = [count for count in counts if count.standing is CountedAs.SOURCE]
    assert (source.facts, source.rows) == (13, 24)
    assert f"Of {source.facts} things" in report.summary


def test_the_least_timeout_is_told_by_some_rows(report: Report) -> None:
    table = next(each for each in report.values if "open choices" in each.title)
    assert "least timeout" in table.columns
    assert table.rows


def test_agreement_of_the_backends_is_of_members(nominal: EnsembleRun) -> None:
    """Two seconds of delay apart is no agreement, the same is."""
    same = EnsembleRun(arms.jittered(5), [nominal.results[0]] * 5)

    def slower(of: Policed) -> Policed:
        return replace(of, rows={**of.rows, "mean_qdisc_delay_l2": 2000.0})

    apart = EnsembleRun(same.members, [slower(each) for each in same.results])
    verdicts = {one.claim.id: one.verdict for one in claims.judge_agreement(same, apart, "cubic")}
    assert verdicts["agreement-cubic-mean-qdisc-delay-l2"] is Verdict.NOT_REPRODUCED
    assert verdicts["agreement-cubic-mean-cwnd-l4"] is Verdict.REPRODUCED


def test_replications_are_members(nominal: EnsembleRun) -> None:
    runner = Runner(StudyOptions(replications=2))
    found = Controllers(PRESETS.full.linux, "sim").run(runner)
    assert {ran.n for ran in found.values()} == {2}


def test_nothing_contradicts_theory(report: Report) -> None:
    checks = [one for one in report.judged if one.claim.id.startswith("bucket-")]
    assert len(checks) == 12
    assert {one.verdict for one in checks} == {Verdict.CHECK_HOLDS}
    cliffs = [one for one in report.judged if one.claim.id.startswith("after-the-cliff-")]
    assert [one.verdict for one in cliffs] == [Verdict.REPRODUCED] * 4


def row_words(row: ValueRow) -> tuple[float | None, str]:
    """What is printed, and whether it agrees."""
    printed, agrees = row.filled[:2]
    return printed.value, agrees.words


@pytest.mark.slow
def test_the_best_value_of_a_row_is_bold(report: Report, tmp_path: Path) -> None:
    page = write_report(report, tmp_path / "page").read_text(encoding="utf-8")
    table = next(each for each in report.values if each.title.startswith("Through the shaper"))
    assert table.columns[:3] == ["published", "agrees", arms.SOURCE_ARM]
    power = next(row for row in table.rows if row.code == "mean_network_power_l4")
    assert row_words(power) == (74.09, "✓ reproduced")
    (best,) = power.best
    cells = power.filled
    numbers = [cell.value for cell in cells[2:] if cell.value is not None]
    assert cells[best].value == max(numbers)
    assert re.search(rf"<strong>{re.escape(cells[best].text)}</strong>", page)


def test_the_best_of_equal_and_unknown_values() -> None:
    assert text.best_of([1.0, float("nan"), 2.0], "greater") == {2}
    assert text.best_of([1.001, 1.002], "less") == set()
    assert text.best_of([1.0, 2.0], "") == set()


def test_figures_of_the_source_are_there(report: Report) -> None:
    names = {figure.name for figure in report.figures}
    assert {"in-flight-over-time", "srtt-over-time", "throughput-over-time"} <= names
    assert {"operating-point", "throughput-ecdf", "srtt-ecdf"} <= names
    assert {"retransmissions-against-burst", "utilization-against-rtt"} <= names


@pytest.mark.slow
def test_the_same_seed_gives_the_same_claims(report: Report) -> None:
    again = get_study("traffic-policing").reproduce(StudyOptions(quick=True, jobs=1))
    assert again.judged == report.judged
    assert again.meta == report.meta
