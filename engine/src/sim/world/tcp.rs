//! What hosts do for flows over TCP: wake them, hand them what arrives, send what they give.

use super::World;
use crate::sim::packet::{Kind, Packet};
use crate::traffic::conversation::Sender;
use crate::traffic::tcp_flow::Outgoing;

impl World {
    /// A timer of a flow may be due, or its source acts.
    #[inline(never)]
    pub(super) fn wake_tcp(&mut self, index: usize) {
        let (now, warm_up) = (self.now, self.warm_up);
        let conversation = &mut self.conversations[index];
        if let Sender::Tcp(flow) = &mut conversation.sender {
            let writes = flow.wake(now);
            if now >= warm_up {
                conversation.datagrams.sent += u64::from(writes);
            }
        }
        self.send_tcp(index);
    }

    #[inline(never)]
    pub(super) fn deliver_tcp(&mut self, packet: Packet) {
        let (now, warm_up) = (self.now, self.warm_up);
        let index = packet.conversation as usize;
        let conversation = &mut self.conversations[index];
        if packet.is_reply() {
            conversation.counters_of(&packet).delivered(&packet);
        } else {
            conversation.count_delivered(&packet, now, warm_up);
        }
        if let Sender::Tcp(flow) = &mut conversation.sender {
            let is_marked = packet.has_congestion_mark();
            let place = packet.segment_place();
            let payload = flow.on_packet(place, packet.is_reply(), is_marked, now);
            conversation.count_payload(payload, now, warm_up);
        }
        self.send_tcp(index);
    }

    /// Sends what a flow has to send, and notes when it is to be woken.
    fn send_tcp(&mut self, index: usize) {
        let now = self.now;
        while let Sender::Tcp(flow) = &mut self.conversations[index].sender
            && let Some(outgoing) = flow.poll(now)
        {
            self.send_segment(index, outgoing);
        }
        if let Sender::Tcp(flow) = &mut self.conversations[index].sender
            && let Some(due) = flow.rearm(now)
        {
            let leaf = self.first_source_leaf + index;
            self.tournament.set(leaf, due);
        }
    }

    fn send_segment(&mut self, index: usize, outgoing: Outgoing) {
        let (now, warm_up) = (self.now, self.warm_up);
        let conversation = &mut self.conversations[index];
        let new = Packet::new(
            Kind::Tcp,
            index as u32,
            outgoing.number,
            outgoing.bytes,
            now,
        );
        let mut packet = if outgoing.is_reply {
            new.into_reply()
        } else {
            new
        };
        packet.traffic_class = conversation.traffic_class;
        let packet = packet.with_segment(outgoing.place, outgoing.is_ecn_capable);
        conversation.counters_of(&packet).created(&packet);
        if outgoing.is_reply {
            let link = self
                .routes
                .next(conversation.row_back, conversation.destination);
            self.offer(link as usize, packet);
            return;
        }
        if now >= warm_up {
            conversation.first_sent.get_or_insert(now);
            conversation.datagrams.sent_payload_bytes += u64::from(outgoing.new_payload_bytes);
        }
        let link = conversation.first_link as usize;
        self.offer(link, packet);
    }
}
