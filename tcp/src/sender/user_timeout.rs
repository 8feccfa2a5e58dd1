//! `TCP_USER_TIMEOUT` (tcp(7), RFC 5482): how long data may stay unacknowledged, or a closed window be
//! probed, before the connection is given up.
//!
//! | Linux 6.1 | here |
//! | --- | --- |
//! | a timeout, not the first, this long after the first retransmission (`retransmits_timed_out`) | `gives_up` |
//! | the next timeout is not later than that (`tcp_clamp_rto_to_user_timeout`) | `clamped_rto` |
//! | a window probe this long after the first (`tcp_probe_timer`), answered or not | `gives_up_probing` |
//! | the next probe is not later than that (`tcp_clamp_probe0_to_user_timeout`) | `clamped_probe` |
//! | retransmission limit without it (`tcp_retries2`, 15 minutes) | no: unlimited |
//! | during connection setup | no |

use super::{Phase, Sender};
use crate::timestamp_ms;
use dumbbell_core::time::Time;

/// Minimum of the timers, in ticks (`TCP_TIMEOUT_MIN`).
const LEAST_TICKS: u64 = 2;
const NS_PER_MS: u64 = 1_000_000;

/// State of the user timeout.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct UserTimeout {
    /// 0 for none.
    limit_ms: u32,
    /// When the first of consecutive window probes was due (`icsk_probes_tstamp`).
    probing_since: Option<Time>,
    has_expired: bool,
}

impl Sender {
    /// Sets it, milliseconds; 0 for none.
    pub fn set_user_timeout(&mut self, limit_ms: u32) {
        self.rare.user_timeout.limit_ms = limit_ms;
    }

    /// Whether it has expired: nothing is sent any more.
    pub fn has_given_up(&self) -> bool {
        self.rare.user_timeout.has_expired
    }

    fn give_up(&mut self) {
        self.rare.user_timeout.has_expired = true;
        self.phase = Phase::Closed;
    }

    /// Time since the first retransmission, milliseconds.
    fn unrepaired_ms(&self, now: Time) -> u32 {
        let since_ms = self.rare.repair.undo.first_retransmitted_ms();
        since_ms.map_or(0, |since_ms| timestamp_ms(now).wrapping_sub(since_ms))
    }

    /// At a retransmission timeout: whether to give up.
    pub(super) fn gives_up(&mut self, now: Time) -> bool {
        let limit_ms = self.rare.user_timeout.limit_ms;
        let gives_up =
            limit_ms > 0 && self.timers.retransmits > 0 && self.unrepaired_ms(now) >= limit_ms;
        if gives_up {
            self.give_up();
        }
        gives_up
    }

    /// The timeout after a timeout, limited to the remaining time.
    pub(super) fn clamped_rto(&self, rto: Time, now: Time) -> Time {
        match self.rare.user_timeout.limit_ms {
            0 => rto,
            limit_ms => match limit_ms.saturating_sub(self.unrepaired_ms(now)) {
                0 => self.ticks(1),
                left_ms => rto.min(Time::from_ns(u64::from(left_ms) * NS_PER_MS)),
            },
        }
    }

    /// At a window probe: whether to give up.
    pub(super) fn gives_up_probing(&mut self, now: Time) -> bool {
        let user_timeout = &mut self.rare.user_timeout;
        let limit = Time::from_ns(u64::from(user_timeout.limit_ms) * NS_PER_MS);
        let since = *user_timeout.probing_since.get_or_insert(now);
        let gives_up = user_timeout.limit_ms > 0 && since < now && now - since >= limit;
        if gives_up {
            self.give_up();
        }
        gives_up
    }

    /// The window is open, or data is outstanding.
    pub(super) fn end_probing(&mut self) {
        self.rare.user_timeout.probing_since = None;
    }

    /// The limited wait until the next probe.
    pub(super) fn clamped_probe(&self, wait: Time, now: Time) -> Time {
        let user_timeout = &self.rare.user_timeout;
        match (user_timeout.limit_ms, user_timeout.probing_since) {
            (0, _) | (_, None) => wait,
            (limit_ms, Some(since)) => {
                let limit = Time::from_ns(u64::from(limit_ms) * NS_PER_MS);
                let left = limit.saturating_sub(now.saturating_sub(since));
                wait.min(left.max(self.ticks(LEAST_TICKS)))
            }
        }
    }

    fn ticks(&self, ticks: u64) -> Time {
        Time::from_ns(ticks * 1_000_000_000 / u64::from(self.settings.timer_hz))
    }
}
