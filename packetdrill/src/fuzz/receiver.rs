//! The receiver at the other end: RFC 9293 section 3.10.7.4, RFC 2018, RFC 2883, RFC 3168 section
//! 6.1.3, RFC 7323 section 4.3. It is short and shares no code with the engine's receiver, so that
//! the two are unlikely to share a mistake.

use super::case::Case;
use crate::language::script::{EcnMark, TcpFlags, TcpOption, TcpPacket};

/// Value of its timestamp clock at the start of the script, milliseconds.
const FIRST_TIMESTAMP_MS: u64 = 1000;
/// Window scale shift of its windows.
pub(super) const WINDOW_SCALE: u8 = 7;

#[derive(Debug)]
pub(super) struct Receiver {
    sack: bool,
    timestamps: bool,
    delays: bool,
    window_bytes: u64,
    next: u64,
    /// Data received above the first gap, ascending.
    beyond: Vec<(u64, u64)>,
    /// SACK blocks in the order of their last change, most recent first.
    recent: Vec<(u64, u64)>,
    duplicate: Option<(u64, u64)>,
    echo: u32,
    has_seen_mark: bool,
    not_acknowledged: u64,
}

/// When an acknowledgement is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AckTiming {
    Now,
    Delayed,
}

impl Receiver {
    pub(super) fn new(case: &Case) -> Receiver {
        Receiver {
            sack: case.sack,
            timestamps: case.timestamps,
            delays: case.delays_acks,
            window_bytes: case.window_bytes,
            next: 1,
            beyond: Vec::new(),
            recent: Vec::new(),
            duplicate: None,
            echo: 0,
            has_seen_mark: false,
            not_acknowledged: 0,
        }
    }

    /// Sets the timestamp echoed by the SYN-ACK, and by later segments until data arrive.
    pub(super) fn echoes(&mut self, value: u32) {
        self.echo = value;
    }

    pub(super) fn echo(&self) -> u32 {
        self.echo
    }

    pub(super) fn timestamp(at_us: u64) -> u32 {
        (FIRST_TIMESTAMP_MS + at_us / 1000) as u32
    }

    /// Handles arriving data or a FIN.
    pub(super) fn on_data(&mut self, packet: &TcpPacket, mark: EcnMark) -> AckTiming {
        if packet.flags.has(TcpFlags::CWR) {
            self.has_seen_mark = false;
        }
        if mark == EcnMark::Ce {
            self.has_seen_mark = true;
        }
        let (start, end) = (packet.seq, packet.end());
        if start <= self.next {
            for option in packet.options.iter().flatten() {
                if let TcpOption::Timestamps { value, .. } = option {
                    self.echo = *value;
                }
            }
        }
        self.not_acknowledged += 1;
        if end <= self.next {
            self.duplicate = Some((start, end));
            return AckTiming::Now;
        }
        let was_whole = self.beyond.is_empty();
        if start > self.next {
            self.keep(start, end);
            return AckTiming::Now;
        }
        self.next = end;
        while let Some(&(first, last)) = self.beyond.first() {
            if first > self.next {
                break;
            }
            self.next = self.next.max(last);
            self.beyond.remove(0);
        }
        let next = self.next;
        self.recent.retain(|(_, last)| *last > next);
        let can_wait = self.delays && was_whole && !packet.flags.has(TcpFlags::FIN);
        match can_wait && self.not_acknowledged < 2 && !self.has_seen_mark {
            true => AckTiming::Delayed,
            false => AckTiming::Now,
        }
    }

    fn keep(&mut self, start: u64, end: u64) {
        let covers = |(first, last): &(u64, u64)| *first <= start && end <= *last;
        if let Some(index) = self.beyond.iter().position(covers) {
            self.duplicate = Some((start, end));
            let block = self.beyond[index];
            self.recent.retain(|known| *known != block);
            self.recent.insert(0, block);
            return;
        }
        let mut block = (start, end);
        self.beyond.retain(|(first, last)| {
            let touches = *first <= block.1 && block.0 <= *last;
            if touches {
                block = (block.0.min(*first), block.1.max(*last));
            }
            !touches
        });
        self.recent
            .retain(|(first, last)| *last < block.0 || block.1 < *first);
        self.beyond.push(block);
        self.beyond.sort_unstable();
        self.recent.insert(0, block);
    }

    /// Whether a delayed acknowledgement is still pending, not sent with another.
    pub(super) fn owes_ack(&self) -> bool {
        self.not_acknowledged > 0
    }

    /// The acknowledgement that it sends now.
    pub(super) fn acknowledgement(&mut self, at_us: u64) -> TcpPacket {
        self.not_acknowledged = 0;
        let mut options = Vec::new();
        if self.timestamps {
            let stamps = TcpOption::Timestamps {
                value: Receiver::timestamp(at_us),
                echo: self.echo,
            };
            options.extend([TcpOption::Nop, TcpOption::Nop, stamps]);
        }
        let duplicate = self.duplicate.take();
        if self.sack {
            let most = if self.timestamps { 3 } else { 4 };
            let blocks: Vec<_> = duplicate
                .into_iter()
                .chain(self.recent.iter().copied())
                .take(most)
                .collect();
            if !blocks.is_empty() {
                options.extend([TcpOption::Nop, TcpOption::Nop, TcpOption::Sack(blocks)]);
            }
        }
        let mut flags = TcpFlags::ACK;
        if self.has_seen_mark {
            flags = flags.with(TcpFlags::ECE);
        }
        TcpPacket {
            flags,
            seq: 1,
            payload_bytes: 0,
            ack: Some(self.next),
            window: Some(self.window_bytes >> WINDOW_SCALE),
            urgent: None,
            options: Some(options),
        }
    }
}
