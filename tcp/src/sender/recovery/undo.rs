//! Undo of spurious reductions.
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 2883 section 5 (Detection of Duplicate Packets), RFC 3708: by DSACK | every retransmission was reported as a duplicate |
//! | RFC 3522, RFC 4015, Eifel | the echoed timestamp is older than the first retransmission |
//! | RFC 5682, F-RTO | `try_undo_loss`, called by the recovery |

use super::super::Sender;
use crate::cca::CaState;
use dumbbell_core::time::Time;

/// State for undoing a reduction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::sender) struct Undo {
    /// First unacknowledged byte at the start of the reduction; None if it cannot be undone (`undo_marker`).
    marker: Option<u64>,
    /// Retransmissions not reported as duplicates; None before the first (`undo_retrans`).
    unanswered: Option<u32>,
    /// The threshold before the reduction; None if it is not restored (`prior_ssthresh`).
    prior_ssthresh_pkts: Option<u32>,
    /// Timestamp of the first retransmission (`retrans_stamp`).
    first_retransmitted_ms: Option<u32>,
}

impl Undo {
    /// A reduction begins, with `copies` retransmissions outstanding.
    fn begin(&mut self, una: u64, copies: u32) {
        self.marker = Some(una);
        self.unanswered = (copies > 0).then_some(copies);
    }

    /// There is nothing to undo.
    pub(super) fn forget(&mut self) {
        self.marker = None;
    }

    /// Whether a reduction can be undone.
    pub(in crate::sender) fn is_possible(&self) -> bool {
        self.marker.is_some()
    }

    /// Whether data ending at `end` was outstanding when the reduction began.
    pub(in crate::sender) fn is_about(&self, end: u64) -> bool {
        self.marker.is_some_and(|marker| end > marker)
    }

    /// A segment is retransmitted.
    pub(in crate::sender) fn on_retransmission(&mut self, stamp_ms: u32) {
        self.first_retransmitted_ms.get_or_insert(stamp_ms);
        self.unanswered = Some(self.unanswered.unwrap_or(0) + 1);
    }

    /// Timestamp of the first retransmission.
    pub(in crate::sender) fn first_retransmitted_ms(&self) -> Option<u32> {
        self.first_retransmitted_ms
    }

    /// No retransmission is outstanding.
    pub(super) fn forget_retransmission(&mut self) {
        self.first_retransmitted_ms = None;
    }

    /// `pkts` retransmissions were reported as duplicates.
    pub(in crate::sender) fn answer(&mut self, pkts: u32) {
        if let Some(unanswered) = &mut self.unanswered {
            *unanswered = unanswered.saturating_sub(pkts);
        }
    }

    /// Whether every retransmission was reported as a duplicate (RFC 3708).
    fn is_answered(&self) -> bool {
        self.unanswered == Some(0)
    }

    /// The threshold that an undo restores; None to leave it.
    pub(super) fn set_prior_ssthresh(&mut self, pkts: Option<u32>) {
        self.prior_ssthresh_pkts = pkts;
    }
}

impl Sender {
    pub(in crate::sender) fn begin_undo(&mut self) {
        let probes = self
            .recovery
            .probe()
            .is_some_and(|probe| probe.is_retransmission);
        let pending = self.board.retrans_out() + u32::from(probes);
        self.rare.repair.undo.begin(self.una, pending);
    }

    pub(super) fn is_any_retransmitted(&self) -> bool {
        let head = self.board.first();
        self.board.retrans_out() > 0 || head.is_some_and(|sent| sent.was_ever_retransmitted())
    }

    /// Whether data was only late: nothing was retransmitted, or the echoed timestamp is older than the first
    /// retransmission (Eifel, RFC 3522).
    pub(super) fn was_only_late(&self) -> bool {
        match self.rare.repair.undo.first_retransmitted_ms {
            Some(first_ms) => self.echo_ms.is_some_and(|echo_ms| echo_ms.get() < first_ms),
            None => self.is_sack() || self.una < self.recovery.point,
        }
    }

    pub(super) fn may_undo(&self) -> bool {
        let undo = &self.rare.repair.undo;
        undo.is_possible() && (undo.is_answered() || self.was_only_late())
    }

    pub(super) fn undo_reduction(&mut self, unmarks: bool) {
        if unmarks {
            self.board.unmark_lost();
            self.rare.repair.judged.restart(self.board.head());
        }
        if let Some(prior_ssthresh) = self.rare.repair.undo.prior_ssthresh_pkts {
            self.cca.on_undo(&mut self.window);
            if prior_ssthresh > self.window.ssthresh_pkts {
                self.window.ssthresh_pkts = prior_ssthresh;
                self.cwr_due = false;
            }
        }
        self.rare.statistics.undo_count += 1;
        self.rare.repair.undo.forget();
        self.rack.set_advanced();
    }

    /// At the end of recovery. Returns whether the state is held until more is acknowledged: without SACK,
    /// late duplicates must not start another recovery (RFC 6582 section 4.1).
    pub(super) fn try_undo_recovery(&mut self, now: Time) -> bool {
        if self.may_undo() {
            self.undo_reduction(false);
        } else {
            self.rack.on_recovered();
        }
        if self.holds_without_sack() {
            return true;
        }
        self.notify_state(CaState::Open, now);
        self.recovery.open();
        false
    }

    pub(super) fn holds_without_sack(&mut self) -> bool {
        let holds = !self.is_sack() && self.una == self.recovery.point;
        if holds && !self.is_any_retransmitted() {
            self.rare.repair.undo.forget_retransmission();
        }
        holds
    }

    /// Every retransmission was reported as a duplicate (RFC 3708).
    pub(super) fn try_undo_by_duplicates(&mut self) -> bool {
        let undo = &self.rare.repair.undo;
        let can = undo.is_possible() && undo.is_answered();
        if can {
            self.rack.on_undone();
            self.undo_reduction(false);
        }
        can
    }

    pub(super) fn try_undo_loss(&mut self, is_frto: bool, now: Time) -> bool {
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
            self.notify_state(CaState::Open, now);
            self.recovery.open();
        }
        true
    }

    /// A partial acknowledgement in recovery, of data that was only late. Returns whether processing is
    /// complete.
    pub(super) fn try_undo_partial(&mut self, prior_una: u64, now: Time) -> bool {
        // The hole filled without a retransmission: reordering.
        self.check_reordering(prior_una);
        if self.board.retrans_out() > 0 {
            return true;
        }
        if !self.is_any_retransmitted() {
            self.rare.repair.undo.forget_retransmission();
        }
        self.undo_reduction(true);
        self.usage.renew(now);
        self.keep_open(now);
        false
    }

    /// The undo state of a timeout.
    pub(in crate::sender) fn reset_undo(&mut self, prior_ssthresh_pkts: u32) {
        self.rare
            .repair
            .undo
            .set_prior_ssthresh(Some(prior_ssthresh_pkts));
        self.begin_undo();
    }
}
