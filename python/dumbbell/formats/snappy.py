"""Snappy's framed format, unpacked up to a bound (google/snappy: ``framing_format.txt`` and
``format_description.txt``).

A chunk consists of a type, a length of three bytes, and the content. The content of a data chunk
begins with the masked CRC-32C of its uncompressed data, which has at most 64 KiB.
"""

from __future__ import annotations

from dumbbell.formats.errors import DamageError

_STREAM = b"\xff\x06\x00\x00sNaPpY"
_COMPRESSED, _PLAIN, _FIRST_SKIPPABLE = 0x00, 0x01, 0x80
_MOST_OF_CHUNK = 1 << 16
_POLYNOMIAL = 0x82F63B78
"""Polynomial of CRC-32C, reflected: RFC 3720, appendix B.4."""


def unpacked_frames(packed: bytes, most_bytes: int) -> bytes:
    """Decompress all frames.

    Raises:
        DamageError: They are truncated or damaged, or exceed the limit.
    """
    if not packed.startswith(_STREAM):
        raise DamageError("it does not begin as Snappy's frames do")
    out = bytearray()
    at = len(_STREAM)
    while at < len(packed):
        kind, length = packed[at], int.from_bytes(packed[at + 1 : at + 4], "little")
        begin, at = at + 4, at + 4 + length
        if at > len(packed) or begin > len(packed):
            raise DamageError("its last frame is cut off")
        if kind in (_COMPRESSED, _PLAIN):
            data = packed[begin + 4 : at]
            data = _unpacked(data) if kind == _COMPRESSED else data
            if _masked_crc(data) != int.from_bytes(packed[begin : begin + 4], "little"):
                raise DamageError(f"the sum of the frame at byte {begin - 4} is another")
            out += data
            if len(out) > most_bytes:
                raise DamageError(f"it holds more than {most_bytes} bytes")
        elif kind < _FIRST_SKIPPABLE:
            raise DamageError(f"a frame of type {kind} at byte {begin - 4}")
    return bytes(out)


def _unpacked(data: bytes) -> bytes:
    """Decompress a block: its length as a varint, then literals and copies of earlier output."""
    length, at = _varint(data)
    out = bytearray()
    if length > _MOST_OF_CHUNK:
        raise DamageError(f"a block of {length} bytes")
    while at < len(data):
        tag = data[at]
        kind, upper = tag & 3, tag >> 2
        if kind == 0:
            extra = max(0, upper - 59)
            count = upper + 1
            if extra:
                count = int.from_bytes(data[at + 1 : at + 1 + extra], "little") + 1
            begin = at + 1 + extra
            at = begin + count
            if at > len(data):
                raise DamageError("a literal is cut off")
            out += data[begin:at]
        else:
            width = {1: 1, 2: 2, 3: 4}[kind]
            offset = int.from_bytes(data[at + 1 : at + 1 + width], "little")
            count = upper + 1
            if kind == 1:
                offset, count = (tag >> 5) << 8 | offset, (upper & 7) + 4
            at += 1 + width
            if not 0 < offset <= len(out) or at > len(data):
                raise DamageError("a copy from before its beginning")
            begin = len(out) - offset
            piece = out[begin : begin + count]
            # A copy longer than its offset repeats itself.
            out += (piece * (count // len(piece) + 1))[:count]
        if len(out) > length:
            break
    if len(out) != length:
        raise DamageError("a block of another length than it says")
    return bytes(out)


def _varint(data: bytes) -> tuple[int, int]:
    value = 0
    for at, byte in enumerate(data[:5]):
        value |= (byte & 0x7F) << (7 * at)
        if byte < 0x80:
            return value, at + 1
    raise DamageError("a length without an end")


def _table() -> tuple[int, ...]:
    found = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
        found.append(crc)
    return tuple(found)


_TABLE = _table()


def _masked_crc(data: bytes) -> int:
    crc = 0xFFFFFFFF
    table = _TABLE
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
