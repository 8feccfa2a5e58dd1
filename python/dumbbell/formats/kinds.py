"""Detect the kind of a file by its decompressed content, not by its name.

A pipe can be read only once, so its name decides. The name also decides if the content is not
recognized; the reader of that kind then reports the error.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from dumbbell.formats.errors import UnreadableError
from dumbbell.formats.logs import LogFormat, LogText, log_format
from dumbbell.formats.tshark import is_tshark_csv
from dumbbell.formats.unpacking import PACKED, first_bytes
from dumbbell.printable import printable

FLENT_ENDS = (".flent.gz", ".flent", ".flnt", ".flent.bz2", ".json.gz", ".json", ".json.bz2")
"""Extensions of Flent and of its predecessor netperf-wrapper."""
_LOOKED_AT_BYTES = 1 << 19
_SHOWN_BYTES = 24
_CAPTURES = (
    b"\x0a\x0d\x0d\x0a",
    b"\xa1\xb2\xc3\xd4",
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",
    b"\x4d\x3c\xb2\xa1",
)
_OTHERS = ((b"PK\x03\x04", "zip"), (b"7z\xbc\xaf\x27\x1c", "7z"), (b"\x04\x22\x4d\x18", "lz4"))
_PACKED_ENDS = (".gz", ".bz2", ".xz", ".zst")
_FLENT_KEYS = ("x_values", "raw_values", "results")


class FileKind(StrEnum):
    """Kind of a file; the value is its name."""

    FLENT = "data file of Flent"
    CAPTURE = "capture"
    TSHARK_CSV = "CSV of tshark's fields"
    LOG = "log"


def kind_of(path: Path) -> FileKind:
    """The kind of a file.

    Raises:
        UnreadableError: The kind is unknown, or this Python cannot decompress it.
        FormatError: It is too large.
        OSError: It cannot be read.
    """
    if not path.is_file():
        return _by_name(path) or FileKind.CAPTURE
    head, packing = first_bytes(path, _LOOKED_AT_BYTES)
    if head.startswith(_CAPTURES):
        return FileKind.CAPTURE
    text = LogText.of_bytes(path.name, head)
    if text.begins_with in ("{", "["):
        # An object is recognized by its members, which may be anywhere in it.
        text = LogText.of_file(path)
        if _is_flent(text):
            return FileKind.FLENT
    if log_format(text) is not None:
        return FileKind.LOG
    if is_tshark_csv(text.first_lines):
        return FileKind.TSHARK_CSV
    named = _by_name(path)
    is_other_object = text.document is not None and not _is_flents_alone(path)
    if named is None or (named is FileKind.FLENT and is_other_object):
        raise UnreadableError(str(path), _none(head, packing.value))
    return named


def _is_flent(text: LogText) -> bool:
    """Whether an object, or part of one, is from Flent, in any version of its format."""
    document = text.document
    if document is None:
        return any(f'"{key}"' in text.text[:_LOOKED_AT_BYTES] for key in _FLENT_KEYS)
    return "results" in document and ("x_values" in document or "metadata" in document)


def _by_name(path: Path) -> FileKind | None:
    name = path.name.lower()
    if name.endswith(FLENT_ENDS):
        return FileKind.FLENT
    for end in _PACKED_ENDS:
        name = name.removesuffix(end)
    if name.endswith(FLENT_ENDS):
        return FileKind.FLENT
    if name.endswith(".csv"):
        return FileKind.TSHARK_CSV
    return FileKind.CAPTURE if name.endswith((".pcap", ".pcapng", ".cap", ".dmp")) else None


def _is_flents_alone(path: Path) -> bool:
    """Whether only Flent uses the name's extension: others write ``.json`` too."""
    return any(f".{end}" in path.name.lower() for end in ("flent", "flnt"))


def _none(head: bytes, packing: str) -> str:
    """Why the kind of a file is unknown."""
    for magic, name in _OTHERS:
        if head.startswith(magic):
            packed = ", ".join(each.value for each in PACKED)
            return f"packed by {name}, which is not unpacked here; {packed} are"
    begins = head[:_SHOWN_BYTES].decode("utf-8", errors="replace").strip()
    within = f" (in what {packing} packed)" if head and packing in PACKED else ""
    found = f"it begins with {printable(begins)!r}{within}" if begins else "it is empty"
    known = ", ".join(each.value for each in LogFormat)
    return f"{found}; read are data files of Flent, captures, CSVs of tshark's fields, {known}"
