//! Received data: in order, and out of order (RFC 9293 section 3.10.7.4, RFC 2018 section 4).

use crate::segment::{SackBlock, SackBlocks};
use std::collections::VecDeque;

/// Number of blocks for which an acknowledgement always has room (`TCP_SACK_BLOCKS_EXPECTED`).
const BLOCKS_KEPT: usize = 2;

/// Marks an unknown end.
const NONE: u64 = u64::MAX;

/// The effect of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct InsertOutcome {
    /// It was the next expected one.
    pub(super) is_in_order: bool,
    /// It filled the last gap.
    pub(super) has_filled_gap: bool,
    /// It is out of order and adjoins no earlier block.
    pub(super) begins_block: bool,
    /// The part received before (RFC 2883).
    pub(super) duplicate: Option<SackBlock>,
}

/// The data of one direction.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reassembly {
    start: u64,
    next: u64,
    /// Bytes out of order, because every segment reads it; 0 for none.
    beyond_bytes: u64,
    /// One past the FIN; `NONE` while unknown.
    end: u64,
    /// None before the first gap.
    beyond: Option<Box<OutOfOrderQueue>>,
}

/// Out-of-order data.
#[derive(Debug, Clone, Default, PartialEq)]
struct OutOfOrderQueue {
    /// Disjoint blocks in order. Gaps are filled from the first on.
    blocks: VecDeque<SackBlock>,
    /// The most recently changed blocks, latest first.
    recent: SackBlocks,
}

impl Default for Reassembly {
    fn default() -> Reassembly {
        Reassembly {
            start: 0,
            next: 0,
            beyond_bytes: 0,
            end: NONE,
            beyond: None,
        }
    }
}

impl Reassembly {
    /// Sets the first expected byte.
    pub(super) fn begin(&mut self, next: u64) {
        (self.start, self.next) = (next, next);
    }

    /// The next expected byte (RCV.NXT).
    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Whether there is no gap, and the end is unknown.
    #[inline(always)]
    pub(super) fn is_open_and_whole(&self) -> bool {
        self.beyond_bytes == 0 && self.end == NONE
    }

    /// Without a gap, the expected data up to `end` has arrived.
    #[inline(always)]
    pub(super) fn go_on_to(&mut self, end: u64) {
        debug_assert!(self.is_open_and_whole() && end > self.next);
        self.next = end;
    }

    /// Sets the end: one past the FIN.
    pub(super) fn set_end(&mut self, end: u64) {
        self.end = end;
    }

    /// Whether everything including the FIN has arrived.
    pub(super) fn is_complete(&self) -> bool {
        self.end == self.next
    }

    /// Payload received in order.
    pub(super) fn payload_bytes(&self) -> u64 {
        self.next - self.start - u64::from(self.is_complete())
    }

    /// Whether there is a gap.
    #[inline]
    pub(super) fn has_gap(&self) -> bool {
        self.beyond_bytes > 0
    }

    /// Bytes out of order.
    #[inline]
    pub(super) fn beyond_bytes(&self) -> u64 {
        self.beyond_bytes
    }

    /// Number of disjoint out-of-order blocks.
    pub(super) fn beyond_blocks(&self) -> u64 {
        let beyond = self.beyond.as_ref();
        beyond.map_or(0, |beyond| beyond.blocks.len() as u64)
    }

    /// The most recently changed blocks, latest first (RFC 2018 section 4).
    pub(super) fn recent_blocks(&self) -> &[SackBlock] {
        match &self.beyond {
            Some(beyond) if self.has_gap() => beyond.recent.as_slice(),
            _ => &[],
        }
    }

    /// Whether [seq, end), out of order, adjoins none of the reported blocks and displaces one of them.
    pub(super) fn would_move(&self, seq: u64, end: u64) -> bool {
        let recent = self.recent_blocks();
        let touches = |block: &SackBlock| seq <= block.end && block.start <= end;
        seq > self.next && recent.len() >= BLOCKS_KEPT && !recent[..BLOCKS_KEPT].iter().any(touches)
    }

    /// Inserts [seq, end), some of which is new.
    pub(super) fn insert(&mut self, seq: u64, end: u64) -> InsertOutcome {
        let mut taken = InsertOutcome::default();
        if seq > self.next {
            let blocks = self.beyond_blocks();
            taken.duplicate = self.insert_beyond(SackBlock { start: seq, end });
            taken.begins_block = self.beyond_blocks() > blocks;
            return taken;
        }
        taken.is_in_order = true;
        if seq < self.next {
            taken.duplicate = Some(SackBlock {
                start: seq,
                end: self.next,
            });
        }
        self.next = end;
        if self.has_gap()
            && let Some(beyond) = &mut self.beyond
        {
            let blocks = &mut beyond.blocks;
            while let Some(block) = blocks.front().filter(|block| block.start <= end).copied() {
                blocks.pop_front();
                extend(&mut taken.duplicate, block.start, block.end.min(end));
                self.next = self.next.max(block.end);
                self.beyond_bytes -= block.bytes();
            }
            taken.has_filled_gap = beyond.blocks.is_empty();
            beyond.forget_recent(self.next);
        }
        taken
    }

