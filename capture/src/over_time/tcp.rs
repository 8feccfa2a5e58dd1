//! Derives round-trip times, bytes in flight and windows from the segments of a connection.

use crate::decode::{OfferedScale, TcpView, flags};
use crate::flows::ahead;
use std::collections::VecDeque;

/// Maximum number of unacknowledged segments recorded in a direction, the same as in Wireshark.
/// Further segments give no round-trip sample.
const MOST_UNACKNOWLEDGED: usize = 10_000;
/// Limit of a shift count: "the TCP MUST log the error but MUST use 14" (RFC 7323 section 2.3).
const LARGEST_SHIFT: u8 = 14;

/// Scaling of the windows that an end advertises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowScale {
    /// The handshake, or its options, was not captured: windows are taken unscaled from the header.
    NotKnown,
    /// Shift count; 0 if one end did not offer window scaling.
    Shift(u8),
}

impl WindowScale {
    /// Value in the column `window_scale`.
    pub fn code(self) -> i64 {
        match self {
            WindowScale::NotKnown => -1,
            WindowScale::Shift(shift) => i64::from(shift),
        }
    }
}

/// Values derived from a segment; the last two concern the reverse direction.
#[derive(Debug, Default)]
pub(super) struct SegmentMeasures {
    pub in_flight_bytes: Option<i64>,
    pub window_bytes: Option<i64>,
    pub round_trip_ns: Option<i64>,
}

/// Both directions, indexed by `is_reply`.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    sent: [Direction; 2],
    offered: [OfferedScale; 2],
}

/// Segments sent in one direction.
#[derive(Debug, Default)]
struct Direction {
    /// One past the highest sequence number.
    highest: Option<u32>,
    acknowledged: Option<u32>,
    /// End and time of new unacknowledged segments, lowest first.
    waiting: VecDeque<(u32, i64)>,
    /// Acknowledgements in (.0, .1] may answer a repair.
    unclear: Option<(u32, u32)>,
}

impl Conversation {
    pub fn enter(&mut self, at_ns: i64, tcp: &TcpView, is_reply: bool) -> SegmentMeasures {
        let forward = usize::from(is_reply);
        let mut told = SegmentMeasures::default();
        if tcp.has(flags::RST) {
            return told;
        }
        if tcp.has(flags::SYN) {
            self.offered[forward] = tcp.scale;
        }
        told.window_bytes = Some(self.window_bytes(tcp, forward));
        if tcp.has(flags::ACK) {
            told.round_trip_ns = self.sent[1 - forward].acknowledge(at_ns, tcp.ack);
        }
        self.sent[forward].send(at_ns, tcp);
        if tcp.payload_bytes > 0 {
            told.in_flight_bytes = self.sent[forward].in_flight_bytes();
        }
        told
    }

    /// Scaling of an end's windows: the shift that it offered, if the other end offered one too.
    pub fn scale_of(&self, end: usize) -> WindowScale {
        match (self.offered[end], self.offered[1 - end]) {
            (OfferedScale::None, _) | (_, OfferedScale::None) => WindowScale::Shift(0),
            (OfferedScale::NotSeen, _) | (_, OfferedScale::NotSeen) => WindowScale::NotKnown,
            (OfferedScale::Shift(shift), OfferedScale::Shift(_)) => {
                WindowScale::Shift(shift.min(LARGEST_SHIFT))
            }
        }
    }

    fn window_bytes(&self, tcp: &TcpView, end: usize) -> i64 {
        match self.scale_of(end) {
            // The window of a SYN is never scaled (RFC 7323 section 2.2).
            WindowScale::Shift(shift) if !tcp.has(flags::SYN) => i64::from(tcp.window) << shift,
            _ => i64::from(tcp.window),
        }
    }
}

impl Direction {
    fn send(&mut self, at_ns: i64, tcp: &TcpView) {
        let control = u32::from(tcp.has(flags::SYN)) + u32::from(tcp.has(flags::FIN));
        let length = tcp.payload_bytes + control;
        if length == 0 {
            return;
        }
        let end = tcp.seq.wrapping_add(length);
        let highest = self.highest.unwrap_or(tcp.seq);
        let is_acknowledged = self.acknowledged.is_some_and(|ack| ahead(end, ack) <= 0);
        if is_acknowledged {
            // Already acknowledged data are retransmitted: their acknowledgement is no new sample.
        } else if ahead(tcp.seq, highest) < 0 {
            let (low, high) = self.unclear.unwrap_or((tcp.seq, highest));
            let low = if ahead(tcp.seq, low) < 0 {
                tcp.seq
            } else {
                low
            };
            let above = if ahead(end, highest) > 0 {
                end
            } else {
                highest
            };
            let high = if ahead(above, high) > 0 { above } else { high };
            self.unclear = Some((low, high));
        } else if self.waiting.len() < MOST_UNACKNOWLEDGED {
            self.waiting.push_back((end, at_ns));
        }
        if ahead(end, highest) >= 0 {
            self.highest = Some(end);
        }
    }

    /// Round-trip time of the segment that ends at `ack`, if known.
    fn acknowledge(&mut self, at_ns: i64, ack: u32) -> Option<i64> {
        if self.acknowledged.is_some_and(|last| ahead(ack, last) <= 0) {
            return None;
        }
        self.acknowledged = Some(ack);
        let mut sent_ns = None;
        while let Some((end, at_ns)) = self.waiting.front().copied() {
            if ahead(end, ack) > 0 {
                break;
            }
            sent_ns = (end == ack).then_some(at_ns);
            self.waiting.pop_front();
        }
        if let Some((low, high)) = self.unclear {
            if ahead(ack, high) >= 0 {
                self.unclear = None;
            }
            if ahead(ack, low) > 0 && ahead(ack, high) <= 0 {
                return None;
            }
        }
        sent_ns.map(|sent_ns| at_ns.saturating_sub(sent_ns).max(0))
    }

    /// None before the first acknowledgement, for example in a one-way capture.
    fn in_flight_bytes(&self) -> Option<i64> {
        let (highest, acknowledged) = (self.highest?, self.acknowledged?);
        Some(i64::from(ahead(highest, acknowledged).max(0)))
    }
}
