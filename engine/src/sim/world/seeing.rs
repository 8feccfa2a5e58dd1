//! Writing down what passes: records of packets, and captures.

use super::World;
use crate::capture::Place;
use crate::sim::packet::Packet;
use crate::sim::records::Event;
use crate::sim::time::Time;

impl World {
    /// A packet's transmission may have begun.
    #[inline(never)]
    pub(super) fn see_begun(&mut self, index: usize) {
        if let Some(packet) = self.links[index].begun.take() {
            self.see(index, Place::After, &packet);
        }
    }

    #[inline(never)]
    pub(super) fn see(&mut self, link: usize, place: Place, packet: &Packet) {
        if let Some(capture) = &mut self.capture {
            let conversation = &self.conversations[packet.conversation as usize];
            capture.see(self.now, link, place, packet, conversation);
        }
    }

    #[inline(always)]
    pub(super) fn record(
        &mut self,
        link: usize,
        event: Event,
        reason: i8,
        packet: &Packet,
        sojourn: Option<Time>,
    ) {
        let link_end = &self.links[link];
        if !link_end.record_packets {
            return;
        }
        let bytes = packet.wire_bytes(link_end.overhead_bytes);
        let level = link_end.level();
        self.records
            .push(self.now, link, event, reason, packet, bytes, level, sojourn);
    }
}
