//! What hosts send: when, and how many bytes.
//!
//! Adding a source: a file here with its draw of gaps and sizes, a variant of `spec::Source`
//! and a line in `Generator`.

pub mod bursts;
pub mod connection;
pub mod conversation;
pub mod crowd;
pub mod datagram;
pub mod ditg;
pub mod law;
pub mod ping;
pub mod renewal;
pub mod replay;
pub mod segment_store;
pub mod tcp_flow;

use crate::sim::random::Stream;
use crate::sim::time::Time;
use crate::spec::{SizeAt, Source};
use bursts::Bursts;
use ditg::Ditg;
use renewal::Renewal;
use replay::Replay;

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
