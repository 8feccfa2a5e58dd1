//! TCP Vegas (Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet", IEEE
//! JSAC 13(8), 1995): keeps between alpha and beta packets in the queue.
//!
//! | clause | here |
//! | --- | --- |
//! | section 3.2, BaseRTT | the minimum of the connection |
//! | section 3.2, Diff = window/BaseRTT - window/RTT, once per round trip | in packets: times BaseRTT; `linux-6.1`: times RTT, rounded down |
//! | section 3.2, RTT | `rfc`: of the packet that ended the round trip; `linux-6.1`: the minimum of the round trip |
//! | section 3.2, alpha and beta | `rfc`: 1 and 3 packets; `linux-6.1`: 2 and 4 |
//! | section 3.3, slow start grows every other round trip | `rfc`: yes; `linux-6.1`: every one |
//! | section 3.3, gamma: 1 packet ends slow start | yes; `linux-6.1`: with a window of the path's capacity plus one packet |
//! | section 3.1, retransmission | the sender's: RACK, SACK |
//! | section 3.1, window after a loss | Reno's |
//! | fewer than three round-trip times measured | `linux-6.1`: Reno for this round trip |
//! | while anything is considered lost or out of order | `linux-6.1`: Reno |
//! | after idle, and when a timeout leaves nothing in flight | `linux-6.1`: BaseRTT is measured anew |
//! | round-trip times | `linux-6.1`: in microseconds plus one, from all acknowledgements, also in recovery |
//! | increase while application-limited | `rfc`: none; `linux-6.1`: as usual |

use super::reno::Reno;
use super::round_trips::{RoundTrip, RoundTrips};
use super::{Ack, CaState, Controller, Options, RttSample, Snapshot, Window};
use crate::rtt::as_us;
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Profile;

/// Lower bound of the window, except after a loss.
const LEAST_WINDOW_PKTS: u32 = 2;
/// With at most this number of round-trip times, Linux behaves as Reno.
const LINUX_TOO_FEW: u64 = 2;

/// Thresholds in packets queued.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Thresholds {
    /// Below this the window grows.
    alpha_pkts: f64,
    /// Above this it shrinks.
    beta_pkts: f64,
    /// Above this slow start ends.
    gamma_pkts: f64,
}

/// Measurements of the Linux variant.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LinuxTimes {
    /// Whether Vegas controls the window; otherwise Reno does.
    is_on: bool,
    /// BaseRTT, microseconds.
    base_us: u64,
    /// The minimum of the current round trip, microseconds.
    least_us: u64,
    count: u64,
    /// The round trip ends when more than this is acknowledged.
    end_pkts: u64,
}

impl LinuxTimes {
    /// A reset without BaseRTT; the next packet starts a round trip.
    fn anew(next_pkts: u64) -> LinuxTimes {
        LinuxTimes {
            is_on: true,
            base_us: u64::MAX,
            least_us: u64::MAX,
            count: 0,
            end_pkts: next_pkts,
        }
    }

    /// A reset that keeps the BaseRTT.
    fn again(self, next_pkts: u64) -> LinuxTimes {
        LinuxTimes {
            base_us: self.base_us,
            ..LinuxTimes::anew(next_pkts)
        }
    }
}

/// TCP Vegas.
#[derive(Debug, Clone, PartialEq)]
pub struct Vegas {
    linux: LinuxTimes,
    profile: Profile,
    reno: Reno,
    thresholds: Thresholds,
    base_rtt: Option<Time>,
    round_trips: RoundTrips,
    /// Whether slow start grows in this round trip.
    grows: bool,
}

impl Vegas {
    /// Diff: packets of the window in the queue.
    fn queued_pkts(cwnd_pkts: u32, base_rtt: Time, rtt: Time) -> f64 {
        let waiting = rtt.saturating_sub(base_rtt).as_seconds();
        f64::from(cwnd_pkts) * waiting / rtt.as_seconds()
    }

    fn end_round_trip(&mut self, window: &mut Window, over: &RoundTrip, ack: &Ack) {
        let Some(base_rtt) = self.base_rtt.filter(|least| least.0 > 0) else {
            return;
        };
        let queued_pkts = Vegas::queued_pkts(window.cwnd_pkts, base_rtt, over.last);
        if window.is_in_slow_start() {
            // Just after growth there is no information: its acknowledgements are still to come.
            let is_comparable = !self.grows;
            self.grows = !self.grows;
            if is_comparable && queued_pkts > self.thresholds.gamma_pkts {
                let below_pkts = window.cwnd_pkts.saturating_sub(1);
                window.ssthresh_pkts = below_pkts.max(LEAST_WINDOW_PKTS);
            } else if self.grows {
                self.reno.on_ack(window, ack);
            }
        } else if queued_pkts > self.thresholds.beta_pkts {
            let lower_pkts = window.cwnd_pkts.saturating_sub(1).max(LEAST_WINDOW_PKTS);
            window.set_cwnd(lower_pkts);
            // Otherwise it would be in slow start.
            let below_pkts = (lower_pkts - 1).max(LEAST_WINDOW_PKTS);
            window.ssthresh_pkts = window.ssthresh_pkts.min(below_pkts);
        } else if queued_pkts < self.thresholds.alpha_pkts && ack.is_cwnd_limited {
            window.set_cwnd(window.cwnd_pkts.saturating_add(1));
        }
    }

