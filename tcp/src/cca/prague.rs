//! Prague: DCTCP for the Internet, over queues that mark L4S
//! (draft-briscoe-iccrg-prague-congestion-control-04).
//!
//! | clause | here |
//! | --- | --- |
//! | section 2.2, packets are ECT(1) | yes, all data |
//! | section 2.3.1, feedback of every mark | accurate ECN (RFC 9768), a count of them |
//! | section 2.3.2, alpha: moving average of the share of marks, g = 1/16, once a virtual round trip | in packets; 1 at the first mark |
//! | section 2.3.3, losses by time, RACK | the sender's, in `linux-6.1` |
//! | section 2.4.1, a loss: Reno's half | at once, and not less if marks have cut in the same round trip |
//! | section 2.4.2, a mark: window (1 - alpha/2), once a virtual round trip; no bias by whole packets | yes, at once; the nearest whole number is sent, and what is left is carried |
//! | section 2.4.3, growth by acknowledgements without marks, also after a cut | yes: a packet for each window of them |
//! | section 2.4.4, less dependence on round trips: as if they were 25 ms at least, after 500 of them | growth times (RTT / 25 ms)^2, unless `rtt_independence` is off |
//! | section 2.4.5, slow start until the first mark | Reno's |
//! | section 2.5.1, pacing | window, or what is in flight if more, over smoothed round trip; twice that in slow start |
//! | section 2.5.2, bursts of at most 250 us | of the pacing rate, in whole packets, one at least |
//! | section 3, fall-back on classic ECN, fractional windows, faster starts | no |

use super::{Ack, CaState, Controller, Options, Snapshot, Window};
use dumbbell_core::time::Time;

/// g: the weight of the last interval in alpha.
const GAIN: f64 = 1.0 / 16.0;
/// alpha at the first mark.
const FIRST_ALPHA: f64 = 1.0;
/// Shorter round trips grow and are cut as if they were this long.
const LEAST_VIRTUAL_RTT: Time = Time::from_ns(25_000_000);
/// Round trips after slow start from which on it applies.
const ROUNDS_BEFORE_INDEPENDENCE: u32 = 500;
/// A burst takes no longer at the pacing rate, but where it is one packet.
const LONGEST_BURST_US: u64 = 250;
const US_PER_S: u64 = 1_000_000;
/// The window never falls below this.
const LEAST_WINDOW_PKTS: u32 = 2;

/// Packets acknowledged since alpha was renewed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct AckedCounts {
    acked_pkts: u64,
    marked_pkts: u64,
}

/// Prague.
#[derive(Debug, Clone, PartialEq)]
pub struct Prague {
    /// Share of marked packets, smoothed; None before the first mark.
    alpha: Option<f64>,
    counted: AckedCounts,
    /// When alpha was renewed.
    renewed: Time,
    /// When marks last made the window smaller.
    cut: Option<Time>,
    /// The round trip is over when this has been acknowledged.
    end_pkts: u64,
    /// Round trips since slow start.
    rounds: u32,
    /// Whether short round trips ever count as longer ones.
    may_be_independent: bool,
    /// What the window has beside whole packets, -0.5 to 0.5.
    part_pkts: f64,
    rtt: Time,
}

impl Prague {
    /// Whether short round trips count as longer ones by now.
    fn is_independent(&self) -> bool {
        self.may_be_independent && self.rounds >= ROUNDS_BEFORE_INDEPENDENCE
    }

    /// How long a round trip counts for.
    fn virtual_rtt(&self) -> Time {
        match self.is_independent() {
            true => self.rtt.max(LEAST_VIRTUAL_RTT),
            false => self.rtt,
        }
    }

    fn renew_alpha(&mut self, now: Time) {
        let Some(alpha) = &mut self.alpha else {
            return;
        };
        let counted = std::mem::take(&mut self.counted);
        let share = counted.marked_pkts as f64 / counted.acked_pkts.max(1) as f64;
        *alpha += GAIN * (share - *alpha);
        self.renewed = now;
    }

    /// Counts what an acknowledgement says of marks, and renews alpha where a round trip is over.
    fn count(&mut self, window: &Window, ack: &Ack, marked_pkts: u32) {
        self.counted.acked_pkts += u64::from(ack.newly_delivered_pkts);
        self.counted.marked_pkts += u64::from(marked_pkts);
        if marked_pkts > 0 && self.alpha.is_none() {
            self.alpha = Some(FIRST_ALPHA);
            self.counted = AckedCounts::default();
            self.renewed = ack.now;
        }
        // A round trip that is over before a virtual one goes on until then: waiting for the end of the next
        // would double the time at 22 ms.
        let is_early = ack.now.saturating_sub(self.renewed) < self.virtual_rtt();
        if ack.una_pkts < self.end_pkts || (is_early && self.is_independent()) {
            return;
        }
        self.end_pkts = ack.next_pkts;
        if !window.is_in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
        self.renew_alpha(ack.now);
    }

