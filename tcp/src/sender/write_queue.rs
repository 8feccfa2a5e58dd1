//! Data written and not sent: a queue of sk_buffs (`sk_write_queue`).
//!
//! | Linux 6.1, net/ipv4/tcp.c | here |
//! | --- | --- |
//! | a write fills the last sk_buff first (`tcp_sendmsg_locked`) | `copy` |
//! | a full first sk_buff, or a part of it, is sent before the write continues (`tcp_push_one`) | `WriteProgress::PushesOne` |
//! | everything possible is sent after more than half of the largest window (`forced_push`) | `WriteProgress::PushesAll` |
//! | the end of a write, and forced pushes, carry PSH (`tcp_mark_push`) | `push_last` |
//! | a later write removes PSH from the sk_buff that it continues | `write` |
//! | the end of a write with more to come carries none (`MSG_MORE`) | `FollowedBy::More` |
//! | no write continues the last sk_buff of a record, or one split from it (`tcp_skb_can_collapse_to`, `tcp_skb_fragment_eor`) | `SkBuff::ends_record` |

use crate::STRUCTURE_BYTES;
use dumbbell_core::prefetch::prefetch;
use std::collections::VecDeque;

/// Maximum number of sk_buffs; a write that needs more uses one for the rest.
const MOST_BUFFERS: usize = 1 << 16;

/// Marks the absence of an end.
const NONE: u64 = u64::MAX;

/// Progress of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteProgress {
    /// All written data is copied.
    Nothing,
    /// Copying continues when nothing more can be sent.
    Copying,
    /// The first sk_buff is full, and part of it is sent.
    PushesOne,
    /// Much has been copied, and everything possible is sent.
    PushesAll,
}

/// What the application says of its next write (send(2)).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FollowedBy {
    /// Nothing.
    #[default]
    Anything,
    /// `MSG_MORE`: more data follows, and the end is held for it.
    More,
    /// `MSG_EOR`: another record, which starts a new segment.
    Record,
}

/// The limit of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteBound {
    /// None, whatever the send buffer holds.
    None,
    /// Memory of the send buffer, checked before each sk_buff (`sk_stream_memory_free`).
    Memory,
}

/// The limits of a write that is not unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WriteBudget {
    /// Free memory of the send buffer, bytes.
    pub(super) memory_bytes: u64,
    /// Continues only while less than this is unsent (`TCP_NOTSENT_LOWAT`), bytes.
    pub(super) most_unsent_bytes: u64,
}

/// An sk_buff.
#[derive(Debug, Clone, Copy, PartialEq)]
struct SkBuff {
    /// One past its last byte.
    end: u64,
    /// Its last segment carries PSH.
    is_pushed: bool,
    /// It ends with a record.
    ends_record: bool,
}

/// The unsent sk_buffs of a sender. The first starts with the next byte to send; the last may grow.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WriteQueue {
    buffers: VecDeque<SkBuff>,
    /// End of the first sk_buff, cached because every transmission reads it; `NONE` for none. With many
    /// connections the sk_buffs are elsewhere in memory.
    first_end: u64,
    writing: WriteProgress,
    /// Bytes written and not copied yet.
    to_copy: u64,
    /// The limit of a write that is not copied completely.
    bound: WriteBound,
    /// What follows it.
    followed_by: FollowedBy,
    /// Bytes of an ended write that were not copied, until they are taken.
    refused: u64,
    /// One past the last byte copied.
    written: u64,
    /// The last end with PSH (`pushed_seq`).
    pushed: u64,
}

impl Default for WriteQueue {
    fn default() -> WriteQueue {
        WriteQueue {
            buffers: VecDeque::new(),
            first_end: NONE,
            writing: WriteProgress::Nothing,
            to_copy: 0,
            bound: WriteBound::None,
            followed_by: FollowedBy::Anything,
            refused: 0,
            written: 1,
            pushed: 1,
        }
    }
}

impl WriteQueue {
    /// Data before `seq` was sent with the SYN.
    pub(super) fn begin(&mut self, seq: u64) {
        (self.written, self.pushed) = (seq, seq);
    }

    /// Progress of the present write.
    pub(super) fn writing(&self) -> WriteProgress {
        self.writing
    }

    /// End of the next sk_buff to send.
    #[inline]
    pub(super) fn first_end(&self) -> Option<u64> {
        (self.first_end != NONE).then_some(self.first_end)
    }

    /// Prefetches the first sk_buff.
    pub(super) fn prefetch_first(&self) {
        if let Some(first) = self.buffers.front() {
            prefetch(first);
        }
    }

    /// Updates the cached end of the first.
    fn note_first(&mut self) {
        self.first_end = self.buffers.front().map_or(NONE, |first| first.end);
    }

    /// Number of sk_buffs.
    pub(super) fn buffers(&self) -> u64 {
        self.buffers.len() as u64
    }

    /// Whether the first is the last.
    pub(super) fn is_last(&self) -> bool {
        self.buffers.len() <= 1
    }

    /// Bytes written and not copied yet.
    pub(super) fn to_copy(&self) -> u64 {
        self.to_copy
    }

