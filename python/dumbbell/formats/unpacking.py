"""Decompress gzip, bzip2, xz or zstd files while reading, up to a size limit.

The compression is detected by the first bytes (RFC 1952, section 2.3.1; RFC 8878, section 3.1.1;
"The .xz File Format", section 2.1.1.1), never by the name. A few kilobytes can expand to terabytes,
so decompression stops at the caller's limit, and refuses windows that need more memory than
`MOST_WINDOW_BYTES`.
"""

from __future__ import annotations

import bz2
import io
import lzma
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, Protocol

from dumbbell.formats.bounded import read_bounded
from dumbbell.formats.errors import FormatError, UnreadableError
from dumbbell.inputs import open_input

MOST_WINDOW_BYTES = 128 << 20
"""``xz -9`` needs 65 MiB, ``zstd --ultra -22`` 128; ``zstd --long=31`` 2 GiB."""
LARGEST_UNPACKED_BYTES = 4 << 30
"""Limit for data that is read piecewise: memory is not needed, but time is bounded."""
_CHUNK_BYTES = 1 << 18
_MAGIC_BYTES = 6
_PACKAGE = "backports.zstd"


class Packing(StrEnum):
    """Compression of a file; the value is the program's name."""

    NONE = "not packed"
    GZIP = "gzip"
    BZIP2 = "bzip2"
    XZ = "xz"
    ZSTD = "zstd"


PACKED = tuple(each for each in Packing if each is not Packing.NONE)
_MAGIC = (
    (b"\x1f\x8b", Packing.GZIP),
    (b"BZh", Packing.BZIP2),
    (b"\xfd7zXZ\x00", Packing.XZ),
    (b"\x28\xb5\x2f\xfd", Packing.ZSTD),
)


def packing_of(head: bytes) -> Packing:
    """The compression of a file with these first bytes (six suffice)."""
    return next((packing for magic, packing in _MAGIC if head.startswith(magic)), Packing.NONE)


