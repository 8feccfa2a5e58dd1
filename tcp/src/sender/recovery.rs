//! Loss recovery: its states and what leads from one to the other. What is taken for lost is in
//! `losses`, undoing what was for nothing in `undo`.
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 5681 section 3.2, fast retransmit | as RFC 6675: losses by SACK, or by RACK |
//! | RFC 8985 section 9.3 (Interaction with Congestion Control) | RACK finds losses; PRR says when they are sent again |
//! | RFC 5681 section 4.3 (Loss Recovery Mechanisms): a reduction for each window that loses | yes; also with a lost retransmission, by RACK |
//! | RFC 2018 section 5, reneging | `is_reneging`: a timer, then all SACKs are forgotten |
//! | RFC 5682 section 3.1, F-RTO (section 2.1 without SACK) | `on_alert_in_loss` |
//! | RFC 3168 section 6.1.2, ECN echo | the window is reduced once a round-trip time |
//!
//! The states and what leads from one to the other are Linux's (`tcp_fastretrans_alert`).

mod losses;
mod undo;

use super::acknowledge::AckSummary;
use super::{DUPLICATES_THRESHOLD, Sender};
use crate::cca::CaState;
use crate::prr::Prr;
use crate::rtt::from_us;
use crate::segment::SackBlocks;
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Prr as Description;
use losses::Judged;
use undo::Undo;

/// A duplicate of what was sent, sent to find out whether the tail was lost (RFC 8985 section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Probe {
    /// Everything sent when the probe was: TLP.end_seq.
    pub(super) end: u64,
    /// Whether it repeated a segment: TLP.is_retrans.
    pub(super) is_retransmission: bool,
}

/// What an acknowledgement lets go first (`tcp_xmit_recovery`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GoesFirst {
    /// What is lost.
    Lost,
    /// New data (F-RTO step 2b).
    New,
    /// New data, and nothing that is lost before something else happens: it may only be late.
    NewAlone,
    /// New data, as long as a write goes on: what is lost was refused in the middle of it, and a write
    /// sends only what is new (`tcp_sendmsg_locked`).
    NewOfWrite,
    /// What is lost, and nothing new before something else happens: a timer of Linux's does not look at
    /// what waits (`tcp_retransmit_timer`, `tcp_rack_reo_timeout`).
    LostAlone,
}

/// What a sender does about losses: of this every acknowledgement asks something.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recovery {
    pub(super) state: CaState,
    /// When this is acknowledged, recovery is over (`high_seq`, RecoveryPoint).
    pub(super) point: u64,
    /// DupThresh, raised when reordering is seen.
    pub(super) reordering_pkts: u32,
    pub(super) reordering_seen: bool,
    pub(super) is_reneging: bool,
    pub(super) is_frto: bool,
    pub(super) goes_first: GoesFirst,
    /// A tail loss probe that is out, and whether it repeated a segment (TLP.is_retrans).
    probe_repeats: Option<bool>,
    /// Everything sent when it was (TLP.end_seq).
    probe_end: u64,
}

const _: () = assert!(size_of::<Recovery>() <= 32);

/// What is read and changed only while something is missing.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RepairState {
    pub(super) undo: Undo,
    pub(super) prr: Prr,
    /// The blocks of the last acknowledgement: what lies in them has been entered.
    pub(super) sack_cache: SackBlocks,
    /// Segments that were reported to have come twice.
    pub(super) duplicates_reported: u64,
    pub(super) judged: Judged,
}

impl Recovery {
    /// Nothing is missing.
    pub(super) fn new() -> Recovery {
        Recovery {
            state: CaState::Open,
            point: 0,
            reordering_pkts: DUPLICATES_THRESHOLD,
            reordering_seen: false,
            is_reneging: false,
            is_frto: false,
            goes_first: GoesFirst::Lost,
            probe_repeats: None,
            probe_end: 0,
        }
    }

    /// The probe that is out.
    pub(super) fn probe(&self) -> Option<Probe> {
        self.probe_repeats.map(|is_retransmission| Probe {
            end: self.probe_end,
            is_retransmission,
        })
    }