    /// Everything before `next` is sent. Returns whether it ended an sk_buff with PSH.
    #[inline]
    pub(super) fn advance(&mut self, next: u64) -> bool {
        if next < self.first_end {
            return false;
        }
        let mut is_pushed = false;
        while let Some(first) = self.buffers.front().filter(|first| first.end <= next) {
            is_pushed |= first.is_pushed;
            self.buffers.pop_front();
        }
        self.note_first();
        is_pushed
    }

    /// The sk_buff sent last, up to `end`, was not sent after all.
    pub(super) fn take_back(&mut self, end: u64, is_pushed: bool, ends_record: bool) {
        self.buffers.push_front(SkBuff {
            end,
            is_pushed,
            ends_record,
        });
        self.note_first();
    }

    /// Splits the first sk_buff (`tso_fragment`).
    pub(super) fn cut(&mut self, at: u64) {
        if self.first_end().is_some_and(|end| at < end) {
            self.buffers.push_front(SkBuff {
                end: at,
                is_pushed: false,
                ends_record: false,
            });
            self.note_first();
        }
    }

    /// A window probe sends the first sk_buff, or its beginning: both parts carry PSH (`tcp_write_wakeup`).
    pub(super) fn cut_and_push(&mut self, at: u64) {
        if let Some(first) = self.buffers.front_mut() {
            first.is_pushed = true;
            self.pushed = self.pushed.max(first.end);
        }
        self.cut(at);
        if let Some(first) = self.buffers.front_mut() {
            first.is_pushed = true;
        }
    }

    /// Start of the last, if `next` is sent next.
    fn last_start(&self, next: u64) -> Option<u64> {
        match self.buffers.len() {
            0 => None,
            1 => Some(next),
            several => Some(self.buffers[several - 2].end),
        }
    }

    /// Bytes of the last, if `next` is sent next.
    pub(super) fn last_bytes(&self, next: u64) -> u64 {
        let start = self.last_start(next);
        start.map_or(0, |start| self.written.saturating_sub(start))
    }

    /// Room in the last, if `next` is sent next and a full one holds `full`.
    pub(super) fn room(&self, next: u64, full: u64) -> u64 {
        let is_open = self.buffers.back().is_some_and(|last| !last.ends_record);
        let start = self.last_start(next).filter(|_| is_open);
        start.map_or(0, |start| full.saturating_sub(self.written - start))
    }

    /// Bytes of a write that found no memory since the last call.
    pub(super) fn take_refused(&mut self) -> u64 {
        std::mem::take(&mut self.refused)
    }

    /// What follows the last write.
    pub(super) fn followed_by(&self) -> FollowedBy {
        self.followed_by
    }

    /// `bytes` bytes are written, none of them copied yet.
    pub(super) fn write(
        &mut self,
        bytes: u64,
        (bound, followed_by): (WriteBound, FollowedBy),
        next: u64,
        full: u64,
    ) {
        self.to_copy += bytes;
        (self.bound, self.followed_by) = (bound, followed_by);
        self.writing = WriteProgress::Copying;
        let goes_on = self.room(next, full) > 0;
        if let Some(last) = self.buffers.back_mut() {
            last.is_pushed &= !goes_on;
        }
    }

    /// Nothing more can be sent now.
    pub(super) fn go_on(&mut self) {
        self.writing = WriteProgress::Copying;
    }

    /// Copies until something must be sent, all is copied, or no memory is left for another sk_buff. Returns
    /// the number of bytes.
    pub(super) fn copy(
        &mut self,
        next: u64,
        full: u64,
        half_window: u64,
        free: WriteBudget,
    ) -> u64 {
        let (before, buffers_before) = (self.written, self.buffers.len());
        while self.to_copy > 0 {
            let begun = (self.buffers.len() - buffers_before) as u64;
            let used_bytes = self.written - before + begun * STRUCTURE_BYTES;
            let unsent_bytes = self.written.saturating_sub(next);
            let is_bounded =
                used_bytes >= free.memory_bytes || unsent_bytes >= free.most_unsent_bytes;
            if self.room(next, full) == 0 && is_bounded && self.bound == WriteBound::Memory {
                self.refused += std::mem::take(&mut self.to_copy);
                // A writer that waits for room releases what is held.
                self.followed_by = FollowedBy::Anything;
                break;
            }
            let is_filled = self.copy_some(next, full);
            // At the end of the write everything carries PSH in any case.
            if !is_filled || self.to_copy == 0 {
                continue;
            }
            if self.written > self.pushed + half_window {
                self.push_last();
                self.writing = WriteProgress::PushesAll;
                return self.written - before;
            }
            if self.is_last() {
                self.writing = WriteProgress::PushesOne;
                return self.written - before;
            }
        }
        if self.followed_by != FollowedBy::More || self.written > self.pushed + half_window {
            self.push_last();
        }
        if let Some(last) = self.buffers.back_mut() {
            last.ends_record |= self.followed_by == FollowedBy::Record;
        }
        self.writing = WriteProgress::Nothing;
        self.written - before
    }

