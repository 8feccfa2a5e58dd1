//! What is sampled of a connection, by the simulator and on the kernel.

use crate::time::Time;

/// What a TCP sender knows at an instant, as in Linux's `tcp_info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSample {
    /// Congestion window.
    pub cwnd_pkts: u32,
    /// Slow start threshold; None while there is none.
    pub ssthresh_pkts: Option<u32>,
    /// Sent, and neither acknowledged nor taken for lost.
    pub inflight_pkts: u32,
    /// Smoothed round-trip time; None before the first measurement.
    pub srtt: Option<Time>,
    /// Its mean deviation, RTTVAR of RFC 6298 section 2.3, as it is measured: a steady path brings it down to
    /// nothing. Linux makes its timeout of a larger one, `min_rto` at least, and does not tell that.
    pub mean_deviation: Option<Time>,
    /// Least round-trip time.
    pub min_rtt: Option<Time>,
    /// What it paces with; None when it does not.
    pub pacing_rate_bps: Option<u64>,
    /// Last estimate of the rate of delivery; None before the first.
    pub delivery_rate_bps: Option<u64>,
}
