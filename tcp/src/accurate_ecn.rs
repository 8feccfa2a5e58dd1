//! Accurate ECN: a counter of CE marks in three bits of the TCP header (RFC 9768).
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 9768 section 3.1.1, a SYN with (AE, CWR, ECE) = (1, 1, 1); the SYN-ACK reports the IP-ECN field of the SYN | `OFFER`, `handshake_flags` |
//! | RFC 9768 section 3.1.2, table 2: the mode of a client after the SYN-ACK, of a server after the SYN | `Mode::of_answer`, `Mode::of_offer` |
//! | RFC 9768 section 3.1.3, unused combinations count as AccECN | yes |
//! | RFC 9768 section 3.1.4.1, the first retransmitted SYN offers AccECN again, later ones do not | yes; failures are not cached |
//! | RFC 9768 section 3.1.4.2, a retransmitted SYN-ACK reports the latest SYN | yes; it never falls back |
//! | RFC 9768 section 3.1.5, no CWR in AccECN mode | yes; SYNs of both kinds in one handshake cause no reset |
//! | RFC 9768 section 3.2.1, counters begin at 5 | `FIRST_COUNT` |
//! | RFC 9768 section 3.2.2, the three lowest bits of the counter on each segment without SYN | `MarkCounter` |
//! | RFC 9768 section 3.2.2.1, the ACK of the SYN-ACK reports its IP-ECN field; 0 turns ECN off at the server | yes |
//! | RFC 9768 section 3.2.2.2, a sender adds the increase of the field, modulo 8 | `EchoedMarks`; marks of SYN and SYN-ACK are counted, and reduce no window |
//! | RFC 9768 section 3.2.2.3, mangled IP-ECN fields | no: no simulated path mangles them |
//! | RFC 9768 section 3.2.2.4, a zeroed ACE field | no, for the same reason |
//! | RFC 9768 section 3.2.2.5.1, an ACK for data at the first mark of a run and for every second mark | `MarkCounter::count`; not for marks on segments without data |
//! | RFC 9768 section 3.2.2.5.2, the safest likely case if the field could have wrapped | yes, if it has changed (`EchoedMarks::newly_marked`) |
//! | RFC 9768 section 3.2.3, the option with byte counters | `ecn_option`; with it the marked bytes say whether the field has wrapped (`EchoedMarks::newly_marked_beside`) |

use crate::segment::Flags;

/// The flags of a SYN that offers AccECN.
pub const OFFER: Flags = Flags::ACE;
/// Initial value of r.cep and s.cep (RFC 9768 section 3.2.1).
const FIRST_COUNT: u8 = 5;
/// The field of an end that has received no mark.
pub const FIELD_WITHOUT_MARKS: Flags = Flags::FIVE;
/// The field counts modulo this.
const FIELD_VALUES: u32 = 8;
/// Number of marks on unacknowledged data after which an acknowledgement is sent.
const MARKS_PER_ACK: u8 = 2;

/// The feedback negotiated by both ends (table 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// No ECN.
    NotEcn,
    /// Feedback of RFC 3168.
    Classic,
    /// Feedback of RFC 9768.
    Accurate,
}

impl Mode {
    /// The mode of a server with AccECN, from the flags of a SYN.
    pub fn of_offer(syn: Flags) -> Mode {
        match ace_of(syn) {
            0b000 => Mode::NotEcn,
            0b011 => Mode::Classic,
            _ => Mode::Accurate,
        }
    }

    /// The mode of a client that offered AccECN, from the flags of the SYN-ACK.
    pub fn of_answer(syn_ack: Flags) -> Mode {
        match ace_of(syn_ack) {
            // 0b111 are the flags of the SYN, reflected by a broken server.
            0b000 | 0b111 => Mode::NotEcn,
            0b001 => Mode::Classic,
            _ => Mode::Accurate,
        }
    }
}

/// AE, CWR and ECE as a number.
#[inline]
pub fn ace_of(flags: Flags) -> u8 {
    u8::from(flags.has(Flags::AE)) << 2
        | u8::from(flags.has(Flags::CWR)) << 1
        | u8::from(flags.has(Flags::ECE))
}

/// The three lowest bits of a number as AE, CWR and ECE.
#[inline]
pub fn ace_flags(number: u8) -> Flags {
    [(4, Flags::AE), (2, Flags::CWR), (1, Flags::ECE)]
        .into_iter()
        .filter(|(bit, _)| number & bit != 0)
        .fold(Flags::default(), |flags, (_, flag)| flags | flag)
}

/// The flags by which the answer to a handshake segment reports its IP-ECN field (tables 2 and 3).
pub fn handshake_flags(arrived: Flags) -> Flags {
    ace_flags(match arrived {
        _ if arrived.has(Flags::CE) => 0b110,
        _ if arrived.has(Flags::ECT1) => 0b011,
        _ if arrived.has(Flags::ECT) => 0b100,
        _ => 0b010,
    })
}

