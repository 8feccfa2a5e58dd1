//! HighSpeed TCP (RFC 3649): Reno with increase and decrease parameters that depend on the window.
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 3649 section 5 (Modifying the TCP Response Function): Low_Window 38, High_Window 83000, High_P 10^-7 | yes |
//! | RFC 3649 section 7 (Translating the HighSpeed Response Function into Congestion Control): High_Decrease 0.1 | yes |
//! | RFC 3649 section 7 (Translating the HighSpeed Response Function into Congestion Control): p(w) = 0.078/w^1.2 | yes |
//! | RFC 3649 section 7 (Translating the HighSpeed Response Function into Congestion Control): a(w) and b(w) | `rfc`: real numbers from the formulas, a(w) at least 1; `linux-6.1`: appendix B's table, up to 89053 packets; b(w) in 256ths |
//! | RFC 3649 section 7 (Translating the HighSpeed Response Function into Congestion Control): w + a(w)/w for each acknowledgement | yes, in both profiles: Linux also counts acknowledgements here |
//! | RFC 3649 section 7 (Translating the HighSpeed Response Function into Congestion Control): (1 - b(w)) w at a loss | the decrease is rounded down; the result is at least 2 |
//! | RFC 3649 section 10.1 (Slow-Start): slow start | Reno's; without Limited Slow-Start (RFC 3742), as in Linux |

use super::reno::Reno;
use super::window::Growth;
use super::{Ack, Controller, Options, Snapshot, Window};
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Profile;

/// Up to this window it behaves as Reno, packets.
const LOW_WINDOW_PKTS: u32 = 38;
/// The window that is reached at a loss rate of 10^-7, packets.
const HIGH_WINDOW_PKTS: f64 = 83_000.0;
/// The loss rate at window w is `P_FACTOR` / w^`P_EXPONENT`, through (38, 10^-3) and (83000, 10^-7).
const P_FACTOR: f64 = 0.078;
const P_EXPONENT: f64 = 1.2;
/// Decrease at `HIGH_WINDOW_PKTS`, as a fraction of the window.
const HIGH_DECREASE: f64 = 0.1;
/// Decrease up to `LOW_WINDOW_PKTS`, as a fraction of the window.
const LOW_DECREASE: f64 = 0.5;
/// The threshold never falls below this (RFC 5681 equation 4).
const LEAST_SSTHRESH_PKTS: u32 = 2;

/// Appendix B: the last window of each row, packets; a(w) is the number of the row, from 1. Linux uses this
/// table, with its last row for all larger windows.
const ROWS_PKTS: [u32; 72] = [
    38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399, 3778,
    4177, 4596, 5036, 5497, 5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10661, 11358, 12082,
    12834, 13614, 14424, 15265, 16137, 17042, 17981, 18955, 19965, 21013, 22101, 23230, 24402,
    25618, 26881, 28193, 29557, 30975, 32450, 33986, 35586, 37253, 38992, 40808, 42707, 44694,
    46776, 48961, 51258, 53677, 56230, 58932, 61799, 64851, 68113, 71617, 75401, 79517, 84035,
    89053,
];

/// Increase and decrease parameters at a window.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Parameters {
    /// The range of windows for which they hold, packets.
    from_pkts: u32,
    to_pkts: u32,
    /// a(w): increase per window of acknowledgements, packets.
    increase_pkts: f64,
    /// b(w): decrease at a loss, as a fraction of the window.
    decrease: f64,
}

impl Parameters {
    /// Parameters of Reno.
    const LOW: Parameters = Parameters {
        from_pkts: 0,
        to_pkts: LOW_WINDOW_PKTS,
        increase_pkts: 1.0,
        decrease: LOW_DECREASE,
    };

    /// RFC 3649 section 7.
    fn at(cwnd_pkts: u32) -> Parameters {
        if cwnd_pkts <= LOW_WINDOW_PKTS {
            return Parameters::LOW;
        }
        let w = f64::from(cwnd_pkts);
        let share = share_of(cwnd_pkts);
        let p = P_FACTOR / libm::pow(w, P_EXPONENT);
        let decrease = LOW_DECREASE + share.min(1.0) * (HIGH_DECREASE - LOW_DECREASE);
        Parameters {
            from_pkts: cwnd_pkts,
            to_pkts: cwnd_pkts,
            increase_pkts: (w * w * p * 2.0 * decrease / (2.0 - decrease)).max(1.0),
            decrease,
        }
    }

