//! Loss recovery: states and transitions. Loss detection is in `losses`, undo of spurious reductions in
//! `undo`.
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 5681 section 3.2, fast retransmit | as RFC 6675: losses by SACK, or by RACK |
//! | RFC 8985 section 9.3 (Interaction with Congestion Control) | RACK detects losses; PRR decides when they are retransmitted |
//! | RFC 5681 section 4.3 (Loss Recovery Mechanisms): a reduction for each window with losses | yes; also for a lost retransmission, by RACK |
//! | RFC 2018 section 5, reneging | `is_reneging`: a timer, then all SACKs are discarded |
//! | RFC 5682 section 3.1, F-RTO (section 2.1 without SACK) | `on_alert_in_loss` |
//! | RFC 3168 section 6.1.2, ECN echo | the window is reduced once per round-trip time |
//!
//! States and transitions are those of Linux (`tcp_fastretrans_alert`).

mod losses;
mod undo;

use super::acknowledge::AckSummary;
use super::{DUPLICATES_THRESHOLD, Sender};
use crate::cca::CaState;
use crate::prr::Prr;
use crate::rtt::{as_us, from_us};
use crate::segment::SackBlocks;
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Prr as Description;
use losses::Judged;
use undo::Undo;

/// A tail loss probe (RFC 8985 section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Probe {
    /// One past the last byte sent before the probe: TLP.end_seq.
    pub(super) end: u64,
    /// Whether it was a retransmission: TLP.is_retrans.
    pub(super) is_retransmission: bool,
}

/// What an acknowledgement allows first (`tcp_xmit_recovery`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GoesFirst {
    /// Lost packets.
    Lost,
    /// New data (F-RTO step 2b).
    New,
    /// New data, and no lost packets until the next event: they may only be late.
    NewAlone,
    /// New data during a write: lost packets were dropped in the middle of the write, and a write sends new
    /// data only (`tcp_sendmsg_locked`).
    NewOfWrite,
    /// Lost packets, and no new data until the next event: Linux's timers do not look at unsent data
    /// (`tcp_retransmit_timer`, `tcp_rack_reo_timeout`).
    LostAlone,
}

/// Recovery state that every acknowledgement reads.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recovery {
    pub(super) state: CaState,
    /// Recovery ends when this is acknowledged (`high_seq`, RecoveryPoint).
    pub(super) point: u64,
    /// DupThresh, increased when reordering is seen.
    pub(super) reordering_pkts: u32,
    pub(super) reordering_seen: bool,
    pub(super) is_reneging: bool,
    pub(super) is_frto: bool,
    pub(super) goes_first: GoesFirst,
    /// The outstanding tail loss probe: whether it was a retransmission (TLP.is_retrans).
    probe_repeats: Option<bool>,
    /// One past the last byte sent before it (TLP.end_seq).
    probe_end: u64,
}

const _: () = assert!(size_of::<Recovery>() <= 32);

/// State used only during recovery.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RepairState {
    pub(super) undo: Undo,
    pub(super) prr: Prr,
    /// The SACK blocks of the last acknowledgement, which have been processed.
    pub(super) sack_cache: SackBlocks,
    /// Number of segments reported as duplicates.
    pub(super) duplicates_reported: u64,
    pub(super) judged: Judged,
}

impl Recovery {
    /// The initial state.
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

    /// The outstanding probe.
    pub(super) fn probe(&self) -> Option<Probe> {
        self.probe_repeats.map(|is_retransmission| Probe {
            end: self.probe_end,
            is_retransmission,
        })
    }

    /// Whether a probe is outstanding.
    #[inline(always)]
    pub(super) fn has_probe(&self) -> bool {
        self.probe_repeats.is_some()
    }

    /// A probe is sent.
    pub(super) fn begin_probe(&mut self, probe: Probe) {
        self.probe_repeats = Some(probe.is_retransmission);
        self.probe_end = probe.end;
    }

    /// The probe is no longer outstanding.
    pub(super) fn end_probe(&mut self) {
        self.probe_repeats = None;
    }

    /// The host's queue has room again: lost packets go first, also if they waited for the response to new
    /// data (`tcp_tsq_write`).
    pub(super) fn end_waiting(&mut self) {
        if self.goes_first == GoesFirst::NewAlone {
            self.goes_first = GoesFirst::Lost;
        }
    }

    /// A write has ended: lost packets go first again.
    pub(super) fn end_write(&mut self) {
        if self.goes_first == GoesFirst::NewOfWrite {
            self.goes_first = GoesFirst::Lost;
        }
    }

    /// Whether the window is being reduced.
    pub(super) fn is_reducing(&self) -> bool {
        matches!(self.state, CaState::Cwr | CaState::Recovery)
    }

    /// Returns to the initial state.
    fn open(&mut self) {
        self.state = CaState::Open;
        self.is_reneging = false;
    }

    /// Enters a state that ends at `next`.
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
    /// Whether it discovers that pacing holds it back, so that it continues when the pacing timer expires:
    /// for new data before the windows are checked (`tcp_write_xmit`), for lost packets at the next
    /// transmission (`tcp_xmit_recovery`). After F-RTO's new data it waits for the response.
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

    /// Processes anything but an ordinary acknowledgement in the state Open.
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

    /// All data outstanding at the start of the state has been acknowledged. Returns whether processing is
    /// complete.
    fn leave(&mut self, now: Time) -> bool {
        match self.recovery.state {
            // One more acknowledgement, so that the receiver has seen CWR.
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
            self.judge_by_count(false, as_us(now));
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
            self.judge_by_count(true, as_us(now));
        }
    }

    /// RFC 6675 section 5 evaluates every acknowledgement; Linux duplicates, and acknowledgements showing
    /// that DupThresh segments above the first have arrived (`tcp_force_fast_retransmit`).
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
            // Step 3b: data that was not retransmitted is arriving, so the timeout was spurious.
            if summary.original_delivered && self.try_undo_loss(true, now) {
                return;
            }
            if self.next > self.recovery.point {
                if summary.data_sacked || is_duplicate {
                    self.recovery.is_frto = false;
                }
            } else if summary.advances && !is_recovered {
                self.recovery.point = self.next;
                // Step 2b: sends new data to see the response.
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

    /// RFC 3168 section 6.1.2: as for a loss, once per round-trip time, without retransmission.
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
        self.cwr_due = self.ecn && !self.is_accurate;
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

    /// A probe repaired a loss: the window is reduced as in fast recovery (RFC 8985 section 7.4.2).
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

    /// The threshold that a later undo restores: in slow start three quarters of the window
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

    /// Sets the state to Open, or to Disorder if there are holes.
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

    /// Reneging of RFC 6675, after a delay: a timer of half a round-trip time, at least 10 ms, after which
    /// all SACKs are discarded (`tcp_check_sack_reneging`).
    fn delay_for_reneging(&mut self, now: Time) -> bool {
        let half_us = (self.rtt.srtt_8us() >> 4).max(10_000);
        self.timers
            .set_retransmit(self.settings.clock, now, from_us(half_us));
        true
    }
}
