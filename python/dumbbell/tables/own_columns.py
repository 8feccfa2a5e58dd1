"""Columns of the tables of ``sfb`` and of the RED of ``sfq``: what ``tc -s`` prints of them."""

from __future__ import annotations

from dumbbell.tables.column import AT, QUEUE, Column, packets_column

SFB_SAMPLES = (
    AT,
    QUEUE,
    packets_column("early_dropped_pkts", "Dropped so far by the probability of their bins."),
    packets_column(
        "penalty_dropped_pkts",
        "Dropped so far because their bins had probability 1 and the penalty rate had no token.",
    ),
    packets_column("bin_dropped_pkts", "Dropped so far because each of their bins was full."),
    packets_column("limit_dropped_pkts", "Dropped so far at the limit of the queue."),
    packets_column("child_dropped_pkts", "Refused so far by the inner discipline."),
    packets_column("marked_pkts", "Marked (ECN CE) so far."),
    Column("longest_bin_pkts", "int64", "packets", "sampled", "Packets in the longest bin."),
    Column("largest_probability", "float64", "", "sampled", "Of the bins."),
    Column("mean_probability", "float64", "", "sampled", "Of all bins, in whole steps of 1/65535."),
)

_FORCED = "from `max` on"
SFQ_RED_SAMPLES = (
    AT,
    QUEUE,
    packets_column("early_marked_pkts", "Marked so far on arrival, with RED's probability."),
    packets_column(
        "early_marked_oldest_pkts",
        "The oldest of their flow, marked so far with RED's probability (`headdrop`).",
    ),
    packets_column("early_dropped_pkts", "Dropped so far with RED's probability."),
    packets_column("forced_marked_pkts", f"Marked so far on arrival, {_FORCED}."),
    packets_column(
        "forced_marked_oldest_pkts",
        f"The oldest of their flow, marked so far {_FORCED} (`headdrop`).",
    ),
    packets_column("forced_dropped_pkts", f"Dropped so far {_FORCED}."),
)
