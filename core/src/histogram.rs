//! A log-linear histogram of times: every bin is at most 1/128 of its value wide.
//!
//! Values below 256 have a bin each; above, every octave [2^k, 2^(k+1)) is divided into 128 equal bins (the
//! layout of HdrHistogram with 7 bits). So the middle of a quantile's bin is within 1/256 of the exact
//! quantile. Memory covers the octaves from the smallest to the largest value, 512 bytes each: at most 29
//! KiB, whatever the number of values, and 0.5 to 2 KiB for the delays of a flow, which are all above its
//! path delay. Counts have 32 bits; the rare larger counts carry into a separate store.

use super::prefetch::prefetch;
use std::collections::BTreeMap;

/// Bins per row: the relative width of a bin is the reciprocal of this.
const BINS: usize = 1 << BINS_LOG2;
const BINS_LOG2: u32 = 7;

/// Number of values by size.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    /// The bin of the first count: the start of the smallest value's row.
    first: usize,
    /// Rows of 128 bins: row 0 counts 0..128, row r > 0 the octave from 128 times 2^(r - 1), up to row 57.
    /// Whole rows, from the smallest value's to the largest's; the lower 32 bits of each count.
    counts: Vec<u32>,
    /// None if all are 0.
    carried: Option<Box<UpperHalves>>,
}

/// The upper 32 bits of counts that need them, by bin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct UpperHalves {
    upper: BTreeMap<usize, u32>,
}

/// Bytes of a bin in memory.
pub const BYTES_PER_COUNT: u64 = size_of::<u32>() as u64;

/// The bin of a value.
#[inline(always)]
fn place(value: u64) -> usize {
    // The leading bit of a value of 256 or more decides by how much it is shifted to lie in 128..256, and so
    // its row. Smaller values are not shifted and are their own bins.
    let least = value | (2 * BINS as u64 - 1);
    let shift = u64::BITS - least.leading_zeros() - (BINS_LOG2 + 1);
    shift as usize * BINS + (value >> shift) as usize
}

/// By how much the values of a bin are shifted.
fn shift(bin: usize) -> usize {
    (bin / BINS).saturating_sub(1)
}

/// The smallest value of a bin.
fn low(bin: usize) -> u64 {
    ((bin - shift(bin) * BINS) as u64) << shift(bin)
}

/// Number of values in a bin's range.
fn width(bin: usize) -> u64 {
    1 << shift(bin)
}

impl Histogram {
    /// Counts a value.
    #[inline(always)]
    pub fn record(&mut self, value: u64) {
        self.record_many(value, 1);
    }

    /// Prefetches the bin of a value, if it exists.
    #[inline]
    pub fn prefetch(&self, value: u64) {
        if let Some(count) = self.counts.get(place(value).wrapping_sub(self.first)) {
            prefetch(count);
        }
    }

    /// Adds `count` samples of one value.
    #[inline(always)]
    pub fn record_many(&mut self, value: u64, count: u64) {
        let bin = place(value);
        // Below the first bin this wraps to an index beyond the last.
        match self.counts.get_mut(bin.wrapping_sub(self.first)) {
            Some(lower) if count <= u64::from(u32::MAX - *lower) => *lower += count as u32,
            _ if count == 0 => {}
            _ => self.add_to_bin(bin, count),
        }
    }

    /// Adds to a bin that may need new rows.
    #[inline(never)]
    fn add_to_bin(&mut self, bin: usize, count: u64) {
        let row = bin / BINS * BINS;
        self.cover(row, row + BINS);
        let lower = &mut self.counts[bin - self.first];
        let sum = u64::from(*lower) + (count & u64::from(u32::MAX));
        *lower = sum as u32;
        let upper = (count >> u32::BITS) as u32 + (sum >> u32::BITS) as u32;
        if upper > 0 {
            let carried = self.carried.get_or_insert_default();
            *carried.upper.entry(bin).or_default() += upper;
        }
    }

    /// Adds these rows, where missing.
    fn cover(&mut self, low: usize, high: usize) {
        if self.counts.is_empty() {
            self.first = low;
        }
        let below = self.first.saturating_sub(low);
        let above = high.saturating_sub(self.first + self.counts.len());
        if below + above == 0 {
            return;
        }
        self.counts.reserve_exact(below + above);
        self.counts.splice(0..0, std::iter::repeat_n(0, below));
        self.counts.resize(self.counts.len() + above, 0);
        self.first -= below;
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        if other.counts.is_empty() {
            return;
        }
        self.cover(other.first, other.first + other.counts.len());
        for (bin, count) in other.used() {
            self.add_to_bin(bin, count);
        }
    }

    /// Nonempty bins with their counts, in ascending order.
    fn used(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let carried = self.carried.as_deref();
        (self.first..)
            .zip(&self.counts)
            .map(move |(bin, &lower)| {
                let upper = carried.and_then(|carried| carried.upper.get(&bin));
                let upper = upper.map_or(0, |&upper| u64::from(upper));
                (bin, upper << u32::BITS | u64::from(lower))
            })
            .filter(|(_, count)| *count > 0)
    }

    /// Number of bins allocated.
    pub fn rows(&self) -> u64 {
        self.counts.len() as u64
    }

