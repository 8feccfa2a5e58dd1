//! Windowed maximum and minimum in constant space (Kathleen Nichols' windowed filter; Linux
//! `lib/win_minmax.c`).
//!
//! Three candidates are kept: the best of the window, the best after it, and the best after that. When the
//! first leaves the window, the second replaces it. After a quarter and after half of the window without a
//! better value, the later candidates are renewed, so that they are not older than necessary. The result is
//! that of a full sliding window, or of a slightly shorter one.

/// A value and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sample {
    at: u64,
    value: u64,
}

/// The maximum over a sliding window. Time is in any nondecreasing unit: round trips, ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowedMax {
    window: u64,
    best: [Sample; 3],
}

impl WindowedMax {
    /// A filter with one value, `value` at `at`; values older than `window` expire.
    pub fn new(window: u64, at: u64, value: u64) -> WindowedMax {
        WindowedMax {
            window,
            best: [Sample { at, value }; 3],
        }
    }

    /// Changes the length of the window.
    pub fn set_window(&mut self, window: u64) {
        self.window = window;
    }

    /// The greatest value as of the last update.
    #[inline]
    pub fn get(&self) -> u64 {
        self.best[0].value
    }

    /// Adds `value`, measured at `at`, and returns the maximum.
    pub fn update(&mut self, at: u64, value: u64) -> u64 {
        let new = Sample { at, value };
        let nothing_left = at.saturating_sub(self.best[2].at) > self.window;
        if value >= self.best[0].value || nothing_left {
            self.best = [new; 3];
            return value;
        }
        if value >= self.best[1].value {
            self.best[1] = new;
            self.best[2] = new;
        } else if value >= self.best[2].value {
            self.best[2] = new;
        }
        self.expire(new);
        self.get()
    }

    /// Promotes candidates when better ones expire, and renews those that are as old as the one before them.
    fn expire(&mut self, new: Sample) {
        let age = new.at - self.best[0].at;
        if age > self.window {
            self.promote(new);
            // The second may have left the window too; the third has not.
            if new.at - self.best[0].at > self.window {
                self.promote(new);
            }
        } else if self.best[1].at == self.best[0].at && age > self.window / 4 {
            self.best[1] = new;
            self.best[2] = new;
        } else if self.best[2].at == self.best[1].at && age > self.window / 2 {
            self.best[2] = new;
        }
    }

    fn promote(&mut self, new: Sample) {
        self.best = [self.best[1], self.best[2], new];
    }
}

/// A minimum that expires a fixed time after it was last reached, as BBR's minimum round-trip time: not a
/// sliding window, but one that restarts with every equal or lower value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpiringMin {
    /// The value; None before the first.
    pub value: Option<u64>,
    /// Tick of `value`, or of when it was renewed.
    pub at: u64,
    window: u64,
}

impl ExpiringMin {
    /// An optional first value, measured at `at`; it expires after more than `window`.
    pub fn new(window: u64, at: u64, value: Option<u64>) -> ExpiringMin {
        ExpiringMin { value, at, window }
    }

    /// Whether the value has expired at `at`.
    #[inline]
    pub fn is_expired(&self, at: u64) -> bool {
        at > self.at + self.window
    }

    /// Adds `value`. A higher value is accepted only if `replaces_expired` and the old one has expired.
    #[inline]
    pub fn update(&mut self, at: u64, value: u64, replaces_expired: bool) {
        let lower = self.value.is_none_or(|least| value < least);
        if lower || (replaces_expired && self.is_expired(at)) {
            self.value = Some(value);
            self.at = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_core::random::Stream;

    /// Greatest of the values not older than `window`.
    fn exact(history: &[(u64, u64)], window: u64) -> u64 {
        let now = history.last().unwrap().0;
        let recent = history.iter().filter(|(at, _)| now - at <= window);
        recent.map(|(_, value)| *value).max().unwrap()
    }

    #[test]
    fn a_greater_value_wins_at_once_and_lasts_as_long_as_the_window() {
        let mut filter = WindowedMax::new(10, 0, 0);
        assert_eq!(filter.update(1, 100), 100);
        for round in 2..=11 {
            assert_eq!(filter.update(round, 60), 100, "round {round}");
        }
        assert_eq!(filter.update(12, 60), 60);
    }

    #[test]
    fn after_silence_longer_than_the_window_only_the_new_value_counts() {
        let mut filter = WindowedMax::new(10, 0, 500);
        assert_eq!(filter.update(11, 3), 3);
    }

    #[test]
    fn is_never_above_the_exact_maximum_nor_below_that_of_half_the_window() {
        let mut stream = Stream::new(1, 0, "filter");
        for window in [4, 10, 37] {
            let mut history = vec![(0, 0)];
            let mut filter = WindowedMax::new(window, 0, 0);
            let mut at = 0;
            for _ in 0..5000 {
                at += stream.below(3);
                history.push((at, stream.below(1000)));
                let got = filter.update(at, history.last().unwrap().1);
                assert!(got <= exact(&history, window), "at {at}");
                assert!(got >= exact(&history, window / 2), "at {at}");
            }
        }
    }

    #[test]
    fn the_least_value_expires_only_for_a_sample_that_may_replace_it() {
        let mut least = ExpiringMin::new(10_000, 0, None);
        least.update(5, 20, false);
        least.update(6, 20, true); // not lower: the age stays
        assert_eq!((least.value, least.at), (Some(20), 5));
        assert!(!least.is_expired(10_005) && least.is_expired(10_006));
        least.update(10_006, 30, false); // a delayed acknowledgement
        assert_eq!(least.value, Some(20));
        least.update(10_006, 30, true);
        assert_eq!((least.value, least.at), (Some(30), 10_006));
    }
}
