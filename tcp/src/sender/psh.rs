//! Which segments carry PSH.
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 9293 section 3.9.1, the end of a write | its last byte |
//! | Linux, a program waits until it may write again | the last byte that the buffer accepted |
//! | Linux, much data since the last PSH (`forced_push`) | a full segment after more than half of the largest window offered |
//! | Linux, a window probe sends part of a segment (`tcp_write_wakeup`) | both parts |
//!
//! A receiver on Linux acknowledges such a segment as soon as its program has read it, so they determine
//! which packets are acknowledged in pairs.

use dumbbell_core::prefetch::prefetch;
use std::collections::VecDeque;

/// Ends of segments with PSH that may be unacknowledged.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PushMarks {
    /// There is no end between the last sent byte and this.
    ahead: u64,
    /// None before the first write.
    ends: Option<Box<PushEnds>>,
}

const _: () = assert!(size_of::<PushMarks>() <= 16);

/// The ends; few segments have one.
#[derive(Debug, Clone, PartialEq)]
struct PushEnds {
    /// Ascending.
    rows: VecDeque<EvenlySpaced>,
    /// The newest end so far (`pushed_seq`).
    last: u64,
}

impl Default for PushEnds {
    fn default() -> PushEnds {
        PushEnds {
            rows: VecDeque::new(),
            // Does not count the SYN.
            last: 1,
        }
    }
}

/// Ends at equal distances: a large write has one for every half window, and writes that wait for room mostly
/// have equal size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct EvenlySpaced {
    first: u64,
    step: u64,
    last: u64,
}

impl EvenlySpaced {
    fn one(end: u64) -> EvenlySpaced {
        EvenlySpaced {
            first: end,
            step: 1,
            last: end,
        }
    }

    /// Adds an end after its last, if the distance is the same.
    fn takes(&mut self, end: u64) -> bool {
        let step = end - self.last;
        if self.first == self.last {
            self.step = step;
        }
        let is_next = self.step == step;
        if is_next {
            self.last = end;
        }
        is_next
    }

    /// The first end after `start`, which is before its last.
    fn after(&self, start: u64) -> u64 {
        let steps = (start + 1).saturating_sub(self.first).div_ceil(self.step);
        self.first + steps * self.step
    }
}

/// The parameters of a write.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Write {
    /// First unacknowledged byte: earlier ends are discarded.
    pub una: u64,
    /// Start of the segment that the write continues, or of its first one.
    pub segment_start: u64,
    /// One past the last byte before the write.
    pub before: u64,
    /// One past the last byte of the write.
    pub after: u64,
    /// Payload of a full segment.
    pub mss_bytes: u32,
    /// The largest window offered by the receiver, bytes.
    pub largest_window_bytes: u64,
}

impl PushEnds {
    fn write(&mut self, write: Write) {
        self.forget(write.una);
        // The end of the last write, in a segment that is not full and continues.
        let goes_on = write.segment_start < write.before;
        if goes_on {
            self.take_back(write.before);
        }
        let mss = u64::from(write.mss_bytes);
        let distance = write.largest_window_bytes / 2 + 1;
        let beyond = (self.last + distance).saturating_sub(write.segment_start);
        let first = write.segment_start + beyond.div_ceil(mss).max(1) * mss;
        if first < write.after {
            let step = distance.div_ceil(mss) * mss;
            let last = first + (write.after - 1 - first) / step * step;
            self.rows.push_back(EvenlySpaced { first, step, last });
        }
        if !self
            .rows
            .back_mut()
            .is_some_and(|row| row.takes(write.after))
        {
            self.rows.push_back(EvenlySpaced::one(write.after));
        }
        self.last = write.after;
    }

    /// Removes the newest end, if it is this one.
    fn take_back(&mut self, end: u64) {
        match self.rows.back_mut() {
            Some(row) if row.last == end && row.first < end => row.last -= row.step,
            Some(row) if row.last == end => drop(self.rows.pop_back()),
            _ => {}
        }
    }

    fn forget(&mut self, una: u64) {
        while self.rows.front().is_some_and(|row| row.last <= una) {
            self.rows.pop_front();
        }
    }

    fn split(&mut self, una: u64, part: u64, segment_end: u64) {
        self.forget(una);
        let is_pushed = self.any_in(segment_end - 1, segment_end);
        if !is_pushed {
            self.rows.push_front(EvenlySpaced::one(segment_end));
        }
        if part < segment_end {
            self.rows.push_front(EvenlySpaced::one(part));
        }
        self.last = self.last.max(segment_end);
    }

