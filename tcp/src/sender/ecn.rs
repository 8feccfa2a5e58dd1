//! Negotiation of ECN feedback, and its evaluation (RFC 3168, RFC 9768).

use super::Sender;
use super::acknowledge::AckSummary;
use crate::accurate_ecn::{self, EchoedMarks, Mode, ace_of};
use crate::segment::{Flags, Segment};
use dumbbell_spec::tcp::Ecn;

/// Maximum number of SYNs that offer accurate ECN (RFC 9768 section 3.1.4.1).
const ACCURATE_SYNS: u16 = 2;

/// State of a connection with accurate ECN.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct AccurateFeedback {
    echoed: EchoedMarks,
    /// Flags by which the acknowledgement of the SYN-ACK reports its IP-ECN field; None once it is sent.
    opening: Option<Flags>,
}

impl Sender {
    /// ECN flags of a SYN after `sent_before` others. RFC 3168 section 6.1.1.1: a retransmitted SYN does not
    /// offer classic ECN.
    pub(super) fn offered_ecn(&self, sent_before: u16) -> Flags {
        match self.settings.tcp.ecn {
            Ecn::Word(_) if sent_before < ACCURATE_SYNS => accurate_ecn::OFFER,
            Ecn::Switch(true) if sent_before == 0 => Flags::ECE | Flags::CWR,
            _ => Flags::default(),
        }
    }

    /// Takes the negotiated mode from a SYN-ACK.
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

    /// Assumes that the other end supports the same.
    pub(super) fn assume_ecn(&mut self) {
        let ecn = self.settings.tcp.ecn;
        (self.ecn, self.is_accurate) = (ecn.is_on(), ecn == Ecn::ACCURATE);
    }

    /// Adds the feedback on packets from the other end. They are acknowledgements, which are not ECN-capable,
    /// so none is marked.
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

    /// Evaluates the marks that an acknowledgement reports. `prior_delivered_pkts`: delivered packets before
    /// its SACK blocks were processed.
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

    /// Whether a segment reports marks.
    pub fn reports_marks(&self, flags: Flags) -> bool {
        match self.is_accurate {
            true => self.rare.accurate.echoed.is_moved_by(flags),
            false => flags.has(Flags::ECE),
        }
    }

    /// Evaluates the IP-ECN field of the SYN-ACK that its acknowledgement reports. Returns the segment with
    /// flags that report no new mark (RFC 9768 section 3.2.2.1, table 4).
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