    /// Returns the part of the block that was received before.
    fn insert_beyond(&mut self, block: SackBlock) -> Option<SackBlock> {
        let beyond = self.beyond.get_or_insert_default();
        let blocks = &mut beyond.blocks;
        let first = match blocks.back() {
            // Usually a segment extends the last block or lies behind it.
            Some(last) if last.end < block.start => blocks.len(),
            Some(last) if last.start <= block.start => blocks.len() - 1,
            _ => blocks.partition_point(|held| held.end < block.start),
        };
        let touches = |held: &&SackBlock| held.start <= block.end;
        let touching = blocks.range(first..).take_while(touches).count();
        let (mut merged, mut duplicate) = (block, None::<SackBlock>);
        for held in blocks.range(first..first + touching) {
            let (start, end) = (held.start.max(block.start), held.end.min(block.end));
            extend(&mut duplicate, start, end);
            merged.start = merged.start.min(held.start);
            merged.end = merged.end.max(held.end);
            self.beyond_bytes -= held.bytes();
        }
        self.beyond_bytes += merged.bytes();
        if touching == 0 {
            blocks.insert(first, merged);
        } else {
            blocks.drain(first + 1..first + touching);
            blocks[first] = merged;
        }
        beyond.put_first(merged);
        duplicate
    }
}

impl OutOfOrderQueue {
    /// Moves the changed block to the front; absorbed blocks are removed.
    fn put_first(&mut self, merged: SackBlock) {
        let mut index = 0;
        while index < self.recent.len() {
            let held = self.recent.as_slice()[index];
            if held.start <= merged.end && merged.start <= held.end {
                self.recent.remove(index);
            } else {
                index += 1;
            }
        }
        self.recent.push_front(merged);
    }

    fn forget_recent(&mut self, next: u64) {
        let mut index = 0;
        while index < self.recent.len() {
            if self.recent.as_slice()[index].start <= next {
                self.recent.remove(index);
            } else {
                index += 1;
            }
        }
    }
}

/// RFC 2883 section 4.2: one duplicate is reported, the first, with adjoining parts.
fn extend(duplicate: &mut Option<SackBlock>, start: u64, end: u64) {
    if start >= end {
        return;
    }
    let so_far = duplicate.get_or_insert(SackBlock { start, end });
    if start <= so_far.end {
        so_far.end = so_far.end.max(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn block(start: u64, end: u64) -> SackBlock {
        SackBlock { start, end }
    }

    /// RFC 2018 section 4, the third case of its example: every second segment is lost.
    #[test]
    fn the_latest_block_is_first() {
        let mut data = Reassembly::default();
        data.begin(5000);
        for segment in [5500, 6500, 7500, 8500] {
            data.insert(segment, segment + 500);
        }
        let expected = [
            block(8500, 9000),
            block(7500, 8000),
            block(6500, 7000),
            block(5500, 6000),
        ];
        assert_eq!(data.recent_blocks(), expected);
        // The fourth arrives after all: 6500 to 8000.
        data.insert(7000, 7500);
        let expected = [block(6500, 8000), block(8500, 9000), block(5500, 6000)];
        assert_eq!(data.recent_blocks(), expected);
        // Now the second one.
        let taken = data.insert(5000, 5500);
        assert!(taken.is_in_order && !taken.has_filled_gap);
        assert_eq!(data.next(), 6000);
        assert_eq!(data.recent_blocks(), [block(6500, 8000), block(8500, 9000)]);
    }

    /// RFC 2883 section 4.1: what has come before is reported.
    #[test]
    fn duplicates_are_told() {
        let mut data = Reassembly::default();
        data.begin(1000);
        data.insert(2000, 3000);
        assert_eq!(data.insert(2000, 3000).duplicate, Some(block(2000, 3000)));
        assert_eq!(data.insert(2500, 3500).duplicate, Some(block(2500, 3000)));
        let taken = data.insert(1000, 2000);
        assert!(taken.has_filled_gap && taken.duplicate.is_none());
        assert_eq!(data.next(), 3500);
    }

    /// RFC 2883 section 4.2: of what a segment covers, the first piece and what joins it.
    #[test]
    fn covered_parts_are_told() {
        let mut data = Reassembly::default();
        data.begin(1000);
        for held in [3000, 5000, 7000] {
            data.insert(held, held + 1000);
        }
        // Two blocks beyond the gap, new bytes between them.
        assert_eq!(data.insert(4500, 7500).duplicate, Some(block(5000, 6000)));
        assert_eq!(data.recent_blocks()[0], block(4500, 8000));
        // What fills the gap.
        let taken = data.insert(1000, 4600);
        assert_eq!(taken.duplicate, Some(block(3000, 4000)));
        assert_eq!((data.next(), data.has_gap()), (8000, false));
        // Old data, then a block that is apart from them.
        data.insert(9000, 9500);
        assert_eq!(data.insert(7000, 9200).duplicate, Some(block(7000, 8000)));
        data.insert(10_000, 10_500);
        assert_eq!(
            data.insert(9500, 10_200).duplicate,
            Some(block(10_000, 10_200))
        );
    }

    proptest! {
        #[test]
        fn it_holds_what_has_come(segments in prop::collection::vec(0u64..40, 1..80)) {
            let (mut data, mut model) = (Reassembly::default(), BTreeSet::new());
            for segment in segments {
                let (start, end) = (segment * 10, segment * 10 + 10);
                if end > data.next() {
                    let was_held = model.contains(&segment);
                    let taken = data.insert(start, end);
                    prop_assert_eq!(taken.duplicate.is_some(), was_held);
                }
                model.insert(segment);
                let in_order = (0u64..).take_while(|number| model.contains(number)).count() as u64;
                prop_assert_eq!(data.next(), in_order * 10);
                let beyond = model.iter().filter(|number| **number > in_order).count() as u64;
                prop_assert_eq!(data.beyond_bytes(), beyond * 10);
                prop_assert_eq!(data.has_gap(), beyond > 0);
                for block in data.recent_blocks() {
                    prop_assert!(data.beyond.as_ref().unwrap().blocks.contains(block));
                }
            }
        }
    }
}
