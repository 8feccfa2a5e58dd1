"""Output of iperf 2.1.8 with ``-y C``, recorded on loopback."""

from __future__ import annotations

import math

import pytest
from log_samples import IPERF_2_TCP, IPERF_2_UDP

from dumbbell.formats.errors import UnreadableError
from dumbbell.formats.logs import LogText
from dumbbell.formats.logs.iperf import read_iperf
from dumbbell.metrics.logs import log_numbers


def test_intervals_and_whole_tests_of_two_streams() -> None:
    log = read_iperf(LogText("it", IPERF_2_TCP))
    assert log.tables["intervals"]["bytes"].tolist() == [655420, 655420, 655360, 655360]
    assert log.tables["totals"]["bytes"].tolist() == [1441852, 1441852]
    assert log.tables["totals"]["end_s"].tolist() == [2.1, 2.1]
    assert log.tables["intervals"]["pkts"].tolist() == [-1] * 4
    assert math.isnan(log.tables["intervals"]["jitter_ms"][0])
    assert not log.problems
    assert log.unknown.count == 0


def test_datagrams_lost_and_all() -> None:
    log = read_iperf(LogText("it", IPERF_2_UDP))
    assert log.tables["totals"]["lost_pkts"].tolist() == [3]
    assert log.tables["totals"]["pkts"].tolist() == [172]
    assert log.tables["intervals"]["jitter_ms"].tolist() == [0.002, 0.003]


def test_a_test_without_its_end_and_lines_of_others_are_said() -> None:
    log = read_iperf(LogText("it", IPERF_2_TCP.rsplit("\n", 2)[0] + "\nread failed: reset\n"))
    assert log.problems == ("the end of a test is missing",)
    assert log.unknown.count == 1
    assert log.unknown.where == "line 6"


def test_what_is_none_is_refused() -> None:
    with pytest.raises(UnreadableError):
        read_iperf(LogText("it", "connect failed: Connection refused\n"))


def test_numbers_of_all_streams_and_of_what_a_receiver_missed() -> None:
    tcp = {each.name: each.value for each in log_numbers(read_iperf(LogText("it", IPERF_2_TCP)))}
    assert tcp["throughput_mbps"] == pytest.approx(10.835744)
    assert tcp["throughput_of_intervals_any_mean_mbps"] == pytest.approx(10.48624)
    udp = {each.name: each.value for each in log_numbers(read_iperf(LogText("it", IPERF_2_UDP)))}
    assert udp["goodput_mbps"] == pytest.approx(1.010253)
    assert udp["loss_percent"] == pytest.approx(100 * 3 / 172)
    assert "throughput_mbps" not in udp


def test_a_report_of_all_streams_is_not_added_to_theirs() -> None:
    summed = "20261124060613,127.0.0.1,0,127.0.0.1,5601,-1,0.0-2.1,2883704,10835744\n"
    text = IPERF_2_TCP + summed
    assert read_iperf(LogText("it", text)).whole() == {
        "bytes": 2883704,
        "throughput_bps": 10835744.0,
    }


def test_datagrams_of_two_streams_are_counted_together() -> None:
    second = IPERF_2_UDP.replace(",46069,", ",46070,")
    whole = read_iperf(LogText("it", IPERF_2_UDP + second)).whole()
    assert (whole["pkts"], whole["lost_pkts"], whole["bytes"]) == (344, 6, 511560)
