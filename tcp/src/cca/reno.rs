//! Reno, and the window of NewReno (RFC 5681, RFC 6582).
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 5681 section 3.1, slow start | `linux-6.1`: one packet more for each delivered (RFC 3465 without its limit L); `rfc`: one for each acknowledgement |
//! | RFC 5681 section 3.1, congestion avoidance | `linux-6.1`: one packet more for each window delivered; `rfc`: for each window of acknowledgements, so delayed acknowledgements slow it down |
//! | RFC 5681 section 3.1 (4), threshold | `linux-6.1`: half the window (`tcp_reno_ssthresh`); `rfc`: half of FlightSize |
//! | RFC 5681 section 3.2, RFC 6582, recovery | the sender's: retransmission, proportional rate reduction |
//! | RFC 7661, window validation | grows only while limited by cwnd |
//!
//! It has no parameters.

use super::{Ack, Controller, Options, Snapshot, Window};
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Profile;

/// The threshold never falls below this (RFC 5681 equation 4).
const LEAST_SSTHRESH_PKTS: u32 = 2;

/// The state of Reno, all of which is in the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reno {
    profile: Profile,
}

impl Reno {
    /// The amount that an acknowledgement counts for fractional growth.
    #[inline]
    pub(super) fn counted_pkts(&self, ack: &Ack) -> u32 {
        match self.profile {
            Profile::Linux61 => ack.newly_delivered_pkts,
            Profile::Rfc => 1,
        }
    }
}

impl Controller for Reno {
    const REACTS_TO_LOSSES: bool = true;
    const IS_COMPARED_WITH_LINUX: bool = true;

    fn new(options: &Options, _now: Time) -> Reno {
        Reno {
            profile: options.profile,
        }
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.is_cwnd_limited {
            return;
        }
        let mut acked_pkts = self.counted_pkts(ack);
        if window.is_in_slow_start() {
            acked_pkts = window.slow_start(acked_pkts);
            if acked_pkts == 0 {
                return;
            }
        }
        window.grow_by_one_per(window.cwnd_pkts, acked_pkts);
    }

    fn on_loss(&mut self, window: &mut Window, snapshot: &Snapshot) {
        // RFC 5681 section 3.1: "FlightSize", with a warning that cwnd is not the same.
        let level = match self.profile {
            Profile::Linux61 => window.cwnd_pkts,
            Profile::Rfc => snapshot.flight_size_pkts.min(window.cwnd_pkts),
        };
        window.ssthresh_pkts = (level / 2).max(LEAST_SSTHRESH_PKTS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cca::testing::{self, ms, options};

    /// An acknowledgement of `acked_pkts` packets.
    fn ack(acked_pkts: u32) -> Ack {
        testing::ack(Time::ZERO, acked_pkts, ms(100))
    }

    /// `in_flight_pkts` packets in flight.
    fn snapshot(in_flight_pkts: u32) -> Snapshot {
        Snapshot {
            in_flight_pkts,
            flight_size_pkts: in_flight_pkts,
            ..testing::snapshot(Time::ZERO)
        }
    }

    #[test]
    fn slow_start_doubles_and_hands_over_what_is_left() {
        let mut reno = Reno::new(&options(Profile::Linux61), Time::ZERO);
        let mut window = Window::new(10, 1448);
        reno.on_ack(&mut window, &ack(10));
        assert_eq!(window.cwnd_pkts, 20);
        window.ssthresh_pkts = 25;
        // Five to the threshold; 25 are left, which is one window.
        reno.on_ack(&mut window, &ack(30));
        assert_eq!((window.cwnd_pkts, window.acked_since_growth_pkts), (26, 0));
    }

    #[test]
    fn avoidance_adds_one_for_each_window() {
        let mut reno = Reno::new(&options(Profile::Linux61), Time::ZERO);
        let mut window = Window::new(10, 1448);
        window.ssthresh_pkts = 10;
        for cwnd_pkts in 10..20 {
            for _ in 0..cwnd_pkts {
                assert_eq!(window.cwnd_pkts, cwnd_pkts);
                reno.on_ack(&mut window, &ack(1));
            }
        }
        assert_eq!(window.cwnd_pkts, 20);
    }

    #[test]
    fn the_rfc_counts_acknowledgements() {
        let mut reno = Reno::new(&options(Profile::Rfc), Time::ZERO);
        let mut window = Window::new(10, 1448);
        reno.on_ack(&mut window, &ack(2));
        assert_eq!(window.cwnd_pkts, 11);
        window.ssthresh_pkts = 10;
        for _ in 0..11 {
            reno.on_ack(&mut window, &ack(2));
        }
        assert_eq!(window.cwnd_pkts, 12);
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut reno = Reno::new(&options(Profile::Linux61), Time::ZERO);
        let mut window = Window::new(10, 1448);
        let unused = Ack {
            is_cwnd_limited: false,
            ..ack(10)
        };
        reno.on_ack(&mut window, &unused);
        assert_eq!(window.cwnd_pkts, 10);
    }

    #[test]
    fn a_loss_halves_the_window_or_the_flight_size() {
        for (profile, expected) in [(Profile::Linux61, 20), (Profile::Rfc, 15)] {
            let mut reno = Reno::new(&options(profile), Time::ZERO);
            let mut window = Window::new(40, 1448);
            reno.on_loss(&mut window, &snapshot(30));
            assert_eq!(window.ssthresh_pkts, expected);
        }
        let mut reno = Reno::new(&options(Profile::Linux61), Time::ZERO);
        let mut window = Window::new(1, 1448);
        reno.on_rto(&mut window, &snapshot(1));
        assert_eq!(window.ssthresh_pkts, 2);
    }

    #[test]
    fn undoing_brings_the_window_back() {
        let mut reno = Reno::new(&options(Profile::Linux61), Time::ZERO);
        let mut window = Window::new(5, 1448);
        window.prior_cwnd_pkts = 12;
        reno.on_undo(&mut window);
        assert_eq!(window.cwnd_pkts, 12);
    }
}
