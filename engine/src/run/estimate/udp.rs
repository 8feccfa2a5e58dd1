//! How many packets senders of datagrams make.

use super::ways::Ways;
use super::{Packets, active_s, times};
use crate::sim::datagram::{IP_HEADER_BYTES, UDP_HEADER_BYTES};
use crate::spec::law::Law;
use crate::spec::{Flow, SizeAt, Source};

/// Largest UDP payload.
const LARGEST_PAYLOAD_BYTES: f64 = 65_507.0;
/// Payload that ITGSend clips at.
const DITG_PAYLOAD_BYTES: f64 = 64_000.0;

/// The packets of a flow of datagrams, on a way.
pub(super) fn packets_of(flow: &Flow, ways: &Ways, way: &[u32], duration_s: f64) -> Packets {
    let active = active_s(flow, duration_s);
    let (datagrams, size, size_at) = match &flow.source {
        Source::Poisson { gap, size, size_at }
        | Source::Renewal { gap, size, size_at }
        | Source::Cbr { gap, size, size_at } => {
            let size = size.mean_below(LARGEST_PAYLOAD_BYTES);
            (times(gap, active), size, *size_at)
        }
        Source::Ditg { gap, size, .. } => {
            let size = size.mean_below(DITG_PAYLOAD_BYTES).max(20.0);
            (times(gap, active), size, SizeAt::Payload)
        }
        Source::Replay {
            times_ns,
            sizes_bytes,
            size_at,
        } => {
            let count = times_ns.len() as f64;
            let bytes: u64 = sizes_bytes.iter().map(|bytes| u64::from(*bytes)).sum();
            (count, bytes as f64 / count.max(1.0), *size_at)
        }
        Source::Bursts {
            packets,
            gap,
            size,
            size_at,
        } => {
            let size = size.mean_below(LARGEST_PAYLOAD_BYTES);
            let bursts = times(gap, active);
            (bursts * f64::from(*packets), size, *size_at)
        }
        Source::Greedy
        | Source::Sized { .. }
        | Source::ClosedLoop { .. }
        | Source::Arrivals { .. } => {
            unreachable!("these have no packets of their own")
        }
    };
    let fragments = match size_at {
        SizeAt::Wire => 1.0,
        SizeAt::Payload => fragments(size, ways.mtu_bytes(way)),
    };
    Packets {
        count: datagrams * fragments,
        bytes: size / fragments + f64::from(IP_HEADER_BYTES),
        active_s: active,
    }
}

/// Packets of a datagram: as many as its mean size fills, and half of one, as the last is not
/// full.
fn fragments(payload_bytes: f64, mtu_bytes: u32) -> f64 {
    let body = payload_bytes + f64::from(UDP_HEADER_BYTES);
    let most = f64::from(mtu_bytes.saturating_sub(IP_HEADER_BYTES).max(8));
    if body <= most {
        return 1.0;
    }
    body / most + 0.5
}

/// How often a source writes to TCP, and how much in all, bytes; None of other sources.
pub(super) fn writes(source: &Source, active_s: f64) -> Option<(f64, f64)> {
    let law: (&Law, &Law) = match source {
        Source::Poisson { gap, size, .. }
        | Source::Renewal { gap, size, .. }
        | Source::Cbr { gap, size, .. } => (gap, size),
        _ => return None,
    };
    let (gap, size) = law;
    let count = times(gap, active_s);
    Some((count, count * size.mean_below(LARGEST_PAYLOAD_BYTES)))
}
