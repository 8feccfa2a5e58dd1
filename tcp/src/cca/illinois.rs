//! TCP-Illinois (Liu, Basar, Srikant, "TCP-Illinois: a loss- and delay-based congestion control algorithm for
//! high-speed networks", Performance Evaluation 65(6-7), 2008): Reno with increase and decrease parameters
//! that depend on the queueing delay.
//!
//! | clause | here |
//! | --- | --- |
//! | section 3, alpha(d_a): alpha_max up to d_1, then kappa_1/(kappa_2 + d_a) | 10 to 0.3, d_1 = 0.01 d_m |
//! | section 3, beta(d_a): beta_min up to d_2, a line, beta_max from d_3 | 1/8 to 1/2, d_2 = 0.1 d_m, d_3 = 0.8 d_m |
//! | d_a: mean queueing delay of a round trip; d_m: maximum | from the minimum and maximum round-trip time of the connection |
//! | alpha_max again only after theta = 5 round trips below d_1 | yes |
//! | below W_thresh = 15 packets alpha = 1, beta = 1/2 | yes |
//! | after a timeout alpha = 1, beta = 1/2 | yes |
//! | increase | alpha per round trip: `rfc` counts acknowledgements; `linux-6.1` packets, and drops the remainder when the window grows |
//! | numbers | `rfc`: real; `linux-6.1`: alpha in 1/128, beta in 1/64, times in microseconds, all rounded down |
//! | a round trip | `linux-6.1`: all acknowledgements, also in recovery, until data sent after its start is acknowledged |
//! | the round trips below d_1 | consecutive; `linux-6.1`: since the delay first exceeded it |

use super::reno::Reno;
use super::round_trips::RoundTrips;
use super::window::Growth;
use super::{Ack, Controller, Options, RttSample, Snapshot, Window};
use crate::rtt::as_us;
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Profile;

const MOST_ALPHA_PKTS: f64 = 10.0;
const LEAST_ALPHA_PKTS: f64 = 0.3;
const MOST_BETA: f64 = 0.5;
const LEAST_BETA: f64 = 0.125;
/// Reno's growth, packets a round trip.
const RENO_ALPHA_PKTS: f64 = 1.0;
/// d_1, d_2 and d_3 as fractions of d_m.
const FULL_GROWTH_UP_TO: f64 = 0.01;
const LEAST_CUT_UP_TO: f64 = 0.1;
const FULL_CUT_FROM: f64 = 0.8;
/// theta, round trips.
const ROUND_TRIPS_BEFORE_FULL_GROWTH: u32 = 5;
/// W_thresh: below it is Reno, packets.
const RENO_WINDOW_PKTS: u32 = 15;
/// The threshold never falls below this (RFC 5681 equation 4).
const LEAST_SSTHRESH_PKTS: u32 = 2;

/// Resolution of Linux's alpha and beta.
const LINUX_ALPHA_PARTS: f64 = 128.0;
const LINUX_BETA_PARTS: f64 = 64.0;

/// The current round trip as Linux measures it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct LinuxRoundTrip {
    /// It ends when more than this is acknowledged.
    end_pkts: u64,
    sum_us: u64,
    count: u64,
}

/// TCP-Illinois.
#[derive(Debug, Clone, PartialEq)]
pub struct Illinois {
    profile: Profile,
    linux_round_trip: LinuxRoundTrip,
    reno: Reno,
    growth: Growth,
    round_trips: RoundTrips,
    /// Minimum and maximum round-trip time.
    least_rtt: Option<Time>,
    greatest_rtt: Time,
    /// Increase per round trip, packets.
    alpha_pkts: f64,
    /// Decrease at a loss, as a fraction of the window.
    beta: f64,
    /// Whether the increase was below the maximum since the last timeout or the start.
    was_slowed: bool,
    /// Consecutive round trips with almost no queue.
    round_trips_below: u32,
}

/// alpha for a queueing delay above d_1, as a fraction of the maximum.
fn alpha_pkts(share: f64) -> f64 {
    // kappa_1 and kappa_2 are chosen so that alpha is largest at d_1 and smallest at d_m.
    let span = MOST_ALPHA_PKTS - LEAST_ALPHA_PKTS;
    let kappa_1 = (1.0 - FULL_GROWTH_UP_TO) * LEAST_ALPHA_PKTS * MOST_ALPHA_PKTS / span;
    let kappa_2 = (1.0 - FULL_GROWTH_UP_TO) * LEAST_ALPHA_PKTS / span - FULL_GROWTH_UP_TO;
    kappa_1 / (kappa_2 + share)
}

