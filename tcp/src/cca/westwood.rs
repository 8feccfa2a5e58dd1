//! TCP Westwood+ (Mascolo, Casetti, Gerla, Sanadidi, Wang, "TCP Westwood: bandwidth estimation for
//! enhanced transport over wireless links", MobiCom 2001; the estimate of Grieco and Mascolo,
//! ACM CCR 34(2), 2004): after a loss the window is what the path has been seen to carry.
//!
//! | clause | here |
//! | --- | --- |
//! | 2004, section 2: a sample of bandwidth each round trip, what was acknowledged over the time it took | yes; `linux-6.1`: not shorter than 50 ms |
//! | 2004, equation of the filter | `rfc`: 0.9 of the estimate, 0.1 of the sample; `linux-6.1`: 7/8 and 1/8, twice |
//! | the first sample | the estimate (left open) |
//! | 2001, section 3.1: after three duplicates, ssthresh = BWE RTTmin / segment, at least 2 | `rfc`: yes, and the window there by proportional rate reduction; `linux-6.1`: half during recovery, this when it is over |
//! | 2001, section 3.2: after a timeout the same threshold, window 1 | yes |
//! | growth | Reno's |
//! | RTTmin | the sender's: least of the last five minutes |

use super::reno::Reno;
use super::{Ack, Controller, Options, Snapshot, Window};
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Profile;

/// The threshold never falls below this.
const LEAST_SSTHRESH_PKTS: u32 = 2;
/// Linux takes no sample over less (`TCP_WESTWOOD_RTT_MIN`).
const LINUX_SHORTEST_SAMPLE: Time = Time::from_ns(50_000_000);

/// The low-pass filter: what it keeps of its value at a sample, and how many follow one another.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Filter {
    kept: f64,
    is_twofold: bool,
}

/// Rate of delivery, packets a second.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Estimate {
    /// After the first stage of the filter.
    first_pps: f64,
    /// After all.
    pps: f64,
}

/// Where the sample that goes on began.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Start {
    at: Time,
    delivered_pkts: u64,
}

/// TCP Westwood+.
#[derive(Debug, Clone, PartialEq)]
pub struct Westwood {
    reno: Reno,
    filter: Filter,
    shortest_sample: Time,
    /// Whether recovery is Reno's, and the window that of the estimate when it is over.
    halves: bool,
    start: Option<Start>,
    estimate: Option<Estimate>,
}

impl Westwood {
    fn enter(&mut self, sample_pps: f64) {
        let Filter { kept, is_twofold } = self.filter;
        self.estimate = Some(match self.estimate {
            None => Estimate {
                first_pps: sample_pps,
                pps: sample_pps,
            },
            Some(before) => {
                let first_pps = kept * before.first_pps + (1.0 - kept) * sample_pps;
                let pps = if is_twofold {
                    kept * before.pps + (1.0 - kept) * first_pps
                } else {
                    first_pps
                };
                Estimate { first_pps, pps }
            }
        });
    }

    /// What the path carries in its least round-trip time, packets; None while nothing is known of it.
    fn carried_pkts(&self, snapshot: &Snapshot) -> Option<u32> {
        let carried_pkts = self.estimate?.pps * snapshot.min_rtt?.as_seconds();
        Some((carried_pkts as u32).max(LEAST_SSTHRESH_PKTS))
    }

    /// A round trip is over: what was delivered in it is a sample.
    fn measure(&mut self, ack: &Ack) {
        let here = Start {
            at: ack.now,
            delivered_pkts: ack.delivered_pkts,
        };
        let Some(start) = self.start else {
            self.start = Some(here);
            return;
        };
        let Some(rtt) = ack.rtt.or(ack.srtt) else {
            return;
        };
        let took = ack.now.saturating_sub(start.at);
        if took > rtt.max(self.shortest_sample) {
            let delivered_pkts = ack.delivered_pkts.saturating_sub(start.delivered_pkts);
            self.enter(delivered_pkts as f64 / took.as_seconds());
            self.start = Some(here);
        }
    }
}

