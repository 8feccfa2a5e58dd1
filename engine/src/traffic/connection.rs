//! One connection of a flow: a sender, a receiver, and the data not yet written.

use super::segment_store::{SegmentStore, SegmentTag};
use super::tcp_flow::Transfer;
use crate::qdisc::DropReason;
use crate::sim::packet::Packet;
use crate::sim::prefetch::prefetch;
use crate::sim::random::Stream;
use crate::sim::time::Time;
use crate::tcp::ecn_option::EcnOption;
use crate::tcp::segment::{Flags, Header, Segment, SparseOptions};
use crate::tcp::sender::{Phase, Sender, Statistics};
use crate::tcp::{IP_HEADER_BYTES, Settings, receiver::Receiver};
use std::sync::Arc;

/// Number of bytes that means writing without end.
pub const UNLIMITED: u64 = u64::MAX;

/// Size of a program's write, bytes, as in the guest on the kernel.
const LARGEST_WRITE_BYTES: u32 = 1 << 18;

/// The two ends of a connection.
#[derive(Debug, Clone)]
pub struct Connection {
    /// Number in its flow, from 1.
    pub number: u32,
    /// At the sending host.
    pub sender: Sender,
    /// At the receiving host.
    receiver: Receiver,
    /// When the receiver's timer is due, and whether the receiver has had an event since it last had nothing
    /// to send: half of a connection's events concern the sender only.
    receiver_due: Time,
    is_receiver_dirty: bool,
    /// Bytes not yet handed to the sender.
    to_write: u64,
    /// The last write attempt found no room, and nothing was sent or added since. Arrivals at the receiver do
    /// not change this.
    is_write_blocked: bool,
    /// State of a program that writes in fixed-size chunks.
    writes: Option<RepeatedWrite>,
    /// Time of the last write.
    wrote: Time,
    /// Counters of the transfer, next to other data that a packet touches.
    pub transfer: Transfer,
}

/// A program that writes this number of bytes at a time, as long as its buffer accepts them.
#[derive(Debug, Clone, Copy)]
struct RepeatedWrite {
    bytes: u32,
    /// Bytes left of the current write.
    left: u32,
}

/// A segment that a connection sends, stored until its packet arrives.
#[derive(Debug, Clone, Copy)]
pub struct SentSegment {
    /// Its place in the segment store.
    pub place: u32,
    /// Low 32 bits of its sequence number; of a receiver's segment those of the acknowledgement number.
    pub number: u32,
    /// Bytes with the IP header.
    pub bytes: u16,
    /// ECN-capable: ECT(0).
    pub is_ecn_capable: bool,
    /// Whether it has sequence numbers other than those of the handshake.
    pub carries_data: bool,
    /// Payload transmitted for the first time.
    pub new_payload_bytes: u32,
    /// Whether further segments of its sk_buff follow at once.
    pub is_followed: bool,
    /// Its connection, sender, and whether it is a retransmission.
    pub tag: SegmentTag,
}

impl SentSegment {
    /// A segment stored at `place`, with the given number of bytes of SACK blocks and counters of bytes.
    #[inline(always)]
    fn new(header: &Header, tag: SegmentTag, place: u32, option_bytes: u32) -> SentSegment {
        let number = if tag.is_reply { header.ack } else { header.seq };
        let bytes = IP_HEADER_BYTES + header.header_bytes() + option_bytes + header.payload_bytes;
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
    /// Its SACK blocks and counters of bytes, if any.
    pub options: Option<&'a SparseOptions>,
    /// Bytes with the IP header.
    pub bytes: u32,
    /// Its connection, sender, and whether it is a retransmission.
    pub tag: SegmentTag,
}

impl<'a> ArrivedSegment<'a> {
    /// The segment that a packet carries.
    #[inline(always)]
    pub fn by(
        packet: &Packet,
        mut header: Header,
        tag: SegmentTag,
        options: Option<&'a SparseOptions>,
    ) -> ArrivedSegment<'a> {
        debug_assert_eq!(tag.is_reply, packet.is_reply());
        header.flags |= flags_of_ip(packet);
        ArrivedSegment {
            header,
            options,
            bytes: u32::from(packet.bytes),
            tag,
        }
    }
}

/// What the IP header says of ECN that the sender's flags do not.
#[inline(always)]
pub fn flags_of_ip(packet: &Packet) -> Flags {
    if packet.has_congestion_mark() {
        Flags::CE
    } else if packet.is_ect1() {
        Flags::ECT1
    } else {
        Flags::default()
    }
}

/// Stores a segment with which a client shows whether the option of accurate ECN traverses the path (RFC 9768
/// section 3.2.3.2.1). Nothing has been counted: the return direction carries no data. Returns its place and
/// the bytes of the option.
#[cold]
fn put_with_ecn_option(
    header: &Header,
    tag: SegmentTag,
    segments: &mut SegmentStore,
) -> (u32, u32) {
    let option = EcnOption::initial();
    let segment = Segment {
        ecn_option: Some(option),
        ..Segment::from(*header)
    };
    (segments.put(&segment, tag), option.padded_bytes())
}

impl Connection {
    /// A connection before its SYN, for a transfer of `bytes` bytes, or a stream.
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

    /// Lets its program write `bytes` bytes at a time, with Nagle's algorithm on.
    pub fn writing_chunks(self, bytes: u64) -> Connection {
        let bytes = bytes.min(u64::from(LARGEST_WRITE_BYTES)) as u32;
        Connection {
            sender: self.sender.with_nagle(),
            writes: Some(RepeatedWrite { bytes, left: 0 }),
            ..self
        }
    }

