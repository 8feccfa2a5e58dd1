//! Inputs of a controller: acknowledgements, rate samples, round-trip times, and other events.

use dumbbell_core::time::Time;

/// The sender's loss recovery state (`tcp_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    /// Open: nothing suspicious.
    Open,
    /// Duplicate acknowledgements or SACK blocks have arrived; nothing is considered lost.
    Disorder,
    /// The window is being reduced after an ECN echo.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// Delivery rate over the flight of one packet (`struct rate_sample`,
/// draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSample {
    /// Packets delivered during `interval`; -1 if there is no valid sample.
    pub delivered_pkts: i64,
    /// Total delivered when the packet was sent.
    pub prior_delivered_pkts: u64,
    /// Time of the last delivery before the packet was sent.
    pub prior_time: Time,
    /// The longer of the send and acknowledgement intervals.
    pub interval: Time,
    /// Whether the flow was application-limited while the packet was in flight.
    pub is_app_limited: bool,
    /// Round-trip time of the newest packet delivered; None for a retransmission.
    pub rtt: Option<Time>,
    /// Packets newly considered lost with this acknowledgement.
    pub losses_pkts: u32,
    /// Packets in flight before this acknowledgement.
    pub prior_in_flight_pkts: u32,
    /// Packets newly acknowledged or SACKed.
    pub acked_sacked_pkts: u32,
    /// When the newest packet delivered was sent; None if nothing was.
    pub newest_sent: Option<Time>,
    /// Whether the receiver probably delayed the acknowledgement: it acknowledges a single segment that is
    /// not full, or a single one.
    pub is_ack_delayed: bool,
}

impl RateSample {
    /// No valid sample, for an acknowledgement that delivered `acked_sacked_pkts` packets.
    pub fn none(acked_sacked_pkts: u32) -> RateSample {
        RateSample {
            delivered_pkts: -1,
            prior_delivered_pkts: 0,
            prior_time: Time::ZERO,
            interval: Time::ZERO,
            is_app_limited: false,
            rtt: None,
            losses_pkts: 0,
            prior_in_flight_pkts: 0,
            acked_sacked_pkts,
            newest_sent: None,
            is_ack_delayed: false,
        }
    }
}

/// A round-trip time measured by an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RttSample {
    /// Arrival of the acknowledgement.
    pub now: Time,
    /// The round-trip time.
    pub rtt: Time,
    /// First unacknowledged packet, counted from the start of the connection.
    pub una_pkts: u64,
    /// Next packet to be sent.
    pub next_pkts: u64,
    /// Whether the acknowledgement echoes a congestion mark (RFC 3168 section 6.1.2).
    pub is_echo: bool,
}

/// Arrival of an acknowledgement (Linux's `in_ack_event`), after the scoreboard is updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckArrival {
    /// Time of arrival.
    pub now: Time,
    /// First unacknowledged byte.
    pub una_bytes: u64,
    /// Whether its window and options equal those of the last one (header prediction).
    pub is_predicted: bool,
}

/// Packets acknowledged (Linux's `pkts_acked`), after the scoreboard is updated and before losses are
/// detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PktsAcked {
    /// Time of arrival.
    pub now: Time,
    /// Packets acknowledged cumulatively, including those SACKed before.
    pub pkts: u32,
    /// Round-trip time that it measured.
    pub rtt: Option<Time>,
    /// Recovery state before it.
    pub state: CaState,
}

/// An acknowledgement as seen by a controller, after the scoreboard is updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// Time of arrival.
    pub now: Time,
    /// Packets newly acknowledged cumulatively.
    pub acked_pkts: u32,
    /// Packets acknowledged cumulatively, including those SACKed before (`sample->pkts_acked`).
    pub cleaned_pkts: u32,
    /// Packets newly acknowledged or SACKed.
    pub newly_delivered_pkts: u32,
    /// Of those packets so many were marked, as far as its receiver says.
    pub marked_pkts: u32,
    /// Round-trip time that it measured (`sample->rtt_us`), if any.
    pub rtt: Option<Time>,
    /// Smoothed round-trip time.
    pub srtt: Option<Time>,
    /// Minimum round-trip time of the last five minutes (`tcp_min_rtt`).
    pub min_rtt: Option<Time>,
    /// Packets in flight afterwards.
    pub in_flight_pkts: u32,
    /// Whether the sender was limited by cwnd, not by the application.
    pub is_cwnd_limited: bool,
    /// The same without the allowance of slow start: cwnd was used up in this round trip.
    pub is_window_full: bool,
    /// Recovery state after this acknowledgement.
    pub state: CaState,
    /// First unacknowledged packet, counted from the start of the connection.
    pub una_pkts: u64,
    /// Next packet to be sent.
    pub next_pkts: u64,
    /// Total packets delivered.
    pub delivered_pkts: u64,
    /// Time of the last delivery.
    pub delivered_time: Time,
    /// Total packets considered lost.
    pub lost_pkts: u64,
    /// Earliest time at which pacing allows the next packet.
    pub earliest_departure: Time,
    /// Delivery rate sample.
    pub rate: RateSample,
}

/// A data packet was sent, for the first time or again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentPacket {
    /// When it was sent.
    pub at: Time,
    /// Packets in flight afterwards.
    pub in_flight_pkts: u32,
    /// Total packets considered lost.
    pub lost_pkts: u64,
    /// When the packet in flight with the earliest time was sent.
    pub oldest_in_flight: Time,
}

/// A packet was found lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostPacket {
    /// Time of the detection.
    pub now: Time,
    /// When it was last sent.
    pub sent: Time,
    /// Sequence number of its first byte.
    pub seq: u64,
    /// One past its last sequence number.
    pub end: u64,
    /// Whether the flow was application-limited when it was sent.
    pub is_app_limited: bool,
    /// Total packets delivered.
    pub delivered_pkts: u64,
    /// Total packets considered lost, with this one.
    pub lost_pkts: u64,
}

/// State of the sender at an event other than an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot {
    /// Time of the event.
    pub now: Time,
    /// Packets in flight: sent, neither acknowledged nor SACKed nor considered lost
    /// (`tcp_packets_in_flight`).
    pub in_flight_pkts: u32,
    /// Next packet to be sent; counted from the start of the connection.
    pub next_pkts: u64,
    /// Packets sent and not acknowledged cumulatively: FlightSize of RFC 5681.
    pub flight_size_pkts: u32,
    /// Whether the flow is application-limited (`tp->app_limited`).
    pub is_app_limited: bool,
    /// Smoothed round-trip time.
    pub srtt: Option<Time>,
    /// Minimum round-trip time of the last five minutes.
    pub min_rtt: Option<Time>,
    /// Total packets delivered.
    pub delivered_pkts: u64,
    /// Time of the last delivery.
    pub delivered_time: Time,
    /// Total packets considered lost.
    pub lost_pkts: u64,
}
