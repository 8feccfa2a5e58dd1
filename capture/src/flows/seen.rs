//! Our rule: what was seen here is remembered, byte by byte.
//!
//! A segment that begins below the highest sequence number seen did not advance the sequence.
//! It is a **repeat** when a byte of it was seen here before: sent again for sure. It is **late**
//! when none was: its first copy was lost before here, or others overtook it. Before a queue,
//! repeats are what the sender sent again; after it, late ones are what the queue (or the way
//! before it) dropped and the sender repaired.
//!
//! A keep-alive (one byte below the highest, none or one long, without payload to come) is
//! neither. SYN and FIN count as a byte each (RFC 9293 section 3.4).

use crate::decode::{TcpView, flags};

/// Gaps remembered; of more, the lowest is forgotten and what fills it is a repeat.
const MOST_GAPS: usize = 1024;

/// Segments that did not advance the sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Repeats {
    /// Of which a byte was seen before.
    pub repeated_pkts: u64,
    /// Of which none was.
    pub late_pkts: u64,
    /// Keep-alives: neither of both.
    pub keep_alive_pkts: u64,
    /// Payload, SYN and FIN of which was never seen before.
    pub new_bytes: u64,
}

/// Sequence numbers seen in one direction.
#[derive(Debug, Clone, Default)]
pub(super) struct SeenSequences {
    pub repeats: Repeats,
    /// One past the highest; none before the first segment.
    next: Option<u32>,
    /// What lies below and was not seen: [start, end), lowest first.
    gaps: Vec<(u32, u32)>,
}

/// How far one sequence number is ahead of another, modulo 2^32 (RFC 9293 section 3.4).
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
            // A capture may begin in the middle.
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

    /// Takes [start, end) out of the gaps. Returns how much of it was missing.
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
