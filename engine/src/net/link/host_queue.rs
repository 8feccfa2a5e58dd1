//! Operations of a link for senders of its own host: GSO packets.

use super::{Link, OfferOutcome};
use crate::sim::packet::Packet;
use crate::sim::time::Time;

impl Link {
    /// Whether senders of its host hand down GSO packets to a place where packets may wait.
    #[inline(always)]
    pub fn takes_gso_packets(&self) -> bool {
        self.queued.takes_gso_packets()
    }

    /// Whether its discipline takes these TCP segments as one packet.
    pub fn takes_whole(&self, segments: &[Packet]) -> bool {
        self.queued.takes_whole(segments)
    }

    /// Offers TCP segments to the queue as one packet, as `offer` does.
    pub fn offer_gso(&mut self, segments: &mut [Packet], now: Time) -> OfferOutcome {
        for segment in &mut *segments {
            segment.arrived = now;
        }
        let answer = self.queued.offer_gso(segments, now);
        for segment in segments {
            let bytes = segment.wire_bytes(self.overhead_bytes);
            self.statistics.total.arrived(bytes);
            if let Err(reason) = answer {
                self.statistics.total.dropped(bytes, reason);
            }
        }
        answer.map_or_else(OfferOutcome::Dropped, |()| OfferOutcome::Taken)
    }
}
