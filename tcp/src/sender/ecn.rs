//! Negotiation of ECN feedback, and its evaluation (RFC 3168, RFC 9768).

use super::Sender;
use super::acknowledge::AckSummary;
use crate::accurate_ecn::{self, EchoedMarks, Mode, ace_of};
use crate::ecn_option::{EchoedBytes, LARGEST_BYTES};
use crate::segment::{Flags, Segment};
use dumbbell_spec::tcp::{Ecn, EcnOptionUse};

/// Maximum number of SYNs that offer accurate ECN (RFC 9768 section 3.1.4.1).
const ACCURATE_SYNS: u16 = 2;

/// State of a connection with accurate ECN.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct AccurateFeedback {
    echoed: EchoedMarks,
    /// Flags by which the acknowledgement of the SYN-ACK reports its IP-ECN field; None once it is sent.
    opening: Option<Flags>,
    bytes: EchoedBytes,
    /// Marks in all (`tcpi_delivered_ce`).
    marked_pkts: u64,
    /// Whether data have been sent: the first ones carry the option (RFC 9768 section 3.2.3.2.1).
    has_sent_data: bool,
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
    pub(super) fn with_feedback(&mut self, flags: Flags, payload_bytes: u32) -> Flags {
        if !self.is_accurate || flags.has(Flags::SYN) {
            return flags;
        }
        let accurate = &mut self.rare.accurate;
        let opening = match payload_bytes > 0 {
            true => None,
            false => accurate.opening.take(),
        };
        let is_first = match payload_bytes > 0 {
            true => !std::mem::replace(&mut accurate.has_sent_data, true),
            false => opening.is_some(),
        };
        let has_room = payload_bytes + LARGEST_BYTES <= self.settings.mss_bytes;
        let option = match self.settings.tcp.ecn_option {
            EcnOptionUse::Never => Flags::default(),
            _ if is_first && has_room => Flags::ECN_OPTION,
            _ => Flags::default(),
        };
        flags | option | opening.unwrap_or(accurate_ecn::FIELD_WITHOUT_MARKS)
    }

    /// Takes the option of a SYN-ACK.
    pub(super) fn enter_opening_option(&mut self, syn_ack: &Segment) {
        if let (true, Some(option)) = (self.is_accurate, &syn_ack.ecn_option) {
            self.rare.accurate.bytes.newly_marked_bytes(option);
        }
    }

    /// Marks on its packets, as far as acknowledgements tell; None without accurate ECN.
    pub fn delivered_ce_pkts(&self) -> Option<u64> {
        self.is_accurate.then_some(self.rare.accurate.marked_pkts)
    }

    /// Bytes delivered as ECT(0), CE and ECT(1), as the options say.
    pub fn delivered_ecn_bytes(&self) -> [u32; 3] {
        self.rare.accurate.bytes.delivered()
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
        let (acked_pkts, mss_bytes) = (acked_pkts as u32, self.settings.mss_bytes);
        let AccurateFeedback { echoed, bytes, .. } = &mut self.rare.accurate;
        let option = segment.ecn_option.as_ref();
        let marked_bytes = option.and_then(|option| bytes.newly_marked_bytes(option));
        let marked_pkts = match marked_bytes {
            None => echoed.newly_marked(segment.flags, acked_pkts),
            Some(bytes) => echoed
                .newly_marked_beside(segment.flags, acked_pkts, bytes, mss_bytes)
                .unwrap_or_else(|| {
                    self.ecn = false;
                    0
                }),
        };
        self.rare.accurate.marked_pkts += u64::from(marked_pkts);
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
