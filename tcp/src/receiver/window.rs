//! The receive window: fixed, or auto-tuned.
//!
//! | part | published in |
//! | --- | --- |
//! | offered window never shrinks | RFC 9293 section 3.8.6.2.2 |
//! | initial window, scaling | net/ipv4/tcp_output.c, `tcp_select_initial_window`; RFC 7323 section 2 |
//! | growth with each segment (`rcv_ssthresh`) | net/ipv4/tcp_input.c, `tcp_grow_window` |
//! | buffer twice the data read in a round-trip time, and more while that grows | dynamic right-sizing (W. Feng, M. Fisk et al.); `tcp_rcv_space_adjust` |
//!
//! A socket buffer is accounted in memory, half of which is window (`tcp_adv_win_scale` 1). It starts at
//! 131,072 bytes and grows to at most 6 MB (`tcp_rmem`).

use super::reassembly::Reassembly;
use crate::rtt::as_us;
use crate::{STRUCTURE_BYTES, Settings, timestamp_ms};
use dumbbell_core::time::Time;

/// Initial and maximum memory of a socket buffer (`tcp_rmem`).
const FIRST_MEMORY_BYTES: u64 = 131_072;
const MOST_MEMORY_BYTES: u64 = 6_291_456;
/// Memory assumed for a full packet: payload, the kernel's structures (`SKB_TRUESIZE(MAX_TCP_HEADER)`), and
/// further steps until half of it is payload (`tcp_rcv_space_adjust`). As measured: buffers of Linux 6.1 are
/// multiples of 2984 bytes with 1448 bytes of payload, and of 6020 with 2948.
const RECKONED_STRUCTURES_BYTES: u64 = 1024;
const MEMORY_STEP_BYTES: u64 = 128;
/// Largest number of segments merged into one sk_buff: it has 17 fragments (`MAX_SKB_FRAGS`), and some
/// segments take two.
const MOST_SEGMENTS: u64 = 16;
/// Largest window without scaling.
const UNSCALED_BYTES: u64 = 65_535;

/// The state of one receiver.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReceiveWindow {
    // None of these is more than 1 GiB (RFC 7323 section 2.3).
    /// Size of a fixed window; 0 with auto-tuning.
    fixed_bytes: u32,
    mss_bytes: u32,
    memory_bytes: u32,
    /// Largest window that the memory allows.
    clamp_bytes: u32,
    /// Largest window allowed by the segments received so far.
    threshold_bytes: u32,
    /// Last window offered, relative to the acknowledgement number.
    offered_bytes: u32,
    scale: u8,
    /// Payload of the last sk_buff, or of a full segment if larger.
    packet_bytes: u16,
    /// Bytes read in the last round-trip time, and the start of its measurement.
    read_bytes: u32,
    read_from: u64,
    read_since_us: u64,
    /// Eight times the round-trip time estimated by the receiver, microseconds.
    rtt_8us: u32,
    window_seen_end: u64,
    window_seen_us: u64,
    last_echo_ms: u32,
}

/// Half of a buffer's memory is window.
fn window_of(memory_bytes: u64) -> u64 {
    memory_bytes - memory_bytes / 2
}

/// The window scale of a receiver (RFC 7323 section 2).
pub fn scale_of(settings: &Settings) -> u32 {
    let largest = settings.tcp.receive_window_bytes.max(MOST_MEMORY_BYTES);
    largest.ilog2().saturating_sub(15).min(14)
}

/// The initial receive window, bytes.
pub fn initial_window_bytes(settings: &Settings) -> u64 {
    ReceiveWindow::new(settings).initial_bytes()
}

impl ReceiveWindow {
    pub(super) fn new(settings: &Settings) -> ReceiveWindow {
        let (fixed, mss_bytes) = (settings.tcp.receive_window_bytes, settings.mss_bytes);
        let space = match fixed {
            0 => window_of(FIRST_MEMORY_BYTES),
            fixed => fixed,
        };
        let mss = u64::from(mss_bytes);
        let offered_bytes = (space.max(mss) / mss * mss).min(UNSCALED_BYTES) as u32;
        ReceiveWindow {
            fixed_bytes: fixed as u32,
            mss_bytes,
            packet_bytes: mss_bytes as u16,
            memory_bytes: FIRST_MEMORY_BYTES as u32,
            clamp_bytes: space as u32,
            threshold_bytes: offered_bytes,
            offered_bytes,
            scale: scale_of(settings) as u8,
            read_bytes: 0,
            read_from: 0,
            read_since_us: 0,
            rtt_8us: 0,
            window_seen_end: 0,
            window_seen_us: 0,
            last_echo_ms: 0,
        }
    }

