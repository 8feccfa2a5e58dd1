//! A packet as stored in the ring, in half a cache line. It is written once and read once a window later,
//! when, with many flows, it is no longer in a cache.
//!
//! | field | bits | exact |
//! | --- | --- | --- |
//! | `sent_us` | 44 | for all of simulated time (106 days) |
//! | `seq` | 32 | within 4 GiB of the first outstanding packet; a window has at most 1 GiB |
//! | send time of the first packet of a rate sample, and time of the last delivery | 32 | up to 71 minutes before this one was sent; older times are stored as that (Linux has 64 bits) |
//! | packets delivered when it was sent | 32 | within 2^31 of its own number (Linux also has 32 bits) |
//! | its neighbours in its list | 28 | rings have 2^27 places at most |
//! | bytes | 18 | a datagram has fewer |

use super::outstanding::{Outstanding, PacketList, RateNote, mark};

/// The limit of the link's bits: 4 GiB of packets.
pub const MOST_PLACES: usize = 1 << 27;

const LINK_BITS: u32 = 28;
const LINK: u32 = (1 << LINK_BITS) - 1;
const SENT_BITS: u32 = 44;
const BYTES_BITS: u32 = 18;
const LIST_SHIFT: u32 = SENT_BITS + BYTES_BITS;
const BYTES: u64 = (1 << BYTES_BITS) - 1;

/// A place in the ring, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link(u32);

impl Link {
    pub const NONE: Link = Link(0);

    /// To this place.
    #[inline(always)]
    pub fn to(place: usize) -> Link {
        Link(place as u32 + 1)
    }

    /// The place; None for an empty link.
    #[inline(always)]
    pub fn place(self) -> Option<usize> {
        (self.0 as usize).checked_sub(1)
    }
}

/// A packet that was sent.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(32))]
pub struct PackedPacket {
    /// From the lowest bit: `sent_us`, bytes, and the list.
    sent: u64,
    seq: u32,
    /// Relative to `sent_us`.
    first_sent_us: u32,
    delivered_time_us: u32,
    /// Relative to its own number.
    delivered_pkts: u32,
    /// Neighbours in the list, with four flags each in the highest bits.
    before: u32,
    after: u32,
}

const _: () = assert!(size_of::<PackedPacket>() == 32);

const PLACES: [PacketList; 4] = [
    PacketList::Nowhere,
    PacketList::InFlight,
    PacketList::Lost,
    PacketList::LostByTime,
];

impl PackedPacket {
    /// A packet `number` sent for the first time: in flight, at the end of the list.
    #[inline(always)]
    pub fn sent(
        number: u64,
        seq: u64,
        bytes: u32,
        sent_us: u64,
        note: RateNote,
        before: Link,
    ) -> PackedPacket {
        debug_assert!(u64::from(bytes) <= BYTES);
        let mut packed = PackedPacket {
            sent: u64::from(bytes) << SENT_BITS | (PacketList::InFlight as u64) << LIST_SHIFT,
            seq: seq as u32,
            first_sent_us: 0,
            delivered_time_us: 0,
            delivered_pkts: 0,
            before: before.0,
            after: 0,
        };
        packed.set_sent(number, sent_us, note);
        packed
    }

    /// Packs a packet with this number; `link_to` finds its neighbours in the ring.
    pub fn of(number: u64, sent: &Outstanding, link_to: impl Fn(u64) -> Link) -> PackedPacket {
        let note = RateNote {
            first_sent_us: sent.first_sent_us,
            delivered_time_us: sent.delivered_time_us,
            delivered_pkts: sent.delivered_pkts,
            is_app_limited: sent.has(mark::APP_LIMITED),
        };
        let before = link_to(sent.before);
        let mut packed =
            PackedPacket::sent(number, sent.seq, sent.bytes, sent.sent_us, note, before);
        packed.set_after(link_to(sent.after));
        packed.set_marks(sent.marks);
        packed.set_list(sent.place);
        packed
    }

    /// Records a transmission with the estimator's state.
    #[inline(always)]
    pub fn set_sent(&mut self, number: u64, sent_us: u64, note: RateNote) {
        debug_assert!(sent_us < 1 << SENT_BITS);
        debug_assert!(sent_us >= note.first_sent_us.max(note.delivered_time_us));
        let since = |us: u64| sent_us.saturating_sub(us).min(u64::from(u32::MAX)) as u32;
        self.sent = self.sent >> SENT_BITS << SENT_BITS | sent_us;
        self.first_sent_us = since(note.first_sent_us);
        self.delivered_time_us = since(note.delivered_time_us);
        self.delivered_pkts = note.delivered_pkts.wrapping_sub(number) as u32;
        let limited = if note.is_app_limited {
            mark::APP_LIMITED
        } else {
            0
        };
        let others = self.marks() & !(mark::APP_LIMITED | mark::RATE_COUNTED);
        self.set_marks(others | limited);
    }

