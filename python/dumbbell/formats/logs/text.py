"""The bounded content of a log, and the count of unknown lines."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from dumbbell.formats.errors import UnreadableError
from dumbbell.formats.logs.model import LARGEST_NUMBER, NOT_SAID, Unknown
from dumbbell.formats.logs.stamps import without_stamps
from dumbbell.formats.unpacking import read_unpacked
from dumbbell.printable import printable

LARGEST_LOG_BYTES = 64 << 20
"""Size limit: a larger log would not fit in memory as a table."""
LONGEST_LINE = 1 << 16
"""Longest line; ``ss`` pads its lines to the width of a terminal."""
_SHOWN = 60
_BINARY = (bytes.fromhex("cb597cae82ab7253"),)
"""First bytes of binary formats: crusader's."""
_LOOKED_AT = 400
"""Number of lines examined to detect a format."""
_LONGEST_NUMBER = 40
MOST_UNKNOWN_LINES = 100_000
"""Parsing stops after this number of unknown lines if hardly one line in ten is known."""


@dataclass(frozen=True)
class LogText:
    """The text of a file.

    Attributes:
        name: Name of the file.
        text: The text; empty for a binary file.
        damage: What truncated the file, in words; empty if nothing did.
        content: Content of a binary file; empty for a text.
        times_ns: Unix time of each line that `ts` added, else -1; empty without such times.
    """

    name: str
    text: str
    damage: str = ""
    content: bytes = b""
    times_ns: Sequence[int] = ()

    @classmethod
    def of_file(cls, path: Path, most_bytes: int = LARGEST_LOG_BYTES) -> LogText:
        """Read a file of at most `most_bytes` bytes, before and after decompression.

        Raises:
            FormatError: It exceeds the limit.
            UnreadableError: This Python cannot decompress it.
            OSError: It cannot be read.
        """
        content, damage = read_unpacked(path, most_bytes, most_bytes)
        return cls.of_bytes(path.name, content, damage)

    @classmethod
    def of_bytes(cls, name: str, content: bytes, damage: str = "") -> LogText:
        """Decode bytes: UTF-8 with or without a byte order mark, or UTF-16 from
        PowerShell's ``>``.
        """
        if content.startswith(_BINARY):
            return cls(name, "", damage, content)
        # The times that `ts` put before each line are removed.
        encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        text, times_ns = without_stamps(content.decode(encoding, errors="replace"))
        return cls(name, text, damage, times_ns=times_ns)

    def time_ns(self, number: int) -> int:
        """Unix time of a line, by its number from 1; -1 if unknown."""
        return self.times_ns[number - 1] if number <= len(self.times_ns) else NOT_SAID

    @cached_property
    def lines(self) -> list[str]:
        """Lines without their ends; ``\r\n`` is accepted."""
        return [line.rstrip("\r") for line in self.text.split("\n")]

    @property
    def first_lines(self) -> list[str]:
        """The lines needed to detect a format."""
        head = self.text[: _LOOKED_AT * 1024].split("\n", _LOOKED_AT)[:_LOOKED_AT]
        return [line.rstrip("\r")[:LONGEST_LINE] for line in head]

    @property
    def begins_with(self) -> str:
        """Its first character that is not a blank; empty for an empty file."""
        match = re.search(r"\S", self.text[:65536])
        return match[0] if match else ""

    @cached_property
    def document(self) -> Mapping[str, Any] | None:
        """The file as one JSON object; None if it is not one."""
        if self.begins_with != "{":
            return None
        try:
            found = json.loads(self.text, parse_constant=_refused)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None


def is_mostly_unknown(unknown: int, understood: int) -> bool:
    """Whether there are too many unknown lines relative to known ones to go on."""
    return unknown >= MOST_UNKNOWN_LINES > 10 * understood


def understood(line: str, take: Callable[[str], bool]) -> bool:
    """Whether a line has a plausible length and ``take`` understood it.

    A ``ValueError`` from ``take`` means a malformed number.
    """
    try:
        return len(line) <= LONGEST_LINE and take(line)
    except ValueError:
        return False


