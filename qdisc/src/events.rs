//! Side effects of disciplines on packets.

use dumbbell_core::acknowledgement::Acknowledgement;
use dumbbell_core::packet::Packet;

pub use dumbbell_core::drop::{DropCause, DropReason};

/// Side effects of a call of `enqueue` or `dequeue`. The buffers belong to the link and are reused.
#[derive(Debug, Clone, Default)]
pub struct Events {
    /// Queued packets that it dropped.
    pub dropped: Vec<(Packet, DropReason)>,
    /// Packets that it marked (with the mark) and still holds or returns.
    pub marked: Vec<(Packet, DropReason)>,
    /// Copies that it made and tried to enqueue; those that failed are in `dropped` too.
    pub duplicated: Vec<Packet>,
    /// Copies that the link must enqueue at the root.
    pub for_root: Vec<Packet>,
    /// Whether the packet being enqueued is such a copy, which is not duplicated again.
    pub is_copy: bool,
    /// The header of the packet being enqueued, if it is an acknowledgement and the discipline reads it.
    pub acknowledgement: Option<Acknowledgement>,
    /// Packets that netem started to delay: their sender's host no longer counts them as queued.
    pub delayed: Vec<Packet>,
    /// Whether delayed packets are reported.
    pub notes_delayed: bool,
    /// Timer updates since the start of the run; not reset by `clear`.
    pub timer_updates: TimerUpdates,
}

/// Number of updates by a discipline's own timers. They have no events: due updates are applied when a packet
/// arrives or leaves, one by one if there is no closed form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimerUpdates {
    one_by_one: u64,
    are_too_many: bool,
}

impl TimerUpdates {
    /// Adds `updates` that were applied one by one.
    pub fn add(&mut self, updates: u64) {
        self.one_by_one += updates;
    }

    /// Too many updates are due: the discipline stops updating, and the watch ends the run.
    pub fn give_up(&mut self) {
        self.are_too_many = true;
    }

    /// Whether it has given up.
    pub fn are_too_many(self) -> bool {
        self.are_too_many
    }

    /// Number of updates applied one by one.
    pub fn one_by_one(self) -> u64 {
        self.one_by_one
    }
}

impl Events {
    /// Records a drop.
    pub fn drop(&mut self, packet: Packet, reason: DropReason) {
        self.dropped.push((packet, reason));
    }

    /// Marks a packet if it is ECN-capable, and records it. Returns whether it is.
    #[must_use]
    pub fn mark(&mut self, packet: &mut Packet, reason: DropReason) -> bool {
        let can_be = packet.mark_congestion();
        if can_be {
            self.marked.push((*packet, reason));
        }
        can_be
    }

    /// Whether there was no side effect.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // One comparison, because it is asked twice a packet.
        let of_drops = self.dropped.len() | self.marked.len();
        (of_drops | self.duplicated.len() | self.delayed.len()) == 0
    }

    /// Resets the events.
    pub fn clear(&mut self) {
        self.dropped.clear();
        self.marked.clear();
        self.duplicated.clear();
        self.delayed.clear();
    }
}
