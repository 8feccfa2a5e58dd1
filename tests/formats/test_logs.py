"""Logs of measuring programs, real ones and older layouts, read into columns."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from log_samples import FOLDER, all_samples, reader_of, real_logs, sample

from dumbbell.formats import FormatError
from dumbbell.formats.logs import (
    READERS,
    Iperf3Log,
    IrttLog,
    ItgLog,
    Log,
    LogFormat,
    LogText,
    NetperfLog,
    PingLog,
    SsLog,
    TcLog,
    log_of_text,
    read_log,
)
from dumbbell.formats.logs.times import epoch_ns
from dumbbell.metrics.logs import log_numbers, log_series, mean_interval


def numbers(log: Log, of: str | None = None) -> dict[str, float]:
    return {each.name: each.value for each in log_numbers(log) if of is None or each.of == of}


@pytest.mark.parametrize("name", all_samples())
def test_every_sample_is_of_one_format_and_understood_to_the_last_line(name: str) -> None:
    text = sample(name)
    assert [reader.format for reader in READERS if reader.is_own(text)] == [all_samples()[name]]
    log = log_of_text(text)
    assert str(log.unknown) == ""
    for table in log.tables.values():
        lengths = {len(table[column.name]) for column in table.columns}
        assert len(lengths) == 1
        for column in table.columns:
            assert table[column.name].dtype == np.dtype(column.dtype)
    for series in log_series(log):
        assert len(series.t_s) == len(series.values)


def test_every_format_has_a_sample() -> None:
    # crusader's is no text: test_crusader_log.py.
    assert set(all_samples().values()) == set(LogFormat) - {LogFormat.CRUSADER}
    assert {reader_of(name).read for name in all_samples()} == {
        each.read for each in READERS if each.format is not LogFormat.CRUSADER
    }
    assert len(real_logs()) >= 20


def test_ping_under_load_says_what_its_last_line_does() -> None:
    log = read_log(FOLDER / "ping.txt")
    assert isinstance(log, PingLog)
    assert (log.hosts, log.sent, log.received, log.variant) == (("10.0.2.1",), 40, 40, "iputils")
    found = numbers(log)
    totals = log.tables["totals"]
    assert found["rtt_mean_ms"] == pytest.approx(totals["rtt_mean_ns"][0] / 1e6, abs=0.01)
    assert found["rtt_min_ms"] == pytest.approx(0.047)
    # 40 answers reach a 95th percentile and no 99th.
    assert "rtt_p95_ms" in found and "rtt_p99_ms" not in found


def test_ping_with_losses_and_times() -> None:
    log = read_log(FOLDER / "ping-lost.txt")
    assert isinstance(log, PingLog)
    rtt, at = log.tables["requests"]["rtt_ns"], log.tables["requests"]["received_epoch_ns"]
    assert (len(rtt), int((rtt < 0).sum())) == (30, 14)
    assert ((at < 0) == (rtt < 0)).all()
    assert numbers(log)["loss_percent"] == pytest.approx(100 * 14 / 30)
    assert [series.is_timed for series in log_series(log)] == [True]


def test_a_quiet_ping_has_only_its_last_line() -> None:
    log = read_log(FOLDER / "ping-quiet.txt")
    assert len(log.tables["requests"]) == 0
    assert numbers(log)["rtt_mean_ms"] == pytest.approx(0.073)
    assert numbers(log)["loss_percent"] == 0


def test_pings_of_others_count_from_0() -> None:
    macos = log_of_text(sample("macos-ping"))
    assert macos.variant == "BSD or macOS"
    assert macos.tables["requests"]["seq"].tolist() == [0, 1, 2, 3]
    assert macos.tables["requests"]["rtt_ns"].tolist() == [12_125_000, -1, 14_500_000, 13_375_000]
    busybox = log_of_text(sample("ping-busybox.txt"))
    assert (busybox.variant, busybox.tables["requests"]["seq"].tolist()) == (
        "busybox",
        [0, 1, 2, 3],
    )


@pytest.mark.parametrize(
    "name",
    [
        "ping.txt",
        "ping-ipv6.txt",
        "ping-busybox.txt",
        "macos-ping",
        "macos-ping-errors",
        "macos-ping6",
        "busybox-ping6",
    ],
)
def test_pings_say_what_their_last_lines_do(name: str) -> None:
    log = log_of_text(sample(name))
    assert isinstance(log, PingLog)
    totals, found = log.tables["totals"], numbers(log)
    rtt_ns = log.tables["requests"]["rtt_ns"]
    assert (log.sent, log.received) == (len(rtt_ns), int((rtt_ns >= 0).sum()))
    assert (totals["sent_pkts"][0], totals["received_pkts"][0]) == (log.sent, log.received)
    for each in ("min", "mean", "max"):
        # A last line has three digits behind the point, an answer in its milliseconds three in all.
        said = totals[f"rtt_{each}_ns"][0] / 1e6
        assert found[f"rtt_{each}_ms"] == pytest.approx(said, abs=0.01, rel=5e-3)


@pytest.mark.parametrize(
    "line",
    [
        "." * 2000 + "\b \b" * 500,  # -f
        "RR: \t127.0.0.1",
        "\trouter (192.0.2.1)",
        "\t(same route)",
        "ai->ai_family: AF_INET, ai->ai_canonname: '127.0.0.1'",
        "[1586021972.313402] no answer yet for icmp_seq=6",
        "[1586021972.313402] From 192.0.2.9 icmp_seq=1 Destination Host Unreachable",
        "Request timeout for icmp_seq=2",
    ],
)
def test_lines_of_pings_options(line: str) -> None:
    log = log_of_text(LogText("it", f"{line}\n{sample('ping.txt').text}"))
    assert str(log.unknown) == ""
    assert len(log.tables["requests"]) == 40


def test_two_pings_in_a_file_are_two() -> None:
    one = (FOLDER / "ping-ipv6.txt").read_text()
    log = log_of_text(LogText("both", one + one))
    assert isinstance(log, PingLog)
    assert log.tables["requests"]["session"].tolist() == [1, 1, 2, 2]
    assert (log.sent, log.received) == (4, 4)


def test_itgdecs_summary_and_its_packets_agree() -> None:
    """The first and the last 30 packets of a log whose summary stands beside them."""
    summary = read_log(FOLDER / "itgdec-lost.txt")
    packets = read_log(FOLDER / "itgdec-packets.txt")
    assert isinstance(summary, ItgLog) and isinstance(packets, ItgLog)
    assert summary.has_delays and packets.has_delays
    flow = summary.tables["flows"]
    assert flow["flow"].tolist() == [1, 0]
    assert (flow["pkts"][0], flow["payload_bytes"][0]) == (1696, 1696 * 800)
    table = packets.tables["packets"]
    span_s = (table["received_ns"][-1] - table["received_ns"][0]) / 1e9
    # ITGDec's time goes from the first arrival to the last.
    assert span_s == pytest.approx(flow["total_time_s"][0], abs=1e-6)
    assert flow["bitrate_bps"][0] == pytest.approx(8 * flow["payload_bytes"][0] / span_s, rel=1e-6)
    missing = int(table["seq"][-1]) - flow["pkts"][0]
    assert flow["dropped_pkts"][0] == missing
    assert numbers(summary)["loss_percent"] == pytest.approx(100 * missing / (1696 + missing))


def test_packets_for_octave_are_those_of_the_whole_log() -> None:
    """Held against what ITGDec printed under TOTAL RESULTS of the same log, of two flows."""
    log = read_log(FOLDER / "itgdec-octave.txt")
    assert isinstance(log, ItgLog) and log.has_delays and str(log.unknown) == ""
    assert set(log.tables["packets"]["flow"].tolist()) == {0}
    found = numbers(log)
    assert found["pkts"] == 202
    assert found["payload_mean_bytes"] * 202 == pytest.approx(87200)
    assert found["bitrate_mbps"] == pytest.approx(0.467690723, rel=1e-6)
    assert found["packet_rate_pps"] == pytest.approx(135.4265, rel=1e-6)
    assert found["delay_mean_ms"] == pytest.approx(1.516, abs=5e-4)
    assert found["delay_min_ms"] == pytest.approx(0.015)
    assert found["delay_max_ms"] == pytest.approx(24.999)
    # Whose numbers are missing cannot be told.
    assert "loss_percent" not in found
    (series,) = log_series(log)
    assert (np.diff(series.t_s) >= 0).all()


def test_packets_for_octave_of_one_flow_have_a_loss() -> None:
    line = "{:7d} 23 59 59.{:06d} 23 59 59.{:06d} 500\n"
    text = "".join(line.format(seq, seq, seq + 5) for seq in (1, 2, 4, 5))
    log = log_of_text(LogText("it", text))
    assert numbers(log)["loss_percent"] == pytest.approx(20.0)
    assert numbers(log)["delay_mean_ms"] == pytest.approx(0.005)


def test_what_itgdec_shows_while_it_reads_is_no_result() -> None:
    """On standard error: ``ITGDec recv.log > summary.txt 2>&1``."""
    turning = "\b|\b\\\b-\b/" * 300 + "\b"
    text = (FOLDER / "itgdec-lost.txt").read_text()
    log = log_of_text(LogText("it", turning + text))
    assert str(log.unknown) == ""
    assert log.tables["flows"]["pkts"].tolist() == [1696, 1696]


def test_a_senders_log_of_ditg_has_no_delays() -> None:
    log = read_log(FOLDER / "itgdec-sender.txt")
    assert isinstance(log, ItgLog)
    assert not log.has_delays
    assert not any("delay" in name for name in numbers(log))


def test_two_flows_of_ditg_and_their_total() -> None:
    log = read_log(FOLDER / "itgdec-two-flows.txt")
    table = log.tables["flows"]
    assert table["flow"].tolist() == [2, 1, 0]
    assert table["destination"].tolist() == ["10.0.2.1:9002", "10.0.2.1:9001", ""]
    assert table["pkts"][2] == table["pkts"][:2].sum()


def test_steps_of_ditg_add_up_to_the_whole() -> None:
    steps = read_log(FOLDER / "itgdec-steps.txt").tables["steps"]
    whole = read_log(FOLDER / "itgdec-lost.txt").tables["flows"]
    assert steps["t_s"][1] - steps["t_s"][0] == pytest.approx(0.1)
    assert 0.1 * steps["bitrate_bps"].sum() / 8 == pytest.approx(
        whole["payload_bytes"][0], rel=0.02
    )


def test_ditg_past_midnight() -> None:
    line = "Flow>0001 Seq> {} Src> 10.0.0.1/1 Dest> 10.0.0.2/2 txTime>{} rxTime>{} Size>  100\n"
    text = line.format(1, "23:59:59.999000", "0:0:0.001000")
    text += line.format(2, "0:0:0.100000", "0:0:0.102000")
    log = log_of_text(LogText("midnight", text))
    table = log.tables["packets"]
    assert (table["received_ns"] - table["sent_ns"]).tolist() == [2_000_000, 2_000_000]
    assert np.diff(table["sent_ns"]).tolist() == [101_000_000]


def test_iperf3_over_tcp() -> None:
    log = read_log(FOLDER / "iperf3-tcp.json")
    assert isinstance(log, Iperf3Log)
    assert (log.protocol, log.congestion, log.host) == ("TCP", "bbr", "10.0.2.1")
    intervals = log.tables["intervals"]
    assert intervals["bytes"].sum() == 5_138_256
    assert intervals["retransmitted_pkts"].sum() == 916
    found = numbers(log)
    assert found["goodput_mbps"] == pytest.approx(9.464637)
    assert found["srtt_mean_ms"] == pytest.approx(intervals["rtt_us"].mean() / 1000)


def test_iperf3_over_udp_both_ways_and_backwards() -> None:
    udp = numbers(read_log(FOLDER / "iperf3-udp.json"))
    assert udp["loss_percent"] == pytest.approx(100 * 572 / 3105)
    both = read_log(FOLDER / "iperf3-bidir.json")
    assert isinstance(both, Iperf3Log) and both.is_bidirectional
    assert numbers(both, "server to client")["goodput_mbps"] == pytest.approx(114.1877, abs=1e-3)
    assert numbers(both, "client to server")["goodput_mbps"] == pytest.approx(9.4404, abs=1e-3)
    back = read_log(FOLDER / "iperf3-reverse.json")
    assert isinstance(back, Iperf3Log) and back.is_reverse
    assert len(set(back.tables["intervals"]["socket"].tolist())) == 3
    # Three streams are one throughput in each interval.
    found = {each.name: each for each in log_numbers(back)}
    assert found["throughput_of_intervals_received_mean_mbps"].samples == 3


def test_iperf3_that_failed_says_why() -> None:
    log = read_log(FOLDER / "iperf3-error.json")
    assert "Connection timed out" in log.problems[0]
    assert log_numbers(log) == []


def test_iperf3_old_and_new() -> None:
    old = log_of_text(sample("iperf-3.1"))
    assert old.variant == "iperf 3.1.3"
    assert old.tables["intervals"]["bytes"].tolist() == [1_250_000, 1_250_000]
    assert numbers(old)["loss_percent"] == pytest.approx(20.0)
    assert "goodput_mbps" not in numbers(old)  # the rate of that line is the sender's
    new = log_of_text(sample("iperf-events"))
    assert numbers(new)["goodput_mbps"] == pytest.approx(9.0)
    assert numbers(new)["srtt_mean_ms"] == pytest.approx(33.5)


def test_ss_in_a_loop() -> None:
    log = read_log(FOLDER / "ss-loop.txt")
    assert isinstance(log, SsLog)
    assert log.has_times
    table = log.tables["sockets"]
    assert len(set(table["epoch_ns"].tolist())) == log.calls
    first = table["peer"].tolist().index("10.0.2.1:5201")
    assert table["rtt_ns"][first] == 221_000
    assert (table["cwnd_pkts"][first], table["mss_bytes"][first]) == (13, 1448)
    assert table["pacing_rate_bps"][first] == 4_729_335_784
    # What ss leaves out where it is 0 is 0.
    assert (table["unacked_pkts"][first], table["retrans_total_pkts"][first]) == (0, 0)
    # The control connection is in the table and in no number.
    assert len(set(table["local"].tolist())) == 2
    assert len({each.of for each in log_numbers(log)}) == 1


def test_ss_on_one_line_and_with_dates() -> None:
    one = read_log(FOLDER / "ss-one-line.txt")
    assert isinstance(one, SsLog)
    assert (one.calls, one.has_times) == (6, False)
    assert set(one.tables["sockets"]["congestion"].tolist()) == {"reno", "cubic"}
    dated = read_log(FOLDER / "ss-date.txt")
    assert isinstance(dated, SsLog) and dated.has_times
    assert dated.tables["sockets"]["retrans_total_pkts"].max() >= 35


def test_ss_that_rounds_rates() -> None:
    table = log_of_text(sample("ss-old")).tables["sockets"]
    assert table["pacing_rate_bps"].tolist() == [16_600_000]
    assert table["delivery_rate_bps"].tolist() == [9_500_000]
    assert (table["rtt_ns"][0], table["rttvar_ns"][0]) == (33_500_000, 1_250_000)
    assert (table["retrans_total_pkts"][0], table["busy_ns"][0]) == (12, 2_440_000_000)


def test_times_behind_their_calls_are_flents() -> None:
    block = (
        "State Recv-Q Send-Q Local Address:Port Peer Address:Port\n"
        "ESTAB 0 0 10.0.0.1:1 10.0.0.2:2\n\t cubic mss:1448 cwnd:{}\nTime: {}\n---\n"
    )
    text = block.format(10, "1600000001.5") + block.format(20, "1600000002.5")
    table = log_of_text(LogText("flent", text)).tables["sockets"]
    assert table["epoch_ns"].tolist() == [1_600_000_001_500_000_000, 1_600_000_002_500_000_000]
    assert table["cwnd_pkts"].tolist() == [10, 20]


def test_tc_in_a_loop() -> None:
    log = read_log(FOLDER / "tc-loop.txt")
    assert isinstance(log, TcLog)
    assert (log.calls, log.has_times) == (25, True)
    table = log.tables["queues"]
    assert set(table["queue"].tolist()) == {"tbf 1:"}
    found = numbers(log)
    grown = table["dropped_pkts"][-1] - table["dropped_pkts"][0]
    assert found["dropped_pkts"] == grown > 0
    assert 9 < found["wire_rate_mbps"] < 10.1  # the bucket fills at 10 Mbit/s


def test_tc_as_text_and_as_json_is_the_same() -> None:
    text = read_log(FOLDER / "tc-all.txt").tables["queues"]
    json_ = read_log(FOLDER / "tc-all.json").tables["queues"]
    for column in text.columns:
        if column.holds != "real":
            assert text[column.name].tolist() == json_[column.name].tolist(), column.name


def test_tc_of_others() -> None:
    old = log_of_text(sample("tc-old")).tables["queues"]
    assert old["backlog_bytes"].tolist() == [49 * 1024, 49 * 1024]
    assert (old["delay_ns"][1], old["drop_probability"][1]) == (14_300_000, 0.0125)
    assert (old["marked_pkts"].tolist(), math.isnan(old["drop_probability"][0])) == ([-1, 3], True)
    fq_codel = log_of_text(sample("fq-codel")).tables["queues"]
    assert (fq_codel["marked_pkts"][0], fq_codel["queue"][0]) == (7, "eth2 fq_codel 110:")
    classes = read_log(FOLDER / "tc-class.txt").tables["queues"]
    assert (classes["kind"][0], classes["sent_pkts"][0]) == ("class htb", 3)


def test_irtt_knows_which_way_was_lost() -> None:
    log = read_log(FOLDER / "irtt-lost.json")
    assert isinstance(log, IrttLog)
    assert (log.sent, log.received, log.length_bytes) == (12, 3, 1400)
    assert log.tables["round_trips"]["lost_where"].tolist().count("up") == 9
    found = numbers(log)
    assert found["loss_percent"] == found["loss_up_percent"] == 75
    assert found["loss_down_percent"] == 0


def test_netperf() -> None:
    stream = log_of_text(sample("netperf-stream"))
    assert isinstance(stream, NetperfLog)
    assert stream.tables["tests"]["throughput_bps"].tolist() == [9_500_000]
    assert stream.tables["interim"]["throughput_bps"].tolist() == [9_250_000, 9_750_000]
    others = log_of_text(sample("netperf-others")).tables["tests"]
    assert others["test"].tolist() == ["UDP STREAM", "TCP REQUEST/RESPONSE"]
    assert (others["throughput_bps"][0], others["received_pkts"][0]) == (9_420_000, 8000)
    assert others["transactions_per_s"][1] == 481.25
    omni = log_of_text(sample("netperf-omni"))
    assert omni.tables["tests"]["throughput_bps"].tolist() == [9_500_000]
    assert omni.tables["tests"]["retransmitted_pkts"].tolist() == [17]
    assert omni.tables["interim"]["end_epoch_s"].tolist() == [1559149724.219]


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("1795417662.455762611", 1795417662.455762611),
        ("1795417662", 1795417662),
        ("Time: 12.5", 12.5),
        ("2026-11-23T07:08:27+01:00", 1795414107),
        ("2026-11-23 07:08:27,500000000+00:00", 1795417707.5),
        ("Mon Nov 23 07:08:27 UTC 2026", 1795417707),
        ("Mon Nov 23 07:08:27 AM UTC 2026", 1795417707),
    ],
)
def test_times_of_a_loop(line: str, seconds: float) -> None:
    found = epoch_ns(line)
    assert found is not None and found / 1e9 == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize("line", ["", "12", "2026-13-45T07:08:27", "Mon Nov 41 07:08:27 2026"])
def test_what_is_no_time(line: str) -> None:
    assert epoch_ns(line) is None


def test_windows_line_ends_and_powershell(tmp_path: Path) -> None:
    text = (FOLDER / "ping.txt").read_text().replace("\n", "\r\n")
    wide = tmp_path / "wide.txt"
    wide.write_bytes(text.encode("utf-16"))
    log = read_log(wide)
    assert numbers(log) == numbers(read_log(FOLDER / "ping.txt"))
    assert log.unknown.count == 0


def test_unknown_lines_are_counted_and_the_first_is_named() -> None:
    lines = (FOLDER / "ping.txt").read_text().split("\n")
    lines.insert(3, "what is this? \x1b[31m")
    lines.insert(9, "64 bytes from 10.0.2.1: icmp_seq=x ttl=63 time=9 ms")
    log = log_of_text(LogText("ping", "\n".join(lines)))
    assert (log.unknown.count, log.unknown.where) == (2, "line 4")
    assert log.unknown.text == "what is this? \x1b[31m"
    assert "the first, line 4" in str(log.unknown)


def test_damaged_values_of_json_are_named_by_their_path() -> None:
    text = (FOLDER / "iperf3-tcp.json").read_text()
    damaged = text.replace("23168", '"many"', 1).replace("1079512", "1e400", 1)
    log = log_of_text(LogText("iperf3", damaged))
    assert log.unknown.count == 2
    assert log.unknown.where == "intervals[0].streams[0].bytes"
    assert log.tables["intervals"]["bytes"][0] == -1


@pytest.mark.parametrize(
    "text", ["", "hello", "{", "[]", "{}", "\x00" * 1000, '{"start":\t{', "[" * 100_000]
)
def test_nothing_known_is_said_in_a_sentence(text: str) -> None:
    with pytest.raises(FormatError) as refused:
        log_of_text(LogText("some.txt", text))
    assert str(refused.value).startswith("some.txt: ")


def test_intervals_need_samples_that_are_hardly_correlated() -> None:
    rng = np.random.default_rng(1)
    intervals = [mean_interval(rng.normal(10, 1, 400)) for _ in range(1000)]
    known = [each for each in intervals if each is not None]
    # Chance alone takes a few away, and of the rest 95 % are right (binomial, 4 sigma).
    assert len(known) > 950
    right = sum(each.low < 10 < each.high for each in known) / len(known)
    assert abs(right - 0.95) < 4 * math.sqrt(0.95 * 0.05 / len(known))
    white = rng.normal(10, 1, 400)
    assert mean_interval(white[:39]) is None
    assert mean_interval(np.cumsum(white - 10)) is None
    assert mean_interval(np.ones(400)) is None
    # Lost at the very start alone: ten batches that are all alike.
    assert mean_interval(np.array([1.0] * 3 + [0.0] * 40)) is None