class UnreadCounter:
    """Counts unknown lines and values, and keeps the first."""

    def __init__(self) -> None:
        """Start at zero."""
        self._count = 0
        self._first = Unknown()
        self._understood = 0
        self.at = 0
        """Number of the current line."""

    def lines(self, text: LogText, take: Callable[[str], bool]) -> None:
        """Pass each line to ``take``, which returns whether it understood it.

        Raises:
            UnreadableError: As `read`.
        """
        for at, line in enumerate(text.lines, start=1):
            self.at = at
            self.read(text, at, is_understood=understood(line, take))

    def read(self, text: LogText, number: int, *, is_understood: bool) -> None:
        """Record a line of a text, by its number from 1.

        Raises:
            UnreadableError: `MOST_UNKNOWN_LINES` lines are unknown, and hardly one line in ten is
                known.
        """
        line = text.lines[number - 1]
        if is_understood:
            self._understood += bool(line.strip())
            return
        self.line(number, line)
        if is_mostly_unknown(self._count, self._understood):
            raise UnreadableError(
                f"{text.name}: {self._first.where}",
                f"{printable(self._first.text)!r} is not understood, nor are {self._count - 1} of "
                f"the {number - 1} other lines up to line {number}; among {MOST_UNKNOWN_LINES} a "
                "tenth has to be",
            )

    def line(self, number: int, text: str) -> None:
        """Count a line, by its number from 1."""
        self._add(f"line {number}", text, "line")

    def value(self, path: str, value: object) -> None:
        """Count a JSON value, by its path."""
        self._add(path, repr(value), "value")

    def _add(self, where: str, text: str, what: Literal["line", "value"]) -> None:
        self._count += 1
        if self._count == 1:
            shown = re.sub(r"\s{2,}", " ", text[:1000].strip())
            shown = shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 3]}..."
            self._first = Unknown(1, where, shown, what)

    @property
    def unknown(self) -> Unknown:
        """The result."""
        return replace(self._first, count=self._count)


class Members:
    """The members of a JSON object that may be damaged: accessed by name and type."""

    def __init__(self, value: object, path: str, noted: UnreadCounter) -> None:
        """Wrap a value that should be an object; another value has no members and is counted as
        unknown.
        """
        self.path = path
        self._noted = noted
        self._values: Mapping[str, Any] = value if isinstance(value, dict) else {}
        if not isinstance(value, dict):
            noted.value(path or "the file", value)

    def __contains__(self, name: str) -> bool:
        """Whether there is such a member."""
        return name in self._values

    def _at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def whole(self, name: str, scale: int = 1) -> int:
        """A count, or a time since an epoch, times ``scale``; -1 if missing or malformed."""
        found = self.real(name)
        if found < 0:
            self._noted.value(self._at(name), found)
            return -1
        value = self._values.get(name)
        if math.isnan(found):
            return -1
        # Integers are not converted to floats, which have only 53 bits.
        return value * scale if isinstance(value, int) else round(found * scale)

    def real(self, name: str, scale: float = 1.0) -> float:
        """A number times ``scale``; NaN if missing or malformed."""
        value = self._values.get(name)
        if value is None:
            return float("nan")
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._noted.value(self._at(name), value)
            return float("nan")
        # Compared with the largest float as an integer, before it is converted.
        if not -LARGEST_NUMBER < value < LARGEST_NUMBER or not math.isfinite(float(value) * scale):
            self._noted.value(self._at(name), value)
            return float("nan")
        return float(value) * scale

    def is_null(self, name: str) -> bool:
        """Whether it is missing or null."""
        return self._values.get(name) is None

    def text(self, name: str) -> str:
        """A text; empty if missing or malformed."""
        value = self._values.get(name, "")
        if not isinstance(value, str):
            self._noted.value(self._at(name), value)
            return ""
        return value[:300]

    def truth(self, name: str) -> bool:
        """Whether it is true, or a number other than 0."""
        value = self._values.get(name, False)
        if not isinstance(value, bool | int):
            self._noted.value(self._at(name), value)
            return False
        return bool(value)

    def object(self, name: str) -> Members:
        """An object; empty if missing."""
        return Members(self._values.get(name, {}), self._at(name), self._noted)

    def without_members(self) -> Members:
        """An empty object at the same path."""
        return Members({}, self.path, self._noted)

    def objects(self, name: str) -> Iterator[Members]:
        """The objects in a list; empty if missing."""
        value = self._values.get(name, [])
        if not isinstance(value, list):
            self._noted.value(self._at(name), value)
            return
        for index, each in enumerate(value):
            yield Members(each, f"{self._at(name)}[{index}]", self._noted)


def number(text: str, scale: int = 1) -> int:
    """A decimal number times ``scale``, rounded down: ``1.5`` and 1000 are 1500.

    Raises:
        ValueError: It is malformed or too large.
    """
    if len(text) > _LONGEST_NUMBER:
        raise ValueError(text)
    try:
        found = int(Decimal(text) * scale)
    except (InvalidOperation, OverflowError):
        raise ValueError(text) from None
    if not -LARGEST_NUMBER < found < LARGEST_NUMBER:
        raise ValueError(text)
    return found


def real(text: str) -> float:
    """Parse a finite decimal number.

    Raises:
        ValueError: It is malformed.
    """
    found = float(text)
    if not math.isfinite(found):
        raise ValueError(text)
    return found


def nothing_in(text: LogText, what: str) -> UnreadableError:
    """The error for a log without any usable line."""
    return UnreadableError(text.name, f"nothing that {what} measured is in it")


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not a number of JSON")
