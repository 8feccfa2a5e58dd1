//! One connection of a flow: a sender, a receiver, and what is still to be written.

use super::segment_store::{SegmentStore, Tag};
use super::tcp_flow::Transfer;
use crate::qdisc::DropReason;
use crate::sim::prefetch::prefetch;
use crate::sim::random::Stream;
use crate::sim::time::Time;
use crate::tcp::segment::{Flags, Segment};
use crate::tcp::sender::{Phase, Sender, Statistics};
use crate::tcp::{IP_HEADER_BYTES, Settings, receiver::Receiver};
use std::sync::Arc;

/// What is written without end.
pub const UNLIMITED: u64 = u64::MAX;

/// A sender and its receiver.
#[derive(Debug, Clone)]
pub struct Connection {
    /// In its flow, from 1.
    pub number: u32,
    /// At the sending host.
    pub sender: Sender,
    /// At the receiving host.
    receiver: Receiver,
    /// When its timer is due, and whether anything has happened to it since it last had nothing to
    /// send: half of a connection's events are the sender's alone.
    receiver_due: Time,
    is_receiver_asked: bool,
    /// Not yet handed to the sender.
    pub to_write: u64,
    /// What is counted of it, beside what else a packet of it touches.
    pub transfer: Transfer,
}

/// A segment that a connection sends, written where it stays until its packet arrives.
#[derive(Debug, Clone, Copy)]
pub struct SentSegment {
    /// Where it lies.
    pub place: u32,
    /// Low 32 bits of its sequence number, or for the receiver's of what it acknowledges.
    pub number: u32,
    /// Bytes with the IP header.
    pub bytes: u16,
    /// ECN-capable: ECT(0).
    pub is_ecn_capable: bool,
    /// Whether it has sequence numbers, and not those of the handshake.
    pub carries_data: bool,
    /// Payload that is sent for the first time.
    pub new_payload_bytes: u32,
    /// Whether others of its sk_buff follow at once.
    pub is_followed: bool,
    /// Of which connection, by whom, and whether again.
    pub tag: Tag,
}

impl SentSegment {
    #[inline]
    fn new(
        segment: &Segment,
        tag: Tag,
        new_payload_bytes: u32,
        segments: &mut SegmentStore,
    ) -> SentSegment {
        let number = if tag.is_reply {
            segment.ack
        } else {
            segment.seq
        };
        SentSegment {
            place: segments.put(segment, tag),
            number: number as u32,
            bytes: ip_bytes(segment) as u16,
            is_ecn_capable: segment.flags.has(Flags::ECT),
            carries_data: !segment.flags.has(Flags::SYN) && segment.end() > segment.seq,
            new_payload_bytes,
            is_followed: false,
            tag,
        }
    }
}

/// Bytes of a segment with the IP header.
#[inline]
pub fn ip_bytes(segment: &Segment) -> u32 {
    IP_HEADER_BYTES + segment.header_bytes() + segment.payload_bytes
}

impl Connection {
    /// A connection whose SYN is to be sent, to carry a transfer of so many bytes, or a stream.
    pub fn new(
        number: u32,
        settings: &Arc<Settings>,
        stream: Stream,
        to_write: u64,
        bytes: Option<u64>,
        now: Time,
    ) -> Connection {
        let mut sender = Sender::new(settings, stream, now).without_nagle();
        sender.connect(now);
        Connection {
            number,
            sender,
            receiver: Receiver::new(settings),
            receiver_due: Time::NEVER,
            is_receiver_asked: false,
            to_write,
            transfer: Transfer::new(bytes, now),
        }
    }

    /// When one of its timers is due.
    #[inline]
    pub fn due(&self) -> Time {
        debug_assert!(self.is_receiver_asked || self.receiver_due == self.receiver.next_timer());
        self.sender.next_timer().min(self.receiver_due)
    }

    /// Has one of its ends fetched.
    #[inline(always)]
    pub fn prefetch_end(&self, is_sender: bool) {
        if is_sender {
            prefetch(&self.sender);
        } else {
            prefetch(&self.receiver);
        }
    }

