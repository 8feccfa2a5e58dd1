"""Truncated, empty, foreign or hostile captures and CSV files: readable parts are kept."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from capture_samples import QUEUE, capture_of, captured
from hypothesis import given, settings
from hypothesis import strategies as st

from dumbbell.formats import FormatError, read_capture, read_tshark_csv, write_view
from dumbbell.metrics.captured import captured_flows
from dumbbell.tables import Run, read_parquet, write_parquet

LINE = "{time},10.0.0.1,10.0.0.2,{port},80,{size},{flag}\n"


@pytest.fixture(scope="module")
def run() -> Run:
    return captured()


@pytest.fixture(scope="module")
def whole(run: Run) -> bytes:
    return capture_of(run).read_bytes()


def written(folder: Path, content: bytes | str, name: str = "file.pcapng") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_file_that_is_cut_is_read_up_to_there(tmp_path: Path, whole: bytes) -> None:
    half = read_capture(written(tmp_path, whole[: len(whole) // 2]))
    (problem,) = [each for each in half.meta["problems"] if "the file ends at byte" in each]
    assert "the packets before that were read" in problem
    all_of = read_capture(written(tmp_path, whole))
    assert not any("ends at" in each for each in all_of.meta["problems"])
    assert 0 < half.meta["read"]["pkts"] < all_of.meta["read"]["pkts"]
    assert half.column("captured_flows", "pkts").sum() > 0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (b"\x1f\x8b" + bytes(30), "what gzip packed is cut off or damaged"),
        (b"hello, world, this is text", r'it begins with "hell".*\.csv'),
        (b"\xd4\xc3\xb2\xa1" + bytes(3), "the file ends at byte 7"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, content: bytes, words: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(FormatError, match=words) as refused:
        read_capture(path)
    assert refused.value.path == str(path)


def test_a_capture_without_a_packet_is_said(tmp_path: Path) -> None:
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    with pytest.raises(FormatError, match="no packet"):
        read_capture(written(tmp_path, header))


def test_a_file_that_says_it_has_gigabytes_takes_no_memory(tmp_path: Path, whole: bytes) -> None:
    """A block of 4 GB that is not there, behind what is."""
    lie = struct.pack("<II", 6, 0xFFFFFFF0)
    path = written(tmp_path, whole[: len(whole) // 8] + lie)
    # The cut may lie within a block; either way what came before is kept.
    program = (
        "import resource, sys; from dumbbell.formats import read_capture;"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "run = read_capture(sys.argv[1]);"
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "print(run.meta['read']['pkts'], after - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], check=True, capture_output=True, text=True
    )
    pkts, grown_kb = map(int, done.stdout.split())
    assert pkts > 100
    assert grown_kb < 60_000


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 255)), max_size=30), st.data())
def test_a_damaged_capture_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory,
    whole: bytes,
    changes: list[tuple[int, int]],
    data: st.DataObject,
) -> None:
    content = bytearray(whole[:20_000])
    for at, value in changes:
        content[at % len(content)] = value
    cut = data.draw(st.integers(0, len(content)))
    path = written(tmp_path_factory.getbasetemp(), bytes(content[:cut]), "damaged.pcapng")
    try:
        run = read_capture(path)
    except FormatError as error:
        assert str(path) in str(error)
        return
    table = run.columns("captured_flows")
    assert (table["pkts"] >= 0).all()
    assert run.meta["read"]["pkts"] > 0


def test_a_view_is_replaced_whole_and_not_left_half(tmp_path: Path, run: Run, whole: bytes) -> None:
    target = tmp_path / "view.pcap"
    target.write_text("mine")
    cut = written(tmp_path, whole[:30_000])
    with pytest.raises(FormatError, match="the file ends"):
        write_view(cut, target, queue=QUEUE, place=0)
    assert target.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.pcapng", "view.pcap"]
    assert write_view(capture_of(run), target, queue=QUEUE, place=0) > 1000
    assert target.read_bytes()[:4] == struct.pack("<I", 0xA1B23C4D)
    with pytest.raises(FormatError, match=r"\.pcap or \.pcapng"):
        write_view(capture_of(run), tmp_path / "view.txt", queue=QUEUE, place=0)


def test_flows_of_one_instant_have_no_throughput(tmp_path: Path) -> None:
    lines = [
        LINE.format(time="5.000000001", port=1, size=100, flag=""),
        LINE.format(time="5.5", port=2, size=1000, flag=""),
        LINE.format(time="6.5", port=2, size=1000, flag="1"),
        "7.0,10.0.0.2,10.0.0.1,80,2,54,\n",
        "7.1,10.0.0.3,10.0.0.1,,,90,\n",
        "rubbish\n",
    ]
    run = read_tshark_csv(written(tmp_path, "".join(lines), "flows.csv"))
    found = captured_flows(run, 0, "")
    np.testing.assert_array_equal(found.duration_s, [0, 1])
    np.testing.assert_array_equal(found.throughput_bps, [np.nan, 16_000])
    np.testing.assert_array_equal(found.loss_by_flag, [0, 0.5])
    assert np.isnan(found.loss_by_bytes).all()
    assert found.without_duration == 1
    assert run.meta["problems"] == [
        "1 packets that are not TCP over IPv4: in no flow",
        f"1 lines are of another form, the first is {tmp_path / 'flows.csv'}:6",
    ]
    assert run.flow_names == ["10.0.0.1:1 > 10.0.0.2:80", "10.0.0.1:2 > 10.0.0.2:80"]
    assert run.meta["t0_epoch_ns"] == 5_000_000_001


@pytest.mark.parametrize("content", ["", "a,b\n", "1,2,3,4,5,6,7\n" * 3, "x" * 10_000])
def test_what_tshark_did_not_print_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(FormatError, match=r"frame\.time_epoch"):
        read_tshark_csv(written(tmp_path, content, "flows.csv"))


def test_a_line_without_an_end_is_named_and_what_came_before_is_read(tmp_path: Path) -> None:
    line = LINE.format(time="5.5", port=2, size=1000, flag="")
    run = read_tshark_csv(written(tmp_path, line + "x" * (1 << 21) + "\n" + line, "flows.csv"))
    assert run.column("captured_flows", "pkts").tolist() == [1]
    assert any("flows.csv:2: the line has no end" in each for each in run.meta["problems"])


@pytest.mark.parametrize("name", ["endless.csv", "endless.pcap"])
def test_a_file_without_an_end_is_left(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.symlink_to("/dev/zero")
    read = read_tshark_csv if name.endswith(".csv") else read_capture
    with pytest.raises(FormatError, match=name):
        read(path)


def test_a_pipe_is_read_once(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    for content, is_capture in ((whole, True), (b"something else" * 100, False)):
        with ThreadPoolExecutor(1) as writer:
            written = writer.submit(path.write_bytes, content)
            if is_capture:
                assert read_capture(path).meta["read"]["bytes"] == len(whole)
            else:
                with pytest.raises(FormatError, match='it begins with "some"'):
                    read_capture(path)
            # Whoever reads may go away before all is written.
            assert written.exception() is None or isinstance(written.exception(), BrokenPipeError)


def pcapng(names: list[str]) -> bytes:
    """A file with the given number of interfaces, one datagram on each, in its turn."""

    def block(kind: int, body: bytes) -> bytes:
        size = 12 + len(body)
        return struct.pack("<II", kind, size) + body + struct.pack("<I", size)

    blocks = [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    for name in names:
        text = name.encode()
        padding = bytes(-len(text) % 4)
        option = struct.pack("<HH", 2, len(text)) + text + padding if text else b""
        blocks.append(block(1, struct.pack("<HHI", 101, 0, 0) + option))
    addresses = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28, 0, 0, 64, 17, 0, *addresses)
    datagram = ip + struct.pack(">HHHH", 5, 6, 8, 0)
    for index in range(len(names)):
        head = struct.pack("<IIIII", index, 0, 1000 + index, len(datagram), len(datagram))
        blocks.append(block(6, head + datagram))
    return b"".join(blocks)


def test_interfaces_of_one_name_are_places_of_their_own(tmp_path: Path) -> None:
    """As of two hosts whose captures were merged."""
    path = written(tmp_path, pcapng(["eth0", "eth0", "", "eth1"]))
    run = read_capture(path)
    names = ["eth0", "eth0 (interface 1)", "interface 2", "eth1"]
    assert run.meta["queue_names"] == names
    for name in names:
        assert captured_flows(run, name, "").pkts.tolist() == [1]
    target = tmp_path / "second.pcap"
    assert write_view(path, target, queue=names[1], place=-1) == 1


def test_of_many_interfaces_the_first_are_told_apart(tmp_path: Path) -> None:
    run = read_capture(written(tmp_path, pcapng([""] * 1500)))
    assert len(run.meta["queue_names"]) == 1024
    assert run.meta["problems"] == ["476 packets of interfaces beyond the first 1024: in no flow"]


def test_what_is_not_tcp_has_no_loss_and_a_name_of_its_own(run: Run) -> None:
    """Retransmissions are TCP's: of datagrams and pings nobody knows what was lost."""
    imported = read_capture(capture_of(run))
    found = captured_flows(imported, QUEUE, "after")
    names = [imported.flow_names[index] for index in found.flow.tolist()]
    others = [name.endswith(" UDP") or " ICMP" in name for name in names]
    assert sum(others) == 2
    np.testing.assert_array_equal(np.isnan(found.loss_by_flag), others)
    np.testing.assert_array_equal(np.isnan(found.loss_by_bytes), others)


def test_an_imported_run_is_written_and_read_like_any(tmp_path: Path, run: Run) -> None:
    imported = read_capture(capture_of(run))
    again = read_parquet(write_parquet(imported, tmp_path / "run"))
    assert again.origin == "imported"
    assert again.flow_names == imported.flow_names
    for name, values in imported.columns("captured_flows").items():
        np.testing.assert_array_equal(values, again.column("captured_flows", name))
