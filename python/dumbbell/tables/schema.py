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


_NOT_TCP = "; -1 where not TCP or not known."
_ALL_CONNECTIONS = ", by connections that are closed too; -1 where not TCP."


def _level(name: str, unit: str, doc: str) -> Column:
    """A number that a TCP sender knows at the row's instant."""
    return Column(name, "int64", unit, "sampled", f"{doc.rstrip('.')}{_NOT_TCP}")


_AT = _id("t_ns", "When, from the start of the run.", "int64", "ns")
_QUEUE = _id("queue", "Directed link end: link i forward (a to b) is 2 i, reverse 2 i + 1.")
_FLOW = _id("flow", "Place in the description's list of flows.")
_PROBE = _id("probe", "Place in the description's list of probes.")

_FLOWS = (
    _FLOW,
    _pkts("created_pkts", "Made by the sender, fragments counted singly; whole run."),
    _bytes("created_bytes", "As created_pkts, with the IP header (ideal source: drawn size)."),
    _pkts("delivered_pkts", "Arrived at the receiver; whole run."),
    _bytes("delivered_bytes", "As delivered_pkts, with the IP header."),
    _pkts("dropped_pkts", "Refused by a queue or lost by a link; whole run."),
    _bytes("dropped_bytes", "As dropped_pkts, with the IP header."),
    _pkts("duplicated_pkts", "Copies made by queues (netem); whole run; -1 where not known."),
    _bytes("duplicated_bytes", "As duplicated_pkts, with the IP header."),
    _pkts(
        "in_network_pkts", "On their way at the end: created + duplicated - delivered - dropped."
    ),
    _bytes("in_network_bytes", "As in_network_pkts, with the IP header."),
    Column("sent_datagrams", "int64", "datagrams", "exact", "Sent in the measured window."),
    _bytes("sent_payload_bytes", "UDP payload of those (ideal source: drawn size)."),
    Column(
        "received_datagrams",
        "int64",
        "datagrams",
        "exact",
        "Whole (every fragment arrived) and completed in the measured window.",
    ),
    _bytes("received_payload_bytes", "UDP payload of those: what the application got."),
    _ns("first_sent_ns", "First datagram sent in the measured window; -1 for none."),
    _ns("last_received_ns", "Last datagram completed in the measured window; -1 for none."),
    _pkts("delay_count", "Packets with a one-way delay: made in the measured window, delivered."),
    _real("delay_mean_s", "s", "Mean one-way delay of those, creation to delivery; NaN for none."),
    _real("delay_sd_s", "s", "Their standard deviation."),
    _ns("delay_min_ns", "Least of them; -1 for none."),
    _ns("delay_max_ns", "Greatest of them; -1 for none."),
    _pkts("retransmitted_pkts", "Segments sent again; whole run. -1 where not TCP or not known."),
    Column(
        "rto_count",
        "int64",
        "timeouts",
        "exact",
        "Retransmission timeouts; whole run. -1 where not TCP or not known.",
    ),
)

_QUEUES = (
    _QUEUE,
    _pkts("arrived_pkts", "Offered to the queue, dropped ones too; measured window."),
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
        "Lost on purpose; measured window. By the link: they did depart. By netem: they did not.",
    ),
    _pkts("marked_pkts", "Marked (ECN CE) instead of dropped; measured window."),
    _real("measured_s", "s", "Length of the measured window."),
    _real("busy_s", "s", "Time in it with a packet in the system."),
    _pkts("sojourn_count", "Packets that arrived and departed in the measured window."),
    _real("sojourn_mean_s", "s", "Their mean time from arrival to the end of transmission (T)."),
    _real("sojourn_sd_s", "s", "Standard deviation of it."),
    _ns("sojourn_min_ns", "Least of it; -1 for none."),
    _ns("sojourn_max_ns", "Greatest of it; -1 for none."),
    _real("wait_mean_s", "s", "Mean sojourn less the packet's own transmission (W)."),
    _real("wait_sd_s", "s", "Standard deviation of it."),
    _ns("wait_max_ns", "Greatest of it; -1 for none."),
    _real("system_mean_pkts", "packets", "Time average in queue and transmission (N)."),
    _real("backlog_mean_pkts", "packets", "Time average of what the discipline holds (N_q)."),
    _real("backlog_mean_bytes", "bytes", "Time average of its bytes, as tc's backlog."),
    _pkts("system_max_pkts", "Most in queue and transmission at any instant."),
    _pkts("backlog_max_pkts", "Most the discipline held at any instant."),
    _bytes("backlog_max_bytes", "Most bytes it held at any instant."),
)

