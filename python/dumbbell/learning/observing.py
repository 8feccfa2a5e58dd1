"""Observations of an agent: a history of measures of monitor intervals, oldest first."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dumbbell._engine import Interval
from dumbbell.errors import SpecError
from dumbbell.spec.refusal import nearest, one_of

MOST_HISTORY: Final = 1000
_FASTEST_MBPS: Final = 4e6
_LONGEST_RTT_MS: Final = 1e6
_STEEPEST: Final = 10.0
_LARGEST_RATIO: Final = 100.0


class Measure(enum.Enum):
    """A measure of a monitor interval for observations, in its unit and clipped to its range.

    Attributes:
        least: Lower end of its range.
        most: Upper end of its range.
        unit: Its unit.
        before: Its value before the first interval: nothing sent, an empty queue.
    """

    SEND_RATE = ("send_rate", 0.0, _FASTEST_MBPS, "Mbit/s")
    """Payload sent, retransmissions included."""
    DELIVERY_RATE = ("delivery_rate", 0.0, _FASTEST_MBPS, "Mbit/s")
    """Payload acknowledged."""
    RTT = ("rtt", 0.0, _LONGEST_RTT_MS, "ms")
    """Mean round-trip time; without a new sample the smoothed one."""
    RTT_GRADIENT = ("rtt_gradient", -_STEEPEST, _STEEPEST, "s/s")
    """Slope of the least-squares line through round-trip times."""
    LOSS = ("loss", 0.0, 1.0, "share")
    """Lost packets over lost and delivered ones."""
    SEND_RATIO = ("send_ratio", 0.0, _LARGEST_RATIO, "ratio", 1.0)
    """Packets sent over packets delivered (Jay et al. 2019); 1 without any."""
    RTT_RATIO = ("rtt_ratio", 1.0, _LARGEST_RATIO, "ratio", 1.0)
    """Mean round-trip time over the minimum of the connection (Jay et al. 2019)."""
    CWND = ("cwnd", 0.0, 1e5, "packets")
    """Congestion window."""

    def __init__(
        self, word: str, least: float, most: float, unit: str, before: float = 0.0
    ) -> None:
        """See the attributes."""
        self.word = word
        self.least = least
        self.most = most
        self.unit = unit
        self.before = before


DEFAULT_MEASURES: Final = ("send_rate", "delivery_rate", "rtt", "rtt_gradient", "loss")
"""Default measures."""


def _send_ratio(interval: Interval) -> float:
    if interval.delivered_pkts:
        return interval.sent_pkts / interval.delivered_pkts
    return _LARGEST_RATIO if interval.sent_pkts else 1.0


def _rtt_ratio(interval: Interval) -> float:
    rtt_s, min_rtt_s = interval.rtt_s, interval.min_rtt_s
    return rtt_s / min_rtt_s if rtt_s and min_rtt_s else 1.0


_OF: Final[dict[Measure, Callable[[Interval], float]]] = {
    Measure.SEND_RATE: lambda interval: interval.send_rate_bps * 1e-6,
    Measure.DELIVERY_RATE: lambda interval: interval.delivery_rate_bps * 1e-6,
    Measure.RTT: lambda interval: (interval.rtt_s or 0.0) * 1e3,
    Measure.RTT_GRADIENT: lambda interval: interval.rtt_gradient,
    Measure.LOSS: lambda interval: interval.loss,
    Measure.SEND_RATIO: _send_ratio,
    Measure.RTT_RATIO: _rtt_ratio,
    Measure.CWND: lambda interval: interval.cwnd_pkts,
}


def measures_of(words: Sequence[str]) -> tuple[Measure, ...]:
    """Measures by their names.

    Raises:
        SpecError: There are none, or one is unknown or repeated.
    """
    by_word = {measure.word: measure for measure in Measure}
    if not words:
        raise SpecError("measures", "none", f"at least one of {one_of(list(by_word))}")
    for place, word in enumerate(words):
        if word not in by_word:
            where, allowed = f"measures[{place}]", one_of(list(by_word))
            raise SpecError(where, word, allowed, nearest(word, by_word))
        if word in words[:place]:
            raise SpecError(f"measures[{place}]", word, "each measure once")
    return tuple(by_word[word] for word in words)


class History:
    """The measures of the last intervals, one row each; initially those of an idle path."""

    def __init__(self, measures: Sequence[Measure], rows: int) -> None:
        """Start with an empty history.

        Args:
            measures: Columns of an observation.
            rows: Number of intervals, 1 to `MOST_HISTORY`.

        Raises:
            SpecError: The number of rows is out of its range.
        """
        if not 1 <= rows <= MOST_HISTORY:
            raise SpecError("history", rows, f"1 to {MOST_HISTORY} intervals")
        self._columns = [(_OF[each], each.least, each.most) for each in measures]
        self._first = np.array([each.before for each in measures], dtype=np.float32)
        self._rows = np.empty((rows, len(measures)), dtype=np.float32)
        self.clear()

    @property
    def low(self) -> NDArray[np.float32]:
        """Lower bounds, in the shape of an observation."""
        return self._bounds([least for _, least, _ in self._columns])

    @property
    def high(self) -> NDArray[np.float32]:
        """Upper bounds, in the shape of an observation."""
        return self._bounds([most for _, _, most in self._columns])

    def _bounds(self, values: Sequence[float]) -> NDArray[np.float32]:
        return np.tile(np.array(values, dtype=np.float32), (len(self._rows), 1))

    def clear(self) -> None:
        """Clear the history."""
        self._rows[:] = self._first

    def add(self, interval: Interval) -> None:
        """Add an interval."""
        rows = self._rows
        rows[:-1] = rows[1:]
        last = rows[-1]
        # For so few numbers a loop is faster than array operations.
        for place, (of, least, most) in enumerate(self._columns):
            value = of(interval)
            last[place] = least if value < least else most if value > most else value

    def observation(self) -> NDArray[np.float32]:
        """The observation, shape (rows, measures), oldest interval first."""
        return self._rows.copy()