    /// Appendix B as used by Linux: the values of a row hold up to its window.
    fn of_row(cwnd_pkts: u32) -> Parameters {
        let after = ROWS_PKTS.partition_point(|last_pkts| *last_pkts < cwnd_pkts);
        let place = after.min(ROWS_PKTS.len() - 1);
        let is_last = place + 1 == ROWS_PKTS.len();
        let last_pkts = ROWS_PKTS[place];
        let decrease = LOW_DECREASE + share_of(last_pkts) * (HIGH_DECREASE - LOW_DECREASE);
        Parameters {
            from_pkts: place
                .checked_sub(1)
                .map_or(0, |before| ROWS_PKTS[before] + 1),
            to_pkts: if is_last { u32::MAX } else { last_pkts },
            increase_pkts: (place + 1) as f64,
            decrease: in_256ths(decrease),
        }
    }
}

/// Position of a window between the low and the high one, on a logarithmic scale.
fn share_of(cwnd_pkts: u32) -> f64 {
    let (w, low) = (f64::from(cwnd_pkts), f64::from(LOW_WINDOW_PKTS));
    libm::log(w / low) / libm::log(HIGH_WINDOW_PKTS / low)
}

/// Linux's table has whole 256ths.
fn in_256ths(decrease: f64) -> f64 {
    (decrease * 256.0).floor() / 256.0
}

/// HighSpeed TCP.
#[derive(Debug, Clone, PartialEq)]
pub struct HighSpeed {
    profile: Profile,
    reno: Reno,
    growth: Growth,
    /// For the window at the last acknowledgement or loss.
    parameters: Parameters,
}

impl HighSpeed {
    fn look_up(&mut self, cwnd_pkts: u32) {
        let known = self.parameters.from_pkts..=self.parameters.to_pkts;
        if !known.contains(&cwnd_pkts) {
            self.parameters = match self.profile {
                Profile::Linux61 => Parameters::of_row(cwnd_pkts),
                Profile::Rfc => Parameters::at(cwnd_pkts),
            };
        }
    }

    /// In whole packets; a leftover from slow start is dropped.
    fn on_ack_as_linux(&mut self, window: &mut Window, ack: &Ack) {
        if !ack.is_cwnd_limited {
            return;
        }
        if window.is_in_slow_start() {
            window.slow_start(ack.newly_delivered_pkts);
            return;
        }
        self.look_up(window.cwnd_pkts);
        let increase_pkts = self.parameters.increase_pkts as u32;
        window.acked_since_growth_pkts =
            window.acked_since_growth_pkts.saturating_add(increase_pkts);
        if window.acked_since_growth_pkts >= window.cwnd_pkts {
            window.acked_since_growth_pkts -= window.cwnd_pkts;
            window.set_cwnd(window.cwnd_pkts.saturating_add(1));
        }
    }
}

