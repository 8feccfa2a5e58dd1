//! H-TCP (Leith and Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
//! draft-leith-tcp-htcp-06): growth by the time since the last loss, and as large a cut as
//! empties the queue.
//!
//! | clause | here |
//! | --- | --- |
//! | increase: 1 for Delta_L = 1 s, then 1 + 10 (Delta - Delta_L) + ((Delta - Delta_L)/2)^2 packets a round trip | yes; `linux-6.1`: whole, at least 1 |
//! | times 2 (1 - beta) | yes |
//! | increase in proportion to the round-trip time (100 ms as 1, between 0.1 and 2) | `linux-6.1` (`use_rtt_scaling`); an option of the draft, off in `rfc` |
//! | beta = RTTmin/RTTmax, between 0.5 and 0.8 | yes; `linux-6.1`: of smoothed times, not for paths below 10 ms |
//! | beta = 0.5 where the throughput before the loss is off by more than 20 % from that before the last one | yes, by that of the last whole round trip; `linux-6.1` (`use_bandwidth_switch`): at one loss more |
//! | Delta | since the loss; `linux-6.1`: since the end of recovery |
//! | RTTmax | `linux-6.1`: at each loss nearer to RTTmin by a twentieth |

use super::reno::Reno;
use super::window::Growth;
use super::{Ack, Controller, Options, Snapshot, Window};
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Profile;

/// Delta_L: so long after a loss it grows as Reno, seconds.
const LOW_SPEED_S: f64 = 1.0;
/// Bounds of what is left of the window at a loss.
const LEAST_BETA: f64 = 0.5;
const MOST_BETA: f64 = 0.8;
/// By how much the throughput may have changed for the adaptive cut.
const MOST_CHANGE: f64 = 0.2;
/// Round-trip time with which Linux's growth is that of the formula, seconds.
const REFERENCE_RTT_S: f64 = 0.1;
/// Bounds of its scale.
const LEAST_SCALE: f64 = 0.1;
const MOST_SCALE: f64 = 2.0;
/// Linux adapts the cut on longer paths only.
const LINUX_SHORT_PATH: Time = Time::from_ns(10_000_000);
/// What is left in Linux of the queue that it remembers, at a loss.
const LINUX_KEPT_OF_QUEUE: f64 = 0.95;
/// The threshold never falls below this (RFC 5681 equation 4).
const LEAST_SSTHRESH_PKTS: u32 = 2;

/// Where the measurement of throughput that goes on began.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Start {
    at: Time,
    delivered_pkts: u64,
}

/// Least and greatest round-trip time.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Range {
    least: Time,
    greatest: Time,
}

/// H-TCP.
#[derive(Debug, Clone, PartialEq)]
pub struct Htcp {
    profile: Profile,
    reno: Reno,
    growth: Growth,
    /// From when the time without a loss counts.
    since: Time,
    rtts: Option<Range>,
    start: Option<Start>,
    /// Of the last whole round trip, packets a second.
    throughput_pps: f64,
    /// The same when the last loss came; 0 before the first.
    throughput_at_loss_pps: f64,
    /// Whether the last loss found it as the one before.
    was_steady: bool,
    /// What the last loss has left of the window, and the next will at least scale growth by.
    beta: f64,
}

impl Htcp {
    fn is_linux(&self) -> bool {
        self.profile == Profile::Linux61
    }

    /// Packets more in a round trip, `delta_s` after the last loss.
    fn increase_pkts(&self, delta_s: f64) -> f64 {
        let beyond_s = (delta_s - LOW_SPEED_S).max(0.0);
        let half_s = beyond_s / 2.0;
        let mut increase_pkts = 1.0 + 10.0 * beyond_s + half_s * half_s;
        if self.is_linux() {
            let least = self
                .rtts
                .map_or(REFERENCE_RTT_S, |rtts| rtts.least.as_seconds());
            let scale = (least / REFERENCE_RTT_S).clamp(LEAST_SCALE, MOST_SCALE);
            increase_pkts = (increase_pkts.floor() * scale).floor().max(1.0);
        }
        2.0 * (1.0 - self.beta) * increase_pkts
    }

