//! HyStart++: modified slow start (RFC 9406).
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 9406 section 4.2 (Algorithm Details): rounds, `currentRoundMinRTT`, `lastRoundMinRTT` | yes |
//! | RFC 9406 section 4.2 (Algorithm Details): growth by min(N, L) segments, L = 8, unlimited when pacing | yes |
//! | RFC 9406 section 4.2 (Algorithm Details): delay increase: `RttThresh` | an eighth of the last round's least, 4 to 16 ms |
//! | RFC 9406 section 4.2 (Algorithm Details): conservative slow start: growth divided by 4, five rounds | yes |
//! | RFC 9406 section 4.2 (Algorithm Details): back to slow start when the delay falls below its baseline | yes |
//! | RFC 9406 section 4.2 (Algorithm Details): ECN: congestion signalled by ECN ends slow start at once | the controller's `on_ecn` |
//! | RFC 9406 section 4.3 (Tuning Constants and Other Considerations): only the first slow start of a connection | yes |

use dumbbell_core::time::Time;

/// MIN_RTT_THRESH and MAX_RTT_THRESH (RFC 9406 section 4.3).
const THRESHOLD: (Time, Time) = (Time::from_ns(4_000_000), Time::from_ns(16_000_000));
/// MIN_RTT_DIVISOR.
const RTT_DIVISOR: u64 = 8;
/// N_RTT_SAMPLE.
const LEAST_SAMPLES: u32 = 8;
/// CSS_GROWTH_DIVISOR.
const CSS_GROWTH_DIVISOR: u32 = 4;
/// CSS_ROUNDS.
const CSS_ROUNDS: u32 = 5;
/// L: packets that an acknowledgement may add without pacing.
const LIMIT_PKTS: u32 = 8;

/// The phase of slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    SlowStart,
    /// Conservative slow start: the baseline delay, and the number of rounds so far.
    Conservative {
        baseline: Time,
        rounds: u32,
    },
    /// Slow start has ended for good.
    Done,
}

/// The effect of an acknowledgement in slow start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// The window grows by this number of packets.
    Grow(f64),
    /// Slow start ends at the present window (`ssthresh = cwnd`).
    Exit,
}

/// The state of HyStart++.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HyStartPlusPlus {
    is_paced: bool,
    phase: Phase,
    /// `windowEnd`; None before the first acknowledgement.
    window_end_pkts: Option<u64>,
    last_round_min: Option<Time>,
    current_round_min: Option<Time>,
    samples: u32,
}

impl HyStartPlusPlus {
    /// The initial state, for a sender with or without pacing.
    pub fn new(is_paced: bool) -> HyStartPlusPlus {
        HyStartPlusPlus {
            is_paced,
            phase: Phase::SlowStart,
            window_end_pkts: None,
            last_round_min: None,
            current_round_min: None,
            samples: 0,
        }
    }

    /// The first slow start has ended, for any reason; later ones do not use HyStart++.
    pub fn end(&mut self) {
        self.phase = Phase::Done;
    }

    /// An acknowledgement in slow start of `acked_pkts`, with the round-trip time it measured.
    pub fn on_ack(
        &mut self,
        acked_pkts: u32,
        rtt: Option<Time>,
        una_pkts: u64,
        next_pkts: u64,
    ) -> Verdict {
        if self.phase == Phase::Done {
            return Verdict::Grow(f64::from(acked_pkts));
        }
        if self.window_end_pkts.is_none_or(|end| una_pkts > end) {
            self.start_round(next_pkts);
        }
        if let Some(rtt) = rtt {
            let least = self.current_round_min.map_or(rtt, |least| least.min(rtt));
            self.current_round_min = Some(least);
            self.samples += 1;
            self.judge_delay();
        }
        self.grow(acked_pkts)
    }

