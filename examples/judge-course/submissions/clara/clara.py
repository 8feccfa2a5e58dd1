"""A controller that fails: it divides by a round-trip time that is not known yet."""

from dumbbell.controllers import Ack, Controller, Snapshot, Window


class Clara(Controller):
    """Grows faster on short paths."""

    rtt_ns = 0

    def on_ack(self, window: Window, ack: Ack) -> None:
        """The shorter the round trip, the faster."""
        window.grow_by_one_per(10**9 // self.rtt_ns, ack.newly_delivered_pkts)

    def on_loss(self, window: Window, now: Snapshot) -> None:
        """Half of the window."""
        window.ssthresh_pkts = max(window.cwnd_pkts // 2, 2)
