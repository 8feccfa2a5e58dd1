//! Congestion marks (RFC 3168, RFC 8257 section 3.2).

use super::Receiver;
use crate::segment::{Flags, Header};
use dumbbell_core::time::Time;

impl Receiver {
    /// RFC 3168 section 6.1.3.
    pub(super) fn check_mark(&mut self, segment: &Header) {
        if !self.ecn || self.settings.echoes_each_mark() {
            return;
        }
        if segment.flags.has(Flags::CE) {
            if !self.echoes_mark {
                self.acknowledging
                    .enter_quick_mode_for(2, &self.settings, &self.window);
            }
            self.echoes_mark = true;
            self.has_seen_ect = true;
        } else if segment.flags.has(Flags::ECT) {
            self.has_seen_ect = true;
        } else if self.has_seen_ect {
            // What is sent again is not ECN-capable.
            self.acknowledging
                .enter_quick_mode_for(2, &self.settings, &self.window);
        }
    }

    /// RFC 8257 section 3.2, before a segment is entered: an acknowledgement echoes the mark of all
    /// that it acknowledges. Where marks begin or end, what waits for one is acknowledged first, with
    /// the mark that it had, and the segment at once.
    pub(super) fn separate_marks(&mut self, segment: &Header, now: Time) {
        let is_marked = segment.flags.has(Flags::CE);
        let may_differ = self.ecn && self.settings.echoes_each_mark() && segment.payload_bytes > 0;
        if !may_differ || is_marked == self.echoes_mark {
            return;
        }
        if self.data.next() > self.acknowledged && self.rare.early.is_none() {
            let early = self.acknowledgement(u64::from(self.own_next), Flags::ACK, now);
            self.rare.early = Some(early);
            self.has_more_to_say = true;
        }
        self.echoes_mark = is_marked;
        self.acknowledging.is_due = true;
    }
}
