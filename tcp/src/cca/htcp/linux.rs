//! H-TCP as Linux 6.1 does it: in ticks of the host's timer, and windows in 1/128.
//!
//! | here | Linux 6.1 (facts of `tcp_htcp.c`, confirmed by packet scripts) |
//! | --- | --- |
//! | `note_rtt` | RTTmin of all round-trip times, RTTmax only while nothing is missing, and by 20 ms at a time |
//! | `measure` | the throughput of a window: in the first three round trips after a loss the last, then 3 of 4 are kept |
//! | `adapted_beta` | the adaptive cut at the second loss of those with the same throughput; not for paths of 10 ms or less |
//! | `forget_some_queue` | RTTmax is nearer to RTTmin by a twentieth after each loss |
//! | `alpha_parts` | the draft's polynomial, rounded down, in proportion to RTTmin, of 100 ms as 1, at least 0.1 and at most 2 |
//! | `on_ack` | what is counted beyond the next packet is dropped |
//! | `on_state` | the time without a loss begins with the end of recovery |

use crate::cca::ticks::Ticks;
use crate::cca::{Ack, CaState, PktsAcked, Window};
use dumbbell_core::time::Time;

/// 1, in the parts that windows and shares are in.
const ONE: u64 = 128;
/// Bounds of what is left of the window at a loss.
const LEAST_BETA: u64 = ONE / 2;
const MOST_BETA: u64 = ONE * 4 / 5;
/// RTTmax grows by no more than this at a time.
const LARGEST_STEP: Time = Time::from_ns(20_000_000);
/// The cut is adapted on longer paths only.
const SHORT_PATH: Time = Time::from_ns(10_000_000);
/// Round trips after a loss in which the throughput is not smoothed.
const FRESH_ROUND_TRIPS: u64 = 3;

/// What undoing a reduction restores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct UndoState {
    since: u64,
    greatest_rtt: u64,
    rate_at_loss_pps: u64,
}

/// Its state. Times in ticks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LinuxState {
    ticks: Ticks,
    alpha: u64,
    beta: u64,
    /// Whether the last loss found the throughput of the one before.
    was_steady: bool,
    /// What the last acknowledgement counts for.
    acked_pkts: u32,
    /// 0 before the first.
    least_rtt: u64,
    greatest_rtt: u64,
    /// From when the time without a loss counts.
    since: u64,
    before: Option<UndoState>,
    /// Delivered since `counted_from`, which is None before anything was.
    counted_pkts: u64,
    counted_from: Option<u64>,
    rate_pps: u64,
    greatest_rate_pps: u64,
    rate_at_loss_pps: u64,
}

impl LinuxState {
    pub(super) fn new(timer_hz: u32, now: Time) -> LinuxState {
        let ticks = Ticks { hz: timer_hz };
        LinuxState {
            ticks,
            alpha: ONE,
            beta: LEAST_BETA,
            was_steady: false,
            acked_pkts: 1,
            least_rtt: 0,
            greatest_rtt: 0,
            since: ticks.at(now),
            before: None,
            counted_pkts: 0,
            counted_from: None,
            rate_pps: 0,
            greatest_rate_pps: 0,
            rate_at_loss_pps: 0,
        }
    }

    /// The connection is open.
    pub(super) fn begin(&mut self, now: Time) {
        *self = LinuxState::new(self.ticks.hz, now);
    }

    pub(super) fn on_pkts_acked(&mut self, cwnd_pkts: u32, cleaned: &PktsAcked) {
        if cleaned.state == CaState::Open {
            self.acked_pkts = cleaned.pkts;
        }
        if let Some(rtt) = cleaned.rtt.filter(|rtt| rtt.0 > 0) {
            self.note_rtt(self.ticks.of(rtt), cleaned.state);
        }
        self.measure(cwnd_pkts, cleaned);
    }