    /// Adds `bytes` bytes to write.
    pub fn add_to_write(&mut self, bytes: u64) {
        self.to_write = self.to_write.saturating_add(bytes);
        self.is_write_blocked = false;
    }

    /// Time of its next timer.
    #[inline]
    pub fn due(&self) -> Time {
        debug_assert!(self.is_receiver_dirty || self.receiver_due == self.receiver.next_timer());
        self.sender.next_timer().min(self.receiver_due)
    }

    /// Prefetches one of its ends.
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

    /// Processes the timers that are due.
    pub fn on_timer(&mut self, now: Time) {
        self.sender.on_timer(now);
        if self.receiver_due <= now {
            self.receiver.on_timer(now);
            self.is_receiver_dirty = true;
        }
    }

    /// Processes an arriving segment. Returns the payload that it brings into order, and whether it completes
    /// the transfer: then the connection is closed.
    #[inline(always)]
    pub fn on_arrival(&mut self, arrived: &ArrivedSegment<'_>, now: Time) -> (u64, bool) {
        if arrived.tag.is_reply {
            match arrived.options {
                None => self.sender.on_header(&arrived.header, now),
                Some(options) => self.on_options(&arrived.header, options, now),
            }
            return (0, false);
        }
        debug_assert!(
            arrived
                .options
                .is_none_or(|options| options.sack.is_empty()),
            "the return direction carries no data"
        );
        self.transfer
            .received(arrived.bytes, arrived.tag.is_retransmission, now);
        let before = self.receiver.received_payload_bytes();
        self.receiver.on_header(&arrived.header, now);
        if self.wrote == now {
            // Both programs are one process, as in the guest: it writes before it reads.
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
    fn on_options(&mut self, header: &Header, options: &SparseOptions, now: Time) {
        let segment = Segment::with_options(*header, options);
        self.sender.on_segment(&segment, now);
    }

    /// The next segment to send now, stored in `segments`; call until None.
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
        // Sends the data written before the next write.
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
            is_retransmission: sent.is_retransmission,
            is_reply: false,
        };
        self.transfer.created(sent.is_retransmission);
        let (place, option_bytes) = match sent.header.flags.has(Flags::ECN_OPTION) {
            false => (segments.put_plain(&sent.header, tag), 0),
            true => put_with_ecn_option(&sent.header, tag, segments),
        };
        Some(SentSegment {
            new_payload_bytes: sent.new_payload_bytes,
            is_followed: self.sender.burst_goes_on(),
            ..SentSegment::new(&sent.header, tag, place, option_bytes)
        })
    }

    #[inline(always)]
    fn poll_receiver(&mut self, now: Time, segments: &mut SegmentStore) -> Option<SentSegment> {
        if !self.receiver.is_plain(now) {
            return self.poll_receiver_with_options(now, segments);
        }
        let header = self.receiver.poll_plain(now)?;
        let tag = self.tag_of_reply();
        let place = segments.put_plain(&header, tag);
        Some(SentSegment::new(&header, tag, place, 0))
    }

    #[inline(never)]
    fn poll_receiver_with_options(
        &mut self,
        now: Time,
        segments: &mut SegmentStore,
    ) -> Option<SentSegment> {
        let segment = self.receiver.poll_transmit(now)?;
        let (header, tag) = (segment.header(), self.tag_of_reply());
        let option_bytes = segment.header_bytes() - header.header_bytes();
        let place = segments.put(&segment, tag);
        Some(SentSegment::new(&header, tag, place, option_bytes))
    }

    #[inline(always)]
    fn tag_of_reply(&self) -> SegmentTag {
        SegmentTag {
            connection: self.number,
            is_retransmission: false,
            is_reply: true,
        }
    }

    /// Makes the next write, or finishes a partial one, when all that can be sent is sent. A program whose
    /// buffer was full waits until a third of it is free (`sk_stream_is_writeable`). Returns whether it
    /// wrote.
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

    /// Size of the program's next write.
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

    /// Keeps the bytes that the sender did not accept; the program continues with them when it may write
    /// again.
    fn keep_to_write(&mut self, refused: u32) {
        if let Some(writes) = &mut self.writes {
            writes.left += refused;
        }
        if self.to_write != UNLIMITED {
            self.to_write += u64::from(refused);
        }
    }

    /// Whether everything, including the FIN, has been acknowledged.
    pub fn is_finished(&self) -> bool {
        self.sender.phase() == Phase::Finished
    }

    /// The queue of the sender's host has dropped what was sent last: `pkts` segments.
    pub fn on_refused(
        &mut self,
        reason: DropReason,
        pkts: u32,
        is_retransmission: bool,
        now: Time,
    ) {
        match reason {
            // Returned to TCP as `NET_XMIT_DROP`.
            DropReason::Overlimit
            | DropReason::FlowLimit
            | DropReason::TooLarge
            | DropReason::Pie
            | DropReason::Policed => self.sender.on_refused(pkts, is_retransmission, now),
            // `NET_XMIT_CN`.
            DropReason::RedEarly
            | DropReason::RedForced
            | DropReason::SfbEarly
            | DropReason::SfbPenalty
            | DropReason::SfbBinFull => self.sender.on_congested_host(now),
            _ => {}
        }
    }

    /// Counters of its sender.
    pub fn statistics(&self) -> Statistics {
        self.sender.statistics()
    }
}