    /// Copies into the last sk_buff or a new one. Returns whether it is full now.
    fn copy_some(&mut self, next: u64, full: u64) -> bool {
        let room = self.room(next, full);
        let bytes = match self.buffers.len() >= MOST_BUFFERS {
            true => self.to_copy,
            false if room > 0 => room.min(self.to_copy),
            false => full.min(self.to_copy),
        };
        self.to_copy -= bytes;
        self.written += bytes;
        match self.buffers.back_mut().filter(|_| room > 0) {
            Some(last) => last.end = self.written,
            None => self.buffers.push_back(SkBuff {
                end: self.written,
                is_pushed: false,
                ends_record: false,
            }),
        }
        self.note_first();
        self.room(next, full) == 0
    }

    fn push_last(&mut self) {
        if let Some(last) = self.buffers.back_mut() {
            last.is_pushed = true;
            self.pushed = last.end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u64 = 4000;
    const FAR: u64 = 1 << 40;
    const ALL: WriteBudget = WriteBudget {
        memory_bytes: FAR,
        most_unsent_bytes: FAR,
    };

    /// Ends of what waits, and whether they are pushed.
    fn waiting(queue: &WriteQueue) -> Vec<(u64, bool)> {
        let told = |buffer: &SkBuff| (buffer.end, buffer.is_pushed);
        queue.buffers.iter().map(told).collect()
    }

    #[test]
    fn a_full_one_that_is_first_goes_before_the_write_goes_on() {
        let mut queue = WriteQueue::default();
        queue.write(9000, (WriteBound::None, FollowedBy::Anything), 1, FULL);
        assert_eq!(queue.copy(1, FULL, FAR, ALL), 4000);
        assert_eq!(queue.writing(), WriteProgress::PushesOne);
        // Half of it is sent: the rest is filled again.
        queue.cut(2001);
        assert!(!queue.advance(2001));
        queue.go_on();
        assert_eq!(queue.copy(2001, FULL, FAR, ALL), 2000);
        assert_eq!(queue.writing(), WriteProgress::PushesOne);
        queue.go_on();
        assert_eq!(queue.copy(2001, FULL, FAR, ALL), 3000);
        assert_eq!(queue.writing(), WriteProgress::Nothing);
        assert_eq!(waiting(&queue), [(6001, false), (9001, true)]);
    }

    #[test]
    fn more_than_half_a_window_is_pushed() {
        let mut queue = WriteQueue::default();
        queue.write(20_000, (WriteBound::None, FollowedBy::Anything), 1, FULL);
        assert_eq!(queue.copy(1, FULL, 6000, ALL), 4000);
        queue.go_on();
        assert_eq!(queue.copy(1, FULL, 6000, ALL), 4000);
        assert_eq!(queue.writing(), WriteProgress::PushesAll);
        assert_eq!(waiting(&queue), [(4001, false), (8001, true)]);
        // Exactly half is not more than half.
        let mut queue = WriteQueue::default();
        queue.write(20_000, (WriteBound::None, FollowedBy::Anything), 1, FULL);
        assert_eq!(queue.copy(1, FULL, 4000, ALL), 4000);
        assert_eq!(queue.writing(), WriteProgress::PushesOne);
    }

    #[test]
    fn a_write_that_ends_with_a_full_one_is_pushed_with_its_end() {
        let mut queue = WriteQueue::default();
        queue.write(FULL, (WriteBound::None, FollowedBy::Anything), 1, FULL);
        assert_eq!(queue.copy(1, FULL, 0, ALL), FULL);
        assert_eq!(queue.writing(), WriteProgress::Nothing);
        assert_eq!(waiting(&queue), [(4001, true)]);
        // The next begins another.
        queue.write(1, (WriteBound::None, FollowedBy::Anything), 1, FULL);
        queue.copy(1, FULL, FAR, ALL);
        assert_eq!(waiting(&queue), [(4001, true), (4002, true)]);
        assert!(queue.advance(4001));
    }

    #[test]
    fn a_later_write_takes_the_push_along() {
        let mut queue = WriteQueue::default();
        for (bytes, end) in [(500, 501), (700, 1201)] {
            queue.write(bytes, (WriteBound::None, FollowedBy::Anything), 1, FULL);
            assert_eq!(queue.copy(1, FULL, FAR, ALL), bytes);
            assert_eq!(waiting(&queue), [(end, true)]);
        }
        // What is cut off is not pushed, what a probe takes is, and its rest.
        queue.cut(1001);
        assert_eq!(waiting(&queue), [(1001, false), (1201, true)]);
        queue.cut_and_push(301);
        assert_eq!(waiting(&queue), [(301, true), (1001, true), (1201, true)]);
    }

    #[test]
    fn a_write_of_a_terabyte_is_kept_in_little() {
        let mut queue = WriteQueue::default();
        queue.write(1 << 40, (WriteBound::None, FollowedBy::Anything), 1, FULL);
        while queue.to_copy() > 0 {
            queue.copy(1, FULL, FAR, ALL);
        }
        assert!(queue.buffers() as usize <= MOST_BUFFERS + 1);
        assert_eq!(queue.copy(1, FULL, FAR, ALL), 0);
    }
}
