"""Counters of sfb, and of the RED of sfq, in the output of ``tc -s qdisc``, as text or JSON.

The layout is that of iproute2 4 to 6 (``tc/q_sfb.c`` and ``tc/q_sfq.c``).

Those of sfq are among its options: before the line ``Sent`` in text, in ``options`` in JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dumbbell.formats.logs.model import LogColumn
from dumbbell.formats.logs.text import Members, number, real

COUNTERS = (
    LogColumn("call", "-", "Number of the call of tc in the file, from 1."),
    LogColumn("epoch_ns", "ns", "Unix time of the call, where a line says it."),
    LogColumn("queue", "-", "As of its queue.", "text"),
    LogColumn("counter", "-", "``earlydrop``, ``maxprob``, ``forced_mark`` and the like.", "text"),
    LogColumn("value", "-", "Of packets since it was made; of ``max`` and ``avg`` then.", "real"),
)
_COUNTERS: Mapping[str, frozenset[str]] = {
    "sfb": frozenset(
        ("earlydrop", "penaltydrop", "bucketdrop", "queuedrop", "childdrop", "marked", "maxqlen")
    )
    | {"maxprob", "avgprob"},
    "sfq": frozenset(
        f"{way}_{what}" for way in ("prob", "forced") for what in ("mark", "mark_head", "drop")
    ),
}
"""By kind of discipline."""
_CHANCES = frozenset(("maxprob", "avgprob"))
_MARKS = frozenset(("marked",)) | {name for name in _COUNTERS["sfq"] if "_mark" in name}
_PAIR = r"[a-z_]{6,16} \d{1,12}(?:\.\d{1,12})?(?:e-\d{1,3})?"
_LINE = re.compile(rf" {{1,4}}{_PAIR}(?: {_PAIR}){{0,5}} *")


def take_counters(kind: str, line: str) -> dict[str, float]:
    """The counters of a discipline of this kind on a line; empty if it is another line.

    Raises:
        ValueError: A number is out of range.
    """
    known = _COUNTERS.get(kind, frozenset())
    words = line.split()
    if not known.issuperset(words[::2]) or not _LINE.fullmatch(line):
        return {}
    pairs = zip(words[::2], words[1::2], strict=True)
    return {name: real(text) if name in _CHANCES else number(text) for name, text in pairs}


def counters_of_json(kind: str, members: Members) -> dict[str, float]:
    """The counters in a discipline's object."""
    holder = members.object("options") if kind == "sfq" and "options" in members else members
    known = sorted(name for name in _COUNTERS.get(kind, ()) if name in holder)
    values = {name: holder.real(name) for name in known}
    return {name: value for name, value in values.items() if value >= 0}


def marked_pkts_of(counters: Mapping[str, float]) -> int | None:
    """Packets marked; None if no counter of marks is there."""
    marks = [int(counters[name]) for name in _MARKS & counters.keys()]
    return sum(marks) if marks else None
