//! Estimates how much a source sends, for the estimate of a run's cost.

use crate::law::Law;

/// Packets of a connection besides its data: SYN, FIN, and their acknowledgements.
pub const PACKETS_A_CONNECTION: f64 = 5.0;
/// A segment without payload, bytes.
pub const ACKNOWLEDGEMENT_BYTES: f64 = 52.0;
/// Less than the time of any link.
pub(super) const SHORTEST_S: f64 = 1e-9;
/// Largest UDP payload.
pub(super) const LARGEST_PAYLOAD_BYTES: f64 = 65_507.0;
/// Doublings after which a window exceeds any limit.
const MOST_DOUBLINGS: f64 = 40.0;

/// What a source sends by its own schedule: datagrams, or writes to TCP.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scheduled {
    /// Number of datagrams or writes.
    pub count: f64,
    /// Mean size.
    pub size_bytes: f64,
}

impl Scheduled {
    /// Sizes of one law with gaps of another.
    pub(super) fn of_laws(gap: &Law, size: &Law, active_s: f64) -> Scheduled {
        Scheduled {
            count: times(gap, active_s),
            size_bytes: size.mean_below(LARGEST_PAYLOAD_BYTES),
        }
    }
}

/// What one connection of a flow can send, and the share of all of them.
#[derive(Debug, Clone, Copy)]
pub struct Capacity {
    /// Payload of a full segment.
    pub mss_bytes: f64,
    /// Round-trip time without queues.
    pub rtt_s: f64,
    /// Payload rate of a connection.
    pub rate_bps: f64,
    /// Initial window.
    pub initial_window_bytes: f64,
    /// Largest window.
    pub window_bytes: f64,
    /// Payload of the whole flow that the links on its path let through.
    pub share_bytes: f64,
}

impl Capacity {
    /// Payload that a connection can send in a time, if its window doubles every round-trip time.
    pub fn bytes_in(&self, time_s: f64) -> f64 {
        let doublings = (time_s / self.rtt_s + 1.0).min(MOST_DOUBLINGS);
        let grown = self.initial_window_bytes * libm::exp2(doublings);
        grown.min(self.rate_bps * time_s / 8.0 + self.window_bytes)
    }

    /// As `bytes_in`, limited to what the links let through.
    pub fn most_bytes(&self, time_s: f64) -> f64 {
        self.bytes_in(time_s).min(self.share_bytes)
    }

    /// Duration of a transfer of `bytes` bytes.
    pub(super) fn transfer_s(&self, bytes: f64) -> f64 {
        2.0 * self.rtt_s + 8.0 * bytes / self.rate_bps
    }
}

/// What a source sends over TCP.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Load {
    /// Number of writes or connection starts.
    pub writes: f64,
    /// Number of transfers, or of endless streams.
    pub transfers: f64,
    /// Number of parallel connections.
    pub connections: f64,
    /// Payload.
    pub bytes: f64,
    /// Number of segments that are not full.
    pub small: f64,
}

impl Load {
    /// All bytes over one connection.
    pub(super) fn single(bytes: f64) -> Load {
        Load {
            transfers: 1.0,
            connections: 1.0,
            bytes,
            small: 1.0,
            ..Load::default()
        }
    }

    /// Writes to one connection.
    pub(super) fn of_writes(writes: Scheduled, active_s: f64, capacity: &Capacity) -> Load {
        let bytes = writes.count * writes.size_bytes;
        Load {
            writes: writes.count,
            small: writes
                .count
                .min(capacity.share_bytes / ACKNOWLEDGEMENT_BYTES),
            ..Load::single(bytes.min(capacity.most_bytes(active_s)))
        }
    }
}

/// Expected number of events within `active_s` with gaps of this law, up to a factor of two for any law (K.
/// B. Erickson, "The strong law of large numbers when the mean is undefined", 1973).
pub(super) fn times(gap: &Law, active_s: f64) -> f64 {
    if active_s <= 0.0 {
        return 0.0;
    }
    // The resolution of the clock: shorter gaps are 0.
    active_s / gap.mean_below(active_s).max(1e-12) + 1.0
}
