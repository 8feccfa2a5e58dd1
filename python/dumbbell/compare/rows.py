"""Which of a run's numbers stand in the table of a comparison."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from dumbbell.compare.measures import MeasureSubject
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.summary import Summary

SHORTEST_SOJOURN_S = 1e-3
"""Queues in which one packet of a hundred did not spend as long in any run, and that dropped none,
are left out."""
MOST_TELLING = 5
"""Rows of a sweep's table where none of the usual ones is there."""
_LOSSES = frozenset({"loss_ratio"})


def shown_rows(runs: Iterable[Sequence[Summary]]) -> list[Quantity]:
    """What a table shows: one rule for the terminal, the page and the family of tests.

    Flows of a group of equal ones are shown together, a network's completion times only where
    several flows have such, queues where something waited, and ratios of losses where something
    was lost. What only some cells have is left out.

    Args:
        runs: The summaries of each arm.
    """
    arms = [each for each in runs if each]
    if not arms:
        return []
    first = arms[0][0]
    members = _members(first)
    # Where a count is swept from 1, a later cell lists the group that in the first is one flow.
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
    """The few of a table's rows that a line of a sweep's table has room for.

    Throughput, latency, completion times and losses, of the first that has them; what a queue or
    probe adds to another of its kind is in the JSON.
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
    """What a precision is asked of: rates, mean delays and mean completion times."""
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
    """Flows with transfers; equal ones count once."""
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
