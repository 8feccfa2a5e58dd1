//! What hosts send: when, and how many bytes.

pub mod bursts;
pub mod ditg;
pub mod renewal;
pub mod replay;

use crate::SizeAt;
use crate::law::Law;
use bursts::Bursts;
use ditg::Ditg;
use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;
use renewal::Renewal;
use replay::Replay;
use serde::{Deserialize, Serialize};

/// What a flow sends. Gaps are in seconds, sizes in bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Source {
    /// Exponential gaps.
    Poisson {
        /// Between packets.
        gap: Law,
        /// Of packets.
        size: Law,
        /// Where the size is taken.
        size_at: SizeAt,
    },
    /// Gaps from any law.
    Renewal {
        /// Between packets.
        gap: Law,
        /// Of packets.
        size: Law,
        /// Where the size is taken.
        size_at: SizeAt,
    },
    /// Constant gaps, the first packet at the start.
    Cbr {
        /// Between packets.
        gap: Law,
        /// Of packets.
        size: Law,
        /// Where the size is taken.
        size_at: SizeAt,
    },
    /// What ITGSend sends.
    Ditg {
        /// Between packets, as asked for.
        gap: Law,
        /// Payload, before clipping.
        size: Law,
        /// What its sleeps overshoot, added to each gap; null for none.
        oversleep: Option<Law>,
    },
    /// A recorded trace.
    Replay {
        /// Instants from the flow's start, not decreasing.
        times_ns: Vec<u64>,
        /// As many sizes.
        sizes_bytes: Vec<u32>,
        /// Where the size is taken.
        size_at: SizeAt,
    },
    /// Several packets at one instant, again and again; the first burst at the start.
    Bursts {
        /// Packets in a burst.
        packets: u32,
        /// From one burst to the next.
        gap: Law,
        /// Of packets.
        size: Law,
        /// Where the size is taken.
        size_at: SizeAt,
    },
    /// As much as TCP takes, from the start to the stop.
    Greedy,
    /// One transfer over TCP.
    Sized {
        /// Payload.
        bytes: u64,
    },
    /// Transfers over TCP one after the other, each over a connection of its own.
    #[serde(rename = "closed_loop")]
    ClosedLoop {
        /// Payload of each.
        size: Law,
        /// From the end of one to the start of the next, and before the first.
        think: Law,
        /// So many and no more; None for as many as there is time for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        transfers: Option<u32>,
    },
    /// Transfers over TCP that begin whether or not earlier ones are over, each over a
    /// connection of its own.
    Arrivals {
        /// From the flow's start to the first, and from the start of one to that of the next.
        gap: Law,
        /// Payload of each.
        size: Law,
        /// So many and no more; None for as many as there is time for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        transfers: Option<u32>,
    },
}

impl Source {
    /// How many transfers it makes at most; `u32::MAX` for as many as there is time for.
    pub fn most_transfers(&self) -> u32 {
        match self {
            Source::ClosedLoop { transfers, .. } | Source::Arrivals { transfers, .. } => {
                transfers.unwrap_or(u32::MAX)
            }
            _ => u32::MAX,
        }
    }

    /// Whether it decides itself when to send, whatever the network does: the instants and
    /// sizes are those of a `traffic::Generator`.
    pub fn is_open_loop(&self) -> bool {
        !matches!(
            self,
            Source::Greedy
                | Source::Sized { .. }
                | Source::ClosedLoop { .. }
                | Source::Arrivals { .. }
        )
    }
}

/// The largest transfer, bytes: a draw beyond counts as this. It is the largest that a source of
/// one transfer may ask for, and far from where sums overflow 63 bits.
pub const LARGEST_TRANSFER_BYTES: u64 = 1_000_000_000_000_000;

/// The bytes of a transfer whose size was drawn: a whole number, at least 1.
pub fn transfer_bytes(drawn: f64) -> u64 {
    (drawn + 0.5).clamp(1.0, LARGEST_TRANSFER_BYTES as f64) as u64
}

/// Draws instants and sizes for one flow. It knows nothing of the network, so the same
/// generator feeds the simulator and the traffic program of the kernel backend.
#[derive(Debug, Clone)]
pub enum Generator {
    /// Independent gaps and sizes.
    Renewal(Renewal),
    /// ITGSend.
    Ditg(Ditg),
    /// A recorded trace.
    Replay(Replay),
    /// Several packets at one instant.
    Bursts(Bursts),
}

/// The two random streams of a flow, named after it: an unrelated flow cannot move its draws,
/// and changing the law of sizes leaves the arrival times as they were.
#[derive(Debug, Clone)]
pub struct FlowStreams {
    /// Of gaps.
    pub gap: Stream,
    /// Of sizes.
    pub size: Stream,
}

impl FlowStreams {
    /// Streams `flow/NAME/gap` and `flow/NAME/size`.
    pub fn new(seed: u64, replication: u64, name: &str) -> FlowStreams {
        let stream = |what: &str| Stream::new(seed, replication, &format!("flow/{name}/{what}"));
        FlowStreams {
            gap: stream("gap"),
            size: stream("size"),
        }
    }
}

impl Generator {
    /// A generator at its beginning.
    ///
    /// # Panics
    /// For a source that does not decide itself when to send (`Source::is_open_loop`).
    pub fn new(source: &Source, streams: FlowStreams) -> Generator {
        match source {
            Source::Poisson { gap, size, size_at } | Source::Renewal { gap, size, size_at } => {
                Generator::Renewal(Renewal::new(gap, size, *size_at, false, streams))
            }
            Source::Cbr { gap, size, size_at } => {
                Generator::Renewal(Renewal::new(gap, size, *size_at, true, streams))
            }
            Source::Ditg {
                gap,
                size,
                oversleep,
            } => Generator::Ditg(Ditg::new(gap, size, oversleep.as_ref(), streams)),
            Source::Replay {
                times_ns,
                sizes_bytes,
                size_at,
            } => Generator::Replay(Replay::new(times_ns.clone(), sizes_bytes.clone(), *size_at)),
            Source::Bursts {
                packets,
                gap,
                size,
                size_at,
            } => Generator::Bursts(Bursts::new(*packets, gap, size, *size_at, streams)),
            Source::Greedy
            | Source::Sized { .. }
            | Source::ClosedLoop { .. }
            | Source::Arrivals { .. } => {
                unreachable!("TCP decides when this source sends")
            }
        }
    }

    /// From the flow's start to its first packet, or from one packet to the next; None when
    /// there are no more.
    #[inline(always)]
    pub fn next_gap(&mut self) -> Option<Time> {
        match self {
            Generator::Renewal(source) => Some(source.next_gap()),
            Generator::Ditg(source) => Some(source.next_gap()),
            Generator::Replay(source) => source.next_gap(),
            Generator::Bursts(source) => Some(source.next_gap()),
        }
    }

    /// The size of the packet that is due, bytes.
    #[inline(always)]
    pub fn next_size(&mut self) -> u32 {
        match self {
            Generator::Renewal(source) => source.next_size(),
            Generator::Ditg(source) => source.next_size(),
            Generator::Replay(source) => source.next_size(),
            Generator::Bursts(source) => source.next_size(),
        }
    }

    /// What its sizes mean.
    #[inline]
    pub fn size_at(&self) -> SizeAt {
        match self {
            Generator::Renewal(source) => source.size_at(),
            Generator::Ditg(_) => SizeAt::Payload,
            Generator::Replay(source) => source.size_at(),
            Generator::Bursts(source) => source.size_at(),
        }
    }
}
