//! A hierarchical timing wheel for timers and random delays.
//!
//! Eleven levels of 64 slots cover all of `u64`: an entry is at the level of the highest 6-bit digit in which
//! its time differs from the clock's. One occupancy word per level makes finding the next slot a
//! `trailing_zeros`. Entries at one instant are returned by their `order`, independent of the order of
//! insertion.

use super::time::Time;

const SLOT_BITS: u32 = 6;
const SLOTS: usize = 1 << SLOT_BITS;
const LEVELS: usize = 11;

/// The position of an entry among those of the same instant: (class, component, sequence).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order {
    /// The event's class (see `world::class`).
    pub class: u8,
    /// The component it belongs to.
    pub component: u32,
    /// A counter of the component's own entries.
    pub sequence: u32,
}

/// One pending entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// When it is due.
    pub time: Time,
    /// Its position among entries at the same instant.
    pub order: Order,
    /// A value of the owner.
    pub payload: u32,
}

/// The wheel. `push` accepts times not before the last popped one.
#[derive(Debug, Clone)]
pub struct Wheel {
    slots: Vec<Vec<Entry>>,
    occupied: [u64; LEVELS],
    clock: u64,
    /// The earliest entry, cached so that reading it does not move the clock.
    first: Option<Entry>,
    len: usize,
}

impl Default for Wheel {
    fn default() -> Self {
        Wheel {
            slots: vec![Vec::new(); SLOTS * LEVELS],
            occupied: [0; LEVELS],
            clock: 0,
            first: None,
            len: 0,
        }
    }
}

impl Wheel {
    /// Number of pending entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The earliest entry.
    #[inline]
    pub fn first(&self) -> Option<&Entry> {
        self.first.as_ref()
    }

    /// Adds an entry, not before the last popped one.
    pub fn push(&mut self, entry: Entry) {
        debug_assert!(entry.time.0 >= self.clock, "an entry in the past");
        if self.first.is_none_or(|first| entry < first) {
            self.first = Some(entry);
        }
        self.len += 1;
        self.place(entry);
    }

    /// Removes the earliest entry and moves the clock to it.
    pub fn pop(&mut self) -> Option<Entry> {
        let first = self.first?;
        let slot = self.cascade_to(first.time.0);
        let entries = &mut self.slots[slot];
        let at = entries.iter().position(|entry| *entry == first);
        entries.swap_remove(at.expect("the cached first entry lies in its slot"));
        if entries.is_empty() {
            self.occupied[0] &= !(1 << (slot % SLOTS));
        }
        self.len -= 1;
        self.first = self.find_first();
        Some(first)
    }

    fn place(&mut self, entry: Entry) {
        let (level, digit) = self.position(entry.time.0);
        self.occupied[level] |= 1 << digit;
        self.slots[level * SLOTS + digit].push(entry);
    }

    fn position(&self, time: u64) -> (usize, usize) {
        let differing_bits = (time ^ self.clock) | (SLOTS as u64 - 1);
        let level = ((63 - differing_bits.leading_zeros()) / SLOT_BITS) as usize;
        let digit = (time >> (SLOT_BITS * level as u32)) as usize & (SLOTS - 1);
        (level, digit)
    }

    /// Moves the clock to `time`, the earliest pending, and distributes the slots it passes over the levels
    /// below. Returns the slot that holds exactly that instant.
    fn cascade_to(&mut self, time: u64) -> usize {
        loop {
            let (level, digit) = self.position(time);
            let slot = level * SLOTS + digit;
            if level == 0 {
                self.clock = time;
                return slot;
            }
            let below = SLOT_BITS * level as u32;
            self.clock = time >> below << below;
            self.occupied[level] &= !(1 << digit);
            let mut entries = std::mem::take(&mut self.slots[slot]);
            for entry in entries.drain(..) {
                self.place(entry);
            }
            self.slots[slot] = entries;
        }
    }

    fn find_first(&self) -> Option<Entry> {
        let level = self.occupied.iter().position(|word| *word != 0)?;
        let digit = self.occupied[level].trailing_zeros() as usize;
        self.slots[level * SLOTS + digit].iter().min().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn entry(time: u64, component: u32, sequence: u32) -> Entry {
        Entry {
            time: Time(time),
            order: Order {
                class: 0,
                component,
                sequence,
            },
            payload: sequence,
        }
    }

    #[test]
    fn looking_does_not_move_the_clock() {
        let mut wheel = Wheel::default();
        wheel.push(entry(1 << 40, 0, 0));
        assert_eq!(wheel.first().unwrap().time, Time(1 << 40));
        wheel.push(entry(5, 0, 1));
        assert_eq!(wheel.pop().unwrap().time, Time(5));
        assert_eq!(wheel.pop().unwrap().time, Time(1 << 40));
        assert!(wheel.pop().is_none());
    }

    proptest! {
        #[test]
        fn comes_out_in_the_order_of_a_sorted_set(
            steps in prop::collection::vec((any::<bool>(), 0u32..50, 0u32..4), 1..400),
        ) {
            let mut wheel = Wheel::default();
            let mut model = BTreeSet::new();
            let mut clock = 0;
            for (sequence, (push, exponent, component)) in steps.into_iter().enumerate() {
                if push {
                    // Spans from one to 2^50 picoseconds, with many ties among the short ones.
                    let span = (1u64 << exponent) + u64::from(component % 2);
                    let new = entry(clock + span - 1, component, sequence as u32);
                    wheel.push(new);
                    model.insert(new);
                } else {
                    let expected = model.pop_first();
                    prop_assert_eq!(wheel.pop(), expected);
                    clock = expected.map_or(clock, |e| e.time.0);
                }
                prop_assert_eq!(wheel.first(), model.first());
                prop_assert_eq!(wheel.len(), model.len());
            }
        }
    }
}