    #[inline(always)]
    fn mss(&self) -> u64 {
        u64::from(self.mss_bytes)
    }

    #[inline(always)]
    fn is_fixed(&self) -> bool {
        self.fixed_bytes > 0
    }

    /// The window of the SYN-ACK, unscaled.
    pub(super) fn initial_bytes(&self) -> u64 {
        u64::from(self.offered_bytes)
    }

    /// The connection is open.
    pub(super) fn begin(&mut self, next: u64, now: Time) {
        if self.is_fixed() {
            self.threshold_bytes = self.clamp_bytes;
        } else {
            let largest = window_of(u64::from(self.memory_bytes)) as u32;
            // One segment is reserved for the application.
            self.clamp_bytes = (largest - self.mss_bytes).max(2 * self.mss_bytes);
            self.threshold_bytes = self.threshold_bytes.min(self.clamp_bytes);
        }
        self.read_bytes = self.threshold_bytes.min(10 * self.mss_bytes);
        self.read_from = next;
        self.read_since_us = as_us(now);
    }

    /// The last window offered, relative to the acknowledgement number.
    pub(super) fn last_offered(&self) -> u64 {
        u64::from(self.offered_bytes)
    }

    /// The rest of the window offered with `acknowledged`.
    pub(super) fn offered(&self, next: u64, acknowledged: u64) -> u64 {
        (acknowledged + self.last_offered()).saturating_sub(next)
    }

    /// Eight times the round-trip time, microseconds; 0 if unknown.
    pub(super) fn rtt_8us(&self) -> u64 {
        self.rtt_8us.into()
    }

    fn free_bytes(&self, unread_bytes: u64, data: &Reassembly) -> u64 {
        self.free_bytes_beside(unread_bytes, data, 0)
    }

    /// Free window, excluding `uncounted` memory of received data.
    #[inline]
    fn free_bytes_beside(&self, unread_bytes: u64, data: &Reassembly, uncounted: u64) -> u64 {
        if self.is_fixed() {
            // A fixed window: memory overhead does not count.
            return u64::from(self.fixed_bytes).saturating_sub(unread_bytes);
        }
        let mut memory = unread_bytes + self.unread_structures(unread_bytes) * STRUCTURE_BYTES;
        if data.has_gap() {
            memory += self.beyond_memory_bytes(data) - uncounted;
        }
        window_of(u64::from(self.memory_bytes).saturating_sub(memory))
    }

    /// Bytes of one sk_buff. A segment that adjoins received data is merged into its sk_buff, if there is
    /// room (`tcp_try_coalesce`).
    fn most_bytes(&self) -> u64 {
        (MOST_SEGMENTS * self.mss()).max(self.packet_bytes.into())
    }

    /// Unread sk_buffs: one, unless a gap was filled by a segment that could not be merged with the
    /// out-of-order data.
    #[inline(always)]
    fn unread_structures(&self, unread_bytes: u64) -> u64 {
        if unread_bytes <= self.most_bytes() {
            return u64::from(unread_bytes > 0);
        }
        1 + (unread_bytes - self.mss()).div_ceil(self.most_bytes())
    }

    #[cold]
    fn beyond_memory_bytes(&self, data: &Reassembly) -> u64 {
        let full_ones = data.beyond_bytes().saturating_sub(1) / self.most_bytes();
        data.beyond_bytes() + (data.beyond_blocks() + full_ones) * STRUCTURE_BYTES
    }

    /// An out-of-order segment has arrived; `is_apart` if it adjoins no block: then its memory is not
    /// accounted yet (`tcp_data_queue_ofo`). Returns whether the window may grow.
    #[cold]
    pub(super) fn grow_beyond_gap(
        &mut self,
        payload: u32,
        is_apart: bool,
        unread_bytes: u64,
        data: &Reassembly,
    ) -> bool {
        let uncounted = u64::from(payload) + STRUCTURE_BYTES;
        self.grow_beside(payload, unread_bytes, data, u64::from(is_apart) * uncounted)
    }

