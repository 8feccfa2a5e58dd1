//! Corking: the application holds back the end of a write until it writes more, once (`MSG_MORE`) or until it
//! is turned off (`TCP_CORK`, tcp(7)).
//!
//! | Linux 6.1 | here |
//! | --- | --- |
//! | a segment that is not full waits for the rest of this write (`tcp_push` with `TCP_NAGLE_CORK`) | `write_more` |
//! | the same for all writes (`tp->nonagle`) | `set_cork` |
//! | `TCP_NODELAY` sends held data, whatever holds it (`TCP_NAGLE_PUSH`) | `release_corked` |
//! | with nothing outstanding it is held for the time of a window probe (`tcp_check_probe_timer`) | `watch_window` |

use super::write_queue::{FollowedBy, WriteBound};
use super::{PollHint, Sender};
use dumbbell_core::time::Time;

/// The held part of the last write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CorkedTail {
    /// Nothing.
    No,
    /// Its last segment, if it is not full.
    End,
    /// All of it: an sk_buff that is not full.
    All,
}

/// State of `TCP_CORK`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cork {
    /// Nothing.
    Off,
    /// It holds the end back.
    On,
    /// Data written before is sent; the next write is held.
    Lifted,
}

impl Sender {
    /// As `write` with `MSG_MORE`: the last segment, if not full, is held and has no PSH.
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

    /// Turns `TCP_CORK` on or off.
    pub fn set_cork(&mut self, on: bool) {
        self.quiet = PollHint::No;
        self.corked = CorkedTail::No;
        self.cork = if on { Cork::On } else { Cork::Off };
    }

    /// Sends held data now.
    pub fn release_corked(&mut self) {
        self.quiet = PollHint::No;
        self.corked = CorkedTail::No;
        self.lift_cork(Cork::On, Cork::Lifted);
    }

    /// A write begins: its data is held again.
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

    /// Whether this is the only reason why the next segment is not sent.
    pub(super) fn corks_next(&self) -> bool {
        self.corks_small_segment() && self.next_bytes() < self.settings.mss_bytes
    }
}
