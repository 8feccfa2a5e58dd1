//! Records: the last segment of a record contains no data of the next write (`MSG_EOR`, send(2)).
//!
//! | Linux 6.1 | here |
//! | --- | --- |
//! | a write after a record starts a new sk_buff (`tcp_skb_can_collapse_to`) | `write_record` |
//! | a record may start in the last segment of the previous write, if that is not full | yes |
//! | the last segment of a record is retransmitted alone (`tcp_retrans_try_collapse`) | yes: segments keep their boundaries |
//! | its end is not corked (`tcp_should_autocork`), except by Nagle's algorithm while it is the last | yes |

use super::Sender;
use super::cork::CorkedTail;
use super::write_queue::{FollowedBy, WriteBound};
use dumbbell_core::time::Time;

impl Sender {
    /// As `write`; the next write starts a new segment.
    pub fn write_record(&mut self, bytes: u64, now: Time) {
        match self.bursts.is_some() {
            true => {
                self.begin_write(now);
                self.write_in_bursts(bytes, WriteBound::None, FollowedBy::Record);
            }
            false => {
                self.write(bytes, now);
                self.end_record(bytes);
            }
        }
    }

    /// The last write, of this size, ends a record.
    pub(super) fn end_record(&mut self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.corked = CorkedTail::No;
        let una = self.una;
        self.rare.record_ends.retain(|end| *end > una);
        self.rare.record_ends.push(self.written);
        if self.bursts.is_none() {
            self.find_record_end();
        }
    }

    /// Whether a record ends there.
    pub(super) fn ends_record(&self, end: u64) -> bool {
        self.rare.record_ends.contains(&end)
    }

    /// Start of the segment that a write continues, or of its first one.
    pub(super) fn segment_start(&self) -> u64 {
        let unsent_from = self.next.max(1).min(self.written);
        // Most senders have no records, and cold state is not in the cache.
        let last = self.is_cut.then(|| self.rare.record_ends.last().copied());
        let from = unsent_from.max(last.flatten().unwrap_or(0));
        self.written - (self.written - from) % u64::from(self.settings.mss_bytes)
    }

    /// Finds the end of the next segment: of its record, or where a window probe has split it.
    pub(super) fn find_record_end(&mut self) {
        let goes_on = self.goes_on_with_cut();
        let next = self.next;
        let mut ends = self.rare.record_ends.iter().copied();
        match ends.find(|end| *end > next) {
            Some(end) if !goes_on || end < self.rare.cut => {
                (self.rare.cut, self.is_cut) = (end, true)
            }
            _ => self.is_cut = goes_on,
        }
    }
}
