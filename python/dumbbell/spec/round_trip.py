"""The round-trip time between two hosts with empty queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dumbbell.spec.resolved import Queue, Resolved

_BITS_NS = 8 * 10**9


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """The queues of a path, there and back.

    Attributes:
        there: Queues towards the other host, in order.
        back: Queues on the return path.
        at_ns: Time at which delays and rates are taken, from the start of the run.
    """

    there: Sequence[Queue]
    back: Sequence[Queue]
    at_ns: int = 0

    @classmethod
    def between(cls, described: Resolved, start: str, end: str, at_ns: int = 0) -> RoundTrip:
        """The path from one host to another and back; without queues if there is no path."""
        return cls(described.route(start, end), described.route(end, start), at_ns)

    @property
    def propagation_ns(self) -> int:
        """Round-trip delay of the links and of netem disciplines."""
        return sum(self._delay_ns(queue) for queue in (*self.there, *self.back))

    def transmission_ns(
        self, *, there_bytes: Sequence[int] = (), back_bytes: Sequence[int] = ()
    ) -> int:
        """Total transmission time of packets on the path.

        Token buckets are assumed full, as before the start of a flow.

        Args:
            there_bytes: IP sizes of the packets to the other host; the overhead of each link is
                added.
            back_bytes: IP sizes of the packets on the return path.
        """
        ways = ((self.there, there_bytes), (self.back, back_bytes))
        return sum(
            self._transmission_ns(queue, size_bytes)
            for queues, sizes_bytes in ways
            for queue in queues
            for size_bytes in sizes_bytes
        )

    def _delay_ns(self, queue: Queue) -> int:
        delay_ns = queue.delay_ns
        for change in queue.changes:
            if change.at_ns <= self.at_ns and change.delay_ns is not None:
                delay_ns = change.delay_ns
        return delay_ns + queue.qdisc.added_delay_ns

    def _transmission_ns(self, queue: Queue, size_bytes: int) -> int:
        rate_bps = queue.rate_bps
        for change in queue.changes:
            if change.at_ns <= self.at_ns and change.rate_bps is not None:
                rate_bps = change.rate_bps
        wire_bytes = size_bytes + queue.overhead_bytes
        return -(-wire_bytes * _BITS_NS // rate_bps) if rate_bps else 0
