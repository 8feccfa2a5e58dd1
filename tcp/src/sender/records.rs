//! Records: the application says that one ends, and its last segment takes nothing of what is written next
//! (`MSG_EOR`, send(2)).
//!
//! | Linux 6.1 | here |
//! | --- | --- |
//! | a write begins another sk_buff behind a record's last (`tcp_skb_can_collapse_to`) | `write_record` |
//! | a record may begin in the segment of the write before it, if that is not full | yes |
//! | that segment is sent alone when it is lost (`tcp_retrans_try_collapse`) | yes: segments stay as they are |
//! | its end waits for no more (`tcp_should_autocork`), but for Nagle's algorithm while it is the last | yes |

use super::Sender;
use super::cork::CorkedTail;
use super::write_queue::{FollowedBy, WriteBound};
use dumbbell_core::time::Time;

impl Sender {
    /// As `write`, and what is written next begins another segment.
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

    /// What was written last, which is so much, ends with a record.
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

    /// Where the segment begins that a write goes on with, or its own first one.
    pub(super) fn segment_start(&self) -> u64 {
        let unsent_from = self.next.max(1).min(self.written);
        // Most senders have none, and what is rare is not in the cache.
        let last = self.is_cut.then(|| self.rare.record_ends.last().copied());
        let from = unsent_from.max(last.flatten().unwrap_or(0));
        self.written - (self.written - from) % u64::from(self.settings.mss_bytes)
    }

    /// The next segment that is sent ends with the record that it is of, or where a probe of the window has cut it.
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
