"""Compressed captures and CSV files are read, truncated ones as far as possible."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest
from capture_samples import QUEUE, capture_of, captured

from dumbbell.formats import FormatError, read_capture, read_tshark_csv, write_view
from dumbbell.formats import capture as capture_module
from dumbbell.formats.errors import UnreadableError

PACK = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}


@pytest.fixture(scope="module")
def whole() -> bytes:
    run = captured()  # with which its files go
    return capture_of(run).read_bytes()


@pytest.mark.parametrize("packing", PACK)
def test_a_packed_capture_is_the_capture(packing: str, whole: bytes, tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.pcapng", tmp_path / "b.pcapng"
    plain.write_bytes(whole)
    packed.write_bytes(PACK[packing](whole))
    one, other = read_capture(plain), read_capture(packed)
    assert other.tables["captured_flows"].keys() == one.tables["captured_flows"].keys()
    for name, values in one.tables["captured_flows"].items():
        assert other.tables["captured_flows"][name].tolist() == values.tolist()
    assert other.meta["read"] == one.meta["read"]
    views = [tmp_path / f"{path.stem}-view.pcap" for path in (plain, packed)]
    for path, view in zip((plain, packed), views, strict=True):
        assert write_view(path, view, queue=QUEUE, place=0) > 10
    assert views[0].read_bytes() == views[1].read_bytes()
    # What it was unpacked into is gone.
    assert {each.name for each in tmp_path.iterdir()} == {
        "a.pcapng", "b.pcapng", "a-view.pcap", "b-view.pcap"
    }  # fmt: skip


def test_of_a_cut_one_the_packets_before_the_cut_are_read(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng.gz"
    packed = gzip.compress(whole)
    path.write_bytes(packed[: len(packed) // 2])
    run = read_capture(path)
    assert run.meta["problems"][0].startswith("what gzip packed is cut off or damaged")
    path.write_bytes(whole)
    assert 0 < run.meta["read"]["pkts"] < read_capture(path).meta["read"]["pkts"]
    path.write_bytes(packed[:8])
    with pytest.raises(UnreadableError, match="cut off or damaged"):
        read_capture(path)


def test_what_grows_too_large_is_refused(
    whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture_module, "LARGEST_UNPACKED_BYTES", len(whole) - 1)
    path = tmp_path / "a.pcapng.gz"
    path.write_bytes(gzip.compress(whole))
    said = f"at most {len(whole) - 1} bytes when it is unpacked"
    with pytest.raises(FormatError, match=said):
        read_capture(path)
    with pytest.raises(FormatError, match=said):
        write_view(path, tmp_path / "view.pcap", queue=QUEUE, place=0)
    assert [each.name for each in tmp_path.iterdir()] == ["a.pcapng.gz"]


def test_a_packed_csv_is_the_csv(tmp_path: Path) -> None:
    path = tmp_path / "fields.csv"
    path.write_bytes(lzma.compress(b"1.5,10.0.0.1,10.0.0.2,1000,80,1514,\n" * 30))
    assert read_tshark_csv(path).column("captured_flows", "pkts").tolist() == [30]
