//! TCP-Illinois (Liu, Basar, Srikant, "TCP-Illinois: a loss- and delay-based congestion control
//! algorithm for high-speed networks", Performance Evaluation 65(6-7), 2008): Reno whose two
//! constants depend on the queueing delay.
//!
//! | clause | here |
//! | --- | --- |
//! | section 3, alpha(d_a): alpha_max up to d_1, then kappa_1/(kappa_2 + d_a) | 10 to 0.3, d_1 = 0.01 d_m |
//! | section 3, beta(d_a): beta_min up to d_2, a line, beta_max from d_3 | 1/8 to 1/2, d_2 = 0.1 d_m, d_3 = 0.8 d_m |
//! | d_a: mean queueing delay of a round trip; d_m: greatest | by the least and the greatest round-trip time of the connection |
//! | alpha_max again only after theta = 5 round trips below d_1 | yes |
//! | below W_thresh = 15 packets alpha = 1, beta = 1/2 | yes |
//! | after a timeout alpha = 1, beta = 1/2 | yes |
//! | growth | alpha a round trip: `linux-6.1` counts packets, `rfc` acknowledgements |

use super::reno::Reno;
use super::round_trips::RoundTrips;
use super::window::Growth;
use super::{Ack, Controller, Options, Snapshot, Window};
use dumbbell_core::time::Time;

const MOST_ALPHA_PKTS: f64 = 10.0;
const LEAST_ALPHA_PKTS: f64 = 0.3;
const MOST_BETA: f64 = 0.5;
const LEAST_BETA: f64 = 0.125;
/// Reno's growth, packets a round trip.
const RENO_ALPHA_PKTS: f64 = 1.0;
/// d_1, d_2 and d_3 as parts of d_m.
const FULL_GROWTH_UP_TO: f64 = 0.01;
const LEAST_CUT_UP_TO: f64 = 0.1;
const FULL_CUT_FROM: f64 = 0.8;
/// theta, round trips.
const ROUND_TRIPS_BEFORE_FULL_GROWTH: u32 = 5;
/// W_thresh: below it is Reno, packets.
const RENO_WINDOW_PKTS: u32 = 15;
/// The threshold never falls below this (RFC 5681 equation 4).
const LEAST_SSTHRESH_PKTS: u32 = 2;

/// TCP-Illinois.
#[derive(Debug, Clone, PartialEq)]
pub struct Illinois {
    reno: Reno,
    growth: Growth,
    round_trips: RoundTrips,
    /// The least and the greatest round-trip time.
    least_rtt: Option<Time>,
    greatest_rtt: Time,
    /// Packets more in a round trip.
    alpha_pkts: f64,
    /// What a loss takes of the window.
    beta: f64,
    /// Whether growth has been less than full since the last timeout, or the start.
    was_slowed: bool,
    /// Round trips in a row with next to no queue.
    round_trips_below: u32,
}

/// alpha of a queueing delay beyond d_1, both as parts of the greatest.
fn alpha_pkts(share: f64) -> f64 {
    // kappa_1 and kappa_2 so that it is the most at d_1 and the least at d_m.
    let span = MOST_ALPHA_PKTS - LEAST_ALPHA_PKTS;
    let kappa_1 = (1.0 - FULL_GROWTH_UP_TO) * LEAST_ALPHA_PKTS * MOST_ALPHA_PKTS / span;
    let kappa_2 = (1.0 - FULL_GROWTH_UP_TO) * LEAST_ALPHA_PKTS / span - FULL_GROWTH_UP_TO;
    kappa_1 / (kappa_2 + share)
}

/// beta of a queueing delay as a part of the greatest.
fn beta(share: f64) -> f64 {
    let between = (share - LEAST_CUT_UP_TO) / (FULL_CUT_FROM - LEAST_CUT_UP_TO);
    LEAST_BETA + between.clamp(0.0, 1.0) * (MOST_BETA - LEAST_BETA)
}

impl Illinois {
    /// A round trip with this mean is over.
    fn adapt(&mut self, cwnd_pkts: u32, mean_rtt: Time) {
        let least_rtt = self.least_rtt.unwrap_or(mean_rtt);
        if cwnd_pkts < RENO_WINDOW_PKTS {
            (self.alpha_pkts, self.beta) = (RENO_ALPHA_PKTS, MOST_BETA);
            return;
        }
        let greatest_s = self.greatest_rtt.saturating_sub(least_rtt).as_seconds();
        let mean_s = mean_rtt.saturating_sub(least_rtt).as_seconds();
        // No queue has ever been seen: this one is none.
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

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
            self.greatest_rtt = self.greatest_rtt.max(rtt);
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

    fn on_enter_loss(&mut self, _window: &mut Window, _snapshot: &Snapshot) {
        (self.alpha_pkts, self.beta) = (RENO_ALPHA_PKTS, MOST_BETA);
        (self.was_slowed, self.round_trips_below) = (false, 0);
        self.round_trips = RoundTrips::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cca::testing::{ack, ms, options, snapshot, window};
    use dumbbell_spec::tcp::Profile;

    fn illinois() -> Illinois {
        Illinois {
            least_rtt: Some(ms(100)),
            greatest_rtt: ms(200),
            ..Illinois::new(&options(Profile::Linux61), Time::ZERO)
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
        for _ in 0..25 {
            illinois.on_ack(&mut window, &ack(ms(1), 4, ms(100)));
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
