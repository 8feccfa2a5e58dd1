//! Raw measurements of a run on the kernel, from which tables are made.

use crate::messages::Datagram;
use crate::netlink::QdiscCounters;
use crate::pairing::QueuedPacket;
use crate::probes::Echo;
use crate::tcp_flow::TcpRecord;
use dumbbell_core::own_samples::OwnSamples;
use dumbbell_core::time::Time;

/// Measurements of a UDP flow.
#[derive(Debug, Default)]
pub struct FlowRecord {
    /// In the order sent.
    pub datagrams: Vec<Datagram>,
    /// Datagrams sent in the measured window, by planned times.
    pub sent_datagrams: u64,
    /// Total size of those.
    pub sent_bytes: u64,
}

/// Counters of a queue's discipline and of the discipline that delays after it.
pub type QueueCounters = (QdiscCounters, QdiscCounters);

/// Everything that was seen.
#[derive(Debug, Default)]
pub struct Records {
    /// Results of the description's programs.
    pub programs: Option<crate::programs::ProgramResults>,
    /// By flow; empty for TCP.
    pub flows: Vec<FlowRecord>,
    /// By flow; None for UDP.
    pub tcp: Vec<Option<TcpRecord>>,
    /// By probe.
    pub probes: Vec<Vec<Echo>>,
    /// Counters at the end of the warm-up, by queue.
    pub at_warm_up: Vec<QueueCounters>,
    /// Counters at the end.
    pub at_end: Vec<QueueCounters>,
    /// Counters at the sampling instants.
    pub samples: Vec<(Time, Vec<QueueCounters>)>,
    /// What disciplines count by themselves, at the sampling instants.
    pub own: OwnSamples,
    /// Packets at watched queues, by queue.
    pub passages: Vec<(usize, Vec<QueuedPacket>)>,
    /// Why the traffic module could not be loaded, where process 1 took its place.
    pub module_refused: Option<String>,
    /// Number of messages sent and received.
    pub events: u64,
    /// The largest delay of an action after its planned time.
    pub latest: Time,
}
