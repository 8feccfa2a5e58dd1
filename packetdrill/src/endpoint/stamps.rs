//! Transmit timestamps (`SO_TIMESTAMPING`, Documentation/networking/timestamping.rst).
//!
//! | Linux 6.1 | here |
//! | --- | --- |
//! | the sk_buff with the last byte of a write is marked (`tcp_tx_timestamp`) | `note_stamped_write`, `note_partial_write` |
//! | a later write that appends to this sk_buff moves the mark to its own last byte | the same |
//! | its segment enters the qdisc and leaves for the device, at each transmission (`__dev_queue_xmit`, `skb_tx_timestamp`) | `stamp_sent`: both at the same time, the qdisc being empty |
//! | the byte is acknowledged (`tcp_ack_tstamp`) | `stamp_acknowledged` |

use super::Endpoint;
use crate::plan::stamping::{Stamp, StampFlags, StampPoint};
use dumbbell_core::time::Time;
use dumbbell_tcp::segment::Segment;
use dumbbell_tcp::sender::Sender;
use std::collections::VecDeque;

/// Timestamps requested and generated on a connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Stamps {
    stamping: StampFlags,
    /// Offset of the first byte that is counted.
    counted_from: u64,
    /// Last bytes of the writes that are not yet acknowledged.
    marked: VecDeque<u64>,
    /// Timestamps that the program has not read.
    queued: VecDeque<Stamp>,
    /// Number of timestamps generated.
    made: u32,
}

impl Stamps {
    fn push(&mut self, moment: StampPoint, seq: u64, at: Time) {
        let byte = match self.stamping.tells_byte {
            true => (seq - self.counted_from.min(seq)) as u32,
            false => 0,
        };
        self.made += 1;
        self.queued.push_back(Stamp { moment, byte, at });
    }
}

impl Endpoint {
    /// Sets `SO_TIMESTAMPING`. Bytes are counted from the first that is unacknowledged at this
    /// call.
    pub fn set_stamping(&mut self, stamping: StampFlags) {
        if stamping.tells_byte && !self.stamps.stamping.tells_byte {
            self.stamps.counted_from = self.first_unacknowledged();
        }
        self.stamps.stamping = stamping;
    }

    fn first_unacknowledged(&self) -> u64 {
        self.sender.as_ref().map_or(1, Sender::una)
    }

    /// Records that `bytes` bytes are about to be written; none of them has been sent.
    pub(super) fn note_stamped_write(&mut self, bytes: u64) {
        if self.stamps.stamping == StampFlags::default() || bytes == 0 {
            return;
        }
        let room_bytes = self.sender.as_ref().map_or(0, Sender::room_of_last_bytes);
        if bytes <= room_bytes && self.stamps.marked.back() == Some(&(self.written_end - 1)) {
            self.stamps.marked.pop_back();
        }
        self.stamps.marked.push_back(self.written_end + bytes - 1);
    }

    /// The write was accepted only in part: removes the recorded end, which was not written.
    pub(super) fn forget_stamped_write(&mut self, bytes: u64) {
        if self.stamps.marked.back() == Some(&(self.written_end + bytes - 1)) {
            self.stamps.marked.pop_back();
        }
    }

    /// A non-blocking write ended here after it was accepted in part. Its last byte is stamped if
    /// it is still to be sent (`tcp_write_queue_tail`).
    pub fn note_partial_write(&mut self) {
        let last = self.written_end - 1;
        if self.stamps.stamping != StampFlags::default() && self.sent_end <= last {
            self.stamps.marked.push_back(last);
        }
    }

    /// Stamps a segment that is sent.
    pub(super) fn stamp_sent(&mut self, segment: &Segment, now: Time) {
        let bytes = segment.seq..segment.seq + u64::from(segment.payload_bytes);
        let stamping = self.stamps.stamping;
        for index in 0..self.stamps.marked.len() {
            let last = self.stamps.marked[index];
            if !bytes.contains(&last) {
                continue;
            }
            if stamping.scheduled {
                self.stamps.push(StampPoint::Scheduled, last, now);
            }
            if stamping.sent {
                self.stamps.push(StampPoint::Sent, last, now);
            }
        }
    }

    /// Stamps the marked bytes that have been acknowledged.
    pub(super) fn stamp_acknowledged(&mut self, now: Time) {
        let una = self.first_unacknowledged();
        while let Some(last) = self
            .stamps
            .marked
            .front()
            .copied()
            .filter(|last| *last < una)
        {
            self.stamps.marked.pop_front();
            if self.stamps.stamping.acknowledged {
                self.stamps.push(StampPoint::Acknowledged, last, now);
            }
        }
    }

    /// Takes the oldest timestamp that the program has not read.
    pub fn take_stamp(&mut self) -> Option<Stamp> {
        self.stamps.queued.pop_front()
    }

    /// Whether there are timestamps that the program has not read.
    pub fn has_stamps(&self) -> bool {
        !self.stamps.queued.is_empty()
    }

    /// Number of timestamps generated.
    pub fn stamps_made(&self) -> u32 {
        self.stamps.made
    }
}
