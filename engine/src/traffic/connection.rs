//! One connection of a flow: a sender, a receiver, and what is still to be written.

use super::segment_store::{SegmentStore, SegmentTag};
use super::tcp_flow::Transfer;
use crate::qdisc::DropReason;
use crate::sim::packet::Packet;
use crate::sim::prefetch::prefetch;
use crate::sim::random::Stream;
use crate::sim::time::Time;
use crate::tcp::segment::{Flags, Header, SackBlocks, Segment};
use crate::tcp::sender::{Phase, Sender, Statistics};
use crate::tcp::{IP_HEADER_BYTES, Settings, receiver::Receiver};
use std::sync::Arc;

/// What is written without end.
pub const UNLIMITED: u64 = u64::MAX;

/// What a program hands over at once, bytes, as the guest's on the kernel.
const LARGEST_WRITE_BYTES: u32 = 1 << 18;

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
    is_receiver_dirty: bool,
    /// Not yet handed to the sender.
    to_write: u64,
    /// The last write attempt found no room, and nothing was sent or is to be written since: what
    /// comes to the receiver changes nothing.
    is_write_blocked: bool,
    /// By a program whose writes are of one size.
    writes: Option<RepeatedWrite>,
    /// When its program last wrote.
    wrote: Time,
    /// What is counted of it, beside what else a packet of it touches.
    pub transfer: Transfer,
}

/// A program that writes this number of bytes at a time, as long as its buffer takes them.
#[derive(Debug, Clone, Copy)]
struct RepeatedWrite {
    bytes: u32,
    /// Of the write under way.
    left: u32,
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
    pub tag: SegmentTag,
}

impl SentSegment {
    /// A segment that lies at `place`, with the given number of bytes of SACK blocks.
    #[inline(always)]
    fn new(header: &Header, tag: SegmentTag, place: u32, sack_bytes: u32) -> SentSegment {
        let number = if tag.is_reply { header.ack } else { header.seq };
        let bytes = IP_HEADER_BYTES + header.header_bytes() + sack_bytes + header.payload_bytes;
        SentSegment {
            place,
            number: number as u32,
            bytes: bytes as u16,
            is_ecn_capable: header.flags.has(Flags::ECT),
            carries_data: !header.flags.has(Flags::SYN) && header.end() > header.seq,
            new_payload_bytes: 0,
            is_followed: false,
            tag,
        }
    }
}

/// A segment that arrives.
#[derive(Debug, Clone, Copy)]
pub struct ArrivedSegment<'a> {
    /// Its header.
    pub header: Header,
    /// Its SACK blocks, if it has some.
    pub blocks: Option<&'a SackBlocks>,
    /// Bytes with the IP header.
    pub bytes: u32,
    /// Of which connection, by whom, and whether again.
    pub tag: SegmentTag,
}

impl<'a> ArrivedSegment<'a> {
    /// What a packet has carried.
    #[inline(always)]
    pub fn by(
        packet: &Packet,
        mut header: Header,
        tag: SegmentTag,
        blocks: Option<&'a SackBlocks>,
    ) -> ArrivedSegment<'a> {
        debug_assert_eq!(tag.is_reply, packet.is_reply());
        if packet.has_congestion_mark() {
            header.flags |= Flags::CE;
        }
        ArrivedSegment {
            header,
            blocks,
            bytes: u32::from(packet.bytes),
            tag,
        }
    }
}