    /// Unpacks it. `number` is its own, `head_seq` a lower bound of outstanding sequence numbers; `number_of`
    /// finds the numbers of its neighbours.
    #[inline(always)]
    pub fn unpack(
        &self,
        number: u64,
        head_seq: u64,
        number_of: impl Fn(Link) -> u64,
    ) -> Outstanding {
        let sent_us = self.sent_us();
        let delivered = i64::from(self.delivered_pkts as i32);
        Outstanding {
            seq: self.seq(head_seq),
            sent_us,
            first_sent_us: sent_us - u64::from(self.first_sent_us),
            delivered_time_us: sent_us - u64::from(self.delivered_time_us),
            delivered_pkts: number.wrapping_add_signed(delivered),
            before: number_of(self.before()),
            after: number_of(self.after()),
            bytes: self.bytes(),
            marks: self.marks(),
            place: self.list(),
        }
    }

    #[inline(always)]
    fn sent_us(&self) -> u64 {
        self.sent & ((1 << SENT_BITS) - 1)
    }

    #[inline(always)]
    pub fn seq(&self, head_seq: u64) -> u64 {
        head_seq + u64::from(self.seq.wrapping_sub(head_seq as u32))
    }

    #[inline(always)]
    fn bytes(&self) -> u32 {
        (self.sent >> SENT_BITS & BYTES) as u32
    }

    /// The list that it is in.
    #[inline(always)]
    pub fn list(&self) -> PacketList {
        PLACES[(self.sent >> LIST_SHIFT) as usize]
    }

    #[inline(always)]
    pub fn set_list(&mut self, place: PacketList) {
        self.sent = self.sent & ((1 << LIST_SHIFT) - 1) | (place as u64) << LIST_SHIFT;
    }

    #[inline(always)]
    pub fn before(&self) -> Link {
        Link(self.before & LINK)
    }

    #[inline(always)]
    pub fn after(&self) -> Link {
        Link(self.after & LINK)
    }

    #[inline(always)]
    pub fn set_before(&mut self, link: Link) {
        self.before = self.before & !LINK | link.0;
    }

    #[inline(always)]
    pub fn set_after(&mut self, link: Link) {
        self.after = self.after & !LINK | link.0;
    }

    #[inline(always)]
    pub fn marks(&self) -> u8 {
        (self.before >> LINK_BITS | self.after >> LINK_BITS << 4) as u8
    }

    #[inline(always)]
    pub fn set_marks(&mut self, marks: u8) {
        let marks = u32::from(marks);
        self.before = self.before & LINK | marks << LINK_BITS;
        self.after = self.after & LINK | marks >> 4 << LINK_BITS;
    }

    #[inline(always)]
    pub fn add_marks(&mut self, marks: u8) {
        self.set_marks(self.marks() | marks);
    }

    #[inline(always)]
    pub fn remove_marks(&mut self, marks: u8) {
        self.set_marks(self.marks() & !marks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NUMBER: u64 = 1 << 40;
    const HEAD_SEQ: u64 = (7 << 32) - 1;

    fn place() -> impl Strategy<Value = PacketList> {
        prop::sample::select(PLACES.to_vec())
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_out_again(
            (sent_us, first_us, delivered_us) in (0u64..1 << 43, 0u64..1 << 33, 0u64..1 << 33),
            (seq, bytes) in (HEAD_SEQ..HEAD_SEQ + (1 << 32), 0u32..1 << 17),
            delivered_pkts in NUMBER - (1 << 31)..NUMBER + (1 << 31),
            (before, after) in (0..MOST_PLACES as u64, 0..MOST_PLACES as u64),
            (marks, place) in (any::<u8>(), place()),
        ) {
            let sent = Outstanding {
                seq,
                sent_us,
                first_sent_us: sent_us.saturating_sub(first_us),
                delivered_time_us: sent_us.saturating_sub(delivered_us),
                delivered_pkts,
                before,
                after,
                bytes,
                marks,
                place,
            };
            let packed = PackedPacket::of(NUMBER, &sent, |place| Link::to(place as usize));
            let number_of = |link: Link| link.place().map_or(u64::MAX, |place| place as u64);
            let unpacked = packed.unpack(NUMBER, HEAD_SEQ, number_of);
            // Further back than 71 minutes is 71 minutes.
            let earliest_us = sent_us.saturating_sub(u64::from(u32::MAX));
            let expected = Outstanding {
                first_sent_us: sent.first_sent_us.max(earliest_us),
                delivered_time_us: sent.delivered_time_us.max(earliest_us),
                ..sent
            };
            prop_assert_eq!(unpacked, expected);
        }
    }
}