    fn on_ack_as_linux(&mut self, window: &mut Window, ack: &Ack) {
        if !self.linux.is_on {
            self.reno.on_ack(window, ack);
        } else if ack.una_pkts > self.linux.end_pkts {
            if self.linux.count <= LINUX_TOO_FEW {
                self.reno.on_ack(window, ack);
            } else {
                self.adapt_as_linux(window, ack);
            }
            self.linux = self.linux.again(ack.next_pkts);
        } else if window.is_in_slow_start() {
            window.slow_start(ack.newly_delivered_pkts);
        }
    }

    /// `end_round_trip` in whole packets.
    fn adapt_as_linux(&mut self, window: &mut Window, ack: &Ack) {
        let LinuxTimes {
            base_us, least_us, ..
        } = self.linux;
        let cwnd_pkts = u64::from(window.cwnd_pkts);
        // Of Diff times RTT, not BaseRTT.
        let queued_pkts = (cwnd_pkts.saturating_mul(least_us - base_us) / base_us) as f64;
        if window.is_in_slow_start() {
            if queued_pkts > self.thresholds.gamma_pkts {
                let carried_pkts = (cwnd_pkts.saturating_mul(base_us) / least_us) as u32;
                window.set_cwnd(window.cwnd_pkts.min(carried_pkts.saturating_add(1)));
                window.ssthresh_pkts = window.ssthresh_pkts.min(window.cwnd_pkts);
            } else {
                window.slow_start(ack.newly_delivered_pkts);
            }
        } else if queued_pkts > self.thresholds.beta_pkts {
            window.set_cwnd(window.cwnd_pkts.saturating_sub(1));
            window.ssthresh_pkts = window.ssthresh_pkts.min(window.cwnd_pkts);
        } else if queued_pkts < self.thresholds.alpha_pkts {
            window.set_cwnd(window.cwnd_pkts.saturating_add(1));
        }
        window.set_cwnd(window.cwnd_pkts.max(LEAST_WINDOW_PKTS));
        // Three quarters of the window (`tcp_current_ssthresh`).
        let good_pkts = (window.cwnd_pkts >> 1) + (window.cwnd_pkts >> 2);
        window.ssthresh_pkts = window.ssthresh_pkts.max(good_pkts);
    }

    fn is_linux(&self) -> bool {
        self.profile == Profile::Linux61
    }
}