    fn start_round(&mut self, next_pkts: u64) {
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += 1;
        }
        self.window_end_pkts = Some(next_pkts);
        self.last_round_min = self.current_round_min;
        self.current_round_min = None;
        self.samples = 0;
    }

    /// Enters conservative slow start if the delay has grown, and leaves it if that was spurious.
    fn judge_delay(&mut self) {
        let (Some(current), true) = (self.current_round_min, self.samples >= LEAST_SAMPLES) else {
            return;
        };
        match (self.phase, self.last_round_min) {
            (Phase::SlowStart, Some(last)) => {
                let threshold = Time(last.0 / RTT_DIVISOR).clamp(THRESHOLD.0, THRESHOLD.1);
                if current >= last + threshold {
                    self.phase = Phase::Conservative {
                        baseline: current,
                        rounds: 0,
                    };
                }
            }
            (Phase::Conservative { baseline, .. }, _) if current < baseline => {
                self.phase = Phase::SlowStart;
            }
            _ => {}
        }
    }

    fn grow(&mut self, acked_pkts: u32) -> Verdict {
        let limit_pkts = if self.is_paced { u32::MAX } else { LIMIT_PKTS };
        let growth_pkts = f64::from(acked_pkts.min(limit_pkts));
        match self.phase {
            Phase::Conservative { rounds, .. } if rounds >= CSS_ROUNDS => {
                self.phase = Phase::Done;
                Verdict::Exit
            }
            Phase::Conservative { .. } => {
                Verdict::Grow(growth_pkts / f64::from(CSS_GROWTH_DIVISOR))
            }
            Phase::SlowStart | Phase::Done => Verdict::Grow(growth_pkts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Time {
        Time::from_ns(ms * 1_000_000)
    }

    /// Rounds of ten acknowledgements of two packets each, with these delays; what each round
    /// added, and whether it ended slow start.
    fn rounds(is_paced: bool, delays_ms: &[u64]) -> Vec<Option<f64>> {
        let mut hystart = HyStartPlusPlus::new(is_paced);
        let mut una = 0;
        let mut round = |delay_ms: &u64| {
            let next = una + 20;
            let mut grown = 0.0;
            for _ in 0..10 {
                una += 2;
                match hystart.on_ack(2, Some(ms(*delay_ms)), una, next) {
                    Verdict::Grow(pkts) => grown += pkts,
                    Verdict::Exit => return None,
                }
            }
            Some(grown)
        };
        delays_ms.iter().map(&mut round).collect()
    }

    #[test]
    fn constant_delay_doubles_the_window() {
        assert_eq!(rounds(false, &[50; 6]), vec![Some(20.0); 6]);
    }

    #[test]
    fn an_eighth_more_delay_slows_growth_to_a_quarter_and_ends_it_after_five_rounds() {
        // From the eighth sample of the round on: 7 x 2 packets, then 3 x 2 / 4.
        let got = rounds(false, &[64, 64, 72, 72, 72, 72, 72, 72, 72]);
        let slow = Some(5.0);
        let first_two = [Some(20.0), Some(20.0), Some(15.5)];
        assert_eq!(got[..3], first_two);
        assert_eq!(got[3..7], [slow; 4]);
        assert_eq!(got[7], None);
        // A smaller increase does nothing.
        assert_eq!(rounds(false, &[64, 71, 71]), vec![Some(20.0); 3]);
    }

    #[test]
    fn the_threshold_is_at_least_4_and_at_most_16_ms() {
        assert_eq!(rounds(false, &[10, 13])[1], Some(20.0));
        assert_eq!(rounds(false, &[10, 14])[1], Some(15.5));
        assert_eq!(rounds(false, &[400, 415])[1], Some(20.0));
        assert_eq!(rounds(false, &[400, 416])[1], Some(15.5));
    }

    #[test]
    fn delay_that_falls_again_resumes_slow_start() {
        let got = rounds(false, &[64, 72, 64, 64]);
        // Seven acknowledgements at a quarter, then three in full; then all in full.
        assert_eq!(got[2..], [Some(7.0 * 0.5 + 3.0 * 2.0), Some(20.0)]);
    }

    #[test]
    fn a_stretched_acknowledgement_adds_at_most_eight_unless_paced() {
        let mut unpaced = HyStartPlusPlus::new(false);
        let mut paced = HyStartPlusPlus::new(true);
        assert_eq!(unpaced.on_ack(30, None, 30, 60), Verdict::Grow(8.0));
        assert_eq!(paced.on_ack(30, None, 30, 60), Verdict::Grow(30.0));
        unpaced.end();
        assert_eq!(unpaced.on_ack(30, None, 60, 90), Verdict::Grow(30.0));
    }
}
