//! The sender's account of its packets in its own host's queue: TCP small queues (`tcp::small_queue`).

use super::cork::CorkedTail;
use super::{PollHint, Sender};
use crate::pacing;
use crate::small_queue::{Candidate, truesize_bytes};
use dumbbell_core::time::Time;

impl Sender {
    /// Whether it must be told of departures and drops in the queue of its host.
    #[inline]
    pub fn has_small_queue(&self) -> bool {
        self.small_queue.is_on()
    }

    /// A packet with this payload is handed to the host's queue, which may have segmented its sk_buff.
    pub fn enter_host_queue(&mut self, payload_bytes: u32, is_cut: bool) {
        if let Some(bursts) = &mut self.bursts {
            // The first segment stands for the whole sk_buff.
            let entered = if is_cut {
                Some(bursts.enter_alone(truesize_bytes(payload_bytes)))
            } else {
                bursts.enter()
            };
            if let Some(truesize_bytes) = entered {
                self.small_queue.enter(truesize_bytes);
            }
            return;
        }
        self.small_queue.enter(truesize_bytes(payload_bytes));
    }

    /// A packet has left the host's queue, or was dropped on arrival. Returns whether `next_timer` is now.
    pub fn leave_host_queue(&mut self, payload_bytes: u32, is_refused: bool, now: Time) -> bool {
        let Some(truesize_bytes) = self.leaving_bytes(payload_bytes, is_refused) else {
            return false;
        };
        let wakes = match is_refused {
            true => self.small_queue.refuse(truesize_bytes, now),
            false => self.small_queue.leave(truesize_bytes, now),
        };
        if wakes {
            self.corked = CorkedTail::No;
            self.quiet = PollHint::No;
            self.recovery.end_waiting();
        }
        wakes
    }

    /// A packet will leave at `at`; packets leave in order.
    pub fn leave_host_queue_at(&mut self, payload_bytes: u32, at: Time) {
        if let Some(truesize_bytes) = self.leaving_bytes(payload_bytes, false) {
            self.small_queue.leave_at(truesize_bytes, at);
        }
    }

    /// Memory released when a packet leaves; None while other segments of its burst are there.
    fn leaving_bytes(&mut self, payload_bytes: u32, is_refused: bool) -> Option<u64> {
        match &mut self.bursts {
            Some(bursts) if is_refused => bursts.leave_last(),
            Some(bursts) => bursts.leave(),
            None => Some(truesize_bytes(payload_bytes)),
        }
    }

    /// Memory of its packets in the host's queue, as far as known.
    pub fn host_queue_bytes(&self) -> u64 {
        self.small_queue.held_bytes()
    }

    /// Processes departures from the host's queue before `bound`.
    #[inline]
    pub fn catch_up_with_host_queue(&mut self, bound: Time) {
        if self.small_queue.catch_up(bound) {
            self.corked = CorkedTail::No;
            self.quiet = PollHint::No;
            self.recovery.end_waiting();
        }
    }

    /// Whether the queue of its host has room for a packet with this payload.
    #[inline]
    pub(super) fn fits_host_queue(&mut self, payload_bytes: u32, is_retransmission: bool) -> bool {
        self.small_queue.allows(&Candidate {
            truesize_bytes: truesize_bytes(payload_bytes),
            is_retransmission,
            packets_out: self.board.packets_out(),
            pacing_rate_bytes_per_s: self.window.pacing_rate_bytes_per_s,
            is_paced: self.pacing.is_on(),
        })
    }

    /// Sets the initial pacing rate from the handshake, for a controller without its own.
    pub(super) fn init_pacing_rate(&mut self) {
        let is_wanted = self.small_queue.is_on() || self.bursts.is_some();
        if is_wanted && !self.cca.owns_recovery() {
            self.window.pacing_rate_bytes_per_s =
                pacing::rate_bytes_per_s(&self.window, 0, self.rtt.srtt_8us());
        }
    }
}