_DISTRIBUTIONS = (
    _QUEUE,
    _id("quantity", "0 sojourn (ns), 1 wait (ns), 2 packets in the system.", "int8"),
    _real("low", "ns or packets", "Lower end of the bin, inside it. Delay bins are 1/128 wide."),
    _real("high", "ns or packets", "Upper end, outside it. Bins of packets hold one number."),
    _real("weight", "packets or s", "Packets with such a delay; seconds at such a number."),
)

_FLOW_DELAYS = (
    _FLOW,
    _real("low_ns", "ns", "Lower end of the bin, inside it. Bins are 1/128 wide, as queues'."),
    _real("high_ns", "ns", "Upper end, outside it."),
    _pkts("pkts", "Packets with such a one-way delay; of a flow they are its delay_count."),
)

_QUEUE_SAMPLES = (
    _AT,
    _QUEUE,
    Column("system_pkts", "int64", "packets", "sampled", "In queue and transmission."),
    Column("backlog_pkts", "int64", "packets", "sampled", "Held by the discipline."),
    Column("backlog_bytes", "int64", "bytes", "sampled", "Held by the discipline."),
    _pkts("departed_pkts", "Transmissions ended so far."),
    _bytes("departed_bytes", "Their bytes on the wire, so far."),
    _pkts("dropped_pkts", "Dropped by the queue so far, for whatever reason."),
    _real("sojourn_sum_s", "s", "Sum of the sojourn times of all that departed so far."),
    _real("system_integral_pkt_s", "packets s", "Integral of the number in the system so far."),
    _pkts("marked_pkts", "Marked (ECN CE) so far."),
    Column(
        "drop_probability",
        "float64",
        "",
        "sampled",
        "What the discipline drops or marks with (PIE, RED); NaN where it has no such number.",
    ),
    Column(
        "delay_estimate_ns",
        "int64",
        "ns",
        "sampled",
        "What the discipline takes its queueing delay for (PIE, CoDel); -1 where it does not.",
    ),
)

_FLOW_SAMPLES = (
    _AT,
    _FLOW,
    _pkts("delivered_pkts", "Arrived at the receiver so far."),
    _bytes("delivered_payload_bytes", "Payload of whole datagrams received so far."),
    _pkts("dropped_pkts", "Refused by a queue or lost by a link so far."),
    _real("delay_sum_s", "s", "Sum of the one-way delays of all delivered so far."),
    _level("cwnd_pkts", "packets", "Congestion window."),
    _level("ssthresh_pkts", "packets", "Slow start threshold; -1 also before the first."),
    _level("inflight_pkts", "packets", "Sent, neither acknowledged nor taken for lost."),
    _level("srtt_ns", "ns", "Smoothed round-trip time (RFC 6298)."),
    _level(
        "rttvar_ns",
        "ns",
        "Its mean deviation as measured, without the floor of Linux's timeout (RFC 6298 section "
        "2.3; tcpi_rttvar).",
    ),
    _level("min_rtt_ns", "ns", "Least round-trip time that the sender knows of."),
    _pkts("retransmitted_pkts", f"Segments sent again so far{_ALL_CONNECTIONS}"),
    _bytes("sent_payload_bytes", f"Payload sent for the first time so far{_ALL_CONNECTIONS}"),
    _level("pacing_rate_bps", "bit/s", "What the sender paces with; -1 also when it does not."),
    _level("delivery_rate_bps", "bit/s", "The sender's last estimate of its rate of delivery."),
)

_FLOW_WRITES = (
    _AT,
    _FLOW,
    _bytes(
        "written_payload_bytes",
        "Payload that TCP took from the sender so far, by connections that are closed too.",
    ),
)

_WHOLE = "whole run; -1 where not known."

