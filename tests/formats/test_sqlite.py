from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dumbbell.formats import FormatError, MetricRow, read_sqlite, write_sqlite

THROUGHPUT = MetricRow("first", "flow", "flow_1", "mean_throughput_l4", 3.78, "Mbit/s", 0.1)
UNKNOWN = MetricRow("first", "flow", "flow_1", "total_rtos_l4", math.nan, "timeouts", None)
DROPS = MetricRow("first", "link", "r->dst", "total_qdisc_drops_l2", 120.0, "packets", 0.1)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "benchmark.db"
    write_sqlite(path, [DROPS, UNKNOWN, THROUGHPUT])
    first, unknown, drops = read_sqlite(path)
    assert (first, drops) == (THROUGHPUT, DROPS)
    assert math.isnan(unknown.value)
    assert unknown.interval_s is None
    assert list(tmp_path.iterdir()) == [path]


def test_any_reader_of_sqlite_can_ask_it(tmp_path: Path) -> None:
    path = tmp_path / "benchmark.db"
    write_sqlite(path, [THROUGHPUT, UNKNOWN])
    with closing(sqlite3.connect(path)) as database:
        query = "SELECT value FROM metrics WHERE name = ? AND entity = 'flow_1'"
        assert database.execute(query, ["mean_throughput_l4"]).fetchall() == [(3.78,)]
        assert database.execute(query, ["total_rtos_l4"]).fetchall() == [(None,)]


def test_an_experiment_replaces_its_own_rows_only(tmp_path: Path) -> None:
    path = tmp_path / "benchmark.db"
    write_sqlite(path, [THROUGHPUT, DROPS])
    other = MetricRow("second", "network", "network", "jain_index_l4", 1.0, "1", 0.1)
    write_sqlite(path, [other])
    again = MetricRow("first", "flow", "flow_1", "mean_throughput_l4", 3.9, "Mbit/s", 0.1)
    write_sqlite(path, [again])
    assert read_sqlite(path) == [again, other]


def test_the_same_rows_give_the_same_bytes_whatever_their_order(tmp_path: Path) -> None:
    rows = [THROUGHPUT, UNKNOWN, DROPS]
    write_sqlite(tmp_path / "a.db", rows)
    write_sqlite(tmp_path / "b.db", rows[:1])
    write_sqlite(tmp_path / "b.db", rows[::-1])
    assert (tmp_path / "a.db").read_bytes() == (tmp_path / "b.db").read_bytes()


def test_a_metric_twice_and_an_unknown_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="two rows"):
        write_sqlite(tmp_path / "a.db", [DROPS, DROPS])
    with pytest.raises(ValueError, match="one of flow, link, network"):
        MetricRow("first", "node", "a", "b", 1.0, "1", None)


@pytest.mark.parametrize("content", [b"no database at all, but longer than a header", b""])
def test_what_is_no_such_database_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.db"
    path.write_bytes(content)
    with pytest.raises(FormatError, match="a database with the table metrics"):
        write_sqlite(path, [THROUGHPUT])
    assert path.read_bytes() == content
    with pytest.raises(FileNotFoundError):
        read_sqlite(tmp_path / "none.db")
