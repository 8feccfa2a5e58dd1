"""Files compressed by gzip, bzip2, xz and zstd: read up to a limit, or to the damaged place."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from dumbbell.formats import FormatError
from dumbbell.formats.unpacking import (
    PACKED,
    Packing,
    first_bytes,
    open_unpacked,
    packing_of,
    read_unpacked,
)

zstd = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
PACK: dict[Packing, Callable[[bytes], bytes]] = {
    Packing.GZIP: gzip.compress,
    Packing.BZIP2: bz2.compress,
    Packing.XZ: lzma.compress,
    # With a checksum, as the program zstd writes.
    Packing.ZSTD: lambda content: zstd.compress(
        content, options={zstd.CompressionParameter.checksum_flag: 1}
    ),
}
CONTENT = random.Random(1).randbytes(300_000) + b"line\n" * 200_000
MOST = 1 << 26


def test_there_is_a_sample_of_each() -> None:
    assert set(PACK) == set(PACKED)


@pytest.mark.parametrize("packing", PACKED)
def test_what_was_packed_comes_out(packing: Packing, tmp_path: Path) -> None:
    path = tmp_path / "named.otherwise"
    once = PACK[packing](CONTENT)
    # As pigz, pbzip2, xz and pzstd write, and as `cat` joins them.
    path.write_bytes(once + PACK[packing](b"behind"))
    assert packing_of(once[:6]) is packing
    assert read_unpacked(path, MOST, MOST) == (CONTENT + b"behind", "")
    assert first_bytes(path, 1000) == (CONTENT[:1000], packing)


def test_what_is_not_packed_stays(tmp_path: Path) -> None:
    path = tmp_path / "some.gz"
    path.write_bytes(CONTENT)
    assert read_unpacked(path, MOST, 10) == (CONTENT, "")
    with open_unpacked(path, 10) as file:
        assert (file.packing, file.read(5)) == (Packing.NONE, CONTENT[:5])
    assert first_bytes(tmp_path / "some.gz", 1 << 30)[0] == CONTENT


@pytest.mark.parametrize("packing", PACKED)
def test_of_a_cut_file_there_is_what_stands_before_the_cut(
    packing: Packing, tmp_path: Path
) -> None:
    path = tmp_path / "cut"
    packed = PACK[packing](CONTENT)
    path.write_bytes(packed[: len(packed) * 3 // 4])
    found, damage = read_unpacked(path, MOST, MOST)
    assert CONTENT.startswith(found)
    # bzip2 unpacks whole blocks of 900 kB, zstd blocks of 128 KiB.
    assert len(found) >= (1 if packing is not Packing.BZIP2 else 0)
    assert damage == f"what {packing.value} packed is cut off or damaged (its end is missing)"
    path.write_bytes(packed + b"something else")
    found, damage = read_unpacked(path, MOST, MOST)
    assert found == CONTENT
    assert damage.startswith(f"what {packing.value} packed is cut off or damaged")


@pytest.mark.parametrize("packing", PACKED)
def test_what_grows_beyond_the_bound_is_refused(packing: Packing, tmp_path: Path) -> None:
    path = tmp_path / "bomb.txt"
    path.write_bytes(PACK[packing](b"\0" * (1 << 22)))
    most = (1 << 22) - 1
    said = f"a file of {packing.value} that grows to more than {most} bytes"
    with pytest.raises(FormatError, match=rf"{said}.*at most {most} bytes when it is unpacked"):
        read_unpacked(path, MOST, most)
    assert len(read_unpacked(path, MOST, 1 << 22)[0]) == 1 << 22
    assert first_bytes(path, 4) == (b"\0\0\0\0", packing)


@pytest.mark.parametrize("packing", PACKED)
def test_a_changed_byte_is_read_or_named(packing: Packing, tmp_path: Path) -> None:
    draw = random.Random(packing.value)
    packed = PACK[packing](CONTENT[299_000:302_000])
    path = tmp_path / "changed"
    damaged = 0
    for _ in range(200):
        changed = bytearray(packed)
        changed[draw.randrange(6, len(changed))] = draw.randrange(256)
        path.write_bytes(bytes(changed))
        damaged += bool(read_unpacked(path, MOST, MOST)[1])
    assert damaged > 100


@pytest.mark.parametrize(
    ("packed", "packing"),
    [
        (
            lzma.compress(b"x", filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 29}]),
            Packing.XZ,
        ),
        (
            # A frame of no known size whose header asks for a window of 2 GiB: RFC 8878, 3.1.1.1.2.
            b"\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00",
            Packing.ZSTD,
        ),
    ],
    ids=["xz", "zstd"],
)
def test_a_window_that_needs_too_much_memory_is_refused(
    packed: bytes, packing: Packing, tmp_path: Path
) -> None:
    path = tmp_path / "wide"
    path.write_bytes(packed)
    found, damage = read_unpacked(path, MOST, MOST)
    assert found == b""
    assert "emory" in damage


def test_zstd_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.zst"
    path.write_bytes(PACK[Packing.ZSTD](b"x"))
    monkeypatch.setitem(sys.modules, zstd.__name__, None)
    with pytest.raises(FormatError, match=r"pip install backports\.zstd, or unzstd the file first"):
        read_unpacked(path, MOST, MOST)