    /// Sets the window to a number of packets that need not be whole. The nearest whole number is sent: cut
    /// off, it would be half a packet less on average (section 2.4.2, rounding bias).
    fn set_window(&mut self, window: &mut Window, pkts: f64) {
        let pkts = pkts.max(f64::from(LEAST_WINDOW_PKTS));
        window.set_cwnd((pkts + 0.5) as u32);
        self.part_pkts = (pkts - f64::from(window.cwnd_pkts)).clamp(-0.5, 0.5);
    }

    /// The window with its part of a packet.
    fn window_pkts(&self, window: &Window) -> f64 {
        f64::from(window.cwnd_pkts) + self.part_pkts
    }

    /// A packet for each window of unmarked ones, or its part where round trips are short.
    fn grow(&mut self, window: &mut Window, pkts: u32) {
        let real_pkts = self.window_pkts(window);
        let ratio = self.rtt.as_seconds() / self.virtual_rtt().as_seconds();
        let scale = if ratio.is_finite() {
            ratio * ratio
        } else {
            1.0
        };
        self.set_window(window, real_pkts + scale * f64::from(pkts) / real_pkts);
    }

    /// A mark: the window falls by half of alpha, once a virtual round trip.
    fn cut(&mut self, window: &mut Window, now: Time) {
        let interval = self.virtual_rtt();
        let is_too_early = |cut: Time| now.saturating_sub(cut) < interval;
        if self.cut.is_some_and(is_too_early) {
            return;
        }
        self.cut = Some(now);
        let alpha = self.alpha.unwrap_or(FIRST_ALPHA);
        let real_pkts = self.window_pkts(window);
        self.set_window(window, real_pkts * (1.0 - alpha / 2.0));
        window.ssthresh_pkts = window.cwnd_pkts;
    }

    fn pace(&self, window: &mut Window, in_flight_pkts: u32, srtt: Option<Time>) {
        let Some(srtt) = srtt.filter(|srtt| *srtt > Time::ZERO) else {
            return;
        };
        let is_early = window.cwnd_pkts < window.ssthresh_pkts / 2;
        let windows = if is_early { 2.0 } else { 1.0 };
        let pkts = self.window_pkts(window).max(f64::from(in_flight_pkts));
        let bytes = pkts * f64::from(window.mss_bytes);
        let rate = windows * bytes / srtt.as_seconds();
        window.pacing_rate_bytes_per_s = Window::bounded_rate_bytes_per_s(rate);
    }
}

impl Controller for Prague {
    const WANTS_PACING: bool = true;
    const NEEDS_ECN: bool = true;
    const SENDS_ECT1: bool = true;

    fn new(options: &Options, now: Time) -> Prague {
        Prague {
            alpha: None,
            counted: AckedCounts::default(),
            renewed: now,
            cut: None,
            end_pkts: 0,
            rounds: 0,
            may_be_independent: options.rtt_independence,
            part_pkts: 0.0,
            rtt: Time::ZERO,
        }
    }

    fn init(&mut self, window: &mut Window, snapshot: &Snapshot) {
        self.pace(window, snapshot.in_flight_pkts, snapshot.srtt);
    }

