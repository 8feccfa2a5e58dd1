"""Flows: data sent and received by applications."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.metrics.bins import Bins, Floats, quantile_of_bins
from dumbbell.metrics.path import NS_PER_S, resolved_of
from dumbbell.metrics.registry import metric
from dumbbell.tables import Run

__all__ = [
    "delay_quantile_s",
    "flow_loss_ratio",
    "goodput_bps",
    "max_delay_s",
    "mean_delay_s",
    "retransmitted_share",
    "sending_rate_bps",
    "sending_rate_pps",
    "srtt_quantile_s",
]

_SECTION = "Flows"


def time_on_s(run: Run, flow: str | int) -> float:
    """Seconds of the measured window in which the flow may send: its start to its stop.

    A random start (jitter) counts from its earliest time.
    """
    described = resolved_of(run)
    of_flow = described.flow(run.flow(flow))
    start = max(described.warm_up_ns, of_flow.start_ns)
    stop = min(described.duration_ns, of_flow.stop_ns)
    return float(max(0, stop - start)) / NS_PER_S


def _one(run: Run, flow: str | int, column: str) -> float:
    return float(run.column("flows", column, flow=flow)[0])


def _per_time_on(run: Run, flow: str | int, amount: float) -> float:
    time_on = time_on_s(run, flow)
    return amount / time_on if time_on else float("nan")


def _is_over_tcp(run: Run, flow: str | int) -> bool:
    return resolved_of(run).flow(run.flow(flow)).transport == "tcp"


@metric("datagrams/s", _SECTION)
def sending_rate_pps(run: Run, flow: str | int) -> float:
    """Datagrams sent per second while the flow is on (measured window, its start to its stop).

    A datagram counts once, however many fragments it takes; `arrival_rate_pps` counts those.
    NaN for a TCP flow, which has no datagrams.
    """
    if _is_over_tcp(run, flow):
        return float("nan")
    return _per_time_on(run, flow, _one(run, flow, "sent_datagrams"))


@metric("bit/s", _SECTION)
def sending_rate_bps(run: Run, flow: str | int) -> float:
    """Bits of payload sent per second while the flow is on; no headers."""
    return _per_time_on(run, flow, 8 * _one(run, flow, "sent_payload_bytes"))


@metric("bit/s", _SECTION)
def goodput_bps(run: Run, flow: str | int) -> float:
    """Bits of payload received in whole datagrams per second while the flow is on.

    The time is the part of the measured window between the flow's start and stop; data that arrive
    after the stop count. A datagram with a lost fragment does not count.
    """
    return _per_time_on(run, flow, 8 * _one(run, flow, "received_payload_bytes"))


@metric("1", _SECTION)
def flow_loss_ratio(run: Run, flow: str | int | Sequence[str | int]) -> float:
    """Packets dropped or lost anywhere over packets delivered, dropped or lost; whole run.

    Packets in flight at the end are not counted. Over the packets of all flows together if several
    are given. NaN if no packet was delivered, dropped or lost, and where drops are unknown, as on
    the kernel over a link with losses.
    """
    drops = [_one(run, each, "dropped_pkts") for each in _listed(flow)]
    decided = sum(drops) + _sum(run, flow, "delivered_pkts")
    is_known = all(each >= 0 for each in drops)
    return sum(drops) / decided if is_known and decided else float("nan")


@metric("s", _SECTION)
def mean_delay_s(run: Run, flow: str | int | Sequence[str | int]) -> float:
    """Mean one-way delay of packets created in the measured window and delivered.

    Over the packets of all flows together when several are given. NaN without any.
    """
    flows = _listed(flow)
    counts = np.array([_one(run, each, "delay_count") for each in flows])
    means = np.array([_one(run, each, "delay_mean_s") for each in flows])
    present = counts > 0
    if not present.any():
        return float("nan")
    return float(np.average(means[present], weights=counts[present]))


@metric("s", _SECTION)
def max_delay_s(run: Run, flow: str | int | Sequence[str | int]) -> float:
    """Maximum one-way delay of packets created in the measured window; exact. NaN without any."""
    longest = max(_one(run, each, "delay_max_ns") for each in _listed(flow))
    return longest / NS_PER_S if longest >= 0 else float("nan")


def flow_delay_bins(run: Run, flow: str | int | Sequence[str | int]) -> Bins:
    """Edges (seconds) and weights (packets) of the histogram of one-way delays: low, high, weight.

    The histograms of several flows are merged; empty for runs without histograms: those of versions
    before 0.2 and imported ones.
    """
    columns = run.tables.get("flow_delays")
    if columns is None:
        return np.empty(0), np.empty(0), np.empty(0)
    # Rows are in the order of flows, so a binary search suffices; a scan for each of thousands of
    # flows would be slow.
    indices = np.array([run.flow(each) for each in _listed(flow)], columns["flow"].dtype)
    starts = np.searchsorted(columns["flow"], indices, side="left")
    ends = np.searchsorted(columns["flow"], indices, side="right")
    spans = [slice(*span) for span in zip(starts, ends, strict=True)]
    low_ns, high_ns, weight = (
        np.concatenate([columns[name][rows] for rows in spans]).astype(np.float64)
        for name in ("low_ns", "high_ns", "pkts")
    )
    if len(spans) > 1:
        low_ns, first, bins = np.unique(low_ns, return_index=True, return_inverse=True)
        high_ns, weight = high_ns[first], np.bincount(bins, weights=weight).astype(np.float64)
    return low_ns / NS_PER_S, high_ns / NS_PER_S, weight


@metric("s", _SECTION)
def delay_quantile_s(run: Run, flow: str | int | Sequence[str | int], q: ArrayLike) -> Floats:
    """Quantiles of the one-way delays of packets created in the measured window and delivered.

    From bins of 1/128 relative width, linear inside a bin: within 0.8 % of the exact quantile, and
    at most the exact maximum. Over the packets of all flows together if several are given.

    Args:
        run: The run.
        flow: Name or index, or several.
        q: Levels in [0, 1], any shape.

    Returns:
        An array of the shape of ``q``; NaN without packets, and if single packets are not known
        (TCP flows on the kernel, imported runs).
    """
    return quantile_of_bins(flow_delay_bins(run, flow), q, max_delay_s(run, flow))


@metric("1", _SECTION)
def retransmitted_share(run: Run, flow: str | int | Sequence[str | int]) -> float:
    """Retransmitted segments over packets sent; whole run.

    ``retrans`` over ``data_segs_out`` of ``ss``, except that the packets of the handshake count as
    sent. Over all flows together if several are given. NaN if one does not use TCP, or sent
    nothing.
    """
    flows = _listed(flow)
    again = [_one(run, each, "retransmitted_pkts") for each in flows]
    sent = _sum(run, flow, "created_pkts")
    return sum(again) / sent if sent > 0 and min(again) >= 0 else float("nan")


@metric("s", _SECTION)
def srtt_quantile_s(run: Run, flow: str | int | Sequence[str | int], q: ArrayLike) -> Floats:
    """Quantiles of the sampled smoothed round-trip times (RFC 6298) of senders.

    Over the samples in the measured window, pooled over all flows if several are given, computed as
    by R's `quantile` (type 7) and NumPy. Successive samples of a sender are correlated.

    Args:
        run: A run with ``sample_interval``.
        flow: Name or index, or several; over TCP.
        q: Levels in [0, 1], any shape.

    Returns:
        An array of the shape of ``q``; NaN without samples.
    """
    warm_up_ns = resolved_of(run).warm_up_ns
    taken = []
    for each in _listed(flow):
        times_ns = run.column("flow_samples", "t_ns", flow=each)
        srtts_ns = run.column("flow_samples", "srtt_ns", flow=each)
        taken.append(srtts_ns[(times_ns >= warm_up_ns) & (srtts_ns >= 0)])
    samples_ns = np.concatenate(taken)
    if not len(samples_ns):
        return np.full(np.shape(q), np.nan)
    return np.asarray(np.quantile(samples_ns, np.asarray(q, dtype=np.float64)) / NS_PER_S)


def _listed(flow: str | int | Sequence[str | int]) -> Sequence[str | int]:
    return [flow] if isinstance(flow, str | int) else flow


def _sum(run: Run, flow: str | int | Sequence[str | int], column: str) -> float:
    return sum(_one(run, each, column) for each in _listed(flow))
