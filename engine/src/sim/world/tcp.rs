//! TCP flows at hosts: timers, arriving segments, and the segments they send.

use super::{NO_TSQ_WAKEUP, Turn, World, class};
use crate::net::link::PathKind;
use crate::qdisc::DropReason;
use crate::sim::packet::{Packet, PacketKind};
use crate::sim::time::Time;
use crate::traffic::connection::SentSegment;
use crate::traffic::conversation::Application;

impl World {
    /// A timer of a flow may be due, or its source acts.
    #[inline(never)]
    pub(super) fn wake_tcp(&mut self, index: usize) {
        self.catch_up_with_host_queue(index);
        let (now, warm_up) = (self.now, self.warm_up);
        let conversation = &mut self.conversations[index];
        if let Application::Tcp(flow) = &mut conversation.application {
            let writes = flow.wake(now);
            if now >= warm_up {
                conversation.count_writes(writes);
            }
        }
        self.send_tcp(index);
    }

    #[inline(never)]
    pub(super) fn deliver_tcp(&mut self, packet: &Packet) {
        if packet.is_gso() {
            return self.deliver_super_packet(packet);
        }
        let (now, warm_up) = (self.now, self.warm_up);
        let index = packet.conversation as usize;
        self.catch_up_with_host_queue(index);
        let conversation = &mut self.conversations[index];
        if packet.is_reply() {
            conversation.count_reply_delivered(packet);
        } else {
            conversation.count_delivered(packet, now, warm_up);
        }
        if let Application::Tcp(flow) = &mut conversation.application {
            let payload = flow.on_packet(packet, now);
            conversation.count_payload(payload, now, warm_up);
        }
        self.send_tcp(index);
    }

    /// Sends what a flow has to send, and schedules its next wakeup.
    #[inline(never)]
    pub(super) fn send_tcp(&mut self, index: usize) {
        let now = self.now;
        while let Application::Tcp(flow) = &mut self.conversations[index].application
            && let Some(sent) = flow.poll(now)
        {
            self.send_segment(index, &sent);
        }
        debug_assert!(self.segments.is_empty(), "an sk_buff has an end");
        self.rearm_tcp(index);
    }

    /// Schedules the next wakeup of a flow. A wakeup at this very instant is that of its application reading;
    /// usually it is the only one, and then it does not go through the tournament.
    #[inline]
    fn rearm_tcp(&mut self, index: usize) {
        let now = self.now;
        let Application::Tcp(flow) = &mut self.conversations[index].application else {
            return;
        };
        let due = flow.due();
        if due <= now && flow.is_armed_after(now) && self.tsq_wakeup == NO_TSQ_WAKEUP {
            self.tsq_wakeup = (now, Turn::new(class::SOURCE, index as u32).0);
        } else if let Some(due) = flow.rearm(due, now) {
            let leaf = self.first_source_leaf + index;
            self.tournament.set(leaf, due);
        }
    }

    /// Tells a flow which packets have left its host's queue, if the queue has no departure events.
    #[inline]
    pub(super) fn catch_up_with_host_queue(&mut self, index: usize) {
        let conversation = &mut self.conversations[index];
        if let Application::Tcp(flow) = &mut conversation.application
            && flow.has_small_queues()
        {
            // Hosts act after the departures of an instant.
            flow.catch_up_with_host_queue(self.now + Time(1));
        }
    }

    /// A queue without departure events has accepted a packet: its sender is told now when its transmission
    /// begins, if it must wait.
    #[inline(never)]
    pub(super) fn schedule_leaving(&mut self, packet: &Packet, begins_at: Option<Time>) {
        let conversation = &mut self.conversations[packet.conversation as usize];
        if let Application::Tcp(flow) = &mut conversation.application {
            let place = packet.segment_place();
            match begins_at {
                Some(at) => flow.leave_host_queue_at(place, at),
                None => {
                    flow.leave_host_queue(place, false, self.now);
                }
            }
        }
    }

    /// A link drops a packet at enqueue.
    #[inline(never)]
    pub(super) fn count_refused(&mut self, link: usize, reason: DropReason, packet: &Packet) {
        self.refused = Some((link, reason));
        self.leave_host_queue(packet, true);
        self.count_dropped(packet);
    }

    /// A packet is no longer in the queue of its sender's host: it was sent, delayed or dropped.
    #[inline]
    pub(super) fn leave_host_queue(&mut self, packet: &Packet, is_refused: bool) {
        let (now, index) = (self.now, packet.conversation as usize);
        if let Application::Tcp(flow) = &mut self.conversations[index].application
            && flow.leave_host_queue(packet.segment_place(), is_refused, now)
        {
            self.wake_in_this_instant(index);
        }
    }