impl Connection {
    /// A connection whose SYN is to be sent, to carry a transfer of `bytes` bytes, or a stream.
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
            is_receiver_dirty: false,
            to_write,
            is_write_blocked: false,
            writes: None,
            wrote: Time::NEVER,
            transfer: Transfer::new(bytes, now),
        }
    }

    /// By a program that writes `bytes` bytes at a time and leaves Nagle's algorithm on.
    pub fn writing_chunks(self, bytes: u64) -> Connection {
        let bytes = bytes.min(u64::from(LARGEST_WRITE_BYTES)) as u32;
        Connection {
            sender: self.sender.with_nagle(),
            writes: Some(RepeatedWrite { bytes, left: 0 }),
            ..self
        }
    }

    /// Its program is to write `bytes` bytes more.
    pub fn add_to_write(&mut self, bytes: u64) {
        self.to_write = self.to_write.saturating_add(bytes);
        self.is_write_blocked = false;
    }

    /// When one of its timers is due.
    #[inline]
    pub fn due(&self) -> Time {
        debug_assert!(self.is_receiver_dirty || self.receiver_due == self.receiver.next_timer());
        self.sender.next_timer().min(self.receiver_due)
    }

    /// Has one of its ends fetched.
    #[inline(always)]
    pub fn prefetch_end(&self, is_sender: bool) {
        prefetch(&self.number);
        prefetch(&self.receiver_due);
        prefetch(&self.transfer);
        if is_sender {
            prefetch(&self.sender);
        } else {
            prefetch(&self.receiver);
            self.sender.prefetch_pending();
        }
    }

    /// Does what is due.
    pub fn on_timer(&mut self, now: Time) {
        self.sender.on_timer(now);
        if self.receiver_due <= now {
            self.receiver.on_timer(now);
            self.is_receiver_dirty = true;
        }
    }

    /// A segment of it arrives. Returns the payload that has come in order by it, and whether that
    /// was the last of the transfer: then it is closed.
    #[inline(always)]
    pub fn on_arrival(&mut self, arrived: &ArrivedSegment<'_>, now: Time) -> (u64, bool) {
        if arrived.tag.is_reply {
            match arrived.blocks {
                None => self.sender.on_header(&arrived.header, now),
                Some(blocks) => self.on_blocks(&arrived.header, blocks, now),
            }
            return (0, false);
        }
        debug_assert!(arrived.blocks.is_none(), "nothing comes the other way");
        self.transfer
            .received(arrived.bytes, arrived.tag.is_again, now);
        let before = self.receiver.received_payload_bytes();
        self.receiver.on_header(&arrived.header, now);
        if self.wrote == now {
            // Both programs are one, as on the kernel: what it writes goes before what it reads.
            self.receiver.read_late();
        }
        self.is_receiver_dirty = true;
        let received = self.receiver.received_payload_bytes();
        let is_complete = received > before && self.transfer.bytes == Some(received);
        if is_complete {
            self.sender.close();
            self.transfer.completed = Some(now);
        }
        (received - before, is_complete)
    }

    #[inline(never)]
    fn on_blocks(&mut self, header: &Header, blocks: &SackBlocks, now: Time) {
        let segment = Segment {
            sack: *blocks,
            ..Segment::from(*header)
        };
        self.sender.on_segment(&segment, now);
    }

    /// The next segment to be sent now, kept in `segments`; call until None.
    #[inline(always)]
    pub fn poll(&mut self, now: Time, segments: &mut SegmentStore) -> Option<SentSegment> {
        let sent = self.poll_sender(now, segments);
        if sent.is_some() || !(self.is_receiver_dirty || self.receiver_due <= now) {
            return sent;
        }
        let sent = self.poll_receiver(now, segments);
        self.is_receiver_dirty = sent.is_some();
        self.receiver_due = self.receiver.next_timer();
        sent
    }

    #[inline(always)]
    fn poll_sender(&mut self, now: Time, segments: &mut SegmentStore) -> Option<SentSegment> {
        if self.sender.has_nothing_to_send(now) && self.is_write_blocked {
            return None;
        }
        // What is written is sent before the next write.
        let sent = loop {
            let sent = self.sender.poll_transmit(now);
            if sent.is_some() || !self.write_more(now) {
                break sent;
            }
        };
        self.is_write_blocked = sent.is_none();
        let sent = sent?;
        let tag = SegmentTag {
            connection: self.number,
            is_again: sent.is_again,
            is_reply: false,
        };
        self.transfer.created(sent.is_again);
        let place = segments.put_plain(&sent.header, tag);
        Some(SentSegment {
            new_payload_bytes: sent.new_payload_bytes,
            is_followed: self.sender.burst_goes_on(),
            ..SentSegment::new(&sent.header, tag, place, 0)
        })
    }

    #[inline(always)]
    fn poll_receiver(&mut self, now: Time, segments: &mut SegmentStore) -> Option<SentSegment> {
        if !self.receiver.is_plain(now) {
            return self.poll_receiver_with_blocks(now, segments);
        }
        let header = self.receiver.poll_plain(now)?;
        let tag = self.tag_of_reply();
        let place = segments.put_plain(&header, tag);
        Some(SentSegment::new(&header, tag, place, 0))
    }

    #[inline(never)]
    fn poll_receiver_with_blocks(
        &mut self,
        now: Time,
        segments: &mut SegmentStore,
    ) -> Option<SentSegment> {
        let segment = self.receiver.poll_transmit(now)?;
        let (header, tag) = (segment.header(), self.tag_of_reply());
        let sack_bytes = segment.header_bytes() - header.header_bytes();
        let place = segments.put(&segment, tag);
        Some(SentSegment::new(&header, tag, place, sack_bytes))
    }

    #[inline(always)]
    fn tag_of_reply(&self) -> SegmentTag {
        SegmentTag {
            connection: self.number,
            is_again: false,
            is_reply: true,
        }
    }

    /// The next write, or what is left of one, when all is sent that can be. As of a program that waits,
    /// once its buffer was full, until it may write again: when a third of it is free
    /// (`sk_stream_is_writeable`). Returns whether there was one.
    fn write_more(&mut self, now: Time) -> bool {
        let refused = self.sender.take_refused();
        self.keep_to_write(refused);
        if self.to_write == 0 || self.sender.phase() != Phase::Established {
            return false;
        }
        if self.sender.is_full() && !self.sender.is_writable() {
            return false;
        }
        let bytes = self.next_write_bytes();
        self.sender.write_what_fits(bytes, now);
        self.wrote = now;
        if self.to_write != UNLIMITED {
            self.to_write -= u64::from(bytes);
        }
        true
    }

    /// What the program hands over next.
    fn next_write_bytes(&mut self) -> u32 {
        let most = self.to_write.min(u64::from(LARGEST_WRITE_BYTES)) as u32;
        let Some(writes) = &mut self.writes else {
            return most;
        };
        if writes.left == 0 {
            writes.left = writes.bytes.min(most);
        }
        std::mem::take(&mut writes.left)
    }

    /// What its sender did not take: the program goes on with it when it may write again.
    fn keep_to_write(&mut self, refused: u32) {
        if let Some(writes) = &mut self.writes {
            writes.left += refused;
        }
        if self.to_write != UNLIMITED {
            self.to_write += u64::from(refused);
        }
    }

    /// Whether everything, the FIN included, has been acknowledged.
    pub fn is_finished(&self) -> bool {
        self.sender.phase() == Phase::Finished
    }

    /// The queue of the sender's host has dropped what was sent last: `pkts` segments.
    pub fn on_refused(&mut self, reason: DropReason, pkts: u32, is_again: bool, now: Time) {
        match reason {
            // Its net is told `NET_XMIT_DROP`.
            DropReason::Overlimit
            | DropReason::FlowLimit
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
