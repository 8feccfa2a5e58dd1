//! Hosts: send what is due, count arrivals, answer echo requests.

use super::World;
use crate::sim::datagram;
use crate::sim::packet::{Packet, PacketKind};
use crate::spec::SizeAt;
use crate::traffic::conversation::Application;

impl World {
    #[inline(always)]
    pub(super) fn send_from(&mut self, index: usize) {
        let (now, warm_up) = (self.now, self.warm_up);
        let conversation = &mut self.conversations[index];
        match &mut conversation.application {
            Application::Udp(generator) => {
                let (size, gap) = (generator.next_size(), generator.next_gap());
                let due = conversation.due_after(gap, now);
                self.tournament.set(self.first_source_leaf + index, due);
                let number = conversation.number_datagram(size, now, warm_up);
                match conversation.size_at {
                    // One packet, created here while its conversation is in the cache.
                    SizeAt::Wire => {
                        let bytes = size as u16;
                        let packet = Packet::new(PacketKind::Udp, index as u32, number, bytes, now);
                        let packet = conversation.create(packet.with_size_on_wire());
                        let link = conversation.first_link as usize;
                        self.offer(link, packet);
                    }
                    SizeAt::Payload => self.send_fragments(index, number, size),
                }
            }
            Application::Ping(ping) => {
                let (number, gap) = ping.send(now);
                let bytes = ping.packet_bytes;
                let due = conversation.due_after(gap, now);
                self.tournament.set(self.first_source_leaf + index, due);
                let packet = Packet::new(PacketKind::Echo, index as u32, number, bytes, now);
                self.create(index, packet);
            }
            Application::Tcp(_) => self.wake_tcp(index),
        }
    }

    /// Sends a datagram in as many packets as the MTU of its path requires.
    fn send_fragments(&mut self, index: usize, number: u32, payload_bytes: u32) {
        let mtu = self.conversations[index].mtu_bytes;
        let is_cut = payload_bytes + datagram::IP_HEADER_BYTES + datagram::UDP_HEADER_BYTES > mtu;
        if is_cut && let Some(capture) = &mut self.capture {
            capture.note_fragmented(index as u32, number, payload_bytes);
        }
        for packet in datagram::packets(index as u32, number, payload_bytes, mtu, self.now) {
            // Fragments count as events, like packets that a source sends one by one.
            self.events += u64::from(packet.fragment_index() > 0);
            self.create(index, packet);
        }
    }

    /// A host sends a packet into the network.
    #[inline]
    fn create(&mut self, index: usize, packet: Packet) {
        let conversation = &mut self.conversations[index];
        let packet = conversation.create(packet);
        let link = conversation.first_link as usize;
        self.forward(link, packet);
    }

    #[inline]
    pub(super) fn count_dropped(&mut self, packet: &Packet) {
        self.leave_host_queue(packet, false);
        let conversation = &mut self.conversations[packet.conversation as usize];
        conversation.count_dropped(packet);
    }

    #[inline]
    pub(super) fn deliver(&mut self, packet: &Packet, host: u32) {
        let (now, warm_up) = (self.now, self.warm_up);
        let conversation = &mut self.conversations[packet.conversation as usize];
        match &mut conversation.application {
            Application::Udp(_) => conversation.receive(packet, now, warm_up),
            Application::Ping(ping) => {
                if packet.is_reply() {
                    ping.receive(packet.number, now);
                }
                conversation.count_echo(packet);
                if !packet.is_reply() {
                    self.answer(*packet, host);
                }
            }
            Application::Tcp(_) => self.deliver_tcp(packet),
        }
    }

    /// The reply to an echo request is a new packet of the same size.
    pub(super) fn answer(&mut self, packet: Packet, host: u32) {
        self.conversations[packet.conversation as usize].count_created(&packet);
        let mut reply = packet.into_reply();
        reply.created = self.now;
        self.queue_host_arrival(reply, host);
    }
}