    /// What a loss leaves of the window.
    fn adapted_beta(&mut self) -> f64 {
        let before_pps = self.throughput_at_loss_pps;
        let change = (self.throughput_pps - before_pps).abs();
        let is_steady = before_pps > 0.0 && change <= MOST_CHANGE * before_pps;
        let was_steady = std::mem::replace(&mut self.was_steady, is_steady);
        let adapts = is_steady && (was_steady || !self.is_linux());
        match self.rtts {
            Some(rtts) if adapts && !(self.is_linux() && rtts.least <= LINUX_SHORT_PATH) => {
                let share = rtts.least.as_seconds() / rtts.greatest.as_seconds();
                share.clamp(LEAST_BETA, MOST_BETA)
            }
            _ => LEAST_BETA,
        }
    }

    fn measure(&mut self, ack: &Ack) {
        let rtt = if self.is_linux() { ack.srtt } else { ack.rtt };
        if let Some(rtt) = rtt.filter(|rtt| rtt.0 > 0) {
            let Range { least, greatest } = self.rtts.unwrap_or(Range {
                least: rtt,
                greatest: rtt,
            });
            self.rtts = Some(Range {
                least: least.min(rtt),
                greatest: greatest.max(rtt),
            });
        }
        let here = Start {
            at: ack.now,
            delivered_pkts: ack.delivered_pkts,
        };
        let (Some(start), Some(srtt)) = (self.start, ack.srtt) else {
            self.start = Some(here);
            return;
        };
        let took = ack.now.saturating_sub(start.at);
        if took >= srtt && took.0 > 0 {
            let delivered_pkts = ack.delivered_pkts.saturating_sub(start.delivered_pkts);
            self.throughput_pps = delivered_pkts as f64 / took.as_seconds();
            self.start = Some(here);
        }
    }
}

