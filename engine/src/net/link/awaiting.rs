//! A queue whose upstream link has known departure times (`sim/world/deferred_enqueue.rs`).

use super::Link;
use crate::sim::time::Time;

impl Link {
    /// The next transmission does not depend on packets that arrive before this time: the link is
    /// transmitting, or waits for the tokens of the next packet.
    #[inline(always)]
    pub fn cannot_send_before(&self) -> Time {
        match self.queued.pending() {
            Time::NEVER => Time::ZERO,
            pending if self.queued.next_send_ignores_arrivals() => pending,
            _ => Time::ZERO,
        }
    }
}
