//! A FIFO queue of small values.
//!
//! It does what `VecDeque` does, for `Copy` values, in about half the instructions: the capacity is a power
//! of two, so an index is computed with a mask instead of a comparison. Every packet that waits, is in
//! transmission or propagates is in such a queue.

/// Capacity after the first push.
const FIRST_PLACES: usize = 8;

/// A queue that grows when it is full and never shrinks.
#[derive(Debug, Clone)]
pub struct Ring<T> {
    /// Capacity: 0 at first, then a power of two. Unused places hold stale values.
    places: Vec<T>,
    /// Number of values popped and pushed so far; both wrap.
    popped: usize,
    pushed: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Ring {
            places: Vec::new(),
            popped: 0,
            pushed: 0,
        }
    }
}

impl<T: Copy> Ring<T> {
    /// Number of values.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.pushed.wrapping_sub(self.popped)
    }

    /// Whether it is empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.pushed == self.popped
    }

    /// Memory of its capacity, bytes.
    pub fn memory_bytes(&self) -> u64 {
        (self.places.capacity() * size_of::<T>()) as u64
    }

    /// The index of the value with this count.
    #[inline(always)]
    fn place(&self, count: usize) -> usize {
        count & self.places.len().wrapping_sub(1)
    }

    /// The oldest value.
    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        self.places.get(self.place(self.popped))
    }

    /// The value with the given number of older ones before it.
    #[inline(always)]
    pub fn get(&self, index: usize) -> Option<&T> {
        if index >= self.len() {
            return None;
        }
        self.places.get(self.place(self.popped.wrapping_add(index)))
    }

    /// Removes the oldest value.
    #[inline(always)]
    pub fn pop_front(&mut self) -> Option<T> {
        let value = *self.front()?;
        self.popped = self.popped.wrapping_add(1);
        Some(value)
    }

    /// Appends a value.
    #[inline(always)]
    pub fn push_back(&mut self, value: T) {
        if self.len() == self.places.len() {
            self.grow(value);
        }
        let place = self.place(self.pushed);
        self.places[place] = value;
        self.pushed = self.pushed.wrapping_add(1);
    }

    /// Doubles the capacity. New places are initialized with `filler`.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, filler: T) {
        let (len, oldest) = (self.len(), self.place(self.popped));
        if len > 0 {
            self.places.rotate_left(oldest);
        }
        let places = (2 * len).max(FIRST_PLACES);
        self.places.resize(places, filler);
        (self.popped, self.pushed) = (0, len);
    }

    /// Every value, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let counts = (0..self.len()).map(|index| self.popped.wrapping_add(index));
        counts.map(|count| &self.places[self.place(count)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[test]
    fn an_empty_ring_has_no_memory() {
        let mut ring: Ring<u64> = Ring::default();
        assert_eq!(ring.pop_front(), None);
        assert_eq!((ring.front(), ring.len()), (None, 0));
        assert_eq!(ring.places.capacity(), 0);
    }

    proptest! {
        #[test]
        fn it_does_what_a_deque_does(pushes in prop::collection::vec(any::<bool>(), 0..400)) {
            // The counts are about to wrap.
            let start = usize::MAX - 20;
            let mut ring = Ring { places: Vec::new(), popped: start, pushed: start };
            let mut model = VecDeque::new();
            for (value, is_push) in pushes.into_iter().enumerate() {
                if is_push {
                    ring.push_back(value);
                    model.push_back(value);
                } else {
                    prop_assert_eq!(ring.pop_front(), model.pop_front());
                }
                prop_assert_eq!(ring.front(), model.front());
                prop_assert_eq!(ring.get(value % 7), model.get(value % 7));
                prop_assert_eq!((ring.len(), ring.is_empty()), (model.len(), model.is_empty()));
                prop_assert!(ring.iter().eq(model.iter()));
            }
        }
    }
}
