"""What the source prints, and the bands that its rows are held against.

The bands of rows that say what happened (throughput, losses, timeouts, queue, round-trip time) were
fixed before the study was run, by hand, from what ns-3 3.37 gives around the source's settings. All
others lie within 10 % of what is printed, and half of the last printed digit; that rule was chosen
after first runs of the simulator had been seen. A greedy
flow's lifetime is what its options say, to the printed digits.
"""

from __future__ import annotations

from types import MappingProxyType

SOURCE = 'CCPerf, "Traffic Policing Experiment", experiment 56 of benchmark TcpNewReno (ccperf.net)'

COMMAND = MappingProxyType(
    {
        "--experiment-name": "traffic_policing",
        "--db-path": "benchmark_TcpNewReno.db",
        "--parameters": "{aut:TcpNewReno,policing_rate:4Mbps,peak_rate:1Gbps}",
        "--aut": "TcpNewReno",
        "--stop-time": "15s",
        "--seed": "42",
        "--policing-rate": "4Mbps",
        "--peak-rate": "1Gbps",
        "--bw": "16Mbps",
        "--loss": "0.0",
        "--qlen": "20p",
        "--qdisc": "FifoQueueDisc",
        "--rtts": "15ms",
        "--sources": "src_0",
        "--destinations": "dst_0",
        "--protocols": "TCP",
        "--algs": "TcpNewReno",
        "--recoveries": "TcpPrrRecovery",
        "--start-times": "0s",
        "--stop-times": "15s",
        "--traffic-models": "Greedy(bytes=0)",
    }
)
"""The options of its command, as printed."""

VALUES = MappingProxyType(
    {
        "cov_in_flight_l4": 0.55,
        "cov_throughput_l4": 0.47,
        "flow_completion_time_l4": 15.00,
        "mean_cwnd_l4": 23.23,
        "mean_delivery_rate_l4": 3.78,
        "mean_est_qdelay_l4": 43.48,
        "mean_idt_ewma_l4": 3.12,
        "mean_in_flight_l4": 22.74,
        "mean_network_power_l4": 74.09,
        "mean_one_way_delay_l7": 5963.57,
        "mean_recovery_time_l4": 142.57,
        "mean_sending_rate_l4": 3.88,
        "mean_sending_rate_l7": 5.91,
        "mean_srtt_l4": 58.48,
        "mean_throughput_l4": 3.78,
        "mean_throughput_l7": 3.78,
        "mean_utility_mpdf_l4": -0.26,
        "mean_utility_pf_l4": 1.36,
        "mean_utilization_bdp_l4": 0.02,
        "mean_utilization_bw_l4": 0.00,
        "total_retransmissions_l4": 120.0,
        "total_rtos_l4": 1.0,
        "mean_qdisc_delay_l2": 43.59,
        "mean_qdisc_length_l2": 13.80,
        "mean_sending_rate_l1": 3.92,
        "total_qdisc_drops_l2": 120.0,
    }
)
"""Row to its printed value."""

_ROUNDING = 0.005
_RELATIVE = 0.10
_BY_HAND = {
    "mean_throughput_l4": (3.70, 3.95),
    "mean_throughput_l7": (3.70, 3.95),
    "total_retransmissions_l4": (100.0, 160.0),
    "total_qdisc_drops_l2": (100.0, 160.0),
    "total_rtos_l4": (1.0, 1.0),
    "mean_qdisc_length_l2": (13.5, 14.5),
    "mean_srtt_l4": (55.0, 61.0),
    "flow_completion_time_l4": (14.995, 15.005),
}


def is_fixed_beforehand(name: str) -> bool:
    """Whether the row's band was written before anything was run."""
    return name in _BY_HAND


def band(name: str) -> tuple[float, float]:
    """Lowest and highest value of a row that counts as the source's."""
    if name in _BY_HAND:
        return _BY_HAND[name]
    value = VALUES[name]
    reach = _RELATIVE * abs(value) + _ROUNDING
    return value - reach, value + reach
