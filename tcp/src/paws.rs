//! Old timestamps (RFC 7323 sections 4.3 and 5): TS.Recent, and what PAWS refuses.
//!
//! After net/ipv4/tcp_input.c (`tcp_replace_ts_recent`, `tcp_paws_discard`, `tcp_oow_rate_limited`). The
//! expiry of TS.Recent after 24 days without a segment is not implemented.

use super::Settings;
use super::segment::Timestamps;
use dumbbell_core::time::Time;

/// How much older than TS.Recent Linux allows a segment to be (`TCP_PAWS_WINDOW`).
const LINUX_TOLERANCE_MS: i32 = 1;
/// Minimum time between two answers to segments without data (`tcp_invalid_ratelimit`).
const ANSWERS_APART: Time = Time::from_ns(500_000_000);

/// TS.Recent: the timestamp that the next segment echoes, milliseconds; 0 before the first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Recent(u32);

impl Recent {
    pub(crate) fn of(stamps: Option<Timestamps>) -> Recent {
        Recent(stamps.map_or(0, |stamps| stamps.value_ms))
    }

    pub(crate) fn of_ms(ms: u32) -> Recent {
        Recent(ms)
    }

    pub(crate) fn ms(self) -> u32 {
        self.0
    }

    /// How much older a segment is, milliseconds; negative if newer.
    #[inline(always)]
    fn behind_ms(self, stamps: Timestamps) -> i32 {
        self.0.wrapping_sub(stamps.value_ms) as i32
    }

    /// Whether a segment is older, so that it cannot be the expected one.
    #[inline(always)]
    pub(crate) fn is_behind(self, stamps: Option<Timestamps>) -> bool {
        stamps.is_some_and(|stamps| self.behind_ms(stamps) > 0)
    }

    /// Whether PAWS refuses a segment (RFC 7323 section 5.3, R1).
    pub(crate) fn refuses(self, stamps: Option<Timestamps>, settings: &Settings) -> bool {
        let tolerance_ms = match settings.is_linux() {
            true => LINUX_TOLERANCE_MS,
            false => 0,
        };
        self.0 != 0 && stamps.is_some_and(|stamps| self.behind_ms(stamps) > tolerance_ms)
    }

    /// Whether a duplicate acknowledgement that would be refused may only have been reordered
    /// (`tcp_disordered_ack`): within about one retransmission timeout.
    pub(crate) fn may_be_overtaken(self, stamps: Option<Timestamps>, rto: Time) -> bool {
        let window_ms = (rto.as_ns() / 1000 * 1024 / 1_000_000) as i64;
        stamps.is_some_and(|stamps| i64::from(self.behind_ms(stamps)) <= window_ms)
    }

    /// Stores the timestamp of the segment that the next acknowledgement is for (RFC 7323 section 4.3, (2));
    /// never an older one.
    #[inline(always)]
    pub(crate) fn take(&mut self, stamps: Option<Timestamps>) {
        if let Some(stamps) = stamps
            && (self.behind_ms(stamps) <= 0 || self.0 == 0)
        {
            self.0 = stamps.value_ms;
        }
    }
}

/// When an end last answered a refused segment without data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LastAnswer(Time);

impl Default for LastAnswer {
    fn default() -> LastAnswer {
        LastAnswer(Time::NEVER)
    }
}

impl LastAnswer {
    /// Whether another answer is allowed now; records it.
    pub(crate) fn may_follow(&mut self, settings: &Settings, now: Time) -> bool {
        let now = settings.clock.last_tick(now);
        let is_too_soon = self.0 != Time::NEVER && now.saturating_sub(self.0) < ANSWERS_APART;
        if !is_too_soon {
            self.0 = now;
        }
        !is_too_soon
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cca::Algorithm;
    use dumbbell_spec::Tcp;

    fn linux() -> Settings {
        Settings::new(Tcp::linux("reno"), Algorithm::Reno, 1500, 1000)
    }

    fn rfc() -> Settings {
        Settings::new(Tcp::rfc("reno"), Algorithm::Reno, 1500, 1000)
    }

    fn stamps(value_ms: u32) -> Option<Timestamps> {
        Some(Timestamps {
            value_ms,
            echo_ms: 0,
        })
    }

    #[test]
    fn linux_lets_a_millisecond_pass_and_the_rfc_none() {
        let recent = Recent::of(stamps(100));
        let refused = |settings: &Settings| {
            [98, 99, 100, 101].map(|value_ms| recent.refuses(stamps(value_ms), settings))
        };
        assert_eq!(refused(&linux()), [true, false, false, false]);
        assert_eq!(refused(&rfc()), [true, true, false, false]);
    }

    #[test]
    fn nothing_is_older_than_no_timestamp_and_no_timestamp_is_old() {
        assert!(!Recent::default().refuses(stamps(u32::MAX), &linux()));
        assert!(!Recent::of(stamps(100)).refuses(None, &linux()));
    }

    #[test]
    fn timestamps_are_compared_across_their_wrap() {
        let mut recent = Recent::of(stamps(u32::MAX));
        assert!(recent.refuses(stamps(u32::MAX - 2), &linux()));
        recent.take(stamps(1));
        assert_eq!(recent.ms(), 1);
        assert!(recent.refuses(stamps(u32::MAX), &rfc()));
    }

    #[test]
    fn an_older_timestamp_is_not_taken() {
        let mut recent = Recent::of(stamps(100));
        for (value_ms, then) in [(99, 100), (100, 100), (101, 101)] {
            recent.take(stamps(value_ms));
            assert_eq!(recent.ms(), then);
        }
    }

    /// `icsk_rto * 1024 / HZ`: 204.8 ms of a timeout of 200.
    #[test]
    fn a_duplicate_may_be_a_little_older_than_a_timeout() {
        let recent = Recent::of(stamps(1000));
        let rto = Time::from_ns(200_000_000);
        let overtaken = |value_ms| recent.may_be_overtaken(stamps(value_ms), rto);
        assert_eq!([796, 795].map(overtaken), [true, false]);
    }

    #[test]
    fn answers_are_half_a_second_apart() {
        let (settings, mut last) = (linux(), LastAnswer::default());
        let at = |ms: u64| Time::from_ns(ms * 1_000_000);
        let answered = [0, 499, 500, 999, 1000].map(|ms| last.may_follow(&settings, at(ms)));
        assert_eq!(answered, [true, false, true, false, true]);
    }
}
