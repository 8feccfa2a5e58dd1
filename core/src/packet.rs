//! The packet: 32 bytes, copied between rings. Sizes and numbers only, no payload.
//!
//! | field | bits | content |
//! | --- | --- | --- |
//! | `created` | 64 | time of creation, or the earliest departure time if an `fq` of the sender's host paces it; picoseconds |
//! | `arrived` | 64 | time of arrival at the present queue, or at the far end of the link that it propagates on; picoseconds |
//! | `conversation` | 32 | index of its flow or probe |
//! | `number` | 32 | datagram number or echo sequence number; for TCP the low bits of the sequence or acknowledgement number; for a GSO packet the bytes of its segments |
//! | `extra` | 32 | fragment index and count (16 + 16); for TCP the place of its segment; for a GSO packet its place |
//! | `bytes` | 16 | size with the IP header; for an ideal source the drawn size; for a GSO packet the number of segments |
//! | `traffic_class` | 8 | DSCP (6) and ECN (2), as in the IP header |
//! | `kind` | 8 | 4 bits of kind; 4 flags: reply, size is the wire size, GSO packet, damaged |
//!
//! A queue treats a GSO packet as one packet and splits it into its segments when it leaves (Linux's
//! `skb_is_gso`). It is sent whole only if the device has TSO or GRO made it.
//!
//! TCP headers are in a store of the flow (`traffic::tcp_flow`) and are read once, where the packet arrives.
//! In the packet they would double what every queue copies.

use super::time::Time;

/// The kind of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketKind {
    /// A UDP datagram or one of its fragments.
    Udp = 0,
    /// An ICMP echo request or reply.
    Echo = 1,
    /// A TCP segment.
    Tcp = 2,
}

const KIND_MASK: u8 = 0x0f;
const REPLY: u8 = 0x10;
const SIZE_ON_WIRE: u8 = 0x20;
const GSO: u8 = 0x40;
const DAMAGED: u8 = 0x80;
/// Mask of the ECN field in the traffic class.
const ECN_MASK: u8 = 0b11;

/// A packet in the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Time of creation. If an `fq` of its host paces TCP, the earliest departure time, from which TCP
    /// computes round-trip times (`skb_mstamp_ns`).
    pub created: Time,
    /// Arrival at the present queue; in propagation, the arrival at the far end.
    pub arrived: Time,
    /// Index of its flow or probe (flows first, then probes).
    pub conversation: u32,
    /// Datagram number or echo sequence, counted from 1.
    pub number: u32,
    extra: u32,
    /// Bytes with the IP header; for an ideal source the drawn size.
    pub bytes: u16,
    /// DSCP and ECN as in the IP header: `dscp << 2 | ecn`.
    pub traffic_class: u8,
    kind: u8,
}

const _: () = assert!(size_of::<Packet>() == 32);

impl Packet {
    /// A new packet of `bytes` including the IP header.
    #[inline]
    pub fn new(kind: PacketKind, conversation: u32, number: u32, bytes: u16, now: Time) -> Packet {
        Packet {
            created: now,
            arrived: now,
            conversation,
            number,
            extra: 1,
            bytes,
            traffic_class: 0,
            kind: kind as u8,
        }
    }

    /// A GSO packet of several TCP segments: made from the first of them, their place in the queue's store,
    /// their number, and their bytes with IP headers.
    pub fn into_gso(mut self, place: u32, segments: u16, bytes: u32) -> Packet {
        self.kind |= GSO;
        self.extra = place;
        self.bytes = segments;
        self.number = bytes;
        self
    }

    /// Whether it is a GSO packet.
    #[inline]
    pub fn is_gso(&self) -> bool {
        self.kind & GSO != 0
    }

    /// Flips a bit of it, so that whoever receives it throws it away.
    #[inline]
    pub fn damage(&mut self) {
        self.kind |= DAMAGED;
    }

    /// Whether a bit of it was flipped.
    #[inline(always)]
    pub fn is_damaged(&self) -> bool {
        self.kind & DAMAGED != 0
    }

    /// Number of its segments.
    #[inline]
    pub fn segments(&self) -> u32 {
        if self.is_gso() {
            u32::from(self.bytes)
        } else {
            1
        }
    }

    /// Place of the segments of a GSO packet.
    #[inline]
    pub fn gso_place(&self) -> u32 {
        self.extra
    }

    /// Makes every queue count its size as it is: no link adds its overhead.
    #[inline]
    pub fn with_size_on_wire(mut self) -> Packet {
        self.kind |= SIZE_ON_WIRE;
        self
    }

    /// Whether no link adds its overhead.
    #[inline]
    pub fn has_size_on_wire(&self) -> bool {
        self.kind & SIZE_ON_WIRE != 0
    }

    /// Makes it fragment `index` of `count`.
    #[inline]
    pub fn as_fragment(mut self, index: u16, count: u16) -> Packet {
        self.extra = u32::from(index) << 16 | u32::from(count);
        self
    }

    /// The reply to an echo request: same number, size and creation time, opposite direction.
    #[inline]
    pub fn into_reply(mut self) -> Packet {
        self.kind |= REPLY;
        self
    }

    /// A TCP segment stored at this place of its flow's store. If it is ECN-capable it keeps its codepoint;
    /// otherwise it becomes Not-ECT.
    pub fn with_segment(mut self, place: u32, is_ecn_capable: bool) -> Packet {
        self.extra = place;
        if !is_ecn_capable {
            self.traffic_class &= !ECN_MASK;
        }
        self
    }

