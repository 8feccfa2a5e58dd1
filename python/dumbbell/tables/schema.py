"""Every column of every table, defined once: type, unit, exactness, meaning.

The engine makes these columns, importers fill those they know, ``docs/tables.md`` is printed from
here. Names carry their units: ``_ns``, ``_s``, ``_bytes``, ``_pkts``. Times count from the start of
the run. Three scopes occur, and each definition says which one is meant:

- **whole run**: [0, duration);
- **measured window**: [warm-up, duration); delays are those of packets that arrived in it;
- **so far**: from the start of the run to the row's own time.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from dumbbell.tables.cake_columns import CAKE_SAMPLES, TIN_SAMPLES
from dumbbell.tables.codes import REASON_NAMES
from dumbbell.tables.column import (
    AT,
    QUEUE,
    Column,
    bytes_column,
    identity_column,
    ns_column,
    packets_column,
    real_column,
    tcp_level_column,
)
from dumbbell.tables.own_columns import SFB_SAMPLES, SFQ_RED_SAMPLES

_REASONS = ", ".join(f"{code} {name}" for code, name in REASON_NAMES.items())
_ALL_CONNECTIONS = ", closed connections included; -1 if not TCP."

_FLOW = identity_column("flow", "Index in the description's list of flows.")
_PROBE = identity_column("probe", "Index in the description's list of probes.")

_FLOWS = (
    _FLOW,
    packets_column("created_pkts", "Created by the sender, each fragment counts; whole run."),
    bytes_column(
        "created_bytes", "As created_pkts, with the IP header (ideal source: drawn size)."
    ),
    packets_column("delivered_pkts", "Arrived at the receiver; whole run."),
    bytes_column("delivered_bytes", "As delivered_pkts, with the IP header."),
    packets_column("dropped_pkts", "Dropped or lost on the path; whole run; -1 if unknown."),
    bytes_column("dropped_bytes", "As dropped_pkts, with the IP header."),
    packets_column("duplicated_pkts", "Copies made by queues (netem); whole run; -1 if unknown."),
    bytes_column("duplicated_bytes", "As duplicated_pkts, with the IP header."),
    packets_column(
        "in_network_pkts", "In flight at the end: created + duplicated - delivered - dropped."
    ),
    bytes_column("in_network_bytes", "As in_network_pkts, with the IP header."),
    Column("sent_datagrams", "int64", "datagrams", "exact", "Sent in the measured window."),
    bytes_column("sent_payload_bytes", "UDP payload of these (ideal source: drawn size)."),
    Column(
        "received_datagrams",
        "int64",
        "datagrams",
        "exact",
        "Whole (every fragment arrived) and completed in the measured window.",
    ),
    bytes_column("received_payload_bytes", "UDP payload of these, as received by the application."),
    ns_column("first_sent_ns", "First datagram sent in the measured window; -1 for none."),
    ns_column("last_received_ns", "Last datagram completed in the measured window; -1 for none."),
    packets_column("delay_count", "Packets created in the measured window and delivered."),
    real_column(
        "delay_mean_s", "s", "Mean one-way delay of these, creation to delivery; NaN for none."
    ),
    real_column("delay_sd_s", "s", "Their standard deviation."),
    ns_column("delay_min_ns", "Their minimum; -1 for none."),
    ns_column("delay_max_ns", "Their maximum; -1 for none."),
    packets_column(
        "retransmitted_pkts", "Segments retransmitted; whole run. -1 if not TCP or unknown."
    ),
    Column(
        "rto_count",
        "int64",
        "timeouts",
        "exact",
        "Retransmission timeouts; whole run. -1 if not TCP or unknown.",
    ),
)

_QUEUES = (
    QUEUE,
    packets_column(
        "arrived_pkts", "Offered to the queue, including dropped ones; measured window."
    ),
    bytes_column("arrived_bytes", "Their bytes on this link's wire: IP packet and link overhead."),
    packets_column("departed_pkts", "Transmissions that ended in the measured window."),
    bytes_column("departed_bytes", "Their bytes on the wire."),
    packets_column(
        "dropped_overlimit_pkts", "Dropped because a limit was reached; measured window."
    ),
    bytes_column("dropped_overlimit_bytes", "Their bytes on the wire."),
    packets_column("dropped_aqm_pkts", "Dropped early by the queue management; measured window."),
    bytes_column("dropped_aqm_bytes", "Their bytes on the wire."),
    packets_column("policed_pkts", "Dropped by a policer; measured window."),
    bytes_column("policed_bytes", "Their bytes on the wire."),
    packets_column(
        "lost_pkts",
        "Random losses; measured window. By the link: after departure. By netem: before it.",
    ),
    packets_column("marked_pkts", "Marked (ECN CE) instead of dropped; measured window."),
    real_column("measured_s", "s", "Length of the measured window."),
    real_column("busy_s", "s", "Time in the measured window with a packet in the system."),
    packets_column("sojourn_count", "Packets that arrived and departed in the measured window."),
    real_column(
        "sojourn_mean_s", "s", "Their mean time from arrival to the end of transmission (T)."
    ),
    real_column("sojourn_sd_s", "s", "Its standard deviation."),
    ns_column("sojourn_min_ns", "Its minimum; -1 for none."),
    ns_column("sojourn_max_ns", "Its maximum; -1 for none."),
    real_column("wait_mean_s", "s", "Mean sojourn less the packet's own transmission (W)."),
    real_column("wait_sd_s", "s", "Its standard deviation."),
    ns_column("wait_max_ns", "Its maximum; -1 for none."),
    real_column(
        "system_mean_pkts", "packets", "Time average of packets in queue and transmission (N)."
    ),
    real_column("backlog_mean_pkts", "packets", "Time average of packets in the discipline (N_q)."),
    real_column("backlog_mean_bytes", "bytes", "Time average of bytes in the discipline."),
    packets_column("system_max_pkts", "Maximum of packets in queue and transmission."),
    packets_column("backlog_max_pkts", "Maximum of packets in the discipline."),
    bytes_column("backlog_max_bytes", "Maximum of bytes in the discipline."),
)

_DISTRIBUTIONS = (
    QUEUE,
    identity_column("quantity", "0 sojourn (ns), 1 wait (ns), 2 packets in the system.", "int8"),
    real_column(
        "low", "ns or packets", "Lower edge of the bin, inclusive. Delay bins are 1/128 wide."
    ),
    real_column("high", "ns or packets", "Upper edge, exclusive. Bins of packets hold one number."),
    real_column("weight", "packets or s", "Packets in the bin; seconds at that number of packets."),
)

_FLOW_DELAYS = (
    _FLOW,
    real_column(
        "low_ns", "ns", "Lower edge of the bin, inclusive. Bins are 1/128 wide, as for queues."
    ),
    real_column("high_ns", "ns", "Upper edge, exclusive."),
    packets_column(
        "pkts", "Packets with a one-way delay in the bin; they sum to the flow's delay_count."
    ),
)

_QUEUE_SAMPLES = (
    AT,
    QUEUE,
    Column("system_pkts", "int64", "packets", "sampled", "In queue and transmission."),
    Column("backlog_pkts", "int64", "packets", "sampled", "In the discipline."),
    Column("backlog_bytes", "int64", "bytes", "sampled", "In the discipline."),
    packets_column("departed_pkts", "Transmissions ended so far."),
    bytes_column("departed_bytes", "Their bytes on the wire, so far."),
    packets_column("dropped_pkts", "Dropped by the queue so far, for any reason."),
    real_column("sojourn_sum_s", "s", "Sum of the sojourn times of packets departed so far."),
    real_column(
        "system_integral_pkt_s", "packets s", "Integral of the number in the system so far."
    ),
    packets_column("marked_pkts", "Marked (ECN CE) so far."),
    Column(
        "drop_probability",
        "float64",
        "",
        "sampled",
        "Drop or mark probability of the discipline (PIE, RED); NaN if it has none.",
    ),
    Column(
        "delay_estimate_ns",
        "int64",
        "ns",
        "sampled",
        "The discipline's estimate of its queueing delay (PIE, CoDel); -1 if it has none.",
    ),
)

_FLOW_SAMPLES = (
    AT,
    _FLOW,
    packets_column("delivered_pkts", "Arrived at the receiver so far."),
    bytes_column("delivered_payload_bytes", "Payload of whole datagrams received so far."),
    packets_column("dropped_pkts", "Dropped by a queue or lost by a link so far; -1 if unknown."),
    real_column("delay_sum_s", "s", "Sum of the one-way delays of packets delivered so far."),
    tcp_level_column("cwnd_pkts", "packets", "Congestion window."),
    tcp_level_column(
        "ssthresh_pkts", "packets", "Slow start threshold; -1 also before it is first set."
    ),
    tcp_level_column("inflight_pkts", "packets", "Sent, neither acknowledged nor considered lost."),
    tcp_level_column("srtt_ns", "ns", "Smoothed round-trip time (RFC 6298)."),
    tcp_level_column(
        "rttvar_ns",
        "ns",
        "Its mean deviation as measured, without the floor of Linux's timeout (RFC 6298 section "
        "2.3; tcpi_rttvar).",
    ),
    tcp_level_column("min_rtt_ns", "ns", "The sender's minimum round-trip time."),
    packets_column("retransmitted_pkts", f"Segments retransmitted so far{_ALL_CONNECTIONS}"),
    bytes_column("sent_payload_bytes", f"Payload sent for the first time so far{_ALL_CONNECTIONS}"),
    tcp_level_column(
        "pacing_rate_bps", "bit/s", "Pacing rate of the sender; -1 also if it does not pace."
    ),
    tcp_level_column(
        "delivery_rate_bps", "bit/s", "The sender's last estimate of its delivery rate."
    ),
)

_FLOW_WRITES = (
    AT,
    _FLOW,
    bytes_column(
        "written_payload_bytes",
        "Payload accepted by TCP from the sender so far, closed connections included.",
    ),
)

_WHOLE = "whole run; -1 if unknown."

_TRANSFERS = (
    _FLOW,
    identity_column("transfer", "Number of the transfer in its flow, from 1.", "int64"),
    bytes_column(
        "bytes",
        "Payload requested, at most 1 PB (a larger draw counts as 1 PB); -1 for a connection "
        "without an end.",
    ),
    ns_column("started_ns", "Time at which its connection began."),
    ns_column("completed_ns", "Time at which the receiver had all data; -1 if not before the end."),
    packets_column("created_pkts", f"Packets sent, SYN and FIN included; {_WHOLE}"),
    packets_column("retransmitted_pkts", f"Of these the retransmissions of payload; {_WHOLE}"),
    packets_column(
        "received_pkts",
        "Packets that arrived at the receiver; segments merged by the device count as one (`tso`, "
        f"`gro`); {_WHOLE}",
    ),
    bytes_column("received_bytes", f"Their bytes with the IP header; {_WHOLE}"),
    packets_column(
        "received_again_pkts",
        f"Those of received_pkts that are retransmissions, as in a capture after the last "
        f"queue; {_WHOLE}",
    ),
    ns_column("first_received_ns", "Arrival of the first packet, the SYN; -1 for none or unknown."),
    ns_column("last_received_ns", "Arrival of the last packet; -1 for none or unknown."),
    packets_column("dropped_pkts", f"Packets of the sender dropped or lost on the path; {_WHOLE}"),
)

_PROBES = (
    _PROBE,
    identity_column("seq", "Number of the request, from 1, as ping prints it.", "int64"),
    ns_column("sent_ns", "Time at which the request was sent; -1 if unknown in an import."),
    ns_column("received_ns", "Arrival of its answer; -1 for none, or if unknown in an import."),
    ns_column("rtt_ns", "Round-trip time; -1 if no answer came before the end."),
)

_PACKETS = (
    AT,
    QUEUE,
    identity_column(
        "event", "0 enqueue, 1 dequeue, 2 drop, 3 mark, 4 lost (after its dequeue).", "int8"
    ),
    identity_column("reason", f"Why it was dropped, marked or lost: {_REASONS}.", "int8"),
    identity_column("flow", "Flow it belongs to, or -1."),
    identity_column("probe", "Probe it belongs to, or -1."),
    identity_column("seq", "Number of its datagram in the flow, or of the echo request.", "int64"),
    Column("bytes", "int32", "bytes", "exact", "Its bytes on this link's wire."),
    Column("system_pkts", "int32", "packets", "exact", "In queue and transmission afterwards."),
    ns_column("sojourn_ns", "From arrival to end of transmission, if it was sent; else -1."),
)

_WIRESHARK = "Wireshark's flag"
_CAPTURED_FLOWS = (
    identity_column("queue", "Queue at whose sending end it was seen; in an import the interface."),
    identity_column("place", "0 before the queue, 1 after it; -1 if unknown in an import.", "int8"),
    identity_column("flow", "Flow it belongs to, or -1."),
    identity_column("probe", "Probe it belongs to, or -1."),
    identity_column("connection", "Number of the connection in its flow, from 1.", "int64"),
    identity_column("is_reply", "1 for the direction from the responder, else 0.", "int8"),
    identity_column("protocol", "IANA's number: 1 ICMP, 6 TCP, 17 UDP.", "int64"),
    identity_column("source_port", "0 without ports; for an echo its identifier.", "int64"),
    identity_column("destination_port", "As source_port.", "int64"),
    ns_column("first_ns", "First packet seen."),
    ns_column("last_ns", "Last packet seen."),
    packets_column("pkts", "Packets seen; whole run."),
    bytes_column("bytes", "Their frames, as captured: Ethernet header and IP packet."),
    packets_column("data_pkts", "Packets with payload."),
    bytes_column("payload_bytes", "Payload of these."),
    packets_column(
        "retransmission_pkts",
        f"{_WIRESHARK} `tcp.analysis.retransmission`, fast and spurious ones included.",
    ),
    packets_column("fast_retransmission_pkts", f"{_WIRESHARK} `tcp.analysis.fast_retransmission`."),
    packets_column(
        "spurious_retransmission_pkts", f"{_WIRESHARK} `tcp.analysis.spurious_retransmission`."
    ),
    packets_column("out_of_order_pkts", f"{_WIRESHARK} `tcp.analysis.out_of_order`."),
    packets_column("lost_segment_pkts", f"{_WIRESHARK} `tcp.analysis.lost_segment`."),
    packets_column("duplicate_ack_pkts", f"{_WIRESHARK} `tcp.analysis.duplicate_ack`."),
    packets_column("keep_alive_pkts", f"{_WIRESHARK} `tcp.analysis.keep_alive`."),
    packets_column("repeated_pkts", "Segments with a byte that was seen here before."),
    packets_column(
        "late_pkts", "Segments below the highest number seen, without a byte seen before."
    ),
    bytes_column("new_bytes", "Sequence numbers seen for the first time: payload, SYN and FIN."),
)

_NO_VALUE = "; -1 without one."


def _spread(name: str, unit: str, what: str) -> tuple[Column, ...]:
    """Least, mean and greatest of the values in an interval."""
    words = {"min": "Minimum", "mean": "Mean, rounded down,", "max": "Maximum"}
    return tuple(
        Column(f"{name}_{key}_{unit}", "int64", unit, "exact", f"{word} {what}{_NO_VALUE}")
        for key, word in words.items()
    )


_CAPTURED_INTERVALS = (
    identity_column("queue", "As in captured_flows."),
    identity_column("place", "As in captured_flows.", "int8"),
    identity_column("flow", "Flow it belongs to."),
    identity_column("connection", "Number of the connection in its flow, from 1.", "int64"),
    identity_column("is_reply", "1 for the direction from the responder, else 0.", "int8"),
    identity_column(
        "window_scale",
        "Window scale of the windows offered to this direction; 0 if not negotiated, -1 "
        "if the handshake was not captured.",
        "int8",
    ),
    identity_column("begin_ns", "Start of the interval, since the first packet.", "int64", "ns"),
    identity_column("width_ns", "Length of the interval, equal within a direction.", "int64", "ns"),
    packets_column("pkts", "Packets seen."),
    bytes_column("bytes", "Their frames, as captured."),
    packets_column("retransmission_pkts", f"{_WIRESHARK} `tcp.analysis.retransmission`."),
    packets_column("repeated_pkts", "As in captured_flows."),
    packets_column("late_pkts", "As in captured_flows."),
    Column(
        "round_trips",
        "int64",
        "samples",
        "exact",
        "Acknowledgements of a segment's end, without those of retransmissions (Karn's algorithm), "
        "and replies to an echo request.",
    ),
    *_spread(
        "round_trip",
        "ns",
        "time from the segment to its acknowledgement, or from a request to its reply, seen at "
        "this place",
    ),
    packets_column(
        "in_flight_pkts", "Packets with payload, at which the bytes in flight are known."
    ),
    *_spread(
        "in_flight", "bytes", "difference of the highest number sent and the highest acknowledged"
    ),
    packets_column("window_pkts", "Packets of the other direction that advertise a window."),
    *_spread("window", "bytes", "advertised window, scaled by window_scale"),
)

_PROGRAM = identity_column("program", "Index in the description's list of programs.")
_SIDE = identity_column(
    "side", "Reporting side: 0 the client or sender, 1 the server or receiver.", "int8"
)
_SAYS = "; -1 if not reported."

_PROGRAMS = (
    _PROGRAM,
    ns_column("started_ns", "Start of the program; before 0 for a capture from the start."),
    ns_column("ended_ns", "End of the program."),
    Column(
        "exit_status", "int32", "", "exact", "Its exit status; -1 if it was interrupted at the end."
    ),
    packets_column("sent_pkts", f"Packets or requests sent, as reported{_SAYS}"),
    packets_column("received_pkts", f"Packets or answers received, as reported{_SAYS}"),
    packets_column("lost_pkts", f"Packets or answers lost, as reported{_SAYS}"),
    bytes_column("received_bytes", f"Payload received, as reported{_SAYS}"),
    real_column("throughput_bps", "bit/s", "Payload over time, as reported; NaN if not reported."),
    packets_column("retransmitted_pkts", f"Segments retransmitted, as reported{_SAYS}"),
    ns_column("rtt_min_ns", f"Minimum round trip, as reported{_SAYS}"),
    real_column("rtt_mean_s", "s", "Mean round trip, as reported; NaN if not reported."),
    ns_column("rtt_max_ns", f"Maximum round trip, as reported{_SAYS}"),
    real_column("delay_mean_s", "s", "Mean one-way delay, as reported; NaN if not reported."),
    real_column("jitter_mean_s", "s", "Mean jitter by the program's rule; NaN if not reported."),
)

_PROGRAM_INTERVALS = (
    _PROGRAM,
    _SIDE,
    identity_column("stream", "Number of the stream in the program."),
    ns_column(
        "start_ns",
        "Start of the interval. Times that a program counts from the start of its test "
        "count here from the start of the program, some round trips earlier.",
    ),
    ns_column("end_ns", "Its end."),
    bytes_column("bytes", f"Payload written by a sender or read by a receiver{_SAYS}"),
    packets_column("pkts", f"Datagrams; for UDP{_SAYS}"),
    packets_column("lost_pkts", f"Datagrams missed by the receiver; for UDP{_SAYS}"),
    packets_column("retransmitted_pkts", f"Segments retransmitted; for a TCP sender{_SAYS}"),
    tcp_level_column("cwnd_bytes", "bytes", "Congestion window at the interval's end."),
    tcp_level_column("rtt_ns", "ns", "Smoothed round-trip time at the interval's end."),
    real_column("jitter_s", "s", "Jitter at a UDP receiver; NaN if not reported."),
)

_PROGRAM_PACKETS = (
    _PROGRAM,
    _SIDE,
    identity_column("seq", "Number of the packet, from 1.", "int64"),
    ns_column("sent_ns", "Time of sending, from the packet's time stamp, in whole microseconds."),
    ns_column("received_ns", "Time of arrival; -1 in a sender's log."),
    bytes_column("payload_bytes", "Payload."),
)

_PROGRAM_ROUND_TRIPS = (
    _PROGRAM,
    identity_column("seq", "Number of the request, from 1.", "int64"),
    ns_column(
        "sent_ns", "Time of sending: the answer's arrival less the round trip; -1 without one."
    ),
    ns_column("received_ns", "Arrival of the answer, in whole microseconds; -1 without one."),
    ns_column("rtt_ns", "Round trip as printed, to three or four digits; -1 without an answer."),
)

_PROGRAM_TRANSFERS = (
    _PROGRAM,
    identity_column("number", "Number of the transfer, from 1.", "int64"),
    Column("status", "int32", "", "exact", "HTTP status."),
    bytes_column("bytes", "Payload received."),
    real_column(
        "connect_s",
        "s",
        "From its start until the connection was established; 0 for an existing one.",
    ),
    real_column("first_byte_s", "s", "From its start until the first byte."),
    real_column("total_s", "s", "From its start until the last byte."),
)

_PROGRAM_SAMPLES = (
    _PROGRAM,
    identity_column("series", "Series of a data file; numbered over all programs of the run."),
    identity_column(
        "seq", "Number of a round trip, as counted by irtt or ping; -1 for a rate.", "int64"
    ),
    ns_column("t_ns", "Time of the sample: the end of its interval, or the arrival of the answer."),
    ns_column("interval_ns", "Interval of a rate; -1 if not reported."),
    real_column("rate_bps", "bit/s", "Payload over time; NaN for a round trip."),
    ns_column("rtt_ns", "Round trip; -1 for a rate, and without an answer."),
    ns_column("delay_there_ns", "One-way delay to the server, reported by irtt; else -1."),
    ns_column("delay_back_ns", "One-way delay from the server, reported by irtt; else -1."),
)

SCHEMA: Mapping[str, tuple[Column, ...]] = MappingProxyType(
    {
        "flows": _FLOWS,
        "queues": _QUEUES,
        "distributions": _DISTRIBUTIONS,
        "flow_delays": _FLOW_DELAYS,
        "queue_samples": _QUEUE_SAMPLES,
        "cake_samples": CAKE_SAMPLES,
        "tin_samples": TIN_SAMPLES,
        "sfb_samples": SFB_SAMPLES,
        "sfq_red_samples": SFQ_RED_SAMPLES,
        "flow_samples": _FLOW_SAMPLES,
        "flow_writes": _FLOW_WRITES,
        "transfers": _TRANSFERS,
        "probes": _PROBES,
        "packets": _PACKETS,
        "captured_flows": _CAPTURED_FLOWS,
        "captured_intervals": _CAPTURED_INTERVALS,
        "programs": _PROGRAMS,
        "program_intervals": _PROGRAM_INTERVALS,
        "program_packets": _PROGRAM_PACKETS,
        "program_round_trips": _PROGRAM_ROUND_TRIPS,
        "program_transfers": _PROGRAM_TRANSFERS,
        "program_samples": _PROGRAM_SAMPLES,
    }
)
"""Table name to its columns, in order."""

IMPORTED_ONLY = frozenset({"captured_intervals"})
"""Tables that no backend makes."""
PROGRAMS_ONLY = frozenset(
    {"programs", "program_intervals", "program_packets", "program_round_trips", "program_transfers"}
)
"""Tables that only runs of descriptions with programs have, and all of those."""
FLENT_ONLY = frozenset({"program_samples"})
"""Tables that only runs with a program of kind ``flent`` have."""

TABLE_DOCS: Mapping[str, str] = MappingProxyType(
    {
        "flows": "One row per flow.",
        "queues": "One row per queue, that is, per direction of a link. For a queue that is "
        "not observed "
        "(key `observe`) the columns after `measured_s` are NaN, or -1. All columns cover the "
        "measured window.",
        "distributions": "One row per non-empty bin: sojourn and waiting times of the packets that "
        "arrived in the measured window, and the time spent at each number of packets.",
        "flow_delays": "One row per non-empty bin: one-way delays of each flow's packets "
        "created in the measured window and delivered. In the order of flows, then of delays.",
        "queue_samples": "One row per queue and sampling time (`sample_interval`). Sums and "
        "integrals run from the start, so two rows give the exact mean between them; only the "
        "levels are samples.",
        "cake_samples": "One row per queue of the discipline `cake` and sampling time, only where "
        "there is one: what `tc -s qdisc` prints of it. Not part of the run's digest.",
        "tin_samples": "One row per tin of such a queue and sampling time. Not part of the run's "
        "digest.",
        "sfb_samples": "One row per queue of the discipline `sfb` and sampling time, only where "
        "there is one: what `tc -s qdisc` prints of it. Not part of the run's digest.",
        "sfq_red_samples": "One row per queue of the discipline `sfq` with RED and sampling time, "
        "only where there is one: what `tc -s qdisc` prints of its RED, summed over all flows. "
        "Not part of the run's digest.",
        "flow_samples": "One row per flow and sampling time. Windows, times and rates of TCP are "
        "the state of the sender at that time, as printed by `ss -i`.",
        "flow_writes": "One row per TCP flow and sampling time, only with `record_writes`: "
        "data written by the application, some of which may be in the send buffer. A greedy "
        "program writes when a third of that buffer is free. Not part of the run's digest.",
        "transfers": "One row per TCP connection, and so per transfer of the sources "
        "`sized`, `arrivals` and `closed_loop`. Its file also has each flow's name.",
        "probes": "One row per echo request, sent at any time of the run.",
        "packets": "One row per packet and event, only at links with `record_packets`.",
        "captured_flows": "One row per connection and direction, as seen at the sending end of "
        "a link "
        "with `capture_flows`, before and after its queue, or in an imported capture. See "
        "[captures](captures.md).",
        "captured_intervals": "One row per interval with packets of a direction of a "
        "connection, only in an imported capture: at most 512 intervals of equal length. At most "
        "128 connections are followed, those with the most bytes. See "
        "[captures](captures.md).",
        "programs": "One row per program of the description ([programs](programs.md)), with its "
        "summary. This table and the next four exist only in runs with programs, and "
        "so never in the simulator.",
        "program_intervals": "One row per interval of a program that reports in intervals: iperf3, "
        "iperf, netperf.",
        "program_packets": "One row per packet in a log of D-ITG, as printed by ITGDec.",
        "program_round_trips": "One row per request of ping, as printed.",
        "program_transfers": "One row per page fetched by curl.",
        "program_samples": "A row a sample in the data file of a program of kind `flent`, and only "
        "there where there is one. Its file has each series' name beside its number.",
    }
)
"""Table name to what a row of it is."""


def empty_table(name: str) -> dict[str, np.ndarray[tuple[int], np.dtype[np.generic]]]:
    """The table without rows."""
    return {column.name: np.empty(0, column.numpy) for column in SCHEMA[name]}
