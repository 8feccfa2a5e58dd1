"""What iperf 2.1.8 printed with ``-y C``, as it was on a loopback."""

from __future__ import annotations

import math

import pytest

from dumbbell.formats.errors import UnreadableError
from dumbbell.formats.logs import LogText
from dumbbell.formats.logs.iperf import read_iperf

TCP = """\
20261124060612,127.0.0.1,49730,127.0.0.1,5601,1,0.0-1.0,655420,5243360
20261124060612,127.0.0.1,49744,127.0.0.1,5601,2,0.0-1.0,655420,5243360
20261124060613,127.0.0.1,49730,127.0.0.1,5601,1,1.0-2.0,655360,5242880
20261124060613,127.0.0.1,49744,127.0.0.1,5601,2,1.0-2.0,655360,5242880
20261124060613,127.0.0.1,49730,127.0.0.1,5601,1,0.0-2.1,1441852,5413304
20261124060613,127.0.0.1,49744,127.0.0.1,5601,2,0.0-2.1,1441852,5422440
"""
UDP = """\
20261124060615,127.0.0.1,46069,127.0.0.1,5602,1,0.0-1.0,127890,1023120,0.002,0,87,0.000,0
20261124060616,127.0.0.1,46069,127.0.0.1,5602,1,1.0-2.0,124950,999600,0.003,3,85,3.500,0
20261124060616,127.0.0.1,46069,127.0.0.1,5602,1,0.0-2.0,255780,1010253,0.002,3,172,1.700,0
"""


def test_intervals_and_whole_tests_of_two_streams() -> None:
    log = read_iperf(LogText("it", TCP))
    assert log.tables["intervals"]["bytes"].tolist() == [655420, 655420, 655360, 655360]
    assert log.tables["totals"]["bytes"].tolist() == [1441852, 1441852]
    assert log.tables["totals"]["end_s"].tolist() == [2.1, 2.1]
    assert log.tables["intervals"]["pkts"].tolist() == [-1] * 4
    assert math.isnan(log.tables["intervals"]["jitter_ms"][0])
    assert not log.problems
    assert log.unknown.count == 0


def test_datagrams_lost_and_all() -> None:
    log = read_iperf(LogText("it", UDP))
    assert log.tables["totals"]["lost_pkts"].tolist() == [3]
    assert log.tables["totals"]["pkts"].tolist() == [172]
    assert log.tables["intervals"]["jitter_ms"].tolist() == [0.002, 0.003]


def test_a_test_without_its_end_and_lines_of_others_are_said() -> None:
    log = read_iperf(LogText("it", TCP.rsplit("\n", 2)[0] + "\nread failed: reset\n"))
    assert log.problems == ("the end of a test is missing",)
    assert log.unknown.count == 1
    assert log.unknown.where == "line 6"


def test_what_is_none_is_refused() -> None:
    with pytest.raises(UnreadableError):
        read_iperf(LogText("it", "connect failed: Connection refused\n"))
