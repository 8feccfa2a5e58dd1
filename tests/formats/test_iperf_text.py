"""Text output of iperf3 3.12 and iperf 2.1.8, recorded on loopback, and older layouts."""

from __future__ import annotations

import math

import pytest
from log_samples import FOLDER

from dumbbell.formats.logs import Iperf3Log, IperfLog, LogText, log_of_text, read_log
from dumbbell.metrics.logs import log_numbers, log_series

IPERF_3_1_UDP = """\
Connecting to host 192.0.2.1, port 5201
[  4] local 192.0.2.7 port 37216 connected to 192.0.2.1 port 5201
[ ID] Interval           Transfer     Bandwidth       Total Datagrams
[  4]   0.00-1.00   sec   116 KBytes   950 Kbits/sec  14
[  4]   1.00-2.00   sec   128 KBytes  1.05 Mbits/sec  16
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams
[  4]   0.00-2.00   sec   244 KBytes  1.00 Mbits/sec  0.054 ms  3/30 (10%)
[  4] Sent 30 datagrams

iperf Done.
"""
IPERF_2_0 = """\
------------------------------------------------------------
Server listening on UDP port 5001
Receiving 1470 byte datagrams
UDP buffer size:  208 KByte (default)
------------------------------------------------------------
[  3] local 192.0.2.1 port 5001 connected with 192.0.2.7 port 51082
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  3]  0.0- 1.0 sec   128 KBytes  1.05 Mbits/sec   0.027 ms    1/   90 (1.1%)
[  3]  1.0- 2.0 sec   128 KBytes  1.05 Mbits/sec   0.030 ms    0/   89 (0%)
[  3]  0.0- 2.0 sec   257 KBytes  1.05 Mbits/sec   0.030 ms    1/  179 (0.56%)
[  3]  0.0- 2.0 sec  2 datagrams received out-of-order
"""


def numbers(log: Iperf3Log | IperfLog) -> dict[str, float]:
    return {each.name: each.value for each in log_numbers(log)}


def of(text: str) -> Iperf3Log | IperfLog:
    log = log_of_text(LogText("it", text))
    assert isinstance(log, Iperf3Log | IperfLog)
    assert str(log.unknown) == ""
    return log


def test_streams_of_iperf3_their_sum_and_their_windows() -> None:
    log = read_log(FOLDER / "iperf3-streams.txt")
    assert isinstance(log, Iperf3Log)
    assert (log.host, log.protocol, log.problems) == ("127.0.0.1", "TCP", ())
    intervals = log.tables["intervals"]
    assert intervals["socket"].tolist() == [5, 7, 5, 7]
    assert intervals["bytes"].tolist() == [640 * 1024] * 4
    assert intervals["cwnd_bytes"].tolist() == [int(1.12 * 2**20)] * 4
    assert intervals["is_sender"].tolist() == [1] * 4
    found = numbers(log)
    assert found["sent_mbps"] == pytest.approx(10.5) and found["goodput_mbps"] == pytest.approx(
        10.5
    )
    assert found["retransmitted_pkts"] == 0
    assert len(log_series(log)) == 6


def test_datagrams_of_iperf3() -> None:
    log = of((FOLDER / "iperf3-udp.txt").read_text())
    assert log.tables["intervals"]["pkts"].tolist() == [625, 625]
    assert log.tables["intervals"]["retransmitted_pkts"].tolist() == [-1, -1]
    found = numbers(log)
    assert (found["goodput_mbps"], found["jitter_ms"], found["loss_percent"]) == (5.0, 0.011, 0)
    older = of(IPERF_3_1_UDP)
    assert older.tables["sums"]["side"].tolist() == ["both", "both"]
    assert numbers(older)["loss_percent"] == pytest.approx(10)
    assert numbers(older)["sent_mbps"] == 1.0


