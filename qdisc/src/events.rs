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