/// beta for a queueing delay as a fraction of the maximum.
fn beta(share: f64) -> f64 {
    let between = (share - LEAST_CUT_UP_TO) / (FULL_CUT_FROM - LEAST_CUT_UP_TO);
    LEAST_BETA + between.clamp(0.0, 1.0) * (MOST_BETA - LEAST_BETA)
}

/// Truncates a number to Linux's resolution.
fn in_parts(value: f64, parts: f64) -> f64 {
    (value * parts).floor() / parts
}

/// `alpha_pkts` for a mean and a maximum delay in microseconds.
fn linux_alpha_pkts(mean_us: u64, greatest_us: u64) -> f64 {
    let least_parts = (LEAST_ALPHA_PKTS * LINUX_ALPHA_PARTS) as u64;
    let most_parts = (MOST_ALPHA_PKTS * LINUX_ALPHA_PARTS) as u64;
    // kappa_1 / (kappa_2 + d_a), both times (alpha_max - alpha_min) / alpha_min.
    let d1_us = greatest_us / 100;
    let (over_us, span_us) = (mean_us - d1_us, greatest_us - d1_us);
    let slowed_us = over_us * (most_parts - least_parts) / least_parts;
    (span_us * most_parts / (span_us + slowed_us)) as f64 / LINUX_ALPHA_PARTS
}

/// `beta` for a mean and a maximum delay in microseconds.
fn linux_beta(mean_us: u64, greatest_us: u64) -> f64 {
    let (d2_us, d3_us) = (greatest_us / 10, 8 * greatest_us / 10);
    if mean_us <= d2_us {
        return LEAST_BETA;
    }
    if mean_us >= d3_us || d3_us <= d2_us {
        return MOST_BETA;
    }
    let part = (mean_us - d2_us) as f64 / (d3_us - d2_us) as f64;
    let exact = LEAST_BETA + part * (MOST_BETA - LEAST_BETA);
    // An integer must not be rounded down by floating-point error.
    in_parts(exact + 1e-9, LINUX_BETA_PARTS)
}

impl Illinois {
    /// `adapt` in Linux's arithmetic, at the end of a round trip.
    fn adapt_as_linux(&mut self, cwnd_pkts: u32) {
        if cwnd_pkts < RENO_WINDOW_PKTS {
            (self.alpha_pkts, self.beta) = (RENO_ALPHA_PKTS, MOST_BETA);
            return;
        }
        let LinuxRoundTrip { sum_us, count, .. } = self.linux_round_trip;
        let (Some(least_rtt), 1..) = (self.least_rtt, count) else {
            return;
        };
        let least_us = as_us(least_rtt);
        let greatest_us = as_us(self.greatest_rtt) - least_us;
        let mean_us = (sum_us / count).saturating_sub(least_us);
        self.beta = linux_beta(mean_us, greatest_us);
        if mean_us > greatest_us / 100 {
            self.was_slowed = true;
            self.alpha_pkts = linux_alpha_pkts(mean_us, greatest_us);
        } else if !self.was_slowed {
            self.alpha_pkts = MOST_ALPHA_PKTS;
        } else {
            self.round_trips_below += 1;
            if self.round_trips_below >= ROUND_TRIPS_BEFORE_FULL_GROWTH {
                (self.was_slowed, self.round_trips_below) = (false, 0);
                self.alpha_pkts = MOST_ALPHA_PKTS;
            }
        }
    }

    fn begin_round_trip(&mut self, end_pkts: u64) {
        self.linux_round_trip = LinuxRoundTrip {
            end_pkts,
            ..LinuxRoundTrip::default()
        };
    }

    fn note_rtt(&mut self, rtt: Time) {
        self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
        self.greatest_rtt = self.greatest_rtt.max(rtt);
    }

    fn on_ack_as_linux(&mut self, window: &mut Window, ack: &Ack) {
        if ack.una_pkts > self.linux_round_trip.end_pkts {
            self.adapt_as_linux(window.cwnd_pkts);
            self.begin_round_trip(ack.next_pkts);
        }
        if !ack.is_cwnd_limited {
            return;
        }
        if window.is_in_slow_start() {
            window.slow_start(ack.newly_delivered_pkts);
            return;
        }
        window.acked_since_growth_pkts =
            (window.acked_since_growth_pkts).saturating_add(ack.cleaned_pkts);
        let grown_pkts = f64::from(window.acked_since_growth_pkts) * self.alpha_pkts;
        let by_pkts = grown_pkts as u32 / window.cwnd_pkts.max(1);
        if by_pkts > 0 {
            window.set_cwnd(window.cwnd_pkts.saturating_add(by_pkts));
            window.acked_since_growth_pkts = 0;
        }
    }