/// A receiver's counter of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkCounter {
    /// r.cep, modulo 256.
    count: u8,
    /// Marks since the last acknowledgement.
    since_ack: u8,
    was_marked: bool,
}

impl MarkCounter {
    /// At the start of a connection.
    pub fn new() -> MarkCounter {
        MarkCounter {
            count: FIRST_COUNT,
            since_ack: 0,
            was_marked: false,
        }
    }

    /// Counts an arriving segment. Returns whether an acknowledgement is due: for data, at the first mark of
    /// a run and at every second mark.
    pub fn count(&mut self, is_marked: bool, carries_data: bool) -> bool {
        let begins = is_marked && !self.was_marked;
        self.was_marked = is_marked;
        if !is_marked {
            return false;
        }
        self.count = self.count.wrapping_add(1);
        self.since_ack = self.since_ack.saturating_add(1);
        carries_data && (begins || self.since_ack >= MARKS_PER_ACK)
    }

    /// The field of an acknowledgement sent now.
    pub fn flags(&mut self) -> Flags {
        self.since_ack = 0;
        ace_flags(self.count)
    }
}

impl Default for MarkCounter {
    fn default() -> MarkCounter {
        MarkCounter::new()
    }
}

/// A sender's copy of that counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EchoedMarks {
    /// s.cep, modulo 256.
    count: u8,
    /// Marks counted since the last option.
    since_option_pkts: u32,
}

impl EchoedMarks {
    /// At the start of a connection.
    pub fn new() -> EchoedMarks {
        EchoedMarks {
            count: FIRST_COUNT,
            since_option_pkts: 0,
        }
    }

    /// Counts a mark on the SYN-ACK, reported by its acknowledgement (table 4).
    pub fn count_syn_ack(&mut self) {
        self.count = self.count.wrapping_add(1);
    }

    /// The field of a segment that reports no new mark.
    pub fn field(&self) -> Flags {
        ace_flags(self.count)
    }

    /// Whether a segment reports new marks.
    pub fn is_moved_by(&self, flags: Flags) -> bool {
        ace_of(flags) != self.count & 7
    }

    /// Number of marks that an in-order acknowledgement of `acked_pkts` packets adds.
    ///
    /// A receiver acknowledges every second mark, so the field wraps between two acknowledgements only if
    /// some were lost. If it may have wrapped, the maximum number of marks that it allows is assumed (RFC 9768
    /// section 3.2.2.5.2); but not if it is unchanged, as it is at a receiver that got no mark.
    pub fn newly_marked(&mut self, flags: Flags, acked_pkts: u32) -> u32 {
        let least = self.least(flags);
        let marked = match least == 0 || acked_pkts < FIELD_VALUES {
            true => least,
            false => least + most_wraps(least, acked_pkts) * FIELD_VALUES,
        };
        self.since_option_pkts = self.since_option_pkts.saturating_add(marked);
        marked
    }

    /// As `newly_marked`, for an acknowledgement that says that `marked_bytes` were marked since the last one
    /// that said so. The field counts as wrapped if fewer packets of `mss_bytes` cannot have carried these
    /// bytes. None if bytes were marked and no packet was, which is impossible (RFC 9768 section 3.2.3.2.5).
    pub fn newly_marked_beside(
        &mut self,
        flags: Flags,
        acked_pkts: u32,
        marked_bytes: u32,
        mss_bytes: u32,
    ) -> Option<u32> {
        let least = self.least(flags);
        let before = std::mem::take(&mut self.since_option_pkts);
        let known = before.saturating_add(least);
        let missing = marked_bytes
            .div_ceil(mss_bytes.max(1))
            .saturating_sub(known);
        let wraps = missing.div_ceil(FIELD_VALUES);
        let marked = least + wraps.min(most_wraps(least, acked_pkts)) * FIELD_VALUES;
        (marked_bytes == 0 || before > 0 || marked > 0).then_some(marked)
    }

    /// The increase of the field. Takes it over.
    fn least(&mut self, flags: Flags) -> u32 {
        let least = ace_of(flags).wrapping_sub(self.count) & 7;
        self.count = self.count.wrapping_add(least);
        u32::from(least)
    }
}

/// How often the field can have wrapped.
fn most_wraps(least: u32, acked_pkts: u32) -> u32 {
    acked_pkts.saturating_sub(least) / FIELD_VALUES
}