_TRANSFERS = (
    _FLOW,
    _id("transfer", "Number of the transfer in its flow, from 1.", "int64"),
    _bytes(
        "bytes",
        "Payload asked for, at most 1 PB (a larger draw counts as that); -1 for a connection "
        "without an end.",
    ),
    _ns("started_ns", "When its connection was begun."),
    _ns("completed_ns", "When the receiver had all of it; -1 for not before the end."),
    _pkts("created_pkts", f"Packets sent, ends of the connection included; {_WHOLE}"),
    _pkts("retransmitted_pkts", f"Those of them with payload that had been sent before; {_WHOLE}"),
    _pkts(
        "received_pkts",
        "Packets that arrived at the receiver, one for several segments that came as one (`tso`, "
        f"`gro`); {_WHOLE}",
    ),
    _bytes("received_bytes", f"Their bytes with the IP header; {_WHOLE}"),
    _pkts(
        "received_again_pkts",
        f"Those of received_pkts whose payload had been sent before: what a capture behind the "
        f"last queue shows of retransmissions; {_WHOLE}",
    ),
    _ns("first_received_ns", "When the first packet arrived, the SYN; -1 for none or not known."),
    _ns("last_received_ns", "When the last packet arrived; -1 for none or not known."),
    _pkts("dropped_pkts", f"Packets of the sender dropped or lost on the way; {_WHOLE}"),
)

_PROBES = (
    _PROBE,
    _id("seq", "Number of the request, from 1, as ping prints it.", "int64"),
    _ns("sent_ns", "When the request was sent; -1 where an import does not say."),
    _ns("received_ns", "When its answer arrived; -1 for none, or where an import does not say."),
    _ns("rtt_ns", "From one to the other; -1 when no answer came before the end."),
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
    _ns("sojourn_ns", "Arrival to end of transmission, where it was sent; else -1."),
)

_WIRESHARK = "Wireshark's flag"
_CAPTURED_FLOWS = (
    _id("queue", "Queue at whose sending end it was seen; of an import the interface."),
    _id("place", "0 before the queue, 1 after it; -1 where an import does not say.", "int8"),
    _id("flow", "Flow it belongs to, or -1."),
    _id("probe", "Probe it belongs to, or -1."),
    _id("connection", "Number of the connection in its flow, from 1.", "int64"),
    _id("is_reply", "1 for the direction of who did not speak first, else 0.", "int8"),
    _id("protocol", "IANA's number: 1 ICMP, 6 TCP, 17 UDP.", "int64"),
    _id("source_port", "0 without ports; of an echo its identifier.", "int64"),
    _id("destination_port", "As source_port.", "int64"),
    _ns("first_ns", "First packet seen."),
    _ns("last_ns", "Last packet seen."),
    _pkts("pkts", "Packets seen; whole run."),
    _bytes("bytes", "Their frames, as captured: Ethernet header and IP packet."),
    _pkts("data_pkts", "Packets with payload."),
    _bytes("payload_bytes", "Payload of those."),
    _pkts(
        "retransmission_pkts",
        f"{_WIRESHARK} `tcp.analysis.retransmission`: with fast and spurious ones.",
    ),
    _pkts("fast_retransmission_pkts", f"{_WIRESHARK} `tcp.analysis.fast_retransmission`."),
    _pkts("spurious_retransmission_pkts", f"{_WIRESHARK} `tcp.analysis.spurious_retransmission`."),
    _pkts("out_of_order_pkts", f"{_WIRESHARK} `tcp.analysis.out_of_order`."),
    _pkts("lost_segment_pkts", f"{_WIRESHARK} `tcp.analysis.lost_segment`."),
    _pkts("duplicate_ack_pkts", f"{_WIRESHARK} `tcp.analysis.duplicate_ack`."),
    _pkts("keep_alive_pkts", f"{_WIRESHARK} `tcp.analysis.keep_alive`."),
    _pkts("repeated_pkts", "Segments of which a byte was seen here before."),
    _pkts("late_pkts", "Segments below the highest seen, of which no byte was seen before."),
    _bytes("new_bytes", "Sequence numbers seen for the first time: payload, SYN and FIN."),
)

_NO_VALUE = "; -1 without one."


def _spread(name: str, unit: str, what: str) -> tuple[Column, ...]:
    """Least, mean and greatest of the values in an interval."""
    words = {"min": "Least", "mean": "Mean, rounded down,", "max": "Greatest"}
    return tuple(
        Column(f"{name}_{key}_{unit}", "int64", unit, "exact", f"{word} {what}{_NO_VALUE}")
        for key, word in words.items()
    )


