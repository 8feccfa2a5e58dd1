//! TCP Fast Open (RFC 7413): data sent before the handshake is complete.
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 7413 section 4.2.1, the SYN-ACK acknowledges data of the SYN | `acknowledge_syn_data` |
//! | RFC 7413 section 4.2.1, it does not: the data is sent again | `repeat_syn_data` |
//! | RFC 7413 section 4.2.2, a server sends before its SYN-ACK is acknowledged | `open_unacknowledged` |
//!
//! The sender does not handle cookies.

use super::{Phase, PollHint, Sender};
use crate::rtt::as_us;
use dumbbell_core::time::Time;

impl Sender {
    /// Sends the SYN again now, as if it had been lost, without backoff (`tcp_simple_retransmit`).
    pub fn repeat_syn(&mut self, now: Time) {
        self.quiet = PollHint::No;
        self.rare.handshake.repeat(now);
    }

    /// First unacknowledged byte; 1 is the first of the payload.
    pub fn una(&self) -> u64 {
        self.una
    }

    /// The SYN-ACK also acknowledges `bytes` bytes of the SYN's payload: they count as one packet with it,
    /// and do not open the window (`tcp_rcv_fastopen_synack`).
    ///
    /// Call it before anything is written.
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

    /// The data written and sent was the payload of a SYN that was lost or whose data was not accepted: it is
    /// sent again at once, at `now`, without loss recovery.
    pub fn repeat_syn_data(&mut self, now: Time) {
        self.quiet = PollHint::No;
        // It does not count as an outstanding small segment (`tcp_send_syn_data`).
        self.small_end = 0;
        for number in self.board.head()..self.board.tail() {
            self.lose(number, as_us(now));
        }
    }

    /// Opens the end of a server before the handshake is complete: the SYN has given the window, and ends
    /// before `peer_next`.
    pub fn open_unacknowledged(&mut self, window_bytes: u64, peer_next: u64, now: Time) {
        self.quiet = PollHint::No;
        self.assume_ecn();
        self.peer_next = peer_next;
        self.una = 1;
        self.next = 1;
        self.set_window(window_bytes);
        self.begin_transfer(now);
        // The SYN-ACK is not included yet.
        self.rate.delivered_pkts = 0;
        self.phase = Phase::Established;
    }

    /// The SYN-ACK, sent once at that time, has been acknowledged; None if it was retransmitted. Earlier
    /// measurements from data are kept (`tcp_synack_rtt_meas`).
    pub fn on_syn_ack_acknowledged(&mut self, sent: Option<Time>, now: Time) {
        self.rate.delivered_pkts += 1;
        if let (Some(sent), None) = (sent, self.rtt.srtt()) {
            let rtt_us = as_us(now) - as_us(sent);
            self.enter_rtt(rtt_us, rtt_us, as_us(now));
        }
    }
}
