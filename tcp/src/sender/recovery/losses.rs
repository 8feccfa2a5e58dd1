//! Loss detection, and duplicates without SACK.
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 6675 section 4, IsLost | DupThresh SACKed packets above (`judge_by_count`) |
//! | RFC 6582, NewReno | without SACK: the first packet on each partial acknowledgement |
//! | RFC 8985, RACK | `judge_by_time` |

use super::super::acknowledge::AckSummary;
use super::super::sack::MOST_REORDERING_PKTS;
use super::super::{DUPLICATES_THRESHOLD, Sender};
use crate::cca::CaState;
use crate::prr::Delivered;
use crate::rack::Reordering;
use crate::rtt::as_us;
use dumbbell_core::time::Time;

/// Progress of loss detection without RACK.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(in crate::sender) struct Judged {
    /// Packets from here on have not been judged; may lag behind when all before are acknowledged.
    next: u64,
    /// Number of SACKed packets among those before.
    sacked_pkts: u32,
}

impl Judged {
    /// All packets before `head` are acknowledged; no others were judged.
    pub(in crate::sender) fn restart(&mut self, head: u64) {
        *self = Judged {
            next: head,
            sacked_pkts: 0,
        };
    }

    /// A packet is acknowledged cumulatively.
    pub(in crate::sender) fn on_acked(&mut self, number: u64, is_sacked: bool) {
        if is_sacked && number < self.next {
            self.sacked_pkts -= 1;
        }
    }

    /// The packet behind `number` was merged into it.
    pub(in crate::sender) fn on_collapsed(&mut self, number: u64) {
        self.next -= u64::from(self.next > number + 1);
    }

    /// A packet is SACKed.
    pub(in crate::sender) fn on_sacked(&mut self, number: u64) {
        self.sacked_pkts += u32::from(number < self.next);
    }
}

impl Sender {
    /// Without SACK, a duplicate acknowledgement means that one more packet has arrived.
    pub(super) fn add_duplicate(&mut self, is_duplicate: bool) {
        if is_duplicate && !self.is_sack() {
            let before = self.board.sacked_out();
            self.board.set_duplicates(before + 1);
            self.limit_duplicates(0);
            self.rate.delivered_pkts += u64::from(self.board.sacked_out() > before);
        }
    }

    /// Limits duplicates to the packets besides the holes; more of them mean reordering
    /// (`tcp_check_reno_reordering`).
    pub(in crate::sender) fn limit_duplicates(&mut self, acked_pkts: u32) {
        let out = self.board.packets_out();
        let holes = self.board.lost_out().max(1).min(out);
        if self.board.sacked_out() + holes > out {
            self.board.set_duplicates(out - holes);
            let least = if self.settings.is_linux() {
                0
            } else {
                DUPLICATES_THRESHOLD
            };
            self.recovery.reordering_pkts = (out + acked_pkts).clamp(least, MOST_REORDERING_PKTS);
            self.recovery.reordering_seen = true;
        }
    }

    /// Marks a packet as lost. In Linux a retransmitted packet whose loss mark an undo removed keeps its
    /// retransmission (`tcp_mark_skb_lost`).
    pub(in crate::sender) fn lose(&mut self, number: u64, now_us: u64) {
        let sent = self.board.get(number);
        let has_copy = sent.is_retransmitted() && !sent.is_lost() && !sent.is_sacked();
        if has_copy && self.settings.is_linux() {
            self.board.mark_lost_beside_copy(number);
        } else if !self.board.mark_lost(number) {
            return;
        }
        self.rate.lost_pkts += 1;
        if self.cca.needs_packets() {
            self.notify_lost(&sent, now_us);
        }
    }

