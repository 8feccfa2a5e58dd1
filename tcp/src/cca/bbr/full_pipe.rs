//! BBR's test for a full pipe: three round trips without a quarter more bandwidth
//! (draft-cardwell-iccrg-bbr-congestion-control-00 section 4.3.2.2).

/// More bandwidth than this, in quarters of the last, is growth.
const GROWTH_QUARTERS: u64 = 5;
/// Round trips without growth until the pipe counts as full.
const ROUNDS_WITHOUT_GROWTH: u32 = 3;

/// State of the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FullPipe {
    bandwidth: u64,
    rounds_without_growth: u32,
    is_full: bool,
}

impl FullPipe {
    /// Whether the pipe has been found full. It stays so.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// The end of a round trip that the application did not limit, with the greatest bandwidth
    /// of late.
    pub fn on_round(&mut self, bandwidth: u64) {
        if self.is_full {
            return;
        }
        // Rounded down, as Linux does.
        if bandwidth >= self.bandwidth * GROWTH_QUARTERS / 4 {
            self.bandwidth = bandwidth;
            self.rounds_without_growth = 0;
            return;
        }
        self.rounds_without_growth += 1;
        self.is_full = self.rounds_without_growth >= ROUNDS_WITHOUT_GROWTH;
    }

    /// A timeout: the bandwidth may have been measured on another path.
    pub fn forget_bandwidth(&mut self) {
        self.bandwidth = 0;
    }

    /// A slowing down that was for nothing: the test starts again.
    pub fn restart(&mut self) {
        self.bandwidth = 0;
        self.rounds_without_growth = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds_until_full(bandwidths: &[u64]) -> Option<usize> {
        let mut pipe = FullPipe::default();
        bandwidths.iter().position(|bandwidth| {
            pipe.on_round(*bandwidth);
            pipe.is_full()
        })
    }

    #[test]
    fn three_rounds_without_a_quarter_more_fill_the_pipe() {
        assert_eq!(rounds_until_full(&[100, 200, 400, 400, 400, 400]), Some(5));
        assert_eq!(rounds_until_full(&[100, 124, 124, 124]), Some(3));
        // A quarter more is growth, from the last growth on.
        assert_eq!(rounds_until_full(&[100, 110, 125, 130, 140, 150]), Some(5));
        assert_eq!(rounds_until_full(&[100, 125, 156, 195, 243, 303]), None);
    }

    #[test]
    fn growth_after_a_timeout_is_measured_anew() {
        let mut pipe = FullPipe::default();
        for bandwidth in [100, 100, 100] {
            pipe.on_round(bandwidth);
        }
        pipe.forget_bandwidth();
        pipe.on_round(10);
        assert!(!pipe.is_full());
        assert_eq!(pipe.rounds_without_growth, 0);
    }
}
