//! Links: enqueue packets, transmit them, and deliver them to the far end.

use super::{World, class};
use crate::capture::CapturePoint;
use crate::net::chains::Downstream;
use crate::net::link::{OfferOutcome, PathKind, TransmittedPacket};
use crate::net::propagation::Propagation;
use crate::observe::records::Event;
use crate::qdisc::DropReason;
use crate::sim::packet::{Packet, PacketKind};
use crate::sim::time::Time;

/// Largest number of packets that a link sends in one step; more only when a large queue is emptied at once.
const SENT_A_STEP: u32 = 65_536;

impl World {
    /// Offers a packet to a link on any path. The code for folded links is long and used everywhere, so all
    /// callers but `offer` share one copy: instruction cache misses cost more than a call.
    #[inline(never)]
    pub(super) fn forward(&mut self, index: usize, packet: Packet) {
        match self.links[index].path_kind() {
            PathKind::PassThrough => self.offer_at_once(index, packet),
            PathKind::Pipe => self.offer_to_pipe(index, packet),
            PathKind::Folded => self.offer_folded(index, packet),
            PathKind::Queued => self.offer_queued(index, packet),
        }
    }

    /// As `forward`, for sources of ideal packets, which dominate some runs.
    #[inline(always)]
    pub(super) fn offer(&mut self, index: usize, packet: Packet) {
        match self.links[index].path_kind() {
            PathKind::Folded => self.offer_folded(index, packet),
            _ => self.forward(index, packet),
        }
    }

    /// Offers a packet to a link with departure events.
    #[inline(never)]
    pub(super) fn offer_queued(&mut self, index: usize, packet: Packet) {
        if packet.is_gso() {
            return self.offer_super_packet(index, &packet);
        }
        let link = &mut self.links[index];
        if link.is_observed {
            return self.offer_observed(index, packet);
        }
        let offered = link.offer(packet, self.now);
        if let OfferOutcome::Dropped(reason) = offered {
            self.count_refused(index, reason, &packet);
        }
        self.after_offer(index);
    }

    /// The same for a link whose packets are recorded, captured or read.
    #[inline(never)]
    fn offer_observed(&mut self, index: usize, packet: Packet) {
        if self.links[index].is_captured {
            self.see(index, CapturePoint::Before, &packet);
        }
        if self.links[index].reads_acknowledgements {
            self.tell_acknowledgement(index, &packet);
        }
        let offered = self.links[index].offer(packet, self.now);
        match offered {
            OfferOutcome::Dropped(reason) => {
                self.record(index, Event::Drop, reason as i8, &packet, None);
                self.count_refused(index, reason, &packet);
            }
            OfferOutcome::Taken => self.record(index, Event::Enqueue, 0, &packet, None),
        }
        self.after_offer(index);
    }

    /// Tells a link the header of the packet that is offered next, if it is a pure acknowledgement.
    #[inline(never)]
    pub(super) fn tell_acknowledgement(&mut self, index: usize, packet: &Packet) {
        let is_single = packet.kind() == PacketKind::Tcp && !packet.is_gso();
        let conversation = &self.conversations[packet.conversation as usize];
        let flow = conversation.tcp().filter(|_| is_single);
        let header = flow.and_then(|flow| flow.acknowledgement(packet.segment_place()));
        self.links[index].tell(header);
    }

    /// Follows up on an offer to a link with departure events.
    #[inline(always)]
    fn after_offer(&mut self, index: usize) {
        let link = &mut self.links[index];
        let is_transmitting = link.is_transmitting();
        let link = if link.has_events() {
            self.record_qdisc_events(index);
            &mut self.links[index]
        } else {
            link
        };
        // As in Linux, a refusal asks the discipline too: `choke` may have dropped the packet that a shaper
        // above it waited for.
        if is_transmitting {
            link.settle(self.now);
        } else {
            self.send_due(index);
        }
    }

    /// Offers TCP segments as one packet to such a link.
    pub(super) fn offer_gso_queued(&mut self, index: usize, segments: &mut [Packet]) {
        let offered = self.links[index].offer_gso(segments, self.now);
        for packet in &*segments {
            if self.links[index].is_captured {
                self.see(index, CapturePoint::Before, packet);
            }
            match offered {
                OfferOutcome::Dropped(reason) => {
                    self.record(index, Event::Drop, reason as i8, packet, None);
                    self.count_refused(index, reason, packet);
                }
                OfferOutcome::Taken => self.record(index, Event::Enqueue, 0, packet, None),
            }
        }
        self.after_offer(index);
    }

    /// Processes the pending event of a link: a departure, or a poll of its discipline.
    #[inline(always)]
    pub(super) fn depart(&mut self, index: usize) {
        match self.links[index].path_kind() {
            PathKind::Pipe => self.depart_from_pipe(index),
            PathKind::Folded => {
                self.catch_up(index, self.now + Time(1));
                let link = &self.links[index];
                self.tournament
                    .set(link.departure_leaf as usize, link.pending());
            }
            PathKind::PassThrough | PathKind::Queued => {
                if let Some(upstream) = self.links[index].lazy_upstream {
                    self.enqueue_deferred(index, upstream as usize, self.now);
                }
                self.send_due(index);
            }
        }
    }

