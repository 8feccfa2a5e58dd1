//! Zero-copy writes (`MSG_ZEROCOPY`, Documentation/networking/msg_zerocopy.rst): when a program is
//! notified that their buffers are free.

use super::Endpoint;
use crate::plan::messages::ZeroCopyRange;
use dumbbell_tcp::sender::Sender;
use std::collections::VecDeque;

/// Zero-copy writes of a connection, counted from 0.
#[derive(Debug, Clone, Default)]
pub(super) struct ZeroCopy {
    /// One past the last byte of each write that is not fully acknowledged.
    pending: VecDeque<u64>,
    /// Number of zero-copy writes made.
    made: u32,
    /// Number of completions reported.
    told: u32,
}

impl Endpoint {
    /// Records that the last write was a zero-copy write.
    pub fn note_zero_copy(&mut self) {
        self.zero_copy.pending.push_back(self.written_end);
        self.zero_copy.made += 1;
    }

    /// Number of zero-copy writes that have been fully acknowledged.
    pub fn completed_zero_copies(&self) -> u32 {
        let una = self.sender.as_ref().map_or(0, Sender::una);
        let open = self.zero_copy.pending.iter().filter(|end| **end > una);
        self.zero_copy.made - open.count() as u32
    }

    /// Whether there are completions that have not been reported.
    pub fn has_completed_zero_copies(&self) -> bool {
        self.completed_zero_copies() > self.zero_copy.told
    }

    /// Takes the unreported completions; consecutive writes are reported as one range.
    pub fn take_completed_zero_copies(&mut self) -> Option<ZeroCopyRange> {
        let completed = self.completed_zero_copies();
        let first = std::mem::replace(&mut self.zero_copy.told, completed);
        let open = self.zero_copy.made - completed;
        while self.zero_copy.pending.len() > open as usize {
            self.zero_copy.pending.pop_front();
        }
        (completed > first).then(|| ZeroCopyRange {
            first,
            last: completed - 1,
        })
    }
}
