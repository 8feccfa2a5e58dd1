//! Scalable TCP (T. Kelly, "Scalable TCP: improving performance in highspeed wide area networks",
//! ACM CCR 33(2), 2003).
//!
//! | clause | here |
//! | --- | --- |
//! | section 3, a = 0.01 for every acknowledgement | one packet more for a hundred: `linux-6.1` counts packets, `rfc` acknowledgements |
//! | section 3, b = 0.125 at the first loss of a round trip | a decrease of one eighth, rounded down |
//! | section 3, `lwnd` | `rfc`: Reno up to 16 packets; `linux-6.1`: Reno's increase up to 100, always one eighth |
//! | slow start | Reno's |

use super::reno::Reno;
use super::{Ack, Controller, Options, Snapshot, Window};
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Profile;

/// Packets acknowledged for one packet more: 1/a.
const ACKS_PER_GROWTH: u32 = 100;
/// Reciprocal of the decrease at a loss: 1/b.
const CUT_DIVISOR: u32 = 8;
/// Up to this window the paper's sender is Reno, packets (`lwnd`).
const LEGACY_WINDOW_PKTS: u32 = 16;
/// The threshold never falls below this (RFC 5681 equation 4).
const LEAST_SSTHRESH_PKTS: u32 = 2;

/// Scalable TCP. All of its state is in the window.
#[derive(Debug, Clone, PartialEq)]
pub struct Scalable {
    profile: Profile,
    reno: Reno,
}

impl Scalable {
    /// Acknowledgements, or packets, per packet of growth.
    fn acks_per_growth(&self, cwnd_pkts: u32) -> u32 {
        match self.profile {
            Profile::Linux61 => cwnd_pkts.min(ACKS_PER_GROWTH),
            Profile::Rfc if cwnd_pkts <= LEGACY_WINDOW_PKTS => cwnd_pkts,
            Profile::Rfc => ACKS_PER_GROWTH,
        }
    }
}

impl Controller for Scalable {
    fn new(options: &Options, now: Time) -> Scalable {
        Scalable {
            profile: options.profile,
            reno: Reno::new(options, now),
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if window.is_in_slow_start() {
            self.reno.on_ack(window, ack);
        } else if ack.is_cwnd_limited {
            let acked_pkts = self.reno.counted_pkts(ack);
            window.grow_by_one_per(self.acks_per_growth(window.cwnd_pkts), acked_pkts);
        }
    }

    fn on_loss(&mut self, window: &mut Window, _snapshot: &Snapshot) {
        let is_legacy = self.profile == Profile::Rfc && window.cwnd_pkts <= LEGACY_WINDOW_PKTS;
        let divisor = if is_legacy { 2 } else { CUT_DIVISOR };
        let left_pkts = window.cwnd_pkts - window.cwnd_pkts / divisor;
        window.ssthresh_pkts = left_pkts.max(LEAST_SSTHRESH_PKTS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cca::testing::{ack, ms, options, snapshot, window};

    fn scalable(profile: Profile) -> Scalable {
        Scalable::new(&options(profile), Time::ZERO)
    }

    #[test]
    fn growth_is_one_for_a_hundred_at_any_window() {
        for profile in [Profile::Linux61, Profile::Rfc] {
            for cwnd_pkts in [200, 2000] {
                let mut window = window(cwnd_pkts, 1448);
                let mut scalable = scalable(profile);
                for _ in 0..1000 {
                    scalable.on_ack(&mut window, &ack(ms(1), 1, ms(100)));
                }
                assert_eq!(window.cwnd_pkts, cwnd_pkts + 10);
            }
        }
    }

    #[test]
    fn small_windows_grow_as_renos() {
        // A packet for a window: to 16 packets in the paper, to 100 in Linux.
        for (profile, cwnd_pkts, grown) in [
            (Profile::Rfc, 16, 17),
            (Profile::Rfc, 50, 50),
            (Profile::Linux61, 16, 17),
            (Profile::Linux61, 50, 51),
        ] {
            let mut window = window(cwnd_pkts, 1448);
            let mut scalable = scalable(profile);
            for _ in 0..cwnd_pkts {
                scalable.on_ack(&mut window, &ack(ms(1), 1, ms(100)));
            }
            assert_eq!(window.cwnd_pkts, grown, "{profile:?} {cwnd_pkts}");
        }
    }

    #[test]
    fn delayed_acknowledgements_slow_the_papers_growth_alone() {
        for (profile, grown) in [(Profile::Rfc, 205), (Profile::Linux61, 210)] {
            let mut window = window(200, 1448);
            let mut scalable = scalable(profile);
            for _ in 0..500 {
                scalable.on_ack(&mut window, &ack(ms(1), 2, ms(100)));
            }
            assert_eq!(window.cwnd_pkts, grown, "{profile:?}");
        }
    }

    #[test]
    fn a_loss_takes_an_eighth() {
        for (profile, cwnd_pkts, left) in [
            (Profile::Rfc, 800, 700),
            (Profile::Linux61, 800, 700),
            (Profile::Rfc, 16, 8),
            (Profile::Linux61, 16, 14),
            (Profile::Rfc, 1, 2),
            (Profile::Linux61, 1, 2),
        ] {
            let mut window = window(cwnd_pkts, 1448);
            scalable(profile).on_loss(&mut window, &snapshot(Time::ZERO));
            assert_eq!(window.ssthresh_pkts, left, "{profile:?} {cwnd_pkts}");
        }
    }
}
