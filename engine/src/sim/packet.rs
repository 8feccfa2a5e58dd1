//! The packet: 32 bytes, moved by value between rings. Sizes and numbers only, no payload.
//!
//! | field | bits | what it holds |
//! | --- | --- | --- |
//! | `created` | 64 | when the sender made it, picoseconds |
//! | `arrived` | 64 | when it arrived at the queue it is in, picoseconds |
//! | `conversation` | 32 | which flow or probe it belongs to |
//! | `number` | 32 | datagram number, echo sequence, TCP sequence |
//! | `extra` | 32 | fragment index and count (16 + 16); TCP acknowledgement |
//! | `bytes` | 16 | size with the IP header; for an ideal source the drawn size |
//! | `traffic_class` | 8 | DSCP (6) and ECN (2), as in the IP header |
//! | `kind` | 8 | 4 bits of kind; 4 of flags: reply, size already the wire's, 2 free |
//!
//! TCP keeps its 32-bit sequence and acknowledgement here; window, SACK blocks and timestamps
//! lie in a side ring of the flow, indexed by `number`. A larger packet may grow to 64 bytes.

use super::time::Time;

/// What a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A UDP datagram or one of its fragments.
    Udp = 0,
    /// An ICMP echo, asking or answering.
    Echo = 1,
}

const KIND_MASK: u8 = 0x0f;
const REPLY: u8 = 0x10;
const SIZE_ON_WIRE: u8 = 0x20;

/// A packet on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// When the sender made it.
    pub created: Time,
    /// When it arrived at the queue it is in.
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
        if self.kind & KIND_MASK == Kind::Echo as u8 {
            Kind::Echo
        } else {
            Kind::Udp
        }
    }

    /// Bytes a link with this overhead counts and sends.
    #[inline]
    pub fn wire_bytes(&self, overhead_bytes: u32) -> u32 {
        let added = if self.kind & SIZE_ON_WIRE == 0 {
            overhead_bytes
        } else {
            0
        };
        u32::from(self.bytes) + added
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
