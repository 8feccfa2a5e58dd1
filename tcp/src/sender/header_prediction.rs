//! Header prediction: an acknowledgement of the expected kind without anything else (V. Jacobson, "4BSD TCP
//! header prediction", 1990; `tcp_rcv_established`).
//!
//! In the state Open, with nothing SACKed, lost or retransmitted, an acknowledgement without SACK blocks,
//! marks or payload needs no checks: it is processed here in the order of `on_ack`. Debug builds take both
//! paths and compare.

use super::acknowledge::{AckSummary, CumulativeAck};
use super::cork::CorkedTail;
use super::recovery::GoesFirst;
use super::{Phase, PollHint, Sender};
use crate::cca::CaState;
use crate::rtt::as_us;
use crate::segment::{Flags, Header, Timestamps};
use dumbbell_core::time::Time;

impl Sender {
    /// Number of packets that a segment without SACK blocks acknowledges; 0 if it needs the general path.
    #[inline(always)]
    pub(super) fn expected_pkts(&self, header: &Header) -> u32 {
        let is_expected = header.flags == Flags::ACK
            && header.payload_bytes == 0
            && header.ack > self.una
            && header.ack <= self.next
            && self.phase == Phase::Established
            && self.recovery.state == CaState::Open
            && !self.recovery.has_probe()
            && self.board.is_plain()
            && !self.recent.is_behind(header.timestamps)
            && !self.is_accurate
            && !self.fin_sent;
        if is_expected {
            self.once_sent_pkts(header.ack)
        } else {
            0
        }
    }

    /// Number of packets acknowledged; 0 if one of them was retransmitted, or was SACKed before the receiver
    /// reneged.
    #[inline(always)]
    fn once_sent_pkts(&self, ack: u64) -> u32 {
        let mut number = self.board.head();
        while number < self.board.tail() {
            let sent = self.board.get(number);
            if sent.end() > ack {
                break;
            }
            if sent.was_ever_retransmitted() || sent.rate_note().is_none() {
                return 0;
            }
            number += 1;
        }
        (number - self.board.head()) as u32
    }

    /// Processes an expected acknowledgement.
    #[inline(always)]
    pub(super) fn on_expected(&mut self, header: &Header, pkts: u32, now: Time) {
        let (now_us, prior_una) = (as_us(now), self.una);
        self.quiet = self.quiet_after_expected();
        self.corked = CorkedTail::No;
        self.has_written = false;
        self.echo_ms = header.timestamps.and_then(Timestamps::echo);
        self.recent.take(header.timestamps);
        self.recovery.goes_first = GoesFirst::Lost;
        self.timers.retransmits = 0;
        let (delivered, prior_in_flight) = (self.rate.delivered_pkts, self.board.packets_out());
        self.una = header.ack;
        self.window_seq = header.seq;
        let is_same_window = header.window_bytes == u64::from(self.window_bytes);
        self.set_window(header.window_bytes);

        let mut summary = AckSummary::new(self.next);
        summary.is_predicted = is_same_window && header.payload_bytes == 0;
        (summary.advances, summary.window_updated) = (true, true);
        (summary.data_acked, summary.sets_timer) = (true, true);
        summary.cleaned_pkts = pkts;
        let (cleaned, lowest) = self.pop_once_sent(pkts, now_us, &mut summary);
        let first_us = cleaned.first_us.unwrap_or(now_us);
        let rtt_us = now_us.saturating_sub(cleaned.last_us);
        summary.is_probably_delayed = self.is_lone_runt(&cleaned, 0, prior_una, &summary);
        self.measure(
            Some(now_us.saturating_sub(first_us)),
            Some(rtt_us),
            now_us,
            &mut summary,
        );
        if !self.is_sack() {
            self.on_cumulative_without_sack(cleaned.pkts);
        } else if lowest < prior_una {
            self.check_reordering(lowest);
        }
        self.notify_rtt(rtt_us, false, now);
        self.notify_acked(&summary, now);
        self.update_rack_window(&summary);
        self.set_timer(now);
        let delivered = (self.rate.delivered_pkts - delivered) as u32;
        let ack = self.sample(&summary, now, delivered, 0, prior_in_flight);
        self.control(&ack, &summary, 0);
    }

    /// The poll hint that follows: nothing is lost.
    #[inline(always)]
    fn quiet_after_expected(&self) -> PollHint {
        let is_plain = self.bursts.is_none() && !self.pacing.is_on();
        if is_plain && self.forced.is_none() && !self.must_open {
            PollHint::Going
        } else {
            PollHint::No
        }
    }

    /// As `pop_acked`, if all packets were sent once, in order, so the last is the newest. Also returns the
    /// lowest sequence number.
    #[inline(always)]
    fn pop_once_sent(
        &mut self,
        pkts: u32,
        now_us: u64,
        summary: &mut AckSummary,
    ) -> (CumulativeAck, u64) {
        let mut cleaned = CumulativeAck {
            pkts,
            ..CumulativeAck::default()
        };
        let mut lowest = self.next;
        for left in (0..pkts).rev() {
            let sent = self.board.pop_plain();
            cleaned.last_us = sent.sent_us;
            cleaned.first_us.get_or_insert(sent.sent_us);
            lowest = lowest.min(sent.seq);
            if left > 0 {
                continue;
            }
            if self.is_sack() {
                self.rate.delivered_pkts += u64::from(pkts);
                let min_rtt_us = self.rtt.min_rtt_us();
                self.rack
                    .on_delivered(sent.sent_us, sent.end(), false, now_us, min_rtt_us);
            }
            self.rate.on_delivered(&sent, &mut summary.delivery);
        }
        (cleaned, lowest)
    }
}
