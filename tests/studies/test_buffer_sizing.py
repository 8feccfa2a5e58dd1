"""The study of buffer sizing: tree, grid, what is measured, verdicts, report."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from dumbbell.backends import simulate
from dumbbell.claims import view_of
from dumbbell.claims.legacy import Kind, Verdict
from dumbbell.metrics import base_rtts_s
from dumbbell.report import Report
from dumbbell.report.claims_section import interval_words
from dumbbell.report.figures import as_polars
from dumbbell.studies import Interrupted, StudyOptions, get_study
from dumbbell.studies.buffer_sizing import (
    all_buffers,
    arms,
    beside,
    judging,
    measured,
    published,
)
from dumbbell.studies.buffer_sizing.arms import Point
from dumbbell.studies.buffer_sizing.observations import FURTHER, OBSERVATIONS, Observation


@pytest.fixture(scope="module")
def report() -> Report:
    return get_study("buffer-sizing").reproduce(StudyOptions(quick=True, replications=2))


@pytest.mark.parametrize(("hosts", "deep"), [(14, 8), (18, 12)])
def test_the_tree_has_the_round_trip_times_of_the_text(hosts: int, deep: int) -> None:
    point = Point(hosts=hosts)
    experiment = arms.experiment(point, "persistent", 18, seed=1, duration_s=1)
    run = simulate(experiment)
    rtts_ms = np.rint(1e3 * base_rtts_s(run)).astype(int)
    per_host = arms.PERSISTENT_PER_HOST["medium"] + 1
    of_hosts = rtts_ms[::per_host]
    assert len(rtts_ms) == hosts * per_host
    assert [int((of_hosts == rtt).sum()) for rtt in published.RTT_GROUPS_MS.values()] == [
        2, 4, deep,
    ]  # fmt: skip
    bottleneck = experiment.resolved()["links"][0]["forward"]
    assert bottleneck["rate_bps"] == 50_000_000
    assert bottleneck["qdisc"] == {"kind": "pfifo", "limit_packets": 18}


def test_the_grid_has_both_readings_at_every_setting() -> None:
    for quick in (True, False):
        grid = arms.grid(quick=quick)
        assert len(grid) == len(set(grid))
        assert grid[:2] == (Point("testbed"), Point("ns-2"))
        for point in grid:
            assert replace(point, stack="ns-2") in grid
    assert len(arms.grid(quick=False)) == 10


def test_sizes_keep_their_mean_when_the_tail_changes() -> None:
    assert arms.pareto(1.2, 30_000) == "pareto 1.2 5000B"
    assert arms.pareto(1.5, 30_000) == "pareto 1.5 10000B"


def test_all_thirteen_observations_are_claims_with_a_rule() -> None:
    numbers = {int(each.id.split("-")[1]) for each in OBSERVATIONS}
    assert numbers == set(range(1, 14))
    ids = [each.id for each in (*OBSERVATIONS, *FURTHER)]
    assert len(ids) == len(set(ids))
    # Where testbed and paper disagree, each is judged with its own TCP.
    apart = {int(each.id.split("-")[1]) for each in OBSERVATIONS if len(each.stacks) == 1}
    assert apart == {2, 4, 5, 7, 9}


def _share(**changed: Any) -> Observation:
    first = OBSERVATIONS[0]
    assert first.kind is Kind.SHARE
    return replace(first, quantities=["x"], **changed)


def _judged(of: Observation, by_load: dict[str, list[float]]) -> judging.Verdicts:
    found = {
        Point(stack, load): {"x": np.array(values)}  # type: ignore[arg-type]
        for load, values in by_load.items()
        for stack in ("testbed", "ns-2")
    }
    return judging.judge(of, found)


def test_a_claim_holds_over_the_grid_or_depends() -> None:
    near, far = [0.79, 0.80, 0.81], [0.31, 0.30, 0.29]
    whole = _judged(_share(), {"light": near, "medium": near}).whole
    assert whole.verdict is Verdict.REPRODUCED
    assert whole.claim.statement.startswith("(1) ")
    split = _judged(_share(), {"light": near, "medium": far})
    assert split.whole.verdict_text == "depends on load"
    assert split.points[Point("ns-2", "medium")].verdict is Verdict.NOT_REPRODUCED
    none = _judged(_share(), {"light": far, "medium": far}).whole
    assert none.verdict is Verdict.NOT_REPRODUCED
    wide = _judged(_share(), {"light": [0.5, 0.8, 1.0], "medium": near}).whole
    assert wide.verdict is Verdict.INCONCLUSIVE


def test_an_interval_of_a_share_stays_one() -> None:
    judged = _judged(_share(), {"light": [0.98, 1.0, 1.0]}).points[Point("testbed", "light")]
    assert judged.high == 1.0


def test_what_no_run_has_is_not_testable() -> None:
    judged = _judged(_share(), {"light": [0.8, float("nan"), 0.8]})
    assert judged.whole.verdict is Verdict.NOT_TESTABLE
    missing = judging.judge(_share(), {Point(): {"y": np.array([1.0])}})
    assert missing.whole.verdict is Verdict.NOT_TESTABLE


def test_only_the_reading_that_a_claim_is_about_judges_it() -> None:
    near, far = np.array([0.79, 0.80, 0.81]), np.array([0.31, 0.30, 0.29])
    found = {Point("testbed"): {"x": far}, Point("ns-2"): {"x": near}}
    judged = judging.judge(_share(stacks=("ns-2",)), found)
    assert judged.whole.verdict is Verdict.REPRODUCED
    assert list(judged.points) == [Point("ns-2")]


def test_twins_are_compared_replication_by_replication() -> None:
    name, gap = judging.TWINS
    found = {
        Point("testbed"): {name: np.array([0.12, 0.15])},
        Point("ns-2"): {name: np.array([0.10, 0.11])},
        Point("testbed", "heavy"): {name: np.array([0.2, 0.2])},
    }
    known = judging.with_twins(found)
    assert known[Point("testbed")][gap] == pytest.approx([0.02, 0.04])
    assert gap not in known[Point("testbed", "heavy")]
    assert gap not in known[Point("ns-2")]


def _flows(rtt_s: list[float], kbps: list[float]) -> measured.Seen:
    count = len(kbps)
    nothing = np.zeros(count)
    return measured.Seen(
        throughput_kbps=np.array(kbps),
        loss=nothing,
        dropped=nothing,
        is_large=np.ones(count, dtype=bool),
        base_rtt_s=np.array(rtt_s),
        bytes=np.full(count, -1),
        completion_s=np.full(count, np.nan),
        slowdown=np.full(count, np.nan),
        end_to_end_kbps=np.full(count, np.nan),
        left_out=0,
        mean_wait_s=0.0,
    )


def test_steps_are_variance_between_groups() -> None:
    rtt_s = [0.034, 0.034, 0.534, 0.534]
    assert measured.between_groups(_flows(rtt_s, [900, 900, 60, 60])) == pytest.approx(1)
    assert measured.between_groups(_flows(rtt_s, [900, 60, 900, 60])) == pytest.approx(0)
    assert np.isnan(measured.between_groups(_flows(rtt_s[:1], [900])))


def test_flows_seen_with_one_packet_are_counted_and_left_out() -> None:
    point = Point(load="heavy")
    run = simulate(arms.experiment(point, "closed-loop", 18, seed=3, duration_s=5))
    packets = run.column("transfers", "received_pkts")
    of = measured.seen(run)
    assert of.left_out == int((packets < 2).sum()) > 0
    assert of.loss.size == int((packets >= 2).sum())
    assert ((of.loss >= 0) & (of.loss < 1)).all()
    # What is sent again is what was dropped, give or take.
    sent = run.column("transfers", "retransmitted_pkts").sum()
    assert sent == run.column("flows", "retransmitted_pkts").sum()


def test_runs_without_some_flows_have_the_same_numbers_and_decide_nothing() -> None:
    """In less than a second no user gets 100 kB."""

    def numbers(duration_s: float) -> dict[str, float]:
        runs = {
            f"{workload} {buffer}": simulate(
                arms.experiment(
                    Point(load="light"), workload, packets, seed=2, duration_s=duration_s
                )
            )
            for workload in arms.WORKLOADS
            for buffer, packets in arms.BUFFERS.items()
        }
        return measured.measured(runs, {name: measured.seen(run) for name, run in runs.items()})

    short, long = numbers(0.9), numbers(12)
    assert list(short) == list(long)
    assert short["closed-loop small large flows"] == 0 < long["closed-loop small large flows"]
    assert np.isnan(short["large better with large"])
    assert np.isfinite(long["large better with large"])
    found = {Point(): {name: np.array([long[name], short[name]]) for name in long}}
    verdicts = {each.whole.claim.id: each.whole.verdict for each in judging.judge_all(found)}
    assert verdicts["observation-12"] is Verdict.NOT_TESTABLE
    assert verdicts["observation-10-delay"] is not Verdict.NOT_TESTABLE


def test_both_buffers_see_the_same_mice() -> None:
    started = [
        simulate(arms.experiment(Point(), "persistent", packets, seed=5, duration_s=3))
        for packets in (18, 500)
    ]
    first, second = (
        run.column("transfers", "started_ns")[run.column("transfers", "bytes") > 0]
        for run in started
    )
    assert len(first) > 60
    assert np.array_equal(first, second)


def test_the_report(report: Report) -> None:
    judged = {one.claim.id: one for one in report.judged}
    assert len(judged) == len(OBSERVATIONS) + len(FURTHER)
    # The paper's main point, and the steps that the source sees; two runs give wide intervals.
    for name in ("observation-12", "steps-at-rtt-groups"):
        measured_there, stated = judged[name].measured, judged[name].claim.published
        assert measured_there is not None and stated is not None and measured_there > stated + 0.1
    assert all(one.n_replications in (0, 2) for one in report.judged)
    names = {figure.name for figure in report.figures}
    for workload in arms.WORKLOADS:
        for size in ("large", "small"):
            assert {f"throughput-{workload}-{size}", f"loss-{workload}-{size}"} <= names
    assert {"law-of-losses", "completion-by-size", "utilization-against-buffer"} <= names
    assert any("14" in note and "18" in note for note in report.notes)
    assert any("534 ms" in note for note in report.notes)
    assert any("netem" in note for note in report.notes)


def test_figures_of_all_buffers_have_intervals_and_say_of_what(report: Report) -> None:
    wanted = all_buffers.sizes(quick=True)
    for quantity in ("utilization", "loss", "median", "low"):
        figure = next(each for each in report.figures if each.name == f"{quantity}-against-buffer")
        frame = as_polars(figure.data)
        assert len(frame) == len(wanted.cells)
        assert (frame["low"] <= frame["mean"]).all() and (frame["mean"] <= frame["high"]).all()
        assert (frame["low"] < frame["high"]).sum() > len(frame) / 2
        for said in ("2 runs of 12 s", "first 5 s", "95 % intervals"):
            assert said in figure.caption
    shares = as_polars(
        next(each for each in report.figures if each.name.startswith("utilization-ag")).data
    )
    # The rule for many flows: more of them use more of the link with 18 packets.
    at_18 = shares.filter(pl.col("buffer_packets") == 18, pl.col("controller") == "CUBIC")
    few, many = (at_18.filter(flows=f"{count} flows")["mean"].item() for count in wanted.flows)
    assert few < many - 10
    assert shares["high"].to_numpy().max() <= 100


def _all_buffers(low_kbps: list[float]) -> all_buffers.AllBuffers:
    wanted = all_buffers.Sizes((18, 500), (100,), len(low_kbps), 10, 1)
    of = {
        "utilization": np.full(len(low_kbps), 1.0),
        "loss": np.full(len(low_kbps), 0.01),
        "median_kbps": np.full(len(low_kbps), 400.0),
        "low_kbps": np.array(low_kbps),
    }
    return all_buffers.AllBuffers(dict.fromkeys(wanted.cells, of), wanted, len(low_kbps))


def test_starving_flows_stand_on_the_axis_and_intervals_within_what_can_be() -> None:
    def row(low_kbps: list[float]) -> tuple[float, float, float]:
        figure = all_buffers.figures(_all_buffers(low_kbps))[-1]
        first = as_polars(figure.data).row(0, named=True)
        return first["mean"], first["low"], first["high"]

    assert row([0.0, 0.0, 0.0]) == pytest.approx((0.1, 0.1, 0.1))
    mean, low, high = row([0.0, 10.0, 1000.0])
    assert mean == pytest.approx(10)
    assert low == pytest.approx(0.1)
    # 95 of 100 flows get as much or more of 50 Mbit/s.
    assert high == pytest.approx(50_000 / 95)
    # Student's interval of logarithms: both ends are as many times away from the mean.
    mean, low, high = row([90.0, 100.0, 110.0])
    assert high / mean == pytest.approx(mean / low) and 1.1 < high / mean < 1.5


def test_the_table_over_the_grid_has_what_was_published_beside_each_point(report: Report) -> None:
    table = next(each for each in report.values if each.title == "Over the grid")
    points = arms.grid(quick=True)
    assert len(table.columns) == 1 + len(points)
    rows = {row.name: row for row in table.rows}
    first = rows["observation-01"]
    assert first.cells[0] == "0.8"
    judged = {one.claim.id: one for one in report.judged}
    nominal = judged["observation-12"].measured
    assert nominal is not None
    assert rows["observation-12"].cells[1].startswith(f"{nominal:.3g}")
    # Only the reading of TCP that a number is about is judged by it.
    for name, where in (("observation-02-testbed", "testbed"), ("observation-02-paper", "ns-2")):
        spoken = [cell != "–" for cell in rows[name].cells[1:]]
        assert spoken == [point.stack == where for point in points]
    for row in table.rows:
        assert 0 not in row.best
        assert all(row.cells[at][-1].isdigit() for at in row.best)


def test_the_intervals_of_the_table_are_folded_below_it(report: Report) -> None:
    at = next(index for index, each in enumerate(report.values) if each.title == "Over the grid")
    table, folded = report.values[at : at + 2]
    assert folded.is_folded and not table.is_folded
    assert [row.name for row in folded.rows] == [row.name for row in table.rows]
    for row, of in zip(table.rows, folded.rows, strict=True):
        for cell, interval in zip(row.cells[1:], of.cells, strict=True):
            assert (cell == "–") == (interval == "–")
            if cell != "–":
                low, high = map(float, interval.split(" to "))
                value = float(cell.rstrip(" ✗?~"))
                assert low <= value <= high or value == pytest.approx(high, rel=0.01)


def test_the_page_says_of_what_an_interval_is(report: Report) -> None:
    assert {interval_words(view_of(one)) for one in report.judged} == {"95 % intervals, whole grid"}


def test_one_runs_numbers_are_judged_of_runs_as_long_as_the_sources(report: Report) -> None:
    """A shorter run has a lesser maximum."""
    greatest = [one for one in report.judged if "lose up to" in one.claim.statement]
    assert len(greatest) == 4
    assert {one.verdict for one in greatest} == {Verdict.NOT_TESTABLE}
    (of,) = (each for each in OBSERVATIONS if each.id == "observation-09-testbed-small")
    losses = np.linspace(0.85, 0.95, 10)
    whole = judging.judge_at(of, {of.quantities[0]: losses}, duration_s=150)
    assert whole.verdict is Verdict.REPRODUCED


def test_the_rules_give_the_buffers_of_the_source(report: Report) -> None:
    table = next(each for each in report.values if each.title == "Buffers by the two rules")
    row = next(row for row in table.rows if row.name.startswith("T = 121"))
    assert (row.cells[0], row.cells[-1]) == ("500", "18")
    longest = next(row for row in table.rows if row.name.startswith("T = 534"))
    assert float(longest.cells[0]) > 2200


def test_stopped_before_the_first_point_it_says_so() -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Interrupted):
        get_study("buffer-sizing").reproduce(StudyOptions(quick=True, cancel=cancel))


def test_beside_the_kernel_both_backends_get_the_same(pretended_kernel: None) -> None:
    options = StudyOptions(backends=("kernel",), quick=True, replications=2)
    made = get_study("buffer-sizing").reproduce(options)
    assert len(made.judged) == 4 * len(beside.QUANTITIES)
    assert {one.backend for one in made.judged} == {"kernel"}
    # What is pretended is the simulator: not one packet differs.
    assert all(one.measured == 0 for one in made.judged)
    assert "agree in 16 of 16" in made.summary
    table = next(each for each in made.values if "kernel" in each.title)
    assert [row.cells[0] for row in table.rows] == [row.cells[1] for row in table.rows]


def test_a_shortened_run_has_the_studys_own_traffic() -> None:
    for workload in arms.WORKLOADS:
        shortened = beside.experiment(workload, 18, seed=1).resolved()
        whole = arms.experiment(beside.POINT, workload, 18, seed=1, duration_s=150).resolved()
        assert shortened["duration_ns"] == 1e9 * beside.DURATION_S
        assert [flow["source"] for flow in shortened["flows"]] == [
            flow["source"] for flow in whole["flows"]
        ]
