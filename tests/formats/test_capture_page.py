"""Charts over time on a capture's page, and its notes on missing ones."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path

import polars as pl
import pytest
from random_conversations import write_conversations

from dumbbell.formats import FormatError, read_capture
from dumbbell.metrics.captured import captured_flows
from dumbbell.report import Figure, Report
from dumbbell.report.capture_page import capture_report
from dumbbell.report.figures import draw

ACK = 16
_SEGMENT = struct.Struct(">BBHHHBBH4s4sHHIIBBHHH")
_Segment = tuple[int, int, bool, int, int, int, int]
"""Millisecond, port, whether it is a reply, sequence, acknowledgement, window, payload."""


def write(path: Path, segments: list[_Segment]) -> Path:
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101))
        for at_ms, port, is_reply, seq, ack, window, payload in segments:
            ends = [(b"\x0a\0\0\x01", port), (b"\x0a\0\0\x02", 80)]
            (source, sport), (destination, dport) = ends[::-1] if is_reply else ends
            ip = (0x45, 0, 40 + payload, 0, 0, 64, 6, 0, source, destination)
            data = _SEGMENT.pack(*ip, sport, dport, seq, ack, 0x50, ACK, window, 0, 0)
            stamp = (at_ms // 1000, at_ms % 1000 * 1_000_000)
            file.write(struct.pack("<IIII", *stamp, len(data), len(data) + payload) + data)
    return path


def figures(report: Report) -> dict[str, Figure]:
    return {figure.name: figure for figure in report.figures}


def answered(port: int, window: int, count: int = 50) -> list[_Segment]:
    """A segment every 10 ms, each acknowledged after 4 ms."""
    return [
        segment
        for n in range(count)
        for segment in (
            (10 * n, port, False, 1 + 1000 * n, 1, 100, 1000),
            (10 * n + 4, port, True, 1, 1001 + 1000 * n, window, 0),
        )
    ]


def test_windows_of_a_capture_that_began_later_are_called_so(tmp_path: Path) -> None:
    report = capture_report({"a": read_capture(write(tmp_path / "a", answered(4000, 500)))})
    drawn = figures(report)
    assert "Of 1 of the curves the handshake is not in the capture" in (
        drawn["windows-over-time"].caption
    )
    trips = drawn["round-trips-over-time"].data
    assert isinstance(trips, pl.DataFrame)
    assert trips["low"].to_list() == trips["high"].to_list() == [4.0] * trips.height
    windows = drawn["windows-over-time"].data
    assert isinstance(windows, pl.DataFrame)
    by_what = dict(windows.group_by("what").agg(pl.col("high").max()).iter_rows())
    assert by_what == {"in flight": 1.0, "window offered": 0.5}


def test_a_closed_window_stands_at_the_bottom_of_a_logarithmic_axis(tmp_path: Path) -> None:
    closed = (600, 4000, True, 1, 51_001, 0, 0)
    segments = [*answered(4000, 60_000), (598, 4000, False, 50_001, 1, 100, 1000), closed]
    drawn = figures(capture_report({"a": read_capture(write(tmp_path / "a", segments))}))
    figure = drawn["windows-over-time"]
    assert "Zero is drawn at the bottom." in figure.caption
    scales = json.dumps(draw(figure).spec)
    assert '"type": "log"' in scales
    assert isinstance(figure.data, pl.DataFrame)
    assert figure.data["low"].min() == 0.5  # half of the least that is not zero


def test_one_direction_has_no_round_trips_and_the_page_says_so(tmp_path: Path) -> None:
    sent = [segment for segment in answered(4000, 500) if not segment[2]]
    report = capture_report({"a": read_capture(write(tmp_path / "a", sent))})
    assert "throughput-over-time" in figures(report)
    assert not {"round-trips-over-time", "windows-over-time"} & figures(report).keys()
    assert any("one direction was captured" in note for note in report.notes)
    both = capture_report({"a": read_capture(write(tmp_path / "a", answered(4000, 500)))})
    assert not any("one direction was captured" in note for note in both.notes)


def test_a_large_flow_that_was_given_up_is_named(tmp_path: Path) -> None:
    """It sends one packet, is given up among many larger ones, and sends the most in the end."""
    late = [(0, 999, False, 1, 1, 100, 10)]
    late += [(5000 + n, 999, False, 11 + 1000 * n, 1, 100, 1000) for n in range(400)]
    others = [
        (1 + 10 * (port - 1000) + n, port, False, 1 + 1000 * n, 1, 100, 1000)
        for port in range(1000, 1200)
        for n in range(9)
    ]
    segments = sorted(late + others)
    run = read_capture(write(tmp_path / "a", segments))
    largest = run.flow_names[int(run.column("captured_flows", "bytes").argmax())]
    assert largest.startswith("10.0.0.1:999 ")
    report = capture_report({"a": run})
    assert any("1 of the 6 largest flows are not among" in note for note in report.notes)
    caption = figures(report)["throughput-over-time"].caption
    assert "6 of 201 flows, the largest of those that are followed" in caption
    assert len(set(run.column("captured_intervals", "flow").tolist())) <= 128


def test_a_place_that_nobody_called_so_is_told(tmp_path: Path) -> None:
    run = read_capture(write(tmp_path / "a", answered(4000, 500)))
    with pytest.raises(ValueError, match="place is 'behind'; it is one of '', 'before', 'after'"):
        captured_flows(run, 0, "behind")
    assert captured_flows(run, 0, "").flow.size == 1


def only_arp(path: Path) -> Path:
    """Two seconds of Ethernet on which nobody speaks IP."""
    frame = b"\xff" * 6 + b"\x02\0\0\0\0\x01" + b"\x08\x06" + bytes(28)
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for n in range(200):
            stamp = (n // 100, n % 100 * 10_000_000)
            file.write(struct.pack("<IIII", *stamp, len(frame), len(frame)) + frame)
    return path


def test_a_capture_without_flows_has_its_rate_under_its_own_name(tmp_path: Path) -> None:
    arp = read_capture(only_arp(tmp_path / "arp"))
    tcp = read_capture(write(tmp_path / "tcp", answered(4000, 500)))
    alone = figures(capture_report({"arp": arp}))
    assert alone.keys() == {"rate"}
    both = figures(capture_report({"arp": arp, "again": arp, "tcp": tcp}))
    rates = both["rate"].data
    assert isinstance(rates, pl.DataFrame)
    assert set(rates["label"].unique()) == {"arp", "again", "tcp"}


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_the_page_of_a_damaged_capture_can_be_drawn(tmp_path: Path) -> None:
    read = 0
    for seed in range(8):
        draws = random.Random(seed)
        path = write_conversations(tmp_path / f"damaged-{seed}.pcap", seed=seed, count=8)
        damaged = bytearray(path.read_bytes())
        for _ in range(60):
            # Behind the header, or nothing can be read at all.
            damaged[draws.randrange(24, len(damaged))] = draws.randrange(256)
        path.write_bytes(damaged)
        try:
            run = read_capture(path)
        except FormatError:
            continue
        read += 1
        runs = {"one": run, "two": run} if seed % 2 else {"one": run}
        for figure in capture_report(runs).figures:
            json.dumps(draw(figure).spec, allow_nan=False)
    assert read >= 4