    /// Whether one is out.
    #[inline(always)]
    pub(super) fn has_probe(&self) -> bool {
        self.probe_repeats.is_some()
    }

    /// A probe goes out.
    pub(super) fn begin_probe(&mut self, probe: Probe) {
        self.probe_repeats = Some(probe.is_retransmission);
        self.probe_end = probe.end;
    }

    /// None is out any more.
    pub(super) fn end_probe(&mut self) {
        self.probe_repeats = None;
    }

    /// The queue of its host has room again: what is lost is first, also where it waited for what is said of new
    /// data (`tcp_tsq_write`).
    pub(super) fn end_waiting(&mut self) {
        if self.goes_first == GoesFirst::NewAlone {
            self.goes_first = GoesFirst::Lost;
        }
    }

    /// A write goes on no longer: what is lost is first again.
    pub(super) fn end_write(&mut self) {
        if self.goes_first == GoesFirst::NewOfWrite {
            self.goes_first = GoesFirst::Lost;
        }
    }

    /// Whether the window is being brought down.
    pub(super) fn is_reducing(&self) -> bool {
        matches!(self.state, CaState::Cwr | CaState::Recovery)
    }

    /// Nothing is missing any more.
    fn open(&mut self) {
        self.state = CaState::Open;
        self.is_reneging = false;
    }

    /// Enters a state, of which `next` is the end.
    pub(super) fn enter(&mut self, state: CaState, next: u64) {
        self.state = state;
        self.point = next;
    }
}

impl RepairState {
    /// Nothing was ever missing.
    pub(super) fn new(prr: Description) -> RepairState {
        RepairState {
            undo: Undo::default(),
            prr: Prr::new(prr),
            sack_cache: SackBlocks::default(),
            duplicates_reported: 0,
            judged: Judged::default(),
        }
    }
}

impl Sender {
    /// Whether it finds out that pacing holds it back, so that it goes on when the timer of that is due:
    /// of what is new before it looks at a window (`tcp_write_xmit`), of what is lost where it would
    /// send that next (`tcp_xmit_recovery`). Behind F-RTO's new data it waits for what is said of them.
    pub(super) fn waits_for_pacing(&self) -> bool {
        let looks_for_lost = match self.recovery.goes_first {
            GoesFirst::Lost | GoesFirst::LostAlone => true,
            GoesFirst::New => self.next <= self.recovery.point,
            GoesFirst::NewAlone | GoesFirst::NewOfWrite => false,
        };
        let has_room = self.board.in_flight() < self.window.cwnd_pkts;
        (looks_for_lost && has_room && self.board.next_lost().is_some())
            || (self.recovery.goes_first != GoesFirst::LostAlone && self.has_unsent())
    }

    /// Something other than an ordinary acknowledgement in the state Open.
    pub(super) fn on_alert(&mut self, prior_una: u64, now: Time, summary: &mut AckSummary) {
        let is_duplicate = summary.is_duplicate_ack();
        summary.judges_by_count =
            self.judges_always() || is_duplicate || (summary.data_sacked && self.is_sacked_far());
        if self.board.packets_out() == 0 && self.board.sacked_out() > 0 {
            self.board.set_duplicates(0);
        }
        if summary.is_echo {
            self.rare.repair.undo.set_prior_ssthresh(None);
        }
        if summary.is_reneging && self.delay_for_reneging(now) {
            summary.sets_timer = false;
            return;
        }
        if self.recovery.state == CaState::Open {
            self.rare.repair.undo.forget_retransmission();
        } else if self.una >= self.recovery.point && self.leave(now) {
            return;
        }
        match self.recovery.state {
            CaState::Recovery => self.on_alert_in_recovery(prior_una, is_duplicate, now, summary),
            CaState::Loss => {
                self.on_alert_in_loss(is_duplicate, now, summary);
                self.judge(now, summary);
                if self.recovery.state == CaState::Open || summary.retransmission_lost {
                    self.on_alert_otherwise(is_duplicate, now, summary);
                }
            }
            _ => self.on_alert_otherwise(is_duplicate, now, summary),
        }
    }

