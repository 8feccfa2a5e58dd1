//! Comparison of sent packets with expected ones.

use super::{Run, difference};
use crate::endpoint::Endpoint;
use crate::language::script::{EcnMark, TcpFlags, TcpOption, TcpPacket};
use crate::segments::{SentPacket, shown};
use crate::verdict::Difference;
use dumbbell_core::time::Time;

impl Run<'_> {
    /// Matches the next packet sent against the expected one, due between these two times and
    /// `since_last` after the previous event. Returns when it was sent.
    pub(super) fn expect(
        &mut self,
        expected: &TcpPacket,
        mark: Option<EcnMark>,
        (from, to): (Time, Time),
        since_last: Time,
    ) -> Result<Time, Difference> {
        let tolerance = self.plan.tolerance(since_last);
        let latest = to.saturating_add(tolerance);
        let in_script = expected;
        let expected = &self.count_from_syn(in_script);
        let first_sequence = self.first_sequence;
        let missing = |found: Option<&SentPacket>| Difference::Packet {
            expected: Some(shown((to != Time::NEVER).then_some(from), in_script, mark)),
            found: found.map(|sent| {
                let packet = first_sequence.in_script(&sent.packet);
                shown(Some(sent.at), &packet, Some(sent.ecn))
            }),
        };
        let Some(mut found) = self.next_sent(latest)? else {
            return Err(missing(None));
        };
        while found.packet.payload_bytes < expected.payload_bytes && !self.plan.is_strict {
            let Some(next) = self.next_of(&found, latest)? else {
                break;
            };
            found = together(&found, &next);
        }
        let is_timely = found.at.saturating_add(tolerance) >= from && found.at <= latest;
        if is_timely && self.matches(expected, mark, &found) {
            return Ok(found.at);
        }
        Err(missing(Some(&found)))
    }

    /// A SYN defines the script's initial sequence number.
    fn count_from_syn(&mut self, expected: &TcpPacket) -> TcpPacket {
        let mut expected = expected.clone();
        if expected.flags.has(TcpFlags::SYN) {
            self.first_sequence.local = expected.seq;
            expected.seq = 0;
            if let Some(ack) = &mut expected.ack {
                *ack = difference(*ack, self.first_sequence.remote);
            }
        }
        expected
    }

    /// The next packet sent no later than `latest`.
    fn next_sent(&mut self, latest: Time) -> Result<Option<SentPacket>, Difference> {
        loop {
            if let Some(sent) = self.sent().and_then(std::collections::VecDeque::pop_front) {
                return Ok(Some(sent));
            }
            if !self.step_timer(latest)? {
                return Ok(None);
            }
        }
    }

    /// The next packet, if the kernel's segmentation offload would have sent it together with
    /// `first`.
    fn next_of(
        &mut self,
        first: &SentPacket,
        latest: Time,
    ) -> Result<Option<SentPacket>, Difference> {
        while self.first_sent().is_none() {
            if !self.step_timer(latest)? {
                return Ok(None);
            }
        }
        let fits = self.first_sent().is_some_and(|next| {
            next.packet.seq == first.packet.end()
                && next.packet.payload_bytes > 0
                && next.packet.ack == first.packet.ack
                && next.ecn == first.ecn
        });
        Ok(match fits {
            true => self.sent().and_then(std::collections::VecDeque::pop_front),
            false => None,
        })
    }

    fn matches(&mut self, expected: &TcpPacket, mark: Option<EcnMark>, found: &SentPacket) -> bool {
        let packet = &found.packet;
        let is_marked = mark.is_none_or(|mark| match mark {
            EcnMark::Ect01 => matches!(found.ecn, EcnMark::Ect0 | EcnMark::Ect1),
            mark => mark == found.ecn,
        });
        // The model does not include where the kernel cuts a stream into packets for offload, and
        // thus which of them carry PSH.
        let ignored = match expected.payload_bytes > u64::from(self.mss_bytes()) {
            true => TcpFlags::PSH,
            false => TcpFlags::default(),
        };
        is_marked
            && expected.flags.without(ignored) == packet.flags.without(ignored)
            && expected.seq == packet.seq
            && expected.payload_bytes == packet.payload_bytes
            && (expected.ack.is_none() || expected.ack == packet.ack)
            && (expected.window.is_none() || expected.window == packet.window)
            && self.has_options(expected, packet)
    }

    fn mss_bytes(&self) -> u32 {
        self.connections.last().map_or(0, Endpoint::mss_bytes)
    }

    /// Compares options, ignoring padding and the order of different options.
    fn has_options(&mut self, expected: &TcpPacket, found: &TcpPacket) -> bool {
        let (Some(expected), Some(found)) = (&expected.options, &found.options) else {
            return true;
        };
        let counts = |option: &&TcpOption| !matches!(option, TcpOption::Nop | TcpOption::End);
        let number = |options: &[TcpOption]| options.iter().filter(counts).count();
        number(expected) == number(found)
            && expected.iter().filter(counts).all(|option| match option {
                TcpOption::Timestamps { value, echo } => self.has_timestamps(found, *value, *echo),
                other => found.contains(other),
            })
    }

    /// The first timestamp determines the offset between the clocks of script and engine. Values
    /// are compared if the script gives their tick (`--tcp_ts_tick_usecs`), echoes always.
    fn has_timestamps(&mut self, found: &[TcpOption], value: u32, echo: u32) -> bool {
        let stamps = found.iter().find_map(|option| match option {
            TcpOption::Timestamps { value, echo } => Some((*value, *echo)),
            _ => None,
        });
        let Some((found_value, found_echo)) = stamps else {
            return false;
        };
        let shift = *self
            .timestamp_shift
            .get_or_insert(found_value.wrapping_sub(value));
        let off = found_value.wrapping_sub(shift).abs_diff(value);
        let is_timely = self
            .plan
            .timestamp_tick_us
            .is_none_or(|tick_us| u64::from(off).saturating_mul(tick_us) <= self.plan.tolerance_us);
        is_timely && found_echo == echo
    }
}

/// Merges two packets into one: time and sequence number of the first packet, other fields of the
/// last one.
fn together(first: &SentPacket, next: &SentPacket) -> SentPacket {
    let mut packet = next.packet.clone();
    packet.seq = first.packet.seq;
    packet.payload_bytes += first.packet.payload_bytes;
    packet.flags = packet.flags.with(first.packet.flags.without(TcpFlags::PSH));
    SentPacket {
        at: first.at,
        packet,
        ecn: first.ecn,
    }
}
