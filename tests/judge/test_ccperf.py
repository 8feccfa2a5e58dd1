"""CCPerf's benchmark: its settings, and its tables with intervals."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.compare import MeasureSubject, Quantity, summary_of
from dumbbell.compare.executing import Threads
from dumbbell.judge.ccperf import SECTIONS
from dumbbell.judge.ccperf.benchmark_page import benchmark_report
from dumbbell.judge.ccperf.network import DURATION_S, MBIT, QUEUE_PKTS, RTT_MS
from dumbbell.judge.ccperf.policing import POLICING
from dumbbell.judge.ccperf.responsiveness import PULSE_WAVE, STEP
from dumbbell.judge.ccperf.rows import ccperf_frame, ccperf_tables
from dumbbell.judge.ccperf.synchronous import SYNCHRONOUS
from dumbbell.judge.dossier import Dossier, judge_controller, write_experiments
from dumbbell.judge.folder import dossier_files
from dumbbell.judge.request import Depth, JudgeRequest
from dumbbell.judge.section import Section, Trial
from dumbbell.judge.tables import value_tables
from dumbbell.metrics import ccperf
from dumbbell.spec import Experiment, Resolved, Setting, settings_applied
from dumbbell.spec.ccperf import read_command
from small_dossiers import SHORT, shortened

PUBLISHED = {
    "--policing-rate": "4Mbps",
    "--peak-rate": "1Gbps",
    "--bw": "16Mbps",
    "--qlen": "20p",
    "--rtts": "15ms",
    "--algs": "TcpCubic",
    "--stop-time": "15s",
    "--stop-times": "15s",
}
"""Options of experiment 56, as its page prints them, but for the controller."""


def trial_of(section: Section, depth: Depth = Depth.FULL) -> Trial:
    found = section.trial(JudgeRequest("cubic", depth=depth))
    assert found is not None
    return found


def cell(section: Section, expectation: str, *more: Setting) -> Experiment:
    """The experiment of an expectation's cell, with more settings."""
    trial = trial_of(section)
    where = next(each.where for each in trial.expectations if each.id == expectation)
    settings = [Setting(path, value) for path, value in where.items()]
    return Experiment.read(settings_applied({"name": "cell", **trial.document}, [*settings, *more]))


@pytest.fixture(scope="module")
def dossier(tmp_path_factory: pytest.TempPathFactory) -> Dossier:
    request = JudgeRequest("cubic")
    sections = (shortened(SYNCHRONOUS), shortened(POLICING))
    written = write_experiments(request, tmp_path_factory.mktemp("ccperf"), sections)
    return judge_controller(request, written, executor_of=lambda cells: Threads(1))


def test_the_policed_bottleneck_is_that_of_the_published_command() -> None:
    theirs = Resolved(read_command(PUBLISHED)[0].experiment().resolved())
    ours = Resolved(cell(POLICING, "goodput-4mbit").resolved())
    (their_queue,) = (each for each in theirs.queues if each.name == "router_1->router_2")
    (our_queue,) = (each for each in ours.queues if each.name == "router->receiver")
    assert our_queue.qdisc.mapping == their_queue.qdisc.mapping
    assert ours.duration_ns == theirs.duration_ns == DURATION_S * 10**9
    assert sum(queue.delay_ns for queue in ours.queues) == RTT_MS * 10**6
    assert sum(queue.delay_ns for queue in theirs.queues) == RTT_MS * 10**6


def test_the_base_is_the_rate_and_queue_of_the_published_command() -> None:
    for section in SECTIONS:
        bottleneck = trial_of(section).document["links"][1]
        assert bottleneck["b"] == "receiver"
        if section is not POLICING:
            assert bottleneck["forward"] == {
                "rate": f"{MBIT}mbit",
                "qdisc": f"pfifo limit {QUEUE_PKTS}",
            }


def test_each_parameter_steps_in_both_directions() -> None:
    quick = trial_of(STEP, Depth.QUICK)
    ids = {each.id.removeprefix("goodput-") for each in quick.expectations}
    wanted = {f"{target}-{way}" for target in ("rate", "rtt", "loss") for way in ("up", "down")}
    assert wanted <= ids


