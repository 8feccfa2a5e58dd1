//! What a link allows before a queue, and a queue behind a link (`net/chains.rs`, `sim/world/deferred_enqueue.rs`).

use super::{Forwarding, Link};
use crate::sim::time::Time;

impl Link {
    /// Whether packets pass it in the instant in which they come.
    pub fn passes_at_once(&self) -> bool {
        self.forwarding() == Forwarding::PassThrough && self.is_plain
    }

    /// Whether packets that it sends by an event may be put into this pipe at once.
    pub fn hands_to(&self, next: &Link) -> bool {
        let is_sent_at_once = self.forwarding() == Forwarding::Queued && self.is_plain;
        is_sent_at_once && !self.has_offloads && next.forwarding() == Forwarding::Pipe
    }

    /// Whether packets that come while it cannot send may be taken in later, before it sends: nobody
    /// looks at what it holds.
    pub fn can_be_awaited(&self) -> bool {
        self.forwarding() == Forwarding::Queued && self.is_foldable && self.is_eventful
    }

    /// Packets that arrive before this change nothing of when it sends next: it is in the middle of a
    /// transmission, or waits for the tokens of the packet that is next.
    #[inline(always)]
    pub fn cannot_send_before(&self) -> Time {
        match self.queued.pending() {
            Time::NEVER => Time::ZERO,
            pending if self.queued.keeps_what_is_next() => pending,
            _ => Time::ZERO,
        }
    }
}
