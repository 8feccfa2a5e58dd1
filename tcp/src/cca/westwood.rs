//! TCP Westwood+ (Mascolo, Casetti, Gerla, Sanadidi, Wang, "TCP Westwood: bandwidth estimation for enhanced
//! transport over wireless links", MobiCom 2001; the estimate of Grieco and Mascolo, ACM CCR 34(2), 2004):
//! after a loss the window is set to the estimated bandwidth times the minimum round-trip time.
//!
//! | clause | here |
//! | --- | --- |
//! | 2004, section 2: a bandwidth sample per round trip, the data acknowledged over its duration | yes; `linux-6.1`: not shorter than 50 ms, in integers (`westwood/linux.rs`) |
//! | 2004, equation of the filter | `rfc`: 0.9 of the estimate, 0.1 of the sample; `linux-6.1`: 7/8 and 1/8, twice |
//! | the first sample | the estimate (left open); before it `rfc` is Reno, `linux-6.1` leaves 2 packets |
//! | 2001, section 3.1: after three duplicates, ssthresh = BWE RTTmin / segment, at least 2 | `rfc`: yes, and the window there by proportional rate reduction; `linux-6.1`: half during recovery, this when it is over |
//! | 2001, section 3.2: after a timeout the same threshold, window 1 | yes |
//! | growth | Reno's |
//! | RTTmin | `rfc`: the sender's minimum of the last five minutes; `linux-6.1`: minimum since the last timeout |

mod linux;

use super::reno::Reno;
use super::{Ack, AckArrival, Controller, Options, PktsAcked, Snapshot, Window};
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Profile;
use linux::LinuxState;

/// The threshold never falls below this.
const LEAST_SSTHRESH_PKTS: u32 = 2;
/// Weight of the old value in the low-pass filter.
const KEPT: f64 = 0.9;

/// Start of the current sample.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Start {
    at: Time,
    delivered_pkts: u64,
}

/// TCP Westwood+.
#[derive(Debug, Clone, PartialEq)]
pub struct Westwood {
    reno: Reno,
    /// State of the Linux variant; None in the profile `rfc`.
    linux: Option<LinuxState>,
    start: Option<Start>,
    /// Estimated delivery rate, packets per second.
    estimate_pps: Option<f64>,
}

impl Westwood {
    fn enter(&mut self, sample_pps: f64) {
        self.estimate_pps = Some(match self.estimate_pps {
            None => sample_pps,
            Some(before_pps) => KEPT * before_pps + (1.0 - KEPT) * sample_pps,
        });
    }

    /// Estimated bandwidth times minimum round-trip time, packets; None without an estimate.
    fn carried_pkts(&self, window: &Window, snapshot: &Snapshot) -> Option<u32> {
        let carried_pkts = match &self.linux {
            Some(measured) => measured.carried_pkts(window.mss_bytes),
            None => (self.estimate_pps? * snapshot.min_rtt?.as_seconds()) as u32,
        };
        Some(carried_pkts.max(LEAST_SSTHRESH_PKTS))
    }

    /// A round trip has ended: its delivered packets form a sample.
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
        if took > rtt {
            let delivered_pkts = ack.delivered_pkts.saturating_sub(start.delivered_pkts);
            self.enter(delivered_pkts as f64 / took.as_seconds());
            self.start = Some(here);
        }
    }
}

impl Controller for Westwood {
    const NEEDS_EVERY_ACK: bool = true;

    fn new(options: &Options, now: Time) -> Westwood {
        let is_linux = options.profile == Profile::Linux61;
        Westwood {
            reno: Reno::new(options, now),
            linux: is_linux.then(|| LinuxState::new(options.timer_hz, now)),
            start: None,
            estimate_pps: None,
        }
    }

    fn init(&mut self, _window: &mut Window, snapshot: &Snapshot) {
        if let Some(measured) = &mut self.linux {
            measured.begin(snapshot.now);
        }
    }

    fn on_arrival(&mut self, window: &mut Window, arrival: &AckArrival) {
        if let Some(measured) = &mut self.linux {
            measured.on_arrival(window.mss_bytes, arrival);
        }
    }

