//! Prefetches the state of a sender (`dumbbell_core::prefetch`). Boxed state is found through pointers, so it
//! takes several steps, separated in time.

use super::Sender;
use crate::cca::Cca;
use dumbbell_core::prefetch::prefetch;

impl Sender {
    /// Prefetches what any event of its connection reads.
    #[inline]
    pub fn prefetch_pending(&self) {
        prefetch(&self.small_queue);
        prefetch(&self.timers);
        prefetch(&self.phase);
    }

    /// Prefetches boxed state that an acknowledgement and a transmission read.
    #[inline]
    pub fn prefetch_beside(&self) {
        self.board.prefetch_ends();
        self.small_queue.prefetch_behind();
        if let Cca::Cubic(cubic) = &self.cca {
            cubic.prefetch_beside();
        }
        self.pushes.prefetch_ends();
        if let Some(bursts) = &self.bursts {
            prefetch(&**bursts);
        }
    }

    /// Prefetches unsent data, and the next departures.
    #[inline]
    pub fn prefetch_unsent(&self) {
        self.small_queue.prefetch_next();
        self.pushes.prefetch_first();
        if let Some(bursts) = &self.bursts {
            bursts.prefetch_first();
        }
    }
}
