//! Operations of a link on super-packets: TSO at the sending end, GRO at the far end.

use super::{Link, TransmittedPacket};
use crate::net::queued::Transmission;
use crate::sim::packet::Packet;
use crate::sim::time::Time;

impl Link {
    /// Ends the transmission of a GSO packet: it is lost as a whole, at random or by count, and counts as its
    /// segments.
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

    /// The segments of a packet whose transmission has ended.
    pub fn take_whole(&mut self, packet: &Packet) -> Vec<Packet> {
        self.queued.take_whole(packet)
    }

    /// Whether frames are merged at its far end.
    pub fn has_gro(&self) -> bool {
        self.queued.gro.is_some()
    }

    /// Adds a packet at the far end. For the first one, returns the time of the poll.
    pub fn gather(&mut self, packet: Packet, now: Time) -> Option<Time> {
        self.queued.gro.as_mut()?.gather(packet, now)
    }

    /// Takes the packets gathered at the far end since the last poll.
    pub fn take_gathered(&mut self) -> Vec<Packet> {
        let gro = self.queued.gro.as_mut();
        gro.map(|gro| gro.take()).unwrap_or_default()
    }

    /// Packets that have left the queue and not reached the other host. The world knows which are
    /// super-packets.
    pub fn under_way(&self) -> impl Iterator<Item = &Packet> {
        let gathered = self.queued.gro.iter().flat_map(|gro| gro.gathered());
        self.propagation.packets().chain(gathered)
    }
}