    /// A segment has arrived that is large enough relative to its memory. Returns whether the window may
    /// grow.
    #[inline]
    pub(super) fn grow(&mut self, payload: u32, unread_bytes: u64, data: &Reassembly) -> bool {
        self.grow_beside(payload, unread_bytes, data, 0)
    }

    #[inline]
    fn grow_beside(
        &mut self,
        payload: u32,
        unread_bytes: u64,
        data: &Reassembly,
        uncounted: u64,
    ) -> bool {
        // An sk_buff has one set of structures, however many segments it contains.
        self.packet_bytes = payload.max(self.mss_bytes) as u16;
        let memory = u64::from(self.packet_bytes) + STRUCTURE_BYTES;
        let pays = window_of(memory) <= u64::from(payload);
        if self.is_fixed() || self.clamp_bytes <= self.threshold_bytes || !pays {
            return false;
        }
        let free = self.free_bytes_beside(unread_bytes, data, uncounted);
        let room = u64::from(self.clamp_bytes)
            .min(free)
            .saturating_sub(u64::from(self.threshold_bytes));
        if room == 0 {
            return false;
        }
        let growth = 2 * self.mss_bytes.max(payload);
        self.threshold_bytes += room.min(u64::from(growth)) as u32;
        true
    }

    /// Round-trip time, from the time in which a window is filled (`tcp_rcv_rtt_measure`).
    #[inline]
    pub(super) fn measure_by_window(&mut self, next: u64, now: Time) {
        let now_us = as_us(now);
        if self.window_seen_us == 0 || next >= self.window_seen_end {
            if self.window_seen_us > 0 {
                // In the first microsecond the start is later than now.
                let elapsed_us = now_us.saturating_sub(self.window_seen_us);
                self.enter_round_trip(elapsed_us.max(1), false);
            }
            self.window_seen_end = next + self.last_offered();
            self.window_seen_us = now_us.max(1);
        }
    }

    /// Round-trip time from an echoed timestamp (`tcp_rcv_rtt_measure_ts`).
    #[inline]
    pub(super) fn measure_by_echo(&mut self, echo_ms: Option<u32>, is_full: bool, now: Time) {
        let Some(echo_ms) = echo_ms.filter(|echo_ms| *echo_ms != self.last_echo_ms) else {
            return;
        };
        self.last_echo_ms = echo_ms;
        if is_full {
            let elapsed_ms = timestamp_ms(now).saturating_sub(echo_ms).max(1);
            self.enter_round_trip(u64::from(elapsed_ms) * 1000, true);
        }
    }

    fn enter_round_trip(&mut self, rtt_us: u64, is_smoothed: bool) {
        // At most nine minutes.
        let rtt_us = rtt_us.min(u64::from(u32::MAX >> 3)) as u32;
        if self.rtt_8us == 0 || rtt_us << 3 < self.rtt_8us {
            self.rtt_8us = rtt_us << 3;
        } else if is_smoothed {
            self.rtt_8us = self.rtt_8us - (self.rtt_8us >> 3) + rtt_us;
        }
    }

    /// Whether a round-trip time has passed since the last measurement of reading.
    #[inline(always)]
    fn has_round_trip_passed(&self, now: Time) -> bool {
        let elapsed_us = as_us(now).saturating_sub(self.read_since_us);
        self.rtt_8us > 0 && elapsed_us >= u64::from(self.rtt_8us >> 3)
    }

    /// Whether the last measurement covers data before `read`.
    #[cfg(test)]
    pub(super) fn has_measured_up_to(&self, read: u64) -> bool {
        self.read_from == read
    }

    /// Whether reading data before `next` may open the window enough for a window update (`has_opened`), now
    /// or after the buffer grows.
    #[inline(always)]
    pub(super) fn waits_for_reading(
        &self,
        left: u64,
        next: u64,
        data: &Reassembly,
        now: Time,
    ) -> bool {
        self.has_opened(left, data) || self.may_enlarge(next, now)
    }

    #[inline(always)]
    fn may_enlarge(&self, read: u64, now: Time) -> bool {
        read - self.read_from > u64::from(self.read_bytes)
            && !self.is_fixed()
            && self.has_round_trip_passed(now)
    }

