//! Delays of a flow: exact moments and a histogram.

use super::histogram::Histogram;
use super::moments::Moments;
use super::time::Time;

/// Delays of packets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delays {
    moments: Moments,
    histogram: Histogram,
}

impl Delays {
    /// Adds the delay of a packet.
    #[inline(always)]
    pub fn push(&mut self, delay: Time) {
        self.moments.push(delay);
        self.histogram.record(delay.0);
    }

    /// Prefetches the histogram bin of this delay.
    #[inline]
    pub fn prefetch(&self, delay: Time) {
        self.histogram.prefetch(delay.0);
    }

    /// Count, mean, standard deviation and range.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Number of packets by delay, in picoseconds.
    pub fn histogram(&self) -> &Histogram {
        &self.histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_delay_is_in_both() {
        let mut delays = Delays::default();
        for ps in [3, 7, 7, 200] {
            delays.push(Time(ps));
        }
        assert_eq!((delays.moments.count(), delays.moments.sum()), (4, 217));
        let bins: Vec<_> = delays.histogram.bins().collect();
        assert_eq!(bins, vec![(3, 4, 1), (7, 8, 2), (200, 201, 1)]);
    }
}
