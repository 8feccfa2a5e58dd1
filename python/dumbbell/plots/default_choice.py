"""Defaults of figures: the bottleneck, and the flows through it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dumbbell.tables import Run

MOST_CURVES = 6
"""Number of distinguishable colours."""


def bottleneck(run: Run) -> str | None:
    """The queue in which packets waited most: by the integral of its backlog, then by drops.

    None if no packet waited, or an import does not have the data.
    """
    if "queues" not in run.tables or not len(run.column("queues", "queue")):
        return None
    waited = np.nan_to_num(run.column("queues", "backlog_mean_pkts"))
    dropped = run.column("queues", "dropped_overlimit_pkts") + run.column(
        "queues", "dropped_aqm_pkts"
    )
    # A queue that drops at once, without a packet waiting, is chosen where no other has a backlog.
    score = waited + 1e-9 * dropped
    most = int(np.argmax(score))
    return run.queue_names[most] if score[most] > 0 else None


def tcp_flows(run: Run) -> list[str]:
    """Flows with a congestion window at some sample."""
    if "flow_samples" not in run.tables:
        return []
    flows = run.column("flow_samples", "flow")[run.column("flow_samples", "cwnd_pkts") >= 0]
    return [run.flow_names[index] for index in np.unique(flows).tolist()]


def drawn_flows(run: Run, flows: Sequence[str] | None) -> list[str]:
    """The given flows, or those that delivered most, in the order of the description."""
    if flows is not None:
        return [run.flow_names[run.flow(each)] for each in flows]
    names = run.flow_names
    if len(names) <= MOST_CURVES:
        return names
    most = np.argsort(-run.column("flows", "delivered_bytes"), kind="stable")[:MOST_CURVES]
    return [names[index] for index in sorted(most.tolist())]
