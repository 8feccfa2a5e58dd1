//! Running statistics: of samples (`Welford`), of a level over time (`TimeWeighted`) and of
//! the time spent at each level (`Occupancy`).
//!
//! Times are u64 picoseconds and their sums u128, so they are exact and do not depend on the
//! order in which events were handled: a path that folds two events into one gives the same
//! digits. Moments of samples that are times are in `moments`, exact for the same reason;
//! `Welford` is for samples that are real numbers.

/// Count, mean, variance and range of real numbers in one pass (Welford, Technometrics 4,
/// 1962), without the cancellation of a sum of squares. A push costs a division.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Welford {
    count: u64,
    mean: f64,
    /// Sum of squared differences from the mean.
    m2: f64,
    min: f64,
    max: f64,
}

impl Default for Welford {
    fn default() -> Welford {
        Welford {
            count: 0,
            mean: 0.0,
            m2: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
        }
    }
}

impl Welford {
    /// Adds a sample.
    #[inline]
    pub fn push(&mut self, sample: f64) {
        self.count += 1;
        let difference = sample - self.mean;
        self.mean += difference / self.count as f64;
        self.m2 += difference * (sample - self.mean);
        self.min = if sample < self.min { sample } else { self.min };
        self.max = if sample > self.max { sample } else { self.max };
    }

    /// Adds all samples of another (Chan, Golub and LeVeque 1979).
    pub fn merge(&mut self, other: &Welford) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let (mine, theirs) = (self.count as f64, other.count as f64);
        let share = theirs / (mine + theirs);
        let difference = other.mean - self.mean;
        self.count += other.count;
        self.mean += difference * share;
        self.m2 += other.m2 + difference * difference * mine * share;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// NaN without a sample.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.mean }
    }

    /// Sample variance (n - 1); NaN below two samples.
    pub fn variance(&self) -> f64 {
        if self.count < 2 {
            return f64::NAN;
        }
        self.m2 / (self.count - 1) as f64
    }

    /// Sample standard deviation (n - 1); NaN below two samples.
    pub fn sd(&self) -> f64 {
        self.variance().sqrt()
    }

    /// The least sample.
    pub fn min(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min)
    }

    /// The greatest sample.
    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max)
    }
}

/// A level that changes at instants, integrated exactly over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeWeighted {
    start_ps: u64,
    since_ps: u64,
    value: u64,
    integral: u128,
    max: u64,
}

impl TimeWeighted {
    /// Level 0 from `start_ps` on.
    pub fn new(start_ps: u64) -> TimeWeighted {
        TimeWeighted {
            start_ps,
            since_ps: start_ps,
            value: 0,
            integral: 0,
            max: 0,
        }
    }

    /// The level is `value` from `now_ps` on. Of several changes at one instant the last
    /// counts for the integral, all for the maximum.
    #[inline]
    pub fn set(&mut self, now_ps: u64, value: u64) {
        debug_assert!(now_ps >= self.since_ps, "time runs backwards");
        self.integral += u128::from(self.value) * u128::from(now_ps - self.since_ps);
        self.since_ps = now_ps;
        self.value = value;
        self.max = self.max.max(value);
    }

    /// The level now.
    pub fn value(&self) -> u64 {
        self.value
    }

    /// Level times picoseconds from the start to `now_ps`.
    pub fn integral(&self, now_ps: u64) -> u128 {
        debug_assert!(now_ps >= self.since_ps, "time runs backwards");
        self.integral + u128::from(self.value) * u128::from(now_ps - self.since_ps)
    }

    /// The mean level from the start to `now_ps`; NaN over no time.
    pub fn mean(&self, now_ps: u64) -> f64 {
        self.integral(now_ps) as f64 / (now_ps - self.start_ps) as f64
    }

    /// The greatest level.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Forgets everything but the level.
    pub fn reset(&mut self, now_ps: u64) {
        let value = self.value;
        *self = TimeWeighted::new(now_ps);
        self.value = value;
        self.max = value;
    }
}

/// Levels from here on share one bin, so that memory stays flat however long a queue grows.
pub const OCCUPANCY_CAP: usize = 1 << 16;

/// The time spent at each level, in picoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Occupancy {
    since_ps: u64,
    level: u64,
    /// By level; the last of `OCCUPANCY_CAP + 1` is for all levels from the cap on.
    time_ps: Vec<u64>,
}

impl Occupancy {
    /// Level 0 from `start_ps` on.
    pub fn new(start_ps: u64) -> Occupancy {
        Occupancy {
            since_ps: start_ps,
            ..Occupancy::default()
        }
    }

    /// The level is `level` from `now_ps` on.
    #[inline]
    pub fn set(&mut self, now_ps: u64, level: u64) {
        debug_assert!(now_ps >= self.since_ps, "time runs backwards");
        let span = now_ps - self.since_ps;
        let bin = self.level.min(OCCUPANCY_CAP as u64) as usize;
        match self.time_ps.get_mut(bin) {
            Some(time) => *time += span,
            None => self.grow(bin, span),
        }
        self.since_ps = now_ps;
        self.level = level;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, bin: usize, span: u64) {
        self.time_ps.resize(bin + 1, 0);
        self.time_ps[bin] = span;
    }

    /// Brings the time at the present level up to `now_ps`.
    pub fn advance(&mut self, now_ps: u64) {
        self.set(now_ps, self.level);
    }