    /// A round trip with this mean has ended.
    fn adapt(&mut self, cwnd_pkts: u32, mean_rtt: Time) {
        let least_rtt = self.least_rtt.unwrap_or(mean_rtt);
        if cwnd_pkts < RENO_WINDOW_PKTS {
            (self.alpha_pkts, self.beta) = (RENO_ALPHA_PKTS, MOST_BETA);
            return;
        }
        let greatest_s = self.greatest_rtt.saturating_sub(least_rtt).as_seconds();
        let mean_s = mean_rtt.saturating_sub(least_rtt).as_seconds();
        // Without any queueing delay so far, the present one counts as none.
        let share = if greatest_s > 0.0 {
            (mean_s / greatest_s).min(1.0)
        } else {
            0.0
        };
        self.beta = beta(share);
        if share > FULL_GROWTH_UP_TO {
            self.was_slowed = true;
            self.round_trips_below = 0;
            self.alpha_pkts = alpha_pkts(share);
            return;
        }
        self.round_trips_below += 1;
        if !self.was_slowed || self.round_trips_below >= ROUND_TRIPS_BEFORE_FULL_GROWTH {
            self.was_slowed = false;
            self.alpha_pkts = MOST_ALPHA_PKTS;
        }
    }
}

impl Controller for Illinois {
    fn new(options: &Options, now: Time) -> Illinois {
        Illinois {
            profile: options.profile,
            linux_round_trip: LinuxRoundTrip::default(),
            reno: Reno::new(options, now),
            growth: Growth::default(),
            round_trips: RoundTrips::default(),
            least_rtt: None,
            greatest_rtt: Time::ZERO,
            alpha_pkts: MOST_ALPHA_PKTS,
            beta: MOST_BETA,
            was_slowed: false,
            round_trips_below: 0,
        }
    }

    /// The handshake's measurement does not count.
    fn init(&mut self, _window: &mut Window, snapshot: &Snapshot) {
        if self.profile == Profile::Linux61 {
            (self.least_rtt, self.greatest_rtt) = (None, Time::ZERO);
            self.begin_round_trip(snapshot.next_pkts);
        }
    }