impl Controller for Westwood {
    fn new(options: &Options, now: Time) -> Westwood {
        let (filter, shortest_sample) = match options.profile {
            Profile::Linux61 => (
                Filter {
                    kept: 0.875,
                    is_twofold: true,
                },
                LINUX_SHORTEST_SAMPLE,
            ),
            Profile::Rfc => (
                Filter {
                    kept: 0.9,
                    is_twofold: false,
                },
                Time::ZERO,
            ),
        };
        Westwood {
            reno: Reno::new(options, now),
            filter,
            shortest_sample,
            halves: options.profile == Profile::Linux61,
            start: None,
            estimate: None,
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.measure(ack);
        self.reno.on_ack(window, ack);
    }

    fn on_loss(&mut self, window: &mut Window, snapshot: &Snapshot) {
        match self.carried_pkts(snapshot).filter(|_| !self.halves) {
            // A loss makes no window larger: the estimate may be of a faster path.
            Some(carried_pkts) => {
                let reached_pkts = carried_pkts.min(window.cwnd_pkts);
                window.ssthresh_pkts = reached_pkts.max(LEAST_SSTHRESH_PKTS);
            }
            None => self.reno.on_loss(window, snapshot),
        }
    }

    fn on_rto(&mut self, window: &mut Window, snapshot: &Snapshot) {
        match self.carried_pkts(snapshot) {
            Some(carried_pkts) => window.ssthresh_pkts = carried_pkts,
            None => self.reno.on_loss(window, snapshot),
        }
    }

    fn on_exit_recovery(&mut self, window: &mut Window, snapshot: &Snapshot) {
        if let Some(carried_pkts) = self.carried_pkts(snapshot).filter(|_| self.halves) {
            window.ssthresh_pkts = carried_pkts;
            window.set_cwnd(carried_pkts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cca::testing::{ack, ms, options, snapshot, window};

    /// Has seen `seconds` of a path that delivers 10 packets every 10 ms, RTT 100 ms.
    fn after(profile: Profile, seconds: u64) -> Westwood {
        let mut westwood = Westwood::new(&options(profile), Time::ZERO);
        deliver(&mut westwood, 0, seconds, 10);
        westwood
    }

    fn deliver(westwood: &mut Westwood, from_s: u64, to_s: u64, pkts: u64) {
        let mut window = window(1000, 1448);
        for step in from_s * 100..to_s * 100 {
            let delivered_pkts = 100_000 * from_s + step * pkts;
            let event = Ack {
                delivered_pkts,
                ..ack(ms(10 * step), 10, ms(100))
            };
            westwood.on_ack(&mut window, &event);
        }
    }

    fn threshold(westwood: &mut Westwood, cwnd_pkts: u32) -> u32 {
        let mut window = window(cwnd_pkts, 1448);
        let seen = Snapshot {
            min_rtt: Some(ms(100)),
            ..snapshot(Time::ZERO)
        };
        westwood.on_loss(&mut window, &seen);
        westwood.on_exit_recovery(&mut window, &seen);
        window.ssthresh_pkts
    }

    #[test]
    fn the_threshold_is_what_the_path_carries_in_its_least_round_trip() {
        for profile in [Profile::Rfc, Profile::Linux61] {
            // 1000 packets a second, 0.1 s.
            let reached = threshold(&mut after(profile, 3), 250);
            assert!((99..=100).contains(&reached), "{profile:?} {reached}");
        }
        // The paper makes no window larger; Linux has halved it before.
        assert_eq!(threshold(&mut after(Profile::Rfc, 3), 60), 60);
        let reached = threshold(&mut after(Profile::Linux61, 3), 60);
        assert!((99..=100).contains(&reached), "{reached}");
    }

    #[test]
    fn linux_halves_during_recovery_and_not_after_a_timeout() {
        let seen = Snapshot {
            min_rtt: Some(ms(100)),
            ..snapshot(Time::ZERO)
        };
        let mut window = window(250, 1448);
        after(Profile::Linux61, 3).on_loss(&mut window, &seen);
        assert_eq!(window.ssthresh_pkts, 125);
        after(Profile::Linux61, 3).on_rto(&mut window, &seen);
        assert!((99..=100).contains(&window.ssthresh_pkts));
    }

    #[test]
    fn the_estimate_follows_the_filters_response_to_a_step() {
        // From 1000 to 2000 packets a second: after n samples 1 - 0.9^n of the step is done.
        let mut westwood = Westwood::new(&options(Profile::Rfc), Time::ZERO);
        let mut linux = Westwood::new(&options(Profile::Linux61), Time::ZERO);
        for westwood in [&mut westwood, &mut linux] {
            westwood.enter(1000.0);
            for _ in 0..10 {
                westwood.enter(2000.0);
            }
        }
        let got = westwood.estimate.unwrap().pps;
        let exact = 2000.0 - 1000.0 * libm::pow(0.9, 10.0);
        assert!((got - exact).abs() < 1e-6, "{got} {exact}");
        // Twice 7/8: 1 - k^n (1 + n (1 - k)).
        let got = linux.estimate.unwrap().pps;
        let exact = 2000.0 - 1000.0 * libm::pow(0.875, 10.0) * (1.0 + 10.0 * 0.125);
        assert!((got - exact).abs() < 1e-6, "{got} {exact}");
    }

    #[test]
    fn before_the_first_sample_it_is_reno() {
        let mut westwood = Westwood::new(&options(Profile::Linux61), Time::ZERO);
        assert_eq!(threshold(&mut westwood, 60), 30);
    }

    #[test]
    fn a_round_trip_is_a_sample_not_an_acknowledgement() {
        let mut westwood = after(Profile::Rfc, 1);
        let before = westwood.estimate;
        let mut window = window(1000, 1448);
        // Two acknowledgements at once: the rate between them would be without bound.
        for delivered_pkts in [991, 1001] {
            let event = Ack {
                delivered_pkts,
                ..ack(ms(991), 10, ms(100))
            };
            westwood.on_ack(&mut window, &event);
        }
        assert_eq!(westwood.estimate, before);
    }
}
