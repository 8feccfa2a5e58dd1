"""The study of buffer sizing: tree, grid, what is measured, and the report."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from dumbbell.backends import simulate
from dumbbell.claims import Verdict, view_of
from dumbbell.claims.rules import CountedAs
from dumbbell.claims.rules.agreement import LEAST_RUNS
from dumbbell.claims.rules.intervals import LEAST_FOR_A_BAND
from dumbbell.claims.rules.prediction import LEAST_FOR_STUDENT
from dumbbell.metrics import base_rtts_s
from dumbbell.replication import Progress, Replications
from dumbbell.report import Report, ValueRow, ValueTable
from dumbbell.report.claims_section import interval_words
from dumbbell.report.figures import as_polars
from dumbbell.spec import Resolved
from dumbbell.studies import Interrupted, StudyOptions, buffer_sizing, get_study
from dumbbell.studies.buffer_sizing import (
    PRESETS,
    all_buffers,
    arms,
    claims,
    kernel_vs_sim,
    published,
)
from dumbbell.studies.buffer_sizing.all_buffers import Cell, GridRun
from dumbbell.studies.buffer_sizing.arms import Case, Point
from dumbbell.studies.buffer_sizing.measures import (
    Flows,
    between_groups,
    compared,
    flows_of,
)
from dumbbell.studies.shape import Amount, Presets

STUDY = "buffer-sizing"
CELLS = all_buffers.cells((10, 100), (5, 18, 500))
SHORT = buffer_sizing.BufferSizingPreset(
    grid=Amount(3, length_s=12.0, over=arms.cases(arms.LIGHT)),
    readings=None,
    all_buffers=Amount(3, length_s=9.0, over=CELLS),
    kernel=Amount(LEAST_RUNS, length_s=5.0),
    own_programs=Amount(2),
    own_users=Amount(2),
)
"""Too short to say anything of the source: what is tested is all but the numbers."""


@pytest.fixture(scope="module")
def shortened() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buffer_sizing, "PRESETS", Presets(quick=SHORT, full=SHORT))
        yield


@pytest.fixture(scope="module")
def report(shortened: None) -> Report:
    return get_study(STUDY).reproduce(StudyOptions())


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
    bottleneck = Resolved(experiment.resolved()).queue(arms.BOTTLENECK)
    assert bottleneck.rate_bps == 50_000_000
    assert bottleneck.qdisc.mapping == {"kind": "pfifo", "limit_packets": 18}


def test_the_grid_has_both_readings_at_every_setting() -> None:
    assert len(arms.GRID) == len(set(arms.GRID)) == 10
    assert arms.GRID[:2] == (Point("testbed"), Point("ns-2"))
    for point in arms.GRID:
        assert replace(point, stack="ns-2") in arms.GRID
    assert {point.stack for point in arms.LIGHT} == set(arms.STACKS)
    assert Case(Point(), "persistent").is_nominal
    assert not Case(Point(tail=1.5), "persistent").is_nominal


def test_no_preset_judges_what_the_source_did_not_run_so_long() -> None:
    quick, full = PRESETS.quick, PRESETS.full
    for preset in (quick, full):
        assert preset.grid.length_s == published.DURATION_S == 150
        # As long on both backends, and often enough for an agreement.
        assert preset.kernel.length_s == kernel_vs_sim.DURATION_S
        assert preset.kernel.runs >= LEAST_RUNS
    assert set(full.grid.over) == set(arms.cases(arms.GRID))
    assert full.grid.runs >= LEAST_FOR_STUDENT
    assert quick.grid.runs >= LEAST_FOR_A_BAND
    # Whatever quick judges is judged over all points that the claim names.
    assert set(quick.grid.over) == set(arms.cases(arms.LIGHT))


def test_sizes_keep_their_mean_when_the_tail_changes() -> None:
    assert arms.pareto(1.2, 30_000) == "pareto 1.2 5000B"
    assert arms.pareto(1.5, 30_000) == "pareto 1.5 10000B"


def test_both_buffers_see_the_same_mice() -> None:
    runs = arms.both_buffers(Case(Point(), "persistent"), seed=5, duration_s=3)
    assert [setup.buffer for setup in runs] == ["small", "large"]
    simulated = [simulate(experiment) for experiment in runs.values()]
    first, second = (
        run.column("transfers", "started_ns")[run.column("transfers", "bytes") > 0]
        for run in simulated
    )
    assert len(first) > 60
    assert np.array_equal(first, second)


# --- what a run is reduced to ------------------------------------------------------------------


def _flows(rtt_s: list[float], kbps: list[float]) -> Flows:
    count = len(kbps)
    nothing = np.zeros(count)
    return Flows(
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
    assert between_groups(_flows(rtt_s, [900, 900, 60, 60])) == pytest.approx(1)
    assert between_groups(_flows(rtt_s, [900, 60, 900, 60])) == pytest.approx(0)
    assert np.isnan(between_groups(_flows(rtt_s[:1], [900])))


def test_flows_seen_with_one_packet_are_counted_and_left_out() -> None:
    point = Point(load="heavy")
    run = simulate(arms.experiment(point, "closed-loop", 18, seed=3, duration_s=5))
    packets = run.column("transfers", "received_pkts")
    of = flows_of(run)
    assert of.left_out == int((packets < 2).sum()) > 0
    assert of.loss.size == int((packets >= 2).sum())
    assert ((of.loss >= 0) & (of.loss < 1)).all()
    # What is sent again is what was dropped, give or take.
    sent = run.column("transfers", "retransmitted_pkts").sum()
    assert sent == run.column("flows", "retransmitted_pkts").sum()


def test_runs_without_some_flows_have_numbers_that_decide_nothing() -> None:
    """In less than a second no user gets 100 kB."""
    case = Case(Point("testbed", "light"), "closed-loop")

    def ran(duration_s: float) -> buffer_sizing.BufferComparison:
        runs = arms.both_buffers(case, seed=2, duration_s=duration_s)
        return compared({setup.buffer: simulate(each) for setup, each in runs.items()})

    short, long = ran(0.9), ran(12)
    assert short.small.large.flows == 0 < long.small.large.flows
    assert np.isnan(short.large_better) and np.isfinite(long.large_better)
    assert np.isnan(short.loss_gaps).all() and np.isfinite(long.loss_gaps).all()
    assert not short.flows and not short.runs
    found = Replications(
        {Case(point, "closed-loop"): (long, short, long) for point in arms.LIGHT}, 3, ""
    )
    verdicts = {one.claim.id: one.verdict for one in claims.judge_directions(found)}
    assert verdicts["observation-12-closed-loop-light"] is Verdict.NOT_TESTABLE
    assert verdicts["observation-10-delay-closed-loop-light"] is not Verdict.NOT_TESTABLE


# --- the report --------------------------------------------------------------------------------


def test_the_report(report: Report) -> None:
    judged = {one.claim.id: one for one in report.judged}
    headlines = [of for of in claims.OBSERVATIONS if of.is_headline]
    assert list(judged) == [f"{of.id}-light" for of in headlines]
    assert all(view_of(one).n_replications == 3 for one in report.judged)
    # The paper's main point; so few and short runs give wide intervals.
    for workload in arms.WORKLOADS:
        value = judged[f"observation-12-{workload}-light"].found.value
        assert value is not None and value > 0.6
    names = {figure.name for figure in report.figures}
    for workload in arms.WORKLOADS:
        for size in ("large", "small"):
            assert {f"throughput-{workload}-{size}", f"loss-{workload}-{size}"} <= names
    assert {"law-of-losses", "completion-by-size", "utilization-against-buffer"} <= names
    assert any("14" in note and "18" in note for note in report.notes)
    assert any("534 ms" in note for note in report.notes)
    assert any("netem" in note for note in report.notes)
    assert any("Only the light load" in note for note in report.notes)
    assert "at the light load" in report.summary


def test_the_runs_that_are_kept_are_the_first_ones(report: Report) -> None:
    kept = {f"{workload} {buffer}" for workload in arms.WORKLOADS for buffer in arms.BUFFERS}
    assert set(report.meta["digests_of_replication_0"]) == kept
    assert len(report.tables) == 2 * len(kept)
    case = Case(arms.LIGHT[0], "persistent")
    (first, _) = arms.both_buffers(case, seed=1, duration_s=12).values()
    digest = simulate(first).meta["digest"]
    assert report.meta["digests_of_replication_0"]["persistent small"] == digest


def test_the_page_says_of_what_an_interval_is(report: Report) -> None:
    assert {interval_words(view_of(one)) for one in report.judged} == {"95 % intervals, whole grid"}


def test_tables_hold_numbers_over_whole_runs(report: Report) -> None:
    tables = {table.title: table for table in report.values}
    for point in arms.LIGHT:
        table = tables[f"The four experiments, {point.stack}'s TCP, light load"]
        assert "nothing is sampled" in table.caption
        assert all(cell.value is not None for row in table.rows for cell in row.filled)
    rows = {row.name: row.filled for row in table.rows}
    small, large = rows["Mean wait"][:2]
    assert small.high is not None and large.low is not None and small.high < large.low


def test_the_table_of_directions_has_what_each_rule_looks_at(report: Report) -> None:
    table = next(each for each in report.values if each.title == "Directions over the grid")
    assert len(table.columns) == len(arms.LIGHT)
    rows = {row.name: row for row in table.rows}
    judged = {one.claim.id: one for one in report.judged}
    first = judged["observation-12-persistent-light"].found.value
    assert rows["observation-12-persistent"].filled[0].value == first
    # A reading of TCP that a claim is not about has a dash there.
    for name, stack in (("observation-04-testbed", "testbed"), ("observation-07-paper", "ns-2")):
        spoken = [cell.value is not None for cell in rows[name].filled]
        assert spoken == [point.stack == stack for point in arms.LIGHT]
    for row in table.rows:
        for cell in row.filled:
            if cell.value is not None and cell.low is not None and cell.high is not None:
                assert cell.low <= cell.value <= cell.high


def test_the_table_of_levels_has_what_is_printed_beside_what_a_run_would_print(
    report: Report,
) -> None:
    table = next(each for each in report.values if each.title == "Printed levels over the grid")
    assert table.is_folded
    assert table.columns[:2] == ["printed, testbed", "printed, paper"]
    printed = {row.name: [cell.value for cell in row.filled[:2]] for row in table.rows}
    assert printed["(2) small flows better with B_s, persistent"] == [0.40, 0.50]
    assert printed["(7) small flows better with B_l, closed-loop"] == [0.75, None]
    for row in table.rows:
        for cell in row.filled[2:]:
            assert cell.value is not None and cell.low is not None and cell.low <= cell.value


def test_the_rules_give_the_buffers_of_the_source(report: Report) -> None:
    table = next(each for each in report.values if each.title == "Buffers by the two rules")
    row = next(row for row in table.rows if row.name.startswith("T = 121"))
    assert [round(row.filled[at].value or 0) for at in (0, -1)] == [500, 18]
    longest = next(row for row in table.rows if row.name.startswith("T = 534"))
    assert (longest.filled[0].value or 0) > 2200
    # With two round-trip times: 18 of 60 ms and 200 flows, 488 (of 1500 bytes) of 117 ms.
    at = list(table.columns).index(f"N = {published.SMALL_FLOWS}")
    assert round(_row(table, "T = 60").filled[at].value or 0) == 18
    assert (_row(table, "T = 117").filled[0].value or 0) == pytest.approx(488, rel=0.02)


def _row(table: ValueTable, name: str) -> ValueRow:
    return next(row for row in table.rows if row.name.startswith(name))


def test_figures_of_all_buffers_have_intervals_and_say_of_what(report: Report) -> None:
    for quantity in ("utilization", "loss", "median", "low"):
        figure = next(each for each in report.figures if each.name == f"{quantity}-against-buffer")
        frame = as_polars(figure.data)
        assert len(frame) == len(CELLS)
        assert (frame["low"] <= frame["mean"]).all() and (frame["mean"] <= frame["high"]).all()
        assert (frame["low"] < frame["high"]).sum() > len(frame) / 2
        for said in ("3 runs of 9 s", "first 3 s", "95 % intervals"):
            assert said in figure.caption
    shares = as_polars(
        next(each for each in report.figures if each.name.startswith("utilization-ag")).data
    )
    # The rule for many flows: more of them use more of the link with 18 packets.
    at_18 = shares.filter(pl.col("buffer_packets") == 18, pl.col("controller") == "CUBIC")
    few, many = (at_18.filter(flows=f"{count} flows")["mean"].item() for count in (10, 100))
    assert few < many - 10
    assert shares["high"].to_numpy().max() <= 100


def test_starving_flows_stand_on_the_axis_and_intervals_within_what_can_be() -> None:
    def row(low_kbps: list[float]) -> tuple[float, float, float]:
        of = tuple(GridRun(1.0, 0.01, 1.0, 400.0, low) for low in low_kbps)
        found = Replications(
            dict.fromkeys(all_buffers.cells((100,), (18, 500)), of), len(low_kbps), ""
        )
        figure = all_buffers.figures(found, 60.0)[-1]
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


def test_a_cell_of_all_buffers_is_measured_after_its_warm_up() -> None:
    resolved = all_buffers.experiment(Cell("cubic", 10, 18), 1, 60.0).resolved()
    assert (resolved["duration_ns"], resolved["warm_up_ns"]) == (60e9, 20e9)


# --- stopped, and the kernel -------------------------------------------------------------------


def test_stopped_before_anything_was_run_it_says_so(shortened: None) -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Interrupted):
        get_study(STUDY).reproduce(StudyOptions(quick=True, cancel=cancel))


def test_stopped_later_it_reports_on_whole_replications(shortened: None) -> None:
    cancel = threading.Event()

    def stop(progress: Progress) -> None:
        # Runs of the next replications are among those that are done.
        if progress.done >= 3:
            cancel.set()

    options = StudyOptions(cancel=cancel, on_progress=stop, replications=20)
    made = get_study(STUDY).reproduce(options)
    assert not made.meta["complete"]
    assert 2 <= made.meta["replications"] < 20
    assert {view_of(one).n_replications for one in made.judged} == {made.meta["replications"]}
    assert made.notes[0].startswith("Interrupted")


def test_beside_the_kernel_both_backends_get_the_same(
    shortened: None, pretended_kernel: None
) -> None:
    made = get_study(STUDY).reproduce(StudyOptions(backends=("kernel",)))
    assert len(made.judged) == 4 * len(claims.AGREEMENT)
    views = [view_of(one) for one in made.judged]
    assert {view.backend for view in views} == {"kernel"}
    assert {view.standing for view in views} == {CountedAs.BACKENDS}
    # What is pretended is the simulator: not one packet differs.
    assert all(view.measured == 0 for view in views)
    assert {view.verdict for view in views} == {Verdict.REPRODUCED}
    assert "agree in 4 of 4" in made.summary
    table = next(each for each in made.values if "kernel" in each.title)
    assert [row.filled[0] for row in table.rows] == [row.filled[1] for row in table.rows]
    assert f"{LEAST_RUNS} runs of 5 s" in table.caption


def test_a_shortened_run_has_the_studys_own_traffic() -> None:
    for setup, experiment in kernel_vs_sim.experiments(1, kernel_vs_sim.DURATION_S).items():
        assert setup.case.point == kernel_vs_sim.POINT
        whole = arms.both_buffers(setup.case, seed=1, duration_s=150)[setup].resolved()
        resolved = experiment.resolved()
        assert resolved["duration_ns"] == 1e9 * kernel_vs_sim.DURATION_S
        assert [flow["source"] for flow in resolved["flows"]] == [
            flow["source"] for flow in whole["flows"]
        ]