_CAPTURED_INTERVALS = (
    _id("queue", "As in captured_flows."),
    _id("place", "As in captured_flows.", "int8"),
    _id("flow", "Flow it belongs to."),
    _id("connection", "Number of the connection in its flow, from 1.", "int64"),
    _id("is_reply", "1 for the direction of who did not speak first, else 0.", "int8"),
    _id(
        "window_scale",
        "Shift of the windows that this direction is offered; 0 where the ends agreed on none, -1 "
        "where their handshake was not captured.",
        "int8",
    ),
    _id("begin_ns", "When the interval begins, from the first packet.", "int64", "ns"),
    _id("width_ns", "How long it is, the same for all of a direction.", "int64", "ns"),
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
        "Acknowledgements of a segment's end, of none that may answer a repair (Karn's algorithm).",
    ),
    *_spread(
        "round_trip", "ns", "time from the segment to its acknowledgement, seen at this place"
    ),
    _pkts("in_flight_pkts", "Packets with payload, at which the bytes in flight are known."),
    *_spread(
        "in_flight", "bytes", "difference of the highest number sent and the highest acknowledged"
    ),
    _pkts("window_pkts", "Packets of the other direction that offer a window."),
    *_spread("window", "bytes", "window offered, as scaled by window_scale"),
)

_PROGRAM = _id("program", "Place in the description's list of programs.")
_SIDE = _id("side", "Who says it: 0 the asking or sending side, 1 the answering one.", "int8")
_SAYS = "; -1 where it does not say."

_PROGRAMS = (
    _PROGRAM,
    _ns("started_ns", "When it was started; of a capture from the beginning before 0."),
    _ns("ended_ns", "When it had ended."),
    Column("exit_status", "int32", "", "exact", "Its own; -1 where it was interrupted at the end."),
    _pkts("sent_pkts", f"Packets or requests that it sent, as it says{_SAYS}"),
    _pkts("received_pkts", f"Packets or answers that arrived, as it says{_SAYS}"),
    _pkts("lost_pkts", f"Those that did not, as it says{_SAYS}"),
    _bytes("received_bytes", f"Payload that arrived, as it says{_SAYS}"),
    _real("throughput_bps", "bit/s", "Payload over time, as it says; NaN where it does not."),
    _pkts("retransmitted_pkts", f"Segments sent again, as it says{_SAYS}"),
    _ns("rtt_min_ns", f"Least round trip, as it says{_SAYS}"),
    _real("rtt_mean_s", "s", "Mean round trip, as it says; NaN where it does not."),
    _ns("rtt_max_ns", f"Greatest round trip, as it says{_SAYS}"),
    _real("delay_mean_s", "s", "Mean one-way delay, as it says; NaN where it does not."),
    _real("jitter_mean_s", "s", "Mean jitter by its own rule; NaN where it does not say."),
)

_PROGRAM_INTERVALS = (
    _PROGRAM,
    _SIDE,
    _id("stream", "Its number of the stream."),
    _ns(
        "start_ns",
        "Begin of the interval. Where it counts from the start of its test: from when "
        "it was started, some round trips before.",
    ),
    _ns("end_ns", "Its end."),
    _bytes("bytes", f"Payload written by a sender or read by a receiver{_SAYS}"),
    _pkts("pkts", f"Datagrams; of UDP{_SAYS}"),
    _pkts("lost_pkts", f"Those that a receiver missed; of UDP{_SAYS}"),
    _pkts("retransmitted_pkts", f"Segments sent again; of a TCP sender{_SAYS}"),
    _level("cwnd_bytes", "bytes", "Congestion window at the interval's end."),
    _level("rtt_ns", "ns", "Smoothed round-trip time there."),
    _real("jitter_s", "s", "Of a receiver of UDP; NaN where it does not say."),
)

_PROGRAM_PACKETS = (
    _PROGRAM,
    _SIDE,
    _id("seq", "Its number of the packet, from 1.", "int64"),
    _ns("sent_ns", "When it was sent, by the stamp in it, in whole microseconds."),
    _ns("received_ns", "When it arrived; -1 in a sender's log."),
    _bytes("payload_bytes", "Payload."),
)

