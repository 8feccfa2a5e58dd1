"""What a controller in Python is shown of its connection: classes of `dumbbell._engine`.

They have a stub of their own for its length; there is no such module when a program runs.
"""

from typing import final

@final
class Window:
    """What a controller and its sender share, as ``struct dumbbell_cc_window``.

    Between two calls the sender has it: a window that was kept is what it was at the last call.
    A congestion window outside 1 to the clamp is put back into it after each call.
    """

    pacing_rate_bytes_per_s: int
    """What segments are spaced by, bytes a second, 0 to 2**64 - 1; 0 for not."""
    cwnd_pkts: int
    """Congestion window, packets, 0 to 2**32 - 1."""
    ssthresh_pkts: int
    """Slow start threshold, packets; ``INFINITE_SSTHRESH_PKTS`` before the first loss."""
    cwnd_clamp_pkts: int
    """What the congestion window never exceeds, packets."""
    acked_since_growth_pkts: int
    """Acknowledged since the window last grew by one, packets; 0 when a reduction begins."""
    prior_cwnd_pkts: int
    """Congestion window before the last reduction, packets."""
    @property
    def mss_bytes(self) -> int:
        """Payload of a full segment, bytes."""
    @property
    def is_in_slow_start(self) -> bool:
        """Whether the window is below the threshold."""
    def slow_start(self, acked_pkts: int, /) -> int:
        """One packet more for each acknowledged, up to the threshold (RFC 5681 section 3.1).

        Returns:
            The acknowledgements left over for congestion avoidance.
        """
    def grow_by_one_per(self, per_pkts: int, acked_pkts: int, /) -> None:
        """Congestion avoidance: one packet more for every ``per_pkts`` acknowledged."""

@final
class SenderState:
    """What the sender does about losses, as Linux's ``enum tcp_ca_state``."""

    OPEN: SenderState
    """Nothing suspicious."""
    DISORDER: SenderState
    """Duplicate acknowledgements or SACK blocks; nothing counts as lost."""
    CWR: SenderState
    """The window is reduced after an ECN echo."""
    RECOVERY: SenderState
    """Fast recovery."""
    LOSS: SenderState
    """After a retransmission timeout."""

@final
class RateSample:
    """How fast data were delivered over the flight of one packet.

    Source: draft-cheng-iccrg-delivery-rate-estimation.
    """

    @property
    def delivered_pkts(self) -> int | None:
        """During the interval, packets; None for no valid sample."""
    @property
    def prior_delivered_pkts(self) -> int:
        """In total when the packet was sent, packets."""
    @property
    def prior_time_ns(self) -> int:
        """Of the last delivery before the packet was sent, nanoseconds of the run."""
    @property
    def interval_ns(self) -> int:
        """The longer of sending and acknowledging, nanoseconds."""
    @property
    def rtt_ns(self) -> int | None:
        """Of the newest packet delivered, nanoseconds; or None."""
    @property
    def losses_pkts(self) -> int:
        """Newly taken for lost, packets."""
    @property
    def prior_in_flight_pkts(self) -> int:
        """In flight before this acknowledgement, packets."""
    @property
    def acked_sacked_pkts(self) -> int:
        """Newly acknowledged or SACKed, packets."""
    @property
    def is_app_limited(self) -> bool:
        """Whether the application had nothing to send during the flight."""
    @property
    def is_ack_delayed(self) -> bool:
        """Whether the receiver has probably delayed it."""

@final
class RttSample:
    """A round-trip time that an acknowledgement measured."""

    @property
    def now_ns(self) -> int:
        """Nanoseconds of the run."""
    @property
    def rtt_ns(self) -> int:
        """Nanoseconds."""
    @property
    def una_pkts(self) -> int:
        """First packet not acknowledged, from the connection's start."""
    @property
    def next_pkts(self) -> int:
        """Next to be sent."""
    @property
    def is_echo(self) -> bool:
        """Whether it echoes a congestion mark (ECE)."""

@final
class Ack:
    """An acknowledgement, after the sender has entered it in its scoreboard.

    Of one call: afterwards its attributes raise RuntimeError.
    """

    @property
    def now_ns(self) -> int:
        """Nanoseconds of the run."""
    @property
    def rtt_ns(self) -> int | None:
        """That it measured, nanoseconds; or None."""
    @property
    def srtt_ns(self) -> int | None:
        """Smoothed, nanoseconds (RFC 6298); or None."""
    @property
    def min_rtt_ns(self) -> int | None:
        """Least of the last five minutes, nanoseconds; or None."""
    @property
    def una_pkts(self) -> int:
        """First packet not acknowledged, from the connection's start."""
    @property
    def next_pkts(self) -> int:
        """Next to be sent."""
    @property
    def delivered_pkts(self) -> int:
        """In total, packets."""
    @property
    def delivered_time_ns(self) -> int:
        """When a packet was last delivered, nanoseconds of the run."""
    @property
    def lost_pkts(self) -> int:
        """Taken for lost, in total, packets."""
    @property
    def earliest_departure_ns(self) -> int:
        """Before this, nanoseconds of the run, pacing lets nothing be sent."""
    @property
    def acked_pkts(self) -> int:
        """Newly acknowledged, cumulatively, packets."""
    @property
    def newly_delivered_pkts(self) -> int:
        """Newly acknowledged or SACKed, packets."""
    @property
    def in_flight_pkts(self) -> int:
        """Afterwards, packets."""
    @property
    def state(self) -> SenderState:
        """After it."""
    @property
    def is_cwnd_limited(self) -> bool:
        """Whether the window held the sender back, not the application."""
    @property
    def rate(self) -> RateSample:
        """How fast data were delivered."""

@final
class Snapshot:
    """The connection when something other than an acknowledgement happens.

    Of one call: afterwards its attributes raise RuntimeError.
    """

    @property
    def now_ns(self) -> int:
        """Nanoseconds of the run."""
    @property
    def srtt_ns(self) -> int | None:
        """Smoothed round-trip time, nanoseconds; or None."""
    @property
    def min_rtt_ns(self) -> int | None:
        """Least of the last five minutes, nanoseconds; or None."""
    @property
    def delivered_pkts(self) -> int:
        """In total, packets."""
    @property
    def delivered_time_ns(self) -> int:
        """When a packet was last delivered, nanoseconds of the run."""
    @property
    def lost_pkts(self) -> int:
        """Taken for lost, in total, packets."""
    @property
    def in_flight_pkts(self) -> int:
        """Sent, not acknowledged, not SACKed, not taken for lost, packets."""
    @property
    def flight_size_pkts(self) -> int:
        """Sent and not acknowledged, packets: FlightSize of RFC 5681."""
    @property
    def is_app_limited(self) -> bool:
        """Whether the application has had nothing to send."""

@final
class Connection:
    """What a controller may know from its connection's beginning."""

    @property
    def timer_hz(self) -> int:
        """Timer interrupts a second of the host."""
    @property
    def is_linux(self) -> bool:
        """Whether the profile is ``linux-6.1``; else it is ``rfc``."""
    @property
    def hystart(self) -> bool:
        """``hystart`` of the description."""
    @property
    def is_paced(self) -> bool:
        """Whether the description has pacing although the controller may not ask for it."""
    @property
    def parameters(self) -> dict[str, int]:
        """Those that the description sets, by name."""
    def below(self, n: int, /) -> int:
        """A random number from 0 to ``n`` - 1, of the run's seed; ``n`` is 1 to 2**32 - 1.

        Raises:
            ValueError: ``n`` is 0.
        """