def test_both_directions_of_iperf3() -> None:
    log = of((FOLDER / "iperf3-bidir.txt").read_text())
    assert isinstance(log, Iperf3Log) and log.is_bidirectional
    assert log.tables["intervals"]["is_sender"].tolist() == [1, 0, 1, 0]
    ways = {each.of: each.value for each in log_numbers(log) if each.name == "goodput_mbps"}
    assert ways == pytest.approx({"client to server": 5.23, "server to client": 5.23})


def test_what_is_omitted_counts_in_no_mean() -> None:
    log = of((FOLDER / "iperf3-verbose.txt").read_text())
    assert isinstance(log, Iperf3Log)
    assert log.tables["intervals"]["is_omitted"].tolist() == [1, 0, 0]
    assert (log.variant, log.congestion, log.duration_s) == ("iperf 3.12", "bbr", 2)
    assert numbers(log)["throughput_of_intervals_sent_mean_mbps"] == pytest.approx((485 + 518) / 2)


def test_times_before_the_lines_of_iperf3_and_the_other_direction() -> None:
    log = of((FOLDER / "iperf3-stamped.txt").read_text())
    assert isinstance(log, Iperf3Log) and log.is_reverse
    assert numbers(log)["goodput_mbps"] == pytest.approx(4.975)  # 4975 Kbits/sec


def test_of_a_servers_tests_the_first_is_read() -> None:
    one = (FOLDER / "iperf3-udp.txt").read_text()
    log = of(one + (FOLDER / "iperf3-streams.txt").read_text())
    assert numbers(log) == numbers(of(one))
    assert log.problems == ("2 tests are in it; read is the first",)
    two = IPERF_2_0 + "\n".join(IPERF_2_0.splitlines()[5:]) + "\n"
    assert numbers(of(two)) == numbers(of(IPERF_2_0))
    assert of(two).problems == ("1 further connections are in it; read is the first test",)


def test_errors_of_iperf3_and_a_test_that_was_cut_off() -> None:
    log = of("iperf3: error - unable to connect to server: Connection refused\n")
    assert log.problems == ("iperf3 says: error - unable to connect to server: Connection refused",)
    cut = of("\n".join((FOLDER / "iperf3-udp.txt").read_text().splitlines()[:5]))
    assert cut.problems == ("the end of the test is missing",)


@pytest.mark.parametrize(
    ("said", "bps"),
    [
        ("1.25 Gbits/sec", 1.25e9),
        ("950 Kbits/sec", 950e3),
        ("12 bits/sec", 12.0),
        ("1.5 MBytes/sec", 1.5 * 2**20 * 8),
        ("0.00 bits/sec", 0.0),
    ],
)
def test_units_of_rates(said: str, bps: float) -> None:
    line = f"[  5]   0.00-1.00   sec  1.00 GBytes  {said}"
    assert of(line).tables["intervals"]["throughput_bps"].tolist() == [bps]
    assert of(line).tables["intervals"]["bytes"].tolist() == [1 << 30]


def test_streams_of_iperf_2() -> None:
    log = of((FOLDER / "iperf-streams.txt").read_text())
    assert isinstance(log, IperfLog)
    assert log.tables["totals"]["stream"].tolist() == [2, 1, -1]
    assert numbers(log)["throughput_mbps"] == 11.0
    assert log.problems == ()


def test_the_servers_report_of_iperf_2_is_what_was_received() -> None:
    log = of((FOLDER / "iperf-udp.txt").read_text())
    assert isinstance(log, IperfLog)
    assert len(log.tables["intervals"]) == 2
    assert log.whole()["pkts"] == 342
    assert numbers(log)["jitter_ms"] == 0.010


def test_iperf_2_says_more_with_e_and_less_in_2_0() -> None:
    enhanced = of((FOLDER / "iperf-enhanced.txt").read_text())
    assert enhanced.tables["intervals"]["retransmitted_pkts"].tolist() == [3, 0]
    older = of(IPERF_2_0)
    assert older.tables["intervals"]["lost_pkts"].tolist() == [1, 0]
    assert numbers(older)["loss_percent"] == pytest.approx(100 / 179)
    assert math.isclose(numbers(older)["goodput_mbps"], 1.05)
