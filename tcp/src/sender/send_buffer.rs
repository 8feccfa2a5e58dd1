//! The send buffer: how much an application may write before it has to wait.
//!
//! Linux counts memory: of each packet its payload and the structures around it.

use super::Sender;
use super::write_queue::{FollowedBy, WriteBound};
use crate::STRUCTURE_BYTES;
use dumbbell_core::time::Time;

/// Memory at most (`tcp_wmem[2]`), bytes.
const LARGEST_MEMORY_BYTES: u64 = 4 << 20;
/// Segments it holds at least.
const LEAST_PKTS: u32 = 10;

/// How much memory there is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SendBuffer {
    pub(super) memory_bytes: u64,
    /// Whether the size was asked for: then it stays.
    is_fixed: bool,
    /// Whether an application waits that found it full.
    pub(super) is_full: bool,
    /// Something has come from the receiver, and what it lets go was not sent yet.
    pub(super) is_to_check: bool,
    /// What writes could not take, until their application asks, bytes.
    refused_bytes: u32,
}

impl SendBuffer {
    /// Of a size that was asked for, or 0 for one that follows the window.
    pub(super) fn new(asked_bytes: u64) -> SendBuffer {
        SendBuffer {
            // The kernel doubles what it is asked for, to make room for its own structures
            // (socket(7), SO_SNDBUF).
            memory_bytes: 2 * asked_bytes,
            is_fixed: asked_bytes > 0,
            is_full: false,
            is_to_check: false,
            refused_bytes: 0,
        }
    }

    /// There is room for the given number of packets of that memory, unless the size was asked for. It never shrinks.
    fn hold(&mut self, pkts: u64, packet_memory_bytes: u64) {
        if !self.is_fixed {
            let memory_bytes = (pkts * packet_memory_bytes).min(LARGEST_MEMORY_BYTES);
            self.memory_bytes = self.memory_bytes.max(memory_bytes);
        }
    }
}

