//! Acknowledgements whose timestamps are old (PAWS, RFC 7323 section 5).

use super::Sender;
use crate::paws::Recent;
use crate::segment::{Flags, Segment};
use dumbbell_core::time::Time;

impl Sender {
    /// Leaves the refusal of old timestamps to the `Receiver` of the same end.
    pub fn for_both_directions(mut self) -> Sender {
        self.is_one_way = false;
        self
    }

    pub(super) fn refuses_timestamp(&self, segment: &Segment) -> bool {
        let is_refused = self.recent.refuses(segment.timestamps, &self.settings);
        is_refused && !self.is_overtaken_duplicate(segment, self.recent, self.peer_next)
    }

    /// Whether a segment with an old timestamp is a reordered duplicate acknowledgement, which is accepted
    /// (`tcp_disordered_ack`). `recent_ms` is TS.Recent, and `next` the expected sequence number, of this
    /// end's `Receiver`.
    pub fn takes_though_old(&self, segment: &Segment, recent_ms: u32, next: u64) -> bool {
        self.is_overtaken_duplicate(segment, Recent::of_ms(recent_ms), next)
    }

    fn is_overtaken_duplicate(&self, segment: &Segment, recent: Recent, next: u64) -> bool {
        let is_pure = segment.flags.has(Flags::ACK) && segment.end() == segment.seq;
        let is_duplicate = segment.seq == next && segment.ack == self.una;
        let opens =
            segment.seq > self.window_seq || segment.window_bytes > u64::from(self.window_bytes);
        is_pure
            && is_duplicate
            && !opens
            && recent.may_be_overtaken(segment.timestamps, self.timers.rto)
    }

    /// A segment that PAWS refuses is answered and dropped (RFC 7323 section 5.3, R1).
    pub(super) fn on_old_timestamp(&mut self, segment: &Segment, now: Time) {
        let carries = segment.end() > segment.seq;
        self.must_ack |= carries || self.rare.last_answer.may_follow(&self.settings, now);
    }
}
