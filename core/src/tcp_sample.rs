//! The sampled state of a connection, in the simulator and on the kernel.

use crate::time::Time;

/// State of a TCP sender at an instant, as in Linux's `tcp_info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSample {
    /// Congestion window.
    pub cwnd_pkts: u32,
    /// Slow start threshold; None if not set.
    pub ssthresh_pkts: Option<u32>,
    /// Packets in flight: neither acknowledged nor considered lost.
    pub inflight_pkts: u32,
    /// Smoothed round-trip time; None before the first measurement.
    pub srtt: Option<Time>,
    /// Mean deviation of the round-trip time as measured, RTTVAR of RFC 6298 section 2.3; on a steady path it
    /// goes to 0. Linux computes its timeout from a larger value, at least `min_rto`, which it does not
    /// report.
    pub mean_deviation: Option<Time>,
    /// Minimum round-trip time.
    pub min_rtt: Option<Time>,
    /// Pacing rate; None without pacing.
    pub pacing_rate_bps: Option<u64>,
    /// Last estimate of the delivery rate; None before the first.
    pub delivery_rate_bps: Option<u64>,
}
