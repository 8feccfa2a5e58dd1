"""The content of a log, bounded, and the count of lines that were not understood."""

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
"""Of more rows than that a table in memory would be too large."""
LONGEST_LINE = 1 << 16
"""``ss`` pads its lines to the width of a terminal that is not there."""
_SHOWN = 60
_BINARY = (bytes.fromhex("cb597cae82ab7253"),)
"""First bytes of what is no text: crusader's."""
_LOOKED_AT = 400
"""Lines by which a format is known."""
_LONGEST_NUMBER = 40
MOST_UNKNOWN_LINES = 100_000
"""After this number of lines, hardly one in ten of them understood, no more are looked at."""


@dataclass(frozen=True)
class LogText:
    """The text of a file.

    Attributes:
        name: Of the file.
        text: All of it; empty of a binary file.
        damage: What ended the file too early, in words; empty where nothing did.
        content: Of a binary file all of it; empty of a text.
        times_ns: Unix time of each line that `ts` put there, else -1; empty where there is none.
    """

    name: str
    text: str
    damage: str = ""
    content: bytes = b""
    times_ns: Sequence[int] = ()

    @classmethod
    def of_file(cls, path: Path, most_bytes: int = LARGEST_LOG_BYTES) -> LogText:
        """Of a file of at most `most_bytes` bytes, as it lies there and when it is unpacked.

        Raises:
            FormatError: It has more.
            UnreadableError: It is packed by what this Python cannot unpack.
            OSError: It cannot be read.
        """
        content, damage = read_unpacked(path, most_bytes, most_bytes)
        return cls.of_bytes(path.name, content, damage)

    @classmethod
    def of_bytes(cls, name: str, content: bytes, damage: str = "") -> LogText:
        """Of what was read: UTF-8 with or without a mark, or UTF-16 as PowerShell's ``>``."""
        if content.startswith(_BINARY):
            return cls(name, "", damage, content)
        # Times that `ts` put before each line are taken off.
        encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        text, times_ns = without_stamps(content.decode(encoding, errors="replace"))
        return cls(name, text, damage, times_ns=times_ns)

    def time_ns(self, number: int) -> int:
        """Unix time of a line, by its number from 1; -1 where nothing says it."""
        return self.times_ns[number - 1] if number <= len(self.times_ns) else NOT_SAID

    @cached_property
    def lines(self) -> list[str]:
        """Without their ends; ``\\r\\n`` will do."""
        return [line.rstrip("\r") for line in self.text.split("\n")]

    @property
    def first_lines(self) -> list[str]:
        """As many as tell a format."""
        head = self.text[: _LOOKED_AT * 1024].split("\n", _LOOKED_AT)[:_LOOKED_AT]
        return [line.rstrip("\r")[:LONGEST_LINE] for line in head]

    @property
    def begins_with(self) -> str:
        """Its first character that is no blank; empty of an empty file."""
        match = re.search(r"\S", self.text[:65536])
        return match[0] if match else ""

    @cached_property
    def document(self) -> Mapping[str, Any] | None:
        """The JSON object that the whole file is; None where it is none."""
        if self.begins_with != "{":
            return None
        try:
            found = json.loads(self.text, parse_constant=_refused)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None


def is_something_else(unknown: int, understood: int) -> bool:
    """Whether the lines not understood, beside those that are, end the reading."""
    return unknown >= MOST_UNKNOWN_LINES > 10 * understood


def understood(line: str, take: Callable[[str], bool]) -> bool:
    """Whether a line is of a length that lines have, and ``take`` understood it.

    A ``ValueError`` of ``take`` is of a number that is none.
    """
    try:
        return len(line) <= LONGEST_LINE and take(line)
    except ValueError:
        return False


