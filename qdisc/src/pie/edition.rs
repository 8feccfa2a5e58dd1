//! Differences between the PIE of current kernels and the first version.
//!
//! | | Linux 6.1 | Linux 3.14 to 5.0 |
//! | --- | --- | --- |
//! | probability | 56 bits | 32 bits |
//! | gains | halved below 10 %, quartered again below 1 %, 0.1 %, ... 0.0001 % | 1/2 below 10 %, 1/8 below 1 % |
//! | decision | accumulated probability between 0.85 and 8.5 (RFC 8033 section 5.4) | independent for each packet |
//! | decay while idle | by 1/64 | by 2 %, in 32 bits that overflow above 1.02 %: then to below 1 % at once |
//! | burst allowance | 150 ms | 100 ms |
//! | bytes over which the departure rate is measured | 16384 | 10000 |
//! | step of the probability | 64 bits | 32 bits that wrap |
//!
//! The right column is from `net/sched/sch_pie.c` of Linux 4.4.

use super::{Config, TICK_SHIFT, TICKS_PER_S, Ticks};
use dumbbell_core::random::Stream;

/// Constants and arithmetic of a kernel's PIE.
#[derive(Debug)]
pub(super) struct Edition {
    /// The probability 1, `MAX_PROB`.
    pub(super) largest_probability: u64,
    /// RFC 8033 `MAX_BURST`.
    pub(super) burst_allowance: Ticks,
    /// RFC 8033 `DQ_THRESHOLD`.
    pub(super) rate_threshold_bytes: u64,
    is_old: bool,
}

const LINUX_6_1: Edition = Edition {
    largest_probability: u64::MAX >> 8,
    burst_allowance: 150_000_000 >> TICK_SHIFT,
    rate_threshold_bytes: 16_384,
    is_old: false,
};

const LINUX_3_14: Edition = Edition {
    largest_probability: u32::MAX as u64,
    burst_allowance: 100_000_000 >> TICK_SHIFT,
    rate_threshold_bytes: 10_000,
    is_old: true,
};

impl Edition {
    pub(super) fn of(config: &Config) -> &'static Edition {
        if config.linux_3_14 {
            &LINUX_3_14
        } else {
            &LINUX_6_1
        }
    }

    /// `gain`, in sixteenths of a hertz, per tick of delay at this probability (RFC 8033 section 4.2: the
    /// smaller the probability, the smaller the steps).
    pub(super) fn scaled_gain(&self, gain: u64, probability: u64) -> u64 {
        let gain = gain * (self.largest_probability / TICKS_PER_S);
        let is_below = |divisor: u64| probability < self.largest_probability / divisor;
        if self.is_old {
            // The whole shift at once; current kernels do it in two.
            let shift = match (is_below(100), is_below(10)) {
                (true, _) => 7,
                (false, true) => 5,
                (false, false) => 4,
            };
            return gain >> shift;
        }
        let finer = [100, 1_000, 10_000, 100_000, 1_000_000];
        let quarters = finer.iter().take_while(|divisor| is_below(**divisor));
        gain >> (4 + u32::from(is_below(10)) + 2 * quarters.count() as u32)
    }

    /// The range of probabilities, inclusive, with the same gains as this one.
    pub(super) fn bounds(&self, probability: u64) -> (u64, u64) {
        let divisors: &[u64] = match self.is_old {
            true => &[10, 100],
            false => &[10, 100, 1_000, 10_000, 100_000, 1_000_000],
        };
        let mut above = match self.is_old {
            true => u64::from(u32::MAX),
            false => u64::MAX,
        };
        for divisor in divisors {
            let bound = self.largest_probability / divisor;
            if probability >= bound {
                return (bound, above);
            }
            above = bound - 1;
        }
        (0, above)
    }

    /// Converts a sum of products to a step.
    pub(super) fn as_step(&self, sum: u64) -> i64 {
        if self.is_old {
            i64::from(sum as i32)
        } else {
            sum as i64
        }
    }

    /// The probability after a step; wraps like the kernel's variable.
    pub(super) fn add(&self, probability: u64, step: i64) -> u64 {
        let sum = probability.wrapping_add(step as u64);
        if self.is_old {
            u64::from(sum as u32)
        } else {
            sum
        }
    }

    /// RFC 8033 section 4.2: the decay while there is no delay.
    pub(super) fn decayed(&self, probability: u64) -> u64 {
        if self.is_old {
            u64::from((probability as u32).wrapping_mul(98) / 100)
        } else {
            probability - probability / 64
        }
    }

    /// Whether a packet is dropped or marked (RFC 8033 section 5.4: not before the accumulated
    /// probability is 0.85, and certainly once it is 8.5).
    pub(super) fn decide(
        &self,
        probability: u64,
        accumulated: &mut u64,
        stream: &mut Stream,
    ) -> bool {
        if self.is_old {
            return (stream.next_u64() >> 32) < probability;
        }
        *accumulated = match probability {
            0 => 0,
            _ => accumulated.wrapping_add(probability),
        };
        if *accumulated < self.largest_probability / 100 * 85 {
            return false;
        }
        if *accumulated >= self.largest_probability / 2 * 17 {
            return true;
        }
        let is_hit = (stream.next_u64() >> 8) < probability;
        if is_hit {
            *accumulated = 0;
        }
        is_hit
    }
}
