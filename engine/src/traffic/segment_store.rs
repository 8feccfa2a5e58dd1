//! Segments on their way, by the place that their packets name.
//!
//! Of every packet in flight a segment is written once and read once, at random places as far as
//! a cache can tell. So they are kept small: 48 bytes, and SACK blocks, which few have, elsewhere.

use crate::sim::prefetch::prefetch;
use crate::tcp::segment::{Flags, Header, SackBlocks, Segment, Timestamps};

/// In place of a place.
const NONE: u32 = u32::MAX;
/// Places made at first: an initial window and its acknowledgements.
const FIRST_PLACES: usize = 16;

/// Of `Stored::bits`: it carries timestamps.
const TIMESTAMPS: u8 = 1;
/// Of `Stored::bits`: it was sent again.
const AGAIN: u8 = 2;
/// Of `Stored::bits`: the receiver sent it.
const REPLY: u8 = 4;
/// Of `Stored::bits`: it is on the account of its sender's host (`tcp::small_queue`).
const HELD: u8 = 8;

#[inline]
fn bit_if(holds: bool, bit: u8) -> u8 {
    if holds { bit } else { 0 }
}

/// What is known of a segment besides its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// Number of its connection in the flow.
    pub connection: u32,
    /// Whether what it carries had been sent before.
    pub is_again: bool,
    /// Whether the receiver sent it.
    pub is_reply: bool,
}

#[derive(Debug, Clone, Copy)]
struct Stored {
    seq: u64,
    ack: u64,
    timestamps: Timestamps,
    /// At most 1 GiB (RFC 7323 section 2.3).
    window_bytes: u32,
    /// Place of the SACK blocks, or `NONE`.
    sack: u32,
    connection: u32,
    /// How many packets carry it: queues may copy packets. Of a free place, the next free one.
    packets: u32,
    payload_bytes: u16,
    /// Counts the flow's segments.
    number: u16,
    flags: Flags,
    bits: u8,
}

const _: () = assert!(size_of::<Stored>() == 48);

impl Stored {
    #[inline(always)]
    fn header(&self) -> Header {
        Header {
            seq: self.seq,
            ack: self.ack,
            window_bytes: u64::from(self.window_bytes),
            timestamps: (self.bits & TIMESTAMPS != 0).then_some(self.timestamps),
            payload_bytes: u32::from(self.payload_bytes),
            flags: self.flags,
        }
    }
}

/// The segments of a flow, each with its tag.
#[derive(Debug, Clone)]
pub struct SegmentStore {
    places: Vec<Stored>,
    /// The free place that is taken next, or `NONE`: of those in no use the one left last, whose
    /// line may still be near.
    free: u32,
    /// None before the first.
    sacks: Option<Box<Sacks>>,
    next_number: u16,
}

/// SACK blocks of segments on their way.
#[derive(Debug, Clone, Default)]
struct Sacks {
    places: Vec<SackBlocks>,
    free: Vec<u32>,
}

impl Sacks {
    fn put(&mut self, sack: &SackBlocks) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = *sack;
            return place;
        }
        self.places.push(*sack);
        self.places.len() as u32 - 1
    }
}

impl Default for SegmentStore {
    fn default() -> SegmentStore {
        SegmentStore {
            places: Vec::new(),
            free: NONE,
            sacks: None,
            next_number: 0,
        }
    }
}

impl SegmentStore {
    /// Keeps a segment for one packet. Returns its place.
    pub fn put(&mut self, segment: &Segment, tag: Tag) -> u32 {
        let place = self.put_plain(&segment.header(), tag);
        self.places[place as usize].sack = self.put_sack(&segment.sack);
        place
    }

    /// As `put`, of a segment without SACK blocks.
    #[inline(always)]
    pub fn put_plain(&mut self, segment: &Header, tag: Tag) -> u32 {
        let stored = Stored {
            seq: segment.seq,
            ack: segment.ack,
            timestamps: segment.timestamps.unwrap_or_default(),
            window_bytes: segment.window_bytes as u32,
            sack: NONE,
            connection: tag.connection,
            packets: 1,
            payload_bytes: segment.payload_bytes as u16,
            number: self.next_number,
            flags: segment.flags,
            bits: bit_if(segment.timestamps.is_some(), TIMESTAMPS)
                | bit_if(tag.is_again, AGAIN)
                | bit_if(tag.is_reply, REPLY),
        };
        debug_assert_eq!(u32::from(stored.payload_bytes), segment.payload_bytes);
        debug_assert_eq!(u64::from(stored.window_bytes), segment.window_bytes);
        self.next_number = self.next_number.wrapping_add(1);
        let place = self.free;
        if let Some(free) = self.places.get_mut(place as usize) {
            self.free = free.packets;
            *free = stored;
            return place;
        }
        self.add(stored)
    }

    /// One place more. The first window of packets lies together.
    #[cold]
    fn add(&mut self, stored: Stored) -> u32 {
        if self.places.is_empty() {
            self.places.reserve_exact(FIRST_PLACES);
        }
        self.places.push(stored);
        self.places.len() as u32 - 1
    }

    fn put_sack(&mut self, sack: &SackBlocks) -> u32 {
        if sack.is_empty() {
            return NONE;
        }
        self.sacks.get_or_insert_default().put(sack)
    }

