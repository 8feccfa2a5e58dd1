"""Rows of the table of flows. ``sampled`` in a definition means over the run's sampling
intervals."""

from __future__ import annotations

import numpy as np

from dumbbell.metrics.ccperf.row import ANY_NUMBER, FRACTION, row
from dumbbell.metrics.ccperf.series import (
    base_rtt_s,
    bottleneck,
    coefficient_of_variation,
    mean,
    peak_rate_bps,
    policing_rate_bps,
    segment_bytes,
    tcp_of,
    tcp_series,
    time_on_ns,
)
from dumbbell.metrics.flow import flow_loss_ratio
from dumbbell.metrics.path import NS_PER_S, resolved_of
from dumbbell.tables import NO_INSTANT, Run

__all__ = [
    "convergence_time_l4",
    "cov_cwnd_l4",
    "cov_in_flight_l4",
    "cov_throughput_l4",
    "flow_completion_time_l4",
    "loss_ratio_l4",
    "mean_cwnd_l4",
    "mean_delivery_rate_l4",
    "mean_est_qdelay_l4",
    "mean_in_flight_l4",
    "mean_network_power_l4",
    "mean_one_way_delay_l3",
    "mean_one_way_delay_l7",
    "mean_sending_rate_l4",
    "mean_sending_rate_l7",
    "mean_srtt_l4",
    "mean_throughput_l4",
    "mean_throughput_l7",
    "mean_utility_mpdf_l4",
    "mean_utility_pf_l4",
    "mean_utilization_bdp_l4",
    "mean_utilization_bw_l4",
    "mean_utilization_policing_bdp_l4",
    "mean_utilization_policing_bw_l4",
    "network_power_of_means_l4",
    "total_retransmissions_l4",
    "total_rtos_l4",
]

CONVERGED_WITHIN = 0.2
"""Convergence band, relative to the mean of the second half."""
CONVERGENCE_WINDOW_S = 1.0


def _one(run: Run, flow: str | int, column: str) -> float:
    return float(run.column("flows", column, flow=flow)[0])


def _count(run: Run, flow: str | int, column: str) -> float:
    value = _one(run, flow, column)
    return value if value >= 0 else float("nan")


@row("1", "flow", is_published=True)
def cov_in_flight_l4(run: Run, flow: str | int) -> float:
    """Coefficient of variation (standard deviation over mean) of the segments in flight, sampled.

    In flight are segments sent and neither acknowledged nor considered lost (RFC 6675's pipe).
    """
    return coefficient_of_variation(tcp_series(run, flow).in_flight_pkts)


@row("1", "flow", "less", is_published=True)
def cov_throughput_l4(run: Run, flow: str | int) -> float:
    """Coefficient of variation of the throughput in the sampling intervals.

    It depends on the sampling interval: the throughput varies more in shorter intervals.
    """
    return coefficient_of_variation(tcp_series(run, flow).throughput_mbps)


@row("1", "flow")
def cov_cwnd_l4(run: Run, flow: str | int) -> float:
    """Coefficient of variation of the congestion window, sampled."""
    return coefficient_of_variation(tcp_series(run, flow).cwnd_pkts)


@row("s", "flow", "less", is_published=True)
def flow_completion_time_l4(run: Run, flow: str | int) -> float:
    """Lifetime: from the flow's start until its last transfer is complete, or until its stop.

    For a greedy flow it is its stop less its start.
    """
    began, stop = resolved_of(run).flow(run.flow(flow)).start_ns, time_on_ns(run, flow)[1]
    completed = run.column("transfers", "completed_ns", flow=flow)
    if completed.size and not (completed == NO_INSTANT).any():
        stop = int(completed.max())
    return float(stop - began) / NS_PER_S


@row("segments", "flow", is_published=True)
def mean_cwnd_l4(run: Run, flow: str | int) -> float:
    """Mean congestion window, sampled."""
    return mean(tcp_series(run, flow).cwnd_pkts)


@row("Mbit/s", "flow", "greater", is_published=True)
def mean_delivery_rate_l4(run: Run, flow: str | int) -> float:
    """Mean of the sender's own estimate of its delivery rate, sampled.

    As Linux's ``tcpi_delivery_rate``: the last estimate is valid until the next update, and an
    application-limited estimate counts only if it is higher.
    """
    return mean(tcp_series(run, flow).delivery_rate_mbps)


@row("ms", "flow", "less", is_published=True, bounds=ANY_NUMBER)
def mean_est_qdelay_l4(run: Run, flow: str | int) -> float:
    """Mean smoothed round-trip time, sampled, less the round-trip propagation delay."""
    return mean_srtt_l4(run, flow) - 1e3 * base_rtt_s(run, flow)


