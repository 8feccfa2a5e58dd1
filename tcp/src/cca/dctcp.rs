//! DCTCP (RFC 8257): after congestion marks the window falls in proportion to how many there were.
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 8257 section 3.1 (Marking Congestion on the L3 Switches and Routers): the switch marks above a threshold | the discipline's, such as `codel ce_threshold` |
//! | RFC 8257 section 3.2 (Echoing Congestion Information on the Receiver): the receiver echoes each mark | the receiver's (`receiver/marks.rs`) |
//! | RFC 8257 section 3.3 (Processing Echoed Congestion Indications on the Sender): M, marked of the packets acknowledged in a window | packets; Linux counts bytes |
//! | RFC 8257 section 3.3 (Processing Echoed Congestion Indications on the Sender): alpha = (1 - g) alpha + g M, from 1, with g = 1/16 | real numbers |
//! | RFC 8257 section 3.3 (Processing Echoed Congestion Indications on the Sender): window (1 - alpha/2), once a window | yes, by proportional rate reduction |
//! | RFC 8257 section 3.4 (Handling of Congestion Window Growth): as conventional TCP | Reno's |
//! | RFC 8257 section 3.5 (Handling of Packet Loss): after a loss half of the window | yes, after a timeout too |
//! | RFC 8257 section 3.6 (Handling of SYN, SYN-ACK, and RST Packets): ECT on them | no, as RFC 3168; Linux sets it |
//! | RFC 8257 section 4.2 (Computation of DCTCP.Alpha): alpha without marks falls to 0 | yes |

use super::reno::Reno;
use super::{Ack, Controller, Options, RttSample, Snapshot, Window};
use dumbbell_core::time::Time;

/// g: the weight of the last window in alpha.
const GAIN: f64 = 1.0 / 16.0;
/// alpha before the first window.
const FIRST_ALPHA: f64 = 1.0;
/// The threshold never falls below this (RFC 5681 equation 4).
const LEAST_SSTHRESH_PKTS: u32 = 2;

/// Packets acknowledged in the window that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct AckedCounts {
    acked_pkts: u64,
    marked_pkts: u64,
}

/// DCTCP.
#[derive(Debug, Clone, PartialEq)]
pub struct Dctcp {
    reno: Reno,
    /// Share of marked packets, smoothed.
    alpha: f64,
    counted: AckedCounts,
    /// The first packet that was not acknowledged when something was counted last.
    una_pkts: u64,
    /// The window is over when this has been acknowledged.
    end_pkts: u64,
}

impl Controller for Dctcp {
    const NEEDS_ECN: bool = true;

    fn new(options: &Options, now: Time) -> Dctcp {
        Dctcp {
            reno: Reno::new(options, now),
            alpha: FIRST_ALPHA,
            counted: AckedCounts::default(),
            una_pkts: 0,
            end_pkts: 0,
        }
    }

    /// Also while the window is being reduced: marks count then, too.
    fn on_rtt(&mut self, _window: &mut Window, sample: &RttSample) {
        let acked_pkts = sample.una_pkts.saturating_sub(self.una_pkts);
        self.una_pkts = self.una_pkts.max(sample.una_pkts);
        self.counted.acked_pkts += acked_pkts;
        if sample.is_echo {
            self.counted.marked_pkts += acked_pkts;
        }
        if sample.una_pkts >= self.end_pkts {
            let AckedCounts {
                acked_pkts,
                marked_pkts,
            } = std::mem::take(&mut self.counted);
            let share = marked_pkts as f64 / acked_pkts.max(1) as f64;
            self.alpha += GAIN * (share - self.alpha);
            self.end_pkts = sample.next_pkts;
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.reno.on_ack(window, ack);
    }

    fn on_loss(&mut self, window: &mut Window, snapshot: &Snapshot) {
        self.reno.on_loss(window, snapshot);
    }

    fn on_ecn(&mut self, window: &mut Window, _snapshot: &Snapshot) {
        // What is cut is rounded down: few marks take nothing of a small window.
        let cut_pkts = (f64::from(window.cwnd_pkts) * self.alpha / 2.0) as u32;
        window.ssthresh_pkts = (window.cwnd_pkts - cut_pkts).max(LEAST_SSTHRESH_PKTS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cca::testing::{ms, options, snapshot, window};
    use dumbbell_spec::tcp::Profile;

    fn dctcp() -> Dctcp {
        Dctcp::new(&options(Profile::Linux61), Time::ZERO)
    }

    /// Windows of ten packets, `marked_pkts` of them marked.
    fn windows(dctcp: &mut Dctcp, count: u32, marked_pkts: u64) {
        let mut window = window(10, 1448);
        for _ in 0..count {
            let begin_pkts = dctcp.una_pkts;
            for n in 1..=10 {
                let sample = RttSample {
                    now: ms(1),
                    rtt: ms(10),
                    una_pkts: begin_pkts + n,
                    next_pkts: begin_pkts + n + 10,
                    is_echo: n <= marked_pkts,
                };
                dctcp.on_rtt(&mut window, &sample);
            }
        }
    }

    #[test]
    fn alpha_after_n_windows() {
        // With a share of M in each: M + (1 - M) (15/16)^n; the first window ends with its first
        // packet, since nothing was out before.
        for marked_pkts in [0, 3, 10] {
            let mut dctcp = dctcp();
            dctcp.end_pkts = 10;
            windows(&mut dctcp, 20, marked_pkts);
            let share = marked_pkts as f64 / 10.0;
            let exact = share + (1.0 - share) * libm::pow(15.0 / 16.0, 20.0);
            assert!((dctcp.alpha - exact).abs() < 1e-12, "{marked_pkts}");
        }
    }

    #[test]
    fn marks_take_half_of_alpha_and_a_loss_half() {
        for (alpha, left) in [(1.0, 50), (0.5, 75), (0.03, 99), (0.0, 100)] {
            let mut dctcp = dctcp();
            dctcp.alpha = alpha;
            let mut window = window(100, 1448);
            dctcp.on_ecn(&mut window, &snapshot(Time::ZERO));
            assert_eq!(window.ssthresh_pkts, left);
            dctcp.on_loss(&mut window, &snapshot(Time::ZERO));
            assert_eq!(window.ssthresh_pkts, 50);
        }
    }
}