    /// Marks count in every state.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.rtt = ack.srtt.unwrap_or(self.rtt);
        let marked_pkts = ack.marked_pkts.min(ack.newly_delivered_pkts.max(1));
        self.count(window, ack, marked_pkts);
        let is_repairing = matches!(ack.state, CaState::Recovery | CaState::Loss);
        if marked_pkts > 0 && !is_repairing {
            self.cut(window, ack.now);
        }
        let unmarked_pkts = ack.newly_delivered_pkts.saturating_sub(marked_pkts);
        if unmarked_pkts > 0 && ack.is_cwnd_limited && ack.state != CaState::Recovery {
            let mut pkts = unmarked_pkts;
            if window.is_in_slow_start() {
                pkts = window.slow_start(pkts);
            }
            if pkts > 0 && !is_repairing {
                self.grow(window, pkts);
            }
        }
        self.pace(window, ack.in_flight_pkts, ack.srtt);
    }

    fn on_loss(&mut self, window: &mut Window, _snapshot: &Snapshot) {
        window.ssthresh_pkts = (window.cwnd_pkts / 2).max(LEAST_WINDOW_PKTS);
        self.set_window(window, f64::from(window.ssthresh_pkts));
    }

    /// Marks have made the window smaller in `on_ack`: the sender counts real round trips, not virtual
    /// ones.
    fn on_ecn(&mut self, _window: &mut Window, _snapshot: &Snapshot) {}

    /// It reduces the window itself, and goes on growing after marks.
    fn owns_recovery(&self) -> bool {
        true
    }

    /// Two packets back to back wait for one another: at 20 Mbit/s the second waits longer than the step of
    /// DualPI2 as soon as one of the other queue is being sent.
    fn most_burst_pkts(&self, window: &Window) -> Option<u32> {
        let bytes = window
            .pacing_rate_bytes_per_s
            .saturating_mul(LONGEST_BURST_US)
            / US_PER_S;
        let pkts = bytes / u64::from(window.mss_bytes.max(1));
        Some(u32::try_from(pkts).unwrap_or(u32::MAX).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cca::testing::{ack, ms, options, snapshot, window};
    use dumbbell_spec::tcp::Profile;

    fn prague() -> Prague {
        Prague::new(&options(Profile::Linux61), Time::ZERO)
    }

    /// An acknowledgement of one packet, as the sender tells of it.
    fn acknowledge(prague: &mut Prague, window: &mut Window, now: Time, rtt: Time, is_echo: bool) {
        let ack = Ack {
            marked_pkts: u32::from(is_echo),
            ..ack(now, 1, rtt)
        };
        prague.on_ack(window, &ack);
    }

    /// With a share M in each round trip: M + (1 - M) (15/16)^n from 1 at the first mark.
    #[test]
    fn alpha_is_a_moving_average_from_one_at_the_first_mark() {
        let mut prague = prague();
        let mut window = window(10, 1448);
        prague.end_pkts = u64::MAX;
        acknowledge(&mut prague, &mut window, ms(1), ms(50), false);
        assert_eq!(prague.alpha, None);
        acknowledge(&mut prague, &mut window, ms(2), ms(50), true);
        assert_eq!(prague.alpha, Some(1.0));
        for round in 1..=20 {
            prague.counted = AckedCounts {
                acked_pkts: 10,
                marked_pkts: 3,
            };
            prague.renew_alpha(ms(round));
        }
        let exact = 0.3 + 0.7 * libm::pow(15.0 / 16.0, 20.0);
        assert!((prague.alpha.unwrap() - exact).abs() < 1e-12);
    }

    #[test]
    fn marks_take_half_of_alpha_at_once_and_losses_half() {
        for (alpha, left) in [(1.0, 50), (0.5, 75), (0.04, 98), (0.0, 100)] {
            let mut prague = prague();
            prague.alpha = Some(alpha);
            let mut window = window(100, 1448);
            prague.cut(&mut window, ms(1));
            assert_eq!((window.cwnd_pkts, window.ssthresh_pkts), (left, left));
            window.cwnd_pkts = 100;
            prague.on_loss(&mut window, &snapshot(ms(2)));
            assert_eq!((window.cwnd_pkts, window.ssthresh_pkts), (50, 50));
        }
        // Parts of packets are kept: ten cuts by 1.5 % are one of 14 %.
        let (mut prague, mut window) = (prague(), window(40, 1448));
        prague.alpha = Some(0.03);
        for round in 1..=10 {
            prague.cut(&mut window, ms(100 * round));
        }
        let exact = 40.0 * libm::pow(0.985, 10.0);
        let real = f64::from(window.cwnd_pkts) + prague.part_pkts;
        assert!((real - exact).abs() < 1e-9, "{real}");
    }

    /// From 40 to 41 in hundredths: on average what is sent is the window.
    #[test]
    fn whole_packets_are_neither_more_nor_less_than_the_window() {
        let (mut prague, mut window) = (prague(), window(40, 1448));
        let mut excess_pkts = 0.0;
        for hundredths in 0..100 {
            let pkts = 40.0 + f64::from(hundredths) / 100.0;
            prague.set_window(&mut window, pkts);
            assert!((prague.window_pkts(&window) - pkts).abs() < 1e-9);
            excess_pkts += f64::from(window.cwnd_pkts) - pkts;
        }
        assert!((excess_pkts / 100.0).abs() < 0.01, "{excess_pkts}");
    }

    /// A window of acknowledgements without a mark makes it a packet larger, one with marks on a half
    /// by half a packet, whatever state marks have led to.
    #[test]
    fn what_is_not_marked_makes_the_window_grow() {
        for (every, grown) in [(u32::MAX, 1.0), (2, 0.5), (1, 0.0)] {
            let mut prague = prague();
            let mut window = window(100, 1448);
            // The window was cut a moment ago.
            (prague.end_pkts, prague.cut) = (u64::MAX, Some(ms(1)));
            for number in 1..=100u32 {
                let is_echo = number % every == 0 && every != u32::MAX;
                acknowledge(&mut prague, &mut window, ms(1), ms(50), is_echo);
            }
            let real = f64::from(window.cwnd_pkts) + prague.part_pkts;
            assert!((real - 100.0 - grown).abs() < 0.01, "{every}: {real}");
        }
    }

    /// Of a round trip of 5 ms a twenty-fifth, and one cut in 25 ms, but only after 500 of them.
    #[test]
    fn short_round_trips_count_as_25_ms_after_a_while() {
        for (rounds, rtt_ms, grown) in [(500, 5, 0.04), (499, 5, 1.0), (500, 50, 1.0)] {
            let mut prague = prague();
            let mut window = window(100, 1448);
            (prague.rounds, prague.end_pkts) = (rounds, u64::MAX);
            for _ in 0..100 {
                acknowledge(&mut prague, &mut window, ms(1), ms(rtt_ms), false);
            }
            let real = f64::from(window.cwnd_pkts) + prague.part_pkts;
            assert!((real - 100.0 - grown).abs() < 0.01, "{rounds}: {real}");
        }
        for (rounds, left) in [(500, 48), (499, 24)] {
            let mut prague = prague();
            let mut window = window(96, 1448);
            (prague.rounds, prague.rtt, prague.alpha) = (rounds, ms(5), Some(1.0));
            prague.cut(&mut window, ms(100));
            prague.cut(&mut window, ms(110));
            assert_eq!(window.cwnd_pkts, left);
            prague.cut(&mut window, ms(126));
            assert_eq!(window.cwnd_pkts, left / 2);
        }
    }

    /// An acknowledgement each millisecond over 22 ms: alpha is renewed every 25 ms, not every second round
    /// trip.
    #[test]
    fn alpha_is_renewed_once_a_virtual_round_trip() {
        for (rounds, interval_ms) in [(500, 25), (0, 22)] {
            let mut prague = prague();
            let mut window = window(100, 1448);
            (prague.rounds, prague.alpha) = (rounds, Some(0.5));
            let mut renewed_ms = Vec::new();
            for now_ms in 1..=100 {
                let ack = Ack {
                    una_pkts: now_ms,
                    next_pkts: now_ms + 22,
                    ..ack(ms(now_ms), 1, ms(22))
                };
                prague.on_ack(&mut window, &ack);
                if prague.renewed == ms(now_ms) {
                    renewed_ms.push(now_ms);
                }
            }
            let between = renewed_ms.windows(2).map(|pair| pair[1] - pair[0]);
            assert!(
                between.clone().all(|gap| gap == interval_ms),
                "{renewed_ms:?}"
            );
            assert!(between.count() >= 2, "{renewed_ms:?}");
        }
    }

    #[test]
    fn without_independence_a_round_trip_counts_as_it_is() {
        let options = Options {
            rtt_independence: false,
            ..options(Profile::Linux61)
        };
        let mut prague = Prague::new(&options, Time::ZERO);
        let mut window = window(100, 1448);
        (prague.rounds, prague.end_pkts) = (10_000, u64::MAX);
        for _ in 0..100 {
            acknowledge(&mut prague, &mut window, ms(1), ms(5), false);
        }
        let real = f64::from(window.cwnd_pkts) + prague.part_pkts;
        assert!((real - 101.0).abs() < 0.01, "{real}");
    }

    /// At 20 Mbit/s 250 us are less than a packet, at 100 Mbit/s two.
    #[test]
    fn bursts_are_short() {
        for (mbps, pkts) in [(1, 1), (20, 1), (100, 2), (1000, 21)] {
            let mut window = window(10, 1448);
            window.pacing_rate_bytes_per_s = mbps * 1_000_000 / 8;
            assert_eq!(prague().most_burst_pkts(&window), Some(pkts), "{mbps}");
        }
    }

    #[test]
    fn a_window_is_paced_over_a_round_trip() {
        let (prague, mut window) = (prague(), window(10, 1000));
        prague.pace(&mut window, 0, Some(ms(100)));
        assert_eq!(window.pacing_rate_bytes_per_s, 100_000);
        prague.pace(&mut window, 15, Some(ms(100)));
        assert_eq!(window.pacing_rate_bytes_per_s, 150_000);
        window.ssthresh_pkts = 1000;
        prague.pace(&mut window, 0, Some(ms(100)));
        assert_eq!(window.pacing_rate_bytes_per_s, 200_000);
    }
}
