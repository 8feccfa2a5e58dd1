//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus), the congestion control of Windows for background traffic,
//! based on LEDBAT (RFC 6817): it keeps the queueing delay below 60 ms and yields to other flows.
//!
//! | clause | here |
//! | --- | --- |
//! | delay: from round-trip times, not one-way delays | yes |
//! | RFC 6817 section 2.4.2, current delay: filtered | minimum of the last four |
//! | RFC 6817 section 2.4.2, base delay: minimum of each minute, over BASE_HISTORY = 10 | yes |
//! | TARGET = 60 ms | yes |
//! | GAIN = 1 / min(16, ceil(2 TARGET / base)) | yes |
//! | below the target: increase of GAIN packets per round trip | yes |
//! | above: W += max(GAIN - Constant W (delay / TARGET - 1), -W/2) per round trip, Constant = 1 | yes |
//! | slow start: increase of GAIN packets per packet acknowledged | yes |
//! | the first slow start ends above 3/4 of the target | yes |
//! | slowdown: 2 packets for 2 round trips, then slow start to the window before | yes |
//! | the first slowdown 2 round trips after slow start, others after 9 times the duration of the last | yes |
//! | a loss: half the window, at most once per round trip | the sender's recovery; half |
//! | RFC 6817 section 2.4.2, ALLOWED_INCREASE | grows only while limited by cwnd |

use super::window::Growth;
use super::{Ack, Controller, Options, RttSample, Snapshot, Window};
use dumbbell_core::time::Time;

const TARGET: Time = Time::from_ns(60_000_000);
/// The first slow start ends above three quarters of the target.
const FIRST_SLOW_START_DELAY: Time = Time::from_ns(45_000_000);
/// GAIN is at least 1/16.
const MOST_PARTS: f64 = 16.0;
/// The window during a slowdown, and the lower bound of delay-based decreases.
const LEAST_WINDOW_PKTS: u32 = 2;
const FROZEN_ROUND_TRIPS: u64 = 2;
const ROUND_TRIPS_TO_FIRST_SLOWDOWN: u64 = 2;
/// Time from the end of a slowdown to the start of the next, in multiples of its duration.
const SLOWDOWN_SPACING: u64 = 9;
/// BASE_HISTORY of RFC 6817 section 2.5, minutes.
const BASE_HISTORY: usize = 10;
const MINUTE: Time = Time::from_ns(60_000_000_000);
/// CURRENT_FILTER of the draft, round-trip times.
const CURRENT_FILTER: usize = 4;

/// The phase of the controller.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    /// The first slow start.
    FirstSlowStart,
    /// Delay-based, until the next slowdown.
    Steady { slowdown_at: Time },
    /// Slowdown: the queue drains.
    Frozen { since: Time, until: Time },
    /// Ramp-up to the window before the slowdown.
    Ramp { since: Time },
}

/// Round-trip times, and the queueing delay derived from them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Delays {
    /// The last round-trip times, in any order.
    recent: [Option<Time>; CURRENT_FILTER],
    next: usize,
    /// The minimum of each minute; the current one at `minute % BASE_HISTORY`.
    bases: [Option<Time>; BASE_HISTORY],
    minute: u64,
}

impl Delays {
    fn enter(&mut self, now: Time, rtt: Time) {
        self.recent[self.next] = Some(rtt);
        self.next = (self.next + 1) % CURRENT_FILTER;
        let minute = now.0 / MINUTE.0;
        // Minutes without a measurement have no minimum.
        for passed in (self.minute + 1..=minute).take(BASE_HISTORY) {
            self.bases[passed as usize % BASE_HISTORY] = None;
        }
        self.minute = minute;
        let base = &mut self.bases[minute as usize % BASE_HISTORY];
        *base = Some(base.map_or(rtt, |least| least.min(rtt)));
    }

    /// None before the first round-trip time.
    fn base(&self) -> Option<Time> {
        self.bases.iter().flatten().min().copied()
    }

    /// The queueing delay.
    fn queueing(&self) -> Time {
        match (self.recent.iter().flatten().min(), self.base()) {
            (Some(current), Some(base)) => current.saturating_sub(base),
            _ => Time::ZERO,
        }
    }

    /// GAIN, 1/16 to 1.
    fn gain(&self) -> f64 {
        let Some(base) = self.base().filter(|base| base.0 > 0) else {
            return 1.0 / MOST_PARTS;
        };
        let parts = (2.0 * TARGET.as_seconds() / base.as_seconds()).ceil();
        1.0 / parts.clamp(1.0, MOST_PARTS)
    }
}

/// LEDBAT++.
#[derive(Debug, Clone, PartialEq)]
pub struct LedbatPlusPlus {
    stage: Stage,
    delays: Delays,
    growth: Growth,
}

impl LedbatPlusPlus {
    /// Slow start, GAIN times as fast as Reno's, up to the threshold.
    fn slow_start(&mut self, window: &mut Window, acked_pkts: u32) {
        let pkts = self.delays.gain() * f64::from(acked_pkts);
        self.growth.grow(window, pkts);
        window.set_cwnd(window.cwnd_pkts.min(window.ssthresh_pkts));
    }

