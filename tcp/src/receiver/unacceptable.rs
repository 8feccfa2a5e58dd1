//! Segments that are dropped: outside the window, with an old timestamp, or that acknowledge data never sent.

use super::Receiver;
use crate::segment::{Flags, Header};
use dumbbell_core::time::Time;

impl Receiver {
    /// RFC 9293 section 3.10.7.4, fifth check: a segment that acknowledges unsent data is dropped. With data
    /// in both directions the sender checks it.
    pub(super) fn is_of_the_unsent(&self, segment: &Header) -> bool {
        let is_one_way = self.closes_at_end;
        is_one_way && segment.flags.has(Flags::ACK) && segment.ack > u64::from(self.own_next)
    }

    /// RFC 9293 section 3.10.7.4, first check, as in `tcp_sequence`.
    pub(super) fn is_in_window(&self, segment: &Header) -> bool {
        let right = self.data.next() + self.window.offered(self.data.next(), self.acknowledged);
        segment.end() >= self.acknowledged && segment.seq <= right
    }

    /// Whether PAWS refuses a segment. With data in both directions, `Sender::takes_though_old` has
    /// exceptions.
    pub fn refuses_timestamp(&self, segment: &Header) -> bool {
        self.recent.refuses(segment.timestamps, &self.settings)
    }

    /// TS.Recent, milliseconds; 0 before the first.
    pub fn recent_timestamp_ms(&self) -> u32 {
        self.recent.ms()
    }

    /// A segment that PAWS refuses is answered and dropped (RFC 7323 section 5.3, R1).
    pub fn on_old_timestamp(&mut self, segment: &Header, now: Time) {
        let carries = segment.end() > segment.seq;
        let own_next = u64::from(self.own_next);
        let is_duplicate = segment.seq == self.data.next() && segment.ack == own_next;
        if carries || (!is_duplicate && self.rare.last_answer.may_follow(&self.settings, now)) {
            self.on_out_of_window(segment);
        }
    }

    pub(super) fn on_out_of_window(&mut self, segment: &Header) {
        if segment.end() > segment.seq && segment.seq < self.data.next() {
            self.acknowledging
                .enter_quick_mode(&self.settings, &self.window);
            self.report_duplicate(segment.seq, segment.end().min(self.data.next()));
        }
        self.must_ack = true;
    }
}