    /// Number of values counted.
    pub fn count(&self) -> u64 {
        self.used().map(|(_, count)| count).sum()
    }

    /// Nonempty bins in ascending order, as (low, high, count): values v with low <= v < high. The last
    /// possible bin ends at `u64::MAX` and includes it.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.used().map(|(bin, count)| {
            let low = low(bin);
            (low, low.saturating_add(width(bin)), count)
        })
    }

    /// The middle of the bin of the q-quantile, 0 <= q <= 1; None if empty. The quantile is the smallest
    /// value with at least a share q of all values at or below it, so 0 gives the minimum and 1 the maximum.
    /// Exact below 256, within 1/256 above.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let total = self.count();
        let rank = ((q * total as f64).ceil() as u64).clamp(1, total.max(1));
        let mut cumulated = 0;
        let mut bins = self.bins();
        let (low, high, _) = bins.find(|(_, _, count)| {
            cumulated += count;
            cumulated >= rank
        })?;
        Some(low + (high - low - 1) / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_values_are_exact() {
        let mut histogram = Histogram::default();
        (0..256).for_each(|value| histogram.record(value));
        let bins: Vec<_> = histogram.bins().collect();
        let expected: Vec<_> = (0..256).map(|value| (value, value + 1, 1)).collect();
        assert_eq!(bins, expected);
    }

    #[test]
    fn bins_of_the_largest_values() {
        let mut histogram = Histogram::default();
        histogram.record(u64::MAX);
        let bins: Vec<_> = histogram.bins().collect();
        assert_eq!(bins, vec![(255 << 56, u64::MAX, 1)]);
        assert_eq!((histogram.first, histogram.counts.len()), (57 * BINS, BINS));
        histogram.record(0);
        assert_eq!((histogram.first, histogram.counts.len()), (0, 58 * BINS));
        let found: Vec<_> = histogram.bins().map(|bin| (bin.0, bin.2)).collect();
        assert_eq!(found, vec![(0, 1), (255 << 56, 1)]);
    }

    #[test]
    fn nothing_has_no_quantile_and_no_memory() {
        let histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        assert_eq!((histogram.count(), histogram.counts.capacity()), (0, 0));
    }

    #[test]
    fn memory_reaches_from_the_octave_of_the_least_value_to_the_greatests() {
        let mut histogram = Histogram::default();
        (0..10_000).for_each(|i| histogram.record((1 << 14) + i));
        assert_eq!(histogram.counts.capacity(), BINS);
        histogram.record(1 << 13);
        histogram.record(1 << 16);
        // 2^13..2^14 to 2^16..2^17.
        assert_eq!(histogram.counts.capacity(), 4 * BINS);
    }

    #[test]
    fn counts_have_64_bits() {
        let mut histogram = Histogram::default();
        histogram.record_many(5, u64::from(u32::MAX));
        histogram.record_many(300, 7 << 40 | 1);
        let bins = |histogram: &Histogram| -> Vec<_> {
            histogram
                .bins()
                .map(|(low, _, count)| (low, count))
                .collect()
        };
        assert_eq!(bins(&histogram), [(5, (1 << 32) - 1), (300, 7 << 40 | 1)]);
        histogram.record(5);
        histogram.record(6);
        assert_eq!(bins(&histogram), [(5, 1 << 32), (6, 1), (300, 7 << 40 | 1)]);
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        assert_eq!(bins(&twice), [(5, 1 << 33), (6, 2), (300, 14 << 40 | 2)]);
        assert_eq!(twice.count(), (1 << 33) + 2 + (14 << 40 | 2));
        assert_eq!(twice.quantile(0.0), Some(5));
    }

    /// Values spread over all magnitudes.
    fn values() -> impl Strategy<Value = Vec<u64>> {
        let value = (any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift);
        prop::collection::vec(value, 1..200)
    }

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bin_and_the_bin_is_narrow(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            let (low, high, count) = of(&[value]).bins().next().unwrap();
            prop_assert_eq!(count, 1);
            prop_assert!(low <= value && (value < high || value == u64::MAX));
            prop_assert!(high - low == 1 || (high - low) as f64 <= low as f64 / 128.0);
        }

        #[test]
        fn quantiles_are_within_half_a_bin(values in values(), q in 0.0f64..=1.0) {
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).max(1);
            let exact = sorted[rank - 1];
            let found = of(&values).quantile(q).unwrap();
            prop_assert!(found.abs_diff(exact) as f64 <= exact as f64 / 256.0, "{} {}", found, exact);
            prop_assert!(exact >= 256 || found == exact);
        }

        #[test]
        fn bins_ascend_and_hold_every_value(values in values()) {
            let bins: Vec<_> = of(&values).bins().collect();
            prop_assert!(bins.windows(2).all(|pair| pair[0].1 <= pair[1].0));
            prop_assert!(bins.iter().all(|bin| bin.2 > 0));
            prop_assert_eq!(bins.iter().map(|bin| bin.2).sum::<u64>(), values.len() as u64);
            prop_assert_eq!(of(&values).count(), values.len() as u64);
        }

        #[test]
        fn merging_is_recording_both(first in values(), second in values()) {
            let mut merged = of(&first);
            merged.merge(&of(&second));
            let both = [first, second].concat();
            prop_assert_eq!(merged, of(&both));
        }
    }
}
