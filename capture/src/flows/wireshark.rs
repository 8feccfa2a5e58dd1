//! Wireshark's flags, by the conditions listed in its documentation.
//!
//! | flag | conditions, in the order in which they are tested |
//! | --- | --- |
//! | keep-alive | at most one byte, one below the next expected, no SYN, FIN or RST; never combined with another flag |
//! | spurious retransmission | payload, all of which the other side has acknowledged |
//! | fast retransmission | below the next expected; at least two duplicate acknowledgements of exactly this segment, the last within 20 ms |
//! | out-of-order | below the next expected, with an end other than it; within the initial round-trip time (3 ms if the handshake was not captured) after the segment that carried the highest sequence number |
//! | retransmission | below the next expected, and none of the above |
//! | duplicate acknowledgement | without payload, same number and same non-zero window as the previous one; no SYN, FIN or RST; not the answer to a keep-alive |
//!
//! `tcp.analysis.retransmission` is set for plain, fast and spurious retransmissions;
//! `tcp.analysis.out_of_order` is not one of them. With SACK, most repairs arrive within a
//! round-trip time of other segments and are flagged out-of-order, because SACK blocks are not
//! considered (Wireshark issue 13863). Loss "by tshark" is therefore a separate definition.
//!
//! Source: Wireshark User's Guide, section "TCP Analysis"; checked against TShark 4.0.17 (Debian
//! 12), flow by flow on captures and on random conversations, in
//! `tests/formats/test_capture_tools.py`. Other versions may differ. The next expected number is
//! one past the highest seen.
//!
//! Known difference: if segments that carry data acknowledge segments that were not captured,
//! TShark flags some repairs as fast retransmissions without two duplicates.

use super::seen::ahead;
use crate::decode::{TcpView, flags};

const FAST_NS: i64 = 20_000_000;
const DEFAULT_REORDERING_NS: i64 = 3_000_000;

/// Packets by flag; each packet has at most one, apart from the flag for lost segments before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WiresharkFlags {
    /// `tcp.analysis.retransmission`: includes fast and spurious retransmissions.
    pub retransmission_pkts: u64,
    /// `tcp.analysis.fast_retransmission`.
    pub fast_retransmission_pkts: u64,
    /// `tcp.analysis.spurious_retransmission`.
    pub spurious_retransmission_pkts: u64,
    /// `tcp.analysis.out_of_order`.
    pub out_of_order_pkts: u64,
    /// `tcp.analysis.lost_segment`: the preceding segment was not captured.
    pub lost_segment_pkts: u64,
    /// `tcp.analysis.duplicate_ack`.
    pub duplicate_ack_pkts: u64,
    /// `tcp.analysis.keep_alive`.
    pub keep_alive_pkts: u64,
}

/// State shared by both directions.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedState {
    syn_ns: Option<i64>,
    initial_rtt_ns: Option<i64>,
}

/// State of one direction. As in Wireshark, a sequence or acknowledgement number of 0 means that
/// none has been seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Direction {
    pub flags: WiresharkFlags,
    next: u32,
    next_ns: i64,
    last_ack: u32,
    last_ack_ns: i64,
    window: u16,
    duplicates: u32,
    last_was_keep_alive: bool,
}

/// Enters a segment sent in the direction `forward`.
pub(super) fn enter(
    forward: &mut Direction,
    backward: Option<&Direction>,
    shared: &mut SharedState,
    at_ns: i64,
    tcp: &TcpView,
) {
    let is_control = tcp.has_any(flags::SYN | flags::FIN | flags::RST);
    let is_known = forward.next != 0;
    let is_keep_alive = !is_control && tcp.payload_bytes <= 1 && forward.is_one_below(tcp.seq);
    let is_probe = tcp.payload_bytes == 1
        && forward.next == tcp.seq
        && backward.is_some_and(|other| other.window == 0);
    shared.handshake(at_ns, tcp);
    forward.count_duplicate(backward, tcp, is_control);

    let skips = is_known && ahead(tcp.seq, forward.next) > 0;
    if skips && !tcp.has_any(flags::RST) && !is_probe {
        forward.flags.lost_segment_pkts += 1;
    }
    let carries = tcp.payload_bytes > 0 || tcp.has_any(flags::SYN | flags::FIN);
    if is_keep_alive {
        forward.flags.keep_alive_pkts += 1;
    } else if carries {
        forward.classify(backward, shared, at_ns, tcp);
    }

    let next = after(tcp);
    let is_highest = !is_known || ahead(next, forward.next) > 0;
    if is_highest && !is_probe {
        forward.next = next;
        forward.next_ns = at_ns;
    }
    forward.window = tcp.window;
    forward.last_ack = tcp.ack;
    forward.last_ack_ns = at_ns;
    forward.last_was_keep_alive = is_keep_alive;
}

