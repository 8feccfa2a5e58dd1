//! Congestion marks (RFC 3168, RFC 8257 section 3.2, RFC 9768 section 3.2).

use super::Receiver;
use crate::accurate_ecn::{MarkCounter, Mode, handshake_flags};
use crate::ecn_option::CountedBytes;
use crate::segment::{Flags, Header};
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Ecn;

impl Receiver {
    /// A SYN has come.
    pub(super) fn agree_on_ecn(&mut self, syn: Flags) {
        // RFC 3168 section 6.1.1: ECN is offered by both bits.
        let offers_classic = syn.has(Flags::ECE | Flags::CWR);
        let mode = match self.settings.tcp.ecn {
            Ecn::Word(_) => Mode::of_offer(syn),
            Ecn::Switch(true) if offers_classic => Mode::Classic,
            Ecn::Switch(_) => Mode::NotEcn,
        };
        self.ecn = mode != Mode::NotEcn;
        self.begin_counting(mode == Mode::Accurate);
        self.rare.opening = Some(handshake_flags(syn));
    }

    /// What its SYN-ACK says (RFC 9768 table 2).
    pub(super) fn answered_ecn(&self) -> Flags {
        match (self.ecn, self.counted) {
            (false, _) => Flags::default(),
            (true, None) => Flags::ECE,
            (true, Some(_)) => self.rare.opening.unwrap_or_default(),
        }
    }

    /// This end has opened the connection, and its next acknowledgement says what the IP header of the
    /// SYN-ACK was (RFC 9768 section 3.2.2.1).
    pub fn take_syn_ack(&mut self, syn_ack: Flags) {
        self.rare.opening = Some(handshake_flags(syn_ack));
        self.has_opened = true;
        if let Some(bytes) = &mut self.rare.bytes {
            bytes.owe_first_ack();
        }
        if syn_ack.has(Flags::CE)
            && let Some(counted) = &mut self.counted
        {
            counted.count(true, false);
        }
    }

    /// The other end can do the same.
    pub(super) fn assume_ecn(&mut self) {
        let ecn = self.settings.tcp.ecn;
        self.ecn = ecn.is_on();
        self.begin_counting(ecn == Ecn::ACCURATE);
    }

    fn begin_counting(&mut self, is_accurate: bool) {
        self.counted = is_accurate.then(MarkCounter::new);
        let tcp = &self.settings.tcp;
        let bytes = || CountedBytes::new(tcp.ecn_option, tcp.ecn_option_beacon).map(Box::new);
        self.rare.bytes = is_accurate.then(bytes).flatten();
    }

    /// A SYN has come again: the SYN-ACK goes out again, and tells of this one's IP header (RFC 9768 section 3.1.4.2).
    pub(super) fn on_syn_again(&mut self, syn: &Header, now: Time) {
        self.rare.opening = Some(handshake_flags(syn.flags));
        self.own_due = now;
    }

    /// RFC 9768 section 3.2: a segment that is acceptable counts, whatever it carries. Without accurate ECN CWR
    /// ends an echo (RFC 3168 section 6.1.3).
    pub(super) fn count_mark(&mut self, segment: &Header) {
        let carries_data = segment.payload_bytes > 0;
        if let Some(counted) = &mut self.counted {
            let is_marked = segment.flags.has(Flags::CE);
            self.acknowledging.is_due |= counted.count(is_marked, carries_data);
            if let Some(bytes) = &mut self.rare.bytes {
                bytes.count(segment.flags, segment.payload_bytes);
            }
        } else if self.ecn && segment.flags.has(Flags::CWR) && !self.settings.echoes_each_mark() {
            self.echoes_mark = false;
            // Its window may be very small now.
            self.acknowledging.is_due |= carries_data;
        }
    }

    /// With the count of marks.
    #[inline(always)]
    pub(super) fn with_counted_marks(&mut self, flags: Flags) -> Flags {
        match &mut self.counted {
            None => flags,
            Some(counted) => {
                let flags = flags.without(Flags::ACE);
                let is_first = std::mem::take(&mut self.has_opened) && flags == Flags::ACK;
                let opening = self.rare.opening.filter(|_| is_first);
                flags | opening.unwrap_or_else(|| counted.flags())
            }
        }
    }

    /// RFC 3168 section 6.1.3.
    pub(super) fn check_mark(&mut self, segment: &Header) {
        if !self.ecn || self.counted.is_some() || self.settings.echoes_each_mark() {
            return;
        }
        if segment.flags.has(Flags::CE) {
            if !self.echoes_mark {
                self.acknowledging
                    .enter_quick_mode_for(2, &self.settings, &self.window);
            }
            self.echoes_mark = true;
            self.has_seen_ect = true;
        } else if segment.flags.has(Flags::ECT) {
            self.has_seen_ect = true;
        } else if self.has_seen_ect {
            // What is sent again is not ECN-capable.
            self.acknowledging
                .enter_quick_mode_for(2, &self.settings, &self.window);
        }
    }

    /// RFC 8257 section 3.2, before a segment is entered: an acknowledgement echoes the mark of all
    /// that it acknowledges. Where marks begin or end, what waits for one is acknowledged first, with
    /// the mark that it had, and the segment at once.
    pub(super) fn separate_marks(&mut self, segment: &Header, now: Time) {
        let is_marked = segment.flags.has(Flags::CE);
        let may_differ = self.ecn
            && self.counted.is_none()
            && self.settings.echoes_each_mark()
            && segment.payload_bytes > 0;
        if !may_differ || is_marked == self.echoes_mark {
            return;
        }
        if self.data.next() > self.acknowledged && self.rare.early.is_none() {
            let early = self.acknowledgement(u64::from(self.own_next), Flags::ACK, now);
            self.rare.early = Some(early);
            self.has_more_to_say = true;
        }
        self.echoes_mark = is_marked;
        self.acknowledging.is_due = true;
    }
}
