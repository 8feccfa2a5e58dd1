//! Segments on their way, by the place that their packets name.
//!
//! Of every packet in flight a segment is written once and read once, at random places as far as
//! a cache can tell. So they are kept small: 48 bytes, and SACK blocks, which few have, elsewhere.

use crate::tcp::segment::{Flags, SackBlocks, Segment, Timestamps};

/// In place of SACK blocks.
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Stored {
    seq: u64,
    ack: u64,
    window_bytes: u64,
    timestamps: Timestamps,
    /// Place of the SACK blocks, or `NONE`.
    sack: u32,
    connection: u32,
    /// How many packets carry it: queues may copy packets.
    packets: u32,
    payload_bytes: u16,
    flags: Flags,
    has_timestamps: bool,
}

const _: () = assert!(size_of::<Stored>() == 48);

/// The segments of a flow, each with the number of its connection.
#[derive(Debug, Clone, Default)]
pub struct SegmentStore {
    places: Vec<Stored>,
    free: Vec<u32>,
    sacks: Vec<SackBlocks>,
    free_sacks: Vec<u32>,
}

impl SegmentStore {
    /// Keeps a segment for one packet. Returns its place.
    pub fn put(&mut self, segment: &Segment, connection: u32) -> u32 {
        let stored = Stored {
            seq: segment.seq,
            ack: segment.ack,
            window_bytes: segment.window_bytes,
            timestamps: segment.timestamps.unwrap_or_default(),
            sack: self.put_sack(&segment.sack),
            connection,
            packets: 1,
            payload_bytes: segment.payload_bytes as u16,
            flags: segment.flags,
            has_timestamps: segment.timestamps.is_some(),
        };
        debug_assert_eq!(u32::from(stored.payload_bytes), segment.payload_bytes);
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = stored;
            return place;
        }
        self.places.push(stored);
        self.places.len() as u32 - 1
    }

    fn put_sack(&mut self, sack: &SackBlocks) -> u32 {
        if sack.is_empty() {
            return NONE;
        }
        if let Some(place) = self.free_sacks.pop() {
            self.sacks[place as usize] = *sack;
            return place;
        }
        self.sacks.push(*sack);
        self.sacks.len() as u32 - 1
    }

    /// One more packet carries the segment.
    pub fn share(&mut self, place: u32) {
        self.places[place as usize].packets += 1;
    }

    /// A packet that carries the segment is gone: the segment and its connection.
    pub fn take(&mut self, place: u32) -> (Segment, u32) {
        let stored = &mut self.places[place as usize];
        stored.packets -= 1;
        let stored = *stored;
        let mut segment = Segment {
            seq: stored.seq,
            ack: stored.ack,
            window_bytes: stored.window_bytes,
            sack: SackBlocks::default(),
            timestamps: stored.has_timestamps.then_some(stored.timestamps),
            payload_bytes: u32::from(stored.payload_bytes),
            flags: stored.flags,
        };
        if stored.sack != NONE {
            segment.sack = self.sacks[stored.sack as usize];
        }
        if stored.packets == 0 {
            self.free.push(place);
            if stored.sack != NONE {
                self.free_sacks.push(stored.sack);
            }
        }
        (segment, stored.connection)
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

    #[test]
    fn what_is_put_is_taken() {
        let mut store = SegmentStore::default();
        let bare = Segment::default();
        for segment in [segment(1, 0), segment(2, 3), bare] {
            let place = store.put(&segment, 5);
            assert_eq!(store.take(place), (segment, 5));
        }
    }

    #[test]
    fn a_place_is_free_when_the_last_packet_is_gone() {
        let mut store = SegmentStore::default();
        let place = store.put(&segment(1, 2), 1);
        store.share(place);
        let other = store.put(&segment(2, 1), 1);
        assert_eq!(store.take(place).0.seq, 1);
        assert_ne!(store.put(&segment(3, 1), 1), place);
        assert_eq!(store.take(place).0, segment(1, 2));
        assert_eq!(store.put(&segment(4, 1), 2), place);
        assert_eq!(store.take(other).0, segment(2, 1));
        assert_eq!(store.take(place), (segment(4, 1), 2));
        // Three of them had SACK blocks at the same time.
        assert_eq!(store.sacks.len(), 3);
    }
}
