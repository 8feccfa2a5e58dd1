"""``dumbbell analyze`` for logs, alone and compared with simulated runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

Dumbbell = Callable[..., tuple[int, str, str]]
LOGS = Path(__file__).parents[1] / "formats" / "logs"
TOML = """
name = "same-path"
duration = "4s"
warm_up = "1s"
sample_interval = "100ms"
[[links]]
a = "client"
b = "router"
rate = "inf"
[[links]]
a = "router"
b = "server"
forward = { qdisc = "tbf rate 10mbit burst 10kb limit 50kb", rate = "inf" }
reverse = { rate = "inf" }
[[flows]]
name = "bulk"
from = "client"
to = "server"
start_jitter = "100ms"
source = { kind = "greedy" }
[[probes]]
name = "echo"
from = "client"
to = "server"
interval = "100ms"
"""


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    path = tmp_path / "same.toml"
    path.write_text(TOML)
    return path


def test_it_finds_the_format_by_the_content(dumbbell: Dumbbell, tmp_path: Path) -> None:
    unnamed = tmp_path / "what.log"
    unnamed.write_bytes((LOGS / "iperf3-udp.json").read_bytes())
    status, out, err = dumbbell("analyze", str(unnamed), str(LOGS / "ping.txt"))
    assert (status, err) == (0, "")
    assert "what.log: iperf3 (iperf 3.12), 3 intervals" in out
    assert "ping.txt: ping (iputils), 40 requests" in out
    assert "round trip, 95 %" in out and "datagrams lost" in out


def test_two_of_a_format_stand_side_by_side(dumbbell: Dumbbell) -> None:
    status, out, _ = dumbbell("analyze", str(LOGS / "ping.txt"), str(LOGS / "ping-lost.txt"))
    assert status == 0
    row = next(line for line in out.splitlines() if line.startswith(" lost"))
    assert row.split()[:3] == ["lost", "%", "0"] and "46.67" in row


def test_json_has_every_number_with_its_samples(dumbbell: Dumbbell) -> None:
    status, out, _ = dumbbell("analyze", str(LOGS / "ping.txt"), "--json")
    assert status == 0
    (log,) = json.loads(out)["logs"]
    by_name = {each["name"]: each for each in log["numbers"]}
    assert log["format"] == "ping"
    assert by_name["rtt_mean_ms"]["samples"] == 40
    assert by_name["rtt_mean_ms"]["low"] < by_name["rtt_mean_ms"]["value"]
    assert log["not_understood"] == {"count": 0, "first_at": None, "first": None}


def test_what_is_not_understood_is_named_and_can_do_no_harm(
    dumbbell: Dumbbell, tmp_path: Path
) -> None:
    damaged = tmp_path / "ping.txt"
    damaged.write_text((LOGS / "ping.txt").read_text() + "\x1b]0;ha\x07 what?\n")
    status, out, err = dumbbell("analyze", str(damaged))
    assert status == 0
    assert "1 line is not understood and left out; the first, line 46" in err
    assert "\x1b" not in out + err


def test_beside_simulated_runs(dumbbell: Dumbbell, toml: Path) -> None:
    status, out, _ = dumbbell(
        "analyze", str(LOGS / "tc-loop.txt"), "--beside", str(toml), "--replications", "3", "--json"
    )
    assert status == 0
    (log,) = json.loads(out)["logs"]
    assert log["beside"]["runs"] == 3
    assert "queue router->server" in log["beside"]["said"]
    same = {each["name"]: each["simulated"] for each in log["numbers"] if "simulated" in each}
    # A full queue sends at its rate, whoever has it.
    assert 9.5 < same["wire_rate_mbps"]["value"] < 10.5
    assert same["wire_rate_mbps"]["low"] <= same["wire_rate_mbps"]["value"]
    assert same["drop_percent"]["definition"].startswith("dropped over")
    # What depends on how long one looks stands alone.
    assert "dropped_pkts" not in same


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("ping.txt", "rtt_mean_ms"),
        ("irtt-lost.json", "rtt_mean_ms"),
        ("iperf3-tcp.json", "goodput_mbps"),
        ("ss-loop.txt", "cwnd_mean_pkts"),
    ],
)
def test_beside_the_run_of_a_folder(
    dumbbell: Dumbbell, toml: Path, tmp_path: Path, name: str, number: str
) -> None:
    folder = tmp_path / "run"
    assert dumbbell("run", str(toml), "--out", str(folder))[0] == 0
    status, out, err = dumbbell("analyze", str(LOGS / name), "--beside", str(folder), "--json")
    assert (status, err) == (0, "")
    (log,) = json.loads(out)["logs"]
    same = {each["name"]: each["simulated"] for each in log["numbers"] if "simulated" in each}
    assert same[number]["value"] > 0
    assert same[number]["low"] is None  # one run has no interval


def test_ditg_beside_datagrams(dumbbell: Dumbbell, toml: Path) -> None:
    toml.write_text(TOML.replace('"greedy"', '"cbr", rate = "2000pps", size = "800B"'))
    log_file = str(LOGS / "itgdec-lost.txt")
    status, out, _ = dumbbell("analyze", log_file, "--beside", str(toml), "--json")
    assert status == 0
    (log,) = json.loads(out)["logs"]
    same = {each["name"]: each["simulated"] for each in log["numbers"] if "simulated" in each}
    assert same["payload_mean_bytes"]["value"] == 800
    # An ideal source has no headers: 12.8 Mbit/s come to 10.
    assert same["loss_percent"]["value"] == pytest.approx(100 * (1 - 10 / 12.8), abs=1)
    assert same["delay_mean_ms"]["value"] > 20


@pytest.mark.slow
def test_a_page_and_tables(dumbbell: Dumbbell, tmp_path: Path) -> None:
    page = tmp_path / "page"
    status, out, _ = dumbbell(
        "analyze", str(LOGS / "ss-loop.txt"), "--out", str(page), "--to", "csv"
    )
    assert status == 0 and f"page: {page}" in out.replace("\n", "")
    html = (page / "index.html").read_text()
    assert "What is in ss-loop.txt?" in html and "ongestion window" in html
    table = pl.read_csv(page / "sockets.csv")
    assert table["cwnd_pkts"].min() > 0  # type: ignore[operator]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ping.txt", "--rate", "1mbit"], "--rate"),
        (["ping.txt", "--view", "a"], "--view"),
        (["ping.txt", "--of", "a"], "--of"),
        (["ping.txt", "--to", "flent"], "--to"),
        (["ping.txt", "README.md"], "it begins with '# Logs"),
        (["ping.txt", "missing.pcap"], "files of one kind"),
    ],
)
def test_what_does_not_go_together(dumbbell: Dumbbell, words: list[str], said: str) -> None:
    files = [str(LOGS / each) if each.endswith((".txt", ".md")) else each for each in words]
    status, _, err = dumbbell("analyze", *files)
    assert status == 2 and said in err


def test_a_name_that_is_not_there(dumbbell: Dumbbell, toml: Path) -> None:
    log = str(LOGS / "ping.txt")
    status, _, err = dumbbell("analyze", log, "--beside", str(toml), "--of", "ecko")
    assert status == 2 and "echo" in err