impl Controller for Vegas {
    fn new(options: &Options, now: Time) -> Vegas {
        let (alpha_pkts, beta_pkts) = match options.profile {
            Profile::Linux61 => (2.0, 4.0),
            Profile::Rfc => (1.0, 3.0),
        };
        Vegas {
            linux: LinuxTimes::anew(0),
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

    /// The handshake's measurement does not count.
    fn init(&mut self, _window: &mut Window, snapshot: &Snapshot) {
        self.linux = LinuxTimes::anew(snapshot.next_pkts);
    }

    fn on_rtt(&mut self, _window: &mut Window, sample: &RttSample) {
        // Never 0.
        let rtt_us = as_us(sample.rtt) + 1;
        let linux = &mut self.linux;
        linux.base_us = linux.base_us.min(rtt_us);
        linux.least_us = linux.least_us.min(rtt_us);
        linux.count += 1;
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if self.is_linux() {
            return self.on_ack_as_linux(window, ack);
        }
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

    fn on_state(&mut self, _window: &mut Window, state: CaState, snapshot: &Snapshot) {
        // A retransmission with nothing in flight starts anew, as after idle.
        let begins_anew = state == CaState::Loss && snapshot.in_flight_pkts == 0;
        match state {
            CaState::Open => self.linux = self.linux.again(snapshot.next_pkts),
            _ if begins_anew => self.linux = LinuxTimes::anew(snapshot.next_pkts),
            _ => self.linux.is_on = false,
        }
    }

    /// Earlier measurements belong to another window.
    fn on_exit_recovery(&mut self, _window: &mut Window, _snapshot: &Snapshot) {
        self.round_trips = RoundTrips::default();
    }

    /// A round trip that contains idle time is discarded.
    fn on_transmit_start(
        &mut self,
        _window: &mut Window,
        _last_sent: Option<Time>,
        snapshot: &Snapshot,
    ) {
        self.round_trips = RoundTrips::default();
        self.linux = LinuxTimes::anew(snapshot.next_pkts);
    }

    fn on_idle_restart(&mut self, _window: &mut Window, snapshot: &Snapshot) {
        self.linux = LinuxTimes::anew(snapshot.next_pkts);
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
            let sample = RttSample {
                now: ack.now,
                rtt,
                una_pkts: ack.una_pkts,
                next_pkts: ack.next_pkts,
                is_echo: false,
            };
            vegas.on_rtt(window, &sample);
            vegas.on_ack(window, &ack);
        }
    }

    fn begun(profile: Profile) -> Vegas {
        let mut vegas = Vegas::new(&options(profile), Time::ZERO);
        vegas.base_rtt = Some(ms(100));
        vegas.linux.base_us = 100_001;
        vegas
    }

    /// A round trip with this least round-trip time is over.
    fn over(vegas: &mut Vegas, window: &mut Window, least: Time) {
        (vegas.linux.least_us, vegas.linux.count) = (as_us(least) + 1, 3);
        let ack = Ack {
            una_pkts: vegas.linux.end_pkts + 1,
            next_pkts: 1000,
            ..testing::ack(ms(1), 1, least)
        };
        vegas.on_ack(window, &ack);
    }

    #[test]
    fn diff_is_the_papers() {
        // 50 packets, 100 ms without a queue, 125 ms now: 500/s expected, 400/s seen, and the
        // difference in 100 ms is 10 packets.
        let got = Vegas::queued_pkts(50, ms(100), ms(125));
        assert!((got - 10.0).abs() < 1e-9, "{got}");
    }

    #[test]
    fn between_alpha_and_beta_the_window_stays() {
        // With 50 packets and 100 ms each packet in the queue is 2 ms (and a little).
        for (profile, rtt_ms, change) in [
            (Profile::Rfc, 101, 1),
            (Profile::Rfc, 103, 0),
            (Profile::Rfc, 106, 0),
            (Profile::Rfc, 107, -1),
            // With the microsecond more, 4 ms are a little less than two packets.
            (Profile::Linux61, 104, 1),
            (Profile::Linux61, 105, 0),
            // 4.99 packets are 4.
            (Profile::Linux61, 110, 0),
            (Profile::Linux61, 111, -1),
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
            assert!(!window.is_in_slow_start(), "{profile:?}");
            assert!(window.cwnd_pkts <= 82, "{profile:?} {}", window.cwnd_pkts);
        }
    }

    #[test]
    fn linux_takes_what_the_path_carries_and_one_more() {
        let mut vegas = begun(Profile::Linux61);
        let mut window = fresh_window(60);
        // 60 packets in 150 ms: 40 of them in 100 ms.
        over(&mut vegas, &mut window, ms(150));
        assert_eq!((window.cwnd_pkts, window.ssthresh_pkts), (41, 41));
    }

    #[test]
    fn linux_is_reno_until_all_is_in_order_again() {
        let mut vegas = begun(Profile::Linux61);
        let mut window = window(50, 1448);
        let seen = Snapshot {
            in_flight_pkts: 3,
            next_pkts: 70,
            ..snapshot(Time::ZERO)
        };
        vegas.on_state(&mut window, CaState::Disorder, &seen);
        over(&mut vegas, &mut window, ms(101));
        assert_eq!(window.cwnd_pkts, 50);
        vegas.on_state(&mut window, CaState::Open, &seen);
        assert_eq!((vegas.linux.end_pkts, vegas.linux.base_us), (70, 100_001));
        over(&mut vegas, &mut window, ms(101));
        assert_eq!(window.cwnd_pkts, 51);
    }

    #[test]
    fn linux_measures_base_rtt_anew_after_a_pause_and_a_timeout() {
        let mut window = window(50, 1448);
        for in_flight_pkts in [0, 3] {
            let mut vegas = begun(Profile::Linux61);
            let seen = Snapshot {
                in_flight_pkts,
                ..snapshot(Time::ZERO)
            };
            vegas.on_state(&mut window, CaState::Loss, &seen);
            let is_anew = in_flight_pkts == 0;
            assert_eq!(vegas.linux.is_on, is_anew);
            assert_eq!(vegas.linux.base_us == u64::MAX, is_anew);
            vegas.on_transmit_start(&mut window, None, &seen);
            assert_eq!(vegas.linux.base_us, u64::MAX);
        }
    }

    #[test]
    fn a_loss_halves_the_window() {
        let mut window = window(40, 1448);
        begun(Profile::Linux61).on_loss(&mut window, &snapshot(Time::ZERO));
        assert_eq!(window.ssthresh_pkts, 20);
    }
}
