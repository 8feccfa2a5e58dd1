//! What a controller is told: acknowledgements, rates, round-trip times, and what else happens.

use dumbbell_core::time::Time;

/// What the sender is doing about losses (`tcp_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    /// Nothing suspicious.
    Open,
    /// Duplicate acknowledgements or SACK blocks have come, nothing is taken for lost.
    Disorder,
    /// The window is being reduced after an ECN echo.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// How fast data were delivered over the flight of one packet (`struct rate_sample`,
/// draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSample {
    /// Delivered during `interval`; -1 where there is no valid sample.
    pub delivered_pkts: i64,
    /// Delivered in total when the packet was sent.
    pub prior_delivered_pkts: u64,
    /// When the delivery that was the last before the packet was sent happened.
    pub prior_time: Time,
    /// The longer of sending and acknowledging.
    pub interval: Time,
    /// Whether the application had nothing to send while the packet was in flight.
    pub is_app_limited: bool,
    /// Round-trip time of the newest packet that was delivered; None for one sent twice.
    pub rtt: Option<Time>,
    /// Newly taken for lost on this acknowledgement.
    pub losses_pkts: u32,
    /// In flight before this acknowledgement.
    pub prior_in_flight_pkts: u32,
    /// Newly acknowledged or SACKed.
    pub acked_sacked_pkts: u32,
    /// Whether the acknowledgement is likely to have been delayed by its receiver: it is for one
    /// segment that is less than full, or a single one.
    pub is_ack_delayed: bool,
}

impl RateSample {
    /// No valid sample, on an acknowledgement that delivered `acked_sacked_pkts` packets.
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
            is_ack_delayed: false,
        }
    }
}

/// A round-trip time that an acknowledgement measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RttSample {
    /// When it came.
    pub now: Time,
    /// The round-trip time.
    pub rtt: Time,
    /// First packet that is not acknowledged; counted from the start of the connection.
    pub una_pkts: u64,
    /// Next packet to be sent.
    pub next_pkts: u64,
    /// Whether it echoes a congestion mark (RFC 3168 section 6.1.2).
    pub is_echo: bool,
}

/// An acknowledgement has come (Linux's `in_ack_event`): what it acknowledges is off the scoreboard, if there was
/// anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckArrival {
    /// When.
    pub now: Time,
    /// First byte that is not acknowledged now.
    pub una_bytes: u64,
    /// Whether its window and options are those of the one before (header prediction).
    pub is_predicted: bool,
}

/// What an acknowledgement acknowledges is off the scoreboard (Linux's `pkts_acked`), and losses are still to be
/// looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PktsAcked {
    /// When.
    pub now: Time,
    /// Acknowledged cumulatively, also what was SACKed before.
    pub pkts: u32,
    /// Round-trip time it measured.
    pub rtt: Option<Time>,
    /// What the sender has done about losses before it.
    pub state: CaState,
}

/// An acknowledgement, as a controller sees it, after the sender has entered it in its
/// scoreboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// When it came.
    pub now: Time,
    /// Newly acknowledged cumulatively.
    pub acked_pkts: u32,
    /// Acknowledged cumulatively, also what was SACKed before (`sample->pkts_acked`).
    pub cleaned_pkts: u32,
    /// Newly acknowledged or SACKed.
    pub newly_delivered_pkts: u32,
    /// Round-trip time it measured (`sample->rtt_us`); None for none.
    pub rtt: Option<Time>,
    /// Smoothed round-trip time.
    pub srtt: Option<Time>,
    /// Least round-trip time of the last five minutes (`tcp_min_rtt`).
    pub min_rtt: Option<Time>,
    /// In flight afterwards.
    pub in_flight_pkts: u32,
    /// Whether the window, and not the application, held the sender back.
    pub is_cwnd_limited: bool,
    /// What the sender does about losses, after this acknowledgement.
    pub state: CaState,
    /// First packet that is not acknowledged; counted from the start of the connection.
    pub una_pkts: u64,
    /// Next packet to be sent.
    pub next_pkts: u64,
    /// Delivered in total.
    pub delivered_pkts: u64,
    /// When a packet was last delivered.
    pub delivered_time: Time,
    /// Taken for lost in total.
    pub lost_pkts: u64,
    /// Before when pacing lets nothing be sent.
    pub earliest_departure: Time,
    /// Rate of delivery.
    pub rate: RateSample,
}

/// What a controller is told when something other than an acknowledgement happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot {
    /// When.
    pub now: Time,
    /// In flight: sent, neither acknowledged nor SACKed nor taken for lost
    /// (`tcp_packets_in_flight`).
    pub in_flight_pkts: u32,
    /// Next packet to be sent; counted from the start of the connection.
    pub next_pkts: u64,
    /// Sent and not acknowledged cumulatively: the FlightSize of RFC 5681.
    pub flight_size_pkts: u32,
    /// Whether the application has had nothing to send (`tp->app_limited`).
    pub is_app_limited: bool,
    /// Smoothed round-trip time.
    pub srtt: Option<Time>,
    /// Least round-trip time of the last five minutes.
    pub min_rtt: Option<Time>,
    /// Delivered in total.
    pub delivered_pkts: u64,
    /// When a packet was last delivered.
    pub delivered_time: Time,
    /// Taken for lost in total.
    pub lost_pkts: u64,
}
