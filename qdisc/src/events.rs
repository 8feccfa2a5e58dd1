//! What disciplines do to packets besides passing them on.

use dumbbell_core::packet::Packet;

pub use dumbbell_core::drop::{DropCause, DropReason};

/// What happened to packets during a call of `enqueue` or `dequeue`, besides its answer. The
/// buffers are the link's and used again.
#[derive(Debug, Clone, Default)]
pub struct Events {
    /// Packets it held and threw away.
    pub dropped: Vec<(Packet, DropReason)>,
    /// Packets it marked (as they are after the mark) and still holds or hands on.
    pub marked: Vec<(Packet, DropReason)>,
    /// Copies it made and tried to take in; those it could not are in `dropped` too.
    pub duplicated: Vec<Packet>,
    /// Copies that the link is to offer to the root.
    pub for_root: Vec<Packet>,
    /// Whether what is being taken in is such a copy, of which no further one is made.
    pub is_copy: bool,
    /// Packets that a delay has taken in: their sender's host does not count them as queued.
    pub delayed: Vec<Packet>,
    /// Whether those are to be noted.
    pub notes_delayed: bool,
    /// Since the start of the run; `clear` does not forget it.
    pub timer_updates: TimerUpdates,
}

/// How much a discipline does by timers of its own. They have no events: what they would have done
/// is done when a packet comes or leaves, one after the other where it cannot be done at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimerUpdates {
    one_by_one: u64,
    are_too_many: bool,
}

impl TimerUpdates {
    /// `updates` were done one after the other.
    pub fn add(&mut self, updates: u64) {
        self.one_by_one += updates;
    }

    /// There are more to do than anybody waits for: the discipline does none from now on, and whoever
    /// watches the run ends it.
    pub fn give_up(&mut self) {
        self.are_too_many = true;
    }

    /// Whether it has given up.
    pub fn are_too_many(self) -> bool {
        self.are_too_many
    }

    /// How many were done one after the other.
    pub fn one_by_one(self) -> u64 {
        self.one_by_one
    }
}

impl Events {
    /// Notes that a packet was thrown away.
    pub fn drop(&mut self, packet: Packet, reason: DropReason) {
        self.dropped.push((packet, reason));
    }

    /// Marks a packet that can be marked, and notes it. Returns whether it can.
    #[must_use]
    pub fn mark(&mut self, packet: &mut Packet, reason: DropReason) -> bool {
        let can_be = packet.mark_congestion();
        if can_be {
            self.marked.push((*packet, reason));
        }
        can_be
    }

    /// Whether nothing happened.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.dropped.is_empty()
            && self.marked.is_empty()
            && self.duplicated.is_empty()
            && self.delayed.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.dropped.clear();
        self.marked.clear();
        self.duplicated.clear();
        self.delayed.clear();
    }
}
