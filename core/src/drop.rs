//! Why packets are dropped or marked.

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
    /// It waited when fq_codel or sfq was over its limit and its flow had most waiting, or when sfq had as
    /// many packets of its flow as it takes.
    FattestFlow = 9,
    /// It was longer than a bucket can ever hold.
    TooLarge = 10,
    /// fq_codel or cake was over its limit of memory.
    MemoryLimit = 11,
    /// fq or sfq had as many packets of its flow as it takes.
    FlowLimit = 12,
    /// fq let it go later than the threshold for marks, or dualpi2's queue of L4S was above its own.
    CeThreshold = 13,
    /// COBALT's probability, which overflows raise, when the packet was to leave.
    Blue = 14,
    /// dualpi2's probability, when the packet was to leave (RFC 9332).
    Pi2 = 15,
    /// The same, when it arrived (`drop_enqueue`).
    Pi2AtEnqueue = 16,
    /// choke found it to be of the flow of one that waited.
    ChokeMatch = 17,
    /// It waited, and choke found one that arrived to be of its flow.
    ChokeChosen = 18,
    /// No filter had a class for it, and drr or hfsc no default.
    NoClass = 19,
}

/// Which counters of a queue a dropped packet goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropCause {
    /// There was no room, or no class.
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
            | DropReason::MemoryLimit
            | DropReason::FlowLimit
            | DropReason::NoClass => DropCause::Limit,
            DropReason::Codel
            | DropReason::Pie
            | DropReason::RedEarly
            | DropReason::RedForced
            | DropReason::CeThreshold
            | DropReason::Blue
            | DropReason::Pi2
            | DropReason::Pi2AtEnqueue
            | DropReason::ChokeMatch
            | DropReason::ChokeChosen => DropCause::QueueManagement,
            DropReason::Policed => DropCause::Policer,
            DropReason::LinkLoss | DropReason::NetemLoss => DropCause::Loss,
        }
    }
}