_PROGRAM_ROUND_TRIPS = (
    _PROGRAM,
    _id("seq", "Its number of the request, from 1.", "int64"),
    _ns("sent_ns", "When it was sent: the answer's arrival less the round trip; -1 without one."),
    _ns("received_ns", "When the answer arrived, in whole microseconds; -1 without one."),
    _ns("rtt_ns", "Round trip as printed, to three or four digits; -1 without an answer."),
)

_PROGRAM_TRANSFERS = (
    _PROGRAM,
    _id("number", "Of the transfer, from 1.", "int64"),
    Column("status", "int32", "", "exact", "Of HTTP."),
    _bytes("bytes", "Payload received."),
    _real(
        "connect_s", "s", "From its beginning until the connection stood; 0 where it stood before."
    ),
    _real("first_byte_s", "s", "From its beginning until the first byte."),
    _real("total_s", "s", "From its beginning until the last."),
)

_PROGRAM_SAMPLES = (
    _PROGRAM,
    _id("series", "Series of a data file; numbered over all programs of the run."),
    _id("seq", "Number of a round trip, as irtt or ping counts it; -1 of a rate.", "int64"),
    _ns("t_ns", "When it was taken: the end of its interval, or when the answer arrived."),
    _ns("interval_ns", "How long a rate is of; -1 where it does not say."),
    _real("rate_bps", "bit/s", "Payload over time; NaN of a round trip."),
    _ns("rtt_ns", "Round trip; -1 of a rate, and of an answer that did not come."),
    _ns("delay_there_ns", "One way, as irtt knows it; -1 elsewhere."),
    _ns("delay_back_ns", "Back, as irtt knows it; -1 elsewhere."),
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
        "flows": "A row a flow.",
        "queues": "A row a queue, that is, a direction of a link. Of one that is not observed (key "
        "`observe`) what comes after `measured_s` is NaN, or -1. Everything in it is about the "
        "measured window.",
        "distributions": "A row a non-empty bin: sojourn and waiting times of the packets that "
        "arrived in the measured window, and the time spent at each number of packets.",
        "flow_delays": "A row a non-empty bin: one-way delays of each flow's packets, those made "
        "in the measured window and delivered. In the order of flows, then of delays.",
        "queue_samples": "A row a queue and sampling instant (`sample_interval`). Sums and "
        "integrals run from the start, so two rows give the exact mean between them; only the "
        "levels are samples.",
        "flow_samples": "A row a flow and sampling instant. Windows, times and rates of TCP are "
        "what the sender knows at the instant, as `ss -i` prints it.",
        "flow_writes": "A row a flow over TCP and sampling instant, with `record_writes` only: "
        "what the application has written, some of which still waits in the send buffer. A program "
        "that always has more to send writes when a third of that buffer is free. Not part of the "
        "run's digest.",
        "transfers": "A row a connection over TCP, and so a transfer of the sources that are "
        "`sized`, `arrivals` or a `closed_loop`. Its file has each flow's name beside its number.",
        "probes": "A row an echo request, sent at any time of the run.",
        "packets": "A row a packet and event, at links with `record_packets` only.",
        "captured_flows": "A row a connection and direction, as seen at the sending end of a link "
        "with `capture_flows`, before and after its queue, or in an imported capture. See "
        "[captures](captures.md).",
        "captured_intervals": "A row an interval in which something was seen of a direction of a "
        "connection, in an imported capture only: at most 512 of the same width. Of many "
        "connections those with the most bytes are followed, at most 128. See "
        "[captures](captures.md).",
        "programs": "A row a program of the description ([programs](programs.md)), with what it "
        "says of the whole. This table and the next four are there where there are programs, and "
        "so never of the simulator.",
        "program_intervals": "A row an interval of a program that reports in intervals: iperf3, "
        "iperf, netperf.",
        "program_packets": "A row a packet in a log of D-ITG, as ITGDec prints it.",
        "program_round_trips": "A row a request of ping, as it prints it.",
        "program_transfers": "A row a page that curl fetched.",
        "program_samples": "A row a sample in the data file of a program of kind `flent`, and only "
        "there where there is one. Its file has each series' name beside its number.",
    }
)
"""Table name to what a row of it is."""


def empty_table(name: str) -> dict[str, np.ndarray[tuple[int], np.dtype[np.generic]]]:
    """The table without rows."""
    return {column.name: np.empty(0, column.numpy) for column in SCHEMA[name]}
