//! Header prediction: the expected next data without anything else (V. Jacobson, "4BSD TCP header
//! prediction", 1990; `tcp_rcv_established`).
//!
//! Nearly every segment of a bulk transfer is of this kind. The checks of `on_established` would find
//! nothing, so they are skipped. Debug builds take both paths and compare.

use super::{Phase, Receiver};
use crate::segment::{Flags, Header};
use dumbbell_core::time::Time;

impl Receiver {
    /// Whether a segment is the expected one, for which `on_established` would only accept the data.
    #[inline(always)]
    pub(super) fn expects(&self, header: &Header) -> bool {
        header.seq == self.data.next()
            && header.flags.without(Flags::PSH) == Flags::ACK
            && header.payload_bytes > 0
            && header.ack == u64::from(self.own_next)
            && self.phase == Phase::Established
            && self.closes_at_end
            && self.is_reading
            && !self.ecn
            && !self.recent.is_behind(header.timestamps)
            && self.data.is_open_and_whole()
            && self.window.offered(self.data.next(), self.acknowledged) > 0
    }

    /// Accepts an expected segment.
    #[inline(always)]
    pub(super) fn on_expected(&mut self, header: &Header, now: Time) {
        if header.seq <= self.acknowledged {
            self.recent.take(header.timestamps);
        }
        self.data
            .go_on_to(header.seq + u64::from(header.payload_bytes));
        self.on_data_in_order(header, now);
        self.check_acknowledgement(now);
        self.wake_reader(header.payload_bytes, now);
    }
}
