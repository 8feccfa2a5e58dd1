//! Virtual time in picoseconds.
//!
//! A `u64` of picoseconds holds 213 days. Nanoseconds are too coarse: 64 bytes at 100 Gbit/s
//! take 5.12 ns.

use std::ops::{Add, AddAssign, Sub};

/// Picoseconds in one nanosecond.
pub const PS_PER_NS: u64 = 1_000;
/// Picoseconds in one second.
pub const PS_PER_S: u64 = 1_000_000_000_000;

/// An instant or a duration of virtual time, picoseconds; instants count from the start of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than any event; means that nothing is pending.
    pub const NEVER: Time = Time(u64::MAX);

    /// From whole nanoseconds. The caller has checked that the result fits (see `spec`).
    #[inline]
    pub const fn from_ns(ns: u64) -> Time {
        Time(ns * PS_PER_NS)
    }

    /// From seconds, rounded to the nearest picosecond. Negative values become 0; values that do not fit
    /// become the latest instant.
    #[inline]
    pub fn from_seconds(seconds: f64) -> Time {
        // A cast from f64 saturates at both ends, so no draw can wrap the clock.
        Time((seconds * PS_PER_S as f64 + 0.5) as u64)
    }

    /// Whole nanoseconds, rounded down.
    #[inline]
    pub const fn as_ns(self) -> u64 {
        self.0 / PS_PER_NS
    }

    /// Seconds.
    #[inline]
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// The sum, or `NEVER` on overflow.
    #[inline]
    pub const fn saturating_add(self, span: Time) -> Time {
        Time(self.0.saturating_add(span.0))
    }

    /// The difference, or zero if negative.
    #[inline]
    pub const fn saturating_sub(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Time) -> Time {
        Time(self.0 + span.0)
    }
}

impl AddAssign for Time {
    #[inline]
    fn add_assign(&mut self, span: Time) {
        self.0 += span.0;
    }
}

impl Sub for Time {
    type Output = Time;
    #[inline]
    fn sub(self, earlier: Time) -> Time {
        Time(self.0 - earlier.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_round_to_the_nearest_picosecond_and_saturate() {
        assert_eq!(Time::from_seconds(1e-12), Time(1));
        assert_eq!(Time::from_seconds(0.4e-12), Time(0));
        assert_eq!(Time::from_seconds(-3.0), Time::ZERO);
        assert_eq!(Time::from_seconds(f64::INFINITY), Time::NEVER);
        assert_eq!(Time::from_seconds(f64::NAN), Time::ZERO);
    }

    #[test]
    fn nanoseconds_there_and_back() {
        assert_eq!(Time::from_ns(1_234_567).as_ns(), 1_234_567);
        assert_eq!(Time(1_999).as_ns(), 1);
    }
}
