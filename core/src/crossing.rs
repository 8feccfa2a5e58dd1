//! Arrival and departure times of packets at a queue, known in advance.

use crate::time::Time;

/// A packet that a queue has accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossing {
    /// Arrival at the queue.
    pub arrived: Time,
    /// End of its transmission, or its arrival if it passes in an instant.
    pub departure: Time,
    /// Size on the wire.
    pub bytes: u32,
    /// Whether it continues the GSO packet of the one before it (`gso`).
    pub continues: bool,
}

impl Crossing {
    /// Bound of the departures that precede its arrival, including those at the same instant.
    #[inline(always)]
    pub fn departures_before(&self) -> Time {
        self.arrived + Time(1)
    }
}
