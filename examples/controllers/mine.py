"""Additive increase, multiplicative decrease (Chiu and Jain, 1989), with both as parameters.

As it stands it is Reno (RFC 5681) as Linux has it.
"""

from dumbbell.controllers import Ack, Controller, Parameter, Snapshot, Window


class Mine(Controller):
    """Additive increase, multiplicative decrease."""

    increase = Parameter(1, least=1, most=100)  # packets a round trip
    keep = Parameter(50, least=10, most=99)  # of the window at a loss, percent

    def on_ack(self, window: Window, ack: Ack) -> None:
        """Slow start, then a packet more for each window."""
        if not ack.is_cwnd_limited:  # the application sends less: the window has not been tried
            return
        acked_pkts = ack.newly_delivered_pkts
        if window.is_in_slow_start:
            acked_pkts = window.slow_start(acked_pkts)
        if acked_pkts:
            window.grow_by_one_per(window.cwnd_pkts // self.increase, acked_pkts)

    def on_loss(self, window: Window, now: Snapshot) -> None:
        """The threshold falls; the sender brings the window down to it."""
        window.ssthresh_pkts = max(window.cwnd_pkts * self.keep // 100, 2)
