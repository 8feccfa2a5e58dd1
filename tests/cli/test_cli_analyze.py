"""``dumbbell analyze``: what it prints, writes and refuses."""

from __future__ import annotations

import html
import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from dumbbell.backends import simulate
from dumbbell.spec import Experiment
from waiting import PATIENCE_S

Dumbbell = Callable[..., tuple[int, str, str]]
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


@pytest.mark.slow
def test_it_prints_the_flows_and_writes_a_page(capture: Path, tmp_path: Path) -> None:
    done = analyze(capture, "--out", tmp_path / "page")
    assert (done.returncode, done.stderr) == (0, "")
    assert "10.10.1.1:32768 > 10.10.1.2:10000" in done.stdout
    assert "a->b after, > 100 KB" in done.stdout
    page = (tmp_path / "page" / "index.html").read_text()
    assert "What is in some.pcapng?" in page
    assert "10.10.1.1:32768 &gt; 10.10.1.2:10000" in page
    figures = {path.stem for path in (tmp_path / "page" / "figures").glob("*.svg")}
    over_time = {f"{each}-over-time" for each in ("throughput", "round-trips", "windows")}
    assert figures == over_time | {"throughput", "loss-by-flag", "loss-by-bytes", "rate"}
    table = pl.read_parquet(tmp_path / "page" / "tables" / "captured_flows.parquet")
    assert table["flow_name"].unique().to_list() == ["10.10.1.1:32768 > 10.10.1.2:10000"]
    intervals = pl.read_parquet(tmp_path / "page" / "tables" / "captured_intervals.parquet")
    assert intervals["pkts"].sum() == table["pkts"].sum()
    drawn = pl.read_csv(tmp_path / "page" / "figures" / "round-trips-over-time.csv")
    # 10 ms there and 10 back, and what the sender's stack lets wait at 5 Mbit/s.
    before = drawn.filter(pl.col("panel") == "a->b before")
    assert 20 < before["low"].min() < 21
    assert 25 < before["high"].max() < 50


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_json_looks_up_names_once_and_not_once_a_flow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """80,000 flows took 34 s: a list of all names for each of them."""
    from rich.console import Console

    from dumbbell.cli.analyze.captures import analyze_capture
    from dumbbell.tables import Run

    lines = [f"{n}.5,10.0.0.1,10.0.0.2,{1000 + n},80,100," for n in range(300)]
    (tmp_path / "flows.csv").write_text("\n".join(lines) + "\n")
    looks = []
    names = Run._names
    monkeypatch.setattr(Run, "_names", lambda *words: looks.append(words) or names(*words))
    analyze_capture(
        [tmp_path / "flows.csv"], out=None, view=None, write=None, as_json=True, console=Console()
    )
    (place,) = json.loads(capsys.readouterr().out)["places"]
    assert len(place["flows"]) == 300
    assert place["flows"][7]["flow"] == "10.0.0.1:1007 > 10.0.0.2:80"
    assert len(looks) < 10


def named(capture: Path, folder: Path, name: bytes) -> Path:
    """The capture with another name of its interfaces, of the same length."""
    content = capture.read_bytes()
    assert content.count(b"a->b") >= 2 and len(name) == 4
    path = folder / "named.pcapng"
    path.write_bytes(content.replace(b"a->b", name))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", [b"a\x1b\x07b", "\u202eb".encode()])
def test_a_name_that_nobody_sees_is_shown(capture: Path, tmp_path: Path, name: bytes) -> None:
    """ESC and BEL are obeyed by a terminal, and with the others no figure could be drawn."""
    path = named(capture, tmp_path, name)
    done = analyze(path, "--out", tmp_path / "page")
    assert (done.returncode, done.stderr) == (0, "")
    page = (tmp_path / "page" / "index.html").read_text(encoding="utf-8")
    assert all(line.isprintable() for line in done.stdout.splitlines())
    assert not set("\x1b\x07\0\uffff\u202e") & set(page)
    shown = "".join(
        each if each.isprintable() else f"<U+{ord(each):04X}>" for each in name.decode()
    )
    assert shown in done.stdout
    assert html.escape(f"{shown} after") in page
    drawn = {path.suffix for path in (tmp_path / "page" / "figures").iterdir()}
    assert drawn == {".svg", ".csv", ".json"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["some.pcapng", "some.flent.gz", "some.csv", "some.toml"])
