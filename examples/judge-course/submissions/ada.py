"""A controller that stops growing when packets begin to wait (after TCP Vegas, 1995)."""

from dumbbell.controllers import Ack, Controller, RttSample, Snapshot, Window

MOST_WAITING_PKTS = 8


class Ada(Controller):
    """Keeps a few packets of its own in the queue."""

    def init(self, window: Window, now: Snapshot) -> None:
        """Nothing is known of the path yet."""
        self.least_rtt_ns = self.last_rtt_ns = 0

    def on_rtt(self, window: Window, sample: RttSample) -> None:
        """The least round-trip time is that of empty queues."""
        if sample.rtt_ns is not None:
            self.last_rtt_ns = sample.rtt_ns
            self.least_rtt_ns = min(self.least_rtt_ns or sample.rtt_ns, sample.rtt_ns)

    def on_ack(self, window: Window, ack: Ack) -> None:
        """A packet more a round trip while few wait, a packet less while many do."""
        if not self.last_rtt_ns:
            return
        extra_ns = self.last_rtt_ns - self.least_rtt_ns
        waiting_pkts = window.cwnd_pkts * extra_ns // self.last_rtt_ns
        if window.is_in_slow_start:
            if waiting_pkts > MOST_WAITING_PKTS:
                window.ssthresh_pkts = window.cwnd_pkts
            else:
                window.slow_start(ack.newly_delivered_pkts)
        elif waiting_pkts < MOST_WAITING_PKTS:
            window.grow_by_one_per(window.cwnd_pkts, ack.newly_delivered_pkts)
        elif waiting_pkts > 2 * MOST_WAITING_PKTS:
            window.cwnd_pkts = max(window.cwnd_pkts - 1, 2)

    def on_loss(self, window: Window, now: Snapshot) -> None:
        """Half of the window, as Reno."""
        window.ssthresh_pkts = max(window.cwnd_pkts // 2, 2)
