//! Estimates the number of packets of datagram senders.

use super::ways::NetworkPaths;
use super::{Packets, active_s};
use crate::sim::datagram::{IP_HEADER_BYTES, UDP_HEADER_BYTES};
use crate::spec::{Flow, SizeAt};

/// The packets of a datagram flow along a path.
pub(super) fn packets_of(
    flow: &Flow,
    ways: &NetworkPaths,
    way: &[u32],
    duration_s: f64,
) -> Packets {
    let active = active_s(flow, duration_s);
    let source = flow.source.parameters();
    let scheduled = source.scheduled(active);
    let scheduled = scheduled.expect("sources of datagrams send by a schedule of their own");
    let size = scheduled.size_bytes;
    let fragments = match source.size_at() {
        SizeAt::Wire => 1.0,
        SizeAt::Payload => fragments(size, ways.mtu_bytes(way)),
    };
    Packets {
        count: scheduled.count * fragments,
        bytes: size / fragments + f64::from(IP_HEADER_BYTES),
        active_s: active,
    }
}

/// Packets per datagram: those that its mean size fills, plus one half, because the last is not full.
fn fragments(payload_bytes: f64, mtu_bytes: u32) -> f64 {
    let body = payload_bytes + f64::from(UDP_HEADER_BYTES);
    let most = f64::from(mtu_bytes.saturating_sub(IP_HEADER_BYTES).max(8));
    if body <= most {
        return 1.0;
    }
    body / most + 0.5
}
