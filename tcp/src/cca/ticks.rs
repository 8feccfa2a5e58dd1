//! Times in ticks of the host's timer, as used by some of Linux's controllers.

use dumbbell_core::time::{PS_PER_S, Time};

/// The clock of timer ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticks {
    pub(super) hz: u32,
}

impl Ticks {
    fn tick(self) -> u64 {
        PS_PER_S / u64::from(self.hz)
    }

    /// The last tick at an instant (`jiffies`).
    pub(super) fn at(self, now: Time) -> u64 {
        now.0 / self.tick()
    }

    /// A duration in ticks, rounded up (`usecs_to_jiffies`).
    pub(super) fn of(self, span: Time) -> u64 {
        span.0.div_ceil(self.tick())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cca::testing::ms;

    #[test]
    fn instants_are_rounded_down_and_spans_up() {
        let ticks = Ticks { hz: 250 };
        assert_eq!([ticks.at(ms(7)), ticks.at(ms(8))], [1, 2]);
        assert_eq!(
            [ticks.of(ms(7)), ticks.of(ms(8)), ticks.of(ms(9))],
            [2, 2, 3]
        );
    }
}