    fn note_rtt(&mut self, rtt: u64, state: CaState) {
        if self.least_rtt == 0 || rtt < self.least_rtt {
            self.least_rtt = rtt;
        }
        if state == CaState::Open {
            self.greatest_rtt = self.greatest_rtt.max(self.least_rtt);
            let most = self.greatest_rtt + self.ticks.of(LARGEST_STEP);
            if rtt <= most {
                self.greatest_rtt = self.greatest_rtt.max(rtt);
            }
        }
    }

    fn measure(&mut self, cwnd_pkts: u32, cleaned: &PktsAcked) {
        let now = self.ticks.at(cleaned.now);
        if cleaned.state > CaState::Disorder {
            (self.counted_pkts, self.counted_from) = (0, Some(now));
            return;
        }
        self.counted_pkts += u64::from(cleaned.pkts);
        let window = u64::from(cwnd_pkts).saturating_sub((self.alpha / ONE).max(1));
        let took = self.counted_from.map(|from| now - from);
        let is_whole = took.is_none_or(|took| took >= self.least_rtt);
        if self.counted_pkts < window || !is_whole || self.least_rtt == 0 {
            return;
        }
        // What was delivered before anything was measured has no time.
        let second = u64::from(self.ticks.hz);
        let rate_pps = took.map_or(0, |took| self.counted_pkts.saturating_mul(second) / took);
        if (now - self.since) / self.least_rtt <= FRESH_ROUND_TRIPS {
            (self.rate_pps, self.greatest_rate_pps) = (rate_pps, rate_pps);
        } else {
            self.rate_pps = (3 * self.rate_pps + rate_pps) / 4;
            self.greatest_rate_pps = self.greatest_rate_pps.max(self.rate_pps);
        }
        (self.counted_pkts, self.counted_from) = (0, Some(now));
    }

