//! The maximum bandwidth of the current bandwidth probing cycle and of the one before
//! (draft-ietf-ccwg-bbr sections 5.5.3 and 5.5.6, `BBR.MaxBwFilterLen` = 2).

/// The filter. A cycle without samples does not displace older ones: they are forgotten with the next sample.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct MaxBandwidth {
    /// Number of the current cycle (`BBR.cycle_count`).
    cycle: u64,
    /// Cycle of the last sample.
    sampled_cycle: u64,
    /// Maximum of that cycle and of the one before it, packets per second.
    cycle_max: f64,
    prior_cycle_max: f64,
}

impl MaxBandwidth {
    /// Adds a sample, packets per second.
    pub(super) fn update(&mut self, pkts_per_s: f64) {
        match self.cycle - self.sampled_cycle {
            0 => {}
            1 => {
                self.prior_cycle_max = self.cycle_max;
                self.cycle_max = 0.0;
            }
            _ => {
                self.prior_cycle_max = 0.0;
                self.cycle_max = 0.0;
            }
        }
        self.sampled_cycle = self.cycle;
        self.cycle_max = self.cycle_max.max(pkts_per_s);
    }

    /// The next cycle begins (`AdvanceMaxBwFilter`).
    pub(super) fn advance(&mut self) {
        self.cycle += 1;
    }

    /// The maximum, packets per second; 0 before the first sample.
    pub(super) fn get(&self) -> f64 {
        self.cycle_max.max(self.prior_cycle_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_is_that_of_this_cycle_and_the_one_before() {
        let mut filter = MaxBandwidth::default();
        filter.update(100.0);
        filter.update(90.0);
        filter.advance();
        filter.update(50.0);
        assert_eq!(filter.get(), 100.0);
        filter.advance();
        // Nothing has been measured in the new cycle.
        assert_eq!(filter.get(), 100.0);
        filter.update(20.0);
        assert_eq!(filter.get(), 50.0);
        filter.advance();
        filter.advance();
        filter.update(10.0);
        assert_eq!(filter.get(), 10.0);
    }
}
