//! The send buffer: how much an application may write before it must wait.
//!
//! Linux accounts memory: the payload of each packet and its structures.

use super::Sender;
use super::write_queue::{FollowedBy, WriteBound};
use crate::STRUCTURE_BYTES;
use dumbbell_core::time::Time;

/// Maximum memory (`tcp_wmem[2]`), bytes.
const LARGEST_MEMORY_BYTES: u64 = 4 << 20;
/// Minimum capacity in segments.
const LEAST_PKTS: u32 = 10;

/// State of the send buffer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SendBuffer {
    pub(super) memory_bytes: u64,
    /// Whether the size was set: then it is fixed.
    is_fixed: bool,
    /// Whether an application waits because it was full.
    pub(super) is_full: bool,
    /// Whether something has arrived from the receiver, and the transmissions that it allows are not
    /// complete.
    pub(super) is_to_check: bool,
    /// Bytes of writes not accepted yet, until the application asks.
    refused_bytes: u32,
}

impl SendBuffer {
    /// A buffer of the requested size, or 0 for auto-tuning.
    pub(super) fn new(asked_bytes: u64) -> SendBuffer {
        SendBuffer {
            // The kernel doubles the requested size, to make room for its own structures (socket(7),
            // SO_SNDBUF).
            memory_bytes: 2 * asked_bytes,
            is_fixed: asked_bytes > 0,
            is_full: false,
            is_to_check: false,
            refused_bytes: 0,
        }
    }

    /// Makes room for this number of packets of this memory, unless the size is fixed. It never shrinks.
    fn hold(&mut self, pkts: u64, packet_memory_bytes: u64) {
        if !self.is_fixed {
            let memory_bytes = (pkts * packet_memory_bytes).min(LARGEST_MEMORY_BYTES);
            self.memory_bytes = self.memory_bytes.max(memory_bytes);
        }
    }
}

impl Sender {
    /// Bytes that the application may still write before the buffer is full: the last segment may exceed it
    /// (`sk_stream_memory_free`).
    pub fn room_bytes(&self) -> u64 {
        let memory_bytes = self.send_buffer.memory_bytes;
        if self.bursts.is_some() {
            // The last sk_buff is filled first, regardless of memory.
            let (room, full) = self.burst_room();
            let free = memory_bytes.saturating_sub(self.used_memory_bytes() + room);
            return room + free.div_ceil(full + STRUCTURE_BYTES) * full;
        }
        let free = memory_bytes.saturating_sub(self.used_memory_bytes());
        let mss_bytes = u64::from(self.settings.mss_bytes);
        let room = free.div_ceil(mss_bytes + STRUCTURE_BYTES) * mss_bytes;
        match self.rare.most_unsent_bytes {
            u32::MAX => room,
            most_bytes => room.min(self.room_behind_unsent(u64::from(most_bytes))),
        }
    }

    /// Room in the last unsent segment or burst, bytes.
    pub fn room_of_last_bytes(&self) -> u64 {
        if self.bursts.is_some() {
            return self.burst_room().0;
        }
        match self.written - self.segment_start() {
            0 => 0,
            used => u64::from(self.settings.mss_bytes) - used,
        }
    }

    /// Room until this amount is unsent, where segments are sent as written, bytes.
    fn room_behind_unsent(&self, most_bytes: u64) -> u64 {
        let mss_bytes = u64::from(self.settings.mss_bytes);
        let by_window = self.window_end.saturating_sub(self.next);
        let pkts = (self.window.cwnd_pkts).saturating_sub(self.board.in_flight());
        let can_go = by_window.min(u64::from(pkts) * mss_bytes) / mss_bytes * mss_bytes;
        let room = (can_go + most_bytes).saturating_sub(self.unsent_bytes());
        room.div_ceil(mss_bytes) * mss_bytes
    }

    /// Accepts writes only while less than this is unsent (`TCP_NOTSENT_LOWAT`, tcp(7)).
    pub fn limit_unsent(&mut self, most_bytes: u32) {
        self.rare.most_unsent_bytes = most_bytes;
    }

    /// Whether less than half of that limit is unsent: Linux then wakes the writer
    /// (`tcp_stream_memory_free`).
    fn waits_for_little(&self) -> bool {
        let most_bytes = self.rare.most_unsent_bytes;
        most_bytes == u32::MAX || 2 * self.unsent_bytes() < u64::from(most_bytes)
    }

    pub(super) fn most_unsent_bytes(&self) -> u64 {
        u64::from(self.rare.most_unsent_bytes)
    }

    /// Fixes the size of the buffer (`SO_SNDBUF`, doubled).
    pub fn fix_send_buffer(&mut self, memory_bytes: u64) {
        self.send_buffer.memory_bytes = memory_bytes;
        self.send_buffer.is_fixed = true;
    }

    /// Sets the minimum memory (`tcp_wmem`, the second value).
    pub fn with_send_memory(mut self, memory_bytes: u64) -> Sender {
        self.send_buffer.memory_bytes = self.send_buffer.memory_bytes.max(memory_bytes);
        self
    }