    /// Does what is due.
    pub fn on_timer(&mut self, now: Time) {
        self.sender.on_timer(now);
        if self.receiver_due <= now {
            self.receiver.on_timer(now);
            self.is_receiver_asked = true;
        }
        self.fill(now);
    }

    /// A segment of this tag arrives. Returns the payload that has come in order by it, and whether
    /// that was the last of the transfer: then it is closed.
    pub fn on_segment(&mut self, segment: &Segment, tag: Tag, now: Time) -> (u64, bool) {
        if tag.is_reply {
            self.sender.on_segment(segment, now);
            self.fill(now);
            return (0, false);
        }
        let bytes = ip_bytes(segment);
        self.transfer.received(bytes, tag.is_again, now);
        let before = self.receiver.received_payload_bytes();
        self.receiver.on_segment(segment, now);
        self.is_receiver_asked = true;
        let received = self.receiver.received_payload_bytes();
        let is_complete = received > before && self.transfer.bytes == Some(received);
        if is_complete {
            self.sender.close();
            self.transfer.completed = Some(now);
        }
        (received - before, is_complete)
    }

    /// The next segment to be sent now, kept in `segments`; call until None.
    #[inline(always)]
    pub fn poll(&mut self, now: Time, segments: &mut SegmentStore) -> Option<SentSegment> {
        let sent = self.poll_sender(now, segments);
        if sent.is_some() || !(self.is_receiver_asked || self.receiver_due <= now) {
            return sent;
        }
        let sent = self.poll_receiver(now, segments);
        self.is_receiver_asked = sent.is_some();
        self.receiver_due = self.receiver.next_timer();
        sent
    }

    #[inline]
    fn poll_sender(&mut self, now: Time, segments: &mut SegmentStore) -> Option<SentSegment> {
        if self.sender.is_quiet(now) {
            return None;
        }
        let sent = &self.sender.poll_transmit(now);
        let sent = sent.as_ref()?;
        let tag = Tag {
            connection: self.number,
            is_again: sent.is_again,
            is_reply: false,
        };
        self.transfer.created(sent.is_again);
        let new_bytes = sent.new_payload_bytes;
        let is_followed = self.sender.burst_goes_on();
        Some(SentSegment {
            is_followed,
            ..SentSegment::new(&sent.segment, tag, new_bytes, segments)
        })
    }

    fn poll_receiver(&mut self, now: Time, segments: &mut SegmentStore) -> Option<SentSegment> {
        let segment = &self.receiver.poll_transmit(now);
        let tag = Tag {
            connection: self.number,
            is_again: false,
            is_reply: true,
        };
        Some(SentSegment::new(segment.as_ref()?, tag, 0, segments))
    }

    /// Hands the sender what its buffer takes. As a program that waits until it may write
    /// again: when a third of the buffer is free (`sk_stream_is_writeable`).
    pub fn fill(&mut self, now: Time) {
        if self.to_write == 0 || self.sender.phase() != Phase::Established {
            return;
        }
        if !self.sender.is_writable() {
            return;
        }
        let room = self.sender.room_bytes();
        let bytes = room.min(self.to_write);
        if bytes > 0 {
            self.sender.write(bytes, now);
            if self.to_write != UNLIMITED {
                self.to_write -= bytes;
            }
        }
    }

    /// Whether everything, the FIN included, has been acknowledged.
    pub fn is_finished(&self) -> bool {
        self.sender.phase() == Phase::Finished
    }

    /// The queue of the sender's host has dropped what was sent last: so many segments.
    pub fn on_refused(&mut self, reason: DropReason, pkts: u32, is_again: bool, now: Time) {
        match reason {
            // Its net is told `NET_XMIT_DROP`.
            DropReason::Overlimit
            | DropReason::TooLarge
            | DropReason::Pie
            | DropReason::Policed => self.sender.on_refused(pkts, is_again, now),
            // `NET_XMIT_CN`.
            DropReason::RedEarly | DropReason::RedForced => self.sender.on_congested_host(now),
            _ => {}
        }
    }

    /// Counted by its sender.
    pub fn statistics(&self) -> Statistics {
        self.sender.statistics()
    }
}
