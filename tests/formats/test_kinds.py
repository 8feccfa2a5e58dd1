"""The kind of a file is detected by its content, compressed or not, whatever its name."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from pathlib import Path

import pytest
from log_samples import FOLDER, IPERF_2_TCP, MACOS_PING

from dumbbell.formats import FormatError
from dumbbell.formats.errors import UnreadableError
from dumbbell.formats.kinds import FileKind, kind_of
from dumbbell.formats.logs import PingLog, read_log

FLENT = json.dumps(
    {"version": 4, "x_values": [], "results": {}, "raw_values": {}, "metadata": {"NAME": "rrul"}}
).encode()
PCAP = b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00" + bytes(16)
CSV = b"1.5,10.0.0.1,10.0.0.2,1000,80,1514,\n"
CONTENT = {
    "flent": (FileKind.FLENT, FLENT),
    "flent, cut": (FileKind.FLENT, FLENT[:60]),
    "netperf-wrapper": (FileKind.FLENT, b'{"results": {}, "metadata": {}, "x_values": []}'),
    "pcap": (FileKind.CAPTURE, PCAP),
    "pcap, nanoseconds": (FileKind.CAPTURE, b"\x4d\x3c\xb2\xa1" + PCAP[4:]),
    "pcapng": (FileKind.CAPTURE, b"\x0a\x0d\x0d\x0a" + bytes(24)),
    "csv": (FileKind.TSHARK_CSV, CSV),
    "csv with a heading": (
        FileKind.TSHARK_CSV,
        b"frame.time_epoch,ip.src,ip.dst,tcp.srcport,tcp.dstport,frame.len,"
        b"tcp.analysis.retransmission\n",
    ),
    "ping": (FileKind.LOG, MACOS_PING.encode()),
    "iperf, which is a CSV too": (FileKind.LOG, IPERF_2_TCP.encode()),
    "irtt": (FileKind.LOG, (FOLDER / "irtt-lost.json").read_bytes()),
    "iperf3": (FileKind.LOG, (FOLDER / "iperf3-udp.json").read_bytes()),
    "tc": (FileKind.LOG, (FOLDER / "tc-all.json").read_bytes()),
}
NAMES = ("x", "a.json.gz", "a.flent.gz", "a.csv", "a.pcap", "a.json")
PACK = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}


@pytest.mark.parametrize("content", CONTENT)
def test_no_name_and_no_packing_hides_what_is_in_it(content: str, tmp_path: Path) -> None:
    kind, data = CONTENT[content]
    for end, pack in PACK.items():
        for name in NAMES:
            path = tmp_path / f"{name}{end}"
            path.write_bytes(pack(data))
            assert kind_of(path) is kind, path.name


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.flent.gz", FileKind.FLENT),
        ("a.flent.zst", FileKind.FLENT),
        ("A.CSV.xz", FileKind.TSHARK_CSV),
        ("a.pcap", FileKind.CAPTURE),
        ("a.pcapng.gz", FileKind.CAPTURE),
    ],
)
def test_of_what_says_nothing_the_name_tells_who_refuses_it(
    name: str, kind: FileKind, tmp_path: Path
) -> None:
    path = tmp_path / name
    assert kind_of(path) is kind  # it is not there
    for content in (b"", b"nothing of the kind"):
        path.write_bytes(content)
        assert kind_of(path) is kind


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty; read are data files of Flent, captures"),
        (b"hello\x1b[31m", r"it begins with 'hello<U\+001B>\[31m'; read are"),
        (
            gzip.compress(b"hello", mtime=0),
            r"it begins with 'hello' \(in what gzip packed\); read are",
        ),
        (b'{"a": 1}', "CSVs of tshark's fields, ping"),
        (b"PK\x03\x04rest", "packed by zip, which is not unpacked here; gzip, bzip2, xz, zstd are"),
    ],
)
@pytest.mark.parametrize("name", ["x", "a.json"])
def test_what_is_of_no_kind_is_refused_by_what_it_is(
    content: bytes, said: str, name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    if name == "a.json" and not content.startswith(b"{"):
        assert kind_of(path) is FileKind.FLENT  # whose reader says what is wrong
        return
    with pytest.raises(UnreadableError, match=said):
        kind_of(path)


def test_a_bomb_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """An object is looked into whole, up to the bound of logs."""
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(b"{" + b" " * (65 << 20), 1))
    with pytest.raises(FormatError, match="at most 67108864 bytes when it is unpacked"):
        kind_of(path)


def test_a_packed_log_that_is_cut_off_is_read_to_there(tmp_path: Path) -> None:
    path = tmp_path / "ping.txt.gz"
    whole = (FOLDER / "ping.txt").read_bytes()
    path.write_bytes(gzip.compress(whole)[:-200])
    log = read_log(path)
    assert isinstance(log, PingLog)
    assert 5 < len(log.tables["requests"]) < 40
    assert log.problems[-1] == "what gzip packed is cut off or damaged (its end is missing)"