    /// Lets a link send what is due: a limited number of packets, the rest by an event at the same instant.
    #[inline(always)]
    pub(super) fn send_due(&mut self, index: usize) {
        let (now, warm_up) = (self.now, self.warm_up);
        for sent_pkts in 0.. {
            if sent_pkts == SENT_A_STEP {
                let leaf = self.links[index].departure_leaf;
                return self.tournament.set(leaf as usize, now);
            }
            let link = &mut self.links[index];
            let sent = link.send(now, warm_up);
            let link = if link.has_events() {
                self.record_qdisc_events(index);
                &mut self.links[index]
            } else {
                link
            };
            let link = if let Some(packet) = link.take_begun() {
                self.begin_all(index, packet);
                &mut self.links[index]
            } else {
                link
            };
            let Some(sent) = sent else {
                break;
            };
            // The common case of a bottleneck is short: a plain link to the host that counts the packet.
            let packet = sent.packet;
            let sink = &mut self.conversations[packet.conversation as usize];
            if link.is_plain && sink.counts_at(link.to) {
                sink.receive(&packet, now, warm_up);
            } else if let Some(next) = link.sole_downstream {
                if self.arriving.is_empty() {
                    self.forward(next as usize, packet);
                } else {
                    let host = link.to;
                    self.queue_host_arrival(packet, host);
                }
            } else {
                self.propagate(index, sent);
            }
        }
        let link = &mut self.links[index];
        link.settle(now);
        if link.may_be_pending {
            self.tournament
                .set(link.departure_leaf as usize, link.pending());
        }
        if let Some(upstream) = link.lazy_upstream {
            self.await_next(index, upstream as usize);
        }
    }

    #[inline]
    pub(super) fn propagate(&mut self, index: usize, sent: TransmittedPacket) {
        let packet = sent.packet;
        let link = &self.links[index];
        if link.has_offloads {
            return self.propagate_offloaded(index, &sent);
        }
        if link.record_packets {
            self.record(index, Event::Dequeue, 0, &packet, Some(sent.sojourn));
        }
        if sent.lost {
            let reason = DropReason::LinkLoss as i8;
            self.record(index, Event::Lost, reason, &packet, Some(sent.sojourn));
            self.count_dropped(&packet);
            return;
        }
        self.pass_on(index, packet);
    }

    /// A packet that was sent and not lost proceeds to the far end.
    #[inline(always)]
    pub(super) fn pass_on(&mut self, index: usize, packet: Packet) {
        let link = &mut self.links[index];
        match &mut link.propagation {
            Propagation::Ring(_) if link.delay == Time::ZERO => {
                let host = link.to;
                if link.is_captured_arriving {
                    self.see(index, CapturePoint::Arrived, &packet);
                }
                self.arrive_at_once(packet, host);
            }
            Propagation::Ring(_) => {
                let out = self.now.saturating_add(link.delay);
                self.traverse_chain(index, packet, out);
            }
            Propagation::Slab(slab) => {
                let place = slab.insert(packet);
                let due = link.arrival(self.now);
                self.schedule(due, class::ARRIVAL, index as u32, place);
            }
        }
    }

    /// A packet that crossed a link without delay waits for its turn within the instant. A datagram at its
    /// destination is counted at once, because nothing follows from it.
    #[inline(always)]
    pub(super) fn arrive_at_once(&mut self, packet: Packet, host: u32) {
        if packet.kind() == PacketKind::Udp && host == self.destination_of(&packet).0 {
            self.deliver(&packet, host);
        } else {
            self.queue_host_arrival(packet, host);
        }
    }

    #[inline]
    pub(super) fn arrive_from_ring(&mut self, index: usize) {
        if let Downstream::IntoQueue(queue) = self.links[index].downstream {
            return self.come_to_queue(queue as usize, index);
        }
        let packet = self.take_out(index);
        let link = &self.links[index];
        let host = link.to;
        if link.is_captured_arriving {
            self.see(index, CapturePoint::Arrived, &packet);
        }
        let sink = &mut self.conversations[packet.conversation as usize];
        if sink.counts_at(host) {
            sink.receive(&packet, self.now, self.warm_up);
        } else {
            self.arrive(packet, host);
        }
    }

    pub(super) fn arrive_from_slab(&mut self, index: usize, place: u32) {
        let link = &mut self.links[index];
        let Propagation::Slab(slab) = &mut link.propagation else {
            unreachable!("only slabs have entries in the wheel");
        };
        let packet = slab
            .remove(place)
            .expect("the wheel names a packet in flight");
        let host = link.to;
        if link.is_captured_arriving {
            self.see(index, CapturePoint::Arrived, &packet);
        }
        self.arrive(packet, host);
    }

    /// Processes the start of a packet's transmission, and those of the segments that begin with it.
    #[inline(never)]
    fn begin_all(&mut self, index: usize, first: Packet) {
        let mut begun = Some(first);
        while let Some(packet) = begun {
            if self.links[index].is_captured {
                self.see(index, CapturePoint::After, &packet);
            }
            self.leave_host_queue(&packet, false);
            begun = self.links[index].take_begun();
        }
    }

    #[inline(never)]
    pub(super) fn see(&mut self, link: usize, place: CapturePoint, packet: &Packet) {
        if packet.is_gso() {
            return self.see_super_packet(link, place, packet);
        }
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
        let class = link_end.class_of(packet);
        self.records.push(
            self.now, link, event, reason, packet, bytes, level, sojourn, class,
        );
    }
}
