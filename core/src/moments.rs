//! Count, mean, variance and range of a stream of times, exact.
//!
//! Sums of picoseconds and of their squares are integers: there is no rounding and no dependence on the order
//! of samples, so event paths that record in different orders agree exactly. It is also cheaper than a
//! running mean, which divides for each sample. 10^9 samples of 500 s fit; beyond that the standard deviation
//! is NaN.

use super::time::{PS_PER_S, Time};

/// Running sums over spans of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moments {
    count: u64,
    sum: u128,
    sum_of_squares: u128,
    min: Time,
    max: Time,
}

impl Default for Moments {
    fn default() -> Self {
        Moments {
            count: 0,
            sum: 0,
            sum_of_squares: 0,
            min: Time::NEVER,
            max: Time::ZERO,
        }
    }
}

impl Moments {
    /// Adds a sample.
    #[inline(always)]
    pub fn push(&mut self, sample: Time) {
        self.count += 1;
        self.sum += u128::from(sample.0);
        let square = u128::from(sample.0) * u128::from(sample.0);
        match self.sum_of_squares.checked_add(square) {
            Some(sum) => self.sum_of_squares = sum,
            None => self.overflow(),
        }
        // New extremes are rare: of n samples in random order about 2 ln n.
        if sample < self.min {
            self.lower_min(sample);
        }
        if sample > self.max {
            self.raise_max(sample);
        }
    }

    #[cold]
    #[inline(never)]
    fn overflow(&mut self) {
        self.sum_of_squares = u128::MAX;
    }

    #[cold]
    #[inline(never)]
    fn lower_min(&mut self, sample: Time) {
        self.min = sample;
    }

    #[cold]
    #[inline(never)]
    fn raise_max(&mut self, sample: Time) {
        self.max = sample;
    }

    /// Sum of the samples, picoseconds.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Adds `count` samples of one value.
    pub fn push_many(&mut self, sample: Time, count: u64) {
        if count == 0 {
            return;
        }
        self.count += count;
        self.sum += u128::from(sample.0) * u128::from(count);
        let square = u128::from(sample.0) * u128::from(sample.0);
        let squares = square.checked_mul(u128::from(count));
        match squares.and_then(|squares| self.sum_of_squares.checked_add(squares)) {
            Some(sum) => self.sum_of_squares = sum,
            None => self.overflow(),
        }
        self.min = self.min.min(sample);
        self.max = self.max.max(sample);
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Seconds; NaN without a sample.
    pub fn mean_seconds(&self) -> f64 {
        if self.count == 0 {
            return f64::NAN;
        }
        self.sum as f64 / self.count as f64 / PS_PER_S as f64
    }

    /// Sample standard deviation (n - 1), seconds; NaN below two samples.
    pub fn sd_seconds(&self) -> f64 {
        if self.count < 2 || self.sum_of_squares == u128::MAX {
            return f64::NAN;
        }
        // With q and r from sum = q n + r, the centred sum of squares is sum_of_squares - n q^2 - 2 q r - r^2
        // / n. All but the last small term are integers, because the difference of two large floats would
        // lose the variance.
        let n = u128::from(self.count);
        let (q, r) = (self.sum / n, self.sum % n);
        let centred =
            (self.sum_of_squares - n * q * q - 2 * q * r) as f64 - (r * r) as f64 / n as f64;
        (centred.max(0.0) / (self.count - 1) as f64).sqrt() / PS_PER_S as f64
    }

    /// The smallest sample.
    pub fn min(&self) -> Option<Time> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest sample.
    pub fn max(&self) -> Option<Time> {
        (self.count > 0).then_some(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tiny_spread_around_a_large_mean_is_not_lost() {
        let mut moments = Moments::default();
        for sample in [1_000 * PS_PER_S, 1_000 * PS_PER_S + 2] {
            moments.push(Time(sample));
        }
        assert!((moments.sd_seconds() / 1e-12 - 2f64.sqrt()).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn agrees_with_two_passes(samples in prop::collection::vec(0u64..1_000_000, 2..100)) {
            let mut moments = Moments::default();
            samples.iter().for_each(|s| moments.push(Time(*s)));
            let n = samples.len() as f64;
            let mean = samples.iter().sum::<u64>() as f64 / n;
            let ss: f64 = samples.iter().map(|s| (*s as f64 - mean).powi(2)).sum();
            let sd = (ss / (n - 1.0)).sqrt();
            prop_assert!((moments.mean_seconds() * 1e12 - mean).abs() < 1e-6);
            prop_assert!((moments.sd_seconds() * 1e12 - sd).abs() < 1e-6 * (1.0 + sd));
            prop_assert_eq!(moments.max().unwrap().0, *samples.iter().max().unwrap());
        }

        #[test]
        fn many_of_one_value_are_that_value_many_times(
            samples in prop::collection::vec((any::<u64>(), 0u32..64, 0u64..20), 1..20),
        ) {
            let (mut one_by_one, mut together) = (Moments::default(), Moments::default());
            for (value, shift, count) in samples {
                let sample = Time(value >> shift);
                (0..count).for_each(|_| one_by_one.push(sample));
                together.push_many(sample, count);
            }
            prop_assert_eq!(one_by_one.sum_of_squares, together.sum_of_squares);
            prop_assert_eq!(format!("{one_by_one:?}"), format!("{together:?}"));
        }
    }
}
