//! Loss recovery: what is taken for lost, the states, and undoing what was for nothing.
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 5681 section 3.2, fast retransmit | as RFC 6675: losses by SACK, or by RACK |
//! | RFC 6675 section 4, IsLost | DupThresh SACKed packets above (`judge_by_count`) |
//! | RFC 6582, NewReno | without SACK: the first packet on each partial acknowledgement |
//! | RFC 8985, RACK | `judge_by_time` |
//! | RFC 5682 section 3.1, F-RTO (section 2.1 without SACK) | `on_alert_in_loss` |
//! | RFC 3708, RFC 2883, undo by DSACK | every copy was reported to be a duplicate |
//! | RFC 3522, RFC 4015, Eifel | the echoed timestamp is older than the first copy |
//! | RFC 3168 section 6.1.2, ECN echo | the window is reduced once a round-trip time |
//!
//! The states and what leads from one to the other are Linux's (`tcp_fastretrans_alert`).

use super::acknowledge::AckSummary;
use super::sack::MOST_REORDERING_PKTS;
use super::{DUPLICATES_THRESHOLD, Sender, Undo};
use crate::cca::State;
use crate::prr::Delivered;
use crate::rack::Reordering;
use crate::rtt::{as_us, from_us};
use dumbbell_core::time::Time;

impl Sender {
    /// Something other than an ordinary acknowledgement in the state Open.
    pub(super) fn on_alert(&mut self, prior_una: u64, now: Time, summary: &mut AckSummary) {
        let is_duplicate = summary.is_duplicate_ack();
        summary.judges_by_count =
            self.judges_always() || is_duplicate || (summary.data_sacked && self.is_sacked_far());
        if self.board.packets_out() == 0 && self.board.sacked_out() > 0 {
            self.board.set_duplicates(0);
        }
        if summary.is_echo {
            self.undo.prior_ssthresh_pkts = None;
        }
        if summary.is_reneging && self.delay_for_reneging(now) {
            summary.sets_timer = false;
            return;
        }
        if self.state == State::Open {
            self.undo.first_retransmitted_ms = None;
        } else if self.una >= self.recovery_point && self.leave(now) {
            return;
        }
        match self.state {
            State::Recovery => self.on_alert_in_recovery(prior_una, is_duplicate, now, summary),
            State::Loss => {
                self.on_alert_in_loss(is_duplicate, now, summary);
                self.judge(now, summary);
                if self.state == State::Open || summary.retransmission_lost {
                    self.on_alert_otherwise(is_duplicate, now, summary);
                }
            }
            _ => self.on_alert_otherwise(is_duplicate, now, summary),
        }
    }

    /// What was out when the state began has been acknowledged. Returns whether nothing more is
    /// to be done.
    fn leave(&mut self, now: Time) -> bool {
        match self.state {
            // One more, so that the receiver has seen CWR.
            State::Cwr if self.una != self.recovery_point => {
                self.end_reduction(now);
                self.state = State::Open;
            }
            State::Recovery => {
                if !self.is_sack() {
                    self.board.set_duplicates(0);
                }
                if self.try_undo_recovery() {
                    return true;
                }
                self.end_reduction(now);
            }
            _ => {}
        }
        false
    }

    fn on_alert_in_recovery(
        &mut self,
        prior_una: u64,
        is_duplicate: bool,
        now: Time,
        summary: &mut AckSummary,
    ) {
        if !summary.advances {
            self.add_duplicate(is_duplicate);
        } else if self.undo.marker.is_none() || !self.was_only_late() {
            summary.judges_by_count = self.judges_always() || self.is_sacked_far();
        } else if self.try_undo_partial(prior_una, now) {
            return;
        }
        if self.try_undo_by_duplicates() {
            self.try_open(summary.is_echo, now);
        }
        self.judge(now, summary);
        if self.state != State::Recovery {
            if !self.is_time_to_recover() {
                return;
            }
            self.enter_recovery(summary.is_echo, now);
        }
        if summary.judges_by_count {
            self.judge_by_count(false);
        }
    }

