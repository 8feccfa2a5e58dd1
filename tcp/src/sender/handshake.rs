//! Connection setup: the SYN, its timer, and the SYN-ACK; or none of them.
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 9293 section 3.10.7.3, SYN-SENT | `on_syn_ack` |
//! | RFC 6298 section 5.7, SYN | 1 s, doubled |
//! | RFC 3168 section 6.1.1, RFC 9768 section 3.1.4.1 | ECN is offered by the first SYN only, accurate ECN by the second, too |
//! | RFC 6928 section 2, RFC 5681 section 3.1 | the initial window |

use super::transmit::OutgoingSegment;
use super::{Phase, PollHint, Sender};
use crate::receiver::initial_window_bytes;
use crate::rtt::{LARGEST_RTO, as_us};
use crate::segment::{Flags, Segment};
use crate::timestamp_ms;
use dumbbell_core::time::Time;

/// Timeout after a SYN was lost without a measurement (RFC 6298 section 5.7).
const FALLBACK_RTO: Time = Time::from_ns(3_000_000_000);

/// State of the connection setup.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Handshake {
    /// When a SYN must be sent.
    syn_due: Time,
    /// When it was last sent.
    syn_sent: Time,
    /// Whether it is sent again at once, not after a timeout.
    is_at_once: bool,
}

impl Handshake {
    /// Not begun.
    pub(super) fn new() -> Handshake {
        Handshake {
            syn_due: Time::NEVER,
            syn_sent: Time::ZERO,
            is_at_once: false,
        }
    }

    /// Sends it again now.
    pub(super) fn repeat(&mut self, now: Time) {
        (self.syn_due, self.is_at_once) = (now, true);
    }

    /// When a SYN must be sent, until one is answered.
    pub(super) fn syn_due(&self) -> Time {
        self.syn_due
    }
}

impl Sender {
    /// Opens the connection.
    pub fn connect(&mut self, now: Time) {
        self.quiet = PollHint::No;
        if self.settings.tcp.handshake {
            self.phase = Phase::SynSent;
            self.rare.handshake.syn_due = now;
        } else {
            self.begin_open(now);
        }
    }

    /// Opens the connection with known parameters of the other end, except for the round-trip time: RFC 6298
    /// section 2.1 gives one second.
    fn begin_open(&mut self, now: Time) {
        self.assume_ecn();
        self.peer_next = 1;
        self.una = 1;
        self.next = 1;
        self.set_window(initial_window_bytes(&self.settings));
        self.begin_transfer(now);
        self.phase = Phase::Established;
    }

    /// RFC 9293 section 3.10.7.3: SYN-SENT.
    pub(super) fn on_syn_ack(&mut self, segment: &Segment, now: Time) {
        if !segment.flags.has(Flags::SYN | Flags::ACK) || segment.ack != 1 {
            return;
        }
        let now_us = as_us(now);
        self.agree_on_ecn(segment.flags);
        self.enter_opening_option(segment);
        self.peer_next = segment.end();
        self.una = 1;
        self.next = 1;
        self.set_window(segment.window_bytes);
        // Karn's algorithm: only a SYN sent once is timed; with timestamps any.
        let sent_us = as_us(self.rare.handshake.syn_sent);
        if self.timers.retransmits == 0 {
            self.enter_rtt(now_us - sent_us, now_us - sent_us, now_us);
        } else if let Some(echo_ms) = segment.timestamps.map(|stamps| stamps.echo_ms) {
            let rtt_ms = timestamp_ms(now).saturating_sub(echo_ms).max(1);
            let rtt_us = u64::from(rtt_ms) * 1000;
            self.enter_rtt(rtt_us, rtt_us, now_us);
        } else {
            self.timers.rto = FALLBACK_RTO;
        }
        if self.is_sack() && !self.rare.is_answering {
            // The SYN counts as a packet sent and delivered (`tcp_rack_advance`).
            let was_again = self.timers.retransmits > 0;
            let min_rtt_us = self.rtt.min_rtt_us();
            self.rack
                .on_delivered(sent_us, self.una, was_again, now_us, min_rtt_us);
        }
        self.begin_transfer(now);
        self.timers.clear();
        self.timers.retransmits = 0;
        self.phase = Phase::Established;
        self.must_ack = true;
        self.must_open = true;
    }

    /// The initial window (RFC 6928); one segment after a SYN was lost (RFC 5681 section 3.1; in Linux after
    /// two were).
    pub(super) fn begin_transfer(&mut self, now: Time) {
        let tolerated = u16::from(self.settings.is_linux());
        if self.timers.retransmits > tolerated {
            self.window.set_cwnd(1);
        }
        self.rate.delivered_pkts = 1;
        self.rate.delivered_time_us = as_us(now);
        self.rare.repair.judged.restart(self.board.head());
        self.usage.renew(now);
        self.expand_send_buffer();
        self.init_pacing_rate();
        let snapshot = self.snapshot(now);
        self.update_view(now);
        self.cca.init(&mut self.window, &snapshot);
    }

    pub(super) fn transmit_syn(&mut self, now: Time) -> Option<OutgoingSegment> {
        if self.rare.handshake.syn_due > now {
            return None;
        }
        let is_repeated = self.last_sent().is_some();
        self.on_syn_sent(is_repeated, now);
        self.last_sent = now;
        let flags = Flags::SYN | self.offered_ecn(self.timers.retransmits);
        debug_assert_eq!(self.peer_next, 0, "a SYN acknowledges nothing");
        Some(OutgoingSegment::without_payload(0, flags))
    }

    /// A SYN is sent now; schedules the next one (RFC 6298 section 5.7).
    fn on_syn_sent(&mut self, is_repeated: bool, now: Time) {
        debug_assert_eq!(self.phase, Phase::SynSent);
        if is_repeated {
            self.timers.count_timeout();
            if !std::mem::take(&mut self.rare.handshake.is_at_once) {
                self.rare.statistics.rto_count += 1;
                self.timers.rto = Time(2 * self.timers.rto.0).min(LARGEST_RTO);
            }
        }
        self.rare.handshake.syn_sent = now;
        let clock = self.settings.clock;
        self.rare.handshake.syn_due = clock.expiry(now, self.timers.rto);
    }
}
