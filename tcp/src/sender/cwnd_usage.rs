//! Congestion window validation: how much of the window is used, and its reduction when it is not.

use super::Sender;
use crate::cca::CaState;
use dumbbell_core::time::Time;

/// Usage of the window.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct CwndUsage {
    /// Whether cwnd limited the sender in this round (`is_cwnd_limited`).
    is_limited: bool,
    /// Largest number of outstanding packets in the round (`max_packets_out`).
    most_packets_out: u32,
    /// When this is acknowledged, the next round begins (`cwnd_usage_seq`).
    round_end: u64,
    /// Largest number of outstanding packets since the window was used (`snd_cwnd_used`).
    greatest_pkts: u32,
    /// Time when it was last used (`snd_cwnd_stamp`).
    since: Time,
}

impl CwndUsage {
    /// The window counts as used from now on.
    pub(super) fn renew(&mut self, now: Time) {
        self.since = now;
    }

    /// Whether cwnd limited the sender in this round.
    pub(super) fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// Largest number of outstanding packets in the round.
    pub(super) fn most_packets_out(&self) -> u32 {
        self.most_packets_out
    }

    /// The window was used; forgets earlier maxima.
    fn forget(&mut self, now: Time) {
        self.greatest_pkts = 0;
        self.renew(now);
    }

    /// Records `packets_out` outstanding packets, of the bytes from `una` to `next`.
    fn note(&mut self, packets_out: u32, is_limited: bool, una: u64, next: u64) {
        let is_new_round = una >= self.round_end;
        let is_more = !self.is_limited && packets_out > self.most_packets_out;
        if is_new_round || is_limited || is_more {
            self.is_limited = is_limited;
            self.most_packets_out = packets_out;
            self.round_end = next;
        }
    }
}

impl Sender {
    /// Evaluates the usage in the last round (RFC 7661, as implemented by `tcp_cwnd_validate`).
    pub(super) fn validate_window(&mut self, is_limited: bool, now: Time) {
        let out = self.board.packets_out();
        self.usage.note(out, is_limited, self.una, self.next);
        if self.was_window_used() {
            self.usage.forget(now);
            return;
        }
        self.usage.greatest_pkts = self.usage.greatest_pkts.max(out);
        let may_shrink = self.restarts_after_idle && self.settings.is_linux();
        if !may_shrink || self.cca.owns_recovery() {
            return;
        }
        // Both in ticks (`tcp_jiffies32 - tp->snd_cwnd_stamp`).
        let clock = self.settings.clock;
        let unused = clock
            .last_tick(now)
            .saturating_sub(clock.last_tick(self.usage.since));
        if unused >= self.timers.rto {
            self.shrink_unused(now);
        }
    }

    /// RFC 2861 section 3.2: halfway down to the used window.
    fn shrink_unused(&mut self, now: Time) {
        if self.recovery.state == CaState::Open {
            let used = self
                .usage
                .greatest_pkts
                .max(self.settings.tcp.initial_window_pkts);
            if used < self.window.cwnd_pkts {
                self.window.ssthresh_pkts = self.current_ssthresh();
                self.window.set_cwnd((self.window.cwnd_pkts + used) / 2);
            }
            self.usage.greatest_pkts = 0;
        }
        self.usage.renew(now);
    }

    /// Whether cwnd limited the sender (`tcp_is_cwnd_limited`). In slow start twice the outstanding packets
    /// are allowed, so that the window can double.
    pub(super) fn was_window_used(&self) -> bool {
        let doubles = self.window.cwnd_pkts < 2 * self.usage.most_packets_out;
        self.usage.is_limited || (self.window.is_in_slow_start() && doubles)
    }

    /// After idle the window no longer reflects the path.
    pub(super) fn restart_after_idle(&mut self, now: Time) {
        if !self.restarts_after_idle
            || self.board.packets_out() > 0
            || self.cca.owns_recovery()
            || self.last_sent().is_none()
        {
            return;
        }
        let tick = self.settings.clock.last_tick(now);
        let last_sent = self.last_sent().filter(|_| self.has_transmitted);
        let last_tick = last_sent.map_or(Time::ZERO, |sent| self.settings.clock.last_tick(sent));
        let mut idle = tick.saturating_sub(last_tick);
        if idle <= self.timers.rto {
            return;
        }
        let snapshot = self.snapshot(now);
        self.update_view(now);
        self.cca.on_idle_restart(&mut self.window, &snapshot);
        let cwnd = self.window.cwnd_pkts;
        let restart = self.settings.tcp.initial_window_pkts.min(cwnd);
        if self.settings.is_linux() {
            // RFC 2861 section 3.1.
            self.window.ssthresh_pkts = self.current_ssthresh();
            let mut decayed = cwnd;
            idle = idle.saturating_sub(self.timers.rto);
            while idle > Time::ZERO && decayed > restart {
                decayed /= 2;
                idle = idle.saturating_sub(self.timers.rto);
            }
            self.window.set_cwnd(decayed.max(restart));
        } else {
            // RFC 5681 section 4.1: RW = min(IW, cwnd).
            self.window.set_cwnd(restart);
        }
        self.usage.forget(now);
    }
}
