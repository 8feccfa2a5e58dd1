"""Throughput and loss of the flows in a capture, by Wireshark's rule and by dumbbell's.

The throughput of a flow is its frames' bits over the time from its first packet to its last, as
Rajeev's buffer-sizing experiment counts it at a router. A flow of one packet, or whose packets
share one instant, has no duration and so no throughput.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dumbbell.tables import Array, Run, place_code

NS_PER_S = 1e9
TCP = 6
"""IANA's number."""


@dataclass(frozen=True)
class CapturedFlows:
    """The flows seen at one place, each in the direction that carried more bytes.

    Attributes:
        flow: Index of the flow in the run, shape (n,).
        connection: Number of the connection in its flow, shape (n,).
        is_reply: 1 for the direction from the responder, shape (n,).
        pkts: Packets, shape (n,).
        bytes: Bytes of their frames, shape (n,).
        payload_bytes: Payload; -1 if unknown, shape (n,).
        duration_s: From the first packet to the last, shape (n,).
        throughput_bps: Bits of frames over the duration; NaN without one, shape (n,).
        loss_by_flag: Packets with Wireshark's flag ``tcp.analysis.retransmission`` over all
            packets; NaN for other protocols than TCP, shape (n,).
        loss_by_bytes: Segments that did not advance the sequence (repeated or late) over those
            with payload; NaN if unknown or without such segments, shape (n,).
    """

    flow: Array
    connection: Array
    is_reply: Array
    pkts: Array
    bytes: Array
    payload_bytes: Array
    duration_s: Array
    throughput_bps: Array
    loss_by_flag: Array
    loss_by_bytes: Array

    @property
    def without_duration(self) -> int:
        """Number of flows without a throughput."""
        return int(np.isnan(self.throughput_bps).sum())


def captured_places(run: Run) -> list[tuple[int, int]]:
    """(queue, place) of every place at which flows were seen, in order.

    Raises:
        TableError: The run has no ``captured_flows``.
    """
    table = run.columns("captured_flows")
    pairs = zip(table["queue"].tolist(), table["place"].tolist(), strict=True)
    return sorted(set(pairs))


def captured_flows(
    run: Run, queue: str | int, place: str | int, *, protocol: int | None = None
) -> CapturedFlows:
    """The flows seen at a place.

    Args:
        run: A run with the table ``captured_flows``; it may be imported.
        queue: Name or index.
        place: ``before``, ``after``, ``""`` or a code.
        protocol: IANA's number, such as 6 for TCP; None for all.

    Raises:
        TableError: The run has no such table or queue.
        ValueError: There is no place of that name.
    """
    table = run.columns("captured_flows")
    keep = (table["queue"] == run.queue(queue)) & (table["place"] == place_code(place))
    if protocol is not None:
        keep &= table["protocol"] == protocol
    rows = {name: values[keep] for name, values in table.items()}
    chosen = _larger_direction(rows)
    rows = {name: values[chosen] for name, values in rows.items()}
    duration_s = (rows["last_ns"] - rows["first_ns"]) / NS_PER_S
    is_tcp = rows["protocol"] == TCP
    again = (rows["repeated_pkts"] + rows["late_pkts"]).astype(float)
    is_known = (rows["repeated_pkts"] >= 0) & (rows["data_pkts"] > 0) & is_tcp
    return CapturedFlows(
        flow=rows["flow"],
        connection=rows["connection"],
        is_reply=rows["is_reply"],
        pkts=rows["pkts"],
        bytes=rows["bytes"],
        payload_bytes=rows["payload_bytes"],
        duration_s=duration_s,
        throughput_bps=_ratio(8.0 * rows["bytes"], duration_s, duration_s > 0),
        loss_by_flag=_ratio(rows["retransmission_pkts"], rows["pkts"], is_tcp),
        loss_by_bytes=_ratio(again, rows["data_pkts"], is_known),
    )


def _larger_direction(rows: dict[str, Array]) -> Array:
    """The row with more bytes of each flow and connection; the first if they are equal."""
    # lexsort uses the last key first.
    by = (rows["is_reply"], -rows["bytes"], rows["connection"], rows["flow"], rows["probe"])
    order = np.lexsort(by)
    which = np.stack([rows[key][order] for key in ("probe", "flow", "connection")])
    is_first = np.ones(order.size, dtype=bool)
    is_first[1:] = (which[:, 1:] != which[:, :-1]).any(axis=0)
    chosen: Array = np.sort(order[is_first])
    return chosen


def _ratio(top: Array, bottom: Array, where: Array) -> Array:
    out = np.full(np.shape(top), np.nan)
    ratio: Array = np.divide(top, bottom, out=out, where=where)
    return ratio