def test_a_pulse_wave_alternates_to_the_end() -> None:
    for each in trial_of(PULSE_WAVE).expectations:
        (changes,) = (value for path, value in each.where.items() if path.endswith("changes"))
        (key,) = set(changes[0]) - {"at"}
        values = [change[key] for change in changes]
        assert values == [values[0], values[1]] * (len(values) // 2) + values[: len(values) % 2]
        period_ms = float(changes[0]["at"].removesuffix("ms"))
        assert float(changes[-1]["at"].removesuffix("ms")) + period_ms == 1000 * DURATION_S


def test_every_published_row_has_a_number_and_an_interval(dossier: Dossier) -> None:
    synchronous = dossier.found[0]
    flows, links, network = ccperf_tables(synchronous, "sim", names_backend=False)
    assert flows.columns == [
        *(f"2 flows, flow-{number}" for number in (1, 2)),
        *(f"4 flows, flow-{number}" for number in (1, 2, 3, 4)),
    ]
    assert links.columns == network.columns == ["2 flows", "4 flows"]
    for table, of in ((flows, "flow"), (links, "link"), (network, "network")):
        names = [row.name for row in table.rows]
        assert set(names) == {row.name for row in ccperf.ROWS.values() if row.of == of}
        published = [name for name in names if ccperf.ROWS[name].is_published]
        assert names[: len(published)] == published
    rows = {row.name: row for row in flows.rows}
    assert rows["mean_throughput_l4"].unit == "Mbit/s"
    for each in rows["mean_throughput_l4"].filled:
        assert each.low is not None
        assert each.high is not None
        assert each.low < each.value < each.high  # type: ignore[operator]
    # The flow is on for the measured second of two.
    assert rows["flow_completion_time_l4"].unit == "s"
    assert rows["flow_completion_time_l4"].filled[0].value == 2


def test_a_number_is_the_mean_of_ccperfs_tables(dossier: Dossier) -> None:
    frame = ccperf_frame([dossier])
    assert frame is not None
    policing = dossier.found[1]
    (found,) = policing.written.claims.cells
    n = dossier.request.depth.replications
    tables = [ccperf.tables(simulate(found.experiment, replication=number)) for number in range(n)]
    for place, of in enumerate(("flow", "link", "network")):
        for name in tables[0][place].values:
            line = frame.filter(scenario="policing", metric=name, of=of, cell="4 Mbit/s").row(
                0, named=True
            )
            expected = np.mean([each[place].values[name][0] for each in tables])
            assert line["mean"] == pytest.approx(expected, nan_ok=True), name
            assert line["replications"] == n


def test_the_tables_are_on_the_page_and_in_the_folder(dossier: Dossier) -> None:
    titles = [table.title for table in value_tables(dossier)]
    for section in ("synchronous", "policing"):
        for kind in ("Flow", "Link", "Network"):
            assert f"{kind} metrics: {section}" in titles
    files = dossier_files(dossier, {}, lambda svg: b"")
    lines = list(csv.DictReader(io.StringIO(str(files["metrics.csv"]))))
    assert {each["metric"] for each in lines} == set(ccperf.ROWS)


def test_other_suites_have_no_such_tables(tmp_path: Path) -> None:
    request = JudgeRequest("cubic", against=("reno",))
    written = write_experiments(request, tmp_path, SHORT[1:])
    found = judge_controller(request, written, executor_of=lambda cells: Threads(1))
    assert ccperf_frame([found]) is None
    assert len(list(value_tables(found))) == 1
    assert "metrics.csv" not in dossier_files(found, {}, lambda svg: b"")


@pytest.mark.parametrize(
    "without",
    [
        Setting("links[sender->router].forward.record_packets", False),
        Setting("links[sender->router].reverse.record_packets", False),
        Setting("sample_interval", "0s"),
    ],
)
def test_only_samples_and_recorded_packets_give_the_rows(without: Setting) -> None:
    row = Quantity(MeasureSubject.FLOW, "flow_1", "mean_cwnd_l4")
    assert row in summary_of(simulate(cell(POLICING, "goodput-4mbit"))).values
    assert row not in summary_of(simulate(cell(POLICING, "goodput-4mbit", without))).values


def test_the_benchmark_has_a_column_for_each_controller(dossier: Dossier, tmp_path: Path) -> None:
    request = JudgeRequest("reno")
    sections = (shortened(SYNCHRONOUS), shortened(POLICING))
    written = write_experiments(request, tmp_path, sections)
    reno = judge_controller(request, written, executor_of=lambda cells: Threads(1))
    report = benchmark_report([dossier, reno])
    assert "2 congestion controllers" in report.title
    assert all(table.columns == ["cubic", "reno"] for table in report.values)
    titles = [table.title for table in report.values]
    assert titles[:3] == [
        "synchronous, 2 flows: flow metrics, flow-1",
        "synchronous, 2 flows: flow metrics, flow-2",
        "synchronous, 2 flows: link metrics",
    ]
    last = next(each for each in report.values if each.title == "policing, 4 Mbit/s: flow metrics")
    row = next(each for each in last.rows if each.name == "mean_cwnd_l4")
    of_reno = ccperf_frame([reno])
    assert of_reno is not None
    expected = of_reno.filter(scenario="policing", metric="mean_cwnd_l4").row(0, named=True)
    assert row.filled[1].value == expected["mean"]
    assert row.filled[0].value != row.filled[1].value
    overview, *others = report.figures
    assert set(overview.data["controller"]) == {"cubic", "reno"}  # type: ignore[union-attr]
    assert [each.name for each in others] == [
        f"{scenario}-{metric}"
        for scenario in ("synchronous", "policing")
        for metric in ("agg_throughput_l4", "mean_flow_srtt_l4")
    ]
    lines = list(csv.DictReader(io.StringIO(str(report.files["metrics.csv"]))))
    assert {each["controller"] for each in lines} == {"cubic", "reno"}