    /// Picoseconds at each level up to the last `set` or `advance`, from level 0 on; the entry
    /// at `OCCUPANCY_CAP`, where there is one, is for all levels from the cap on.
    pub fn time_ps(&self) -> &[u64] {
        &self.time_ps
    }

    /// Forgets everything but the level.
    pub fn reset(&mut self, now_ps: u64) {
        self.since_ps = now_ps;
        self.time_ps.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn welford(samples: &[f64]) -> Welford {
        let mut welford = Welford::default();
        samples.iter().for_each(|sample| welford.push(*sample));
        welford
    }

    fn two_passes(samples: &[f64]) -> (f64, f64) {
        let n = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / n;
        let squares: f64 = samples.iter().map(|x| (x - mean).powi(2)).sum();
        (mean, (squares / (n - 1.0)).sqrt())
    }

    #[test]
    fn of_nothing_and_of_one_sample() {
        let none = Welford::default();
        assert!(none.mean().is_nan() && none.sd().is_nan());
        assert_eq!((none.count(), none.min(), none.max()), (0, None, None));
        let one = welford(&[-3.0]);
        assert!(one.sd().is_nan());
        assert_eq!(
            (one.mean(), one.min(), one.max()),
            (-3.0, Some(-3.0), Some(-3.0))
        );
    }

    #[test]
    fn a_large_mean_does_not_swallow_the_spread() {
        // The naive sum of squares gives a variance of 0 or less here.
        let sd = welford(&[1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]).sd();
        assert!((sd - 30f64.sqrt()).abs() < 1e-6, "{sd}");
    }

    #[test]
    fn a_staircase_by_hand() {
        let mut level = TimeWeighted::new(100);
        level.set(110, 2);
        level.set(130, 7);
        level.set(130, 1);
        assert_eq!(
            (level.value(), level.max(), level.integral(150)),
            (1, 7, 60)
        );
        assert_eq!(level.mean(150), 1.2);
        level.reset(150);
        assert_eq!(
            (level.value(), level.max(), level.integral(250)),
            (1, 1, 100)
        );
        assert!(TimeWeighted::new(5).mean(5).is_nan());
    }

    #[test]
    fn integrals_do_not_overflow() {
        let mut level = TimeWeighted::new(0);
        level.set(0, u64::MAX);
        assert_eq!(level.integral(u64::MAX), u128::from(u64::MAX).pow(2));
    }

    #[test]
    fn occupancy_by_hand() {
        let mut occupancy = Occupancy::new(10);
        occupancy.set(30, 3);
        occupancy.set(35, 1);
        occupancy.advance(45);
        assert_eq!(occupancy.time_ps(), [20, 10, 0, 5]);
        occupancy.reset(50);
        occupancy.advance(57);
        assert_eq!(occupancy.time_ps()[..2], [0, 7]);
        assert_eq!(occupancy.time_ps().iter().sum::<u64>(), 7);
    }

    #[test]
    fn levels_from_the_cap_on_share_a_bin() {
        let mut occupancy = Occupancy::new(0);
        let cap = OCCUPANCY_CAP as u64;
        for (time, level) in [(1, cap - 1), (3, cap), (6, u64::MAX), (10, 0)] {
            occupancy.set(time, level);
        }
        assert_eq!(occupancy.time_ps().len(), OCCUPANCY_CAP + 1);
        assert_eq!(occupancy.time_ps()[OCCUPANCY_CAP - 1..], [2, 3 + 4]);
    }

    proptest! {
        #[test]
        fn welford_agrees_with_two_passes(samples in prop::collection::vec(-1e6f64..1e6, 2..200)) {
            let (mean, sd) = two_passes(&samples);
            let found = welford(&samples);
            prop_assert!((found.mean() - mean).abs() < 1e-9 * 1e6);
            prop_assert!((found.sd() - sd).abs() < 1e-9 * sd + 1e-9);
            prop_assert_eq!(found.max(), samples.iter().copied().reduce(f64::max));
            prop_assert_eq!(found.min(), samples.iter().copied().reduce(f64::min));
        }

        #[test]
        fn merging_is_pushing_all(samples in prop::collection::vec(-1e6f64..1e6, 2..200), at: prop::sample::Index) {
            let (first, second) = samples.split_at(at.index(samples.len()));
            let mut merged = welford(first);
            merged.merge(&welford(second));
            let whole = welford(&samples);
            prop_assert_eq!((merged.count(), merged.min(), merged.max()), (whole.count(), whole.min(), whole.max()));
            prop_assert!((merged.mean() - whole.mean()).abs() < 1e-9 * 1e6);
            prop_assert!((merged.sd() - whole.sd()).abs() < 1e-9 * whole.sd() + 1e-9);
        }

        #[test]
        fn occupancy_and_integral_tell_the_same(steps in prop::collection::vec((0u64..1_000_000, 0u64..100), 1..100)) {
            let (mut level, mut occupancy, mut now) = (TimeWeighted::new(0), Occupancy::new(0), 0);
            for (span, value) in steps {
                now += span;
                level.set(now, value);
                occupancy.set(now, value);
            }
            occupancy.advance(now + 10);
            let times = occupancy.time_ps().iter().map(|time| u128::from(*time)).enumerate();
            let weighted: u128 = times.map(|(level, time)| level as u128 * time).sum();
            prop_assert_eq!(weighted, level.integral(now + 10));
            prop_assert_eq!(occupancy.time_ps().iter().sum::<u64>(), now + 10);
        }
    }
}