impl Controller for HighSpeed {
    fn new(options: &Options, now: Time) -> HighSpeed {
        HighSpeed {
            profile: options.profile,
            reno: Reno::new(options, now),
            growth: Growth::default(),
            parameters: Parameters::LOW,
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if self.profile == Profile::Linux61 {
            self.on_ack_as_linux(window, ack);
        } else if window.is_in_slow_start() {
            self.reno.on_ack(window, ack);
        } else if ack.is_cwnd_limited {
            self.look_up(window.cwnd_pkts);
            let growth_pkts = self.parameters.increase_pkts / f64::from(window.cwnd_pkts.max(1));
            self.growth.grow(window, growth_pkts);
        }
    }

    fn on_loss(&mut self, window: &mut Window, _snapshot: &Snapshot) {
        self.growth = Growth::default();
        if self.profile == Profile::Rfc {
            self.look_up(window.cwnd_pkts);
        }
        let cut_pkts = (f64::from(window.cwnd_pkts) * self.parameters.decrease) as u32;
        window.ssthresh_pkts = (window.cwnd_pkts - cut_pkts).max(LEAST_SSTHRESH_PKTS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cca::testing::{ack, ms, options, snapshot, window};

    #[test]
    fn the_table_of_appendix_b() {
        // Its first rows and some later: window, a(w), b(w).
        for (w, a, b) in [
            (38, 1.0, 0.50),
            (118, 2.0, 0.44),
            (221, 3.0, 0.41),
            (347, 4.0, 0.38),
            (495, 5.0, 0.37),
            (663, 6.0, 0.35),
            (851, 7.0, 0.34),
            (1058, 8.0, 0.33),
            (1284, 9.0, 0.32),
            (1529, 10.0, 0.31),
            (1793, 11.0, 0.30),
            (2076, 12.0, 0.29),
            (2699, 14.0, 0.28),
            (3399, 16.0, 0.27),
            (4177, 18.0, 0.26),
        ] {
            let got = Parameters::at(w);
            assert!((got.increase_pkts - a).abs() < 0.02, "{w}: {got:?}");
            assert!((got.decrease - b).abs() <= 0.0051, "{w}: {got:?}");
        }
        let high = Parameters::at(83_000);
        assert!((high.decrease - 0.1).abs() < 1e-9, "{high:?}");
        assert!((high.increase_pkts - 70.73).abs() < 0.01, "{high:?}");
        assert!((Parameters::at(1_000_000).decrease - 0.1).abs() < 1e-9);
    }

    #[test]
    fn linux_reads_the_table_from_one_row_to_the_next() {
        for (w, from_pkts, to_pkts, a, b) in [
            (38, 0, 38, 1.0, 0.50),
            (39, 39, 118, 2.0, 0.44),
            (118, 39, 118, 2.0, 0.44),
            (119, 119, 221, 3.0, 0.41),
            (300, 222, 347, 4.0, 0.38),
        ] {
            let got = Parameters::of_row(w);
            assert_eq!((got.from_pkts, got.to_pkts), (from_pkts, to_pkts), "{w}");
            assert_eq!(got.increase_pkts, a, "{w}");
            assert!((got.decrease - b).abs() <= 0.0051, "{w}: {got:?}");
        }
        let last = Parameters::of_row(1_000_000);
        assert_eq!((last.from_pkts, last.increase_pkts), (84_036, 72.0));
        assert_eq!(Parameters::of_row(84_036), last);
    }

    #[test]
    fn the_rows_are_those_of_the_rfcs_program() {
        // Table 13: a row where a(w) is more by 1 than that of the row before it; 1/12.8 for 0.078.
        let (mut rows_pkts, mut before) = (vec![LOW_WINDOW_PKTS], 1.0);
        for w in LOW_WINDOW_PKTS..=ROWS_PKTS[71] {
            let decrease = LOW_DECREASE + share_of(w) * (HIGH_DECREASE - LOW_DECREASE);
            let square_pkts = libm::pow(f64::from(w), 2.0 - P_EXPONENT);
            let increase_pkts = square_pkts * 2.0 * decrease / ((2.0 - decrease) * 12.8);
            if increase_pkts > before + 1.0 {
                rows_pkts.push(w);
                before = increase_pkts;
            }
        }
        assert_eq!(rows_pkts, ROWS_PKTS);
    }

    #[test]
    fn a_window_of_acknowledgements_adds_a() {
        for (profile, cwnd_pkts, grown) in [
            (Profile::Rfc, 20, 21),
            (Profile::Rfc, 118, 120),
            (Profile::Rfc, 1058, 1066),
            (Profile::Linux61, 20, 21),
            (Profile::Linux61, 60, 62),
        ] {
            let mut highspeed = HighSpeed::new(&options(profile), Time::ZERO);
            let mut window = window(cwnd_pkts, 1448);
            for _ in 0..=cwnd_pkts {
                // Delayed ones too: each counts once, in Linux as in the RFC.
                highspeed.on_ack(&mut window, &ack(ms(1), 2, ms(100)));
            }
            assert_eq!(window.cwnd_pkts, grown);
        }
    }

    #[test]
    fn a_loss_takes_b() {
        for (cwnd_pkts, left) in [(2, 2), (38, 19), (118, 65), (83_000, 74_700)] {
            let mut highspeed = HighSpeed::new(&options(Profile::Rfc), Time::ZERO);
            let mut window = window(cwnd_pkts, 1448);
            highspeed.on_loss(&mut window, &snapshot(Time::ZERO));
            assert!(window.ssthresh_pkts.abs_diff(left) <= 1, "{cwnd_pkts}");
        }
    }
}