@row("segments", "flow", is_published=True)
def mean_in_flight_l4(run: Run, flow: str | int) -> float:
    """Mean of the segments in flight, sampled; in flight as in `cov_in_flight_l4`."""
    return mean(tcp_series(run, flow).in_flight_pkts)


@row("Mbit/s per s", "flow", "greater", is_published=True)
def mean_network_power_l4(run: Run, flow: str | int) -> float:
    """Mean over sampling intervals of throughput over smoothed round-trip time (Kleinrock's power).

    A mean of ratios, as published: it exceeds the ratio of the means.
    """
    series = tcp_series(run, flow)
    return mean(1e3 * series.throughput_mbps / series.srtt_ms)


@row("Mbit/s per s", "flow", "greater")
def network_power_of_means_l4(run: Run, flow: str | int) -> float:
    """Mean throughput over mean smoothed round-trip time."""
    return 1e3 * mean_throughput_l4(run, flow) / mean_srtt_l4(run, flow)


@row("ms", "flow", "less", is_published=True)
def mean_one_way_delay_l7(run: Run, flow: str | int) -> float:
    """Mean delay of a byte from the application's write to its arrival at the receiver.

    Defined for a greedy source with a send buffer of fixed size, which is always full: a byte is
    written when the byte one buffer size earlier is acknowledged. The return path of that
    acknowledgement, at most half the smoothed round-trip time, is neglected. Linear between
    samples. NaN for other sources and for autotuned buffers.
    """
    buffer_bytes = _full_buffer_bytes(run, flow)
    if not buffer_bytes:
        return float("nan")
    series = tcp_series(run, flow)
    arrived = np.concatenate(([0.0], np.cumsum(series.read_mbps * series.interval_s) / 8e-6))
    at_s = np.concatenate(([series.t_s[0] - series.interval_s[0]], series.t_s))
    middle = (arrived[1:] + arrived[:-1]) / 2
    # np.interp needs an increasing abscissa: leave out samples without new arrivals.
    grows = np.concatenate(([True], np.diff(arrived) > 0))
    read_s = np.interp(middle, arrived[grows], at_s[grows])
    written_s = np.interp(middle - buffer_bytes, arrived[grows], at_s[grows], left=at_s[0])
    weight = np.diff(arrived)
    if not weight.sum():
        return float("nan")
    return 1e3 * float(np.average(read_s - written_s, weights=weight))


@row("ms", "flow", "less")
def mean_one_way_delay_l3(run: Run, flow: str | int) -> float:
    """Mean delay of a packet from the sender to the receiver; exact, over all that arrived."""
    return 1e3 * _one(run, flow, "delay_mean_s")


@row("Mbit/s", "flow", is_published=True)
def mean_sending_rate_l4(run: Run, flow: str | int) -> float:
    """Payload sent, including retransmissions, over the time the flow is on."""
    series = tcp_series(run, flow)
    return float(np.average(series.sending_rate_mbps, weights=series.interval_s))


@row("Mbit/s", "flow", is_published=True)
def mean_sending_rate_l7(run: Run, flow: str | int) -> float:
    """Payload written by the application to its socket, over the time the flow is on.

    Defined for a greedy source with a send buffer of fixed size: received payload plus one full
    buffer. NaN for other sources and for autotuned buffers.
    """
    buffer_bytes = _full_buffer_bytes(run, flow)
    if not buffer_bytes:
        return float("nan")
    on_s = float(tcp_series(run, flow).interval_s.sum())
    return mean_throughput_l7(run, flow) + 8e-6 * buffer_bytes / on_s


@row("ms", "flow", "less", is_published=True)
def mean_srtt_l4(run: Run, flow: str | int) -> float:
    """Mean smoothed round-trip time (RFC 6298), sampled."""
    return mean(tcp_series(run, flow).srtt_ms)


@row("Mbit/s", "flow", "greater", is_published=True)
def mean_throughput_l4(run: Run, flow: str | int) -> float:
    """Payload of the segments that arrived over the time the flow is on.

    Includes out-of-order and duplicate segments; `mean_throughput_l7` counts payload read in order.
    """
    series = tcp_series(run, flow)
    return float(np.average(series.throughput_mbps, weights=series.interval_s))


@row("Mbit/s", "flow", "greater", is_published=True)
def mean_throughput_l7(run: Run, flow: str | int) -> float:
    """Payload that the receiving application read over the time the flow is on; exact.

    The application reads in-order data at once, so a gap delays this rate but not
    `mean_throughput_l4`.
    """
    series = tcp_series(run, flow)
    return float(np.average(series.read_mbps, weights=series.interval_s))


@row("s/Mbit", "flow", "greater", is_published=True, bounds=ANY_NUMBER)
def mean_utility_mpdf_l4(run: Run, flow: str | int) -> float:
    """Minimum potential delay: mean of -1/throughput over intervals in which something arrived."""
    throughput = tcp_series(run, flow).throughput_mbps
    return mean(-1 / throughput[throughput > 0])


