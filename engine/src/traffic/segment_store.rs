//! TCP segments in flight, by the index that their packets carry.
//!
//! A segment is written once and read once, in an order that caches cannot predict. So it is small: 32 bytes,
//! two to a cache line. SACK blocks, counters of bytes and copies, which few segments have, are stored elsewhere.

use crate::sim::prefetch::prefetch;
use crate::tcp::segment::{Flags, Header, Segment, SparseOptions, Timestamps};
use std::collections::BTreeMap;

/// Placeholder for a place.
const NONE: u32 = u32::MAX;
/// Initial number of places: an initial window and its acknowledgements.
const FIRST_PLACES: usize = 16;

/// Flag in `StoredSegment::bits`: it carries timestamps.
const TIMESTAMPS: u8 = 1;
/// Flag in `StoredSegment::bits`: it is a retransmission.
const AGAIN: u8 = 2;
/// Flag in `StoredSegment::bits`: the receiver sent it.
const REPLY: u8 = 4;
/// Flag in `StoredSegment::bits`: it counts in its host's queue accounting (`tcp::small_queue`).
const HELD: u8 = 8;
/// Flag in `StoredSegment::bits`: it carries SACK blocks, or the option of accurate ECN.
const SPARSE: u8 = 16;
/// Flag in `StoredSegment::bits`: several packets carry it.
const SHARED: u8 = 32;
/// Of `StoredSegment::bits`: it has the flag AE, the only one above the lowest eight.
const ACCURATE: u8 = 64;

#[inline]
fn bit_if(holds: bool, bit: u8) -> u8 {
    if holds { bit } else { 0 }
}

/// Properties of a segment besides its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentTag {
    /// Number of its connection in the flow.
    pub connection: u32,
    /// Whether it is a retransmission.
    pub is_retransmission: bool,
    /// Whether the receiver sent it.
    pub is_reply: bool,
}

#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
struct StoredSegment {
    /// The sender's sequence number, or the receiver's acknowledgement number.
    data: u64,
    timestamps: Timestamps,
    /// At most 1 GiB (RFC 7323 section 2.3).
    window_bytes: u32,
    /// For a free place: the next free one.
    connection: u32,
    payload_bytes: u16,
    /// Number among the flow's segments.
    number: u16,
    /// The number of the other direction, which carries no data: the sender's acknowledgement number, or the
    /// receiver's sequence number. SYN and FIN count.
    control: u16,
    /// The lowest of its flags.
    flags: u8,
    bits: u8,
}

const _: () = assert!(size_of::<StoredSegment>() == 32);

impl StoredSegment {
    #[inline(always)]
    fn header(&self) -> Header {
        let (data, control) = (self.data, u64::from(self.control));
        let is_reply = self.bits & REPLY != 0;
        Header {
            seq: if is_reply { control } else { data },
            ack: if is_reply { data } else { control },
            window_bytes: u64::from(self.window_bytes),
            timestamps: (self.bits & TIMESTAMPS != 0).then_some(self.timestamps),
            payload_bytes: u32::from(self.payload_bytes),
            flags: Flags::from_bits(self.flags, self.bits & ACCURATE != 0),
        }
    }

    #[inline(always)]
    fn tag(&self) -> SegmentTag {
        SegmentTag {
            connection: self.connection,
            is_retransmission: self.bits & AGAIN != 0,
            is_reply: self.bits & REPLY != 0,
        }
    }
}

/// The segments of a flow, each with its tag.
#[derive(Debug, Clone)]
pub struct SegmentStore {
    places: Vec<StoredSegment>,
    /// The free place that is used next, or `NONE`: the one freed last, whose cache line may still be near.
    free: u32,
    next_number: u16,
    /// None until first needed.
    rare: Option<Box<SparseFields>>,
}

/// Fields that few segments have, by place.
#[derive(Debug, Clone, Default)]
struct SparseFields {
    options: OptionsInFlight,
    /// Number of packets besides the first that carry a segment: queues may duplicate packets.
    copies: BTreeMap<u32, u32>,
}