class Unpacked(io.RawIOBase):
    """The decompressed content of a file, to be read once; also for uncompressed files.

    Attributes:
        packing: Its compression.
        damage: What truncated it, in words; empty if nothing did so far.
    """

    def __init__(self, file: BinaryIO, name: str, most_bytes: int) -> None:
        """Wrap an open file, which is closed together with this object.

        Args:
            file: The file, at its beginning.
            name: Name of the file, for errors.
            most_bytes: Limit of decompressed bytes; does not apply to uncompressed files.

        Raises:
            UnreadableError: It is compressed by zstd, which this Python does not support.
        """
        head = b""
        while len(head) < _MAGIC_BYTES and (piece := file.read(_MAGIC_BYTES - len(head))):
            head += piece
        self.packing = packing_of(head)
        self.damage = ""
        self._file = file
        self._name = name
        self._most_bytes = most_bytes
        self._total = 0
        rest = io.BufferedReader(_Rest(head, file), _CHUNK_BYTES)
        self._from, self._damages = _unpacker(rest, self.packing, name)

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read the next decompressed bytes; 0 at the end, including that of a damaged file.

        Raises:
            FormatError: The limit is exceeded.
        """
        view = memoryview(buffer).cast("B")
        if self.damage:
            return 0
        try:
            piece = self._from.read(min(len(view), _CHUNK_BYTES))
        except self._damages as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # not bzip2 after all
            said = " ".join(str(error).split())[:160]
            self.damage = f"what {self.packing.value} packed is cut off or damaged ({said})"
            return 0
        self._total += len(piece)
        if self.packing is not Packing.NONE and self._total > self._most_bytes:
            found = f"a file of {self.packing.value} that grows to more than {self._most_bytes}"
            allowed = f"at most {self._most_bytes} bytes when it is unpacked"
            raise FormatError(self._name, f"{found} bytes", allowed)
        view[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        """Also close the underlying file."""
        if not self.closed:
            self._file.close()
        super().close()


def open_unpacked(path: Path, most_bytes: int) -> Unpacked:
    """Open a file or a pipe to read its decompressed content.

    Raises:
        UnreadableError: As `Unpacked`.
        OSError: It cannot be opened.
    """
    return Unpacked(open_input(path), str(path), most_bytes)


def read_unpacked(path: Path, most_packed_bytes: int, most_bytes: int) -> tuple[bytes, str]:
    """The whole decompressed content of a file, and what damaged it (empty if nothing did).

    Args:
        path: A file or a pipe; opened once.
        most_packed_bytes: Size limit of the file.
        most_bytes: Size limit of the decompressed content.

    Raises:
        FormatError: A limit is exceeded.
        UnreadableError: As `Unpacked`.
        OSError: It cannot be read.
    """
    raw = read_bounded(path, most_packed_bytes)
    if packing_of(raw) is Packing.NONE:
        return raw, ""
    with Unpacked(io.BytesIO(raw), str(path), most_bytes) as file:
        pieces = []
        while piece := file.read(_CHUNK_BYTES):
            pieces.append(piece)
        return b"".join(pieces), file.damage


def first_bytes(path: Path, count: int) -> tuple[bytes, Packing]:
    """The first bytes of a file's decompressed content, and its compression.

    There are fewer bytes if the file is shorter or damaged.

    Raises:
        UnreadableError: As `Unpacked`.
        OSError: It cannot be read.
    """
    head = b""
    with open_unpacked(path, count + _CHUNK_BYTES) as file, suppress(FormatError):
        while len(head) < count and (piece := file.read(count - len(head))):
            head += piece
        return head, file.packing
    return head, file.packing


class _Rest(io.RawIOBase):
    """A file whose first bytes were already read, from its beginning."""

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        self._head = head
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        view = memoryview(buffer).cast("B")
        piece = self._head[: len(view)]
        self._head = self._head[len(piece) :]
        # Data waiting in a pipe is returned at once, without waiting for a full buffer.
        reader = self._file
        piece = piece or (
            reader.read1(len(view))
            if isinstance(reader, io.BufferedReader)
            else reader.read(len(view))
        )
        view[: len(piece)] = piece
        return len(piece)


class _Decompressor(Protocol):
    """Common interface of `bz2`, `lzma` and `compression.zstd` for one stream."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gzip:
    """The same interface for one member of a gzip file; zlib checks its CRC and length."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self._has_more = False

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not self._has_more and not self._zlib.eof

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        found = self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)
        # After a full piece, more output may be available without further input.
        self._has_more = bool(self._zlib.unconsumed_tail) or len(found) == max_length
        return found


class _Streams:
    """Concatenated compressed streams, read piecewise; between xz streams there may be zero
    padding.
    """

    def __init__(self, file: BinaryIO, new: Callable[[], _Decompressor]) -> None:
        self._file = file
        self._new = new
        self._one: _Decompressor | None = new()
        self._packed = b""

    def read(self, most: int) -> bytes:
        """At most `most` bytes; empty at the end.

        Raises:
            EOFError: A stream is truncated.
        """
        while True:
            if self._one is None:
                self._packed = (self._packed or self._file.read(_CHUNK_BYTES)).lstrip(b"\0")
                if not self._packed and not (piece := self._file.read(_CHUNK_BYTES)):
                    return b""
                self._packed = self._packed or piece
                self._one = self._new()
                continue
            if self._one.needs_input and not self._packed:
                self._packed = self._file.read(_CHUNK_BYTES)
                if not self._packed:
                    raise EOFError("its end is missing")
            found = self._one.decompress(self._packed, most)
            self._packed = b""
            if self._one.eof:
                self._packed = self._one.unused_data
                self._one = None
            if found:
                return found


def _new_xz() -> _Decompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_WINDOW_BYTES)


def _zstd(name: str) -> tuple[Callable[[], _Decompressor], type[Exception]]:
    """The decompressor for one zstd stream, and the exception it raises on damage.

    Raises:
        UnreadableError: This Python does not support zstd.
    """
    try:
        zstd = import_module("compression.zstd" if sys.version_info >= (3, 14) else _PACKAGE)
    except ImportError:
        why = f"packed by zstd, which this Python cannot unpack without the package {_PACKAGE}"
        hint = f"python3 -m pip install {_PACKAGE}, or unzstd the file first"
        raise UnreadableError(name, f"{why}: {hint}") from None
    options = {zstd.DecompressionParameter.window_log_max: MOST_WINDOW_BYTES.bit_length() - 1}
    return lambda: zstd.ZstdDecompressor(options=options), zstd.ZstdError


def _unpacker(
    file: BinaryIO, packing: Packing, name: str
) -> tuple[BinaryIO | _Streams, tuple[type[Exception], ...]]:
    """The reader of the content, and the exceptions it raises on damage."""
    if packing is Packing.NONE:
        return file, ()
    damages: tuple[type[Exception], ...] = (EOFError, zlib.error, lzma.LZMAError, ValueError)
    if packing is Packing.ZSTD:
        new, damage = _zstd(name)
        return _Streams(file, new), (*damages, damage)
    if packing is Packing.BZIP2:
        return _Streams(file, bz2.BZ2Decompressor), (*damages, OSError)
    return _Streams(file, _Gzip if packing is Packing.GZIP else _new_xz), damages