    /// The application has read up to here: adjusts the buffer. Evaluated after each sk_buff; the first of an
    /// instant decides.
    pub(super) fn adjust(&mut self, before: u64, read: u64, now: Time) {
        if !self.has_round_trip_passed(now) {
            return;
        }
        let is_one = self.unread_structures(read - before) <= 1;
        let read = if is_one { read } else { before + self.mss() };
        let copied = read - self.read_from;
        if copied > u64::from(self.read_bytes) {
            if !self.is_fixed() {
                self.enlarge(copied);
            }
            self.read_bytes = copied.min(u64::from(u32::MAX)) as u32;
        }
        self.read_from = read;
        self.read_since_us = as_us(now);
    }

    /// Twice the bytes read plus some segments, plus twice the growth.
    fn enlarge(&mut self, copied: u64) {
        let twice = 2 * copied + 16 * self.mss();
        let before = u64::from(self.read_bytes);
        let grown = u128::from(twice) * u128::from(copied - before);
        let grown = (grown / u128::from(before.max(1))) as u64;
        let wanted = twice.saturating_add(grown.saturating_mul(2));
        let mut packet = self.mss() + RECKONED_STRUCTURES_BYTES;
        while window_of(packet) < self.mss() {
            packet += MEMORY_STEP_BYTES;
        }
        let memory = (wanted / self.mss()).saturating_mul(packet);
        let memory = memory.min(MOST_MEMORY_BYTES);
        if memory > u64::from(self.memory_bytes) {
            self.memory_bytes = memory as u32;
            self.clamp_bytes = window_of(memory) as u32;
        }
    }

    /// The window that could be offered.
    fn available(&self, unread_bytes: u64, data: &Reassembly) -> u64 {
        let free = self.free_bytes(unread_bytes, data);
        let full = u64::from(self.clamp_bytes);
        let is_low = free < full / 2;
        if is_low && (free < full / 16 || free < self.mss().min(full)) {
            return 0;
        }
        let window = free.min(u64::from(self.threshold_bytes));
        window.next_multiple_of(1 << self.scale)
    }

    /// Whether at least the last window could be offered.
    pub(super) fn keeps_up(&self, unread_bytes: u64, data: &Reassembly) -> bool {
        self.available(unread_bytes, data) >= self.last_offered()
    }

    /// The window of an acknowledgement. The right edge never moves back.
    pub(super) fn offer(
        &mut self,
        next: u64,
        acknowledged: u64,
        unread_bytes: u64,
        data: &Reassembly,
    ) -> u64 {
        let left = self.offered(next, acknowledged);
        let window = self.available(unread_bytes, data);
        let offered = if window < left {
            left.next_multiple_of(1 << self.scale)
        } else {
            window
        };
        self.offered_bytes = offered as u32;
        offered.min(UNSCALED_BYTES << self.scale)
    }