/// The sequence number after a segment; SYN and FIN count.
fn after(tcp: &TcpView) -> u32 {
    let control = u32::from(tcp.has_any(flags::SYN | flags::FIN));
    tcp.seq
        .wrapping_add(tcp.payload_bytes)
        .wrapping_add(control)
}

impl SharedState {
    /// Measures the initial round-trip time, from the SYN to the first ACK without SYN.
    fn handshake(&mut self, at_ns: i64, tcp: &TcpView) {
        match (tcp.has(flags::SYN), tcp.has(flags::ACK)) {
            (true, false) => self.syn_ns = Some(at_ns),
            (false, true) if self.initial_rtt_ns.is_none() => {
                self.initial_rtt_ns = self.syn_ns.map(|syn_ns| at_ns.saturating_sub(syn_ns));
            }
            _ => {}
        }
    }
}

impl Direction {
    fn is_one_below(&self, seq: u32) -> bool {
        seq == self.next.wrapping_sub(1)
    }

    /// Counts a duplicate acknowledgement: same number and window as the previous one, no payload,
    /// and not an answer to a keep-alive.
    fn count_duplicate(&mut self, backward: Option<&Direction>, tcp: &TcpView, is_control: bool) {
        let is_retransmission = tcp.payload_bytes == 0
            && tcp.window != 0
            && tcp.window == self.window
            && self.next == tcp.seq
            && self.last_ack == tcp.ack
            && !is_control;
        let is_answer = backward.is_some_and(|other| other.last_was_keep_alive);
        if is_retransmission && !is_answer {
            self.duplicates += 1;
            self.flags.duplicate_ack_pkts += 1;
        } else if self.last_ack != tcp.ack {
            self.duplicates = 0;
        }
    }

    fn classify(
        &mut self,
        backward: Option<&Direction>,
        shared: &SharedState,
        at_ns: i64,
        tcp: &TcpView,
    ) {
        let end = tcp.seq.wrapping_add(tcp.payload_bytes);
        let is_acknowledged =
            backward.is_some_and(|other| other.last_ack != 0 && ahead(end, other.last_ack) <= 0);
        if tcp.payload_bytes > 0 && is_acknowledged {
            self.flags.spurious_retransmission_pkts += 1;
            self.flags.retransmission_pkts += 1;
            return;
        }
        // It begins one byte below and has further bytes: new data after a zero-window probe.
        let is_after_probe = tcp.payload_bytes > 1 && self.is_one_below(tcp.seq);
        let is_below = self.next != 0 && ahead(tcp.seq, self.next) < 0;
        if !is_below || is_after_probe {
            return;
        }
        if backward.is_some_and(|other| other.asks_for(tcp.seq, at_ns)) {
            self.flags.fast_retransmission_pkts += 1;
            self.flags.retransmission_pkts += 1;
            return;
        }
        let reordering_ns = shared.initial_rtt_ns.filter(|rtt| *rtt != 0);
        let is_soon =
            at_ns.saturating_sub(self.next_ns) < reordering_ns.unwrap_or(DEFAULT_REORDERING_NS);
        if is_soon && after(tcp) != self.next {
            self.flags.out_of_order_pkts += 1;
        } else {
            self.flags.retransmission_pkts += 1;
        }
    }

    /// Whether this direction has recently sent two duplicate acknowledgements for the segment at
    /// `start`.
    fn asks_for(&self, start: u32, at_ns: i64) -> bool {
        let is_recent = at_ns.saturating_sub(self.last_ack_ns) < FAST_NS;
        is_recent && self.duplicates >= 2 && self.last_ack == start
    }
}
