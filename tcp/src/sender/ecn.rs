//! Which feedback of congestion marks was agreed on, and what it says (RFC 3168, RFC 9768).

use super::Sender;
use super::acknowledge::AckSummary;
use crate::accurate_ecn::{self, EchoedMarks, Mode, ace_of};
use crate::segment::{Flags, Segment};
use dumbbell_spec::tcp::Ecn;

/// SYNs that ask for accurate ECN at most (RFC 9768 section 3.1.4.1).
const ACCURATE_SYNS: u16 = 2;

/// Of a connection with accurate ECN.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct AccurateFeedback {
    echoed: EchoedMarks,
    /// What the acknowledgement of the SYN-ACK says of that; None when it has been sent.
    opening: Option<Flags>,
}

impl Sender {
    /// What a SYN asks for before which so many were sent. RFC 3168 section 6.1.1.1: a repeated one does
    /// without.
    pub(super) fn offered_ecn(&self, sent_before: u16) -> Flags {
        match self.settings.tcp.ecn {
            Ecn::Word(_) if sent_before < ACCURATE_SYNS => accurate_ecn::OFFER,
            Ecn::Switch(true) if sent_before == 0 => Flags::ECE | Flags::CWR,
            _ => Flags::default(),
        }
    }

    /// A SYN-ACK has come.
    pub(super) fn agree_on_ecn(&mut self, syn_ack: Flags) {
        let mode = match self.settings.tcp.ecn {
            Ecn::Switch(false) => Mode::NotEcn,
            Ecn::Switch(true) if syn_ack.has(Flags::ECE) && !syn_ack.has(Flags::CWR) => {
                Mode::Classic
            }
            Ecn::Switch(true) => Mode::NotEcn,
            Ecn::Word(_) => Mode::of_answer(syn_ack),
        };
        (self.ecn, self.is_accurate) = (mode != Mode::NotEcn, mode == Mode::Accurate);
        self.rare.accurate.opening = Some(accurate_ecn::handshake_flags(syn_ack));
    }

    /// The other end can do the same.
    pub(super) fn assume_ecn(&mut self) {
        let ecn = self.settings.tcp.ecn;
        (self.ecn, self.is_accurate) = (ecn.is_on(), ecn == Ecn::ACCURATE);
    }

    /// With what a segment says of marks on those that came from the other end: acknowledgements are not
    /// ECN-capable, so there are none.
    pub(super) fn with_feedback(&mut self, flags: Flags, carries_data: bool) -> Flags {
        if !self.is_accurate || flags.has(Flags::SYN) {
            return flags;
        }
        let opening = match carries_data {
            true => None,
            false => self.rare.accurate.opening.take(),
        };
        flags | opening.unwrap_or(accurate_ecn::FIELD_WITHOUT_MARKS)
    }

    /// Notes what an acknowledgement says of marks. `prior_delivered_pkts`: before what it SACKs was entered.
    pub(super) fn enter_marks(
        &mut self,
        segment: &Segment,
        prior_una: u64,
        prior_delivered_pkts: u64,
        summary: &mut AckSummary,
    ) {
        if !self.is_accurate {
            summary.is_echo = self.ecn && segment.flags.has(Flags::ECE);
            return;
        }
        let cumulative_pkts = (self.una - prior_una).div_ceil(u64::from(self.settings.mss_bytes));
        let acked_pkts = cumulative_pkts + self.rate.delivered_pkts - prior_delivered_pkts;
        let echoed = &mut self.rare.accurate.echoed;
        let marked_pkts = echoed.newly_marked(segment.flags, acked_pkts as u32);
        summary.marked_pkts = Some(marked_pkts);
        summary.is_echo = marked_pkts > 0;
    }

    /// Whether a segment would tell of marks.
    pub fn tells_of_marks(&self, flags: Flags) -> bool {
        match self.is_accurate {
            true => self.rare.accurate.echoed.is_moved_by(flags),
            false => flags.has(Flags::ECE),
        }
    }

    /// The acknowledgement of this end's SYN-ACK, with what it says of the mark of that. Returns the segment
    /// as one that tells of no more (RFC 9768 section 3.2.2.1, table 4).
    pub fn take_opening(&mut self, mut segment: Segment) -> Segment {
        if self.is_accurate && segment.payload_bytes == 0 {
            match ace_of(segment.flags) {
                0b000 => self.ecn = false,
                0b110 => self.rare.accurate.echoed.count_syn_ack(),
                _ => {}
            }
            segment.flags = segment.flags.without(Flags::ACE) | self.rare.accurate.echoed.field();
        }
        segment
    }
}
