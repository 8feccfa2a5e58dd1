"""Transfers: one value per connection of a flow, or of all flows.

Arrays are in the order of the table ``transfers``. All metrics cover the whole run.
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
    """Values as floats, with NaN for the table's -1 (none or unknown)."""
    return np.where(values >= 0, values, np.nan)


@metric("s", _SECTION)
def completion_time_s(run: Run, flow: Flows = None) -> Floats:
    """Time from the start of a transfer's connection until the receiver has all data.

    NaN if the transfer was not complete at the end of the run. Shape (transfers,).
    """
    completed = _known(_column(run, "completed_ns", flow))
    taken: Floats = (completed - _column(run, "started_ns", flow)) / NS_PER_S
    return taken


@metric("transfers", _SECTION)
def begun_transfers(run: Run, flow: Flows = None) -> int:
    """Number of transfers begun; greedy flows, which have no end, do not count."""
    return int((_column(run, "bytes", flow) >= 0).sum())


@metric("transfers", _SECTION)
def completed_transfers(run: Run, flow: Flows = None) -> int:
    """Number of transfers completed before the end of the run."""
    return int(np.isfinite(completion_time_s(run, flow)).sum())


@metric("s", _SECTION)
def mean_completion_time_s(run: Run, flow: Flows = None) -> float:
    """Mean of `completion_time_s` over the completed transfers; NaN without any.

    Incomplete transfers, mostly long ones, are left out: compare `completed_transfers` with
    `begun_transfers`.
    """
    taken = _completed(run, flow)
    return float(taken.mean()) if len(taken) else float("nan")


@metric("s", _SECTION)
def completion_time_quantiles_s(run: Run, q: ArrayLike, flow: Flows = None) -> Floats:
    """Sample quantiles of `completion_time_s` over the completed transfers.

    Computed as by R's ``quantile`` (type 7) and NumPy; incomplete transfers are left out, as in
    `mean_completion_time_s`.

    Args:
        run: The run.
        q: Levels in [0, 1], any shape.
        flow: Name or index, or several, pooled; all if None.

    Returns:
        An array of the shape of ``q``; NaN if none was completed.
    """
    taken, levels = _completed(run, flow), np.asarray(q, dtype=np.float64)
    return np.quantile(taken, levels) if len(taken) else np.full(levels.shape, np.nan)


def _completed(run: Run, flow: Flows) -> Floats:
    taken = completion_time_s(run, flow)
    return taken[np.isfinite(taken)]


@metric("1", _SECTION)
def slowdown(run: Run, flow: Flows = None) -> Floats:
    """Completion time over the minimum that the path allows.

    The minimum is the handshake (one base round-trip time), the one-way delay (half of it) and the
    transmission of the payload at the rate of the slowest link. It ignores slow start, so a
    transfer of several windows has a slowdown above 1 on an idle path too. NaN for incomplete
    transfers. Shape (transfers,).
    """
    base_rtt, per_byte = np.array(_paths(run)).reshape(-1, 2).T
    of = _column(run, "flow", flow)
    least = 1.5 * base_rtt[of] + per_byte[of] * _column(run, "bytes", flow)
    relative: Floats = completion_time_s(run, flow) / least
    return relative


@metric("bit/s", _SECTION)
def throughput_at_receiver_bps(run: Run, flow: Flows = None) -> Floats:
    """Bits of a connection's packets over the time between its first and its last, at its receiver.

    Includes IP headers and retransmissions. A capture after the last queue that can drop packets
    shows the same rate, because its times differ by a constant. The round trips before the first
    and after the last packet are not included. NaN for connections with fewer than two packets,
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
    """Retransmitted packets of a connection over all its packets that arrived.

    This is the loss ratio that a capture after the queue shows if it counts retransmissions over
    packets (tshark's ``tcp.analysis.retransmission``); it never contains the dropped packets
    themselves. A retransmission of a dropped packet counts once, a spurious retransmission counts,
    and a lost SYN does not. tshark marks some of them as out of order instead, so this is an upper
    bound of its flag. NaN if no packet arrived. Shape (transfers,).
    """
    arrived = _known(_column(run, "received_pkts", flow))
    share: Floats = _known(_column(run, "received_again_pkts", flow)) / np.where(
        arrived > 0, arrived, np.nan
    )
    return share


@metric("1", _SECTION)
def transfer_loss_ratio(run: Run, flow: Flows = None) -> Floats:
    """Packets of a connection dropped or lost anywhere over those delivered, dropped or lost.

    NaN if no packet was delivered, dropped or lost. Shape (transfers,).
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
    """(base round-trip time in s, transmission time of a byte at the slowest link in s) of each
    flow."""
    described = resolved_of(run)
    ends = [(flow.from_, flow.to) for flow in described.flows]
    known: dict[tuple[str, str], tuple[float, float]] = {}
    for start, end in dict.fromkeys(ends):
        there, back = described.route(start, end), described.route(end, start)
        rates = [queue.served_bps for queue in there if queue.served_bps]
        delay_ns = sum(queue.delay_ns for queue in [*there, *back])
        known[start, end] = delay_ns / NS_PER_S, 8 / min(rates) if rates else 0.0
    return [known[each] for each in ends]
