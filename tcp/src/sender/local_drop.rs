//! Drops by the queue of its own host: the sender is told at once, and the segment does not count as lost.
//!
//! | Linux 6.1 | here |
//! | --- | --- |
//! | the window is reduced as for a mark (`tcp_enter_cwr` in `__tcp_transmit_skb`) | yes |
//! | new data counts as not sent (`tcp_write_xmit` stops) | yes, also for pacing |
//! | retransmissions stay pending (`tcp_retransmit_skb`), and a write continues without them | yes; a probe counts as sent |
//! | no further attempt until an event: an acknowledgement, and a write after it | yes |
//! | with nothing outstanding, a window probe tries again (`tcp_check_probe_timer`) | yes |
//! | counters of segments and bytes include it (`segs_out`, `bytes_sent`) | yes |
//! | each drop wakes a sender that waits for room in its queue (`tcp_wfree`) | once, until one of its packets has left |
//! | a drop after acceptance (`NET_XMIT_CN` of `red`) is a loss, and the window is reduced | yes |
//! | the same for `fq_codel` over its limit | no: a loss as elsewhere |
//! | a dropped retransmission by timeout is tried again after half a second | no: at the next timeout |
//!
//! Sources: net/ipv4/tcp_output.c, include/linux/netdevice.h.

use super::recovery::GoesFirst;
use super::timers::Purpose;
use super::write_queue::WriteProgress;
use super::{PollHint, Sender};
use dumbbell_core::time::Time;

impl Sender {
    /// The last `pkts` segments, one or those of an sk_buff, were dropped by the queue of its own host. There
    /// is nothing to send until the next event.
    pub fn on_refused(&mut self, pkts: u32, is_retransmission: bool, now: Time) {
        if is_retransmission {
            self.take_back_again(pkts);
        } else {
            self.take_back_new(pkts);
        }
        self.pacing.take_back();
        self.enter_cwr(now);
        self.end_burst(now);
        if self.board.packets_out() == 0 && self.timers_are_idle() {
            self.set_window_probe(now);
        }
        self.recheck_send();
        if !self.tries_again() {
            self.quiet = PollHint::Idle;
            self.recovery.end_write();
        } else if is_retransmission {
            self.recovery.goes_first = GoesFirst::NewOfWrite;
        }
    }

    /// Whether a write in progress tries again: in bursts where it would be sent next, otherwise at its end
    /// if longer than a segment.
    fn tries_again(&mut self) -> bool {
        if let Some(bursts) = &mut self.bursts
            && bursts.queue.writing() != WriteProgress::Nothing
        {
            bursts.queue.go_on();
            return true;
        }
        std::mem::take(&mut self.has_written)
    }

    /// One of its segments was accepted by the queue of its own host and dropped there at once.
    pub fn on_congested_host(&mut self, now: Time) {
        self.recheck_send();
        self.enter_cwr(now);
    }

    /// More than windows and the host's queue may hold back a segment now; an idle hint stays.
    fn recheck_send(&mut self) {
        if self.quiet == PollHint::Going {
            self.quiet = PollHint::No;
        }
    }

    fn take_back_new(&mut self, pkts: u32) {
        let end = self.next;
        let is_pushed = self.board.get(self.board.tail() - 1).is_pushed();
        for _ in 0..pkts {
            self.next = self.board.pop_last().seq;
        }
        if !self.rare.record_ends.is_empty() {
            self.find_record_end();
        }
        self.fin_sent &= end <= self.written;
        let payload_end = end.min(self.written);
        // It counts as sent.
        self.rare.statistics.sent_pkts += u64::from(pkts);
        self.rare.statistics.sent_payload_bytes += payload_end - self.next.min(payload_end);
        let ends_record = self.ends_record(payload_end);
        if let Some(bursts) = &mut self.bursts
            && self.next < payload_end
        {
            bursts.queue.take_back(payload_end, is_pushed, ends_record);
        }
        self.pushes.forget_ahead();
        self.small_end = self.small_end.min(self.next);
        self.burst_pkts = self.burst_pkts.saturating_sub(pkts);
        if self
            .recovery
            .probe()
            .is_some_and(|probe| probe.end > self.next)
        {
            self.recovery.end_probe();
        }
        if self.board.packets_out() == 0 {
            self.forget_timer();
        }
    }

    fn take_back_again(&mut self, pkts: u32) {
        for _ in 0..pkts {
            if let Some(number) = self.board.newest_in_flight()
                && self.board.get(number).is_retransmitted()
            {
                self.board.take_back(number);
                if self.is_reducing() {
                    self.rare.repair.prr.take_back(1);
                }
            }
        }
    }

    fn timers_are_idle(&self) -> bool {
        self.has_unsent() && !self.timers.is_pending(Purpose::WindowProbe)
    }
}
