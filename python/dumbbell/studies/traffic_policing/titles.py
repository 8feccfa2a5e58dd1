"""Titles of the rows of the source's tables."""

from __future__ import annotations

from types import MappingProxyType

TITLES = MappingProxyType(
    {
        "cov_in_flight_l4": "Variation of the segments in flight (deviation over mean)",
        "cov_throughput_l4": "Variation of the throughput (deviation over mean)",
        "cov_cwnd_l4": "Variation of the congestion window (deviation over mean)",
        "flow_completion_time_l4": "Lifetime of the flow",
        "mean_cwnd_l4": "Congestion window, mean",
        "mean_delivery_rate_l4": "Delivery rate as the sender estimates it, mean",
        "mean_est_qdelay_l4": "Queueing delay as the sender estimates it, mean",
        "mean_in_flight_l4": "Segments in flight, mean",
        "mean_network_power_l4": "Power: throughput over round-trip time, mean",
        "network_power_of_means_l4": "Power of the means",
        "mean_one_way_delay_l7": "Delay from write to arrival, mean",
        "mean_one_way_delay_l3": "Delay of a packet, mean",
        "mean_sending_rate_l4": "Payload sent, repeats included",
        "mean_sending_rate_l7": "Payload written by the application",
        "mean_srtt_l4": "Smoothed round-trip time, mean",
        "mean_throughput_l4": "Throughput, payload that arrived",
        "mean_throughput_l7": "Throughput, payload that was read",
        "mean_utility_mpdf_l4": "Utility: minimum potential delay",
        "mean_utility_pf_l4": "Utility: proportional fairness",
        "mean_utilization_bdp_l4": "In flight over the peak rate's bandwidth-delay product",
        "mean_utilization_bw_l4": "Throughput over the peak rate",
        "mean_utilization_policing_bdp_l4": (
            "In flight over the policing rate's bandwidth-delay product"
        ),
        "mean_utilization_policing_bw_l4": "Throughput over the policing rate",
        "total_retransmissions_l4": "Segments sent again",
        "total_rtos_l4": "Retransmission timeouts",
        "loss_ratio_l4": "Share of the flow's packets lost",
        "convergence_time_l4": "Time until the throughput stays near its final value",
        "mean_qdisc_delay_l2": "Time in the queue, mean of the intervals",
        "mean_packet_qdisc_delay_l2": "Time in the queue, mean of the packets",
        "max_qdisc_delay_l2": "Time in the queue, greatest",
        "mean_qdisc_length_l2": "Packets in the queue, mean",
        "max_qdisc_length_l2": "Packets in the queue, most",
        "mean_sending_rate_l1": "Rate on the wire",
        "total_qdisc_drops_l2": "Packets dropped by the queue",
        "loss_ratio_l2": "Share of the packets dropped",
        "mark_ratio_l2": "Share of the packets marked (ECN)",
        "utilization_peak_l1": "Share of the peak rate used on the wire",
        "utilization_policing_l1": "Share of the policing rate used on the wire",
        "mean_recovery_time_l4": "Length of a loss recovery, mean",
        "mean_idt_ewma_l4": "Time between segments leaving the sender, mean",
        "agg_throughput_l4": "Throughput of all flows",
        "mean_flow_srtt_l4": "Smoothed round-trip time, mean of the flows",
        "jain_index_l4": "Fairness of the flows (Jain's index)",
        "agg_retransmissions_l4": "Segments sent again by all flows",
        "agg_rtos_l4": "Retransmission timeouts of all flows",
        "agg_qdisc_drops_l2": "Packets dropped at the bottlenecks",
    }
)
"""Title by row; every row of `dumbbell.metrics.ccperf.ROWS` has one."""


def title_of(name: str) -> str:
    """Return the title of a row."""
    return TITLES.get(name, name)
