"""Foreign text, made safe to show."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from unicodedata import category

_NOT_SEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Controls; formats, which are without width or change the direction of writing (UAX #9); halves of
surrogate pairs; line and paragraph separators."""
_PLANE_ENDS = 0xFFFE
"""The last two places of each plane are no characters in any version of Unicode."""
_NO_CHARACTERS = range(0xFDD0, 0xFDF0)

_HALVES = re.compile("[\ud800-\udfff]")


def printable(text: str, *, lines: bool = False) -> str:
    """The text with what a terminal obeys, XML has not or nobody sees as ``<U+001B>``.

    Not as ``\\x1b``: Vega evaluates some titles as strings of JavaScript, which undoes that.

    Args:
        text: Anything a file can hold.
        lines: Whether line ends and tabs may stay.
    """
    if text.isprintable():
        return text
    return "".join(
        each if _is_seen(each) or (lines and each in "\t\n") else f"<U+{ord(each):04X}>"
        for each in text
    )


def _is_seen(character: str) -> bool:
    code = ord(character)
    is_character = code & _PLANE_ENDS != _PLANE_ENDS and code not in _NO_CHARACTERS
    return is_character and category(character) not in _NOT_SEEN


def utf8(text: str) -> bytes:
    """The text as a file has it, with halves of surrogate pairs made printable.

    Python has such halves where the name of a file is no UTF-8 (PEP 383).
    """
    return text.encode("utf-8", "dumbbell.shown")


def whole_json(text: str) -> str:
    """JSON with halves of surrogate pairs as escapes, which are read back as what they were."""
    return _HALVES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _shown_halves(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return printable(error.object[error.start : error.end]), error.end


codecs.register_error("dumbbell.shown", _shown_halves)


def listed(names: Iterable[str]) -> str:
    """Names as one says them: ``a``, ``a and b``, ``a, b and c``.

    Raises:
        ValueError: There is none.
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
