"""Values printed in the source, and which of its rows are dependent."""

from __future__ import annotations

from types import MappingProxyType

SOURCE = 'CCPerf, "Traffic Policing Experiment", experiment 56 of benchmark TcpNewReno (ccperf.net)'

SOURCE_URL = "https://ccperf.net/"

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

RATE_MBPS, BASE_RTT_MS, STOP_S, QUEUE_PKTS = 4.0, 15.0, 15.0, 20
"""Policing rate, base round-trip time, end of the flow and queue limit of that command."""

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
"""Printed values by row."""

ROUNDING = 0.005
"""Half a unit in the last printed digit."""

SEND_BUFFER_MB = 4.0
"""Chosen to match ``mean_sending_rate_l7``, which therefore is no evidence."""

_THROUGHPUT, _LOSSES, _QUEUE = "throughput", "losses", "queue"
FACTS = MappingProxyType(
    {
        "mean_throughput_l4": _THROUGHPUT,
        "mean_throughput_l7": _THROUGHPUT,
        "mean_delivery_rate_l4": _THROUGHPUT,
        "mean_utility_mpdf_l4": _THROUGHPUT,
        "mean_utility_pf_l4": _THROUGHPUT,
        "mean_utilization_bw_l4": _THROUGHPUT,
        "total_retransmissions_l4": _LOSSES,
        "total_qdisc_drops_l2": _LOSSES,
        # Sent packets are the sum of received and lost packets.
        "mean_sending_rate_l4": _LOSSES,
        # Delay is queue length over rate, and the rest of the round trip is constant.
        "mean_qdisc_delay_l2": _QUEUE,
        "mean_qdisc_length_l2": _QUEUE,
        "mean_est_qdelay_l4": _QUEUE,
        "mean_srtt_l4": _QUEUE,
        # Published relative to the peak rate: the mean in flight divided by 1302 segments.
        "mean_in_flight_l4": "in flight",
        "mean_utilization_bdp_l4": "in flight",
    }
)
"""Fact of each row, if several rows share one; other rows are separate facts."""
