//! Time cut into equal intervals, which double when there would be too many.

const FIRST_WIDTH_NS: i64 = 1_000_000;

/// What two intervals that become one have together.
pub trait Merge: Default {
    /// Takes in what the interval after this one has.
    fn merge(&mut self, later: Self);
}

impl Merge for u64 {
    fn merge(&mut self, later: u64) {
        *self += later;
    }
}

/// What was seen in each of at most this number of intervals of equal width.
#[derive(Debug, Clone)]
pub struct Intervals<T> {
    /// Length of an interval: a power of two, in milliseconds.
    pub width_ns: i64,
    /// When the first begins. What is earlier is counted there.
    pub begin_ns: i64,
    /// Up to the last in which something was seen.
    pub all: Vec<T>,
    most: usize,
}

impl<T: Merge> Intervals<T> {
    /// None yet, and never more than `most`, which is two or more.
    pub fn new(begin_ns: i64, most: usize) -> Intervals<T> {
        Intervals {
            width_ns: FIRST_WIDTH_NS,
            begin_ns,
            all: Vec::new(),
            most: most.max(2),
        }
    }

    /// The interval of an instant.
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
