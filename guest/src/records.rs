//! What a run on the kernel noted, before it becomes tables.

use crate::capture::QueuedPacket;
use crate::messages::Datagram;
use crate::netlink::QdiscCounters;
use crate::probes::Echo;
use crate::tcp_flow::TcpRecord;
use dumbbell_core::time::Time;

/// What one flow did.
#[derive(Debug, Default)]
pub struct FlowRecord {
    /// In the order sent.
    pub datagrams: Vec<Datagram>,
    /// Sent in the measured window, by the instants planned.
    pub sent_datagrams: u64,
    /// Their sizes.
    pub sent_bytes: u64,
}

/// Counters of a queue's discipline and of what delays after it.
pub type QueueCounters = (QdiscCounters, QdiscCounters);

/// Everything that was seen.
#[derive(Debug, Default)]
pub struct Records {
    /// Of the description's programs.
    pub programs: Option<crate::programs::ProgramResults>,
    /// By flow; empty of those over TCP.
    pub flows: Vec<FlowRecord>,
    /// By flow; None of those over UDP.
    pub tcp: Vec<Option<TcpRecord>>,
    /// By probe.
    pub probes: Vec<Vec<Echo>>,
    /// Counters at the end of the warm-up, by queue.
    pub at_warm_up: Vec<QueueCounters>,
    /// Counters at the end.
    pub at_end: Vec<QueueCounters>,
    /// Counters at the sampling instants.
    pub samples: Vec<(Time, Vec<QueueCounters>)>,
    /// Queues at which every packet was seen, and the packets.
    pub passages: Vec<(usize, Vec<QueuedPacket>)>,
    /// Messages sent and received.
    pub events: u64,
    /// The longest that something was done after it was due.
    pub latest: Time,
}
