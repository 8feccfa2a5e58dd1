//! The application holds back the end of what it has written, until it writes more: for once (`MSG_MORE`), or
//! until it says otherwise (`TCP_CORK`, tcp(7)).
//!
//! | Linux 6.1 | here |
//! | --- | --- |
//! | a segment that is not full waits for the rest of this write (`tcp_push` with `TCP_NAGLE_CORK`) | `write_more` |
//! | so do those of all writes (`tp->nonagle`) | `set_cork` |
//! | `TCP_NODELAY` lets go what waits, whatever holds it (`TCP_NAGLE_PUSH`) | `release_corked` |
//! | with nothing out it waits as long as a probe of the window (`tcp_check_probe_timer`) | `watch_window` |

use super::write_queue::{FollowedBy, WriteBound};
use super::{PollHint, Sender};
use dumbbell_core::time::Time;

/// What of the last write waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CorkedTail {
    /// Nothing.
    No,
    /// Its last segment, if it is not full.
    End,
    /// All that is left of it: an sk_buff that is not full.
    All,
}

/// What `TCP_CORK` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cork {
    /// Nothing.
    Off,
    /// It holds the end back.
    On,
    /// What was written before goes; the next write is held.
    Lifted,
}

impl Sender {
    /// As `write`, and more will be written: the last segment waits for it, if it is not full, and has no PSH.
    pub fn write_more(&mut self, bytes: u64, now: Time) {
        self.begin_write(now);
        match self.bursts.is_some() {
            true => self.write_in_bursts(bytes, WriteBound::None, FollowedBy::More),
            false => {
                self.written += bytes;
                self.corked = CorkedTail::End;
            }
        }
    }

    /// The end of each write waits from now on, or no more (`TCP_CORK`).
    pub fn set_cork(&mut self, on: bool) {
        self.quiet = PollHint::No;
        self.corked = CorkedTail::No;
        self.cork = if on { Cork::On } else { Cork::Off };
    }

    /// What is held back goes now.
    pub fn release_corked(&mut self) {
        self.quiet = PollHint::No;
        self.corked = CorkedTail::No;
        self.lift_cork(Cork::On, Cork::Lifted);
    }

    /// A write begins: what it adds is held again.
    pub(super) fn cork_again(&mut self) {
        self.lift_cork(Cork::Lifted, Cork::On);
    }

    fn lift_cork(&mut self, from: Cork, to: Cork) {
        if self.cork == from {
            self.cork = to;
        }
    }

    /// Whether the application holds back a segment that is not full.
    pub(super) fn corks_small_segment(&self) -> bool {
        (self.corked != CorkedTail::No || self.cork == Cork::On) && !self.is_closing
    }

    /// Whether nothing but that keeps the next segment from being sent.
    pub(super) fn corks_next(&self) -> bool {
        self.corks_small_segment() && self.next_bytes() < self.settings.mss_bytes
    }
}
