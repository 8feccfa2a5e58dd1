//! Expiry of timers.
//!
//! Linux counts time in ticks, and its timer wheel (kernel/time/timer.c, since 4.8) trades precision for
//! cost: a timer at least 63 ticks ahead is in a slot of 8 ticks, one at least 504 ticks ahead in a slot of
//! 64, and so on, and expires at the end of its slot. A timer never expires early. In the profile `rfc`
//! timers are exact.

use crate::time::{PS_PER_S, Time};

/// Ticks covered by the finest level of the wheel.
const FIRST_LEVEL_TICKS: u64 = 63;
/// Ratio of the granularity of consecutive levels, as a power of two.
const LEVEL_SHIFT: u32 = 3;
/// Levels of the wheel.
const LEVELS: u32 = 9;

/// Precision of timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Timers expire when they are due.
    Exact,
    /// Linux's timer wheel.
    Wheel {
        /// 1 / HZ.
        tick: Time,
    },
}

impl Clock {
    /// A wheel with this number of ticks per second.
    pub fn wheel(timer_hz: u32) -> Clock {
        Clock::Wheel {
            tick: Time(PS_PER_S / u64::from(timer_hz)),
        }
    }

    /// A duration in whole ticks, rounded up (`usecs_to_jiffies`).
    #[inline]
    pub fn span(self, span: Time) -> Time {
        match self {
            Clock::Exact => span,
            Clock::Wheel { tick } => Time(span.0.div_ceil(tick.0) * tick.0),
        }
    }

    /// The time of the last tick up to `now` (`jiffies`).
    #[inline]
    pub fn last_tick(self, now: Time) -> Time {
        match self {
            Clock::Exact => now,
            Clock::Wheel { tick } => Time(now.0 - now.0 % tick.0),
        }
    }

    /// Whether timers set at the same instant for these durations are certainly due at different ticks;
    /// computed without a division.
    #[inline]
    pub fn tells_apart(self, one: Time, other: Time) -> bool {
        let apart = Time(one.0.abs_diff(other.0));
        match self {
            Clock::Exact => apart > Time::ZERO,
            Clock::Wheel { tick } => apart >= tick,
        }
    }

    /// The slot of a timer set at `now` for `span`.
    #[inline]
    pub fn set(self, now: Time, span: Time) -> Slot {
        let Clock::Wheel { tick } = self else {
            let due = now.saturating_add(span);
            return Slot { due, expiry: due };
        };
        let ticks = span.0.div_ceil(tick.0);
        let due = now.0 / tick.0 + ticks;
        let level = (0..LEVELS - 1)
            .find(|level| ticks < FIRST_LEVEL_TICKS << (LEVEL_SHIFT * level))
            .unwrap_or(LEVELS - 1);
        let shift = LEVEL_SHIFT * level;
        let slot = (due + (1 << shift)) >> shift;
        Slot {
            due: Time(due.saturating_mul(tick.0)),
            expiry: Time((slot << shift).saturating_mul(tick.0)),
        }
    }

    /// Expiry of a timer set at `now` for `span`.
    #[inline]
    pub fn expiry(self, now: Time, span: Time) -> Time {
        self.set(now, span).expiry
    }

    /// As `last_tick`, given an earlier tick that may be the last one.
    #[inline]
    pub fn last_tick_since(self, earlier: Time, now: Time) -> Time {
        match self {
            Clock::Wheel { tick } if now.saturating_sub(earlier) < tick => earlier,
            _ => self.last_tick(now),
        }
    }

    /// As `expiry`, for an instant whose last tick is known.
    #[inline]
    pub fn expiry_after(self, last_tick: Time, span: Time) -> Time {
        if let Clock::Wheel { tick } = self {
            let ticks = span.0.div_ceil(tick.0);
            if ticks < FIRST_LEVEL_TICKS {
                return Time(last_tick.0 + (ticks + 1) * tick.0);
            }
        }
        self.expiry(last_tick, span)
    }
}

/// The slot of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// When it is due.
    pub due: Time,
    /// When it expires; not before it is due.
    pub expiry: Time,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn near_timers_run_out_within_a_tick_and_far_ones_within_their_slot() {
        let clock = Clock::wheel(1000);
        let expiry = |now_ns, span_ns| {
            let (now, span) = (Time::from_ns(now_ns), Time::from_ns(span_ns));
            clock.expiry(now, span).as_ns()
        };
        assert_eq!(expiry(0, 40 * MS), 41 * MS);
        assert_eq!(expiry(MS / 2, 40 * MS), 41 * MS);
        // 201 ticks from 0: in slots of 8.
        assert_eq!(expiry(0, 201 * MS), 208 * MS);
        assert_eq!(expiry(0, 208 * MS), 216 * MS);
        assert_eq!(expiry(0, 1000 * MS), 1024 * MS);
    }

    #[test]
    fn no_timer_is_early_nor_later_than_its_slot() {
        for hz in [100, 250, 1000] {
            let clock = Clock::wheel(hz);
            for ticks in 1..5000u64 {
                let tick = PS_PER_S / u64::from(hz);
                let (now, span) = (Time(12_345_678_901), Time(ticks * tick));
                let late = clock.expiry(now, span) - (now + span);
                assert!(late.0 <= tick * 8.max(ticks / 7), "{ticks} ticks at {hz}");
            }
        }
    }

    #[test]
    fn a_known_tick_saves_a_division() {
        for clock in [Clock::wheel(250), Clock::wheel(1000), Clock::Exact] {
            for now_ns in (0..40 * MS).step_by(777_777) {
                let now = Time::from_ns(now_ns);
                let tick = clock.last_tick(now);
                for earlier in [Time::ZERO, clock.last_tick(Time(now.0 / 2)), tick] {
                    assert_eq!(clock.last_tick_since(earlier, now), tick);
                }
                for span_ns in (0..300 * MS).step_by(3_333_333) {
                    let span = Time::from_ns(span_ns);
                    assert_eq!(clock.expiry_after(tick, span), clock.expiry(now, span));
                }
            }
        }
    }

    #[test]
    fn exact_timers_are_exact() {
        assert_eq!(Clock::Exact.expiry(Time(7), Time(5)), Time(12));
        assert_eq!(Clock::Exact.span(Time(5)), Time(5));
    }
}
