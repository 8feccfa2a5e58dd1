"""Remove the times that ``ts`` of moreutils (ts(1)) and similar tools put before each line.

They are recognized if each of the first lines has one, all in the same form: ``Nov 27 22:43:44``
(``ts``), ``00:00:01`` or ``00:00:01.250000`` (``ts -i``, ``ts -s``), Unix time (``ts %s``, ``ts
%.s``), and ISO 8601 in brackets or not. The first form has no year, and those of ``-i`` and ``-s``
have no day: they are removed without giving a time. The others give Unix times.
"""

from __future__ import annotations

import re
from itertools import islice

from dumbbell.formats.logs.times import epoch_ns

_TOLD_BY = 20
"""Number of non-empty lines that are examined."""
_TELLING = (
    re.compile(r"(?P<at>\d{9,11}(?:\.\d{1,9})?) "),
    re.compile(
        r"\[?(?P<at>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)\]? "
    ),
)
_OTHERS = (
    re.compile(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})? "),
    re.compile(r"\d\d:\d\d:\d\d(?:\.\d{1,9})? "),
)
NO_TIME = -1


def without_stamps(text: str) -> tuple[str, list[int]]:
    """The text without stamps, and each line's Unix time in ns, -1 without one.

    The times are empty if there are no stamps, or stamps without a date.
    """
    head = text[: 1 << 16].split("\n", 4 * _TOLD_BY)[: 4 * _TOLD_BY]
    first = list(islice((line for line in head if line.strip()), _TOLD_BY))
    # The last line may be truncated.
    first = first[:-1] if len(first) == _TOLD_BY else first
    for stamp in (*_TELLING, *_OTHERS):
        # On an empty line only the stamp may be left, without its trailing blank.
        if first and all(stamp.match(f"{line} ") for line in first):
            break
    else:
        return text, []
    lines, times = [], []
    for line in text.split("\n"):
        found = stamp.match(line) or stamp.fullmatch(f"{line.rstrip()} ")
        lines.append(line[found.end() :] if found else line)
        if stamp in _TELLING:
            at = epoch_ns(found["at"].replace(",", ".")) if found else None
            times.append(NO_TIME if at is None else at)
    return "\n".join(lines), times
