//! TCP Vegas (Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance on a global
//! Internet", IEEE JSAC 13(8), 1995): as many packets in the queue as alpha to beta.
//!
//! | clause | here |
//! | --- | --- |
//! | section 3.2, BaseRTT | the least of the connection |
//! | section 3.2, Diff = window/BaseRTT - window/RTT, once a round trip | in packets: times BaseRTT; `linux-6.1`: times RTT, rounded down |
//! | section 3.2, RTT | `rfc`: of the packet that ended the round trip; `linux-6.1`: the least of the round trip |
//! | section 3.2, alpha and beta | `rfc`: 1 and 3 packets; `linux-6.1`: 2 and 4 |
//! | section 3.3, slow start grows every other round trip | `rfc`: yes; `linux-6.1`: every one |
//! | section 3.3, gamma: 1 packet ends slow start | yes; `linux-6.1`: with a window of what the path carries and one packet |
//! | section 3.1, retransmission | the sender's: RACK, SACK |
//! | section 3.1, window after a loss | Reno's |
//! | fewer than three round-trip times measured | `linux-6.1`: Reno for this round trip |

use super::reno::Reno;
use super::round_trips::{RoundTrip, RoundTrips};
use super::{Ack, Controller, Options, Snapshot, Window};
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Profile;

/// The window never falls below this by less than a loss.
const LEAST_WINDOW_PKTS: u32 = 2;
/// With as few round-trip times as this, Linux does as Reno.
const LINUX_TOO_FEW: u64 = 2;

/// Packets in the queue.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Thresholds {
    /// Below this the window grows.
    alpha_pkts: f64,
    /// Above this it shrinks.
    beta_pkts: f64,
    /// Above this slow start ends.
    gamma_pkts: f64,
}

/// TCP Vegas.
#[derive(Debug, Clone, PartialEq)]
pub struct Vegas {
    profile: Profile,
    reno: Reno,
    thresholds: Thresholds,
    base_rtt: Option<Time>,
    round_trips: RoundTrips,
    /// Whether slow start grows in this round trip.
    grows: bool,
}

impl Vegas {
    /// Diff: packets of the window that wait in the queue.
    fn queued_pkts(&self, cwnd_pkts: u32, base_rtt: Time, rtt: Time) -> f64 {
        let waiting = rtt.saturating_sub(base_rtt).as_seconds();
        let cwnd_pkts = f64::from(cwnd_pkts);
        match self.profile {
            Profile::Linux61 => (cwnd_pkts * waiting / base_rtt.as_seconds()).floor(),
            Profile::Rfc => cwnd_pkts * waiting / rtt.as_seconds(),
        }
    }

    fn end_round_trip(&mut self, window: &mut Window, over: &RoundTrip, ack: &Ack) {
        let is_linux = self.profile == Profile::Linux61;
        if is_linux && over.count <= LINUX_TOO_FEW {
            self.reno.on_ack(window, ack);
            return;
        }
        let Some(base_rtt) = self.base_rtt.filter(|least| least.0 > 0) else {
            return;
        };
        let rtt = if is_linux { over.least } else { over.last };
        let queued_pkts = self.queued_pkts(window.cwnd_pkts, base_rtt, rtt);
        if window.is_in_slow_start() {
            // What has just grown says nothing: its acknowledgements are still to come.
            let is_comparable = is_linux || !self.grows;
            self.grows = is_linux || !self.grows;
            if is_comparable && queued_pkts > self.thresholds.gamma_pkts {
                self.end_slow_start(window, base_rtt, rtt);
            } else if self.grows {
                self.reno.on_ack(window, ack);
            }
        } else if queued_pkts > self.thresholds.beta_pkts {
            let lower_pkts = window.cwnd_pkts.saturating_sub(1).max(LEAST_WINDOW_PKTS);
            window.set_cwnd(lower_pkts);
            // Or it would be in slow start.
            let below_pkts = (lower_pkts - 1).max(LEAST_WINDOW_PKTS);
            window.ssthresh_pkts = window.ssthresh_pkts.min(below_pkts);
        } else if queued_pkts < self.thresholds.alpha_pkts && ack.is_cwnd_limited {
            window.set_cwnd(window.cwnd_pkts.saturating_add(1));
        }
    }

    fn end_slow_start(&mut self, window: &mut Window, base_rtt: Time, rtt: Time) {
        if self.profile == Profile::Linux61 {
            let share = base_rtt.as_seconds() / rtt.as_seconds();
            let carried_pkts = (f64::from(window.cwnd_pkts) * share) as u32;
            window.set_cwnd(window.cwnd_pkts.min(carried_pkts + 1));
        }
        let below_pkts = window.cwnd_pkts.saturating_sub(1);
        window.ssthresh_pkts = below_pkts.max(LEAST_WINDOW_PKTS);
    }
}

