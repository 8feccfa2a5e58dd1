//! A queue behind a link of known times (`sim/world/deferred_enqueue.rs`).

use super::Link;
use crate::sim::time::Time;

impl Link {
    /// Packets that arrive before this change nothing of when it sends next: it is in the middle of a
    /// transmission, or waits for the tokens of the packet that is next.
    #[inline(always)]
    pub fn cannot_send_before(&self) -> Time {
        match self.queued.pending() {
            Time::NEVER => Time::ZERO,
            pending if self.queued.next_send_ignores_arrivals() => pending,
            _ => Time::ZERO,
        }
    }
}
