//! Arrival and departure times of packets at a queue, where they are known in advance.

use crate::time::Time;

/// A packet that a queue has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossing {
    /// When it comes to the queue.
    pub arrived: Time,
    /// When its transmission ends, or it leaves at once.
    pub departure: Time,
    /// On the wire.
    pub bytes: u32,
    /// Whether the queue takes it and the one before it for one packet (`gso`).
    pub continues: bool,
}

impl Crossing {
    /// Departures before this came before its arrival: those of the same instant did.
    #[inline(always)]
    pub fn departures_before(&self) -> Time {
        self.arrived + Time(1)
    }
}