    fn on_alert_otherwise(&mut self, is_duplicate: bool, now: Time, summary: &mut AckSummary) {
        if !self.is_sack() {
            if summary.advances {
                self.board.set_duplicates(0);
            }
            self.add_duplicate(is_duplicate);
        }
        if self.state <= State::Disorder {
            self.try_undo_by_duplicates();
        }
        self.judge(now, summary);
        if !self.is_time_to_recover() {
            self.try_open(summary.is_echo, now);
            return;
        }
        self.enter_recovery(summary.is_echo, now);
        if summary.judges_by_count {
            self.judge_by_count(true);
        }
    }

    /// RFC 6675 section 5 judges by every acknowledgement; Linux by duplicates, and by what shows
    /// that DupThresh segments above the first one have come (`tcp_force_fast_retransmit`).
    fn judges_always(&self) -> bool {
        !self.settings.is_linux()
    }

    fn is_sacked_far(&self) -> bool {
        let dup_thresh = u64::from(self.reordering_pkts) * u64::from(self.settings.mss_bytes);
        let highest = self.board.highest_sacked_end();
        highest.is_some_and(|highest| highest > self.una + dup_thresh)
    }

    /// RFC 5682 section 3.1 (2.1 without SACK), and conventional recovery after a timeout.
    fn on_alert_in_loss(&mut self, is_duplicate: bool, now: Time, summary: &AckSummary) {
        let is_recovered = self.una >= self.recovery_point;
        if summary.advances && self.try_undo_loss(false, now) {
            return;
        }
        if self.is_frto {
            // Step 3b: what was not sent again is arriving, so the timeout was spurious.
            if summary.original_delivered && self.try_undo_loss(true, now) {
                return;
            }
            if self.next > self.recovery_point {
                if summary.data_sacked || is_duplicate {
                    self.is_frto = false;
                }
            } else if summary.advances && !is_recovered {
                self.recovery_point = self.next;
                // Step 2b: new data, to see what they bring.
                if self.has_data() && self.window_end > self.next {
                    self.sends_new_first = true;
                    return;
                }
                self.is_frto = false;
            }
        }
        if is_recovered {
            self.try_undo_recovery();
        } else if !self.is_sack() {
            if self.next > self.recovery_point && is_duplicate {
                self.add_duplicate(true);
            } else if summary.advances {
                self.board.set_duplicates(0);
            }
        }
    }

    fn is_time_to_recover(&self) -> bool {
        self.board.lost_out() > 0
            || (!self.is_rack() && self.board.sacked_out() >= self.reordering_pkts)
    }

    /// Fast recovery begins (RFC 6675 section 5).
    pub(super) fn enter_recovery(&mut self, is_echo: bool, now: Time) {
        if !self.is_any_retransmitted() {
            self.undo.first_retransmitted_ms = None;
        }
        self.statistics.recovery_count += 1;
        self.undo.prior_ssthresh_pkts = None;
        self.begin_undo();
        if !matches!(self.state, State::Cwr | State::Recovery) {
            if !is_echo {
                self.undo.prior_ssthresh_pkts = Some(self.current_ssthresh());
            }
            self.begin_reduction();
            let snapshot = self.snapshot(now);
            self.cca.on_loss(&mut self.window, &snapshot);
        }
        self.state = State::Recovery;
    }

    /// RFC 3168 section 6.1.2: as for a loss, once a round-trip time, without sending again.
    fn enter_cwr(&mut self, now: Time) {
        self.undo.prior_ssthresh_pkts = None;
        if self.state < State::Cwr {
            self.undo.marker = None;
            self.begin_reduction();
            let snapshot = self.snapshot(now);
            self.cca.on_ecn(&mut self.window, &snapshot);
            self.state = State::Cwr;
        }
    }

    fn begin_reduction(&mut self) {
        self.recovery_point = self.next;
        self.probe = None;
        self.window.acked_since_growth_pkts = 0;
        self.window.prior_cwnd_pkts = self.window.cwnd_pkts;
        let flight = self.board.packets_out() - self.board.sacked_out();
        self.prr.begin(self.window.cwnd_pkts, flight);
        self.cwr_due = self.ecn;
    }

    fn end_reduction(&mut self, now: Time) {
        let snapshot = self.snapshot(now);
        if !self.cca.owns_recovery() {
            let is_reduced = self.state == State::Cwr || self.undo.marker.is_some();
            if self.window.ssthresh_pkts < crate::cca::INFINITE_SSTHRESH && is_reduced {
                self.window.set_cwnd(self.window.ssthresh_pkts);
            }
        }
        self.usage.renew(now);
        self.cca.on_exit_recovery(&mut self.window, &snapshot);
    }