class UnreadCounter:
    """Counts what is not understood, and keeps the first."""

    def __init__(self) -> None:
        """Of nothing yet."""
        self._count = 0
        self._first = Unknown()
        self._understood = 0
        self.at = 0
        """Number of the line that is being read."""

    def lines(self, text: LogText, take: Callable[[str], bool]) -> None:
        """Give each line to ``take``, which says whether it understood it.

        Raises:
            UnreadableError: As `read`.
        """
        for at, line in enumerate(text.lines, start=1):
            self.at = at
            self.read(text, at, is_understood=understood(line, take))

    def read(self, text: LogText, number: int, *, is_understood: bool) -> None:
        """Note a line of a text, by its number from 1.

        Raises:
            UnreadableError: `MOST_UNKNOWN_LINES` were not understood, and of ten hardly one was.
        """
        line = text.lines[number - 1]
        if is_understood:
            self._understood += bool(line.strip())
            return
        self.line(number, line)
        if is_something_else(self._count, self._understood):
            raise UnreadableError(
                f"{text.name}: {self._first.where}",
                f"{printable(self._first.text)!r} is not understood, nor are {self._count - 1} of "
                f"the {number - 1} other lines up to line {number}; among {MOST_UNKNOWN_LINES} a "
                "tenth has to be",
            )

    def line(self, number: int, text: str) -> None:
        """A line, by its number from 1."""
        self._add(f"line {number}", text, "line")

    def value(self, path: str, value: object) -> None:
        """A value of JSON, by its path."""
        self._add(path, repr(value), "value")

    def _add(self, where: str, text: str, what: Literal["line", "value"]) -> None:
        self._count += 1
        if self._count == 1:
            shown = re.sub(r"\s{2,}", " ", text[:1000].strip())
            shown = shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 3]}..."
            self._first = Unknown(1, where, shown, what)

    @property
    def unknown(self) -> Unknown:
        """What was counted."""
        return replace(self._first, count=self._count)


class Members:
    """The members of a JSON object that may be damaged: each is asked for with its type."""

    def __init__(self, value: object, path: str, noted: UnreadCounter) -> None:
        """Of what should be an object; what is none has no members, and is noted."""
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
        """A count, or a time since an epoch, times ``scale``; -1 where it is not there or none."""
        found = self.real(name)
        if found < 0:
            self._noted.value(self._at(name), found)
            return -1
        value = self._values.get(name)
        if math.isnan(found):
            return -1
        # A whole number is not made a float on the way: those have 53 bits.
        return value * scale if isinstance(value, int) else round(found * scale)

    def real(self, name: str, scale: float = 1.0) -> float:
        """A number times ``scale``; NaN where it is not there or none."""
        value = self._values.get(name)
        if value is None:
            return float("nan")
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._noted.value(self._at(name), value)
            return float("nan")
        # The largest whole number that is a float, compared before it becomes one.
        if not -LARGEST_NUMBER < value < LARGEST_NUMBER or not math.isfinite(float(value) * scale):
            self._noted.value(self._at(name), value)
            return float("nan")
        return float(value) * scale

    def is_null(self, name: str) -> bool:
        """Whether it is not there, or null."""
        return self._values.get(name) is None

    def text(self, name: str) -> str:
        """A text; empty where it is not there or none."""
        value = self._values.get(name, "")
        if not isinstance(value, str):
            self._noted.value(self._at(name), value)
            return ""
        return value[:300]

    def truth(self, name: str) -> bool:
        """Whether it is there and true, or a number that is not 0."""
        value = self._values.get(name, False)
        if not isinstance(value, bool | int):
            self._noted.value(self._at(name), value)
            return False
        return bool(value)

    def object(self, name: str) -> Members:
        """An object; empty where it is not there."""
        return Members(self._values.get(name, {}), self._at(name), self._noted)

    def without_members(self) -> Members:
        """An object at the same place that has none."""
        return Members({}, self.path, self._noted)

    def objects(self, name: str) -> Iterator[Members]:
        """The objects of a list; none where it is not there."""
        value = self._values.get(name, [])
        if not isinstance(value, list):
            self._noted.value(self._at(name), value)
            return
        for index, each in enumerate(value):
            yield Members(each, f"{self._at(name)}[{index}]", self._noted)


def number(text: str, scale: int = 1) -> int:
    """A decimal number times ``scale``, rounded down: ``1.5`` and 1000 are 1500.

    Raises:
        ValueError: It is none, or too large to be one.
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
    """A decimal number that is finite.

    Raises:
        ValueError: It is none.
    """
    found = float(text)
    if not math.isfinite(found):
        raise ValueError(text)
    return found


def nothing_in(text: LogText, what: str) -> UnreadableError:
    """What to raise of a log without a line that says anything."""
    return UnreadableError(text.name, f"nothing that {what} measured is in it")


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not a number of JSON")
