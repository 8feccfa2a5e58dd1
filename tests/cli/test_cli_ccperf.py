"""CCPerf's command line: its options, what it refuses, its tables and its database."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dumbbell.backends import simulate
from dumbbell.cli.app import app
from dumbbell.errors import SpecError
from dumbbell.formats import read_sqlite
from dumbbell.metrics import mean_throughput_l4
from dumbbell.spec.ccperf import OPTIONS, read_command
from dumbbell.studies.traffic_policing import published

VERBATIM = [f"{name}={value}" for name, value in published.COMMAND.items()]


def test_the_published_command_line_verbatim(tmp_path: Path) -> None:
    path = tmp_path / "benchmark_TcpNewReno.db"
    words = [each for each in VERBATIM if not each.startswith("--db-path")]
    done = CliRunner().invoke(app, ["ccperf", "traffic-policing", *words, f"--db-path={path}"])
    assert done.exit_code == 0, done.output
    for name in ("--bw", "--aut", "--parameters"):
        assert f"{name} has no effect" in done.output
    for name in published.VALUES:
        assert name in done.output
    rows = {row.name: row for row in read_sqlite(path)}
    assert rows["total_rtos_l4"].value == 1
    assert 100 <= rows["total_qdisc_drops_l2"].value <= 160
    assert rows["mean_throughput_l4"].unit == "Mbit/s"
    assert {row.interval_s for row in rows.values()} == {0.1}
    assert {row.experiment for row in rows.values()} == {"traffic_policing"}


def test_the_experiment_of_the_published_command() -> None:
    policing, without_effect = read_command(published.COMMAND)
    resolved = policing.experiment().resolved()
    qdisc = resolved["links"][0]["forward"]["qdisc"]
    assert (qdisc["rate_bps"], qdisc["peakrate_bps"]) == (4_000_000, 1_000_000_000)
    assert qdisc["child"] == {"kind": "pfifo", "limit_packets": 20}
    assert qdisc["mtu_bytes"] >= 1514
    assert (resolved["seed"], resolved["duration_ns"]) == (42, 15_000_000_000)
    tcp = resolved["flows"][0]["tcp"]
    assert (tcp["profile"], tcp["congestion_control"], tcp["rack"]) == ("rfc", "reno", False)
    assert set(without_effect) == {"--bw", "--aut", "--parameters"}
    assert published.COMMAND.keys() == OPTIONS.keys()


def test_lists_make_several_flows() -> None:
    policing, _ = read_command(
        {
            **published.COMMAND,
            "--sources": "src_0,src_1",
            "--destinations": "dst_0,dst_1",
            "--algs": "TcpCubic,TcpBbr",
            "--rtts": "15ms,30ms",
            "--traffic-models": "Greedy(bytes=0),Greedy(bytes=1000000)",
        }
    )
    assert [flow.tcp["congestion_control"] for flow in policing.flows] == ["cubic", "bbr"]
    assert [flow.rtt_ns for flow in policing.flows] == [15_000_000, 30_000_000]
    assert [flow.size_bytes for flow in policing.flows] == [0, 1_000_000]
    assert len(policing.experiment().resolved()["flows"]) == 2


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("--algs", "TcpNewRenoo", "TcpNewReno"),
        ("--policing-rate", "4", "a rate such as 4Mbps"),
        ("--qlen", "20", "packets, such as 20p"),
        ("--rtts", "15", "a time such as 15ms"),
        ("--rtts", "15ms,30ms", "1 values, one for each of --sources"),
        ("--loss", "2", "a probability"),
        ("--qdisc", "RedQueueDisc", "FifoQueueDisc"),
        ("--traffic-models", "CBR(bytes=9,rate=1Mbps)", "CBR(bytes=0,rate=1Mbps)"),
        ("--traffic-models", "OnOff(bytes=0)", "Greedy(bytes=N)"),
        ("--protocols", "UDP", "TCP"),
        ("--recoveries", "TcpClassicRecovery", "TcpPrrRecovery"),
        ("--qlenn", "20p", "did you mean '--qlen'"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(option: str, value: str, allowed: str) -> None:
    with pytest.raises(SpecError) as refused:
        read_command({**published.COMMAND, option: value})
    assert refused.value.path == option
    assert allowed in str(refused.value)


@pytest.mark.parametrize("model", ["CBR", "Poisson"])
def test_a_source_with_a_rate_writes_that_much(model: str) -> None:
    options = {**published.COMMAND, "--traffic-models": f"{model}(bytes=0,rate=1Mbps)"}
    policing, _ = read_command(options)
    run = simulate(policing.experiment())
    assert mean_throughput_l4(run, "flow_1") == pytest.approx(1, rel=0.1)


def test_an_option_without_a_default_is_asked_for() -> None:
    with pytest.raises(SpecError, match="--peak-rate"):
        read_command({"--policing-rate": "4Mbps", "--algs": "TcpNewReno"})


@pytest.mark.parametrize("words", [["oops"], ["--qlen"], ["--qlen=20p", "--qlen=30p"]])
def test_words_that_are_no_options(words: list[str]) -> None:
    done = CliRunner().invoke(app, ["ccperf", "traffic-policing", *words])
    assert isinstance(done.exception, SpecError)