    /// A probe repaired a loss: the window is reduced as by fast recovery (RFC 8985 section
    /// 7.4.2).
    pub(super) fn judge_probe(&mut self, ack: u64, now: Time, summary: &AckSummary) {
        let Some(probe) = self.probe.filter(|probe| ack >= probe.end) else {
            return;
        };
        let is_pure_duplicate = summary.is_duplicate_ack() && !summary.data_sacked;
        if !probe.is_retransmission || summary.duplicate_of_probe {
            self.probe = None;
        } else if ack > probe.end {
            self.begin_reduction();
            let snapshot = self.snapshot(now);
            self.cca.on_loss(&mut self.window, &snapshot);
            self.state = State::Cwr;
            self.end_reduction(now);
            self.keep_open();
        } else if is_pure_duplicate {
            self.probe = None;
        }
    }

    /// The threshold a later undo restores: in slow start three quarters of the window are good
    /// (`tcp_current_ssthresh`).
    pub(super) fn current_ssthresh(&self) -> u32 {
        let window = &self.window;
        if matches!(self.state, State::Cwr | State::Recovery) {
            window.ssthresh_pkts
        } else {
            let three_quarters = (window.cwnd_pkts >> 1) + (window.cwnd_pkts >> 2);
            window.ssthresh_pkts.max(three_quarters)
        }
    }

    pub(super) fn begin_undo(&mut self) {
        self.undo.marker = Some(self.una);
        let probes = self.probe.is_some_and(|probe| probe.is_retransmission);
        let pending = self.board.retrans_out() + u32::from(probes);
        self.undo.unanswered = (pending > 0).then_some(pending);
    }

    fn is_any_retransmitted(&self) -> bool {
        let head = self.board.first();
        self.board.retrans_out() > 0 || head.is_some_and(|sent| sent.was_ever_retransmitted())
    }

    /// Whether what arrived was only late: nothing was sent again, or the timestamp echoed is
    /// older than the first copy (Eifel, RFC 3522).
    fn was_only_late(&self) -> bool {
        match self.undo.first_retransmitted_ms {
            Some(first_ms) => self
                .echo_ms
                .is_some_and(|echo_ms| echo_ms > 0 && echo_ms < first_ms),
            None => self.is_sack() || self.una < self.recovery_point,
        }
    }

    fn may_undo(&self) -> bool {
        let all_duplicates = self.undo.unanswered == Some(0);
        self.undo.marker.is_some() && (all_duplicates || self.was_only_late())
    }

    fn undo_reduction(&mut self, unmarks: bool) {
        if unmarks {
            self.board.unmark_lost();
            self.judged = (self.board.head(), 0);
        }
        if let Some(prior_ssthresh) = self.undo.prior_ssthresh_pkts {
            self.cca.on_undo(&mut self.window);
            if prior_ssthresh > self.window.ssthresh_pkts {
                self.window.ssthresh_pkts = prior_ssthresh;
                self.cwr_due = false;
            }
        }
        self.statistics.undo_count += 1;
        self.undo.marker = None;
        self.rack.set_advanced();
    }

    /// At the end of recovery. Returns whether the state is held until more is acknowledged:
    /// without SACK, late duplicates must not begin another (RFC 6582 section 4.1).
    fn try_undo_recovery(&mut self) -> bool {
        if self.may_undo() {
            self.undo_reduction(false);
        } else {
            self.rack.on_recovered();
        }
        if self.holds_without_sack() {
            return true;
        }
        self.state = State::Open;
        self.is_reneging = false;
        false
    }

    fn holds_without_sack(&mut self) -> bool {
        let holds = !self.is_sack() && self.una == self.recovery_point;
        if holds && !self.is_any_retransmitted() {
            self.undo.first_retransmitted_ms = None;
        }
        holds
    }

    /// Every copy was reported to be a duplicate (RFC 3708).
    fn try_undo_by_duplicates(&mut self) -> bool {
        let can = self.undo.marker.is_some() && self.undo.unanswered == Some(0);
        if can {
            self.rack.on_undone();
            self.undo_reduction(false);
        }
        can
    }

