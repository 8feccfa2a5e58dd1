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
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

NO_INSTANT = -1
"""Stands in ``_ns`` and index columns where there is no instant, delay, flow or probe."""

EVENT_NAMES: Mapping[int, str] = MappingProxyType(
    {0: "enqueue", 1: "dequeue", 2: "drop", 3: "mark", 4: "lost"}
)
"""Codes of ``packets.event``."""

REASON_NAMES: Mapping[int, str] = MappingProxyType(
    {
        0: "none",
        1: "overlimit",
        2: "link loss",
        3: "codel",
        4: "pie",
        5: "red early",
        6: "red forced",
        7: "netem loss",
        8: "policed",
        9: "fattest flow",
        10: "too large",
        11: "memory limit",
        12: "flow limit",
        13: "ce threshold",
        14: "blue",
        15: "pi2",
        16: "pi2 early",
        17: "choke match",
        18: "choke chosen",
        19: "no class",
    }
)
"""Codes of ``packets.reason``: why a packet was dropped, marked or lost."""
_REASONS = ", ".join(f"{code} {name}" for code, name in REASON_NAMES.items())
REASONS_FROM_INSIDE = frozenset({3, 9, 11, 14, 15, 18})
"""Codes of ``packets.reason`` of a packet that was in its queue when it was dropped: by CoDel, from
the fattest flow, over the memory limit, by BLUE, by PI2, chosen by choke. All others are dropped as
they arrive."""

QUANTITY_NAMES: Mapping[int, str] = MappingProxyType({0: "sojourn", 1: "wait", 2: "system"})
"""Codes of ``distributions.quantity``."""

PLACE_NAMES: Mapping[int, str] = MappingProxyType({-1: "", 0: "before", 1: "after"})
"""Codes of ``place`` in what is captured."""


def place_code(place: str | int) -> int:
    """The code of a place, given by its name or as it is.

    Raises:
        ValueError: No place is called so.
    """
    if isinstance(place, int):
        return place
    for code, name in PLACE_NAMES.items():
        if name == place:
            return code
    names = ", ".join(repr(name) for name in PLACE_NAMES.values())
    raise ValueError(f"place is {place!r}; it is one of {names}")


