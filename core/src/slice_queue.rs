//! A FIFO queue whose values are contiguous in memory.
//!
//! A loop over them is a loop over a slice. A [`Ring`](crate::ring::Ring) computes each index with a mask;
//! this queue moves its values to the start of its buffer when a quarter of the capacity is free there. Each
//! value is moved three times at most.

/// Capacity after the first push.
const FIRST_PLACES: usize = 8;

/// It grows when full and never shrinks; the capacity stays below twice the maximum length.
#[derive(Debug, Clone)]
pub struct SliceQueue<T> {
    /// Stale values, then the values of the queue.
    values: Vec<T>,
    first: usize,
}

impl<T> Default for SliceQueue<T> {
    fn default() -> Self {
        SliceQueue {
            values: Vec::new(),
            first: 0,
        }
    }
}

impl<T: Copy> SliceQueue<T> {
    /// Number of values.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.values.len() - self.first
    }

    /// Whether it is empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Memory of its capacity, bytes.
    pub fn memory_bytes(&self) -> u64 {
        (self.values.capacity() * size_of::<T>()) as u64
    }

    /// The values, oldest first.
    #[inline(always)]
    pub fn values(&self) -> &[T] {
        // `first` beyond the end would be a bug; the result is then empty.
        self.values.get(self.first..).unwrap_or_default()
    }

    /// Appends a value.
    #[inline(always)]
    pub fn push_back(&mut self, value: T) {
        if self.values.len() == self.values.capacity() {
            self.make_room();
        }
        self.values.push(value);
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        let places = self.values.len();
        if self.first > 0 && self.first >= places / 4 {
            self.values.drain(..self.first);
            self.first = 0;
        } else {
            self.values.reserve_exact((places / 2).max(FIRST_PLACES));
        }
    }

    /// Removes the oldest values, at most the given number.
    #[inline(always)]
    pub fn discard_front(&mut self, count: usize) {
        self.first = (self.first + count).min(self.values.len());
        if self.first == self.values.len() {
            self.values.clear();
            self.first = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[test]
    fn an_empty_row_has_no_memory() {
        let mut row: SliceQueue<u64> = SliceQueue::default();
        row.discard_front(3);
        assert_eq!((row.values(), row.memory_bytes()), (&[][..], 0));
    }

    proptest! {
        #[test]
        fn does_what_a_deque_does_in_less_than_twice_its_memory(
            steps in prop::collection::vec((0usize..20, 0usize..20), 1..200),
        ) {
            let (mut row, mut model) = (SliceQueue::default(), VecDeque::new());
            let (mut next, mut most) = (0u32, FIRST_PLACES);
            for (pushes, discards) in steps {
                for _ in 0..pushes {
                    row.push_back(next);
                    model.push_back(next);
                    next += 1;
                }
                most = most.max(model.len());
                let discards = discards.min(model.len());
                row.discard_front(discards);
                model.drain(..discards);
                prop_assert_eq!(row.values(), model.make_contiguous());
                prop_assert_eq!((row.len(), row.is_empty()), (model.len(), model.is_empty()));
                prop_assert!(row.memory_bytes() <= 4 * 2 * most as u64);
            }
        }
    }
}
