"""What ``tc -s`` prints of sfb and of sfq's RED: printed, and read again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from test_tc import QUEUE, a_run

from dumbbell.formats import read_tc, tc_iterate_text, tc_json, tc_text
from dumbbell.formats.logs.tc import TcLog, read_tc_log
from dumbbell.formats.logs.text import LogText
from dumbbell.tables import SCHEMA, Run

SFB = "sfb target 5 max 9 increment 0.02 decrement 0.001"
SFQ = "sfq redflowlimit 100000 min 3000 max 12000 probability 0.1 ecn"
INSIDE = f"root handle 1: tbf rate 1mbit burst 4kb limit 1\nparent 1:1 {SFB}"
SLOW = "root handle 1: tbf rate 1mbit burst 4kb limit 1\nparent 1:1 "


def last(run: Run, table: str) -> dict[str, float]:
    """The last row of the queue in a table of samples."""
    return {
        column.name: run.column(table, column.name, queue=QUEUE)[-1].item()
        for column in SCHEMA[table]
    }


def read(text: str, folder: Path) -> TcLog:
    file = folder / "tc.txt"
    file.write_text(text)
    return read_tc_log(LogText.of_file(file, 1 << 20))


def counters(log: TcLog) -> dict[str, float]:
    table = log.tables["counters"]
    return dict(zip(table["counter"].tolist(), table["value"].tolist(), strict=True))


def test_drops_of_sfb_have_causes() -> None:
    run = a_run(INSIDE)
    row = last(run, "sfb_samples")
    causes = ("early", "penalty", "bin", "limit", "child")
    dropped = run.column("queue_samples", "dropped_pkts", queue=QUEUE)[-1]
    assert sum(row[f"{cause}_dropped_pkts"] for cause in causes) == dropped > 50
    assert 0 < row["mean_probability"] < row["largest_probability"] <= 1
    assert row["longest_bin_pkts"] == run.column("queue_samples", "backlog_pkts", queue=QUEUE)[-1]


@pytest.mark.parametrize("form", [tc_text, tc_json])
def test_counters_of_sfb_are_printed_and_read_back(form: object, tmp_path: Path) -> None:
    assert callable(form)
    run = a_run(INSIDE)
    row = last(run, "sfb_samples")
    log = read(form(run, QUEUE), tmp_path)
    assert str(log.unknown) == ""
    assert log.tables["counters"]["queue"].tolist() == ["sfb 2:"] * 9
    found = counters(log)
    assert found.pop("maxprob") == pytest.approx(row["largest_probability"], rel=1e-5)
    assert found.pop("avgprob") == pytest.approx(row["mean_probability"], rel=1e-5)
    assert found == {
        "earlydrop": row["early_dropped_pkts"],
        "penaltydrop": row["penalty_dropped_pkts"],
        "bucketdrop": row["bin_dropped_pkts"],
        "queuedrop": 0,
        "childdrop": 0,
        "marked": 0,
        "maxqlen": row["longest_bin_pkts"],
    }


@pytest.mark.parametrize("form", [tc_text, tc_json])
def test_counters_of_red_in_sfq_are_printed_and_read_back(form: object, tmp_path: Path) -> None:
    assert callable(form)
    run = a_run(SLOW + SFQ)
    row = last(run, "sfq_red_samples")
    assert row["forced_dropped_pkts"] > 10
    log = read(form(run, QUEUE), tmp_path)
    assert str(log.unknown) == ""
    assert counters(log) == {
        "prob_mark": 0,
        "prob_mark_head": 0,
        "prob_drop": row["early_dropped_pkts"],
        "forced_mark": 0,
        "forced_mark_head": 0,
        "forced_drop": row["forced_dropped_pkts"],
    }
    marked = log.tables["queues"]["marked_pkts"][log.tables["queues"]["kind"] == "sfq"]
    assert marked.tolist() == [0]


def test_each_sample_has_its_own(tmp_path: Path) -> None:
    run = a_run(INSIDE)
    log = read(tc_iterate_text(run, QUEUE), tmp_path)
    table = log.tables["counters"]
    early = table["value"][table["counter"] == "earlydrop"]
    np.testing.assert_array_equal(
        early, run.column("sfb_samples", "early_dropped_pkts", queue=QUEUE)
    )
    assert len(early) > 2


def test_text_of_a_real_sfq_is_read(tmp_path: Path) -> None:
    """As iproute2 6.1 prints it; four lines of marks are one number."""
    file = tmp_path / "tc.txt"
    file.write_text(
        "qdisc sfq 1: dev eth0 root refcnt 2 limit 127p quantum 1514b depth 127 headdrop "
        "flows 128 divisor 1024 ewma 6 min 6000b max 60000b probability 0.1 ecn \n"
        "  prob_mark 1 prob_mark_head 20 prob_drop 300\n"
        "  forced_mark 4000 forced_mark_head 50000 forced_drop 600000\n"
        " Sent 1514 bytes 1 pkt (dropped 600300, overlimits 0 requeues 0) \n"
        " backlog 0b 0p requeues 0\n"
    )
    assert read_tc(file).column("queue_samples", "marked_pkts").tolist() == [54_021]
    log = read(file.read_text(), tmp_path)
    assert str(log.unknown) == ""
    assert counters(log)["forced_drop"] == 600_000


@pytest.mark.parametrize(
    "line", ["  earlydrop 1 penaltydrop", "  earlydrop one", "  prob_mark 3", "  maxprob -1"]
)
def test_a_damaged_line_of_sfb_is_no_counter(line: str, tmp_path: Path) -> None:
    log = read(
        "qdisc sfb 1: dev eth0 root refcnt 2 rehash 600s \n"
        f" Sent 1514 bytes 1 pkt (dropped 0, overlimits 0 requeues 0) \n{line}\n",
        tmp_path,
    )
    assert "counters" not in log.tables


def test_disciplines_without_own_counters_have_none() -> None:
    for qdisc in ("sfq", "fq_codel"):
        run = a_run(qdisc)
        assert not {"sfb_samples", "sfq_red_samples"} & run.tables.keys()
        assert "prob_mark" not in json.loads(tc_json(run, QUEUE))[0]["options"]