    /// Detects losses after an acknowledgement.
    pub(super) fn judge(&mut self, now: Time, summary: &mut AckSummary) {
        if self.board.packets_out() == 0 {
            return;
        }
        if !self.is_sack() {
            self.judge_without_sack(summary.advances, as_us(now));
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

    /// NewReno (RFC 6582): the first packet, at the start of recovery and on each partial acknowledgement.
    pub(super) fn judge_without_sack(&mut self, advances: bool, now_us: u64) {
        let begins = self.recovery.state < CaState::Recovery
            && self.board.sacked_out() >= self.recovery.reordering_pkts;
        let is_partial = self.recovery.state == CaState::Recovery && advances;
        if (begins || is_partial) && self.board.first().is_some_and(|head| !head.is_lost()) {
            self.board.split(self.board.head() + 1);
            self.lose(self.board.head(), now_us);
        }
    }

    /// RACK (RFC 8985 section 6.2 step 5). Returns how long to wait for packets that may still arrive,
    /// microseconds.
    pub(in crate::sender) fn judge_by_time(&mut self, now_us: u64) -> Option<u64> {
        let window_us = self.rack.window_us(Reordering {
            was_seen: self.recovery.reordering_seen,
            is_recovering: self.recovery.state >= CaState::Recovery
                || self.board.sacked_out() >= self.recovery.reordering_pkts,
            min_rtt_us: self.rtt.min_rtt_us(),
            srtt_8us: self.rtt.srtt_8us(),
        });
        let (mut wait_us, mut next) = (0, self.board.oldest_in_flight());
        while let Some(number) = next {
            let sent = self.board.get(number);
            if !self.rack.was_sent_before(sent.sent_us, sent.end()) {
                break;
            }
            next = self.board.next_in_flight(number);
            let remaining_us = self.rack.expires_in_us(sent.sent_us, window_us, now_us);
            if remaining_us <= 0 {
                self.lose(number, now_us);
                self.board.forget_time(number);
            } else {
                wait_us = wait_us.max(remaining_us as u64);
            }
        }
        (wait_us > 0).then_some(wait_us)
    }

    /// RFC 6675 section 4: a packet is lost if DupThresh packets above it are SACKed. With `begins`, the
    /// first is lost in any case.
    pub(super) fn judge_by_count(&mut self, begins: bool, now_us: u64) {
        if self.is_rack() || !self.is_sack() {
            return;
        }
        let Judged {
            next,
            sacked_pkts: mut below,
        } = self.rare.repair.judged;
        let mut number = next.max(self.board.head());
        while number < self.board.tail() {
            let sent = self.board.get(number);
            if sent.is_sacked() {
                below += 1;
            } else if self.board.sacked_out() - below < self.recovery.reordering_pkts {
                break;
            } else if !sent.is_lost() {
                self.lose(number, now_us);
            }
            number += 1;
        }
        self.rare.repair.judged = Judged {
            next: number,
            sacked_pkts: below,
        };
        if begins && self.board.lost_out() == 0 && self.board.packets_out() > 0 {
            let head = self.board.head();
            (head..self.board.end_of_buffer(head)).for_each(|number| self.lose(number, now_us));
        }
    }

    /// After a timeout: with RACK packets sent longer than a round-trip time ago are lost (RFC 8985 section
    /// 6.3), without it all (RFC 6675 section 5.1).
    pub(in crate::sender) fn lose_all(&mut self, now_us: u64) {
        let head = self.board.head();
        self.recovery.is_reneging = self.board.first().is_some_and(|sent| sent.is_sacked());
        if self.recovery.is_reneging {
            self.board.forget_sacks();
        } else if !self.is_sack() {
            self.board.set_duplicates(0);
        }
        let first_end = self.board.end_of_buffer(head);
        for number in head..self.board.tail() {
            let sent = self.board.get(number);
            let may_come = self.is_rack()
                && number >= first_end
                && !self.recovery.is_reneging
                && self.rack.expires_in_us(sent.sent_us, 0, now_us) > 0;
            if !may_come {
                self.lose(number, now_us);
            }
        }
        self.rare.repair.judged = Judged {
            next: self.board.tail(),
            sacked_pkts: self.board.sacked_out(),
        };
    }

    /// The reordering window of RACK has passed (RFC 8985 section 6.2 step 5).
    pub(in crate::sender) fn on_reordering_timeout(&mut self, now: Time) {
        let (in_flight, lost) = (self.board.in_flight(), self.rate.lost_pkts);
        self.judge_by_time(as_us(now));
        if in_flight != self.board.in_flight() && self.recovery.state != CaState::Recovery {
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
        self.retransmits_only();
    }
}