impl Controller for Vegas {
    fn new(options: &Options, now: Time) -> Vegas {
        let (alpha_pkts, beta_pkts) = match options.profile {
            Profile::Linux61 => (2.0, 4.0),
            Profile::Rfc => (1.0, 3.0),
        };
        Vegas {
            profile: options.profile,
            reno: Reno::new(options, now),
            thresholds: Thresholds {
                alpha_pkts,
                beta_pkts,
                gamma_pkts: 1.0,
            },
            base_rtt: None,
            round_trips: RoundTrips::default(),
            grows: true,
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.base_rtt = Some(self.base_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        if let Some(over) = self.round_trips.enter(ack) {
            self.end_round_trip(window, &over, ack);
        } else if window.is_in_slow_start() && self.grows {
            self.reno.on_ack(window, ack);
        }
    }

    fn on_loss(&mut self, window: &mut Window, snapshot: &Snapshot) {
        self.reno.on_loss(window, snapshot);
    }

    /// What was measured before is of another window.
    fn on_exit_recovery(&mut self, _window: &mut Window, _snapshot: &Snapshot) {
        self.round_trips = RoundTrips::default();
    }

    /// A round trip with idle time in it is none.
    fn on_transmit_start(
        &mut self,
        _window: &mut Window,
        _last_sent: Option<Time>,
        _snapshot: &Snapshot,
    ) {
        self.round_trips = RoundTrips::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cca::testing::{self, fresh_window, ms, options, snapshot, window};

    /// A round trip of acknowledgements that each measure the same.
    fn round(vegas: &mut Vegas, window: &mut Window, una_pkts: &mut u64, rtt: Time) {
        let end_pkts = *una_pkts + u64::from(window.cwnd_pkts);
        while *una_pkts < end_pkts {
            *una_pkts += 1;
            let ack = Ack {
                una_pkts: *una_pkts,
                next_pkts: *una_pkts + u64::from(window.cwnd_pkts),
                ..testing::ack(ms(1), 1, rtt)
            };
            vegas.on_ack(window, &ack);
        }
    }

    fn begun(profile: Profile) -> Vegas {
        let mut vegas = Vegas::new(&options(profile), Time::ZERO);
        vegas.base_rtt = Some(ms(100));
        vegas
    }

    #[test]
    fn diff_is_the_papers() {
        // 50 packets, 100 ms without a queue, 125 ms now: 500/s expected, 400/s seen, and the
        // difference in 100 ms is 10 packets. Linux multiplies by 125 ms.
        for (profile, queued_pkts) in [(Profile::Rfc, 10.0), (Profile::Linux61, 12.0)] {
            let got = begun(profile).queued_pkts(50, ms(100), ms(125));
            assert!((got - queued_pkts).abs() < 1e-9, "{got}");
        }
    }

    #[test]
    fn between_alpha_and_beta_the_window_stays() {
        // With 50 packets and 100 ms each packet in the queue is 2 ms (and a little).
        for (profile, rtt_ms, change) in [
            (Profile::Rfc, 101, 1),
            (Profile::Rfc, 103, 0),
            (Profile::Rfc, 106, 0),
            (Profile::Rfc, 107, -1),
            (Profile::Linux61, 103, 1),
            (Profile::Linux61, 104, 0),
            // 4.5 packets are 4.
            (Profile::Linux61, 109, 0),
            (Profile::Linux61, 110, -1),
        ] {
            let mut vegas = begun(profile);
            let (mut window, mut una_pkts) = (window(50, 1448), 0);
            for _ in 0..2 {
                round(&mut vegas, &mut window, &mut una_pkts, ms(rtt_ms));
            }
            let got = window.cwnd_pkts as i32 - 50;
            assert_eq!(got, change, "{profile:?} {rtt_ms}");
            assert!(!window.is_in_slow_start());
        }
    }

    #[test]
    fn the_paper_doubles_every_other_round_trip_and_linux_every_one() {
        for (profile, grown) in [(Profile::Rfc, 40), (Profile::Linux61, 160)] {
            let mut vegas = begun(profile);
            let (mut window, mut una_pkts) = (fresh_window(10), 0);
            for _ in 0..4 {
                round(&mut vegas, &mut window, &mut una_pkts, ms(100));
            }
            assert!(
                window.cwnd_pkts.abs_diff(grown) <= 2,
                "{profile:?} {}",
                window.cwnd_pkts
            );
        }
    }

    #[test]
    fn a_packet_in_the_queue_ends_slow_start() {
        for profile in [Profile::Rfc, Profile::Linux61] {
            let mut vegas = begun(profile);
            let (mut window, mut una_pkts) = (fresh_window(20), 0);
            for _ in 0..6 {
                round(&mut vegas, &mut window, &mut una_pkts, ms(112));
                if window.ssthresh_pkts < 1000 {
                    break;
                }
            }
            assert!(window.ssthresh_pkts < window.cwnd_pkts, "{profile:?}");
            assert!(window.cwnd_pkts <= 82, "{profile:?} {}", window.cwnd_pkts);
        }
    }

    #[test]
    fn linux_takes_what_the_path_carries_and_one_more() {
        let mut vegas = begun(Profile::Linux61);
        let mut window = fresh_window(60);
        // 60 packets in 150 ms: 40 of them in 100 ms.
        vegas.end_slow_start(&mut window, ms(100), ms(150));
        assert_eq!((window.cwnd_pkts, window.ssthresh_pkts), (41, 40));
    }

    #[test]
    fn a_loss_halves_the_window() {
        let mut window = window(40, 1448);
        begun(Profile::Linux61).on_loss(&mut window, &snapshot(Time::ZERO));
        assert_eq!(window.ssthresh_pkts, 20);
    }
}