    fn on_pkts_acked(&mut self, _window: &mut Window, cleaned: &PktsAcked) {
        if let (Some(measured), Some(rtt)) = (&mut self.linux, cleaned.rtt) {
            measured.note_rtt(rtt);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if self.linux.is_none() {
            self.measure(ack);
        }
        self.reno.on_ack(window, ack);
    }

    fn on_loss(&mut self, window: &mut Window, snapshot: &Snapshot) {
        let is_linux = self.linux.is_some();
        match self.carried_pkts(window, snapshot).filter(|_| !is_linux) {
            // A loss does not increase the window: the estimate may be of a faster path.
            Some(carried_pkts) => {
                let reached_pkts = carried_pkts.min(window.cwnd_pkts);
                window.ssthresh_pkts = reached_pkts.max(LEAST_SSTHRESH_PKTS);
            }
            None => self.reno.on_loss(window, snapshot),
        }
    }

    fn on_rto(&mut self, window: &mut Window, snapshot: &Snapshot) {
        match self.carried_pkts(window, snapshot) {
            Some(carried_pkts) => window.ssthresh_pkts = carried_pkts,
            None => self.reno.on_loss(window, snapshot),
        }
        if let Some(measured) = &mut self.linux {
            measured.forget_least_rtt();
        }
    }

    fn on_exit_recovery(&mut self, window: &mut Window, snapshot: &Snapshot) {
        let is_linux = self.linux.is_some();
        if let Some(carried_pkts) = self.carried_pkts(window, snapshot).filter(|_| is_linux) {
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
        let mut window = window(1000, 1448);
        for step in 0..seconds * 100 {
            let now = ms(10 * step);
            let cleaned = PktsAcked {
                now,
                pkts: 10,
                rtt: Some(ms(100)),
                state: crate::cca::CaState::Open,
            };
            westwood.on_pkts_acked(&mut window, &cleaned);
            let arrival = AckArrival {
                now,
                una_bytes: 1 + 14_480 * step,
                is_predicted: true,
            };
            westwood.on_arrival(&mut window, &arrival);
            let event = Ack {
                delivered_pkts: 10 * step,
                ..ack(now, 10, ms(100))
            };
            westwood.on_ack(&mut window, &event);
        }
        westwood
    }

    fn seen() -> Snapshot {
        Snapshot {
            min_rtt: Some(ms(100)),
            flight_size_pkts: 1000,
            ..snapshot(Time::ZERO)
        }
    }

    fn threshold(westwood: &mut Westwood, cwnd_pkts: u32) -> u32 {
        let mut window = window(cwnd_pkts, 1448);
        westwood.on_loss(&mut window, &seen());
        westwood.on_exit_recovery(&mut window, &seen());
        window.ssthresh_pkts
    }

    #[test]
    fn the_threshold_is_what_the_path_carries_in_its_least_round_trip() {
        for profile in [Profile::Rfc, Profile::Linux61] {
            // 1000 packets a second, 0.1 s.
            let reached = threshold(&mut after(profile, 3), 250);
            assert!((97..=100).contains(&reached), "{profile:?} {reached}");
        }
        // The paper makes no window larger; Linux has halved it before.
        assert_eq!(threshold(&mut after(Profile::Rfc, 3), 60), 60);
        let reached = threshold(&mut after(Profile::Linux61, 3), 60);
        assert!((97..=100).contains(&reached), "{reached}");
    }

    #[test]
    fn linux_halves_during_recovery_and_not_after_a_timeout() {
        let mut window = window(250, 1448);
        after(Profile::Linux61, 3).on_loss(&mut window, &seen());
        assert_eq!(window.ssthresh_pkts, 125);
        after(Profile::Linux61, 3).on_rto(&mut window, &seen());
        assert!((97..=100).contains(&window.ssthresh_pkts));
    }

    #[test]
    fn the_estimate_follows_the_filters_response_to_a_step() {
        // From 1000 to 2000 packets a second: after n samples 1 - 0.9^n of the step is done.
        let mut westwood = Westwood::new(&options(Profile::Rfc), Time::ZERO);
        westwood.enter(1000.0);
        for _ in 0..10 {
            westwood.enter(2000.0);
        }
        let got = westwood.estimate_pps.unwrap();
        let exact = 2000.0 - 1000.0 * libm::pow(0.9, 10.0);
        assert!((got - exact).abs() < 1e-6, "{got} {exact}");
    }

    #[test]
    fn before_the_first_sample_the_paper_is_reno_and_linux_leaves_two() {
        for (profile, left) in [(Profile::Rfc, 30), (Profile::Linux61, 2)] {
            let mut westwood = Westwood::new(&options(profile), Time::ZERO);
            assert_eq!(threshold(&mut westwood, 60), left);
        }
    }

    #[test]
    fn a_round_trip_is_a_sample_not_an_acknowledgement() {
        let mut westwood = after(Profile::Rfc, 1);
        let before = westwood.estimate_pps;
        let mut window = window(1000, 1448);
        // Two acknowledgements at once: the rate between them would be without bound.
        for delivered_pkts in [991, 1001] {
            let event = Ack {
                delivered_pkts,
                ..ack(ms(991), 10, ms(100))
            };
            westwood.on_ack(&mut window, &event);
        }
        assert_eq!(westwood.estimate_pps, before);
    }
}
