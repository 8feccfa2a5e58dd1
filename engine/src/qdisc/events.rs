//! What disciplines do to packets besides passing them on.

use crate::sim::packet::Packet;

/// Why a packet was dropped or marked; the `reason` column of the table `packets`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i8)]
pub enum DropReason {
    /// A limit in packets or bytes was reached.
    Overlimit = 1,
    /// The link lost it after the queue.
    LinkLoss = 2,
    /// CoDel's control law, when the packet was to leave (RFC 8289).
    Codel = 3,
    /// PIE's probability, when it arrived (RFC 8033).
    Pie = 4,
    /// RED's probability, between the thresholds.
    RedEarly = 5,
    /// RED, above the upper threshold.
    RedForced = 6,
    /// netem's loss model.
    NetemLoss = 7,
    /// A policer's bucket was empty.
    Policed = 8,
    /// fq_codel was over its limit, and this was the head of the flow with the longest backlog.
    FattestFlow = 9,
    /// It was longer than a bucket can ever hold.
    TooLarge = 10,
    /// fq_codel was over its limit of memory.
    MemoryLimit = 11,
}

/// Which counters of a queue a dropped packet goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropCause {
    /// There was no room.
    Limit,
    /// A queue management decided it early.
    QueueManagement,
    /// A policer did.
    Policer,
    /// It was to be lost.
    Loss,
}

impl DropReason {
    /// Which counters it belongs to.
    pub fn cause(self) -> DropCause {
        match self {
            DropReason::Overlimit
            | DropReason::FattestFlow
            | DropReason::TooLarge
            | DropReason::MemoryLimit => DropCause::Limit,
            DropReason::Codel | DropReason::Pie | DropReason::RedEarly | DropReason::RedForced => {
                DropCause::QueueManagement
            }
            DropReason::Policed => DropCause::Policer,
            DropReason::LinkLoss | DropReason::NetemLoss => DropCause::Loss,
        }
    }
}

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