impl Sender {
    /// Bytes the application may still write before its send buffer is full: the last segment
    /// may be beyond (`sk_stream_memory_free`).
    pub fn room_bytes(&self) -> u64 {
        let memory_bytes = self.send_buffer.memory_bytes;
        if self.bursts.is_some() {
            // The last sk_buff is filled first, whatever the memory.
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

    /// Bytes that what is written next has room for in the last segment, or burst, that is not sent.
    pub fn room_of_last_bytes(&self) -> u64 {
        if self.bursts.is_some() {
            return self.burst_room().0;
        }
        match self.written - self.segment_start() {
            0 => 0,
            used => u64::from(self.settings.mss_bytes) - used,
        }
    }

    /// What may be written until so much waits to be sent, where segments go as they are written, bytes.
    fn room_behind_unsent(&self, most_bytes: u64) -> u64 {
        let mss_bytes = u64::from(self.settings.mss_bytes);
        let by_window = self.window_end.saturating_sub(self.next);
        let pkts = (self.window.cwnd_pkts).saturating_sub(self.board.in_flight());
        let can_go = by_window.min(u64::from(pkts) * mss_bytes) / mss_bytes * mss_bytes;
        let room = (can_go + most_bytes).saturating_sub(self.unsent_bytes());
        room.div_ceil(mss_bytes) * mss_bytes
    }

    /// It takes more only while less than so much waits to be sent (`TCP_NOTSENT_LOWAT`, tcp(7)).
    pub fn limit_unsent(&mut self, most_bytes: u32) {
        self.rare.most_unsent_bytes = most_bytes;
    }

    /// Whether less than half of that waits: so Linux wakes who waits to write (`tcp_stream_memory_free`).
    fn waits_for_little(&self) -> bool {
        let most_bytes = self.rare.most_unsent_bytes;
        most_bytes == u32::MAX || 2 * self.unsent_bytes() < u64::from(most_bytes)
    }

    pub(super) fn most_unsent_bytes(&self) -> u64 {
        u64::from(self.rare.most_unsent_bytes)
    }

    /// Holds so much memory from now on, whatever the window (`SO_SNDBUF`, doubled).
    pub fn fix_send_buffer(&mut self, memory_bytes: u64) {
        self.send_buffer.memory_bytes = memory_bytes;
        self.send_buffer.is_fixed = true;
    }

    /// Holds so much memory at least (`tcp_wmem`, the second).
    pub fn with_send_memory(mut self, memory_bytes: u64) -> Sender {
        self.send_buffer.memory_bytes = self.send_buffer.memory_bytes.max(memory_bytes);
        self
    }

    /// Memory that is free: an sk_buff more may begin where some is.
    pub(super) fn free_memory_bytes(&self) -> u64 {
        let memory_bytes = self.send_buffer.memory_bytes;
        memory_bytes.saturating_sub(self.used_memory_bytes())
    }

    /// Whether an application waits that found it full (`SOCK_NOSPACE`).
    pub fn is_full(&self) -> bool {
        self.send_buffer.is_full
    }

    /// An application waits that could not write all that it wanted.
    pub fn wait_for_space(&mut self) {
        self.send_buffer.is_full = true;
    }

    /// A buffer that its application found full grows, unless the congestion window is full: behind each
    /// sk_buff that is sent, and when what an acknowledgement lets go is sent (`tcp_check_space`,
    /// `tcp_should_expand_sndbuf`).
    pub(super) fn check_space(&mut self) {
        if self.send_buffer.is_full && self.board.in_flight() < self.window.cwnd_pkts {
            self.expand_send_buffer();
        }
    }

    /// All that can go now is sent.
    pub(super) fn after_sending(&mut self) {
        if std::mem::take(&mut self.send_buffer.is_to_check) {
            self.check_space();
        }
        self.send_buffer.is_full |= self.send_buffer.refused_bytes > 0;
    }

    /// The application writes `bytes` bytes, of which the send buffer takes what it has room for. Where
    /// sk_buffs hold several segments, that is looked at for each as they are sent, since those that are cut
    /// have structures of their own. Ask `take_refused` for the rest when nothing more is to be sent.
    pub fn write_what_fits(&mut self, bytes: u32, now: Time) {
        self.write_what_fits_before(bytes, FollowedBy::Anything, now);
    }

    /// The same, which the application says that this follows.
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
        // Otherwise it is full when what was taken is sent.
        self.send_buffer.is_full |= taken == 0;
    }

    /// The rest of a write finds it full.
    pub(super) fn refuse(&mut self, bytes: u32) {
        self.send_buffer.refused_bytes += bytes;
        self.send_buffer.is_full |= bytes > 0;
    }

    /// What writes could not take since this was asked last, bytes.
    pub fn take_refused(&mut self) -> u32 {
        std::mem::take(&mut self.send_buffer.refused_bytes)
    }

    /// Whether an application that waits is woken to write: a third of the buffer is free
    /// (`sk_stream_is_writeable`), and less than half of what may wait to be sent does.
    pub fn is_writable(&self) -> bool {
        let used = self.used_memory_bytes();
        let has_room = self.send_buffer.memory_bytes.saturating_sub(used) >= used / 2;
        has_room && self.waits_for_little()
    }

    /// Memory of what was written and is not acknowledged. Of a packet that is SACKed after its
    /// neighbour only the payload is left: the two become one (`tcp_shift_skb_data`).
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

    /// Bytes written and not acknowledged: the payload in its send buffer.
    pub fn unacknowledged_bytes(&self) -> u64 {
        self.written + self.uncopied_bytes() - self.una.clamp(1, self.written)
    }

    /// The buffer follows the window, with room for two of them, or three with BBR
    /// (`tcp_sndbuf_expand`).
    pub(super) fn expand_send_buffer(&mut self) {
        let pkts = self.window.cwnd_pkts.max(LEAST_PKTS);
        let pkts = pkts.max(self.recovery.reordering_pkts + 1);
        let windows = u64::from(self.cca.send_buffer_windows());
        let packet_memory_bytes = self.settings.tcp.packet_memory_bytes;
        self.send_buffer
            .hold(windows * u64::from(pkts), packet_memory_bytes);
    }
}