@row("ln(Mbit/s)", "flow", "greater", is_published=True, bounds=ANY_NUMBER)
def mean_utility_pf_l4(run: Run, flow: str | int) -> float:
    """Proportional fairness: mean of ln(throughput) over intervals in which something arrived."""
    throughput = tcp_series(run, flow).throughput_mbps
    return mean(np.log(throughput[throughput > 0]))


@row("1", "flow", is_published=True)
def mean_utilization_bdp_l4(run: Run, flow: str | int) -> float:
    """Mean bytes in flight over the bandwidth-delay product of the *peak* rate, sampled.

    As published; of little use on a policed link: see `mean_utilization_policing_bdp_l4`.
    """
    return _in_flight_bits(run, flow) / (
        peak_rate_bps(run, bottleneck(run, flow)) * base_rtt_s(run, flow)
    )


@row("1", "flow", "greater", is_published=True)
def mean_utilization_bw_l4(run: Run, flow: str | int) -> float:
    """Throughput over the *peak* rate of the bottleneck.

    As published; of little use on a policed link: see `mean_utilization_policing_bw_l4`.
    """
    return 1e6 * mean_throughput_l4(run, flow) / peak_rate_bps(run, bottleneck(run, flow))


@row("1", "flow")
def mean_utilization_policing_bdp_l4(run: Run, flow: str | int) -> float:
    """Mean bytes in flight over the bandwidth-delay product of the policing rate, sampled.

    A value of one keeps the bottleneck busy without a queue; the excess is queued.
    """
    return _in_flight_bits(run, flow) / (
        policing_rate_bps(run, bottleneck(run, flow)) * base_rtt_s(run, flow)
    )


@row("1", "flow", "greater")
def mean_utilization_policing_bw_l4(run: Run, flow: str | int) -> float:
    """Throughput over the policing rate: the long-term rate of the bottleneck.

    Headers keep it below one; the initial burst of a full bucket increases it.
    """
    return 1e6 * mean_throughput_l4(run, flow) / policing_rate_bps(run, bottleneck(run, flow))


@row("segments", "flow", "less", is_published=True)
def total_retransmissions_l4(run: Run, flow: str | int) -> float:
    """Retransmitted segments; whole run. NaN if unknown."""
    return _count(run, flow, "retransmitted_pkts")


@row("timeouts", "flow", "less", is_published=True)
def total_rtos_l4(run: Run, flow: str | int) -> float:
    """Retransmission timeouts; whole run. NaN if unknown."""
    return _count(run, flow, "rto_count")


@row("1", "flow", "less", bounds=FRACTION)
def loss_ratio_l4(run: Run, flow: str | int) -> float:
    """Packets dropped or lost over packets delivered, dropped or lost; whole run."""
    return flow_loss_ratio(run, flow)


@row("s", "flow", "less")
def convergence_time_l4(run: Run, flow: str | int) -> float:
    """From the flow's start until its throughput over a second stays near its final value.

    Near means within 20 % of the mean over the second half of its time. NaN if it never stays
    there.
    """
    series = tcp_series(run, flow)
    width = max(1, round(CONVERGENCE_WINDOW_S / float(np.median(series.interval_s))))
    if series.t_s.size < 2 * width:
        return float("nan")
    kernel = np.ones(width) / width
    smooth = np.convolve(series.throughput_mbps, kernel, mode="valid")
    final = float(series.throughput_mbps[series.t_s.size // 2 :].mean())
    away = np.flatnonzero(np.abs(smooth - final) > CONVERGED_WITHIN * final)
    first = int(away[-1]) + 1 if away.size else 0
    if first >= smooth.size:
        return float("nan")
    # The throughput is near from the start of the first interval of the window.
    began_s = resolved_of(run).flow(run.flow(flow)).start_ns / NS_PER_S
    return max(0.0, float(series.t_s[first] - series.interval_s[first] - began_s))


def _in_flight_bits(run: Run, flow: str | int) -> float:
    """Mean bits in flight, headers included, as the bottleneck counts them."""
    mtu_bytes = resolved_of(run).queue(bottleneck(run, flow)).mtu_bytes
    return 8 * mean_in_flight_l4(run, flow) * min(mtu_bytes, _full_packet(run, flow))


def _full_packet(run: Run, flow: str | int) -> int:
    options = 12 if tcp_of(run, flow).timestamps else 0
    return segment_bytes(run, flow) + 40 + options


def _full_buffer_bytes(run: Run, flow: str | int) -> int:
    """Fixed send buffer of a greedy source, bytes; 0 for other sources."""
    if resolved_of(run).flow(run.flow(flow)).source.kind != "greedy":
        return 0
    return tcp_of(run, flow).send_buffer_bytes
