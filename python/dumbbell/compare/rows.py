"""Select the rows of a comparison's table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from dumbbell.compare.measures import MeasureSubject
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.summary import Summary

SHORTEST_SOJOURN_S = 1e-3
"""A queue without drops is left out if in every run fewer than 1 % of its packets waited this long.
"""
MOST_TELLING = 5
"""Most rows of a sweep's table if none of the default rows exists."""
_LOSSES = frozenset({"loss_ratio"})


def shown_rows(runs: Iterable[Sequence[Summary]]) -> list[Quantity]:
    """The rows of a table: one rule for terminal, page and the family of tests.

    Equal flows are shown as a group. A network's completion times are shown only if several flows
    have them, queues only if packets waited, and loss ratios only if packets were lost. Quantities
    that some cells lack are left out.

    Args:
        runs: Summaries of each arm.
    """
    arms = [each for each in runs if each]
    if not arms:
        return []
    first = arms[0][0]
    members = _members(first)
    # If a count is swept from 1, the group of a later cell is a single flow in the first one.
    listed = dict.fromkeys(each for summaries in arms for each in summaries[0].quantities)
    common = [
        each
        for each in listed
        if each.measure.shown and all(each in summaries[0].values for summaries in arms)
    ]
    everything = [summary for summaries in arms for summary in summaries]
    return [
        each
        for each in common
        if not (each.of is MeasureSubject.FLOW and each.name in members)
        and _says_something(each, first, everything)
    ]


def telling_rows(rows: Sequence[Quantity]) -> list[Quantity]:
    """The most important rows, for a sweep's table.

    Throughput, latency, completion times and losses of the first subject that has them; further
    queues and probes are in the JSON.
    """
    wanted = (
        (
            (MeasureSubject.FLOWS, "total_goodput_bps"),
            (MeasureSubject.FLOW, "goodput_bps"),
            (MeasureSubject.PROGRAM, "throughput_bps"),
        ),
        ((MeasureSubject.NETWORK, "jain_index"),),
        (
            (MeasureSubject.PROBE, "rtt_p95_ms"),
            (MeasureSubject.PROGRAM, "rtt_p95_ms"),
            (MeasureSubject.QUEUE, "sojourn_p95_s"),
        ),
        (
            (MeasureSubject.NETWORK, "mean_completion_time_s"),
            (MeasureSubject.FLOWS, "mean_completion_time_s"),
            (MeasureSubject.FLOW, "mean_completion_time_s"),
        ),
        (
            (MeasureSubject.QUEUE, "loss_ratio"),
            (MeasureSubject.PROBE, "loss_ratio"),
            (MeasureSubject.PROGRAM, "loss_ratio"),
        ),
    )
    found = []
    for kinds in wanted:
        of_kind = [row for kind in kinds for row in rows if (row.of, row.metric) == kind]
        found += of_kind[:1]
    return found or list(rows[:MOST_TELLING])


def watched_rows(summary: Summary) -> list[Quantity]:
    """Rows to which a requested precision applies: rates, mean delays and mean completion times."""
    return [each for each in shown_rows([[summary]]) if each.measure.watched]


def _members(summary: Summary) -> set[str]:
    return {name for members in summary.groups.values() for name in members}


def _says_something(row: Quantity, first: Summary, everything: Sequence[Summary]) -> bool:
    values = [summary.values[row] for summary in everything if row in summary.values]
    if all(math.isnan(value) for value in values):
        return False
    if row.of is MeasureSubject.NETWORK and row.measure.of_transfers:
        return len(_with_transfers(first)) > 1
    if row.of is MeasureSubject.QUEUE and not any(
        _is_waited_in(row.name, each) for each in everything
    ):
        return False
    return row.metric not in _LOSSES or any(value > 0 for value in values)


def _with_transfers(summary: Summary) -> set[str]:
    """Flows with transfers; a group of equal flows counts once."""
    members = _members(summary)
    return {
        f"{each.of}{each.name}"
        for each in summary.quantities
        if each.metric == "begun_transfers"
        and each.of is not MeasureSubject.NETWORK
        and not (each.of is MeasureSubject.FLOW and each.name in members)
    }


def _is_waited_in(queue: str, summary: Summary) -> bool:
    values = summary.values
    sojourn_s = values[Quantity(MeasureSubject.QUEUE, queue, "sojourn_p99_s")]
    return (
        sojourn_s >= SHORTEST_SOJOURN_S
        or values[Quantity(MeasureSubject.QUEUE, queue, "loss_ratio")] > 0
    )
