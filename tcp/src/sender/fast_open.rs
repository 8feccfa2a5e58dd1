//! TCP Fast Open (RFC 7413): data that are on their way before the handshake is over.
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 7413 section 4.2.1, the answer acknowledges data of the SYN | `acknowledge_syn_data` |
//! | RFC 7413 section 4.2.1, it does not: they are sent again | `repeat_syn_data` |
//! | RFC 7413 section 4.2.2, a server sends before its SYN-ACK is acknowledged | `open_unacknowledged` |
//!
//! Which cookies there are, and who asks for one, is nothing that a sender knows.

use super::{Phase, PollHint, Sender};
use crate::rtt::as_us;
use dumbbell_core::time::Time;

impl Sender {
    /// The SYN is sent again now, as if it had been lost, but its timer does not back off
    /// (`tcp_simple_retransmit`).
    pub fn repeat_syn(&mut self, now: Time) {
        self.quiet = PollHint::No;
        self.rare.handshake.repeat(now);
    }

    /// First byte that is not acknowledged; 1 is the first of the payload.
    pub fn una(&self) -> u64 {
        self.una
    }

    /// The answer acknowledges `bytes` bytes of the SYN's payload too: they count as one packet with
    /// it, and do not widen the window (`tcp_rcv_fastopen_synack`).
    ///
    /// To be called before anything is written.
    pub fn acknowledge_syn_data(&mut self, bytes: u64) {
        debug_assert_eq!((self.una, self.next, self.written), (1, 1, 1));
        self.una += bytes;
        self.next += bytes;
        self.written += bytes;
        self.window_end += bytes;
        if let Some(bursts) = &mut self.bursts {
            bursts.queue.begin(self.written);
        }
    }

    /// What has been written and sent was the payload of a SYN that was lost, or that the other end did
    /// not take: it is sent again at once, without a state of loss recovery.
    pub fn repeat_syn_data(&mut self) {
        self.quiet = PollHint::No;
        // It was no small segment to be waited for (`tcp_send_syn_data`).
        self.small_end = 0;
        for number in self.board.head()..self.board.tail() {
            self.lose(number);
        }
    }

    /// Opens the end of a server with the handshake still to be finished: the SYN has said how large
    /// the window is, and that it ends before `peer_next`.
    pub fn open_unacknowledged(&mut self, window_bytes: u64, peer_next: u64, now: Time) {
        self.quiet = PollHint::No;
        self.ecn = self.settings.tcp.ecn;
        self.peer_next = peer_next;
        self.una = 1;
        self.next = 1;
        self.set_window(window_bytes);
        self.begin_transfer(now);
        // The SYN-ACK is not among them yet.
        self.rate.delivered_pkts = 0;
        self.phase = Phase::Established;
    }

    /// Its SYN-ACK, sent at that time and once, has been acknowledged; None if it was sent again.
    /// What data have measured before stays (`tcp_synack_rtt_meas`).
    pub fn on_syn_ack_acknowledged(&mut self, sent: Option<Time>, now: Time) {
        self.rate.delivered_pkts += 1;
        if let (Some(sent), None) = (sent, self.rtt.srtt()) {
            let rtt_us = as_us(now) - as_us(sent);
            self.enter_rtt(rtt_us, rtt_us, as_us(now));
        }
    }
}
