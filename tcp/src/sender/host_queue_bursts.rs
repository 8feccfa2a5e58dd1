//! Bursts in the host's queue: the segments of each that have not left, and the memory released with the
//! last.

use std::collections::VecDeque;

/// A burst.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Burst {
    segments: u32,
    truesize_bytes: u64,
}

impl Burst {
    /// Removes a segment. Returns the memory of the burst if it was the last.
    fn remove_segment(&mut self) -> Option<u64> {
        self.segments = self.segments.checked_sub(1)?;
        (self.segments == 0).then_some(self.truesize_bytes)
    }
}

/// All bursts of a sender in the host's queue.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct HostQueueBursts {
    /// The oldest; without segments if there is none. Few senders have more, which are stored elsewhere.
    first: Burst,
    others: VecDeque<Burst>,
}

impl HostQueueBursts {
    /// A burst of `segments` segments enters.
    #[inline]
    pub(super) fn enter(&mut self, segments: u32, truesize_bytes: u64) {
        let burst = Burst {
            segments,
            truesize_bytes,
        };
        if self.first.segments == 0 {
            self.first = burst;
        } else {
            self.others.push_back(burst);
        }
    }

    /// A segment of the oldest burst leaves. Returns the memory of the burst with its last segment.
    #[inline]
    pub(super) fn leave(&mut self) -> Option<u64> {
        let left = self.first.remove_segment()?;
        self.first = self.others.pop_front().unwrap_or_default();
        Some(left)
    }

    /// As `leave`, for the newest burst.
    pub(super) fn leave_last(&mut self) -> Option<u64> {
        let last = self.others.back_mut().unwrap_or(&mut self.first);
        let left = last.remove_segment()?;
        if self.others.pop_back().is_none() {
            self.first = Burst::default();
        }
        Some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_leave_from_the_first_on_or_the_last_is_taken_back() {
        let mut held = HostQueueBursts::default();
        assert_eq!((held.leave(), held.leave_last()), (None, None));
        held.enter(2, 20);
        held.enter(1, 10);
        held.enter(3, 30);
        assert_eq!(held.leave_last(), None);
        assert_eq!((held.leave(), held.leave()), (None, Some(20)));
        assert_eq!((held.leave_last(), held.leave_last()), (None, Some(30)));
        assert_eq!(held.leave_last(), Some(10));
        assert_eq!(held, HostQueueBursts::default());
        held.enter(1, 5);
        assert_eq!(held.leave(), Some(5));
    }
}
