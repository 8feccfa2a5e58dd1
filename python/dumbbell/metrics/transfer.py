"""Transfers: every connection of a flow, or of all flows, a value each.

Functions return one value a connection, in the order of the table ``transfers``. All count over the
whole run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dumbbell.metrics.path import NS_PER_S, resolved_of
from dumbbell.metrics.registry import metric
from dumbbell.tables import Run

__all__ = [
    "base_rtts_s",
    "begun_transfers",
    "completed_transfers",
    "completion_time_quantiles_s",
    "completion_time_s",
    "mean_completion_time_s",
    "repeated_share",
    "slowdown",
    "throughput_at_receiver_bps",
    "transfer_loss_ratio",
]

Floats = NDArray[np.float64]
_SECTION = "Transfers over TCP"


Flows: TypeAlias = str | int | Sequence[str | int] | None
"""Some flows; all when None."""


def _column(run: Run, name: str, flow: Flows) -> NDArray[np.int64]:
    if flow is None:
        return run.column("transfers", name)
    if isinstance(flow, str | int):
        return run.column("transfers", name, flow=flow)
    chosen = np.isin(run.column("transfers", "flow"), [run.flow(each) for each in flow])
    return run.column("transfers", name)[chosen]


def _known(values: NDArray[np.int64]) -> Floats:
    """As numbers, with NaN where the table has -1: none, or not known."""
    return np.where(values >= 0, values, np.nan)


@metric("s", _SECTION)
def completion_time_s(run: Run, flow: Flows = None) -> Floats:
    """From the start of a transfer's connection until the receiver had all of it.

    NaN where it had not before the end of the run. Shape (transfers,).
    """
    completed = _known(_column(run, "completed_ns", flow))
    taken: Floats = (completed - _column(run, "started_ns", flow)) / NS_PER_S
    return taken


@metric("transfers", _SECTION)
def begun_transfers(run: Run, flow: Flows = None) -> int:
    """Transfers that were begun; those of greedy flows, which have no end, do not count."""
    return int((_column(run, "bytes", flow) >= 0).sum())


@metric("transfers", _SECTION)
def completed_transfers(run: Run, flow: Flows = None) -> int:
    """Transfers that the receiver had all of before the end of the run."""
    return int(np.isfinite(completion_time_s(run, flow)).sum())


@metric("s", _SECTION)
def mean_completion_time_s(run: Run, flow: Flows = None) -> float:
    """Mean of `completion_time_s` over the transfers that were completed; NaN without any.

    Transfers that were not, mostly long ones, are left out: see `completed_transfers` beside
    `begun_transfers`.
    """
    taken = _completed(run, flow)
    return float(taken.mean()) if len(taken) else float("nan")


@metric("s", _SECTION)
def completion_time_quantiles_s(run: Run, q: ArrayLike, flow: Flows = None) -> Floats:
    """Sample quantiles of `completion_time_s` over the transfers that were completed.

    As R's ``quantile`` (type 7) and NumPy compute them; `mean_completion_time_s` says who is left
    out.

    Args:
        run: The run.
        q: Levels in [0, 1], any shape.
        flow: Name or index, or several, pooled; all when None.

    Returns:
        An array of the shape of ``q``; NaN where none was completed.
    """
    taken, levels = _completed(run, flow), np.asarray(q, dtype=np.float64)
    return np.quantile(taken, levels) if len(taken) else np.full(levels.shape, np.nan)


def _completed(run: Run, flow: Flows) -> Floats:
    taken = completion_time_s(run, flow)
    return taken[np.isfinite(taken)]


@metric("1", _SECTION)
def slowdown(run: Run, flow: Flows = None) -> Floats:
    """Completion time over the least that the path allows.

    The least is a handshake (a base round-trip time), the way there (half of one) and the payload
    at the rate of the narrowest link; windows that grow are not allowed for, so that a transfer of
    several windows has a slowdown above 1 on an empty path too. NaN where it was not completed.
    Shape (transfers,).
    """
    base_rtt, per_byte = np.array(_paths(run)).reshape(-1, 2).T
    of = _column(run, "flow", flow)
    least = 1.5 * base_rtt[of] + per_byte[of] * _column(run, "bytes", flow)
    relative: Floats = completion_time_s(run, flow) / least
    return relative


@metric("bit/s", _SECTION)
def throughput_at_receiver_bps(run: Run, flow: Flows = None) -> Floats:
    """Bits of a connection's packets over the time between its first and its last, at its receiver.

    With IP headers, what was sent again included. Behind the last queue that can lose packets, this
    is what a capture there shows: the times differ by a constant. It leaves out the round trips
    before the first and after the last packet. NaN for connections with fewer than two packets,
    which have no duration. Shape (transfers,).
    """
    first, last = (
        _known(_column(run, name, flow)) for name in ("first_received_ns", "last_received_ns")
    )
    bits = 8 * _known(_column(run, "received_bytes", flow))
    duration = np.where(last > first, last - first, np.nan) / NS_PER_S
    rate: Floats = bits / duration
    return rate


@metric("1", _SECTION)
def repeated_share(run: Run, flow: Flows = None) -> Floats:
    """Packets of a connection that carry what was sent before, over all of it that arrived.

    What a capture behind the queue calls loss when it counts retransmissions over packets (tshark's
    ``tcp.analysis.retransmission``): dropped packets are never in it. A dropped packet sent twice
    counts once, a needless retransmission counts, and a lost SYN does not. tshark calls some of
    them out of order instead, so this is the most that its flag would show. NaN where nothing
    arrived. Shape (transfers,).
    """
    arrived = _known(_column(run, "received_pkts", flow))
    share: Floats = _known(_column(run, "received_again_pkts", flow)) / np.where(
        arrived > 0, arrived, np.nan
    )
    return share


@metric("1", _SECTION)
def transfer_loss_ratio(run: Run, flow: Flows = None) -> Floats:
    """Packets of a connection dropped or lost anywhere over those whose fate is known.

    NaN where no packet's fate is known. Shape (transfers,).
    """
    dropped = _known(_column(run, "dropped_pkts", flow))
    decided = dropped + _known(_column(run, "received_pkts", flow))
    ratio: Floats = dropped / np.where(decided > 0, decided, np.nan)
    return ratio


@metric("s", _SECTION)
def base_rtts_s(run: Run) -> Floats:
    """Base round-trip time of each flow: the links' delays both ways, no queues. Shape (flows,)."""
    return np.array([rtt for rtt, _ in _paths(run)])


def _paths(run: Run) -> list[tuple[float, float]]:
    """(base round-trip time in s, seconds a byte takes at the narrowest link) of each flow."""
    described = resolved_of(run)
    ends = [(flow.from_, flow.to) for flow in described.flows]
    known: dict[tuple[str, str], tuple[float, float]] = {}
    for start, end in dict.fromkeys(ends):
        there, back = described.route(start, end), described.route(end, start)
        rates = [queue.served_bps for queue in there if queue.served_bps]
        delay_ns = sum(queue.delay_ns for queue in [*there, *back])
        known[start, end] = delay_ns / NS_PER_S, 8 / min(rates) if rates else 0.0
    return [known[each] for each in ends]