    /// Applies the share of a round trip's change that corresponds to `acked_pkts`.
    fn steer(&mut self, window: &mut Window, acked_pkts: u32) {
        let gain = self.delays.gain();
        let cwnd_pkts = f64::from(window.cwnd_pkts);
        let above = self.delays.queueing().as_seconds() / TARGET.as_seconds() - 1.0;
        let pkts_a_round_trip = if above <= 0.0 {
            gain
        } else {
            (gain - cwnd_pkts * above).max(-cwnd_pkts / 2.0)
        };
        let share = f64::from(acked_pkts.min(window.cwnd_pkts)) / cwnd_pkts;
        self.growth.grow(window, pkts_a_round_trip * share);
        window.set_cwnd(window.cwnd_pkts.max(LEAST_WINDOW_PKTS));
        // A reduced window is not in slow start.
        window.ssthresh_pkts = window.ssthresh_pkts.min(window.cwnd_pkts);
    }

    fn slow_down(&mut self, window: &mut Window, now: Time, rtt: Time) {
        window.ssthresh_pkts = window.cwnd_pkts;
        window.set_cwnd(LEAST_WINDOW_PKTS);
        self.growth = Growth::default();
        self.stage = Stage::Frozen {
            since: now,
            until: Time(now.0 + FROZEN_ROUND_TRIPS * rtt.0),
        };
    }
}

impl Controller for LedbatPlusPlus {
    fn new(_options: &Options, _now: Time) -> LedbatPlusPlus {
        LedbatPlusPlus {
            stage: Stage::FirstSlowStart,
            delays: Delays::default(),
            growth: Growth::default(),
        }
    }

    fn on_rtt(&mut self, _window: &mut Window, sample: &RttSample) {
        self.delays.enter(sample.now, sample.rtt);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let Some(rtt) = ack.srtt else {
            return;
        };
        match self.stage {
            Stage::FirstSlowStart => {
                if self.delays.queueing() > FIRST_SLOW_START_DELAY {
                    window.ssthresh_pkts = window.ssthresh_pkts.min(window.cwnd_pkts);
                }
                if !window.is_in_slow_start() {
                    self.stage = Stage::Steady {
                        slowdown_at: Time(ack.now.0 + ROUND_TRIPS_TO_FIRST_SLOWDOWN * rtt.0),
                    };
                }
            }
            Stage::Steady { slowdown_at } if ack.now >= slowdown_at => {
                self.slow_down(window, ack.now, rtt);
            }
            Stage::Steady { .. } => {}
            Stage::Frozen { since, until } => {
                if ack.now >= until {
                    self.stage = Stage::Ramp { since };
                }
            }
            Stage::Ramp { since } => {
                if !window.is_in_slow_start() {
                    let took = ack.now.saturating_sub(since);
                    self.stage = Stage::Steady {
                        slowdown_at: Time(ack.now.0 + SLOWDOWN_SPACING * took.0),
                    };
                }
            }
        }
        if matches!(self.stage, Stage::Frozen { .. }) || !ack.is_cwnd_limited {
            return;
        }
        if window.is_in_slow_start() {
            self.slow_start(window, ack.acked_pkts);
        } else {
            self.steer(window, ack.acked_pkts);
        }
    }

    /// Losses during a slowdown belong to the window before it, to which the threshold leads back.
    fn on_loss(&mut self, window: &mut Window, _snapshot: &Snapshot) {
        let before_pkts = match self.stage {
            Stage::Frozen { .. } => window.ssthresh_pkts,
            _ => window.cwnd_pkts,
        };
        window.ssthresh_pkts = (before_pkts / 2).max(LEAST_WINDOW_PKTS);
    }

