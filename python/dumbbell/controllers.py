"""Congestion controllers of one's own in Python: `Controller`, a class to derive from.

A class has a method for each event it heeds. The events and what they carry are those of
``dumbbell_cc.h``, the interface of controllers in C, and so of Linux's ``tcp_congestion_ops``.
A description names it ``file:NAME.py:CLASS``; a program gives it to
`dumbbell.simulate` (``controllers={"mine": Mine}``), whose description says ``class:mine``.

Windows are counted in packets of one maximum segment, times in nanoseconds of the run, rates in
bytes a second. A controller has no clock: what time it is stands in the event. Its window, events
and samples are those of one call, and the same objects are used for the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from dumbbell._engine import (
    Ack,
    Connection,
    RateSample,
    RttSample,
    SenderState,
    Snapshot,
    Window,
)

__all__ = [
    "INFINITE_SSTHRESH_PKTS",
    "Ack",
    "Connection",
    "Controller",
    "Parameter",
    "RateSample",
    "RttSample",
    "SenderState",
    "Snapshot",
    "Window",
    "parameters_of",
]

INFINITE_SSTHRESH_PKTS: Final = 0x7FFFFFFF
"""Slow start threshold before the first loss."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A whole number that a description may set: ``keep = Parameter(50, least=10, most=99)``.

    Of an instance it is the number itself.

    Attributes:
        value: Where nobody sets it.
        least: The least value.
        most: The largest.
    """

    value: int
    least: int
    most: int

    def __post_init__(self) -> None:
        """Refuse a value out of its range."""
        if not self.least <= self.value <= self.most:
            raise ValueError(f"Parameter({self.value}): {self.least} to {self.most} is allowed")

    def __get__(self, instance: object, owner: type | None = None) -> int:
        """The value where the connection has no other."""
        return self.value


class Controller:
    """A congestion controller of one connection.

    Override `on_ack`, `on_loss`, and what else it heeds: a method that is not overridden is not
    called, and costs nothing.

    Attributes:
        wants_pacing: Segments are spaced by ``window.pacing_rate_bytes_per_s``.
        owns_recovery: It sets the window in recovery too, as Linux's ``cong_control`` does; it is
            then called for every acknowledgement.
        send_buffer_windows: Windows that a send buffer of TCP's own size holds, 1 to 100.
        connection: Its connection.
    """

    wants_pacing: ClassVar[bool] = False
    owns_recovery: ClassVar[bool] = False
    send_buffer_windows: ClassVar[int] = 2
    connection: Connection

    def __init__(self, connection: Connection) -> None:
        """A connection begins; called before any event.

        Args:
            connection: Settings of the connection, parameters and random numbers.
        """
        self.connection = connection
        self.__dict__.update(connection.parameters)

    def init(self, window: Window, now: Snapshot) -> None:
        """The handshake is over, the initial window set (``init``)."""

    def on_ack(self, window: Window, ack: Ack) -> None:
        """An acknowledgement of new data that may make the window grow (``cong_avoid``)."""
        raise NotImplementedError

    def on_loss(self, window: Window, now: Snapshot) -> None:
        """Fast recovery begins: set ``window.ssthresh_pkts`` (``ssthresh``).

        The sender brings the window down to it (proportional rate reduction, RFC 9937).
        """
        raise NotImplementedError

    def on_rtt(self, window: Window, sample: RttSample) -> None:
        """A round-trip time was measured, before losses are looked for (``pkts_acked``)."""

    def on_rto(self, window: Window, now: Snapshot) -> None:
        """The retransmission timer ran out: set the threshold. If not overridden, as `on_loss`."""

    def on_enter_loss(self, window: Window, now: Snapshot) -> None:
        """The same, each time, after the sender has set the window (``set_state``)."""

    def on_ecn(self, window: Window, now: Snapshot) -> None:
        """An ECN echo came: set the threshold. If not overridden, as `on_loss`."""

    def on_exit_recovery(self, window: Window, now: Snapshot) -> None:
        """All that was outstanding when recovery began is acknowledged (``set_state``)."""

    def on_undo(self, window: Window) -> None:
        """The reduction was spurious: set the window as before (``undo_cwnd``).

        If not overridden: the larger of the window and ``window.prior_cwnd_pkts``.
        """

    def on_transmit_start(self, window: Window, now: Snapshot, last_sent_ns: int | None) -> None:
        """The first packet goes when nothing is in flight (``CA_EVENT_TX_START``).

        Args:
            window: May be set.
            now: The connection.
            last_sent_ns: When a packet was sent before, nanoseconds; None for the first.
        """

    def on_idle_restart(self, window: Window, now: Snapshot) -> None:
        """The window was made smaller after silence (``CA_EVENT_CWND_RESTART``)."""

    def limits_itself(self) -> bool:
        """Whether less is sent than the path carries because the controller wants it so.

        Asked after every acknowledgement. If not overridden: no.
        """
        return False

    def least_burst_pkts(self, window: Window) -> int:
        """Segments of a burst at least (``min_tso_segs``). If not overridden: 2."""
        return 2


def parameters_of(controller: type[Controller]) -> Mapping[str, Parameter]:
    """The parameters of a class and of those it derives from, by name."""
    found: dict[str, Any] = {}
    for each in reversed(controller.__mro__):
        found |= {name: value for name, value in vars(each).items() if isinstance(value, Parameter)}
    return found
