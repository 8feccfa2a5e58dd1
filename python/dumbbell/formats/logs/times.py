"""Lines of logs that contain only a time."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from dumbbell.formats.logs.model import LARGEST_NUMBER

_EPOCH = re.compile(
    r"(?:(?:Time:|timestamp:|#) *(?P<said>\d{1,12})|(?P<bare>\d{9,11}(?!\.)|\d{1,11}(?=\.\d{9}\s*$)"
    r"|\d{9,11}(?=\.)))(?:[.,](?P<part>\d{1,9}))?\s*"
)
_ISO = re.compile(
    r"(?:# ?)?(?P<when>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,](?P<part>\d{1,9}))?"
    r"(?P<zone>Z|[+-]\d\d:?\d\d)?\s*"
)
_DATE = re.compile(
    r"(?:\w{3}),? (?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) (?P<time>\d\d:\d\d:\d\d)"
    r"(?P<half> [AP]M)?(?: (?P<zone>[A-Z]{1,5}|[+-]\d\d))? (?P<year>\d{4})\s*"
)


def epoch_ns(line: str) -> int | None:
    """Unix time of a line that contains only a time, in nanoseconds; None for other lines.

    Known forms are ``date +%s.%N``, Flent's ``Time: ``, ISO 8601 (``date -Ins``) and the English
    output of ``date``. A time zone that is only a name counts as UTC: differences of such times are
    still right, unless daylight saving time changed between them.
    """
    found = _epoch_ns(line)
    return found if found is not None and 0 <= found < LARGEST_NUMBER else None


def _epoch_ns(line: str) -> int | None:
    if found := _EPOCH.fullmatch(line):
        return int(found["said"] or found["bare"]) * 10**9 + _part_ns(found["part"])
    if found := _ISO.fullmatch(line):
        zone = (found["zone"] or "+00:00").replace("Z", "+00:00")
        try:
            at_s = int(datetime.fromisoformat(f"{found['when']}{zone}").timestamp())
        except (ValueError, OverflowError):
            return None
        return at_s * 10**9 + _part_ns(found["part"])
    if found := _DATE.fullmatch(line):
        day = f"{found['day']} {found['month']} {found['year']}"
        hours = "%I:%M:%S %p" if found["half"] else "%H:%M:%S"
        return _of_date(f"{day} {found['time']}{found['half'] or ''}", f"%d %b %Y {hours}")
    return None


def _of_date(said: str, form: str) -> int | None:
    try:
        found = datetime.strptime(said, form)
        return int(found.replace(tzinfo=UTC).timestamp()) * 10**9
    except (ValueError, OverflowError):
        return None


def _part_ns(digits: str | None) -> int:
    return int((digits or "0").ljust(9, "0"))