    pub(super) fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.is_cwnd_limited {
            return;
        }
        if window.is_in_slow_start() {
            window.slow_start(ack.newly_delivered_pkts);
            return;
        }
        let counted = u64::from(window.acked_since_growth_pkts);
        if counted.saturating_mul(self.alpha) / ONE >= u64::from(window.cwnd_pkts) {
            window.set_cwnd(window.cwnd_pkts.saturating_add(1));
            window.acked_since_growth_pkts = 0;
            self.alpha = self.alpha_parts(ack.now);
        } else {
            window.acked_since_growth_pkts = window
                .acked_since_growth_pkts
                .saturating_add(self.acked_pkts);
        }
        self.acked_pkts = 1;
    }

    /// Growth in a round trip: the draft's, times 2 (1 - beta).
    fn alpha_parts(&self, now: Time) -> u64 {
        let second = u64::from(self.ticks.hz);
        let beyond = (self.ticks.at(now) - self.since).saturating_sub(second);
        let half = beyond / 2;
        let mut factor = 1 + beyond
            .saturating_mul(10)
            .saturating_add(half.saturating_mul(half) / second)
            / second;
        if self.least_rtt > 0 {
            // Eighths of 100 ms over RTTmin.
            let scale = (8 * second / (10 * self.least_rtt)).clamp(4, 80);
            factor = (factor.saturating_mul(8) / scale).max(1);
        }
        factor.saturating_mul(2 * (ONE - self.beta))
    }

    /// The threshold after a loss.
    pub(super) fn threshold_pkts(&mut self, cwnd_pkts: u32, now: Time) -> u32 {
        self.beta = self.adapted_beta();
        self.alpha = self.alpha_parts(now);
        self.forget_some_queue();
        (u64::from(cwnd_pkts) * self.beta / ONE) as u32
    }

    fn adapted_beta(&mut self) -> u64 {
        let before_pps = std::mem::replace(&mut self.rate_at_loss_pps, self.greatest_rate_pps);
        // Within a fifth.
        let is_steady = (4 * before_pps..=6 * before_pps).contains(&(5 * self.greatest_rate_pps));
        let was_steady = std::mem::replace(&mut self.was_steady, is_steady);
        let is_long = self.least_rtt > self.ticks.of(SHORT_PATH);
        if !is_steady || !was_steady || !is_long || self.greatest_rtt == 0 {
            return LEAST_BETA;
        }
        (ONE * self.least_rtt / self.greatest_rtt).clamp(LEAST_BETA, MOST_BETA)
    }

    fn forget_some_queue(&mut self) {
        if self.least_rtt > 0 && self.greatest_rtt > self.least_rtt {
            let queue = self.greatest_rtt - self.least_rtt;
            self.greatest_rtt = self.least_rtt + queue * 95 / 100;
        }
    }

    pub(super) fn on_state(&mut self, state: CaState, now: Time) {
        match state {
            CaState::Open => {
                if self.before.take().is_some() {
                    self.since = self.ticks.at(now);
                }
            }
            CaState::Disorder => {}
            CaState::Cwr | CaState::Recovery | CaState::Loss => {
                self.before = Some(UndoState {
                    since: self.since,
                    greatest_rtt: self.greatest_rtt,
                    rate_at_loss_pps: self.rate_at_loss_pps,
                });
                self.since = self.ticks.at(now);
            }
        }
    }

    pub(super) fn on_undo(&mut self) {
        if let Some(before) = self.before.take() {
            self.since = before.since;
            self.greatest_rtt = before.greatest_rtt;
            self.rate_at_loss_pps = before.rate_at_loss_pps;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cca::testing::ms;

    fn whole(least_rtt: u64, greatest_rtt: u64) -> LinuxState {
        LinuxState {
            least_rtt,
            greatest_rtt,
            ..LinuxState::new(1000, Time::ZERO)
        }
    }

    #[test]
    fn growth_is_the_polynomial_rounded_down_and_scaled() {
        for (least_rtt, at_ms, parts) in [
            (0, 500, ONE),
            (100, 1000, ONE),
            // 1 + 10 + 0.25
            (100, 2000, 11 * ONE),
            // At 40 ms 0.4 of 11: 8 * 11 / 20.
            (40, 2000, 4 * ONE),
            (40, 500, ONE),
            // At most twice.
            (400, 2000, 22 * ONE),
        ] {
            assert_eq!(
                whole(least_rtt, 0).alpha_parts(ms(at_ms)),
                parts,
                "{least_rtt} {at_ms}"
            );
        }
    }

    #[test]
    fn the_cut_is_adapted_where_two_losses_in_a_row_find_the_same_rate() {
        let mut whole = whole(100, 150);
        whole.greatest_rate_pps = 1000;
        let left: Vec<u32> = (0..3).map(|_| whole.threshold_pkts(128, ms(100))).collect();
        // RTTmax is 150, 147 and 144 ticks: 100/144 of 128.
        assert_eq!(left, [64, 64, 88]);
        whole.greatest_rate_pps = 1201;
        assert_eq!(whole.threshold_pkts(128, ms(100)), 64);
    }

    #[test]
    fn a_round_trip_time_that_jumps_is_not_the_greatest() {
        let mut whole = whole(100, 100);
        for (rtt, state, greatest) in [
            (121, CaState::Open, 100),
            (120, CaState::Open, 120),
            (130, CaState::Recovery, 120),
            (140, CaState::Open, 140),
            (90, CaState::Loss, 140),
        ] {
            whole.note_rtt(rtt, state);
            assert_eq!(whole.greatest_rtt, greatest, "{rtt}");
        }
        assert_eq!(whole.least_rtt, 90);
    }

    #[test]
    fn the_time_without_a_loss_begins_with_the_end_of_recovery_unless_it_was_for_nothing() {
        let mut whole = whole(100, 150);
        whole.on_state(CaState::Recovery, ms(5000));
        assert_eq!(whole.since, 5000);
        whole.on_state(CaState::Open, ms(5200));
        assert_eq!(whole.since, 5200);
        whole.on_state(CaState::Recovery, ms(6000));
        whole.on_undo();
        whole.on_state(CaState::Open, ms(6100));
        assert_eq!(whole.since, 5200);
    }
}
