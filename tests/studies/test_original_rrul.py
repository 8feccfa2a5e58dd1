"""Flent's rrul by the programs that it starts: the same numbers as from our own tables."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.replication import Replications
from dumbbell.studies import program_runs
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.pie_rrul import arms, original_programs, published
from dumbbell.studies.pie_rrul.arms import Setting
from dumbbell.studies.pie_rrul.measures import Measured, RunsBySetting, measured, written_mbps
from dumbbell.studies.shape import Amount, Runner
from dumbbell.tables import Run

TEST = arms.rrul(length_s=3, delay_s=1)


@pytest.fixture(scope="module")
def run() -> Run:
    """Our own senders, what they wrote recorded."""
    qdisc = Setting().qdisc(arms.ESTIMATOR)
    return simulate(arms.experiment(qdisc, test=TEST, record_writes=True))


def as_programs(run: Run) -> Run:
    """The same run, told as programs would: intervals of a step, and ping's round trips."""
    (icmp,) = (probe.probe for probe in TEST.probes if probe.kind == "ping")
    place = run.probe(icmp)
    names = [stream.flow for stream in TEST.streams]
    width = round(TEST.step_s * 1e9)
    columns: dict[str, list[np.ndarray[Any, Any]]] = {}
    for index, stream in enumerate(TEST.streams):
        table, column = (
            ("flow_writes", "written_payload_bytes")
            if stream.upload
            else ("flow_samples", "delivered_payload_bytes")
        )
        counted = np.diff(run.column(table, column, flow=stream.flow), prepend=0)
        end = width * np.arange(1, counted.size + 1)
        kept = {"program": np.full(counted.size, index), "side": np.zeros(counted.size)}
        kept["stream"] = np.full(counted.size, 5)
        kept |= {"start_ns": end - width, "end_ns": end, "bytes": counted}
        for name, values in kept.items():
            columns.setdefault(name, []).append(values.astype(np.int64))
    intervals = {name: np.concatenate(values) for name, values in columns.items()}
    probes = run.tables["probes"]
    is_icmp = probes["probe"] == place
    pinged = {name: probes[name][is_icmp] for name in ("seq", "sent_ns", "rtt_ns")}
    pinged["program"] = np.full(pinged["seq"].size, len(names))
    assert run.spec is not None
    listed = [{"name": name} for name in [*names, original_programs.PING]]
    return replace(
        run,
        spec={**run.spec, "programs": listed, "probes": run.spec["probes"][:place]},
        tables={
            **run.tables,
            "program_intervals": intervals,
            "program_round_trips": pinged,
            "probes": {name: values[~is_icmp] for name, values in probes.items()},
        },
    )


def test_programs_that_say_the_same_give_the_same_numbers(run: Run) -> None:
    """All of them but the uploads, which are counted at the sender."""
    ours, theirs = (
        measured(run, TEST),
        original_programs.measured_by_programs(as_programs(run), TEST),
    )
    by_sender = ("upload_mbps", "upload_sd_mbps", "upload_with_more_mbps", "upload_fairness")
    for name, value in asdict(ours).items():
        if name not in by_sender:
            assert getattr(theirs, name) == pytest.approx(value, rel=1e-9), name
    assert theirs.upload_mbps == pytest.approx(float(written_mbps(run, TEST).mean()))


def test_every_printed_number_has_a_row_and_every_side_a_column(run: Run) -> None:
    one = measured(run, TEST)
    found: Replications[Setting, Measured] = Replications({Setting(): (one, one)}, 2, "")
    part = original_programs.RrulPrograms(
        Amount(2, over=(Setting(),)), 1, TEST, lambda: {"simulator": RunsBySetting((found,))}
    )
    (table,) = part.tables(found)
    assert list(table.columns) == ["printed", "own programs", "simulator"]
    assert len(table.rows) == len(published.QUANTITIES)
    for row, name in zip(table.rows, published.QUANTITIES, strict=True):
        printed, theirs, ours = row.cells
        assert printed.value == published.TABLES["target", 20][name]
        assert theirs.value == ours.value
    assert table.title == "With the source's own programs, target 20 ms, tupdate 30 ms"
    assert "3 s in place of 60" in table.caption


@pytest.mark.kernel
@pytest.mark.usefixtures("real_kernel")
def test_iperf3_and_irtt_fill_the_line_and_find_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three seconds: uploads take what the line has for them, latency is PIE's and the ring's."""
    monkeypatch.setattr(original_programs, "has_netperf", lambda: False)
    part = original_programs.RrulPrograms(Amount(1, over=(Setting(),)), 1, TEST, dict)
    if missing := program_runs.missing_programs(part.experiments.values()):
        why = f"missing: {', '.join(missing)}"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    (of,) = part.finish(Runner(StudyOptions(backends=("kernel",)))).of(Setting())
    assert 75 < of.upload_mbps < published.LARGEST_MBPS + 10
    assert 75 < of.download_mbps < published.LARGEST_MBPS
    assert 15 < of.latency_ms < 60
    assert 10 < of.queue_delay_ms < 60
