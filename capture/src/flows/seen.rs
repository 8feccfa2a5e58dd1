//! Our rule: it records which sequence numbers have been seen at the capture point, byte by byte.
//!
//! A segment that begins below the highest sequence number seen did not advance the sequence. It is
//! a **repeat** if at least one of its bytes was seen here before: it is certainly a
//! retransmission. It is **late** if none was: its first copy was lost before the capture point, or
//! the segment was overtaken (reordered). Before a queue, repeats are the sender's retransmissions.
//! After the queue, late segments are repairs of drops by the queue (or on the path before it).
//!
//! A keep-alive (it begins one byte below the highest number, is at most one byte long, and no
//! payload beyond it is outstanding) is neither. SYN and FIN count as a byte each
//! (RFC 9293 section 3.4).

use crate::decode::{TcpView, flags};

/// Maximum number of gaps recorded. Beyond it the lowest gap is discarded, and a segment that fills
/// it counts as a repeat.
const MOST_GAPS: usize = 1024;

/// Segments that did not advance the sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Repeats {
    /// Segments of which at least one byte was seen before.
    pub repeated_pkts: u64,
    /// Segments of which no byte was seen before.
    pub late_pkts: u64,
    /// Keep-alives, which are neither.
    pub keep_alive_pkts: u64,
    /// Bytes never seen before; SYN and FIN count as one each.
    pub new_bytes: u64,
}

/// Sequence numbers seen in one direction.
#[derive(Debug, Clone, Default)]
pub(super) struct SeenSequences {
    pub repeats: Repeats,
    /// One past the highest sequence number; None before the first segment.
    next: Option<u32>,
    /// Ranges below `next` that were not seen: [start, end), lowest first.
    gaps: Vec<(u32, u32)>,
}

/// Distance of one sequence number ahead of another, modulo 2^32 (RFC 9293 section 3.4).
pub(crate) fn ahead(a: u32, b: u32) -> i32 {
    a.wrapping_sub(b) as i32
}

impl SeenSequences {
    pub fn enter(&mut self, tcp: &TcpView) {
        if tcp.has_any(flags::RST) {
            return;
        }
        let control = u32::from(tcp.has(flags::SYN)) + u32::from(tcp.has(flags::FIN));
        let length = tcp.payload_bytes + control;
        let (start, end) = (tcp.seq, tcp.seq.wrapping_add(length));
        let Some(next) = self.next else {
            // A capture may begin in the middle of a connection.
            self.next = Some(end);
            self.repeats.new_bytes += u64::from(length);
            return;
        };
        let is_keep_alive = control == 0 && length <= 1 && start == next.wrapping_sub(1);
        self.repeats.keep_alive_pkts += u64::from(is_keep_alive);
        if length == 0 || is_keep_alive {
            return;
        }
        if ahead(start, next) >= 0 {
            if start != next {
                self.gaps.push((next, start));
                if self.gaps.len() > MOST_GAPS {
                    self.gaps.remove(0);
                }
            }
            self.next = Some(end);
            self.repeats.new_bytes += u64::from(length);
            return;
        }
        let filled = self.fill(start, end);
        let beyond = ahead(end, next).max(0) as u32;
        if beyond > 0 {
            self.next = Some(end);
        }
        if filled + beyond == length {
            self.repeats.late_pkts += 1;
        } else {
            self.repeats.repeated_pkts += 1;
        }
        self.repeats.new_bytes += u64::from(filled + beyond);
    }

    /// Removes [start, end) from the gaps. Returns how many of its bytes were missing.
    fn fill(&mut self, start: u32, end: u32) -> u32 {
        let mut filled = 0;
        let mut index = 0;
        while index < self.gaps.len() {
            let (low, high) = self.gaps[index];
            let from = if ahead(start, low) > 0 { start } else { low };
            let to = if ahead(end, high) < 0 { end } else { high };
            if ahead(to, from) <= 0 {
                index += 1;
                continue;
            }
            filled += to.wrapping_sub(from);
            let rest = [(low, from), (to, high)];
            let rest = rest.into_iter().filter(|(low, high)| low != high);
            let rest: Vec<_> = rest.collect();
            index += rest.len();
            let place = index - rest.len();
            self.gaps.splice(place..=place, rest);
        }
        filled
    }
}