def test_a_pipe_says_that_it_waits_and_ctrl_c_ends_it(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    os.mkfifo(path)
    command = "run" if name.endswith(".toml") else "analyze"
    with subprocess.Popen(
        [sys.executable, "-m", "dumbbell.cli", command, str(path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as reader:
        assert reader.stderr is not None
        assert reader.stderr.readline() == (
            f"{path}: a pipe; waiting for a program that writes to it and closes it\n"
        )
        with path.open("wb", buffering=0) as writer:  # which waits for the reader
            writer.write(b"\n\r\r\n" if command == "analyze" else b"#")
            time.sleep(0.5)
            reader.send_signal(signal.SIGINT)
            assert reader.wait(timeout=PATIENCE_S) == 130


@pytest.mark.slow
def test_a_capture_comes_through_a_pipe(capture: Path, tmp_path: Path) -> None:
    path = tmp_path / "pipe.pcapng"
    os.mkfifo(path)
    with subprocess.Popen(["cp", capture, path]) as writer:
        done = analyze(path, "--json")
        assert writer.wait() == 0
    assert done.returncode == 0
    assert "a pipe; waiting" in done.stderr
    numbers = json.loads(done.stdout)
    assert numbers["read"]["bytes"] == capture.stat().st_size
    # A pipe is read but once.
    refused = analyze(path, "--view", "a->b after", "--write", tmp_path / "x.pcap")
    assert refused.returncode == 2
    assert "a pipe is read once" in refused.stderr
    # Whoever types a pipeline knows what it waits for.
    with capture.open("rb") as file, subprocess.Popen(["cat"], stdin=file, stdout=-1) as cat:
        command = [sys.executable, "-m", "dumbbell.cli", "analyze", "/dev/stdin"]
        typed = subprocess.run(command, stdin=cat.stdout, capture_output=True, check=False)
    assert (typed.returncode, typed.stderr) == (0, b"")


@pytest.mark.slow
def test_what_has_no_end_is_refused_by_a_sentence_that_is_true(tmp_path: Path) -> None:
    for name, words in (
        ("zero.pcap", "not a capture: it begins with 00 00 00 00"),
        ("zero.csv", "not a line of the fields"),
        ("zero.flent.gz", "'more than 33554432 bytes'\n  allowed: at most 33554432 bytes are read"),
    ):
        (tmp_path / name).symlink_to("/dev/zero")
        refused = analyze(tmp_path / name)
        assert refused.returncode == 2
        assert words in refused.stderr
    (tmp_path / "large.flent").touch()
    os.truncate(tmp_path / "large.flent", (32 << 20) + 1)
    assert "'33554433 bytes'" in analyze(tmp_path / "large.flent").stderr
    os.truncate(tmp_path / "large.flent", 32 << 20)
    assert "a whole data file of Flent" in analyze(tmp_path / "large.flent").stderr


def test_flows_can_be_told_apart_in_80_columns(capture: Path) -> None:
    from io import StringIO

    from rich.console import Console

    from dumbbell.cli.analyze.captures import analyze_capture

    out = StringIO()
    console = Console(file=out, width=80)
    analyze_capture([capture], out=None, view=None, write=None, as_json=False, console=console)
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


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the same name, in another folder: such are the captures of two runs."""
    run = simulate(Experiment.from_toml(TOML.replace("10ms", "30ms")))
    path = tmp_path_factory.mktemp("longer") / "some.pcapng"
    path.write_bytes(run.files["capture.pcapng"].path.read_bytes())
    return path


def test_several_captures_are_set_side_by_side(
    dumbbell: Dumbbell, capture: Path, other: Path, tmp_path: Path
) -> None:
    words = ("analyze", str(capture), str(other), "--out", "page")
    code, out, err = dumbbell(*words)
    assert (code, err) == (0, "")
    names = [f"{each.parent.name}/some.pcapng" for each in (capture, other)]
    for name in names:
        assert f"{name}: pcapng" in out
        assert f"Flows, {name}: a->b before" in out
    page = (tmp_path / "page" / "index.html").read_text()
    assert f"{names[0]} and {names[1]}, side by side" in page
    drawn = pl.read_csv(tmp_path / "page" / "figures" / "round-trips-over-time.csv")
    # The same place of each below each other.
    panels = [f"{name}: a->b {place}" for place in ("before", "after") for name in names]
    assert drawn["panel"].unique(maintain_order=True).to_list()[:4] == panels
    longest = [drawn.filter(pl.col("panel") == each)["high"].max() for each in panels[:2]]
    assert longest[1] == pytest.approx(longest[0] + 40, abs=5)
    for table in ("captured_flows", "captured_intervals"):
        rows = pl.read_parquet(tmp_path / "page" / "tables" / f"{table}.parquet")
        assert rows["capture"].unique(maintain_order=True).to_list() == names
    # The page of others is not replaced.
    code, _, err = dumbbell("analyze", str(capture), str(capture), "--out", "page")
    assert (code, "--replace" in err) == (2, True)


def test_numbers_of_several_captures_have_their_names(
    dumbbell: Dumbbell, capture: Path, other: Path
) -> None:
    _, out, _ = dumbbell("analyze", str(capture), str(other), str(capture), "--json")
    found = json.loads(out)["captures"]
    assert list(found) == [f"some.pcapng ({number})" for number in (1, 2, 3)]
    alone = json.loads(dumbbell("analyze", str(other), "--json")[1])
    assert found["some.pcapng (2)"] == alone


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a.pcapng", "b.flent.gz"], "files of one kind"),
        (["a.pcapng"] * 7, "at most 6 captures"),
        (["a.pcapng", "b.pcap", "--write", "c.pcap"], "a capture, one at a time"),
        (["a.pcapng", "b.pcap", "--rtt", "5ms"], "a data file of Flent, not 2 files"),
        (["a.pcapng", "--replications", "3"], "--replications"),
        (["a.flent.gz"] * 13, "at most 12 files"),
        (["a.flent.gz", "b.flent.gz", "--rtt", "5ms"], "with --simulate"),
        (["a.flent.gz", "b.flent.gz", "--simulate"], "one at a time, not 2 files"),
    ],
)
def test_what_cannot_be_set_side_by_side_is_refused(
    dumbbell: Dumbbell, words: list[str], said: str
) -> None:
    code, out, err = dumbbell("analyze", *words)
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.slow
def test_a_csv_beside_a_capture_has_no_round_trips(
    dumbbell: Dumbbell, capture: Path, tmp_path: Path
) -> None:
    printed = tmp_path / "fields.csv"
    line = "{}.{},10.0.0.1,10.0.0.2,1000,80,1514,\n"
    printed.write_text("".join(line.format(n // 10, n % 10) for n in range(30)))
    code, _, err = dumbbell("analyze", "fields.csv", str(capture), "--out", "page")
    assert (code, err) == (0, "")
    drawn = pl.read_csv(tmp_path / "page" / "figures" / "throughput-over-time.csv")
    assert not drawn["panel"].str.contains("fields").any()
    assert dumbbell("analyze", "fields.csv", "--out", "alone")[0] == 0
    names = {path.stem for path in (tmp_path / "alone" / "figures").glob("*.svg")}
    assert names == {"throughput", "loss-by-flag", "rate"}