    /// Whether reading has opened the window enough for a window update: to twice the rest of the last one.
    pub(super) fn has_opened(&self, left: u64, data: &Reassembly) -> bool {
        if 2 * left > u64::from(self.clamp_bytes) {
            return false;
        }
        let window = self.available(0, data);
        window > 0 && window >= 2 * left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cca::Algorithm;
    use dumbbell_spec::Tcp;

    fn window(mtu_bytes: u32) -> ReceiveWindow {
        let settings = Settings::new(Tcp::linux("reno"), Algorithm::Reno, mtu_bytes, 1000);
        let mut window = ReceiveWindow::new(&settings);
        window.begin(1, Time::from_ns(1_000_000_000));
        window
    }

    /// `SO_RCVBUF` as Linux 6.1 made it of connections over 100 Mbit/s and 40 ms.
    #[test]
    fn a_buffer_grows_by_what_linux_reckons_a_segment_takes() {
        for (mtu_bytes, packet, seen) in [(1500, 2984, 5_878_480), (3000, 6020, 4_816_000)] {
            assert_eq!(seen % packet, 0);
            let mut window = window(mtu_bytes);
            window.enlarge(60_000);
            assert!(u64::from(window.memory_bytes) > FIRST_MEMORY_BYTES);
            assert_eq!(window.memory_bytes % packet, 0);
        }
    }

    /// What came in 40 segments that joined has four sets of structures, what came as one packet one.
    #[test]
    fn a_super_packet_has_one_structure() {
        let (mut one, mut several) = (window(1500), window(1500));
        let unread = 40 * one.mss();
        let data = Reassembly::default();
        one.grow(unread as u32, unread, &data);
        several.grow(one.mss_bytes, unread, &data);
        let left =
            |structures: u64| window_of(FIRST_MEMORY_BYTES - unread - structures * STRUCTURE_BYTES);
        assert_eq!(one.free_bytes(unread, &data), left(1));
        assert_eq!(several.free_bytes(unread, &data), left(4));
    }

    /// Two blocks beyond a gap, of which one has come in this instant.
    #[test]
    fn what_comes_beyond_a_gap_is_counted_after_the_window_has_grown() {
        let window = window(1500);
        let (mss, mut data) = (window.mss(), Reassembly::default());
        data.begin(1);
        data.insert(1 + mss, 1 + 3 * mss);
        let begun = data.insert(1 + 5 * mss, 1 + 6 * mss).begins_block;
        assert!(begun && !data.insert(1 + 3 * mss, 1 + 4 * mss).begins_block);
        let (memory, latest) = (4 * mss + 2 * STRUCTURE_BYTES, mss + STRUCTURE_BYTES);
        let left = |memory: u64| window_of(FIRST_MEMORY_BYTES - memory);
        assert_eq!(window.free_bytes(0, &data), left(memory));
        assert_eq!(
            window.free_bytes_beside(0, &data, latest),
            left(memory - latest)
        );
    }

    fn at_us(us: u64) -> Time {
        Time::from_ns(1_000_000_000 + 1000 * us)
    }

    /// `time < (rtt_us >> 3)` of `tcp_rcv_space_adjust`: at the tie it is measured.
    #[test]
    fn what_was_read_is_measured_when_a_round_trip_has_passed() {
        for (elapsed_us, is_measured) in [(39_999, false), (40_000, true), (40_001, true)] {
            let mut window = window(1500);
            window.enter_round_trip(40_000, true);
            let memory_bytes = window.memory_bytes;
            window.adjust(1, 20_001, at_us(elapsed_us));
            assert_eq!(window.memory_bytes > memory_bytes, is_measured);
            assert_eq!(window.read_from == 20_001, is_measured, "{elapsed_us} us");
        }
    }

    /// Microseconds are counted as the clock shows them, whole.
    #[test]
    fn what_is_less_than_a_microsecond_is_cut_off() {
        for (since_ns, now_ns, is_measured) in [
            (0, 40_000_000, true),
            (999, 40_000_000, true),
            (1000, 40_000_999, false),
        ] {
            let settings = Settings::new(Tcp::linux("reno"), Algorithm::Reno, 1500, 1000);
            let mut window = ReceiveWindow::new(&settings);
            window.begin(1, Time::from_ns(1_000_000_000 + since_ns));
            window.enter_round_trip(40_000, true);
            window.adjust(1, 20_001, Time::from_ns(1_000_000_000 + now_ns));
            assert_eq!(window.read_from == 20_001, is_measured, "{since_ns} ns");
        }
    }

    /// Timestamps tell whole milliseconds, and no less than one (`tcp_rcv_rtt_measure_ts`).
    #[test]
    fn a_round_trip_by_timestamps_is_whole_milliseconds() {
        for (now_ns, rtt_us) in [
            (1_000_000_000, 1000),
            (1_000_999_999, 1000),
            (1_002_000_000, 2000),
        ] {
            let mut window = window(1500);
            let echo_ms = timestamp_ms(Time::from_ns(1_000_000_000));
            window.measure_by_echo(Some(echo_ms), true, Time::from_ns(now_ns));
            assert_eq!(window.rtt_8us(), 8 * rtt_us);
        }
    }

    /// The window is filled with the byte that ends it, and takes a microsecond at least
    /// (`tcp_rcv_rtt_measure`).
    #[test]
    fn a_round_trip_by_the_window_ends_with_its_last_byte() {
        for (short_bytes, elapsed_us, rtt_us) in [(1, 500, 0), (0, 500, 500), (0, 0, 1)] {
            let mut window = window(1500);
            window.measure_by_window(1, at_us(0));
            let end = 1 + window.last_offered();
            window.measure_by_window(end - short_bytes, at_us(elapsed_us));
            assert_eq!(window.rtt_8us(), 8 * rtt_us);
        }
    }
}
