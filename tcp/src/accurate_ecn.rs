//! Accurate ECN: a count of marks in three bits of the TCP header (RFC 9768).
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 9768 section 3.1.1, a SYN with (AE, CWR, ECE) = (1, 1, 1); the SYN-ACK tells the IP-ECN field of the SYN | `OFFER`, `handshake_flags` |
//! | RFC 9768 section 3.1.2, table 2: the mode of a client after the SYN-ACK, of a server after the SYN | `Mode::of_answer`, `Mode::of_offer` |
//! | RFC 9768 section 3.1.3, combinations that nobody uses yet count as AccECN | yes |
//! | RFC 9768 section 3.1.4.1, the first repeated SYN asks again, later ones do without | yes; failures are not remembered |
//! | RFC 9768 section 3.1.4.2, a SYN-ACK that is sent again tells of the latest SYN | yes; none falls back |
//! | RFC 9768 section 3.1.5, no CWR in AccECN mode | yes; SYNs of both kinds in one handshake are no reason for a reset |
//! | RFC 9768 section 3.2.1, counts begin with 5 | `FIRST_COUNT` |
//! | RFC 9768 section 3.2.2, the three lowest bits of the count on each segment without SYN | `MarkCounter` |
//! | RFC 9768 section 3.2.2.1, the ACK of the SYN-ACK tells the IP-ECN field of that; 0 switches the ECN of a server off | yes |
//! | RFC 9768 section 3.2.2.2, a sender adds what the field has advanced by, modulo 8 | `EchoedMarks`; marks of SYN and SYN-ACK are counted as it says, and reduce no window |
//! | RFC 9768 section 3.2.2.3, mangled IP-ECN fields | no: nothing here mangles |
//! | RFC 9768 section 3.2.2.4, a zeroed ACE field | no: likewise |
//! | RFC 9768 section 3.2.2.5.1, an ACK where marks begin on data, and for every second | `MarkCounter::count`; not for marks on segments without data |
//! | RFC 9768 section 3.2.2.5.2, the safest likely case where the field could have wrapped | yes, where it has moved (`EchoedMarks::newly_marked`) |
//! | RFC 9768 section 3.2.3, the option with counts of bytes | no: it is optional, and both ends do without, as they must be able to |

use crate::segment::Flags;

/// What a SYN offers AccECN with.
pub const OFFER: Flags = Flags::ACE;
/// r.cep and s.cep at first (RFC 9768 section 3.2.1).
const FIRST_COUNT: u8 = 5;
/// The field of one that has seen no mark.
pub const FIELD_WITHOUT_MARKS: Flags = Flags::FIVE;
/// The field counts modulo this.
const FIELD_VALUES: u32 = 8;
/// Marks after which an acknowledgement is sent while data are not acknowledged.
const MARKS_PER_ACK: u8 = 2;

/// Which feedback both ends have agreed on (table 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// None.
    NotEcn,
    /// RFC 3168's.
    Classic,
    /// RFC 9768's.
    Accurate,
}

impl Mode {
    /// Of a server that can do AccECN, by the flags of a SYN.
    pub fn of_offer(syn: Flags) -> Mode {
        match ace_of(syn) {
            0b000 => Mode::NotEcn,
            0b011 => Mode::Classic,
            _ => Mode::Accurate,
        }
    }

    /// Of a client that has offered AccECN, by the flags of the SYN-ACK.
    pub fn of_answer(syn_ack: Flags) -> Mode {
        match ace_of(syn_ack) {
            // All ones are the SYN's, sent back by a broken server.
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

/// What the answer to a handshake segment says of that one's IP header (tables 2 and 3).
pub fn handshake_flags(arrived: Flags) -> Flags {
    ace_flags(match arrived {
        _ if arrived.has(Flags::CE) => 0b110,
        _ if arrived.has(Flags::ECT1) => 0b011,
        _ if arrived.has(Flags::ECT) => 0b100,
        _ => 0b010,
    })
}

/// A receiver's count of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkCounter {
    /// The lowest bits of r.cep.
    count: u8,
    /// Since the last acknowledgement.
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

    /// A segment has arrived. Returns whether an acknowledgement is due for it: of data with the first of
    /// several marks, and of every second mark.
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

    /// The field of an acknowledgement that is sent now.
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

/// A sender's copy of that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EchoedMarks {
    /// The lowest bits of s.cep.
    count: u8,
}

impl EchoedMarks {
    /// At the start of a connection.
    pub fn new() -> EchoedMarks {
        EchoedMarks { count: FIRST_COUNT }
    }

    /// The acknowledgement of a SYN-ACK says that this was marked (table 4).
    pub fn count_syn_ack(&mut self) {
        self.count = self.count.wrapping_add(1);
    }

    /// The field of a segment that tells of no more.
    pub fn field(&self) -> Flags {
        ace_flags(self.count)
    }

    /// Whether a segment tells of more.
    pub fn is_moved_by(&self, flags: Flags) -> bool {
        ace_of(flags) != self.count & 7
    }

    /// How many marks an acknowledgement that no other has overtaken adds, of so many packets.
    ///
    /// A receiver acknowledges every second mark, so that the field wraps between two acknowledgements only
    /// where some were lost. Of more packets than it can count, the most marks are taken that it allows (RFC 9768 section
    /// 3.2.2.5.2), but not where it has not moved: a receiver that saw no mark says that, too.
    pub fn newly_marked(&mut self, flags: Flags, acked_pkts: u32) -> u32 {
        let least = u32::from(ace_of(flags).wrapping_sub(self.count) & 7);
        self.count = self.count.wrapping_add(least as u8);
        if least == 0 || acked_pkts < FIELD_VALUES {
            return least;
        }
        let room = acked_pkts.saturating_sub(least);
        least + room / FIELD_VALUES * FIELD_VALUES
    }
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