/// Options of segments in flight that have more than timestamps.
#[derive(Debug, Clone, Default)]
struct OptionsInFlight {
    values: Vec<SparseOptions>,
    free: Vec<u32>,
    /// Index of the options of the segment at a place.
    of_place: Vec<u32>,
}

impl OptionsInFlight {
    fn put(&mut self, place: u32, options: &SparseOptions) {
        let index = self.free.pop().unwrap_or(self.values.len() as u32);
        match self.values.get_mut(index as usize) {
            Some(free) => *free = *options,
            None => self.values.push(*options),
        }
        if self.of_place.len() <= place as usize {
            self.of_place.resize(place as usize + 1, NONE);
        }
        self.of_place[place as usize] = index;
    }

    fn get(&self, place: u32) -> SparseOptions {
        self.values[self.of_place[place as usize] as usize]
    }

    fn discard(&mut self, place: u32) {
        self.free.push(self.of_place[place as usize]);
    }
}

impl Default for SegmentStore {
    fn default() -> SegmentStore {
        SegmentStore {
            places: Vec::new(),
            free: NONE,
            next_number: 0,
            rare: None,
        }
    }
}

impl SegmentStore {
    /// Stores a segment for one packet. Returns its place.
    pub fn put(&mut self, segment: &Segment, tag: SegmentTag) -> u32 {
        let place = self.put_plain(&segment.header(), tag);
        let options = segment.sparse_options();
        if !options.is_empty() {
            self.places[place as usize].bits |= SPARSE;
            self.rare
                .get_or_insert_default()
                .options
                .put(place, &options);
        }
        place
    }

    /// As `put`, for a segment without further options.
    #[inline(always)]
    pub fn put_plain(&mut self, segment: &Header, tag: SegmentTag) -> u32 {
        let (data, control) = if tag.is_reply {
            (segment.ack, segment.seq)
        } else {
            (segment.seq, segment.ack)
        };
        let stored = StoredSegment {
            data,
            timestamps: segment.timestamps.unwrap_or_default(),
            window_bytes: segment.window_bytes as u32,
            connection: tag.connection,
            payload_bytes: segment.payload_bytes as u16,
            number: self.next_number,
            control: control as u16,
            flags: segment.flags.low_bits(),
            bits: bit_if(segment.timestamps.is_some(), TIMESTAMPS)
                | bit_if(segment.flags.has(Flags::AE), ACCURATE)
                | bit_if(tag.is_retransmission, AGAIN)
                | bit_if(tag.is_reply, REPLY),
        };
        debug_assert_eq!(u32::from(stored.payload_bytes), segment.payload_bytes);
        debug_assert_eq!(u64::from(stored.window_bytes), segment.window_bytes);
        debug_assert_eq!(u64::from(stored.control), control, "no data goes back");
        self.next_number = self.next_number.wrapping_add(1);
        let place = self.free;
        if let Some(free) = self.places.get_mut(place as usize) {
            self.free = free.connection;
            *free = stored;
            return place;
        }
        self.add(stored)
    }

    /// Adds a place. The places of the first window are contiguous.
    #[cold]
    fn add(&mut self, stored: StoredSegment) -> u32 {
        if self.places.is_empty() {
            self.places.reserve_exact(FIRST_PLACES);
        }
        self.places.push(stored);
        self.places.len() as u32 - 1
    }

    /// Prefetches the segment at a place, and the place used next.
    pub fn prefetch(&self, place: u32) {
        for place in [place, self.free] {
            if let Some(stored) = self.places.get(place as usize) {
                prefetch(stored);
            }
        }
    }

    /// Prefetches the place used after the next.
    pub fn prefetch_second(&self) {
        let next = self.places.get(self.free as usize);
        if let Some(second) = next.and_then(|next| self.places.get(next.connection as usize)) {
            prefetch(second);
        }
    }

    /// Number of places, used or free.
    pub fn places(&self) -> usize {
        self.places.len()
    }

    /// Adds a packet that carries the segment.
    pub fn share(&mut self, place: u32) {
        self.places[place as usize].bits |= SHARED;
        let rare = self.rare.get_or_insert_default();
        *rare.copies.entry(place).or_default() += 1;
    }

