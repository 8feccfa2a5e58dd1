//! What is measured of a flow over TCP.

use crate::samples::SeenEnd;
use crate::tcp_info::TcpInfo;
use dumbbell_core::tcp_sample::TcpSample;
use dumbbell_core::time::Time;

/// A transfer.
#[derive(Debug, Clone, Copy)]
pub struct TransferRecord {
    /// Payload.
    pub bytes: u64,
    /// Start of its connection.
    pub started: Time,
    /// When all of it was received; `NEVER` if it was not.
    pub completed: Time,
}

/// Sums over the connections of a flow.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    /// Segments sent by the sender.
    pub created_pkts: u64,
    /// Segments received by the receiver.
    pub delivered_pkts: u64,
    /// Segments retransmitted.
    pub retransmitted_pkts: u64,
    /// Payload sent, retransmissions included.
    pub payload_sent: u64,
    /// Payload retransmitted.
    pub payload_retransmitted: u64,
    /// Payload read by the application.
    pub received_payload_bytes: u64,
    /// Writes of sources with a schedule.
    pub writes: u64,
    /// Payload accepted by `write()`.
    pub written_payload_bytes: u64,
    /// Number of connections.
    pub connections: u64,
}

/// Totals, and the sender's state if there is one connection at a time.
pub type Seen = (Totals, Option<TcpSample>);

/// Measurements of a TCP flow.
#[derive(Debug, Default)]
pub struct TcpRecord {
    /// Totals at the end of the warm-up.
    pub at_warm_up: Totals,
    /// Totals at the end of the run.
    pub at_end: Totals,
    /// Totals and sender state at the sampling instants; None while there is no connection.
    pub samples: Vec<Seen>,
    /// Start of the first connection; None before.
    pub first_sent: Option<Time>,
    /// Time of the last reception.
    pub last_received: Option<Time>,
    /// Transfers of sized and closed-loop sources, and of arrivals.
    pub transfers: Vec<TransferRecord>,
}

impl Totals {
    /// The sum of both.
    pub fn plus(mut self, other: &Totals) -> Totals {
        self.created_pkts += other.created_pkts;
        self.delivered_pkts += other.delivered_pkts;
        self.retransmitted_pkts += other.retransmitted_pkts;
        self.payload_sent += other.payload_sent;
        self.payload_retransmitted += other.payload_retransmitted;
        self.received_payload_bytes += other.received_payload_bytes;
        self.writes += other.writes;
        self.written_payload_bytes += other.written_payload_bytes;
        self.connections += other.connections;
        self
    }

    /// Adds the counters of a connection so far; returns its sender's state.
    pub fn add(&mut self, sender: &SeenEnd, receiver: Option<&SeenEnd>) -> TcpSample {
        let info = TcpInfo::new(&sender.info);
        self.created_pkts += info.segments_out();
        self.retransmitted_pkts += info.retransmitted();
        self.payload_sent += info.payload_sent();
        self.payload_retransmitted += info.payload_retransmitted();
        self.written_payload_bytes += sender.moved.bytes;
        if let Some(receiver) = receiver {
            self.delivered_pkts += TcpInfo::new(&receiver.info).segments_in();
            self.received_payload_bytes += receiver.moved.bytes;
        }
        info.sample()
    }
}
