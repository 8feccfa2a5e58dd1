//! What hosts do: send what is due, count what arrives, answer echo requests.

use super::World;
use crate::sim::packet::{Kind, Packet};
use crate::sim::time::Time;
use crate::spec::SizeAt;
use crate::traffic::conversation::Sender;
use crate::traffic::datagram;

impl World {
    #[inline(always)]
    pub(super) fn send_from(&mut self, index: usize) {
        let now = self.now;
        let conversation = &mut self.conversations[index];
        match &mut conversation.sender {
            Sender::Udp(generator) => {
                let (size, size_at) = (generator.next_size(), generator.size_at());
                let gap = generator.next_gap();
                self.schedule_after(index, gap);
                self.send_datagram(index, size, size_at);
            }
            Sender::Ping(ping) => {
                let (number, gap) = ping.send(now);
                let bytes = ping.packet_bytes;
                self.schedule_after(index, gap);
                let packet = Packet::new(Kind::Echo, index as u32, number, bytes, now);
                self.create(index, packet);
            }
        }
    }

    /// The source sends next after this gap, if ever.
    #[inline(always)]
    fn schedule_after(&mut self, index: usize, gap: Option<Time>) {
        let next = gap.map_or(Time::NEVER, |gap| self.now.saturating_add(gap));
        self.schedule_source(index, next);
    }

    #[inline(always)]
    fn send_datagram(&mut self, index: usize, size: u32, size_at: SizeAt) {
        let (now, warm_up) = (self.now, self.warm_up);
        let conversation = &mut self.conversations[index];
        let number = conversation.number_datagram(size, now, warm_up);
        match size_at {
            SizeAt::Wire => {
                let packet = Packet::new(Kind::Udp, index as u32, number, size as u16, now);
                self.create(index, packet.with_size_on_wire());
            }
            SizeAt::Payload => {
                let mtu = conversation.mtu_bytes;
                for packet in datagram::packets(index as u32, number, size, mtu, now) {
                    self.create(index, packet);
                }
            }
        }
    }

    /// A host hands a packet to the network.
    #[inline(always)]
    fn create(&mut self, index: usize, packet: Packet) {
        let conversation = &mut self.conversations[index];
        let packet = conversation.create(packet);
        let link = conversation.first_link as usize;
        self.offer(link, packet);
    }

    #[inline]
    pub(super) fn count_dropped(&mut self, packet: &Packet) {
        let counters = &mut self.conversations[packet.conversation as usize].counters;
        counters.dropped(packet);
    }

    #[inline]
    pub(super) fn deliver(&mut self, packet: Packet, host: u32) {
        let (now, warm_up) = (self.now, self.warm_up);
        let conversation = &mut self.conversations[packet.conversation as usize];
        match &mut conversation.sender {
            Sender::Udp(_) => conversation.receive(&packet, now, warm_up),
            Sender::Ping(ping) => {
                conversation.counters.delivered(&packet);
                if packet.is_reply() {
                    ping.receive(packet.number, now);
                } else {
                    self.answer(packet, host);
                }
            }
        }
    }

    /// The answer to an echo request is a new packet of the same size.
    pub(super) fn answer(&mut self, packet: Packet, host: u32) {
        let counters = &mut self.conversations[packet.conversation as usize].counters;
        counters.created(&packet);
        let mut reply = packet.into_reply();
        reply.created = self.now;
        self.arriving.push_back((reply, host));
    }
}
