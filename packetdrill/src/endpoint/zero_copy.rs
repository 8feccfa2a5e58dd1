//! Writes without a copy (`MSG_ZEROCOPY`, Documentation/networking/msg_zerocopy.rst): when a program hears that their
//! buffers are free.

use super::Endpoint;
use crate::plan::messages::ZeroCopyRange;
use dumbbell_tcp::sender::Sender;
use std::collections::VecDeque;

/// Such writes of a connection, counted from 0.
#[derive(Debug, Clone, Default)]
pub(super) struct ZeroCopy {
    /// One past the last byte of each that is not acknowledged whole.
    pending: VecDeque<u64>,
    /// How many have been made.
    made: u32,
    /// How many have been told.
    told: u32,
}

impl Endpoint {
    /// What was written last was without a copy.
    pub fn note_zero_copy(&mut self) {
        self.zero_copy.pending.push_back(self.written_end);
        self.zero_copy.made += 1;
    }

    /// How many such writes have been acknowledged whole.
    pub fn completed_zero_copies(&self) -> u32 {
        let una = self.sender.as_ref().map_or(0, Sender::una);
        let open = self.zero_copy.pending.iter().filter(|end| **end > una);
        self.zero_copy.made - open.count() as u32
    }

    /// Whether there are some that nobody has been told of.
    pub fn has_completed_zero_copies(&self) -> bool {
        self.completed_zero_copies() > self.zero_copy.told
    }

    /// Those that nobody has been told of, once: what follows each other is told as one.
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