Kind = Literal["identity", "exact", "sampled"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        name: With its unit.
        dtype: NumPy name: ``int64``, ``int32``, ``int8`` or ``float64``.
        unit: In words; empty for an index or a code.
        kind: ``identity`` says which row it is; ``exact`` is a count, an integral or a time that
            misses nothing; ``sampled`` is a level at the row's instant and nothing between.
        doc: What it is, with its scope.
    """

    name: str
    dtype: str
    unit: str
    kind: Kind
    doc: str

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The type as NumPy's."""
        return np.dtype(self.dtype)


def _id(name: str, doc: str, dtype: str = "int32", unit: str = "") -> Column:
    return Column(name, dtype, unit, "identity", doc)


def _pkts(name: str, doc: str) -> Column:
    return Column(name, "int64", "packets", "exact", doc)


def _bytes(name: str, doc: str) -> Column:
    return Column(name, "int64", "bytes", "exact", doc)


def _ns(name: str, doc: str) -> Column:
    return Column(name, "int64", "ns", "exact", doc)


def _real(name: str, unit: str, doc: str) -> Column:
    return Column(name, "float64", unit, "exact", doc)


_NOT_TCP = "; -1 if not TCP or unknown."
_ALL_CONNECTIONS = ", closed connections included; -1 if not TCP."


def _level(name: str, unit: str, doc: str) -> Column:
    """A number that a TCP sender knows at the row's instant."""
    return Column(name, "int64", unit, "sampled", f"{doc.rstrip('.')}{_NOT_TCP}")


_AT = _id("t_ns", "Time since the start of the run.", "int64", "ns")
_QUEUE = _id("queue", "Directed link end: link i forward (a to b) is 2 i, reverse 2 i + 1.")
_FLOW = _id("flow", "Index in the description's list of flows.")
_PROBE = _id("probe", "Index in the description's list of probes.")

_FLOWS = (
    _FLOW,
    _pkts("created_pkts", "Created by the sender, each fragment counts; whole run."),
    _bytes("created_bytes", "As created_pkts, with the IP header (ideal source: drawn size)."),
    _pkts("delivered_pkts", "Arrived at the receiver; whole run."),
    _bytes("delivered_bytes", "As delivered_pkts, with the IP header."),
    _pkts("dropped_pkts", "Dropped by a queue or lost by a link; whole run."),
    _bytes("dropped_bytes", "As dropped_pkts, with the IP header."),
    _pkts("duplicated_pkts", "Copies made by queues (netem); whole run; -1 if unknown."),
    _bytes("duplicated_bytes", "As duplicated_pkts, with the IP header."),
    _pkts("in_network_pkts", "In flight at the end: created + duplicated - delivered - dropped."),
    _bytes("in_network_bytes", "As in_network_pkts, with the IP header."),
    Column("sent_datagrams", "int64", "datagrams", "exact", "Sent in the measured window."),
    _bytes("sent_payload_bytes", "UDP payload of these (ideal source: drawn size)."),
    Column(
        "received_datagrams",
        "int64",
        "datagrams",
        "exact",
        "Whole (every fragment arrived) and completed in the measured window.",
    ),
    _bytes("received_payload_bytes", "UDP payload of these, as received by the application."),
    _ns("first_sent_ns", "First datagram sent in the measured window; -1 for none."),
    _ns("last_received_ns", "Last datagram completed in the measured window; -1 for none."),
    _pkts("delay_count", "Packets created in the measured window and delivered."),
    _real("delay_mean_s", "s", "Mean one-way delay of these, creation to delivery; NaN for none."),
    _real("delay_sd_s", "s", "Their standard deviation."),
    _ns("delay_min_ns", "Their minimum; -1 for none."),
    _ns("delay_max_ns", "Their maximum; -1 for none."),
    _pkts("retransmitted_pkts", "Segments retransmitted; whole run. -1 if not TCP or unknown."),
    Column(
        "rto_count",
        "int64",
        "timeouts",
        "exact",
        "Retransmission timeouts; whole run. -1 if not TCP or unknown.",
    ),
)

_QUEUES = (
    _QUEUE,
    _pkts("arrived_pkts", "Offered to the queue, including dropped ones; measured window."),
    _bytes("arrived_bytes", "Their bytes on this link's wire: IP packet and link overhead."),
    _pkts("departed_pkts", "Transmissions that ended in the measured window."),
    _bytes("departed_bytes", "Their bytes on the wire."),
    _pkts("dropped_overlimit_pkts", "Dropped because a limit was reached; measured window."),
    _bytes("dropped_overlimit_bytes", "Their bytes on the wire."),
    _pkts("dropped_aqm_pkts", "Dropped early by the queue management; measured window."),
    _bytes("dropped_aqm_bytes", "Their bytes on the wire."),
    _pkts("policed_pkts", "Dropped by a policer; measured window."),
    _bytes("policed_bytes", "Their bytes on the wire."),
    _pkts(
        "lost_pkts",
        "Random losses; measured window. By the link: after departure. By netem: before it.",
    ),
    _pkts("marked_pkts", "Marked (ECN CE) instead of dropped; measured window."),
    _real("measured_s", "s", "Length of the measured window."),
    _real("busy_s", "s", "Time in the measured window with a packet in the system."),
    _pkts("sojourn_count", "Packets that arrived and departed in the measured window."),
    _real("sojourn_mean_s", "s", "Their mean time from arrival to the end of transmission (T)."),
    _real("sojourn_sd_s", "s", "Its standard deviation."),
    _ns("sojourn_min_ns", "Its minimum; -1 for none."),
    _ns("sojourn_max_ns", "Its maximum; -1 for none."),
    _real("wait_mean_s", "s", "Mean sojourn less the packet's own transmission (W)."),
    _real("wait_sd_s", "s", "Its standard deviation."),
    _ns("wait_max_ns", "Its maximum; -1 for none."),
    _real("system_mean_pkts", "packets", "Time average of packets in queue and transmission (N)."),
    _real("backlog_mean_pkts", "packets", "Time average of packets in the discipline (N_q)."),
    _real("backlog_mean_bytes", "bytes", "Time average of bytes in the discipline."),
    _pkts("system_max_pkts", "Maximum of packets in queue and transmission."),
    _pkts("backlog_max_pkts", "Maximum of packets in the discipline."),
    _bytes("backlog_max_bytes", "Maximum of bytes in the discipline."),
)

_DISTRIBUTIONS = (
    _QUEUE,
    _id("quantity", "0 sojourn (ns), 1 wait (ns), 2 packets in the system.", "int8"),
    _real("low", "ns or packets", "Lower edge of the bin, inclusive. Delay bins are 1/128 wide."),
    _real("high", "ns or packets", "Upper edge, exclusive. Bins of packets hold one number."),
    _real("weight", "packets or s", "Packets in the bin; seconds at that number of packets."),
)

_FLOW_DELAYS = (
    _FLOW,
    _real("low_ns", "ns", "Lower edge of the bin, inclusive. Bins are 1/128 wide, as for queues."),
    _real("high_ns", "ns", "Upper edge, exclusive."),
    _pkts("pkts", "Packets with a one-way delay in the bin; they sum to the flow's delay_count."),
)

_QUEUE_SAMPLES = (
    _AT,
    _QUEUE,
    Column("system_pkts", "int64", "packets", "sampled", "In queue and transmission."),
    Column("backlog_pkts", "int64", "packets", "sampled", "In the discipline."),
    Column("backlog_bytes", "int64", "bytes", "sampled", "In the discipline."),
    _pkts("departed_pkts", "Transmissions ended so far."),
    _bytes("departed_bytes", "Their bytes on the wire, so far."),
    _pkts("dropped_pkts", "Dropped by the queue so far, for any reason."),
    _real("sojourn_sum_s", "s", "Sum of the sojourn times of packets departed so far."),
    _real("system_integral_pkt_s", "packets s", "Integral of the number in the system so far."),
    _pkts("marked_pkts", "Marked (ECN CE) so far."),
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
    _AT,
    _FLOW,
    _pkts("delivered_pkts", "Arrived at the receiver so far."),
    _bytes("delivered_payload_bytes", "Payload of whole datagrams received so far."),
    _pkts("dropped_pkts", "Dropped by a queue or lost by a link so far."),
    _real("delay_sum_s", "s", "Sum of the one-way delays of packets delivered so far."),
    _level("cwnd_pkts", "packets", "Congestion window."),
    _level("ssthresh_pkts", "packets", "Slow start threshold; -1 also before it is first set."),
    _level("inflight_pkts", "packets", "Sent, neither acknowledged nor considered lost."),
    _level("srtt_ns", "ns", "Smoothed round-trip time (RFC 6298)."),
    _level(
        "rttvar_ns",
        "ns",
        "Its mean deviation as measured, without the floor of Linux's timeout (RFC 6298 section "
        "2.3; tcpi_rttvar).",
    ),
    _level("min_rtt_ns", "ns", "The sender's minimum round-trip time."),
    _pkts("retransmitted_pkts", f"Segments retransmitted so far{_ALL_CONNECTIONS}"),
    _bytes("sent_payload_bytes", f"Payload sent for the first time so far{_ALL_CONNECTIONS}"),
    _level("pacing_rate_bps", "bit/s", "Pacing rate of the sender; -1 also if it does not pace."),
    _level("delivery_rate_bps", "bit/s", "The sender's last estimate of its delivery rate."),
)

_FLOW_WRITES = (
    _AT,
    _FLOW,
    _bytes(
        "written_payload_bytes",
        "Payload accepted by TCP from the sender so far, closed connections included.",
    ),
)

_WHOLE = "whole run; -1 if unknown."

_TRANSFERS = (
    _FLOW,
    _id("transfer", "Number of the transfer in its flow, from 1.", "int64"),
    _bytes(
        "bytes",
        "Payload requested, at most 1 PB (a larger draw counts as 1 PB); -1 for a connection "
        "without an end.",
    ),
    _ns("started_ns", "Time at which its connection began."),
    _ns("completed_ns", "Time at which the receiver had all data; -1 if not before the end."),
    _pkts("created_pkts", f"Packets sent, SYN and FIN included; {_WHOLE}"),
    _pkts("retransmitted_pkts", f"Of these the retransmissions of payload; {_WHOLE}"),
    _pkts(
        "received_pkts",
        "Packets that arrived at the receiver; segments merged by the device count as one (`tso`, "
        f"`gro`); {_WHOLE}",
    ),
    _bytes("received_bytes", f"Their bytes with the IP header; {_WHOLE}"),
    _pkts(
        "received_again_pkts",
        f"Those of received_pkts that are retransmissions, as in a capture after the last "
        f"queue; {_WHOLE}",
    ),
    _ns("first_received_ns", "Arrival of the first packet, the SYN; -1 for none or unknown."),
    _ns("last_received_ns", "Arrival of the last packet; -1 for none or unknown."),
    _pkts("dropped_pkts", f"Packets of the sender dropped or lost on the path; {_WHOLE}"),
)

_PROBES = (
    _PROBE,
    _id("seq", "Number of the request, from 1, as ping prints it.", "int64"),
    _ns("sent_ns", "Time at which the request was sent; -1 if unknown in an import."),
    _ns("received_ns", "Arrival of its answer; -1 for none, or if unknown in an import."),
    _ns("rtt_ns", "Round-trip time; -1 if no answer came before the end."),
)

_PACKETS = (
    _AT,
    _QUEUE,
    _id("event", "0 enqueue, 1 dequeue, 2 drop, 3 mark, 4 lost (after its dequeue).", "int8"),
    _id("reason", f"Why it was dropped, marked or lost: {_REASONS}.", "int8"),
    _id("flow", "Flow it belongs to, or -1."),
    _id("probe", "Probe it belongs to, or -1."),
    _id("seq", "Number of its datagram in the flow, or of the echo request.", "int64"),
    Column("bytes", "int32", "bytes", "exact", "Its bytes on this link's wire."),
    Column("system_pkts", "int32", "packets", "exact", "In queue and transmission afterwards."),
    _ns("sojourn_ns", "From arrival to end of transmission, if it was sent; else -1."),
)

_WIRESHARK = "Wireshark's flag"
_CAPTURED_FLOWS = (
    _id("queue", "Queue at whose sending end it was seen; in an import the interface."),
    _id("place", "0 before the queue, 1 after it; -1 if unknown in an import.", "int8"),
    _id("flow", "Flow it belongs to, or -1."),
    _id("probe", "Probe it belongs to, or -1."),
    _id("connection", "Number of the connection in its flow, from 1.", "int64"),
    _id("is_reply", "1 for the direction from the responder, else 0.", "int8"),
    _id("protocol", "IANA's number: 1 ICMP, 6 TCP, 17 UDP.", "int64"),
    _id("source_port", "0 without ports; for an echo its identifier.", "int64"),
    _id("destination_port", "As source_port.", "int64"),
    _ns("first_ns", "First packet seen."),
    _ns("last_ns", "Last packet seen."),
    _pkts("pkts", "Packets seen; whole run."),
    _bytes("bytes", "Their frames, as captured: Ethernet header and IP packet."),
    _pkts("data_pkts", "Packets with payload."),
    _bytes("payload_bytes", "Payload of these."),
    _pkts(
        "retransmission_pkts",
        f"{_WIRESHARK} `tcp.analysis.retransmission`, fast and spurious ones included.",
    ),
    _pkts("fast_retransmission_pkts", f"{_WIRESHARK} `tcp.analysis.fast_retransmission`."),
    _pkts("spurious_retransmission_pkts", f"{_WIRESHARK} `tcp.analysis.spurious_retransmission`."),
    _pkts("out_of_order_pkts", f"{_WIRESHARK} `tcp.analysis.out_of_order`."),
    _pkts("lost_segment_pkts", f"{_WIRESHARK} `tcp.analysis.lost_segment`."),
    _pkts("duplicate_ack_pkts", f"{_WIRESHARK} `tcp.analysis.duplicate_ack`."),
    _pkts("keep_alive_pkts", f"{_WIRESHARK} `tcp.analysis.keep_alive`."),
    _pkts("repeated_pkts", "Segments with a byte that was seen here before."),
    _pkts("late_pkts", "Segments below the highest number seen, without a byte seen before."),
    _bytes("new_bytes", "Sequence numbers seen for the first time: payload, SYN and FIN."),
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
    _id("queue", "As in captured_flows."),
    _id("place", "As in captured_flows.", "int8"),
    _id("flow", "Flow it belongs to."),
    _id("connection", "Number of the connection in its flow, from 1.", "int64"),
    _id("is_reply", "1 for the direction from the responder, else 0.", "int8"),
    _id(
        "window_scale",
        "Window scale of the windows offered to this direction; 0 if not negotiated, -1 "
        "if the handshake was not captured.",
        "int8",
    ),
    _id("begin_ns", "Start of the interval, since the first packet.", "int64", "ns"),
    _id("width_ns", "Length of the interval, equal within a direction.", "int64", "ns"),
    _pkts("pkts", "Packets seen."),
    _bytes("bytes", "Their frames, as captured."),
    _pkts("retransmission_pkts", f"{_WIRESHARK} `tcp.analysis.retransmission`."),
    _pkts("repeated_pkts", "As in captured_flows."),
    _pkts("late_pkts", "As in captured_flows."),
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
    _pkts("in_flight_pkts", "Packets with payload, at which the bytes in flight are known."),
    *_spread(
        "in_flight", "bytes", "difference of the highest number sent and the highest acknowledged"
    ),
    _pkts("window_pkts", "Packets of the other direction that advertise a window."),
    *_spread("window", "bytes", "advertised window, scaled by window_scale"),
)

_PROGRAM = _id("program", "Index in the description's list of programs.")
_SIDE = _id("side", "Reporting side: 0 the client or sender, 1 the server or receiver.", "int8")
_SAYS = "; -1 if not reported."

_PROGRAMS = (
    _PROGRAM,
    _ns("started_ns", "Start of the program; before 0 for a capture from the start."),
    _ns("ended_ns", "End of the program."),
    Column(
        "exit_status", "int32", "", "exact", "Its exit status; -1 if it was interrupted at the end."
    ),
    _pkts("sent_pkts", f"Packets or requests sent, as reported{_SAYS}"),
    _pkts("received_pkts", f"Packets or answers received, as reported{_SAYS}"),
    _pkts("lost_pkts", f"Packets or answers lost, as reported{_SAYS}"),
    _bytes("received_bytes", f"Payload received, as reported{_SAYS}"),
    _real("throughput_bps", "bit/s", "Payload over time, as reported; NaN if not reported."),
    _pkts("retransmitted_pkts", f"Segments retransmitted, as reported{_SAYS}"),
    _ns("rtt_min_ns", f"Minimum round trip, as reported{_SAYS}"),
    _real("rtt_mean_s", "s", "Mean round trip, as reported; NaN if not reported."),
    _ns("rtt_max_ns", f"Maximum round trip, as reported{_SAYS}"),
    _real("delay_mean_s", "s", "Mean one-way delay, as reported; NaN if not reported."),
    _real("jitter_mean_s", "s", "Mean jitter by the program's rule; NaN if not reported."),
)

_PROGRAM_INTERVALS = (
    _PROGRAM,
    _SIDE,
    _id("stream", "Number of the stream in the program."),
    _ns(
        "start_ns",
        "Start of the interval. Times that a program counts from the start of its test "
        "count here from the start of the program, some round trips earlier.",
    ),
    _ns("end_ns", "Its end."),
    _bytes("bytes", f"Payload written by a sender or read by a receiver{_SAYS}"),
    _pkts("pkts", f"Datagrams; for UDP{_SAYS}"),
    _pkts("lost_pkts", f"Datagrams missed by the receiver; for UDP{_SAYS}"),
    _pkts("retransmitted_pkts", f"Segments retransmitted; for a TCP sender{_SAYS}"),
    _level("cwnd_bytes", "bytes", "Congestion window at the interval's end."),
    _level("rtt_ns", "ns", "Smoothed round-trip time at the interval's end."),
    _real("jitter_s", "s", "Jitter at a UDP receiver; NaN if not reported."),
)

_PROGRAM_PACKETS = (
    _PROGRAM,
    _SIDE,
    _id("seq", "Number of the packet, from 1.", "int64"),
    _ns("sent_ns", "Time of sending, from the packet's time stamp, in whole microseconds."),
    _ns("received_ns", "Time of arrival; -1 in a sender's log."),
    _bytes("payload_bytes", "Payload."),
)

_PROGRAM_ROUND_TRIPS = (
    _PROGRAM,
    _id("seq", "Number of the request, from 1.", "int64"),
    _ns("sent_ns", "Time of sending: the answer's arrival less the round trip; -1 without one."),
    _ns("received_ns", "Arrival of the answer, in whole microseconds; -1 without one."),
    _ns("rtt_ns", "Round trip as printed, to three or four digits; -1 without an answer."),
)

_PROGRAM_TRANSFERS = (
    _PROGRAM,
    _id("number", "Number of the transfer, from 1.", "int64"),
    Column("status", "int32", "", "exact", "HTTP status."),
    _bytes("bytes", "Payload received."),
    _real(
        "connect_s",
        "s",
        "From its start until the connection was established; 0 for an existing one.",
    ),
    _real("first_byte_s", "s", "From its start until the first byte."),
    _real("total_s", "s", "From its start until the last byte."),
)

_PROGRAM_SAMPLES = (
    _PROGRAM,
    _id("series", "Series of a data file; numbered over all programs of the run."),
    _id("seq", "Number of a round trip, as counted by irtt or ping; -1 for a rate.", "int64"),
    _ns("t_ns", "Time of the sample: the end of its interval, or the arrival of the answer."),
    _ns("interval_ns", "Interval of a rate; -1 if not reported."),
    _real("rate_bps", "bit/s", "Payload over time; NaN for a round trip."),
    _ns("rtt_ns", "Round trip; -1 for a rate, and without an answer."),
    _ns("delay_there_ns", "One-way delay to the server, reported by irtt; else -1."),
    _ns("delay_back_ns", "One-way delay from the server, reported by irtt; else -1."),
)

SCHEMA: Mapping[str, tuple[Column, ...]] = MappingProxyType(
    {
        "flows": _FLOWS,
        "queues": _QUEUES,
        "distributions": _DISTRIBUTIONS,
        "flow_delays": _FLOW_DELAYS,
        "queue_samples": _QUEUE_SAMPLES,
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
