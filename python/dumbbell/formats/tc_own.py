"""What ``tc -s qdisc`` prints of a discipline besides the counters of all: cake, sfb, sfq with RED.

The layout is that of iproute2 6.1, as its ``tc`` prints it for the kernel's disciplines
(``tests/kernel_backend/test_cake_tins.py`` and ``test_own_counters.py`` compare them).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dumbbell.formats.tc_tins import cake_samples, rows
from dumbbell.tables import Run

Row = Mapping[str, float]
"""A row of a table of samples."""


@dataclass(frozen=True, slots=True)
class OwnSample:
    """What is printed of a queue's discipline at a sampling time.

    Attributes:
        kind: The discipline.
        lines: Lines of text after the backlog.
        numbers: Members of the queue's object in JSON.
        option_lines: Lines of text after the options.
        option_numbers: Members of the object ``options`` in JSON.
    """

    kind: str
    lines: list[str] = field(default_factory=list)
    numbers: dict[str, Any] = field(default_factory=dict)
    option_lines: list[str] = field(default_factory=list)
    option_numbers: dict[str, Any] = field(default_factory=dict)


def own_samples(run: Run, queue: int) -> dict[int, OwnSample]:
    """The samples of a queue's discipline, by time in nanoseconds; empty if it has none."""
    found = {
        t_ns: OwnSample("cake", lines=cake.lines(), numbers=cake.numbers())
        for t_ns, cake in cake_samples(run, queue).items()
    }
    of_tables: Mapping[str, Callable[[Row], OwnSample]] = {
        "sfb_samples": _sfb,
        "sfq_red_samples": _sfq_red,
    }
    for table, sample in of_tables.items():
        found |= {int(row["t_ns"]): sample(row) for row in _of_queue(run, table, queue)}
    return found


def _of_queue(run: Run, table: str, queue: int) -> Iterator[Row]:
    if table in run.tables:
        yield from (row for row in rows(run, table) if row["queue"] == queue)


def _sfb(row: Row) -> OwnSample:
    counts = {key: int(row[column]) for key, column in _SFB_COUNTS.items()}
    longest = {"maxqlen": int(row["longest_bin_pkts"])}
    # tc prints six digits (%g).
    chances = {key: float(f"{row[column]:g}") for key, column in _SFB_CHANCES.items()}
    return OwnSample(
        "sfb",
        lines=[_line(counts), _line({**longest, **chances})],
        numbers={**counts, **longest, **chances},
    )


def _sfq_red(row: Row) -> OwnSample:
    early, forced = (
        {key: int(row[column]) for key, column in of.items()} for of in (_SFQ_EARLY, _SFQ_FORCED)
    )
    return OwnSample(
        "sfq", option_lines=[_line(early), _line(forced)], option_numbers={**early, **forced}
    )


def _line(values: Mapping[str, float]) -> str:
    return "  " + " ".join(f"{key} {value:{_form(value)}}" for key, value in values.items())


def _form(value: float) -> str:
    return "d" if isinstance(value, int) else "g"


_SFB_COUNTS: Mapping[str, str] = {
    "earlydrop": "early_dropped_pkts",
    "penaltydrop": "penalty_dropped_pkts",
    "bucketdrop": "bin_dropped_pkts",
    "queuedrop": "limit_dropped_pkts",
    "childdrop": "child_dropped_pkts",
    "marked": "marked_pkts",
}
"""Word of tc, and column of ``sfb_samples``."""
_SFB_CHANCES: Mapping[str, str] = {
    "maxprob": "largest_probability",
    "avgprob": "mean_probability",
}
_SFQ_EARLY: Mapping[str, str] = {
    "prob_mark": "early_marked_pkts",
    "prob_mark_head": "early_marked_oldest_pkts",
    "prob_drop": "early_dropped_pkts",
}
"""Word of tc, and column of ``sfq_red_samples``."""
_SFQ_FORCED: Mapping[str, str] = {
    "forced_mark": "forced_marked_pkts",
    "forced_mark_head": "forced_marked_oldest_pkts",
    "forced_drop": "forced_dropped_pkts",
}