    fn try_undo_loss(&mut self, is_frto: bool, now: Time) -> bool {
        if !is_frto && !self.may_undo() {
            return false;
        }
        self.undo_reduction(true);
        self.timers.retransmits = 0;
        self.usage.renew(now);
        if self.holds_without_sack() {
            return true;
        }
        if is_frto || self.is_sack() {
            self.state = State::Open;
            self.is_reneging = false;
        }
        true
    }

    /// A partial acknowledgement in recovery, of what was only late. Returns whether nothing more
    /// is to be done.
    fn try_undo_partial(&mut self, prior_una: u64, now: Time) -> bool {
        // The hole filled by itself: reordering.
        self.check_reordering(prior_una);
        if self.board.retrans_out() > 0 {
            return true;
        }
        if !self.is_any_retransmitted() {
            self.undo.first_retransmitted_ms = None;
        }
        self.undo_reduction(true);
        self.usage.renew(now);
        self.keep_open();
        false
    }

    fn try_open(&mut self, is_echo: bool, now: Time) {
        if !self.is_any_retransmitted() {
            self.undo.first_retransmitted_ms = None;
        }
        if is_echo {
            self.enter_cwr(now);
        }
        if self.state != State::Cwr {
            self.keep_open();
        }
    }

    /// Open, or Disorder while something is missing.
    fn keep_open(&mut self) {
        let is_missing = self.board.sacked_out() + self.board.lost_out() > 0;
        let state = if is_missing || self.is_any_retransmitted() {
            State::Disorder
        } else {
            State::Open
        };
        if self.state != state {
            self.state = state;
            self.recovery_point = self.next;
        }
    }

    /// Without SACK a duplicate acknowledgement says that one more packet has arrived.
    fn add_duplicate(&mut self, is_duplicate: bool) {
        if is_duplicate && !self.is_sack() {
            let before = self.board.sacked_out();
            self.board.set_duplicates(before + 1);
            self.limit_duplicates(0);
            self.rate.delivered_pkts += u64::from(self.board.sacked_out() > before);
        }
    }

    /// No more duplicates than packets beside the holes; more of them mean reordering
    /// (`tcp_check_reno_reordering`).
    pub(super) fn limit_duplicates(&mut self, acked_pkts: u32) {
        let out = self.board.packets_out();
        let holes = self.board.lost_out().max(1).min(out);
        if self.board.sacked_out() + holes > out {
            self.board.set_duplicates(out - holes);
            let least = if self.settings.is_linux() {
                0
            } else {
                DUPLICATES_THRESHOLD
            };
            self.reordering_pkts = (out + acked_pkts).clamp(least, MOST_REORDERING_PKTS);
            self.reordering_seen = true;
        }
    }

    /// Takes a packet for lost. In Linux one that was sent again and, by an undo, is not taken for
    /// lost any more keeps its copy (`tcp_mark_skb_lost`).
    pub(super) fn lose(&mut self, number: u64) {
        let sent = self.board.get(number);
        let has_copy = sent.is_retransmitted() && !sent.is_lost() && !sent.is_sacked();
        if has_copy && self.settings.is_linux() {
            self.board.mark_lost_beside_copy(number);
            self.rate.lost_pkts += 1;
        } else if self.board.mark_lost(number) {
            self.rate.lost_pkts += 1;
        }
    }

    /// Looks for losses after an acknowledgement.
    fn judge(&mut self, now: Time, summary: &mut AckSummary) {
        if self.board.packets_out() == 0 {
            return;
        }
        if !self.is_sack() {
            self.judge_without_sack(summary.advances);
        } else if self.is_rack() {
            let copies = self.board.retrans_out();
            if self.rack.take_advanced()
                && let Some(wait_us) = self.judge_by_time(as_us(now))
            {
                self.timers
                    .set_reordering(self.settings.clock, now, wait_us);
                summary.sets_timer = false;
            }
            summary.retransmission_lost |= copies > self.board.retrans_out();
        }
    }

    /// NewReno (RFC 6582): the first packet, on entering recovery and on each partial
    /// acknowledgement.
    fn judge_without_sack(&mut self, advances: bool) {
        let begins =
            self.state < State::Recovery && self.board.sacked_out() >= self.reordering_pkts;
        let is_partial = self.state == State::Recovery && advances;
        if (begins || is_partial) && self.board.first().is_some_and(|head| !head.is_lost()) {
            self.lose(self.board.head());
        }
    }