    /// Place of its TCP segment.
    #[inline]
    pub fn segment_place(&self) -> u32 {
        self.extra
    }

    /// Number of fragments of its datagram.
    #[inline]
    pub fn fragments(&self) -> u16 {
        self.extra as u16
    }

    /// Index of the fragment in its datagram, from 0.
    #[inline]
    pub fn fragment_index(&self) -> u16 {
        (self.extra >> 16) as u16
    }

    /// Whether it travels from the conversation's destination to its source.
    #[inline]
    pub fn is_reply(&self) -> bool {
        self.kind & REPLY != 0
    }

    /// The kind.
    #[inline]
    pub fn kind(&self) -> PacketKind {
        match self.kind & KIND_MASK {
            kind if kind == PacketKind::Echo as u8 => PacketKind::Echo,
            kind if kind == PacketKind::Tcp as u8 => PacketKind::Tcp,
            _ => PacketKind::Udp,
        }
    }

    /// Whether it may be marked, or has been (RFC 3168 section 5: ECT(0), ECT(1) or CE).
    #[inline]
    pub fn is_ecn_capable(&self) -> bool {
        self.traffic_class & ECN_MASK != 0
    }

    /// Whether it has been marked (RFC 3168 section 5: CE).
    #[inline]
    pub fn has_congestion_mark(&self) -> bool {
        self.traffic_class & ECN_MASK == ECN_MASK
    }

    /// Whether it is ECN-capable by ECT(1) (RFC 9331).
    #[inline]
    pub fn is_ect1(&self) -> bool {
        self.traffic_class & ECN_MASK == 1
    }

    /// Marks it if it is ECN-capable. Returns whether it is.
    #[inline]
    pub fn mark_congestion(&mut self) -> bool {
        let can_be = self.is_ecn_capable();
        if can_be {
            self.traffic_class |= ECN_MASK;
        }
        can_be
    }

    /// Bytes that a link with this overhead counts and sends. For a GSO packet the sum over its segments, as
    /// `qdisc_pkt_len_init` computes it; may exceed 65,535.
    #[inline]
    pub fn wire_bytes(&self, overhead_bytes: u32) -> u32 {
        self.size().wire_bytes(overhead_bytes)
    }

    /// Its size, independent of the link.
    #[inline(always)]
    pub fn size(&self) -> PacketSize {
        let bytes = u32::from(self.bytes);
        let (bytes, frames) = match self.kind & (SIZE_ON_WIRE | GSO) {
            0 => (bytes, 1),
            GSO => (self.number, bytes),
            _ => (bytes, 0),
        };
        PacketSize { bytes, frames }
    }
}

/// The size of a packet on any link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketSize {
    bytes: u32,
    /// Number of times that a link's overhead is added.
    frames: u32,
}

impl PacketSize {
    /// Bytes that a link with this overhead counts and sends.
    #[inline(always)]
    pub fn wire_bytes(self, overhead_bytes: u32) -> u32 {
        self.bytes + self.frames * overhead_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_capable_packets_are_marked() {
        let mut packet = Packet::new(PacketKind::Udp, 0, 1, 100, Time::ZERO);
        packet.traffic_class = 46 << 2;
        assert!(!packet.mark_congestion());
        assert_eq!(packet.traffic_class, 46 << 2);
        packet.traffic_class |= 0b10;
        assert!(packet.is_ecn_capable() && !packet.has_congestion_mark());
        assert!(packet.mark_congestion());
        assert!(packet.has_congestion_mark());
        assert_eq!(packet.traffic_class >> 2, 46);
    }

    #[test]
    fn a_segment_keeps_the_codepoint_if_it_is_capable() {
        for codepoint in [0b01, 0b10] {
            let mut packet = Packet::new(PacketKind::Tcp, 0, 1, 100, Time::ZERO);
            packet.traffic_class = 46 << 2 | codepoint;
            assert_eq!(packet.with_segment(1, true), {
                packet.extra = 1;
                packet
            });
            assert_eq!(packet.with_segment(1, false).traffic_class, 46 << 2);
        }
    }

    #[test]
    fn a_gso_packet_has_the_bytes_of_its_segments() {
        let mut first = Packet::new(PacketKind::Tcp, 3, 77, 1500, Time(5));
        first.traffic_class = 0b10;
        let first = first.with_segment(9, true);
        let mut packet = first.into_gso(4, 45, 45 * 1500);
        assert!(packet.is_gso() && !first.is_gso());
        assert_eq!((packet.gso_place(), packet.kind()), (4, PacketKind::Tcp));
        assert_eq!(packet.wire_bytes(14), 45 * 1514);
        assert!(packet.mark_congestion());
    }

    #[test]
    fn fields_do_not_disturb_each_other() {
        let packet = Packet::new(PacketKind::Echo, 7, 9, 84, Time(5))
            .as_fragment(3, 5)
            .into_reply();
        assert_eq!(packet.kind(), PacketKind::Echo);
        assert!(packet.is_reply());
        assert_eq!((packet.fragment_index(), packet.fragments()), (3, 5));
        assert_eq!(packet.wire_bytes(14), 98);
        assert_eq!(packet.with_size_on_wire().wire_bytes(14), 84);
        assert_eq!(packet.with_size_on_wire().kind(), PacketKind::Echo);
    }
}
