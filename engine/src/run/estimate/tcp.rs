//! Estimates what TCP flows send: as much as the application provides, limited by their share of the links on
//! their path, or by a window per round-trip time.
//!
//! Each flow is evaluated twice: first alone, which gives the load of the links, then with its share.

use super::ways::NetworkPaths;
use super::{Costs, Packets, active_s};
use crate::cca::Algorithm;
use crate::spec::source::{ACKNOWLEDGEMENT_BYTES, Capacity, PACKETS_A_CONNECTION};
use crate::spec::{Flow, Tcp};
use crate::tcp::{IP_HEADER_BYTES, segment};

/// Payload that an auto-tuned send buffer of Linux holds: 4 MB of memory (`tcp_wmem[2]`), a third of which is
/// overhead.
const LARGEST_SEND_WINDOW_BYTES: f64 = 2.8e6;
/// Timer events per segment of a sender without pacing, which mostly sends on acknowledgements.
const UNPACED_WAKES: f64 = 0.5;
/// Less than the time of any link.
const SHORTEST_S: f64 = 1e-9;

/// Capacity of one connection of a flow, and of all of them within `active_s`, if the links on its path give
/// it `share_bps`.
fn capacity(
    tcp: &Tcp,
    ways: &NetworkPaths,
    (out, back): (&[u32], &[u32]),
    share_bps: f64,
    active_s: f64,
) -> Capacity {
    let headers = IP_HEADER_BYTES + segment::LARGEST_HEADER_BYTES;
    let mtu_bytes = ways.mtu_bytes(out);
    let mss_bytes = f64::from(mtu_bytes.saturating_sub(headers).max(1));
    let there_s = ways.time_s(out, f64::from(mtu_bytes));
    let rtt_s = (there_s + ways.time_s(back, ACKNOWLEDGEMENT_BYTES)).max(SHORTEST_S);
    let loss = ways.loss(out);
    let mut window_bytes = window_bytes(tcp);
    if loss > 0.0 && Algorithm::of(tcp).is_some_and(Algorithm::reacts_to_losses) {
        window_bytes = window_bytes.min(2.0 * mss_bytes * window_pkts(loss, rtt_s));
    }
    Capacity {
        mss_bytes,
        rtt_s,
        rate_bps: share_bps.min(8.0 * window_bytes / rtt_s),
        initial_window_bytes: f64::from(tcp.initial_window_pkts) * mss_bytes,
        window_bytes,
        share_bytes: share_bps * active_s / 8.0,
    }
}

/// Payload in flight that the buffers allow.
fn window_bytes(tcp: &Tcp) -> f64 {
    let send = match tcp.send_buffer_bytes {
        0 => LARGEST_SEND_WINDOW_BYTES,
        // The kernel doubles the requested size.
        asked => 2.0 * asked as f64,
    };
    match tcp.receive_window_bytes {
        0 => send,
        asked => send.min(asked as f64),
    }
}

/// The mean window under random loss: Reno's (RFC 9438 equation 5, RFC 3649) or CUBIC's (RFC 9438 equation
/// 6), whichever is larger.
fn window_pkts(loss: f64, rtt_s: f64) -> f64 {
    let reno = 1.22 / loss.sqrt();
    let cubic = 1.054 * libm::pow(rtt_s / loss, 0.75);
    reno.max(cubic).max(1.0)
}

/// Adds the demand of a flow, as if it were alone, to the links on its path. Returns it in bit/s while the
/// flow is active.
pub(super) fn demand_bps(flow: &Flow, ways: &mut NetworkPaths, duration_s: f64) -> f64 {
    let active = active_s(flow, duration_s);
    let (Some(tcp), true) = (&flow.tcp, active > 0.0) else {
        return 0.0;
    };
    let out = ways.between(&flow.from, &flow.to);
    let back = ways.between(&flow.to, &flow.from);
    let alone = capacity(tcp, ways, (&out, &back), ways.rate_bps(&out), active);
    let sent = flow.source.parameters().load(active, &alone);
    let bits = (8.0 * sent.bytes).min(8.0 * alone.share_bytes);
    ways.demand(&out, bits / duration_s);
    bits / active
}

/// Adds the cost of a flow whose demand, if alone, is `demanded_bps`.
pub(super) fn add(
    costs: &mut Costs,
    flow: &Flow,
    ways: &NetworkPaths,
    duration_s: f64,
    demanded_bps: f64,
) {
    let Some(tcp) = &flow.tcp else { return };
    let active = active_s(flow, duration_s);
    if active == 0.0 {
        return;
    }
    let out = ways.between(&flow.from, &flow.to);
    let back = ways.between(&flow.to, &flow.from);
    let granted = ways.granted(&out);
    let share_bps = match granted < 1.0 {
        true => granted * demanded_bps,
        false => ways.rate_bps(&out),
    };
    let one = capacity(tcp, ways, (&out, &back), share_bps, active);
    let sent = flow.source.parameters().load(active, &one);
    let of_connections = sent.transfers.min(one.share_bytes / ACKNOWLEDGEMENT_BYTES);
    let segments = sent.bytes / one.mss_bytes + sent.small + of_connections * PACKETS_A_CONNECTION;
    let has_gaps = ways.loss(&out) > 0.0;
    let acknowledged = match tcp.delayed_ack && !has_gaps {
        true => segments / f64::from(tcp.ack_every) + of_connections * PACKETS_A_CONNECTION,
        false => segments,
    };
    // Kernel controllers that the simulator lacks count as not paced.
    let wants_pacing = Algorithm::of(tcp).is_some_and(Algorithm::wants_pacing);
    let is_paced = tcp.pacing.is_on(wants_pacing);
    let wakes = if is_paced { 1.0 } else { UNPACED_WAKES };
    costs.events += sent.writes + wakes * segments;
    costs.tcp_segments += segments + acknowledged;
    let packets = |count: f64, bytes: f64| Packets {
        count,
        bytes,
        active_s: active,
    };
    let bytes = (sent.bytes / segments).max(ACKNOWLEDGEMENT_BYTES);
    costs.pass(packets(segments, bytes), &out, ways);
    costs.pass(packets(acknowledged, ACKNOWLEDGEMENT_BYTES), &back, ways);
    costs.transfers += sent.transfers;
    costs.connections += sent.connections;
    let window_pkts = one.window_bytes.min(sent.bytes) / one.mss_bytes + 1.0;
    let initial_pkts = one.initial_window_bytes / one.mss_bytes;
    let held = sent.connections * window_pkts.min(initial_pkts) + window_pkts;
    costs.segments += held.min(segments);
    let counted = ways.counted_at(&out) + ways.counted_at(&back);
    costs.captured_connections += counted * sent.transfers;
}
