//! Counts drops and marks of disciplines, and checks that every created packet is delivered, dropped or still
//! in the network.

use super::World;
use crate::net::link::Link;
use crate::observe::records::Event;
use crate::sim::packet::PacketKind;
use crate::traffic::counters::PacketCounters;

impl World {
    /// Counts and records the events of a discipline.
    #[inline(never)]
    pub(super) fn record_qdisc_events(&mut self, index: usize) {
        let events = self.links[index].take_events();
        for copy in &events.duplicated {
            let conversation = &mut self.conversations[copy.conversation as usize];
            conversation.count_duplicated(copy);
            self.record(index, Event::Enqueue, 0, copy, None);
        }
        for (packet, reason) in &events.marked {
            self.record(index, Event::Mark, *reason as i8, packet, None);
        }
        for (packet, reason) in &events.dropped {
            self.record(index, Event::Drop, *reason as i8, packet, None);
            self.count_dropped(packet);
        }
        for packet in &events.delayed {
            self.leave_host_queue(packet, false);
        }
        self.links[index].return_events(events);
    }

    /// Packets and bytes in queues, transmitters, propagation and about to arrive, by conversation; for TCP
    /// those of the sender.
    pub fn in_network(&self) -> Vec<(u64, u64)> {
        self.count_in_network(|is_tcp, is_reply| !(is_tcp && is_reply))
    }

    fn count_in_network(&self, counts: impl Fn(bool, bool) -> bool) -> Vec<(u64, u64)> {
        let mut found = vec![(0, 0); self.conversations.len()];
        let arriving = self.arriving.iter().map(|arriving| &arriving.packet);
        let packets = self.links.iter().flat_map(Link::packets).chain(arriving);
        let packets = packets.flat_map(|packet| self.super_packets.segments(packet));
        for packet in packets {
            if counts(packet.kind() == PacketKind::Tcp, packet.is_reply()) {
                let (packets, bytes) = &mut found[packet.conversation as usize];
                *packets += 1;
                *bytes += u64::from(packet.bytes);
            }
        }
        found
    }

    /// Checks conservation for every conversation and for the replies of TCP receivers at this instant:
    /// created + duplicated = delivered + dropped + in the network, in packets and bytes.
    pub fn check_conservation(&self) -> Result<(), String> {
        for (index, found) in self.in_network().into_iter().enumerate() {
            self.check_counters(index, &self.conversations[index].counters(), found)?;
        }
        let replies = self.count_in_network(|is_tcp, is_reply| is_tcp && is_reply);
        for (index, found) in replies.into_iter().enumerate() {
            self.check_counters(index, &self.conversations[index].replies(), found)?;
        }
        Ok(())
    }

    fn check_counters(
        &self,
        conversation: usize,
        counted: &PacketCounters,
        (packets, bytes): (u64, u64),
    ) -> Result<(), String> {
        let accounted = (
            counted.delivered.pkts + counted.dropped.pkts + packets,
            counted.delivered.bytes + counted.dropped.bytes + bytes,
        );
        let made = (
            counted.created.pkts + counted.duplicated.pkts,
            counted.created.bytes + counted.duplicated.bytes,
        );
        if accounted == made {
            return Ok(());
        }
        Err(format!(
            "at {} ns conversation {conversation} created {counted:?} but {packets} packets and {bytes} bytes are in the network",
            self.now.as_ns()
        ))
    }
}
