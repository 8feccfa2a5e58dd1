"""Samples of a TCP sender: levels at the sampling times, exact rates in the intervals between.

The interval is the run's ``sample_interval``. Coefficients of variation and means of nonlinear
functions of the throughput depend on it, so tables state it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.errors import DumbbellError
from dumbbell.metrics.path import NS_PER_S, resolved_of
from dumbbell.spec.resolved import Queue, TcpSettings
from dumbbell.tables import Run

Floats = NDArray[np.float64]
HEADERS_BYTES = 40
"""IPv4 and TCP without options."""
HANDSHAKE_PKTS = 2
"""SYN, and the acknowledgement that ends the handshake: they arrive without payload."""
TIMESTAMPS_BYTES = 12
"""Timestamps option (RFC 7323), padded."""


@dataclass(frozen=True, slots=True)
class TcpSeries:
    """One flow's samples while it is on, in the measured window; arrays of shape (intervals,).

    Attributes:
        t_s: Ends of the intervals, from the run's start.
        interval_s: Lengths of the intervals.
        throughput_mbps: Payload of the segments that arrived in the interval over its length,
            in order or not: arrived packets less the two of the handshake, times a full segment.
        read_mbps: Payload read in order in the interval over its length; exact.
        sending_rate_mbps: Payload sent, including retransmissions; exact except for retransmitted
            segments that were not full.
        cwnd_pkts: Congestion window at the sampling time; NaN if unknown.
        in_flight_pkts: Segments in flight at the sampling time.
        srtt_ms: Smoothed round-trip time at the sampling time.
        delivery_rate_mbps: The sender's estimate at the sampling time.
    """

    t_s: Floats
    interval_s: Floats
    throughput_mbps: Floats
    read_mbps: Floats
    sending_rate_mbps: Floats
    cwnd_pkts: Floats
    in_flight_pkts: Floats
    srtt_ms: Floats
    delivery_rate_mbps: Floats


def tcp_series(run: Run, flow: str | int) -> TcpSeries:
    """A flow's samples.

    Raises:
        DumbbellError: The run has no samples, or none while the flow is on.
    """
    began_ns, ended_ns = time_on_ns(run, flow)
    t_ns = run.column("flow_samples", "t_ns", flow=flow)
    if not t_ns.size:
        raise DumbbellError("this run has no samples: give it a sample_interval")
    # The first interval starts at the first sample, or with zero counters.
    inside = (t_ns > began_ns) & (t_ns <= ended_ns)
    if not inside.any():
        raise DumbbellError(f"no sample while the flow {flow} is on: sample more often")
    before = np.flatnonzero(t_ns <= began_ns)

    def total(name: str) -> Floats:
        values = run.column("flow_samples", name, flow=flow)
        first = float(values[before[-1]]) if before.size else 0.0
        return np.concatenate(([first], values[inside].astype(np.float64)))

    def level(name: str, scale: float = 1.0) -> Floats:
        values = run.column("flow_samples", name, flow=flow)[inside].astype(np.float64)
        out: Floats = np.where(values < 0, np.nan, values * scale)
        return out

    opened = float(t_ns[before[-1]]) if before.size else float(began_ns)
    t_s = np.concatenate(([opened], t_ns[inside].astype(np.float64))) / NS_PER_S
    interval_s = np.diff(t_s)
    segment = segment_bytes(run, flow)
    arrived = np.maximum(total("delivered_pkts") - HANDSHAKE_PKTS, 0.0)
    sent = total("sent_payload_bytes") + total("retransmitted_pkts") * segment
    return TcpSeries(
        t_s=t_s[1:],
        interval_s=interval_s,
        throughput_mbps=8e-6 * segment * np.diff(arrived) / interval_s,
        read_mbps=8e-6 * np.diff(total("delivered_payload_bytes")) / interval_s,
        sending_rate_mbps=8e-6 * np.diff(sent) / interval_s,
        cwnd_pkts=level("cwnd_pkts"),
        in_flight_pkts=level("inflight_pkts"),
        srtt_ms=level("srtt_ns", 1e-6),
        delivery_rate_mbps=level("delivery_rate_bps", 1e-6),
    )


def tcp_of(run: Run, flow: str | int) -> TcpSettings:
    """Settings of a flow.

    Raises:
        DumbbellError: The flow does not use TCP, or the run has no description.
    """
    found = resolved_of(run).flow(run.flow(flow))
    if found.tcp is None:
        raise DumbbellError(f"{found.name} does not go over TCP")
    return found.tcp


def time_on_ns(run: Run, flow: str | int) -> tuple[int, int]:
    """From the flow's earliest start (or the warm-up's end) to its stop."""
    described = resolved_of(run)
    of_flow = described.flow(run.flow(flow))
    began = max(described.warm_up_ns, of_flow.start_ns)
    return began, min(described.duration_ns, of_flow.stop_ns)


def route(run: Run, flow: str | int, *, back: bool = False) -> list[Queue]:
    """Queues on the path of the flow's segments, or of their acknowledgements."""
    described = resolved_of(run)
    of_flow = described.flow(run.flow(flow))
    ends = (of_flow.to, of_flow.from_) if back else (of_flow.from_, of_flow.to)
    return described.route(*ends)


def segment_bytes(run: Run, flow: str | int) -> int:
    """Payload of a full segment, from the path MTU."""
    mtu = min(queue.mtu_bytes for queue in route(run, flow))
    options = TIMESTAMPS_BYTES if tcp_of(run, flow).timestamps else 0
    return mtu - HEADERS_BYTES - options


def base_rtt_s(run: Run, flow: str | int) -> float:
    """Round-trip propagation delay, without transmission times."""
    queues = [*route(run, flow), *route(run, flow, back=True)]
    return sum(queue.delay_ns for queue in queues) / NS_PER_S


def policing_rate_bps(run: Run, queue: int) -> float:
    """Long-term rate of a queue: that of the discipline or of the transmitter."""
    return _long_term_bps(resolved_of(run).queue(queue))


def _long_term_bps(queue: Queue) -> float:
    return float(queue.passed_bps or np.inf)


def peak_rate_bps(run: Run, queue: int) -> float:
    """Peak rate of a queue: that of a token bucket's ``peakrate``, or of the transmitter.

    The policing rate if there is neither.
    """
    end = resolved_of(run).queue(queue)
    rates = [rate for rate in (end.rate_bps, end.qdisc.peakrate_bps) if rate]
    return float(min(rates, default=end.served_bps or np.inf))


def bottleneck(run: Run, flow: str | int) -> int:
    """The queue on the flow's path with the smallest long-term rate; the first if several are
    equal.

    Raises:
        DumbbellError: No link on the path has a rate.
    """
    slowest = min(route(run, flow), key=_long_term_bps)
    if not np.isfinite(_long_term_bps(slowest)):
        raise DumbbellError(f"nothing limits the rate of {flow}")
    return slowest.index


def mean(values: Floats) -> float:
    """Mean of the values that are not NaN; NaN without any."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


def coefficient_of_variation(values: Floats) -> float:
    """Sample standard deviation over mean of the values that are not NaN; NaN for fewer than
    two."""
    known = values[np.isfinite(values)]
    if known.size < 2 or not known.mean():
        return float("nan")
    return float(known.std(ddof=1) / known.mean())