    /// Wakes a flow at its turn within this instant.
    #[inline]
    fn wake_in_this_instant(&mut self, index: usize) {
        if let Application::Tcp(flow) = &self.conversations[index].application
            && flow.is_armed_after(self.now)
            && self.tsq_wakeup == NO_TSQ_WAKEUP
        {
            self.tsq_wakeup = (self.now, Turn::new(class::SOURCE, index as u32).0);
        } else {
            self.rearm_tcp(index);
        }
    }

    #[inline(always)]
    fn send_segment(&mut self, index: usize, sent: &SentSegment) {
        let (now, warm_up) = (self.now, self.warm_up);
        let conversation = &mut self.conversations[index];
        let mut packet = Packet::new(PacketKind::Tcp, index as u32, sent.number, sent.bytes, now);
        packet.traffic_class = conversation.traffic_class;
        let mut packet = packet.with_segment(sent.place, sent.is_ecn_capable);
        if sent.tag.is_reply {
            packet = packet.into_reply();
            conversation.count_reply_created(&packet);
            let link = self
                .routes
                .next(conversation.route_back, conversation.destination);
            self.forward(link as usize, packet);
            return;
        }
        conversation.count_created(&packet);
        if now >= warm_up {
            conversation.count_sent_payload(u64::from(sent.new_payload_bytes), now);
        }
        let link = conversation.first_link as usize;
        let link_end = &self.links[link];
        let has_small_queues = link_end.has_small_queues;
        if link_end.paces_senders
            && let Application::Tcp(flow) = &mut conversation.application
        {
            packet.created = flow.departure(sent, now);
        }
        if link_end.takes_gso_packets() {
            self.segments.push(packet);
            if !sent.is_followed {
                self.offer_gso(link, sent);
            }
            return;
        }
        let is_on_account = has_small_queues && self.enter_host_queue(link, &packet, sent, false);
        self.refused = None;
        self.forward(link, packet);
        if is_on_account {
            self.notify_host_drop(link, sent, 1, now, index);
        }
    }

    /// Tells a sender at once what the queue of its host has dropped.
    #[inline(always)]
    fn notify_host_drop(
        &mut self,
        link: usize,
        last: &SentSegment,
        pkts: u32,
        now: Time,
        index: usize,
    ) {
        if let Some((refusing, reason)) = self.refused
            && refusing == link
            && let Application::Tcp(flow) = &mut self.conversations[index].application
        {
            flow.on_refused(last, reason, pkts, now);
        }
    }

    /// Adds a packet to the sender's account of its host's queue. Returns whether it has one.
    #[inline(always)]
    fn enter_host_queue(
        &mut self,
        link: usize,
        packet: &Packet,
        sent: &SentSegment,
        is_cut: bool,
    ) -> bool {
        let conversation = &mut self.conversations[packet.conversation as usize];
        if self.links[link].has_small_queues
            && let Application::Tcp(flow) = &mut conversation.application
            && flow.is_in_small_queue(sent)
        {
            flow.enter_host_queue(packet.segment_place(), is_cut);
            return true;
        }
        false
    }

    /// Hands down the segments of an sk_buff, the last of which is `last`: as one packet if the queue takes
    /// it so.
    #[inline(never)]
    fn offer_gso(&mut self, link: usize, last: &SentSegment) {
        let mut segments = std::mem::take(&mut self.segments);
        let is_whole = self.links[link].takes_whole(&segments);
        let is_cut = !is_whole && segments.len() > 1;
        let (index, pkts) = (segments[0].conversation as usize, segments.len() as u32);
        let mut is_on_account = false;
        for packet in &segments {
            is_on_account = self.enter_host_queue(link, packet, last, is_cut);
        }
        self.refused = None;
        if is_whole {
            match self.links[link].path_kind() {
                PathKind::Pipe => self.offer_gso_to_pipe(link, &segments),
                _ => self.offer_gso_queued(link, &mut segments),
            }
            segments.clear();
        }
        let mut refused_pkts = 0;
        for packet in segments.drain(..) {
            self.refused = None;
            self.forward(link, packet);
            refused_pkts += u32::from(self.refused.is_some());
        }
        self.segments = segments;
        // If the segments were split before the queue, the sender is told only when all were dropped.
        if is_on_account && (is_whole || refused_pkts == pkts) {
            self.notify_host_drop(link, last, pkts, self.now, index);
        }
    }
}
