"""``dumbbell analyze``: what it prints, writes and refuses."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from dumbbell.backends import simulate
from dumbbell.spec import Experiment

TOML = """
duration = "3s"
[[links]]
a = "a"
b = "b"
rate = "5mbit"
delay = "10ms"
qdisc = "pfifo limit 10"
capture = true
[[flows]]
name = "bulk"
from = "a"
to = "b"
source = { kind = "greedy" }
"""


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = simulate(Experiment.from_toml(TOML))
    path = tmp_path_factory.mktemp("capture") / "some.pcapng"
    path.write_bytes(run.files["capture.pcapng"].path.read_bytes())
    return path


def analyze(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dumbbell.cli", "analyze", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_it_prints_the_flows_and_writes_a_page(capture: Path, tmp_path: Path) -> None:
    done = analyze(capture, "--out", tmp_path / "page")
    assert (done.returncode, done.stderr) == (0, "")
    assert "10.10.1.1:32768 > 10.10.1.2:10000" in done.stdout
    assert "a->b after, > 100 KB" in done.stdout
    page = (tmp_path / "page" / "index.html").read_text()
    assert "What is in some.pcapng?" in page
    assert "10.10.1.1:32768 &gt; 10.10.1.2:10000" in page
    figures = {path.stem for path in (tmp_path / "page" / "figures").glob("*.svg")}
    assert figures == {"throughput", "loss-by-flag", "loss-by-bytes", "rate"}
    table = pl.read_parquet(tmp_path / "page" / "tables" / "captured_flows.parquet")
    assert table["flow_name"].unique().to_list() == ["10.10.1.1:32768 > 10.10.1.2:10000"]


def test_a_view_is_written_and_read_again(capture: Path, tmp_path: Path) -> None:
    view = tmp_path / "after.pcap"
    done = analyze(capture, "--view", "a->b after", "--write", view, "--json")
    assert done.returncode == 0
    places = {place["name"]: place["flows"] for place in json.loads(done.stdout)["places"]}
    again = analyze(view, "--json")
    (only,) = json.loads(again.stdout)["places"]
    assert only["name"] == "after.pcap"
    assert only["flows"] == places["a->b after"]
    refused = analyze(capture, "--view", "a->c after", "--write", view)
    assert refused.returncode == 2
    assert "'a->b after'" in refused.stderr


def test_a_cut_file_is_done_and_one_with_nothing_is_bad_input(
    capture: Path, tmp_path: Path
) -> None:
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(capture.read_bytes()[:50_000])
    done = analyze(cut, "--json")
    assert done.returncode == 0
    assert "the file ends at byte 50000" in done.stderr
    assert json.loads(done.stdout)["problems"]
    for name, content in (("empty.pcap", b""), ("text.pcap", b"a text\n"), ("text.csv", b"a\n")):
        bad = tmp_path / name
        bad.write_bytes(content)
        refused = analyze(bad)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr.startswith("error: ")
        assert name in refused.stderr
    for name, words in (("missing.pcap", "No such file"), (".", "directory")):
        refused = analyze(tmp_path / name)
        assert refused.returncode == 2
        assert refused.stderr.startswith(f"error: {tmp_path / name}: ")
        assert words in refused.stderr


def test_flows_can_be_told_apart_in_80_columns(capture: Path) -> None:
    from io import StringIO

    from rich.console import Console

    from dumbbell.cli.analyze_capture import analyze_capture

    out = StringIO()
    console = Console(file=out, width=80)
    analyze_capture(capture, out=None, view=None, write=None, as_json=False, console=console)
    lines = out.getvalue().splitlines()
    assert all(len(line) <= 80 for line in lines)
    (at,) = [index for index, line in enumerate(lines) if "10.10.1.1:32768 >" in line][:1]
    assert "10.10.1.2:10000" in lines[at + 1]


def test_what_has_no_flow_is_read_and_said(tmp_path: Path) -> None:
    """An ARP request, and nothing else."""
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    path = tmp_path / "arp.pcap"
    path.write_bytes(
        header + struct.pack("<IIII", 1, 0, 42, 42) + bytes(12) + b"\x08\x06" + bytes(28)
    )
    done = analyze(path, "--out", tmp_path / "page")
    assert (done.returncode, done.stderr) == (0, f"{path}: 1 packets that are not IP: in no flow\n")
    assert "1 packets read" in done.stdout
    assert (tmp_path / "page" / "index.html").exists()
