"""Escape untrusted text for terminals and pages."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from unicodedata import category

_NOT_SEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories that are escaped: control characters; format characters, which have no width
or change the direction of writing (UAX #9); surrogates; line and paragraph separators."""
_PLANE_ENDS = 0xFFFE
"""The last two code points of each plane are noncharacters."""
_NO_CHARACTERS = range(0xFDD0, 0xFDF0)

_HALVES = re.compile("[\ud800-\udfff]")


def printable(text: str, *, lines: bool = False) -> str:
    """Replace control characters, invisible characters and characters not allowed in XML by
    ``<U+001B>``.

    The form ``\\x1b`` would not be safe: Vega evaluates some titles as JavaScript strings.

    Args:
        text: Untrusted text.
        lines: Whether line ends and tabs are kept.
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
    """The text with surrogates escaped, so that it can be encoded as UTF-8.

    Python represents file names that are not UTF-8 with surrogates (PEP 383).
    """
    return text.encode("utf-8", "dumbbell.shown")


def whole_json(text: str) -> str:
    """JSON with surrogates as escape sequences, so that a reader restores them."""
    return _HALVES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _shown_halves(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return printable(error.object[error.start : error.end]), error.end


codecs.register_error("dumbbell.shown", _shown_halves)


def listed(names: Iterable[str]) -> str:
    """A list in words: ``a``, ``a and b``, ``a, b and c``.

    Raises:
        ValueError: The list is empty.
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