impl Default for EchoedMarks {
    fn default() -> EchoedMarks {
        EchoedMarks::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9768 table 2, its four blocks.
    #[test]
    fn all_pairs_agree_on_what_both_can() {
        let of_syn = |ace| Mode::of_offer(ace_flags(ace));
        assert_eq!(of_syn(0b111), Mode::Accurate);
        assert_eq!(of_syn(0b011), Mode::Classic);
        assert_eq!(of_syn(0b000), Mode::NotEcn);
        for unused in [0b001, 0b010, 0b100, 0b101, 0b110] {
            assert_eq!(of_syn(unused), Mode::Accurate, "{unused:03b}");
        }
        let of_answer = |ace| Mode::of_answer(ace_flags(ace));
        for accurate in [0b010, 0b011, 0b100, 0b101, 0b110] {
            assert_eq!(of_answer(accurate), Mode::Accurate, "{accurate:03b}");
        }
        assert_eq!(of_answer(0b001), Mode::Classic);
        assert_eq!(of_answer(0b000), Mode::NotEcn);
        assert_eq!(of_answer(0b111), Mode::NotEcn);
    }

    #[test]
    fn the_field_of_the_handshake_is_that_of_the_tables() {
        let ip = [
            (Flags::default(), 0b010),
            (Flags::ECT | Flags::ECT1, 0b011),
            (Flags::ECT, 0b100),
            (Flags::CE, 0b110),
        ];
        for (arrived, ace) in ip {
            assert_eq!(ace_of(handshake_flags(arrived)), ace);
        }
    }

    #[test]
    fn a_number_and_its_flags_are_the_same() {
        for number in 0..8 {
            assert_eq!(ace_of(ace_flags(number)), number);
        }
    }

    /// Every mark is told once, whatever acknowledgements are sent, as long as they come.
    #[test]
    fn both_ends_count_alike() {
        let (mut receiver, mut sender) = (MarkCounter::new(), EchoedMarks::new());
        let marks = [
            true, false, true, true, true, false, false, true, true, true, true,
        ];
        let (mut told, mut unacknowledged) = (0, 0);
        for round in 0..50 {
            for is_marked in marks {
                unacknowledged += 1;
                if receiver.count(is_marked, true) || (unacknowledged == 2 && round % 2 == 0) {
                    told += sender.newly_marked(receiver.flags(), unacknowledged);
                    unacknowledged = 0;
                }
            }
        }
        told += sender.newly_marked(receiver.flags(), unacknowledged);
        let marked = marks.iter().filter(|is_marked| **is_marked).count();
        assert_eq!(told as usize, 50 * marked);
    }

    #[test]
    fn an_acknowledgement_is_due_where_marks_begin_and_for_every_second() {
        let mut receiver = MarkCounter::new();
        assert!(!receiver.count(false, true));
        assert!(receiver.count(true, true));
        receiver.flags();
        assert!(!receiver.count(true, true));
        assert!(receiver.count(true, true));
        receiver.flags();
        assert!(!receiver.count(true, true));
        assert!(!receiver.count(false, true));
        // What carries no data is counted and not acknowledged.
        assert!(!receiver.count(true, false));
    }

    /// 3 more in the field and 40 packets may be 3, 11, 19, 27 or 35 marks: the bytes say which.
    #[test]
    fn marked_bytes_say_how_often_the_field_has_wrapped() {
        let mss = 1000;
        for (moved, acked_pkts, bytes, marked) in [
            (3, 40, 3000, Some(3)),
            (3, 40, 19_000, Some(19)),
            (3, 40, 19_001, Some(27)),
            // Small segments: no more than the field says.
            (3, 40, 30, Some(3)),
            // Exactly one wrap, which the field alone does not show.
            (0, 40, 8000, Some(8)),
            (0, 40, 0, Some(0)),
            // No more than were acknowledged.
            (3, 12, 50_000, Some(11)),
            (0, 4, 1000, None),
        ] {
            let mut sender = EchoedMarks::new();
            let flags = ace_flags(FIRST_COUNT + moved);
            let found = sender.newly_marked_beside(flags, acked_pkts, bytes, mss);
            assert_eq!(found, marked, "{moved} {acked_pkts} {bytes}");
        }
        // Bytes of marks that acknowledgements without the option have counted already.
        let mut sender = EchoedMarks::new();
        assert_eq!(sender.newly_marked(ace_flags(FIRST_COUNT + 2), 4), 2);
        let flags = ace_flags(FIRST_COUNT + 4);
        assert_eq!(sender.newly_marked_beside(flags, 20, 4000, mss), Some(2));
        assert_eq!(sender.newly_marked_beside(flags, 20, 8000, mss), Some(8));
    }

    /// The safest case: 3 more in the field and 20 packets may be 3, 11 or 19 marks.
    #[test]
    fn where_the_field_may_have_wrapped_the_most_marks_count() {
        for (moved, acked_pkts, marked) in
            [(3, 4, 3), (3, 20, 19), (3, 18, 11), (0, 20, 0), (5, 4, 5)]
        {
            let mut sender = EchoedMarks::new();
            let flags = ace_flags(FIRST_COUNT + moved);
            assert_eq!(sender.newly_marked(flags, acked_pkts), marked);
        }
    }
}