    /// What was out when the state began has been acknowledged. Returns whether nothing more is
    /// to be done.
    fn leave(&mut self, now: Time) -> bool {
        match self.recovery.state {
            // One more, so that the receiver has seen CWR.
            CaState::Cwr if self.una != self.recovery.point => {
                self.end_reduction(now);
                self.notify_state(CaState::Open, now);
                self.recovery.state = CaState::Open;
            }
            CaState::Recovery => {
                if !self.is_sack() {
                    self.board.set_duplicates(0);
                }
                if self.try_undo_recovery(now) {
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
        } else if !self.rare.repair.undo.is_possible() || !self.was_only_late() {
            summary.judges_by_count = self.judges_always() || self.is_sacked_far();
        } else if self.try_undo_partial(prior_una, now) {
            // It only clocks out new data (`REXMIT_NONE`).
            self.recovery.goes_first = GoesFirst::NewAlone;
            return;
        }
        if self.try_undo_by_duplicates() {
            self.try_open(summary.is_echo, now);
        }
        self.judge(now, summary);
        if self.recovery.state != CaState::Recovery {
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
        if self.recovery.state <= CaState::Disorder {
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
        let dup_thresh =
            u64::from(self.recovery.reordering_pkts) * u64::from(self.settings.mss_bytes);
        let highest = self.board.highest_sacked_end();
        highest.is_some_and(|highest| highest > self.una + dup_thresh)
    }

    /// RFC 5682 section 3.1 (2.1 without SACK), and conventional recovery after a timeout.
    fn on_alert_in_loss(&mut self, is_duplicate: bool, now: Time, summary: &AckSummary) {
        let is_recovered = self.una >= self.recovery.point;
        if summary.advances && self.try_undo_loss(false, now) {
            return;
        }
        if self.recovery.is_frto {
            // Step 3b: what was not sent again is arriving, so the timeout was spurious.
            if summary.original_delivered && self.try_undo_loss(true, now) {
                return;
            }
            if self.next > self.recovery.point {
                if summary.data_sacked || is_duplicate {
                    self.recovery.is_frto = false;
                }
            } else if summary.advances && !is_recovered {
                self.recovery.point = self.next;
                // Step 2b: new data, to see what they bring.
                if self.has_data() && self.window_end > self.next {
                    self.recovery.goes_first = GoesFirst::New;
                    return;
                }
                self.recovery.is_frto = false;
            }
        }
        if is_recovered {
            self.try_undo_recovery(now);
        } else if !self.is_sack() {
            if self.next > self.recovery.point && is_duplicate {
                self.add_duplicate(true);
            } else if summary.advances {
                self.board.set_duplicates(0);
            }
        }
    }

    fn is_time_to_recover(&self) -> bool {
        self.board.lost_out() > 0
            || (!self.is_rack() && self.board.sacked_out() >= self.recovery.reordering_pkts)
    }

    /// Fast recovery begins (RFC 6675 section 5).
    pub(super) fn enter_recovery(&mut self, is_echo: bool, now: Time) {
        if !self.is_any_retransmitted() {
            self.rare.repair.undo.forget_retransmission();
        }
        self.rare.statistics.recovery_count += 1;
        self.rare.repair.undo.set_prior_ssthresh(None);
        self.begin_undo();
        if !matches!(self.recovery.state, CaState::Cwr | CaState::Recovery) {
            if !is_echo {
                let prior_ssthresh = self.current_ssthresh();
                self.rare
                    .repair
                    .undo
                    .set_prior_ssthresh(Some(prior_ssthresh));
            }
            self.begin_reduction();
            let snapshot = self.snapshot(now);
            self.update_view(now);
            self.cca.on_loss(&mut self.window, &snapshot);
        }
        self.notify_state(CaState::Recovery, now);
        self.recovery.state = CaState::Recovery;
    }

    /// RFC 3168 section 6.1.2: as for a loss, once a round-trip time, without sending again.
    pub(super) fn enter_cwr(&mut self, now: Time) {
        self.rare.repair.undo.set_prior_ssthresh(None);
        if self.recovery.state < CaState::Cwr {
            self.rare.repair.undo.forget();
            self.begin_reduction();
            let snapshot = self.snapshot(now);
            self.update_view(now);
            self.cca.on_ecn(&mut self.window, &snapshot);
            self.notify_state(CaState::Cwr, now);
            self.recovery.state = CaState::Cwr;
        }
    }

    fn begin_reduction(&mut self) {
        self.recovery.point = self.next;
        self.recovery.end_probe();
        self.window.acked_since_growth_pkts = 0;
        self.window.prior_cwnd_pkts = self.window.cwnd_pkts;
        let flight = self.board.packets_out() - self.board.sacked_out();
        self.rare.repair.prr.begin(self.window.cwnd_pkts, flight);
        self.cwr_due = self.ecn;
    }

    fn end_reduction(&mut self, now: Time) {
        let snapshot = self.snapshot(now);
        if !self.cca.owns_recovery() {
            let is_reduced =
                self.recovery.state == CaState::Cwr || self.rare.repair.undo.is_possible();
            if self.window.ssthresh_pkts < crate::cca::INFINITE_SSTHRESH && is_reduced {
                self.window.set_cwnd(self.window.ssthresh_pkts);
            }
        }
        self.usage.renew(now);
        self.update_view(now);
        self.cca.on_exit_recovery(&mut self.window, &snapshot);
    }

    /// A probe repaired a loss: the window is reduced as by fast recovery (RFC 8985 section
    /// 7.4.2).
    pub(super) fn judge_probe(&mut self, ack: u64, now: Time, summary: &AckSummary) {
        let Some(probe) = self.recovery.probe().filter(|probe| ack >= probe.end) else {
            return;
        };
        let is_pure_duplicate = summary.is_duplicate_ack() && !summary.data_sacked;
        if !probe.is_retransmission || summary.duplicate_of_probe {
            self.recovery.end_probe();
        } else if ack > probe.end {
            self.begin_reduction();
            let snapshot = self.snapshot(now);
            self.update_view(now);
            self.cca.on_loss(&mut self.window, &snapshot);
            self.notify_state(CaState::Cwr, now);
            self.recovery.state = CaState::Cwr;
            self.end_reduction(now);
            self.keep_open(now);
        } else if is_pure_duplicate {
            self.recovery.end_probe();
        }
    }

    /// The threshold a later undo restores: in slow start three quarters of the window are good
    /// (`tcp_current_ssthresh`).
    pub(super) fn current_ssthresh(&self) -> u32 {
        let window = &self.window;
        if matches!(self.recovery.state, CaState::Cwr | CaState::Recovery) {
            window.ssthresh_pkts
        } else {
            let three_quarters = (window.cwnd_pkts >> 1) + (window.cwnd_pkts >> 2);
            window.ssthresh_pkts.max(three_quarters)
        }
    }

    fn try_open(&mut self, is_echo: bool, now: Time) {
        if !self.is_any_retransmitted() {
            self.rare.repair.undo.forget_retransmission();
        }
        if is_echo {
            self.enter_cwr(now);
        }
        if self.recovery.state != CaState::Cwr {
            self.keep_open(now);
        }
    }

    /// Open, or Disorder while something is missing.
    fn keep_open(&mut self, now: Time) {
        let is_missing = self.board.sacked_out() + self.board.lost_out() > 0;
        let state = if is_missing || self.is_any_retransmitted() {
            CaState::Disorder
        } else {
            CaState::Open
        };
        if self.recovery.state != state {
            self.notify_state(state, now);
            self.recovery.state = state;
            self.recovery.point = self.next;
        }
    }

    /// RFC 6675's reneging, with a little patience: a timer of half a round-trip time, at least
    /// 10 ms, after which everything SACKed is forgotten (`tcp_check_sack_reneging`).
    fn delay_for_reneging(&mut self, now: Time) -> bool {
        let half_us = (self.rtt.srtt_8us() >> 4).max(10_000);
        self.timers
            .set_retransmit(self.settings.clock, now, from_us(half_us));
        true
    }
}
