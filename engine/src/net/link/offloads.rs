//! What a link does with super-packets: sends them as they are, or has frames merged at its far end.

use super::{Link, TransmittedPacket};
use crate::net::queued::Transmission;
use crate::sim::packet::Packet;
use crate::sim::time::Time;

impl Link {
    /// The transmission of a packet of several segments ends: it is lost as one, by chance or by
    /// count, and its segments have all left at once.
    #[cold]
    pub(super) fn finish_whole(
        &mut self,
        sent: Transmission,
        now: Time,
        warm_up: Time,
    ) -> TransmittedPacket {
        let Transmission {
            packet, service, ..
        } = sent;
        for segment in self.queued.segments(&packet) {
            let bytes = segment.wire_bytes(self.overhead_bytes);
            self.statistics
                .departed(bytes, packet.arrived, service, now, warm_up);
        }
        let lost = self.queued.loses();
        self.statistics.total.lost_pkts += u64::from(lost) * u64::from(packet.segments());
        TransmittedPacket {
            packet,
            lost,
            sojourn: now - packet.arrived,
        }
    }

    /// The segments of a packet whose transmission is over.
    pub fn take_whole(&mut self, packet: &Packet) -> Vec<Packet> {
        self.queued.take_whole(packet)
    }

    /// Whether frames are merged at its far end.
    pub fn has_gro(&self) -> bool {
        self.queued.gro.is_some()
    }

    /// A packet has come to the far end, where frames are merged. Returns when they are to be taken,
    /// if it is the first of them.
    pub fn gather(&mut self, packet: Packet, now: Time) -> Option<Time> {
        self.queued.gro.as_mut()?.gather(packet, now)
    }

    /// Takes what has come to the far end since the last time.
    pub fn take_gathered(&mut self) -> Vec<Packet> {
        let gro = self.queued.gro.as_mut();
        gro.map(|gro| gro.take()).unwrap_or_default()
    }

    /// Packets that have left the queue and are not at the other host. Of those that are several
    /// segments the world knows which.
    pub fn under_way(&self) -> impl Iterator<Item = &Packet> {
        let gathered = self.queued.gro.iter().flat_map(|gro| gro.gathered());
        self.propagation.packets().chain(gathered)
    }
}
