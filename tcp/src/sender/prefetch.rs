//! Prefetching the state of a sender (`dumbbell_core::prefetch`). Boxed state is found through pointers, so it
//! takes several steps, some time apart.

use super::Sender;
use crate::cca::Cca;
use dumbbell_core::prefetch::prefetch;

impl Sender {
    /// Has fetched what any event of its connection reads of it.
    #[inline]
    pub fn prefetch_pending(&self) {
        prefetch(&self.small_queue);
        prefetch(&self.timers);
        prefetch(&self.phase);
    }

    /// Has fetched what lies beside it that an acknowledgement and a transmission read.
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

    /// Has fetched what is written and not sent, and what leaves next.
    #[inline]
    pub fn prefetch_unsent(&self) {
        self.small_queue.prefetch_next();
        self.pushes.prefetch_first();
        if let Some(bursts) = &self.bursts {
            bursts.prefetch_first();
        }
    }
}
