//! How much a source sends, about: for the estimate of what a run will cost.

use crate::law::Law;

/// Packets of a connection beside its data: SYN, FIN, and what acknowledges them.
pub const PACKETS_A_CONNECTION: f64 = 5.0;
/// A segment without payload, bytes.
pub const ACKNOWLEDGEMENT_BYTES: f64 = 52.0;
/// A shorter time than any link takes.
pub(super) const SHORTEST_S: f64 = 1e-9;
/// Largest UDP payload.
pub(super) const LARGEST_PAYLOAD_BYTES: f64 = 65_507.0;
/// Doublings after which a window is as large as any.
const MOST_DOUBLINGS: f64 = 40.0;

/// What a source sends by a schedule of its own: datagrams, or writes to TCP.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scheduled {
    /// How many.
    pub count: f64,
    /// Mean size.
    pub size_bytes: f64,
}

impl Scheduled {
    /// Sizes of a law with gaps of another.
    pub(super) fn of_laws(gap: &Law, size: &Law, active_s: f64) -> Scheduled {
        Scheduled {
            count: times(gap, active_s),
            size_bytes: size.mean_below(LARGEST_PAYLOAD_BYTES),
        }
    }
}

/// What one connection of a flow can do, and what all of them share.
#[derive(Debug, Clone, Copy)]
pub struct Capacity {
    /// Payload of a full segment.
    pub mss_bytes: f64,
    /// Round-trip time without queues.
    pub rtt_s: f64,
    /// Payload, while a connection lasts.
    pub rate_bps: f64,
    /// Initial window.
    pub initial_window_bytes: f64,
    /// Largest window.
    pub window_bytes: f64,
    /// What the links on the way let through of the flow, all in all.
    pub share_bytes: f64,
}

impl Capacity {
    /// Payload that a connection can send in a time: its window doubles each round-trip time at
    /// most.
    pub fn bytes_in(&self, time_s: f64) -> f64 {
        let doublings = (time_s / self.rtt_s + 1.0).min(MOST_DOUBLINGS);
        let grown = self.initial_window_bytes * libm::exp2(doublings);
        grown.min(self.rate_bps * time_s / 8.0 + self.window_bytes)
    }

    /// The same, and no more than the links let through.
    pub fn most_bytes(&self, time_s: f64) -> f64 {
        self.bytes_in(time_s).min(self.share_bytes)
    }

    /// How long a transfer of `bytes` bytes takes.
    pub(super) fn transfer_s(&self, bytes: f64) -> f64 {
        2.0 * self.rtt_s + 8.0 * bytes / self.rate_bps
    }
}

/// What a source sends over TCP.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Load {
    /// Acts of the source.
    pub writes: f64,
    /// Transfers, or streams without an end.
    pub transfers: f64,
    /// Connections at once.
    pub connections: f64,
    /// Payload.
    pub bytes: f64,
    /// Segments that are sent though they are not full.
    pub small: f64,
}

impl Load {
    /// One connection for all of it.
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

/// How often something happens within `active_s` whose gaps have a law. The expected number is
/// between this and twice it, with any law (K. B. Erickson, "The strong law of large numbers when
/// the mean is undefined", 1973).
pub(super) fn times(gap: &Law, active_s: f64) -> f64 {
    if active_s <= 0.0 {
        return 0.0;
    }
    // The clock's least step: gaps that are shorter are none.
    active_s / gap.mean_below(active_s).max(1e-12) + 1.0
}
