//! Super-packets: several TCP segments that cross the network as one packet, because the sending device does
//! not segment them (TSO) or the receiving device has merged them (GRO).

use super::{World, class};
use crate::capture::CapturePoint;
use crate::net::gro::{self, FrameHeader};
use crate::net::link::TransmittedPacket;
use crate::observe::records::Event;
use crate::qdisc::DropReason;
use crate::sim::packet::Packet;
use crate::traffic::conversation::Application;

/// Payload of a wheel entry that means a poll of the device, instead of a packet index.
pub(super) const POLL: u32 = u32::MAX;

impl World {
    /// Propagates what a link with TSO or GRO has sent.
    #[cold]
    #[inline(never)]
    pub(super) fn propagate_offloaded(&mut self, index: usize, sent: &TransmittedPacket) {
        let segments = self.links[index].take_whole(&sent.packet);
        let reason = DropReason::LinkLoss as i8;
        for segment in &segments {
            self.record(index, Event::Dequeue, 0, segment, Some(sent.sojourn));
            if sent.lost {
                self.record(index, Event::Lost, reason, segment, Some(sent.sojourn));
                self.count_dropped(segment);
            }
        }
        if sent.lost {
            return;
        }
        let packet = self.join_segments(&segments);
        if !self.links[index].has_gro() {
            return self.pass_on(index, packet);
        }
        if let Some(due) = self.links[index].gather(packet, self.now) {
            self.schedule(due, class::ARRIVAL, index as u32, POLL);
        }
    }

    /// One packet for these segments.
    fn join_segments(&mut self, segments: &[Packet]) -> Packet {
        match segments {
            [one] => *one,
            several => self.super_packets.join(several),
        }
    }

    /// A device merges the frames gathered since the last poll and passes them to its host.
    pub(super) fn poll(&mut self, index: usize) {
        let frames = self.links[index].take_gathered();
        for segments in gro::merged(frames, |frame| self.header(frame)) {
            let packet = self.join_segments(&segments);
            self.pass_on(index, packet);
        }
    }

    fn header(&self, frame: &Packet) -> FrameHeader {
        let first = self.super_packets.segments(frame)[0];
        let flow = self.conversations[frame.conversation as usize].tcp();
        let flow = flow.expect("frames of TCP are a flow's");
        let (segment, connection) = flow.segment(first.segment_place());
        FrameHeader {
            connection,
            segment,
        }
    }

    /// Offers a super-packet to a link, whose discipline may take it as one packet.
    #[cold]
    #[inline(never)]
    pub(super) fn offer_super_packet(&mut self, index: usize, packet: &Packet) {
        let mut segments = self.super_packets.take(packet);
        if self.links[index].takes_whole(&segments) {
            return self.offer_gso_queued(index, &mut segments);
        }
        for segment in segments {
            self.offer_queued(index, segment);
        }
    }

    /// Captures a super-packet as its segments.
    #[cold]
    pub(super) fn see_super_packet(&mut self, link: usize, place: CapturePoint, packet: &Packet) {
        for segment in self.super_packets.segments(packet).to_vec() {
            self.see(link, place, &segment);
        }
    }

    /// Delivers a super-packet to TCP: one segment with the payload of all.
    #[cold]
    #[inline(never)]
    pub(super) fn deliver_super_packet(&mut self, packet: &Packet) {
        let (now, warm_up) = (self.now, self.warm_up);
        let segments = self.super_packets.take(packet);
        let index = packet.conversation as usize;
        self.catch_up_with_host_queue(index);
        let conversation = &mut self.conversations[index];
        for segment in &segments {
            conversation.count_delivered(segment, now, warm_up);
        }
        if let Application::Tcp(flow) = &mut conversation.application {
            let payload = flow.on_super_packet(&segments, now);
            conversation.count_payload(payload, now, warm_up);
        }
        self.send_tcp(index);
    }
}