    /// Has the segment at a place fetched, and the place that is taken next.
    pub fn prefetch(&self, place: u32) {
        for place in [place, self.free] {
            if let Some(stored) = self.places.get(place as usize) {
                prefetch(stored);
            }
        }
    }

    /// Places there are, in use or free.
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// One more packet carries the segment.
    pub fn share(&mut self, place: u32) {
        self.places[place as usize].packets += 1;
    }

    /// A packet that carries the segment is gone: its header, and its SACK blocks if it has some.
    #[inline(always)]
    pub fn take(&mut self, place: u32) -> (Header, Option<SackBlocks>) {
        let header = self.places[place as usize].header();
        let blocks = self.blocks(place);
        self.discard(place);
        (header, blocks)
    }

    #[inline(always)]
    fn blocks(&self, place: u32) -> Option<SackBlocks> {
        let stored = &self.places[place as usize];
        if stored.sack == NONE {
            return None;
        }
        let sacks = self.sacks.as_ref()?;
        Some(sacks.places[stored.sack as usize])
    }

    /// A packet that carries the segment is gone, and nobody reads it.
    #[inline]
    pub fn discard(&mut self, place: u32) {
        let stored = &mut self.places[place as usize];
        stored.packets -= 1;
        if stored.packets == 0 {
            if stored.sack != NONE
                && let Some(sacks) = &mut self.sacks
            {
                sacks.free.push(stored.sack);
            }
            stored.packets = self.free;
            self.free = place;
        }
    }

    /// The tag of the segment at a place.
    #[inline]
    pub fn tag(&self, place: u32) -> Tag {
        let stored = &self.places[place as usize];
        Tag {
            connection: stored.connection,
            is_again: stored.bits & AGAIN != 0,
            is_reply: stored.bits & REPLY != 0,
        }
    }

    /// The segment at a place, which stays there.
    pub fn get(&self, place: u32) -> Segment {
        Segment {
            sack: self.blocks(place).unwrap_or_default(),
            ..Segment::from(self.places[place as usize].header())
        }
    }

    /// Its packet is in the queue of the sender's host. Returns the connection and the payload.
    pub fn hold(&mut self, place: u32) -> (u32, u32) {
        let stored = &mut self.places[place as usize];
        stored.bits |= HELD;
        (stored.connection, u32::from(stored.payload_bytes))
    }

    /// Its packet is there no more: the connection and the payload, if it was there.
    pub fn release(&mut self, place: u32) -> Option<(u32, u32)> {
        let stored = &mut self.places[place as usize];
        let was_held = stored.bits & HELD != 0;
        stored.bits &= !HELD;
        was_held.then_some((stored.connection, u32::from(stored.payload_bytes)))
    }

    /// The number of the segment at a place among all that the flow's two ends have sent, modulo
    /// 65,536.
    pub fn number(&self, place: u32) -> u16 {
        self.places[place as usize].number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::segment::SackBlock;

    fn segment(seq: u64, blocks: u64) -> Segment {
        let mut segment = Segment {
            seq,
            ack: 7,
            window_bytes: 1 << 30,
            payload_bytes: 65_000,
            timestamps: Some(Timestamps {
                value_ms: 1,
                echo_ms: 2,
            }),
            flags: Flags::ACK | Flags::CE,
            ..Segment::default()
        };
        for start in 0..blocks {
            let block = SackBlock {
                start,
                end: start + 1,
            };
            segment.sack.push(block, 4);
        }
        segment
    }

    fn taken(store: &mut SegmentStore, place: u32) -> Segment {
        let (header, blocks) = store.take(place);
        Segment {
            sack: blocks.unwrap_or_default(),
            ..Segment::from(header)
        }
    }

    fn tag(connection: u32) -> Tag {
        Tag {
            connection,
            is_again: connection % 2 == 1,
            is_reply: connection % 3 == 1,
        }
    }

    #[test]
    fn what_is_put_is_taken() {
        let mut store = SegmentStore::default();
        let bare = Segment::default();
        for segment in [segment(1, 0), segment(2, 3), bare] {
            for connection in 0..6 {
                let place = store.put(&segment, tag(connection));
                assert_eq!(store.tag(place), tag(connection));
                assert_eq!(taken(&mut store, place), segment);
            }
        }
    }

    #[test]
    fn a_place_is_free_when_the_last_packet_is_gone() {
        let mut store = SegmentStore::default();
        let place = store.put(&segment(1, 2), tag(1));
        store.share(place);
        let other = store.put(&segment(2, 1), tag(1));
        assert_eq!(store.take(place).0.seq, 1);
        assert_ne!(store.put(&segment(3, 1), tag(1)), place);
        assert_eq!(taken(&mut store, place), segment(1, 2));
        assert_eq!(store.put(&segment(4, 1), tag(2)), place);
        assert_eq!(taken(&mut store, other), segment(2, 1));
        assert_eq!(store.tag(place), tag(2));
        assert_eq!(taken(&mut store, place), segment(4, 1));
        // Three of them had SACK blocks at the same time.
        assert_eq!(store.sacks.unwrap().places.len(), 3);
    }

    #[test]
    fn segments_are_numbered_as_they_are_put() {
        let mut store = SegmentStore::default();
        for number in 0..70_000_u32 {
            let place = store.put(&segment(1, 0), tag(number % 3));
            assert_eq!(store.number(place), number as u16);
            store.take(place);
        }
    }
}
