//! Equal time intervals. When a new time would exceed their maximum number, the interval width
//! doubles.

const FIRST_WIDTH_NS: i64 = 1_000_000;

/// Merging of the values of two adjacent intervals.
pub trait Merge: Default {
    /// Adds the values of the next interval.
    fn merge(&mut self, later: Self);
}

impl Merge for u64 {
    fn merge(&mut self, later: u64) {
        *self += later;
    }
}

/// Values of at most `most` intervals of equal width.
#[derive(Debug, Clone)]
pub struct Intervals<T> {
    /// Width of an interval: a power of two, in milliseconds.
    pub width_ns: i64,
    /// Start of the first interval. Earlier times are counted in it.
    pub begin_ns: i64,
    /// Up to the last interval with a value.
    pub all: Vec<T>,
    most: usize,
}

impl<T: Merge> Intervals<T> {
    /// No intervals yet, and never more than `most`, which is at least two.
    pub fn new(begin_ns: i64, most: usize) -> Intervals<T> {
        Intervals {
            width_ns: FIRST_WIDTH_NS,
            begin_ns,
            all: Vec::new(),
            most: most.max(2),
        }
    }

    /// The interval that contains this time.
    pub fn at(&mut self, at_ns: i64) -> &mut T {
        let since = at_ns.saturating_sub(self.begin_ns).max(0);
        while since / self.width_ns >= self.most as i64 {
            self.double();
        }
        let index = (since / self.width_ns) as usize;
        if index >= self.all.len() {
            self.all.resize_with(index + 1, T::default);
        }
        &mut self.all[index]
    }

    fn double(&mut self) {
        let mut single = std::mem::take(&mut self.all).into_iter();
        while let Some(mut first) = single.next() {
            if let Some(second) = single.next() {
                first.merge(second);
            }
            self.all.push(first);
        }
        self.width_ns = self.width_ns.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use super::Intervals;

    #[test]
    fn intervals_double_and_keep_what_they_had() {
        let mut counted: Intervals<u64> = Intervals::new(-5_000_000, 4);
        for (at_ms, count) in [(-9, 1), (-5, 2), (-4, 4), (-2, 8)] {
            *counted.at(at_ms * 1_000_000) += count;
        }
        assert_eq!(
            (counted.width_ns, &counted.all[..]),
            (1_000_000, &[3, 4, 0, 8][..])
        );
        *counted.at(5_000_000) += 16;
        assert_eq!(
            (counted.width_ns, &counted.all[..]),
            (4_000_000, &[15, 0, 16][..])
        );
    }

    #[test]
    fn the_longest_time_there_is_has_as_many_intervals() {
        let mut counted: Intervals<u64> = Intervals::new(i64::MIN, 512);
        *counted.at(i64::MIN) += 1;
        *counted.at(i64::MAX) += 1;
        assert!(counted.all.len() <= 512);
        assert_eq!(counted.all.iter().sum::<u64>(), 2);
    }
}