    /// The sender has set the window to the threshold, which during a slowdown is meant for later.
    fn on_exit_recovery(&mut self, window: &mut Window, _snapshot: &Snapshot) {
        if matches!(self.stage, Stage::Frozen { .. }) {
            window.set_cwnd(LEAST_WINDOW_PKTS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cca::testing::{ack, fresh_window, ms, options, snapshot, window};
    use dumbbell_spec::tcp::Profile;

    fn begun() -> LedbatPlusPlus {
        LedbatPlusPlus::new(&options(Profile::Rfc), Time::ZERO)
    }

    fn measured(rtts_ms: &[u64]) -> Delays {
        let mut delays = Delays::default();
        for rtt_ms in rtts_ms {
            delays.enter(ms(1), ms(*rtt_ms));
        }
        delays
    }

    /// An acknowledgement at `now_ms` that measures `rtt_ms`.
    fn acknowledge(
        ledbat: &mut LedbatPlusPlus,
        window: &mut Window,
        (now_ms, rtt_ms): (u64, u64),
        acked_pkts: u32,
    ) {
        let ack = ack(ms(now_ms), acked_pkts, ms(rtt_ms));
        let sample = RttSample {
            now: ack.now,
            rtt: ms(rtt_ms),
            una_pkts: 0,
            next_pkts: 0,
            is_echo: false,
        };
        ledbat.on_rtt(window, &sample);
        ledbat.on_ack(window, &ack);
    }

    #[test]
    fn gain_is_that_of_the_draft() {
        // 2 TARGET = 120 ms: 120/5 = 24 is more than 16, 120/50 = 2.4 is rounded up.
        for (base_ms, parts) in [
            (5, 16.0),
            (8, 15.0),
            (50, 3.0),
            (60, 2.0),
            (120, 1.0),
            (400, 1.0),
        ] {
            assert_eq!(measured(&[base_ms]).gain(), 1.0 / parts, "{base_ms}");
        }
        assert_eq!(Delays::default().gain(), 1.0 / 16.0);
    }

    #[test]
    fn the_delay_is_the_least_of_four_above_the_least_of_ten_minutes() {
        let delays = measured(&[20, 90, 80, 70, 60]);
        assert_eq!(delays.queueing(), ms(40));
        let mut delays = measured(&[20]);
        for minute in 1..10 {
            delays.enter(ms(60_000 * minute), ms(50));
            assert_eq!(delays.base(), Some(ms(20)), "{minute}");
        }
        delays.enter(ms(600_000), ms(50));
        assert_eq!(delays.base(), Some(ms(50)));
        // After an hour without a measurement nothing is left of what was before.
        delays.enter(ms(4_200_000), ms(70));
        assert_eq!(delays.base(), Some(ms(70)));
    }

    #[test]
    fn below_the_target_it_grows_by_gain_and_above_it_shrinks_by_the_excess() {
        // 40 packets and a base of 60 ms: GAIN 1/2. Queues of 30, 60 and 75 ms, 1.25 targets, and of
        // 150 ms, of which no more than half is taken.
        for (queue_ms, change) in [(30, 0.5), (60, 0.5), (75, 0.5 - 40.0 * 0.25), (150, -20.0)] {
            let mut ledbat = begun();
            ledbat.delays = measured(&[60]);
            ledbat.delays.recent = [Some(ms(60 + queue_ms)); 4];
            let mut window = window(40, 1448);
            let before = f64::from(window.cwnd_pkts);
            ledbat.steer(&mut window, 40);
            let whole: f64 = before + change;
            assert_eq!(f64::from(window.cwnd_pkts), whole.floor(), "{queue_ms}");
            assert!(!window.is_in_slow_start());
        }
    }

    #[test]
    fn the_first_slow_start_ends_at_three_quarters_of_the_target() {
        let (mut ledbat, mut window) = (begun(), fresh_window(10));
        acknowledge(&mut ledbat, &mut window, (60, 60), 10);
        // GAIN is 1/2.
        assert_eq!(window.cwnd_pkts, 15);
        for _ in 0..4 {
            acknowledge(&mut ledbat, &mut window, (120, 105), 1);
        }
        assert!(window.is_in_slow_start());
        for _ in 0..4 {
            acknowledge(&mut ledbat, &mut window, (130, 106), 1);
        }
        assert!(!window.is_in_slow_start());
        let slowdown_at = ms(130 + 2 * 106);
        assert_eq!(ledbat.stage, Stage::Steady { slowdown_at });
    }

    #[test]
    fn a_slowdown_takes_two_round_trips_and_a_ramp_and_comes_again_after_nine_times_as_long() {
        let (mut ledbat, mut window) = (begun(), window(8, 1448));
        ledbat.stage = Stage::Steady {
            slowdown_at: ms(1000),
        };
        acknowledge(&mut ledbat, &mut window, (999, 120), 1);
        assert_eq!(window.cwnd_pkts, 8);
        acknowledge(&mut ledbat, &mut window, (1000, 120), 1);
        assert_eq!((window.cwnd_pkts, window.ssthresh_pkts), (2, 8));
        acknowledge(&mut ledbat, &mut window, (1239, 120), 2);
        assert_eq!(window.cwnd_pkts, 2);
        // GAIN is 1: as Reno's slow start.
        for (now_ms, acked_pkts, cwnd_pkts) in [(1240, 2, 4), (1360, 4, 8)] {
            acknowledge(&mut ledbat, &mut window, (now_ms, 120), acked_pkts);
            assert_eq!(window.cwnd_pkts, cwnd_pkts);
        }
        acknowledge(&mut ledbat, &mut window, (1480, 120), 1);
        let slowdown_at = ms(1480 + 9 * 480);
        assert_eq!(ledbat.stage, Stage::Steady { slowdown_at });
    }

    #[test]
    fn a_loss_halves_the_window_also_that_before_a_slowdown() {
        let (mut ledbat, mut window) = (begun(), window(40, 1448));
        ledbat.on_loss(&mut window, &snapshot(Time::ZERO));
        assert_eq!(window.ssthresh_pkts, 20);
        window.cwnd_pkts = 40;
        ledbat.slow_down(&mut window, ms(0), ms(100));
        ledbat.on_loss(&mut window, &snapshot(ms(10)));
        assert_eq!(window.ssthresh_pkts, 20);
        window.cwnd_pkts = window.ssthresh_pkts;
        ledbat.on_exit_recovery(&mut window, &snapshot(ms(20)));
        assert_eq!(window.cwnd_pkts, LEAST_WINDOW_PKTS);
    }
}
