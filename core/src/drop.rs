//! Why packets are dropped or marked.

/// Why a packet was dropped or marked; the `reason` column of the table `packets`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i8)]
pub enum DropReason {
    /// A limit in packets or bytes was reached.
    Overlimit = 1,
    /// The link lost it after the queue.
    LinkLoss = 2,
    /// CoDel's control law, at dequeue (RFC 8289).
    Codel = 3,
    /// PIE's probability, at enqueue (RFC 8033).
    Pie = 4,
    /// RED's probability, between the thresholds.
    RedEarly = 5,
    /// RED, above the upper threshold.
    RedForced = 6,
    /// netem's loss model.
    NetemLoss = 7,
    /// A policer's bucket was empty.
    Policed = 8,
    /// A queued packet of the longest flow: fq_codel or sfq was over its limit, or sfq's flow was at its
    /// limit.
    FattestFlow = 9,
    /// Longer than the bucket's size.
    TooLarge = 10,
    /// fq_codel or cake was over its memory limit.
    MemoryLimit = 11,
    /// fq or sfq: the flow was at its limit.
    FlowLimit = 12,
    /// Marked: fq sent it later than its threshold allows, or dualpi2's L4S queue was above its step
    /// threshold.
    CeThreshold = 13,
    /// COBALT's BLUE probability, which overflows raise, at dequeue.
    Blue = 14,
    /// dualpi2's probability, at dequeue (RFC 9332).
    Pi2 = 15,
    /// dualpi2's probability, at enqueue (`drop_enqueue`).
    Pi2AtEnqueue = 16,
    /// choke: an arrival of the same flow as the drawn queued packet.
    ChokeMatch = 17,
    /// choke: the drawn queued packet, of the same flow as an arrival.
    ChokeChosen = 18,
    /// No filter matched, and drr or hfsc has no default class.
    NoClass = 19,
    /// cake's filter of acknowledgements: a newer one says the same.
    AckFilter = 20,
    /// sfb: the probability of the flow's bins.
    SfbEarly = 21,
    /// sfb: the flow's bins have probability 1, and the penalty rate had no token.
    SfbPenalty = 22,
    /// sfb: each of the flow's bins was full.
    SfbBinFull = 23,
}

/// The counter of a queue that a dropped packet adds to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropCause {
    /// The limit was reached, or there was no class.
    Limit,
    /// Active queue management dropped it early.
    QueueManagement,
    /// A policer dropped it.
    Policer,
    /// A loss model dropped it.
    Loss,
}

impl DropReason {
    /// The counter it adds to.
    pub fn cause(self) -> DropCause {
        match self {
            DropReason::Overlimit
            | DropReason::FattestFlow
            | DropReason::TooLarge
            | DropReason::MemoryLimit
            | DropReason::FlowLimit
            | DropReason::NoClass
            | DropReason::SfbBinFull => DropCause::Limit,
            DropReason::Codel
            | DropReason::Pie
            | DropReason::RedEarly
            | DropReason::RedForced
            | DropReason::CeThreshold
            | DropReason::Blue
            | DropReason::Pi2
            | DropReason::Pi2AtEnqueue
            | DropReason::ChokeMatch
            | DropReason::ChokeChosen
            | DropReason::AckFilter
            | DropReason::SfbEarly
            | DropReason::SfbPenalty => DropCause::QueueManagement,
            DropReason::Policed => DropCause::Policer,
            DropReason::LinkLoss | DropReason::NetemLoss => DropCause::Loss,
        }
    }
}