    /// The first row with an end after `at`. Transmissions are near the first rows, and a buffer of many
    /// writes has thousands.
    fn row_beyond(&self, at: u64) -> Option<&EvenlySpaced> {
        let is_passed = |place: usize| self.rows.get(place).is_some_and(|row| row.last <= at);
        let mut bound = 1;
        while is_passed(bound - 1) {
            bound *= 2;
        }
        let (mut low, mut high) = (bound / 2, bound - 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if is_passed(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.rows.get(low)
    }

    /// The first end after `end`, or 0 for none.
    fn next_beyond(&self, end: u64) -> u64 {
        self.row_beyond(end).map_or(0, |row| row.after(end))
    }

    fn any_in(&self, start: u64, end: u64) -> bool {
        self.row_beyond(start)
            .is_some_and(|row| row.after(start) <= end)
    }
}

impl PushMarks {
    /// Prefetches the pointer to its ends.
    #[inline]
    pub fn prefetch_ends(&self) {
        if let Some(ends) = &self.ends {
            prefetch(&**ends);
        }
    }

    /// Prefetches the first end, some time after `prefetch_ends`.
    #[inline]
    pub fn prefetch_first(&self) {
        if let Some(first) = self.ends.as_ref().and_then(|ends| ends.rows.front()) {
            prefetch(first);
        }
    }

    /// Data sent last will be sent once more.
    pub fn forget_ahead(&mut self) {
        self.ahead = 0;
    }

    /// Records the ends of a write.
    pub fn write(&mut self, write: Write) {
        self.ends.get_or_insert_default().write(write);
    }

    /// A window probe sends the bytes from `una` up to `part` of the segment that ends at `segment_end`, or
    /// all of it: both parts carry PSH (`tcp_write_wakeup`). Nothing else is outstanding.
    pub fn split(&mut self, una: u64, part: u64, segment_end: u64) {
        let ends = self.ends.get_or_insert_default();
        ends.split(una, part, segment_end);
        self.ahead = 0;
    }

    /// Whether a new segment from `start` to `end`, which is sent now, contains an end.
    #[inline]
    pub fn any_in_new(&mut self, start: u64, end: u64) -> bool {
        if end < self.ahead {
            return false;
        }
        // Beyond the newest end nothing is written, so nothing is sent before the next write.
        self.ahead = self.ends.as_ref().map_or(0, |ends| ends.next_beyond(end));
        self.any_in(start, end)
    }

    /// Whether a segment from `start` to `end` contains an end.
    pub fn any_in(&self, start: u64, end: u64) -> bool {
        self.ends
            .as_ref()
            .is_some_and(|ends| ends.any_in(start, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const MSS: u32 = 1000;

    /// The byte after the last of `segments` full segments.
    fn after(segments: u64) -> u64 {
        1 + segments * u64::from(MSS)
    }

    fn written(pushes: &mut PushMarks, before: u64, to: u64, segment_start: u64, window: u64) {
        pushes.write(Write {
            una: 1,
            segment_start,
            before,
            after: to,
            mss_bytes: MSS,
            largest_window_bytes: window,
        });
    }

    #[test]
    fn the_row_beyond_is_the_first_of_any_number() {
        for count in 0..20 {
            let rows: VecDeque<EvenlySpaced> = (1..=count)
                .map(|number| EvenlySpaced::one(10 * number))
                .collect();
            let ends = PushEnds { rows, last: 0 };
            for at in 0..=10 * count + 10 {
                let expected = ends.rows.iter().find(|row| row.last > at);
                assert_eq!(ends.row_beyond(at), expected, "{at} of {count}");
            }
        }
    }

    #[test]
    fn the_ends_of_writes_are_pushed_until_they_are_acknowledged() {
        let mut pushes = PushMarks::default();
        written(&mut pushes, 1, after(21), 1, u64::MAX / 4);
        written(&mut pushes, after(21), after(31), after(21), u64::MAX / 4);
        assert!(pushes.any_in(after(20), after(21)));
        assert!(!pushes.any_in(after(21), after(30)));
        assert!(pushes.any_in(after(30), after(31)));
        let last = Write {
            una: after(31),
            segment_start: after(31),
            before: after(31),
            after: after(32),
            mss_bytes: MSS,
            largest_window_bytes: u64::MAX / 4,
        };
        pushes.write(last);
        assert!(!pushes.any_in(after(20), after(31)));
        assert!(pushes.any_in(after(31), after(32)));
    }

    #[test]
    fn a_segment_that_a_later_write_fills_up_is_no_end() {
        let mut pushes = PushMarks::default();
        written(&mut pushes, 1, 301, 1, u64::MAX / 4);
        assert!(pushes.any_in(1, 301));
        written(&mut pushes, 301, after(2), 1, u64::MAX / 4);
        assert!(!pushes.any_in(1, after(1)));
        assert!(pushes.any_in(after(1), after(2)));
    }

    #[test]
    fn both_parts_of_a_probed_segment_are_pushed() {
        let mut pushes = PushMarks::default();
        written(&mut pushes, 1, after(40), 1, 21 * u64::from(MSS));
        assert!(!pushes.any_in_new(1, after(1)));
        pushes.split(after(1), after(1) + 300, after(2));
        assert!(pushes.any_in_new(after(1), after(1) + 300));
        assert!(pushes.any_in_new(after(1) + 300, after(2)));
        assert!(!pushes.any_in_new(after(2), after(3)));
        // Where the segment was pushed already, nothing is said twice.
        pushes.split(after(10), after(10) + 300, after(11));
        assert!(pushes.any_in(after(10), after(10) + 300));
        let rest: Vec<u64> = (11..40)
            .filter(|&n| pushes.any_in(after(n), after(n + 1)))
            .collect();
        assert_eq!(rest, [21, 32, 39]);
    }

    #[test]
    fn writes_of_one_length_are_one_row() {
        let mut pushes = PushMarks::default();
        let rows = |pushes: &PushMarks| pushes.ends.as_ref().map(|ends| ends.rows.clone());
        for n in 0..100 {
            written(&mut pushes, after(n), after(n + 1), after(n), u64::MAX / 4);
        }
        let row = |last| EvenlySpaced {
            first: after(1),
            step: u64::from(MSS),
            last,
        };
        assert_eq!(rows(&pushes), Some(VecDeque::from([row(after(100))])));
        // What goes on in the last segment takes its end off.
        let begun = after(100) + 300;
        written(&mut pushes, after(100), begun, after(100), u64::MAX / 4);
        written(&mut pushes, begun, after(101), after(100), u64::MAX / 4);
        assert_eq!(rows(&pushes), Some(VecDeque::from([row(after(101))])));
        written(
            &mut pushes,
            after(101),
            after(101) + 1,
            after(100),
            u64::MAX / 4,
        );
        let expected = VecDeque::from([row(after(100)), EvenlySpaced::one(after(101) + 1)]);
        assert_eq!(rows(&pushes), Some(expected));
    }

    proptest! {
        /// Which ends there are is what was told one by one.
        #[test]
        fn rows_have_the_ends_that_were_written(
            writes in prop::collection::vec((1u64..4, 1u64..4, prop::bool::weighted(0.3)), 1..40),
            acknowledged_share in 0.0f64..1.0,
            asked in prop::collection::vec((0u64..40_000, 1u64..3000), 1..40),
        ) {
            let mut pushes = PushMarks::default();
            let mut ends = BTreeSet::new();
            let mut written = 1;
            for (segments, parts, goes_on) in writes {
                let segment_start = written - if goes_on { 100.min(written - 1) } else { 0 };
                let after = written + 700 * segments / parts;
                if goes_on && segment_start < written {
                    ends.remove(&written);
                }
                ends.insert(after);
                let una = (written as f64 * acknowledged_share) as u64;
                pushes.write(Write {
                    una,
                    segment_start,
                    before: written,
                    after,
                    mss_bytes: MSS,
                    largest_window_bytes: u64::MAX / 4,
                });
                written = after;
                for (start, bytes) in &asked {
                    let start = (una + start).min(written);
                    let end = start + bytes;
                    let expected = ends.range(start + 1..=end).next().is_some();
                    prop_assert_eq!(pushes.any_in(start, end), expected, "{}..{}", start, end);
                }
            }
        }
    }

    #[test]
    fn more_than_half_of_the_largest_window_is_pushed() {
        let mut pushes = PushMarks::default();
        // Half is ten segments and a half: the eleventh is beyond.
        written(&mut pushes, 1, after(40), 1, 21 * u64::from(MSS));
        let pushed: Vec<u64> = (0..40)
            .filter(|&n| pushes.any_in(after(n), after(n + 1)))
            .collect();
        assert_eq!(pushed, [10, 21, 32, 39]);
        // Exactly half is not more than half.
        let mut pushes = PushMarks::default();
        written(&mut pushes, 1, after(12), 1, 10 * u64::from(MSS));
        let pushed: Vec<u64> = (0..12)
            .filter(|&n| pushes.any_in(after(n), after(n + 1)))
            .collect();
        assert_eq!(pushed, [5, 11]);
        let mut pushes = PushMarks::default();
        written(&mut pushes, 1, after(40), 1, 21 * u64::from(MSS));
        // A write of a terabyte is noted in a row.
        written(
            &mut pushes,
            after(40),
            1 << 40,
            after(40),
            21 * u64::from(MSS),
        );
        assert_eq!(pushes.ends.as_ref().map(|ends| ends.rows.len()), Some(4));
        assert!(pushes.any_in(after(50), after(51)) && pushes.any_in(after(61), after(62)));
    }
}
