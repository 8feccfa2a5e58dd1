//! One connection of a flow: a sender, a receiver, and what is still to be written.

use crate::sim::time::Time;
use crate::tcp::segment::Segment;
use crate::tcp::sender::{Phase, Sender, Statistics};
use crate::tcp::{Settings, receiver::Receiver};

/// What is written without end.
pub const UNLIMITED: u64 = u64::MAX;

/// A sender and its receiver.
#[derive(Debug, Clone)]
pub struct Connection {
    /// In its flow, from 1.
    pub number: u32,
    /// At the sending host.
    pub sender: Sender,
    /// At the receiving host.
    pub receiver: Receiver,
    /// Not yet handed to the sender.
    pub to_write: u64,
    /// Of the transfer; None for one without an end.
    bytes: Option<u64>,
}

/// A segment that a connection sends.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// The segment.
    pub segment: Segment,
    /// By the receiver.
    pub is_reply: bool,
    /// Whether what it carries had been sent before.
    pub is_again: bool,
    /// Payload that is sent for the first time.
    pub new_payload_bytes: u32,
}

impl Connection {
    /// A connection whose SYN is to be sent, to carry a transfer or a stream.
    pub fn new(
        number: u32,
        settings: &Settings,
        to_write: u64,
        bytes: Option<u64>,
        now: Time,
    ) -> Connection {
        let mut sender = Sender::new(settings, now).without_nagle();
        sender.connect(now);
        Connection {
            number,
            sender,
            receiver: Receiver::new(settings),
            to_write,
            bytes,
        }
    }

    /// When one of its timers is due.
    #[inline]
    pub fn due(&self) -> Time {
        self.sender.next_timer().min(self.receiver.next_timer())
    }

    /// Does what is due.
    pub fn on_timer(&mut self, now: Time) {
        self.sender.on_timer(now);
        self.receiver.on_timer(now);
        self.fill(now);
    }

    /// A segment arrives. Returns the payload that has come in order by it, and whether that was
    /// the last of the transfer: then it is closed.
    pub fn on_segment(&mut self, segment: &Segment, is_reply: bool, now: Time) -> (u64, bool) {
        if is_reply {
            self.sender.on_segment(segment, now);
            self.fill(now);
            return (0, false);
        }
        let before = self.receiver.received_payload_bytes();
        self.receiver.on_segment(segment, now);
        let received = self.receiver.received_payload_bytes();
        let is_complete = received > before && self.bytes == Some(received);
        if is_complete {
            self.sender.close();
        }
        (received - before, is_complete)
    }

    /// The next segment to be sent now; call until None.
    pub fn poll(&mut self, now: Time) -> Option<Sent> {
        let before = self.sender.statistics();
        let (again, payload) = (before.retransmitted_pkts, before.sent_payload_bytes);
        if let Some(segment) = self.sender.poll_transmit(now) {
            let after = self.sender.statistics();
            let new = after.sent_payload_bytes - payload;
            return Some(Sent {
                segment,
                is_reply: false,
                is_again: after.retransmitted_pkts > again,
                new_payload_bytes: new as u32,
            });
        }
        let segment = self.receiver.poll_transmit(now)?;
        Some(Sent {
            segment,
            is_reply: true,
            is_again: false,
            new_payload_bytes: 0,
        })
    }

    /// Hands the sender what its buffer takes. As a program that waits until it may write
    /// again: when a third of the buffer is free (`sk_stream_is_writeable`).
    pub fn fill(&mut self, now: Time) {
        if self.to_write == 0 || self.sender.phase() != Phase::Established {
            return;
        }
        if !self.sender.is_writable() {
            return;
        }
        let room = self.sender.room_bytes();
        let bytes = room.min(self.to_write);
        if bytes > 0 {
            self.sender.write(bytes, now);
            if self.to_write != UNLIMITED {
                self.to_write -= bytes;
            }
        }
    }

    /// Whether everything, the FIN included, has been acknowledged.
    pub fn is_finished(&self) -> bool {
        self.sender.phase() == Phase::Finished
    }

    /// Counted by its sender.
    pub fn statistics(&self) -> &Statistics {
        self.sender.statistics()
    }
}
