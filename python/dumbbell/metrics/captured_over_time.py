"""A captured connection over time: rate, round trips, bytes in flight, window, retransmissions.

Round trips are measured at the point of capture, from a segment to the first acknowledgement of its
end: the path from there to the receiver and back. At the sender that is the full round trip. Bytes
in flight are RFC 5681's FlightSize (section 2); the window is that of RFC 9293, section 3.8.6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dumbbell.tables import Array, Run, place_code

NS_PER_S = 1e9


@dataclass(frozen=True, slots=True)
class Spread:
    """Minimum, mean and maximum of each interval; NaN in intervals without values.

    Attributes:
        low: Minima, shape (k,).
        mean: Means, shape (k,).
        high: Maxima, shape (k,).
    """

    low: Array
    mean: Array
    high: Array

    @property
    def is_known(self) -> bool:
        """Whether any interval has a value."""
        return bool((~np.isnan(self.mean)).any())


@dataclass(frozen=True, slots=True)
class CapturedOverTime:
    """One direction of a connection, in intervals of the same length.

    Attributes:
        t_s: Middle of each interval, from the first packet of the capture, shape (k,).
        width_s: Length of an interval.
        bytes: Bytes of the frames in each interval, shape (k,).
        rate_bps: Bits of the frames over the length of the interval; the last interval may be
            shorter, shape (k,).
        sent_again_pkts: Segments that did not advance the sequence (repeated or late), shape (k,).
        retransmission_pkts: Packets that Wireshark marks ``tcp.analysis.retransmission``, shape
            (k,).
        round_trip_s: Time from a segment to its acknowledgement, at the time of the
            acknowledgement.
        in_flight_bytes: Bytes sent and not acknowledged, at each segment with payload.
        window_bytes: The advertised receive window.
        is_window_scaled: Whether the capture has the window scale; otherwise windows are those of
            the header.
    """

    t_s: Array
    width_s: float
    bytes: Array
    rate_bps: Array
    sent_again_pkts: Array
    retransmission_pkts: Array
    round_trip_s: Spread
    in_flight_bytes: Spread
    window_bytes: Spread
    is_window_scaled: bool


def captured_over_time(
    run: Run,
    queue: str | int,
    place: str | int,
    flow: str | int,
    *,
    is_reply: bool = False,
    connection: int = 1,
    most: int = 512,
    least_width_s: float = 0.0,
) -> CapturedOverTime | None:
    """Time series of a connection at a place.

    Args:
        run: An imported capture, with the table ``captured_intervals``.
        queue: Name or index.
        place: ``before``, ``after``, ``""`` or a code.
        flow: Name or index.
        is_reply: Whether to take the direction from the responder.
        connection: Number of the connection in the flow; for TCP from 1.
        most: Maximum number of intervals; more are merged.
        least_width_s: Minimum length of an interval; shorter ones are merged.

    Returns:
        None if that connection was not followed.

    Raises:
        TableError: The run has no such table, queue or flow.
        ValueError: ``most`` is not positive, or there is no place of that name.
    """
    if most < 1:
        raise ValueError(f"most is {most}; at least 1")
    table = run.columns("captured_intervals")
    keep = (table["queue"] == run.queue(queue)) & (table["place"] == place_code(place))
    keep &= (table["flow"] == run.flow(flow)) & (table["is_reply"] == is_reply)
    keep &= table["connection"] == connection
    if not keep.any():
        return None
    rows = {name: values[keep] for name, values in table.items()}
    begin, width = int(rows["begin_ns"].min()), int(rows["width_ns"][0])
    index = (rows["begin_ns"] - begin) // width
    count = int(index.max()) + 1
    together = max(-(-count // most), math.ceil(least_width_s * NS_PER_S / width))
    last_s = ((count - 1) % together + 1) * width / NS_PER_S
    index, count, width = index // together, -(-count // together), width * together
    width_s = width / NS_PER_S
    widths_s = np.full(count, width_s)
    widths_s[-1] = last_s

    def summed(name: str) -> Array:
        return np.bincount(index, weights=rows[name], minlength=count)

    def spread(name: str, unit: str, counts: str, factor: float = 1.0) -> Spread:
        weights = rows[counts]
        has = weights > 0
        low, high = np.full(count, np.inf), np.full(count, -np.inf)
        np.minimum.at(low, index[has], rows[f"{name}_min_{unit}"][has])
        np.maximum.at(high, index[has], rows[f"{name}_max_{unit}"][has])
        total = np.bincount(
            index[has],
            weights=rows[f"{name}_mean_{unit}"][has] * weights[has].astype(float),
            minlength=count,
        )
        values = np.bincount(index[has], weights=weights[has], minlength=count)
        known = values > 0
        mean = np.divide(total, values, out=np.full(count, np.nan), where=known)
        low, high = np.where(known, low, np.nan), np.where(known, high, np.nan)
        return Spread(low * factor, mean * factor, high * factor)

    return CapturedOverTime(
        t_s=begin / NS_PER_S + width_s * (np.arange(count) + 0.5),
        width_s=width_s,
        bytes=summed("bytes"),
        rate_bps=8 * summed("bytes") / widths_s,
        sent_again_pkts=summed("repeated_pkts") + summed("late_pkts"),
        retransmission_pkts=summed("retransmission_pkts"),
        round_trip_s=spread("round_trip", "ns", "round_trips", 1 / NS_PER_S),
        in_flight_bytes=spread("in_flight", "bytes", "in_flight_pkts"),
        window_bytes=spread("window", "bytes", "window_pkts"),
        is_window_scaled=bool((rows["window_scale"] >= 0).any()),
    )
