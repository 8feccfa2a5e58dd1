"""The study of traffic policing: ensemble, bucket, rows, report."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.claims.legacy import Verdict
from dumbbell.metrics.ccperf import ROWS
from dumbbell.report import Report, write_report
from dumbbell.studies import StudyOptions, get_study
from dumbbell.studies.traffic_policing import arms, bucket, judging, published, text
from dumbbell.studies.traffic_policing.campaigns import collect


@pytest.fixture(scope="module")
def report() -> Report:
    return get_study("traffic-policing").reproduce(StudyOptions(quick=True))


def test_the_declared_ensemble() -> None:
    members = arms.ensemble(5)
    assert len(members) == len(set(members))
    assert members[0] == arms.Member()
    assert {member.burst_packets for member in members} == {-1, 0, 1}
    assert min(member.rtt_factor for member in members) == pytest.approx(0.99)
    assert max(member.start_ns for member in members) == 3_004_000
    nominal = arms.member_of(arms.source(), members[0]).resolved()
    assert nominal == arms.source().experiment().resolved()


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


def test_a_bucket_that_gives_too_much_is_found_out() -> None:
    """The same packets held against a smaller bucket: the promise is broken."""
    member = arms.member_of(arms.source(), arms.Member())
    arm = collect(StudyOptions(), {"source": [member]}, "test")["source"]
    good = judging.judge_bucket(arm, "good", "sim")
    assert [one.verdict for one in good] == [Verdict.REPRODUCED] * 2
    run = arm.first
    t_ns = run.column("packets", "t_ns", queue=arms.QUEUE, event="dequeue")
    size = run.column("packets", "bytes", queue=arms.QUEUE, event="dequeue")
    assert bucket.most_beyond(t_ns, size, 3.9e6) > arm.excess[0].burst_bytes


@pytest.mark.parametrize("name", published.VALUES)
def test_the_printed_number_lies_in_its_own_band(name: str) -> None:
    low, high = published.band(name)
    assert low <= published.VALUES[name] <= high
    assert ROWS[name].is_published


def test_the_rows_and_their_verdicts(report: Report) -> None:
    rows = {one.claim.id: one for one in report.judged if one.claim.published is not None}
    assert len(rows) == len(published.VALUES)
    for name in (
        "mean-throughput-l4",
        "total-rtos-l4",
        "total-qdisc-drops-l2",
        "mean-qdisc-delay-l2",
    ):
        assert rows[name].verdict is Verdict.REPRODUCED
    outside = [one for one in rows.values() if one.verdict is not Verdict.REPRODUCED]
    # Named with their reason, not only counted.
    assert all(";" in one.note for one in outside)
    assert all(one.claim.id.replace("-", "_") in report.summary for one in outside)


def test_nothing_contradicts_theory(report: Report) -> None:
    theory = [one for one in report.judged if one.claim.theory is not None]
    assert len(theory) == 12
    assert {one.verdict for one in theory} == {Verdict.REPRODUCED}


def test_the_best_value_of_a_row_is_bold(report: Report, tmp_path: Path) -> None:
    page = write_report(report, tmp_path / "page").read_text(encoding="utf-8")
    table = report.values[0]
    assert table.columns[:2] == ["published", arms.SOURCE_ARM]
    power = next(row for row in table.rows if row.name == "mean_network_power_l4")
    (best,) = power.best
    numbers = [float(cell) for cell in power.cells[1:]]
    assert float(power.cells[best]) == max(numbers)
    assert re.search(rf"<strong>{power.cells[best]}</strong>", page)


def test_the_best_of_equal_and_unknown_values() -> None:
    assert text.best_of([1.0, float("nan"), 2.0], "greater") == {2}
    assert text.best_of([1.001, 1.002], "less") == set()
    assert text.best_of([1.0, 2.0], "") == set()


def test_figures_of_the_source_are_there(report: Report) -> None:
    names = {figure.name for figure in report.figures}
    assert {"in-flight-over-time", "srtt-over-time", "throughput-over-time"} <= names
    assert {"operating-point", "throughput-ecdf", "srtt-ecdf"} <= names
    assert {"retransmissions-against-burst", "utilization-against-rtt"} <= names


def test_the_same_seed_gives_the_same_claims(report: Report) -> None:
    again = get_study("traffic-policing").reproduce(StudyOptions(quick=True, jobs=1))
    assert again.judged == report.judged
    assert again.meta == report.meta