impl Controller for Htcp {
    fn new(options: &Options, now: Time) -> Htcp {
        Htcp {
            profile: options.profile,
            reno: Reno::new(options, now),
            growth: Growth::default(),
            since: now,
            rtts: None,
            start: None,
            throughput_pps: 0.0,
            throughput_at_loss_pps: 0.0,
            was_steady: false,
            beta: LEAST_BETA,
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.measure(ack);
        if window.is_in_slow_start() {
            self.reno.on_ack(window, ack);
        } else if ack.is_cwnd_limited {
            let delta_s = ack.now.saturating_sub(self.since).as_seconds();
            let acked_pkts = f64::from(self.reno.counted_pkts(ack));
            let share = acked_pkts / f64::from(window.cwnd_pkts.max(1));
            let growth_pkts = self.increase_pkts(delta_s) * share;
            self.growth.grow(window, growth_pkts);
        }
    }

    fn on_loss(&mut self, window: &mut Window, snapshot: &Snapshot) {
        self.growth = Growth::default();
        self.beta = self.adapted_beta();
        self.throughput_at_loss_pps = self.throughput_pps;
        self.since = snapshot.now;
        let is_linux = self.is_linux();
        if let Some(rtts) = self.rtts.as_mut().filter(|_| is_linux) {
            let queue_s = (rtts.greatest - rtts.least).as_seconds();
            rtts.greatest = rtts.least + Time::from_seconds(LINUX_KEPT_OF_QUEUE * queue_s);
        }
        let left_pkts = (f64::from(window.cwnd_pkts) * self.beta) as u32;
        window.ssthresh_pkts = left_pkts.max(LEAST_SSTHRESH_PKTS);
    }

    fn on_exit_recovery(&mut self, _window: &mut Window, snapshot: &Snapshot) {
        if self.is_linux() {
            self.since = snapshot.now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cca::testing::{self, ms, options, window};

    fn htcp(profile: Profile) -> Htcp {
        Htcp::new(&options(profile), Time::ZERO)
    }

    /// Seen: round-trip times between 100 ms and `greatest`, and a rate before the loss.
    fn seen(profile: Profile, greatest: Time, before_pps: f64, pps: f64) -> Htcp {
        Htcp {
            rtts: Some(Range {
                least: ms(100),
                greatest,
            }),
            throughput_pps: pps,
            throughput_at_loss_pps: before_pps,
            ..htcp(profile)
        }
    }

    #[test]
    fn growth_is_the_polynomial_of_the_time_since_the_last_loss() {
        for (delta_s, increase_pkts) in [(0.0, 1.0), (1.0, 1.0), (2.0, 11.25), (5.0, 45.0)] {
            let got = htcp(Profile::Rfc).increase_pkts(delta_s);
            assert!((got - increase_pkts).abs() < 1e-9, "{delta_s} {got}");
        }
        // Linux: whole, and at 40 ms 0.4 of it, at least 1.
        let mut linux = htcp(Profile::Linux61);
        linux.rtts = Some(Range {
            least: ms(40),
            greatest: ms(80),
        });
        for (delta_s, increase_pkts) in [(0.5, 1.0), (1.2, 1.0), (2.0, 4.0), (5.0, 18.0)] {
            let got = linux.increase_pkts(delta_s);
            assert!((got - increase_pkts).abs() < 1e-9, "{delta_s} {got}");
        }
    }

    #[test]
    fn a_smaller_cut_grows_more_slowly() {
        let mut htcp = htcp(Profile::Rfc);
        htcp.beta = 0.8;
        assert!((htcp.increase_pkts(0.5) - 0.4).abs() < 1e-9);
    }

    #[test]
    fn a_loss_empties_the_queue_and_no_more() {
        for (greatest, left) in [(ms(150), 66), (ms(110), 80), (ms(400), 50)] {
            let mut htcp = seen(Profile::Rfc, greatest, 1000.0, 1100.0);
            let mut window = window(100, 1448);
            htcp.on_loss(&mut window, &testing::snapshot(ms(5000)));
            assert_eq!(window.ssthresh_pkts, left);
        }
    }

    #[test]
    fn a_loss_halves_the_window_where_the_rate_has_changed() {
        for (before_pps, pps, left) in [
            (0.0, 1000.0, 50),
            (1000.0, 1190.0, 66),
            (1000.0, 1210.0, 50),
            (1000.0, 790.0, 50),
        ] {
            let mut htcp = seen(Profile::Rfc, ms(150), before_pps, pps);
            let mut window = window(100, 1448);
            htcp.on_loss(&mut window, &testing::snapshot(ms(5000)));
            assert_eq!(window.ssthresh_pkts, left, "{before_pps} {pps}");
            assert!((htcp.throughput_at_loss_pps - pps).abs() < 1e-9);
        }
    }

    #[test]
    fn linux_waits_for_a_second_loss_with_the_same_rate() {
        let mut htcp = seen(Profile::Linux61, ms(150), 1000.0, 1000.0);
        for left in [50, 67] {
            let mut window = window(100, 1448);
            htcp.on_loss(&mut window, &testing::snapshot(ms(5000)));
            assert_eq!(window.ssthresh_pkts, left);
            // A twentieth of the queue is forgotten: 100 / 147.5 ms is 0.678.
        }
    }

    #[test]
    fn throughput_is_what_a_round_trip_delivered() {
        let mut htcp = htcp(Profile::Rfc);
        let mut window = window(100, 1448);
        for step in 0..=30 {
            let ack = Ack {
                delivered_pkts: 10 * step,
                ..testing::ack(ms(10 * step), 10, ms(100))
            };
            htcp.on_ack(&mut window, &ack);
        }
        assert!((htcp.throughput_pps - 1000.0).abs() < 1e-6);
    }

    #[test]
    fn linux_forgets_a_twentieth_of_the_queue_and_counts_from_the_end_of_recovery() {
        let mut htcp = seen(Profile::Linux61, ms(200), 1000.0, 1000.0);
        let mut window = window(100, 1448);
        htcp.on_loss(&mut window, &testing::snapshot(ms(5000)));
        assert_eq!(htcp.rtts.unwrap().greatest, ms(195));
        htcp.on_exit_recovery(&mut window, &testing::snapshot(ms(5200)));
        assert_eq!(htcp.since, ms(5200));
    }
}