    /// A packet that carries the segment has arrived: returns its header, tag and further options, if any.
    #[inline(always)]
    pub fn take(&mut self, place: u32) -> (Header, SegmentTag, Option<SparseOptions>) {
        let stored = &mut self.places[place as usize];
        let (header, tag) = (stored.header(), stored.tag());
        if stored.bits & (SPARSE | SHARED) == 0 {
            stored.connection = self.free;
            self.free = place;
            return (header, tag, None);
        }
        let options = self.options(place);
        self.discard(place);
        (header, tag, options)
    }

    #[inline(always)]
    fn options(&self, place: u32) -> Option<SparseOptions> {
        if self.places[place as usize].bits & SPARSE == 0 {
            return None;
        }
        self.rare.as_ref().map(|rare| rare.options.get(place))
    }

    /// A packet that carries the segment is gone, unread.
    #[inline]
    pub fn discard(&mut self, place: u32) {
        let bits = self.places[place as usize].bits;
        if bits & (SPARSE | SHARED) != 0 && self.discard_rare(place, bits) {
            return;
        }
        let stored = &mut self.places[place as usize];
        stored.connection = self.free;
        self.free = place;
    }

    /// Releases its sparse fields. Returns whether other packets carry it.
    #[inline(never)]
    fn discard_rare(&mut self, place: u32, bits: u8) -> bool {
        let Some(rare) = &mut self.rare else {
            return false;
        };
        if bits & SHARED != 0
            && let Some(copies) = rare.copies.get_mut(&place)
        {
            *copies -= 1;
            if *copies == 0 {
                rare.copies.remove(&place);
                self.places[place as usize].bits &= !SHARED;
            }
            return true;
        }
        if bits & SPARSE != 0 {
            rare.options.discard(place);
        }
        false
    }

    /// The tag of the segment at a place.
    #[inline]
    pub fn tag(&self, place: u32) -> SegmentTag {
        self.places[place as usize].tag()
    }

    /// The segment at a place, without removing it.
    pub fn get(&self, place: u32) -> Segment {
        let options = self.options(place).unwrap_or_default();
        Segment::with_options(self.places[place as usize].header(), &options)
    }

    /// Marks its packet as being in the queue of the sender's host. Returns the connection and the payload.
    pub fn hold(&mut self, place: u32) -> (u32, u32) {
        let stored = &mut self.places[place as usize];
        stored.bits |= HELD;
        (stored.connection, u32::from(stored.payload_bytes))
    }

    /// Clears that mark. Returns the connection and the payload, if it was set.
    pub fn release(&mut self, place: u32) -> Option<(u32, u32)> {
        let stored = &mut self.places[place as usize];
        let was_held = stored.bits & HELD != 0;
        stored.bits &= !HELD;
        was_held.then_some((stored.connection, u32::from(stored.payload_bytes)))
    }

    /// Number of the segment at a place among all that the flow's two ends have sent, modulo 65,536.
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
        let (header, _, options) = store.take(place);
        Segment::with_options(header, &options.unwrap_or_default())
    }

    /// The sender has the stream position in one field and a small number in the other.
    fn sent_by(segment: Segment, tag: SegmentTag) -> Segment {
        let (data, control) = (segment.seq, segment.ack);
        Segment {
            seq: if tag.is_reply { control } else { data },
            ack: if tag.is_reply { data } else { control },
            ..segment
        }
    }

    fn tag(connection: u32) -> SegmentTag {
        SegmentTag {
            connection,
            is_retransmission: connection % 2 == 1,
            is_reply: connection % 3 == 1,
        }
    }

    #[test]
    fn what_is_put_is_taken() {
        let mut store = SegmentStore::default();
        let bare = Segment::default();
        for segment in [segment(1 << 40, 0), segment(2, 3), bare] {
            for connection in 0..6 {
                let segment = sent_by(segment, tag(connection));
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
        assert_eq!(store.rare.unwrap().options.values.len(), 3);
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
