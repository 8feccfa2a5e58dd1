"""Columns of the tables of the discipline ``cake``: what ``tc -s qdisc`` prints of it."""

from __future__ import annotations

from dumbbell.tables.column import (
    AT,
    QUEUE,
    Column,
    bytes_column,
    identity_column,
    packets_column,
    queues_column,
)

CAKE_SAMPLES = (
    AT,
    QUEUE,
    bytes_column("most_memory_bytes", "Most kernel memory that packets used so far."),
    bytes_column("memory_limit_bytes", "Its limit."),
    Column("capacity_bps", "int64", "bit/s", "exact", "Rate of the shaper; 0 without one."),
    bytes_column(
        "network_min_bytes", "Smallest size before the overhead; 65535 before any packet."
    ),
    bytes_column("network_max_bytes", "Largest size before the overhead; 0 before any packet."),
    bytes_column(
        "adjusted_min_bytes", "Smallest size that the shaper counted; 65535 before any packet."
    ),
    bytes_column(
        "adjusted_max_bytes", "Largest size that the shaper counted; 0 before any packet."
    ),
    bytes_column(
        "header_mean_bytes", "Mean length of the header before the IP header, weights of 1/256."
    ),
)

TIN_SAMPLES = (
    AT,
    QUEUE,
    identity_column(
        "tin", "Number of the tin from 0; that of the lowest priority first, as in tc."
    ),
    Column(
        "threshold_bps", "int64", "bit/s", "exact", "Its share of the rate; 0 without a shaper."
    ),
    Column("target_ns", "int64", "ns", "exact", "Target of COBALT."),
    Column("interval_ns", "int64", "ns", "exact", "Interval of COBALT."),
    Column(
        "peak_delay_ns",
        "int64",
        "ns",
        "sampled",
        "Mean sojourn time of departed packets; a longer one has the weight 1/4, another 1/256.",
    ),
    Column(
        "mean_delay_ns", "int64", "ns", "sampled", "The same; each packet has the weight 1/256."
    ),
    Column(
        "base_delay_ns",
        "int64",
        "ns",
        "sampled",
        "The same; a shorter one has the weight 1/4, another 1/256.",
    ),
    Column("backlog_bytes", "int64", "bytes", "sampled", "In its queues."),
    packets_column("arrived_pkts", "Arrived so far, dropped ones included."),
    bytes_column("arrived_bytes", "Their bytes on the wire."),
    packets_column("way_indirect_hits", "Whose flow had a queue other than the first of its set."),
    packets_column("way_misses", "For which a free queue was taken."),
    packets_column("way_collisions", "Which share a queue because all of their set were used."),
    packets_column("dropped_pkts", "Dropped so far, without `ack_dropped_pkts`."),
    packets_column("marked_pkts", "Marked (ECN CE) so far."),
    packets_column("ack_dropped_pkts", "Acknowledgements dropped by `ack-filter` so far."),
    queues_column("sparse_flows", "Queues within their first turn, or empty and not removed yet."),
    queues_column("bulk_flows", "Backlogged queues."),
    queues_column("unresponsive_flows", "Queues in which BLUE drops."),
    bytes_column("largest_bytes", "Size of the largest packet so far, on the wire."),
    bytes_column("quantum_bytes", "Quantum of its queues."),
)
