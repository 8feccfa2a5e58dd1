//! The packet: 32 bytes, moved by value between rings. Sizes and numbers only, no payload.
//!
//! | field | bits | what it holds |
//! | --- | --- | --- |
//! | `created` | 64 | when the sender made it, or where an `fq` of its host paces, before when it does not leave; picoseconds |
//! | `arrived` | 64 | when it arrived at the queue it is in, or will have crossed its delay, picoseconds |
//! | `conversation` | 32 | which flow or probe it belongs to |
//! | `number` | 32 | datagram number, echo sequence; of TCP the low bits of the sequence number, or of what is acknowledged; of a GSO packet its segments' bytes |
//! | `extra` | 32 | fragment index and count (16 + 16); of TCP the place of its segment; of a GSO packet its place |
//! | `bytes` | 16 | size with the IP header; for an ideal source the drawn size; of a GSO packet how many segments it has |
//! | `traffic_class` | 8 | DSCP (6) and ECN (2), as in the IP header |
//! | `kind` | 8 | 4 bits of kind; 4 of flags: reply, size already the wire's, GSO packet, 1 free |
//!
//! A GSO packet is one that a queue takes for one and cuts into its segments behind it: Linux's
//! `skb_is_gso`. It leaves that queue only where the device has TSO, or GRO made it.
//!
//! A TCP header lies in a store of the flow (`traffic::tcp_flow`) and is read once, where the
//! packet arrives: in the packet it would double what every queue moves.

use super::time::Time;

/// What a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A UDP datagram or one of its fragments.
    Udp = 0,
    /// An ICMP echo, asking or answering.
    Echo = 1,
    /// A TCP segment.
    Tcp = 2,
}

const KIND_MASK: u8 = 0x0f;
const REPLY: u8 = 0x10;
const SIZE_ON_WIRE: u8 = 0x20;
const GSO: u8 = 0x40;
/// The two bits of ECN in the traffic class.
const ECN_MASK: u8 = 0b11;

/// A packet on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// When the sender made it. Where an `fq` of its host paces TCP, the instant before which it does not
    /// leave that, from which TCP reckons round trips (`skb_mstamp_ns`).
    pub created: Time,
    /// When it arrived at the queue it is in; of one in the delay of a link, when it comes out.
    pub arrived: Time,
    /// Which flow or probe it belongs to (flows first, then probes).
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
    /// A new packet of `bytes` with its IP header.
    #[inline]
    pub fn new(kind: Kind, conversation: u32, number: u32, bytes: u16, now: Time) -> Packet {
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

    /// Several TCP segments that a host's own queue takes for one packet, by the first of them, their
    /// place with the queue, and what they are and have together with their IP headers.
    pub fn into_gso(mut self, place: u32, segments: u16, bytes: u32) -> Packet {
        self.kind |= GSO;
        self.extra = place;
        self.bytes = segments;
        self.number = bytes;
        self
    }

    /// Whether it is several segments.
    #[inline]
    pub fn is_gso(&self) -> bool {
        self.kind & GSO != 0
    }

    /// How many segments it is.
    #[inline]
    pub fn segments(&self) -> u32 {
        if self.is_gso() {
            u32::from(self.bytes)
        } else {
            1
        }
    }

    /// Where the segments of a GSO packet lie.
    #[inline]
    pub fn gso_place(&self) -> u32 {
        self.extra
    }

    /// Marks the size as what every queue counts: no link adds its overhead.
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

    /// The answer to an echo: same number, size and creation time, the other way.
    #[inline]
    pub fn into_reply(mut self) -> Packet {
        self.kind |= REPLY;
        self
    }

    /// A TCP segment that lies at this place of its flow's store. If it is ECN-capable it keeps the
    /// codepoint it has; otherwise it has none.
    pub fn with_segment(mut self, place: u32, is_ecn_capable: bool) -> Packet {
        self.extra = place;
        if !is_ecn_capable {
            self.traffic_class &= !ECN_MASK;
        }
        self
    }

    /// Where its TCP segment lies.
    #[inline]
    pub fn segment_place(&self) -> u32 {
        self.extra
    }

    /// How many fragments its datagram has.
    #[inline]
    pub fn fragments(&self) -> u16 {
        self.extra as u16
    }

    /// Which fragment of its datagram it is, from zero.
    #[inline]
    pub fn fragment_index(&self) -> u16 {
        (self.extra >> 16) as u16
    }

    /// Whether it travels from the conversation's destination to its source.
    #[inline]
    pub fn is_reply(&self) -> bool {
        self.kind & REPLY != 0
    }

    /// What it is.
    #[inline]
    pub fn kind(&self) -> Kind {
        match self.kind & KIND_MASK {
            kind if kind == Kind::Echo as u8 => Kind::Echo,
            kind if kind == Kind::Tcp as u8 => Kind::Tcp,
            _ => Kind::Udp,
        }
    }

    /// Whether it may be marked instead of dropped, or has been (RFC 3168 section 5: ECT(0),
    /// ECT(1) or CE).
    #[inline]
    pub fn is_ecn_capable(&self) -> bool {
        self.traffic_class & ECN_MASK != 0
    }

    /// Whether it has been marked (RFC 3168 section 5: CE).
    #[inline]
    pub fn has_congestion_mark(&self) -> bool {
        self.traffic_class & ECN_MASK == ECN_MASK
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

    /// Bytes a link with this overhead counts and sends. Of a GSO packet those of all its segments, as
    /// `qdisc_pkt_len_init` reckons them; more than 65,535 then.
    #[inline]
    pub fn wire_bytes(&self, overhead_bytes: u32) -> u32 {
        self.size().wire_bytes(overhead_bytes)
    }

    /// Its size, for whoever asks it of several links.
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

/// How large a packet is on any link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketSize {
    bytes: u32,
    /// How often a link's overhead is added.
    frames: u32,
}

impl PacketSize {
    /// Bytes a link with this overhead counts and sends.
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
        let mut packet = Packet::new(Kind::Udp, 0, 1, 100, Time::ZERO);
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
            let mut packet = Packet::new(Kind::Tcp, 0, 1, 100, Time::ZERO);
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
        let mut first = Packet::new(Kind::Tcp, 3, 77, 1500, Time(5));
        first.traffic_class = 0b10;
        let first = first.with_segment(9, true);
        let mut packet = first.into_gso(4, 45, 45 * 1500);
        assert!(packet.is_gso() && !first.is_gso());
        assert_eq!((packet.gso_place(), packet.kind()), (4, Kind::Tcp));
        assert_eq!(packet.wire_bytes(14), 45 * 1514);
        assert!(packet.mark_congestion());
    }

    #[test]
    fn fields_do_not_disturb_each_other() {
        let packet = Packet::new(Kind::Echo, 7, 9, 84, Time(5))
            .as_fragment(3, 5)
            .into_reply();
        assert_eq!(packet.kind(), Kind::Echo);
        assert!(packet.is_reply());
        assert_eq!((packet.fragment_index(), packet.fragments()), (3, 5));
        assert_eq!(packet.wire_bytes(14), 98);
        assert_eq!(packet.with_size_on_wire().wire_bytes(14), 84);
        assert_eq!(packet.with_size_on_wire().kind(), Kind::Echo);
    }
}
