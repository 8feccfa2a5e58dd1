//! What flows over TCP will send: as much as they are given, at most what the links on their way
//! share out, or a window each round-trip time.

use super::ways::Ways;
use super::{Costs, Packets, active_s, times, udp};
use crate::spec::{Flow, Source, Tcp};
use crate::tcp::{IP_HEADER_BYTES, segment};

/// Payload that a send buffer of Linux's own size holds: 4 MB of memory (`tcp_wmem[2]`), of which
/// structures take a third.
const LARGEST_SEND_WINDOW_BYTES: f64 = 2.8e6;
/// Packets of a connection beside its data: SYN, FIN, and what acknowledges them.
const PACKETS_A_CONNECTION: f64 = 5.0;
/// A segment without payload.
const ACKNOWLEDGEMENT_BYTES: f64 = 52.0;
/// How often a sender without pacing is woken by a timer, for a segment: mostly it sends when an
/// acknowledgement comes.
const UNPACED_WAKES: f64 = 0.5;
/// A shorter time than any link takes.
const SHORTEST_S: f64 = 1e-9;
/// Doublings after which a window is as large as any.
const MOST_DOUBLINGS: f64 = 40.0;

/// What one connection of a flow can do.
struct Connection {
    mss_bytes: f64,
    rtt_s: f64,
    /// Payload, while it lasts.
    rate_bps: f64,
    initial_window_bytes: f64,
    window_bytes: f64,
}

impl Connection {
    fn new(tcp: &Tcp, ways: &Ways, out: &[u32], back: &[u32]) -> Connection {
        let headers = IP_HEADER_BYTES + segment::LARGEST_HEADER_BYTES;
        let mtu_bytes = ways.mtu_bytes(out);
        let mss_bytes = f64::from(mtu_bytes.saturating_sub(headers).max(1));
        let there_s = ways.time_s(out, f64::from(mtu_bytes));
        let rtt_s = (there_s + ways.time_s(back, ACKNOWLEDGEMENT_BYTES)).max(SHORTEST_S);
        let loss = ways.loss(out);
        let mut window_bytes = window_bytes(tcp);
        if loss > 0.0 && tcp.congestion_control != "bbr" {
            window_bytes = window_bytes.min(2.0 * mss_bytes * window_pkts(loss, rtt_s));
        }
        let share_bps = ways.share_bps(out);
        Connection {
            mss_bytes,
            rtt_s,
            rate_bps: share_bps.min(8.0 * window_bytes / rtt_s),
            initial_window_bytes: f64::from(tcp.initial_window_pkts) * mss_bytes,
            window_bytes,
        }
    }

    /// Payload that it can send in a time: its window doubles each round-trip time at most.
    fn bytes_in(&self, time_s: f64) -> f64 {
        let doublings = (time_s / self.rtt_s + 1.0).min(MOST_DOUBLINGS);
        let grown = self.initial_window_bytes * libm::exp2(doublings);
        grown.min(self.rate_bps * time_s / 8.0 + self.window_bytes)
    }
}

/// What buffers let be under way.
fn window_bytes(tcp: &Tcp) -> f64 {
    let send = match tcp.send_buffer_bytes {
        0 => LARGEST_SEND_WINDOW_BYTES,
        // The kernel doubles what it is asked for.
        asked => 2.0 * asked as f64,
    };
    match tcp.receive_window_bytes {
        0 => send,
        asked => send.min(asked as f64),
    }
}

/// The mean window under random losses: Reno's (RFC 9438 equation 5, RFC 3649) or CUBIC's
/// (RFC 9438 equation 6), whichever is larger.
fn window_pkts(loss: f64, rtt_s: f64) -> f64 {
    let reno = 1.22 / loss.sqrt();
    let cubic = 1.054 * libm::pow(rtt_s / loss, 0.75);
    reno.max(cubic).max(1.0)
}

/// What the connections of a flow send.
#[derive(Debug, Default)]
struct Load {
    /// Acts of the source.
    writes: f64,
    transfers: f64,
    /// Connections at once.
    connections: f64,
    bytes: f64,
    /// Segments that are sent though they are not full.
    small: f64,
}

fn sent(flow: &Flow, one: &Connection, active: f64, share_bytes: f64) -> Load {
    let most = one.bytes_in(active).min(share_bytes);
    let single = |bytes: f64| Load {
        transfers: 1.0,
        connections: 1.0,
        bytes,
        small: 1.0,
        ..Load::default()
    };
    match &flow.source {
        Source::Sized { bytes } => single(most.min(*bytes as f64)),
        Source::ClosedLoop { size, think, .. } => {
            let size = size.mean_below(most.max(1.0)).max(1.0);
            let pause = think.mean_below(active.max(SHORTEST_S));
            let each_s = pause + 2.0 * one.rtt_s + 8.0 * size / one.rate_bps;
            let most_transfers = f64::from(flow.source.most_transfers());
            let transfers = (active / each_s + 1.0).min(most_transfers);
            Load {
                transfers,
                small: transfers,
                ..single((transfers * size).min(share_bytes.max(most)))
            }
        }
        Source::Arrivals { gap, size, .. } => {
            let most_transfers = f64::from(flow.source.most_transfers());
            let writes = times(gap, active).min(most_transfers);
            // On average half of the time is left for a transfer.
            let most = one.bytes_in(active / 2.0).min(share_bytes);
            let size = size.mean_below(most.max(1.0)).max(1.0);
            let asked = writes * (size + PACKETS_A_CONNECTION * ACKNOWLEDGEMENT_BYTES);
            // Those that do not get through as fast as they come are all there at the end.
            let waiting = writes * (1.0 - share_bytes / asked).max(0.0);
            let one_s = 2.0 * one.rtt_s + 8.0 * size / one.rate_bps;
            let open = writes * (one_s / active.max(SHORTEST_S)).min(1.0);
            Load {
                writes,
                transfers: writes,
                connections: waiting.max(open) + 1.0,
                bytes: (writes * size).min(share_bytes),
                // A connection that does not get through tries again, less and less often.
                small: writes + waiting * libm::log2(1.0 + active),
            }
        }
        source => match udp::writes(source, active) {
            Some((writes, bytes)) => Load {
                writes,
                small: writes.min(share_bytes / ACKNOWLEDGEMENT_BYTES),
                ..single(bytes.min(most))
            },
            None => single(most),
        },
    }
}

/// Adds what a flow will cost.
pub(super) fn add(costs: &mut Costs, flow: &Flow, ways: &Ways, duration_s: f64) {
    let Some(tcp) = &flow.tcp else { return };
    let active = active_s(flow, duration_s);
    if active == 0.0 {
        return;
    }
    let out = ways.between(&flow.from, &flow.to);
    let back = ways.between(&flow.to, &flow.from);
    let one = Connection::new(tcp, ways, &out, &back);
    let share_bytes = ways.share_bps(&out) * active / 8.0;
    let sent = sent(flow, &one, active, share_bytes);
    let of_connections = sent.transfers.min(share_bytes / ACKNOWLEDGEMENT_BYTES);
    let segments = sent.bytes / one.mss_bytes + sent.small + of_connections * PACKETS_A_CONNECTION;
    let has_gaps = ways.loss(&out) > 0.0;
    let acknowledged = match tcp.delayed_ack && !has_gaps {
        true => segments / f64::from(tcp.ack_every) + of_connections * PACKETS_A_CONNECTION,
        false => segments,
    };
    let is_paced = tcp.pacing.is_on(tcp.congestion_control == "bbr");
    let wakes = if is_paced { 1.0 } else { UNPACED_WAKES };
    costs.events += sent.writes + wakes * segments;
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