    /// RACK (RFC 8985 section 6.2 step 5). Returns for how long to wait for what may still come,
    /// microseconds.
    pub(super) fn judge_by_time(&mut self, now_us: u64) -> Option<u64> {
        let window_us = self.rack.window_us(Reordering {
            was_seen: self.reordering_seen,
            is_recovering: self.state >= State::Recovery
                || self.board.sacked_out() >= self.reordering_pkts,
            min_rtt_us: self.rtt.min_rtt_us(),
            srtt_8us: self.rtt.srtt_8us(),
        });
        let (mut wait_us, mut next) = (0, self.board.oldest_in_flight());
        while let Some(number) = next {
            let sent = *self.board.get(number);
            if !self.rack.was_sent_before(sent.sent_us, sent.end()) {
                break;
            }
            next = self.board.next_in_flight(number);
            let remaining_us = self.rack.expires_in_us(sent.sent_us, window_us, now_us);
            if remaining_us <= 0 {
                self.lose(number);
                self.board.forget_time(number);
            } else {
                wait_us = wait_us.max(remaining_us as u64);
            }
        }
        (wait_us > 0).then_some(wait_us)
    }

    /// RFC 6675 section 4: a packet is lost when DupThresh packets above it are SACKed. With
    /// `begins`, the first is lost in any case.
    fn judge_by_count(&mut self, begins: bool) {
        if self.is_rack() || !self.is_sack() {
            return;
        }
        let (mut number, mut below) = self.judged;
        number = number.max(self.board.head());
        while number < self.board.tail() {
            let sent = self.board.get(number);
            if sent.is_sacked() {
                below += 1;
            } else if self.board.sacked_out() - below < self.reordering_pkts {
                break;
            } else if !sent.is_lost() {
                self.lose(number);
            }
            number += 1;
        }
        self.judged = (number, below);
        if begins && self.board.lost_out() == 0 && self.board.packets_out() > 0 {
            self.lose(self.board.head());
        }
    }

    /// After a timeout: what was sent longer than a round-trip time ago is lost, with RACK (RFC
    /// 8985 section 6.3), and everything without (RFC 6675 section 5.1).
    pub(super) fn lose_all(&mut self, now_us: u64) {
        let head = self.board.head();
        self.is_reneging = self.board.first().is_some_and(|sent| sent.is_sacked());
        if self.is_reneging {
            self.board.forget_sacks();
        } else if !self.is_sack() {
            self.board.set_duplicates(0);
        }
        for number in head..self.board.tail() {
            let sent = *self.board.get(number);
            let may_come = self.is_rack()
                && number != head
                && !self.is_reneging
                && self.rack.expires_in_us(sent.sent_us, 0, now_us) > 0;
            if !may_come {
                self.lose(number);
            }
        }
        self.judged = (self.board.tail(), self.board.sacked_out());
    }

    /// RFC 6675's reneging, with a little patience: a timer of half a round-trip time, at least
    /// 10 ms, after which everything SACKed is forgotten (`tcp_check_sack_reneging`).
    fn delay_for_reneging(&mut self, now: Time) -> bool {
        let half_us = (self.rtt.srtt_8us() >> 4).max(10_000);
        self.timers
            .set_retransmit(self.settings.clock, now, from_us(half_us));
        true
    }

    /// The undo state of a timeout.
    pub(super) fn reset_undo(&mut self, prior_ssthresh_pkts: u32) {
        self.undo = Undo {
            prior_ssthresh_pkts: Some(prior_ssthresh_pkts),
            ..self.undo
        };
        self.begin_undo();
    }

    /// The reordering window of RACK has passed (RFC 8985 section 6.2 step 5).
    pub(super) fn on_reordering_timeout(&mut self, now: Time) {
        let (in_flight, lost) = (self.board.in_flight(), self.rate.lost_pkts);
        self.judge_by_time(as_us(now));
        if in_flight != self.board.in_flight() && self.state != State::Recovery {
            self.enter_recovery(false, now);
            if !self.cca.owns_recovery() {
                self.reduce(Delivered {
                    newly_delivered_pkts: 1,
                    newly_lost_pkts: (self.rate.lost_pkts - lost) as u32,
                    advances: false,
                });
            }
        }
        self.rearm_rto(now);
    }
}
