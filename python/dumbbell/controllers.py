"""Congestion controllers written in Python: the base class `Controller`.

A controller overrides a method for each event it handles. The events and their fields are those of
``dumbbell_cc.h``, the interface of controllers in C, and correspond to Linux's
``tcp_congestion_ops``. A description names a controller ``file:NAME.py:CLASS``; a program passes a
class to `dumbbell.simulate` (``controllers={"mine": Mine}``) and names it ``class:mine`` in the
description.

Windows are in packets of one maximum segment, times in nanoseconds since the start of the run,
rates in bytes per second. A controller has no clock: each event has the time. The window, event and
sample objects are valid during one call only, because they are reused.
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

    On an instance the attribute is the number.

    Attributes:
        value: The default.
        least: The smallest allowed value.
        most: The largest allowed value.
    """

    value: int
    least: int
    most: int

    def __post_init__(self) -> None:
        """Refuse a value out of its range."""
        if not self.least <= self.value <= self.most:
            raise ValueError(f"Parameter({self.value}): {self.least} to {self.most} is allowed")

    def __get__(self, instance: object, owner: type | None = None) -> int:
        """The default, if the connection does not set the parameter."""
        return self.value


class Controller:
    """A congestion controller of one connection.

    Override `on_ack`, `on_loss` and the other events to handle. A method that is not overridden is
    not called and costs nothing.

    Attributes:
        wants_pacing: Whether segments are paced at ``window.pacing_rate_bytes_per_s``.
        owns_recovery: Whether the controller sets the window in recovery too, like Linux's
            ``cong_control``; it is then called for every acknowledgement.
        send_buffer_windows: Size of an autotuned send buffer in congestion windows, 1 to 100.
        connection: The connection.
    """

    wants_pacing: ClassVar[bool] = False
    owns_recovery: ClassVar[bool] = False
    send_buffer_windows: ClassVar[int] = 2
    connection: Connection

    def __init__(self, connection: Connection) -> None:
        """Called at the start of a connection, before any event.

        Args:
            connection: Settings, parameters and random numbers of the connection.
        """
        self.connection = connection
        self.__dict__.update(connection.parameters)

    def init(self, window: Window, now: Snapshot) -> None:
        """Handle the end of the handshake; the initial window is set (``init``)."""

    def on_ack(self, window: Window, ack: Ack) -> None:
        """Handle an acknowledgement of new data that may increase the window (``cong_avoid``)."""
        raise NotImplementedError

    def on_loss(self, window: Window, now: Snapshot) -> None:
        """Handle the start of fast recovery: set ``window.ssthresh_pkts`` (``ssthresh``).

        The sender then reduces the window to this threshold (proportional rate reduction, RFC
        9937).
        """
        raise NotImplementedError

    def on_rtt(self, window: Window, sample: RttSample) -> None:
        """Handle a new round-trip time sample, before loss detection (``pkts_acked``)."""

    def on_rto(self, window: Window, now: Snapshot) -> None:
        """Handle a retransmission timeout: set the threshold. Default: `on_loss`."""

    def on_enter_loss(self, window: Window, now: Snapshot) -> None:
        """Handle a retransmission timeout after the sender has set the window (``set_state``)."""

    def on_ecn(self, window: Window, now: Snapshot) -> None:
        """Handle an ECN echo: set the threshold. Default: `on_loss`."""

    def on_exit_recovery(self, window: Window, now: Snapshot) -> None:
        """Handle the end of recovery: all data outstanding at its start are acknowledged
        (``set_state``)."""

    def on_undo(self, window: Window) -> None:
        """Undo a spurious reduction: restore the window (``undo_cwnd``).

        Default: the larger of the window and ``window.prior_cwnd_pkts``.
        """

    def on_transmit_start(self, window: Window, now: Snapshot, last_sent_ns: int | None) -> None:
        """Handle the first transmission with nothing in flight (``CA_EVENT_TX_START``).

        Args:
            window: The window, which may be set.
            now: State of the connection.
            last_sent_ns: Time of the previous transmission, nanoseconds; None for the first.
        """

    def on_idle_restart(self, window: Window, now: Snapshot) -> None:
        """Handle the reduction of the window after an idle period (``CA_EVENT_CWND_RESTART``)."""

    def limits_itself(self) -> bool:
        """Whether the controller deliberately sends less than the path can carry.

        Called after every acknowledgement. Default: false.
        """
        return False

    def least_burst_pkts(self, window: Window) -> int:
        """Minimum number of segments in a burst (``min_tso_segs``). Default: 2."""
        return 2


def parameters_of(controller: type[Controller]) -> Mapping[str, Parameter]:
    """The parameters of a class and of its base classes, by name."""
    found: dict[str, Any] = {}
    for each in reversed(controller.__mro__):
        found |= {name: value for name, value in vars(each).items() if isinstance(value, Parameter)}
    return found
