//! H-TCP (Leith and Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
//! draft-leith-tcp-htcp-06): the increase depends on the time since the last loss, and the decrease is just
//! large enough to empty the queue.
//!
//! | clause | here |
//! | --- | --- |
//! | increase: 1 for Delta_L = 1 s, then 1 + 10 (Delta - Delta_L) + ((Delta - Delta_L)/2)^2 packets per round trip | yes; `linux-6.1`: in integers (`htcp/linux.rs`) |
//! | times 2 (1 - beta) | yes |
//! | increase scaled by the round-trip time (100 ms is 1, between 0.1 and 2) | `linux-6.1` (`use_rtt_scaling`); an option of the draft, off in `rfc` |
//! | beta = RTTmin/RTTmax, between 0.5 and 0.8 | yes; `linux-6.1`: not for paths of 10 ms or less |
//! | beta = 0.5 if the throughput before the loss differs by more than 20 % from that before the previous loss | yes, by the last whole round trip; `linux-6.1` (`use_bandwidth_switch`): by the maximum of the smoothed throughput, and one loss later |
//! | Delta | since the loss; `linux-6.1`: since the end of recovery |
//! | RTTmax | `linux-6.1`: moves a twentieth toward RTTmin at each loss |

mod linux;

use super::reno::Reno;
use super::window::Growth;
use super::{Ack, CaState, Controller, Options, PktsAcked, Snapshot, Window};
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Profile;
use linux::LinuxState;

/// Delta_L: time after a loss during which it grows as Reno, seconds.
const LOW_SPEED_S: f64 = 1.0;
/// Bounds of beta, the fraction of the window kept at a loss.
const LEAST_BETA: f64 = 0.5;
const MOST_BETA: f64 = 0.8;
/// Largest relative change of the throughput for an adaptive decrease.
const MOST_CHANGE: f64 = 0.2;
/// The threshold never falls below this (RFC 5681 equation 4).
const LEAST_SSTHRESH_PKTS: u32 = 2;

/// Start of the current throughput measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Start {
    at: Time,
    delivered_pkts: u64,
}

/// Minimum and maximum round-trip time.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Range {
    least: Time,
    greatest: Time,
}

/// H-TCP.
#[derive(Debug, Clone, PartialEq)]
pub struct Htcp {
    /// State of the Linux variant; None in the profile `rfc`.
    linux: Option<LinuxState>,
    reno: Reno,
    growth: Growth,
    /// Start of the time without a loss.
    since: Time,
    rtts: Option<Range>,
    start: Option<Start>,
    /// Throughput of the last whole round trip, packets per second.
    throughput_pps: f64,
    /// Throughput at the last loss; 0 before the first.
    throughput_at_loss_pps: f64,
    /// Fraction of the window kept at the last loss; it also scales the increase.
    beta: f64,
}

impl Htcp {
    /// Increase per round trip, `delta_s` after the last loss.
    fn increase_pkts(&self, delta_s: f64) -> f64 {
        let beyond_s = (delta_s - LOW_SPEED_S).max(0.0);
        let half_s = beyond_s / 2.0;
        2.0 * (1.0 - self.beta) * (1.0 + 10.0 * beyond_s + half_s * half_s)
    }

    /// Fraction of the window that a loss leaves.
    fn adapted_beta(&self) -> f64 {
        let before_pps = self.throughput_at_loss_pps;
        let change = (self.throughput_pps - before_pps).abs();
        let is_steady = before_pps > 0.0 && change <= MOST_CHANGE * before_pps;
        match self.rtts {
            Some(rtts) if is_steady => {
                let share = rtts.least.as_seconds() / rtts.greatest.as_seconds();
                share.clamp(LEAST_BETA, MOST_BETA)
            }
            _ => LEAST_BETA,
        }
    }

    fn measure(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt.filter(|rtt| rtt.0 > 0) {
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
    const NEEDS_EVERY_ACK: bool = true;

    fn new(options: &Options, now: Time) -> Htcp {
        let is_linux = options.profile == Profile::Linux61;
        Htcp {
            linux: is_linux.then(|| LinuxState::new(options.timer_hz, now)),
            reno: Reno::new(options, now),
            growth: Growth::default(),
            since: now,
            rtts: None,
            start: None,
            throughput_pps: 0.0,
            throughput_at_loss_pps: 0.0,
            beta: LEAST_BETA,
        }
    }

    fn init(&mut self, _window: &mut Window, snapshot: &Snapshot) {
        if let Some(whole) = &mut self.linux {
            whole.begin(snapshot.now);
        }
    }

    fn on_pkts_acked(&mut self, window: &mut Window, cleaned: &PktsAcked) {
        if let Some(whole) = &mut self.linux {
            whole.on_pkts_acked(window.cwnd_pkts, cleaned);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(whole) = &mut self.linux {
            return whole.on_ack(window, ack);
        }
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
        let left_pkts = match &mut self.linux {
            Some(whole) => whole.threshold_pkts(window.cwnd_pkts, snapshot.now),
            None => {
                self.growth = Growth::default();
                self.beta = self.adapted_beta();
                self.throughput_at_loss_pps = self.throughput_pps;
                self.since = snapshot.now;
                (f64::from(window.cwnd_pkts) * self.beta) as u32
            }
        };
        window.ssthresh_pkts = left_pkts.max(LEAST_SSTHRESH_PKTS);
    }

    fn on_state(&mut self, _window: &mut Window, state: CaState, snapshot: &Snapshot) {
        if let Some(whole) = &mut self.linux {
            whole.on_state(state, snapshot.now);
        }
    }

    fn on_undo(&mut self, window: &mut Window) {
        if let Some(whole) = &mut self.linux {
            whole.on_undo();
        }
        window.restore();
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
}