    fn on_rtt(&mut self, _window: &mut Window, sample: &RttSample) {
        if self.profile == Profile::Linux61 {
            self.note_rtt(sample.rtt);
            let sum_us = &mut self.linux_round_trip.sum_us;
            *sum_us = sum_us.saturating_add(as_us(sample.rtt));
            self.linux_round_trip.count += 1;
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if self.profile == Profile::Linux61 {
            return self.on_ack_as_linux(window, ack);
        }
        if let Some(rtt) = ack.rtt {
            self.note_rtt(rtt);
        }
        if let Some(over) = self.round_trips.enter(ack) {
            self.adapt(window.cwnd_pkts, over.mean);
        }
        if window.is_in_slow_start() {
            self.reno.on_ack(window, ack);
        } else if ack.is_cwnd_limited {
            let acked_pkts = f64::from(self.reno.counted_pkts(ack));
            let growth_pkts = self.alpha_pkts * acked_pkts / f64::from(window.cwnd_pkts.max(1));
            self.growth.grow(window, growth_pkts);
        }
    }

    fn on_loss(&mut self, window: &mut Window, _snapshot: &Snapshot) {
        self.growth = Growth::default();
        let cut_pkts = (f64::from(window.cwnd_pkts) * self.beta) as u32;
        window.ssthresh_pkts = (window.cwnd_pkts - cut_pkts).max(LEAST_SSTHRESH_PKTS);
    }

    fn on_enter_loss(&mut self, _window: &mut Window, snapshot: &Snapshot) {
        self.begin_round_trip(snapshot.next_pkts);
        (self.alpha_pkts, self.beta) = (RENO_ALPHA_PKTS, MOST_BETA);
        (self.was_slowed, self.round_trips_below) = (false, 0);
        self.round_trips = RoundTrips::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cca::testing::{ack, ms, options, snapshot, window};

    fn illinois() -> Illinois {
        Illinois {
            least_rtt: Some(ms(100)),
            greatest_rtt: ms(200),
            ..Illinois::new(&options(Profile::Rfc), Time::ZERO)
        }
    }

    /// The same as Linux does it; a round trip with this mean is over.
    fn linux(mean: Time) -> Illinois {
        Illinois {
            profile: Profile::Linux61,
            linux_round_trip: LinuxRoundTrip {
                end_pkts: 10,
                sum_us: 3 * as_us(mean),
                count: 3,
            },
            ..illinois()
        }
    }

    #[test]
    fn linux_has_the_curves_in_whole_parts() {
        for (queue_ms, alpha_parts, beta_parts) in [
            (0, 1280, 8),
            (1, 1280, 8),
            // 99 of 100 ms times 1280 over 99 ms and 9 ms times 1242/38: 322.1
            (10, 322, 8),
            (45, 82, 20),
            (46, 80, 20),
            (80, 47, 32),
            (100, 38, 32),
        ] {
            let mut linux = linux(ms(100 + queue_ms));
            linux.adapt_as_linux(100);
            let got = (
                linux.alpha_pkts * LINUX_ALPHA_PARTS,
                linux.beta * LINUX_BETA_PARTS,
            );
            let expected = (f64::from(alpha_parts), f64::from(beta_parts));
            assert_eq!(got, expected, "{queue_ms}");
        }
    }

    #[test]
    fn linux_adapts_with_the_first_packet_beyond_a_round_trip() {
        let mut linux = linux(ms(150));
        let mut window = window(100, 1448);
        for (una_pkts, is_over) in [(10, false), (11, true)] {
            let event = Ack {
                una_pkts,
                next_pkts: 111,
                ..ack(ms(1), 1, ms(100))
            };
            linux.on_ack(&mut window, &event);
            assert_eq!(linux.beta < MOST_BETA, is_over, "{una_pkts}");
        }
        assert_eq!(linux.linux_round_trip.end_pkts, 111);
        linux.on_enter_loss(&mut window, &snapshot(Time::ZERO));
        assert_eq!(linux.linux_round_trip.end_pkts, 0);
    }

    #[test]
    fn linux_drops_what_is_over_when_the_window_grows() {
        let mut linux = linux(ms(150));
        linux.alpha_pkts = MOST_ALPHA_PKTS;
        let mut window = window(100, 1448);
        // Ten packets for each: 12 are a packet and a fifth.
        for (acked_pkts, grown_pkts) in [(8, 0), (4, 1), (8, 1), (4, 2), (20, 3)] {
            linux.on_ack(&mut window, &ack(ms(1), acked_pkts, ms(100)));
            assert_eq!(window.cwnd_pkts, 100 + grown_pkts);
        }
    }

    #[test]
    fn alpha_and_beta_are_the_papers_curves() {
        // d_m = 100 ms: kappa_1 = 99 x 0.3 x 10 / 9.7 ms, kappa_2 = 99 x 0.3 / 9.7 - 1 ms.
        for (queue_ms, alpha, beta) in [
            (0, 10.0, 0.125),
            (1, 10.0, 0.125),
            (10, 30.618_556_7 / 12.061_855_7, 0.125),
            (45, 30.618_556_7 / 47.061_855_7, 0.3125),
            (80, 30.618_556_7 / 82.061_855_7, 0.5),
            (100, 0.3, 0.5),
        ] {
            let mut illinois = illinois();
            illinois.adapt(100, ms(100 + queue_ms));
            assert!((illinois.alpha_pkts - alpha).abs() < 1e-6, "{queue_ms}");
            assert!((illinois.beta - beta).abs() < 1e-9, "{queue_ms}");
        }
    }

    #[test]
    fn small_windows_are_renos() {
        let mut illinois = illinois();
        illinois.adapt(14, ms(100));
        assert_eq!((illinois.alpha_pkts, illinois.beta), (1.0, 0.5));
        illinois.adapt(15, ms(100));
        assert_eq!((illinois.alpha_pkts, illinois.beta), (10.0, 0.125));
    }

    #[test]
    fn full_growth_comes_back_after_five_round_trips_without_a_queue() {
        let mut illinois = illinois();
        illinois.adapt(100, ms(150));
        let slowed = illinois.alpha_pkts;
        assert!(slowed < 1.0);
        for _ in 0..4 {
            illinois.adapt(100, ms(100));
            assert_eq!(illinois.alpha_pkts, slowed);
        }
        illinois.adapt(100, ms(100));
        assert_eq!(illinois.alpha_pkts, 10.0);
    }

    #[test]
    fn a_window_of_packets_adds_alpha_and_a_loss_takes_beta() {
        let mut illinois = illinois();
        let mut window = window(100, 1448);
        for _ in 0..100 {
            illinois.on_ack(&mut window, &ack(ms(1), 1, ms(100)));
        }
        assert!((108..=110).contains(&window.cwnd_pkts));
        illinois.adapt(100, ms(145));
        window.cwnd_pkts = 160;
        illinois.on_loss(&mut window, &snapshot(Time::ZERO));
        assert_eq!(window.ssthresh_pkts, 110);
    }

    #[test]
    fn after_a_timeout_it_is_reno() {
        let mut illinois = illinois();
        illinois.on_enter_loss(&mut window(1, 1448), &snapshot(Time::ZERO));
        assert_eq!((illinois.alpha_pkts, illinois.beta), (1.0, 0.5));
    }
}
