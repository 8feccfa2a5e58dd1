"""A connection of a capture over time: rate, round trips, bytes in flight, window, repairs.

Round trips are seen from the place of the capture: from a segment to the first acknowledgement of
its end, and so the way from there to the receiver and back. At the sender that is the whole round
trip. In flight is RFC 5681's FlightSize (section 2), the window that of RFC 9293, section 3.8.6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dumbbell.tables import Array, Run, place_code

NS_PER_S = 1e9


@dataclass(frozen=True, slots=True)
class Spread:
    """Least, mean and greatest value of each interval; NaN in those without one.

    Attributes:
        low: Shape (k,).
        mean: Shape (k,).
        high: Shape (k,).
    """

    low: Array
    mean: Array
    high: Array

    @property
    def is_known(self) -> bool:
        """Whether there is a value anywhere."""
        return bool((~np.isnan(self.mean)).any())


@dataclass(frozen=True, slots=True)
class CapturedOverTime:
    """One direction of a connection, in intervals of the same length.

    Attributes:
        t_s: Middle of each interval, from the first packet of the capture, shape (k,).
        width_s: Length of an interval.
        bytes: Of its frames, shape (k,).
        rate_bps: Bits of its frames over its length, of the last interval over as much of it as
            there is, shape (k,).
        sent_again_pkts: Segments that did not advance the sequence (repeated or late), shape (k,).
        retransmission_pkts: Packets that Wireshark marks ``tcp.analysis.retransmission``, shape
            (k,).
        round_trip_s: From a segment to its acknowledgement, by the latter's time.
        in_flight_bytes: Sent and not acknowledged, at each segment with payload.
        window_bytes: What the receiver offers.
        is_window_scaled: Whether the capture says how windows are scaled; else they are as they
            stand in the header.
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
    """A connection as seen at a place.

    Args:
        run: Of a capture that was read, with the table ``captured_intervals``.
        queue: Name or index.
        place: ``before``, ``after``, ``""`` or a code.
        flow: Name or index.
        is_reply: Whether the direction is that of who did not speak first.
        connection: Its number in the flow, of TCP from 1.
        most: Intervals at most; they are put together where there are more,
        least_width_s: and where they are shorter than this.

    Returns:
        None where that connection was not followed.

    Raises:
        TableError: The run has no such table, queue or flow.
        ValueError: ``most`` is not positive, or no place is called so.
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