    /// Free memory: a new sk_buff may start while there is any.
    pub(super) fn free_memory_bytes(&self) -> u64 {
        let memory_bytes = self.send_buffer.memory_bytes;
        memory_bytes.saturating_sub(self.used_memory_bytes())
    }

    /// Whether an application waits because it was full (`SOCK_NOSPACE`).
    pub fn is_full(&self) -> bool {
        self.send_buffer.is_full
    }

    /// An application waits that could not write everything.
    pub fn wait_for_space(&mut self) {
        self.send_buffer.is_full = true;
    }

    /// Grows a buffer that was found full, unless the congestion window is full: after each sk_buff sent, and
    /// after the transmissions of an acknowledgement (`tcp_check_space`, `tcp_should_expand_sndbuf`).
    pub(super) fn check_space(&mut self) {
        if self.send_buffer.is_full && self.board.in_flight() < self.window.cwnd_pkts {
            self.expand_send_buffer();
        }
    }

    /// All that can be sent now is sent.
    pub(super) fn after_sending(&mut self) {
        if std::mem::take(&mut self.send_buffer.is_to_check) {
            self.check_space();
        }
        self.send_buffer.is_full |= self.send_buffer.refused_bytes > 0;
    }

    /// The application writes `bytes` bytes, of which the buffer accepts what fits. With sk_buffs of several
    /// segments this is evaluated for each as it is sent, because split sk_buffs have structures of their
    /// own. Call `take_refused` for the rest when nothing more can be sent.
    pub fn write_what_fits(&mut self, bytes: u32, now: Time) {
        self.write_what_fits_before(bytes, FollowedBy::Anything, now);
    }

    /// As `write_what_fits`, with what the application says follows.
    pub fn write_what_fits_before(&mut self, bytes: u32, followed_by: FollowedBy, now: Time) {
        if self.bursts.is_some() {
            self.begin_write(now);
            return self.write_in_bursts(u64::from(bytes), WriteBound::Memory, followed_by);
        }
        let taken = u64::from(bytes).min(self.room_bytes());
        let is_whole = taken == u64::from(bytes);
        match followed_by {
            _ if taken == 0 => {}
            FollowedBy::More => self.write_more(taken, now),
            // A record ends with the last byte of its write.
            FollowedBy::Record if is_whole => self.write_record(taken, now),
            FollowedBy::Record | FollowedBy::Anything => self.write(taken, now),
        }
        self.send_buffer.refused_bytes += bytes - taken as u32;
        // Otherwise it becomes full when the accepted data is sent.
        self.send_buffer.is_full |= taken == 0;
    }

    /// The buffer is full for the rest of a write.
    pub(super) fn refuse(&mut self, bytes: u32) {
        self.send_buffer.refused_bytes += bytes;
        self.send_buffer.is_full |= bytes > 0;
    }

    /// Bytes of writes not accepted since the last call.
    pub fn take_refused(&mut self) -> u32 {
        std::mem::take(&mut self.send_buffer.refused_bytes)
    }

    /// Whether a waiting application is woken to write: a third of the buffer is free
    /// (`sk_stream_is_writeable`), and less than half of the unsent limit is used.
    pub fn is_writable(&self) -> bool {
        let used = self.used_memory_bytes();
        let has_room = self.send_buffer.memory_bytes.saturating_sub(used) >= used / 2;
        has_room && self.waits_for_little()
    }

    /// Memory of written, unacknowledged data. A packet SACKed after its neighbour counts only its payload,
    /// because both are merged (`tcp_shift_skb_data`).
    fn used_memory_bytes(&self) -> u64 {
        let mss_bytes = u64::from(self.settings.mss_bytes);
        if let Some(bursts) = &self.bursts {
            let buffers = u64::from(self.board.buffers_out()) + bursts.queue.buffers();
            let copied = self.unacknowledged_bytes() - self.uncopied_bytes();
            return copied + buffers * STRUCTURE_BYTES;
        }
        let unacknowledged = self.unacknowledged_bytes();
        let used = unacknowledged + unacknowledged * STRUCTURE_BYTES / mss_bytes;
        let merged_pkts = if self.is_sack() {
            u64::from(self.board.sacked_out())
        } else {
            0
        };
        used.saturating_sub(merged_pkts * STRUCTURE_BYTES)
    }

    /// Bytes written and not acknowledged.
    pub fn unacknowledged_bytes(&self) -> u64 {
        self.written + self.uncopied_bytes() - self.una.clamp(1, self.written)
    }

    /// Grows the buffer to two windows, or three with BBR (`tcp_sndbuf_expand`).
    pub(super) fn expand_send_buffer(&mut self) {
        let pkts = self.window.cwnd_pkts.max(LEAST_PKTS);
        let pkts = pkts.max(self.recovery.reordering_pkts + 1);
        let windows = u64::from(self.cca.send_buffer_windows());
        let packet_memory_bytes = self.settings.tcp.packet_memory_bytes;
        self.send_buffer
            .hold(windows * u64::from(pkts), packet_memory_bytes);
    }
}
