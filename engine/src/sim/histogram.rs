//! A log-linear histogram of times: every bin is at most 1/128 of its value wide.
//!
//! Values below 256 have a bin each; above, every octave [2^k, 2^(k+1)) is cut into 128 equal
//! bins (the layout of HdrHistogram with 7 bits). The quantile of a bin's middle is thus
//! within 1/256 of the sample's. An octave takes memory (1 KiB) once a value falls into it: 58
//! rows and 58 KiB at most, whatever the number of values.

/// Bins in a row: the relative width of a bin is one over this.
const BINS: usize = 1 << BINS_LOG2;
const BINS_LOG2: u32 = 7;

/// Row 0 counts 0..128; row r > 0 the octave that starts at 128 times 2^(r - 1), up to row 57.
type Row = Box<[u64; BINS]>;

/// Counts of values by size.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    rows: Vec<Option<Row>>,
}

/// Row and bin of a value.
#[inline]
fn place(value: u64) -> (usize, usize) {
    // The row is the position of the leading bit; its lower 7 neighbours choose the bin. Row 0
    // has no leading bit of its own and takes the value as it is.
    let row = (u64::BITS - value.leading_zeros()).saturating_sub(BINS_LOG2);
    let shift = row.saturating_sub(1);
    (row as usize, (value >> shift) as usize & (BINS - 1))
}

/// The least value of a bin.
fn low(row: usize, bin: usize) -> u64 {
    match row {
        0 => bin as u64,
        _ => ((BINS + bin) as u64) << (row - 1),
    }
}

/// How many values a bin of this row covers.
fn width(row: usize) -> u64 {
    1 << row.saturating_sub(1)
}

impl Histogram {
    /// Counts a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let (row, bin) = place(value);
        match self.rows.get_mut(row) {
            Some(Some(counts)) => counts[bin] += 1,
            _ => self.row(row)[bin] += 1,
        }
    }

    /// Adds `count` samples of one value.
    pub fn record_many(&mut self, value: u64, count: u64) {
        if count > 0 {
            let (row, bin) = place(value);
            self.row(row)[bin] += count;
        }
    }

    /// A row, made if it is not there.
    #[cold]
    #[inline(never)]
    fn row(&mut self, row: usize) -> &mut Row {
        if row >= self.rows.len() {
            self.rows.resize(row + 1, None);
        }
        self.rows[row].get_or_insert_with(|| Box::new([0; BINS]))
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Histogram) {
        for (row, counts) in other.rows.iter().enumerate() {
            if let Some(counts) = counts {
                let mine = self.row(row).iter_mut();
                mine.zip(counts.iter())
                    .for_each(|(sum, count)| *sum += count);
            }
        }
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.rows.iter().flatten().flat_map(|row| row.iter()).sum()
    }

    /// The bins that are not empty, in ascending order, as (low, high, count): values v with
    /// low <= v < high. The last bin there is ends at `u64::MAX`, which is counted in it.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let rows = self.rows.iter().enumerate();
        let made = rows.filter_map(|(row, counts)| Some((row, counts.as_deref()?)));
        made.flat_map(|(row, counts)| {
            let bins = counts.iter().enumerate().filter(|(_, count)| **count > 0);
            bins.map(move |(bin, &count)| {
                let low = low(row, bin);
                (low, low.saturating_add(width(row)), count)
            })
        })
    }

    /// The middle of the bin that holds the q-quantile, 0 <= q <= 1; None of nothing. The
    /// quantile is the least value with at least a share q of all values at or below it, so
    /// 0 gives the least value and 1 the greatest. Exact below 256, within 1/256 above.
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
        assert_eq!(histogram.rows.len(), 58);
    }

    #[test]
    fn nothing_has_no_quantile_and_no_memory() {
        let histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        assert_eq!((histogram.count(), histogram.rows.capacity()), (0, 0));
    }

    #[test]
    fn an_octave_takes_memory_once() {
        let mut histogram = Histogram::default();
        (0..10_000).for_each(|i| histogram.record((1 << 40) + (i << 20)));
        assert_eq!(histogram.rows.iter().flatten().count(), 1);
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
