//! Bursts: sk_buffs of several segments, as `tcp_write_xmit` sends them.
//!
//! Linux stores written data in sk_buffs of up to 64 kB. Of each it sends as much as about a millisecond of
//! the pacing rate, the windows and the queue of its own host allow. The send decision is per sk_buff: its
//! segments leave back to back, and window openings smaller than a burst are deferred.
//!
//! | Linux 6.1 | here |
//! | --- | --- |
//! | written data (`sk_write_queue`) | `write_queue` |
//! | size of an sk_buff (`tcp_xmit_size_goal`, `tcp_bound_to_half_wnd`) | `goal_bytes` |
//! | segments of a burst (`tcp_tso_autosize`; BBR's `bbr_min_tso_segs`) | `most_pkts` |
//! | at most half of the congestion window (`tcp_cwnd_test`) | `quota_pkts` |
//! | deferral (`tcp_tso_should_defer`) | `defers` |
//! | where an sk_buff is split (`tcp_mss_split_point`, `tso_fragment`) | `split_point` |
//! | retransmission of several segments at once (`tcp_xmit_retransmit_queue`) | `plan_retransmission` |
//! | the last of several carries PSH (`__tcp_transmit_skb`) | `ends_burst` |
//! | small segments are merged when retransmitted (`tcp_retrans_try_collapse`) | `collapse` |
//!
//! Sources: net/ipv4/tcp_output.c, net/ipv4/tcp.c, net/ipv4/tcp_bbr.c.

use super::Sender;
use super::cork::CorkedTail;
use super::host_queue_bursts::HostQueueBursts;
use super::write_queue::{FollowedBy, WriteBound, WriteBudget, WriteProgress, WriteQueue};
use crate::STRUCTURE_BYTES;
use crate::cca::CaState;
use crate::rtt::as_us;
use crate::small_queue::Candidate;
use dumbbell_core::time::Time;

/// Largest GSO packet: 65536 bytes minus the largest header (`sk_gso_max_size`).
const LARGEST_BYTES: u64 = 65_536 - 321;
/// Shift of the pacing rate, for about a millisecond's bytes (`sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;
/// With a minimum round-trip time below this power of two microseconds a burst may be larger
/// (`tcp_tso_rtt_log`).
const RTT_SHIFT: u32 = 9;
/// A sender that defers has sent something within the last millisecond.
const RECENT: Time = Time::from_ns(1_000_000);
/// Deferral requires that the next acknowledgement is expected within this number of microseconds, or half a
/// round trip.
const SOON_US: u64 = 1000;
/// Share of the window that is sent without deferral (`tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u64 = 3;
/// Below this window the whole window, not half, limits an sk_buff (`TCP_MSS_DEFAULT`).
const SMALL_WINDOW_BYTES: u64 = 536;
/// Minimum segments of a burst (`tcp_min_tso_segs`).
const LEAST_SEGMENTS: u32 = 2;

/// The burst being sent, segment by segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BurstProgress {
    /// None: the next segment needs a decision.
    Nothing,
    /// Remaining new segments.
    New(u32),
    /// Remaining lost segments, from the next on.
    Again(u32),
}

/// Why data is to be sent (`tcp_write_xmit`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Push {
    /// Data is waiting, and the windows may have room.
    Pending,
    /// In the middle of a write: everything.
    All,
    /// In the middle of a write: the first full sk_buff, or a part.
    One,
    /// A tail loss probe.
    Probe,
}

/// State of bursts of a sender.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bursts {
    /// Maximum segments.
    most_segments: u32,
    /// Minimum segments of a burst if the host sets it (`tcp_min_tso_segs`), also above the longest burst of
    /// a controller; otherwise 0.
    asked_segments: u32,
    /// Data written and not sent.
    pub(super) queue: WriteQueue,
    going: BurstProgress,
    /// Whether the present segment continues the sk_buff of the one before.
    is_inside: bool,
    has_begun: bool,
    /// Whether it is the last of several.
    ends_burst: bool,
    /// Segments and memory of the burst being sent, until its first segment is in the host's queue.
    entering: Option<(u32, u64)>,
    /// Bursts in the host's queue.
    held: HostQueueBursts,
    /// Whether the congestion window limits a sender that defers.
    is_limited: bool,
}

impl Bursts {
    /// None if each segment is sent individually; `asked_segments` is 0 if the host sets no minimum.
    pub(super) fn new(most_segments: u32, asked_segments: u32) -> Option<Box<Bursts>> {
        (most_segments > 1).then(|| {
            Box::new(Bursts {
                most_segments,
                asked_segments,
                queue: WriteQueue::default(),
                going: BurstProgress::Nothing,
                is_inside: false,
                has_begun: false,
                ends_burst: false,
                entering: None,
                held: HostQueueBursts::default(),
                is_limited: false,
            })
        })
    }

    /// Sets the minimum segments of a burst (`tcp_min_tso_segs`).
    pub(super) fn set_least_segments(&mut self, segments: u32) {
        self.asked_segments = segments;
    }

    /// Prefetches the next data to send.
    pub(super) fn prefetch_first(&self) {
        self.queue.prefetch_first();
    }

    /// Whether the congestion window limits a sender that defers.
    pub(super) fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// A segment enters the host's queue. Returns the memory of its burst if it is the first.
    pub(super) fn enter(&mut self) -> Option<u64> {
        let (segments, truesize_bytes) = self.entering.take()?;
        self.held.enter(segments, truesize_bytes);
        Some(truesize_bytes)
    }

    /// A single segment of this memory enters the host's queue.
    pub(super) fn enter_alone(&mut self, truesize_bytes: u64) -> u64 {
        self.entering = None;
        self.held.enter(1, truesize_bytes);
        truesize_bytes
    }

    /// A segment of the oldest burst leaves the host's queue. Returns the memory of the burst with its last
    /// segment (`tcp_gso_segment` frees it then).
    pub(super) fn leave(&mut self) -> Option<u64> {
        self.held.leave()
    }

    /// Whether the present segment continues the sk_buff of the one before.
    pub(super) fn is_inside(&self) -> bool {
        self.is_inside
    }

    /// As `leave`, for the newest burst, which was dropped on arrival.
    pub(super) fn leave_last(&mut self) -> Option<u64> {
        self.held.leave_last()
    }

    /// Whether further segments of its sk_buff follow the segment sent last.
    pub(super) fn is_mid_burst(&self) -> bool {
        self.going != BurstProgress::Nothing
    }

    /// Whether the present segment is the last of several, which carries PSH (`__tcp_transmit_skb`).
    pub(super) fn ends_burst(&self) -> bool {
        self.ends_burst
    }
}

impl Sender {
    /// Whether further segments of its sk_buff follow the last segment of `poll_transmit`.
    #[inline]
    pub fn burst_goes_on(&self) -> bool {
        self.bursts
            .as_ref()
            .is_some_and(|bursts| bursts.is_mid_burst())
    }

    /// Payload of a full sk_buff.
    pub(super) fn goal_bytes(&self) -> u64 {
        let mss = u64::from(self.settings.mss_bytes);
        let largest_window = u64::from(self.largest_window_bytes);
        let bound = if largest_window > SMALL_WINDOW_BYTES {
            largest_window / 2
        } else {
            largest_window
        };
        let bytes = if bound > 0 {
            LARGEST_BYTES.min(bound)
        } else {
            LARGEST_BYTES
        };
        let most_segments = self
            .bursts
            .as_ref()
            .map_or(1, |bursts| bursts.most_segments);
        (bytes / mss).clamp(1, u64::from(most_segments)) * mss
    }

    /// Room in the last unsent sk_buff, and the size of a full one, bytes of payload.
    pub(super) fn burst_room(&self) -> (u64, u64) {
        let goal = self.goal_bytes();
        let queue = self.bursts.as_ref().map(|bursts| &bursts.queue);
        let room = queue.map_or(0, |queue| queue.room(self.next.max(1), goal));
        (room, goal)
    }

    /// The application writes `bytes` bytes. They are copied until something can be sent, because
    /// transmissions in between change the boundaries of sk_buffs.
    pub(super) fn write_in_bursts(
        &mut self,
        bytes: u64,
        bound: WriteBound,
        followed_by: FollowedBy,
    ) {
        let (goal, next) = (self.goal_bytes(), self.next.max(1));
        if let Some(bursts) = &mut self.bursts {
            let how = (bound, followed_by);
            bursts.queue.write(bytes, how, next, goal);
        }
        self.copy();
    }

    /// Copies the rest of a write.
    pub(super) fn copy_all(&mut self) {
        let is_left = |sender: &Sender| {
            let queue = sender.bursts.as_ref().map(|bursts| &bursts.queue);
            queue.is_some_and(|queue| queue.to_copy() > 0)
        };
        while is_left(self) {
            self.copy();
        }
    }

    /// Copies until something must be sent.
    fn copy(&mut self) {
        let (goal, next) = (self.goal_bytes(), self.next.max(1));
        let half_window = u64::from(self.largest_window_bytes / 2);
        let free = WriteBudget {
            memory_bytes: self.free_memory_bytes(),
            most_unsent_bytes: self.most_unsent_bytes(),
        };
        if let Some(bursts) = &mut self.bursts {
            self.written += bursts.queue.copy(next, goal, half_window, free);
            let (refused, writing) = (bursts.queue.take_refused(), bursts.queue.writing());
            let followed_by = bursts.queue.followed_by();
            // Writes have 32 bits.
            self.refuse(refused as u32);
            if writing == WriteProgress::Nothing {
                self.cork();
                match followed_by {
                    FollowedBy::Anything => {}
                    FollowedBy::More if self.corked == CorkedTail::All => {}
                    FollowedBy::More => self.corked = CorkedTail::End,
                    FollowedBy::Record => self.end_record(1),
                }
            }
        }
    }

    /// Decides on the next new segments, also in the middle of a write. Returns whether there are any.
    pub(super) fn begin_new(&mut self, now: Time) -> bool {
        loop {
            let queue = self.bursts.as_ref().map(|bursts| &bursts.queue);
            let begins = match queue.map_or(WriteProgress::Nothing, WriteQueue::writing) {
                WriteProgress::Nothing => {
                    return self.corked != CorkedTail::All && self.plan_new(Push::Pending, now);
                }
                WriteProgress::Copying => false,
                WriteProgress::PushesOne => {
                    let begins = self.plan_new(Push::One, now);
                    self.go_on_copying();
                    begins
                }
                WriteProgress::PushesAll => {
                    let begins = self.plan_new(Push::All, now);
                    if !begins {
                        self.go_on_copying();
                    }
                    begins
                }
            };
            if begins {
                return true;
            }
            self.copy();
        }
    }

    fn go_on_copying(&mut self) {
        if let Some(bursts) = &mut self.bursts {
            bursts.queue.go_on();
        }
    }

    /// Maximum segments of a burst.
    pub(super) fn most_pkts(&self) -> u32 {
        let Some(bursts) = &self.bursts else {
            return 1;
        };
        let mut bytes = match self.window.pacing_rate_bytes_per_s {
            0 => LARGEST_BYTES,
            rate => rate >> PACING_SHIFT,
        };
        let shift = self.rtt.min_rtt_us() >> RTT_SHIFT;
        if shift < 32 {
            bytes += LARGEST_BYTES >> shift;
        }
        let pkts = bytes.min(LARGEST_BYTES) / u64::from(self.settings.mss_bytes);
        let by_host = match bursts.asked_segments {
            0 => LEAST_SEGMENTS,
            asked => asked,
        };
        let least = self.cca.least_burst_pkts(&self.window).unwrap_or(by_host);
        let most = self.cca.most_burst_pkts(&self.window).unwrap_or(u32::MAX);
        let most = most.max(bursts.asked_segments);
        (pkts as u32).max(least).min(bursts.most_segments).min(most)
    }

    /// Segments that the congestion window allows at once. It does not hold back a FIN.
    fn quota_pkts(&self, is_lone_fin: bool) -> u32 {
        let (cwnd, in_flight) = (self.window.cwnd_pkts, self.board.in_flight());
        if is_lone_fin {
            return 1;
        }
        (cwnd.saturating_sub(in_flight)).min((cwnd / 2).max(1))
    }

    /// Decides on the next new burst. Returns whether one begins.
    pub(super) fn plan_new(&mut self, push: Push, now: Time) -> bool {
        let Some(bursts) = &mut self.bursts else {
            return false;
        };
        bursts.is_limited = false;
        let (mss, is_last) = (u64::from(self.settings.mss_bytes), bursts.queue.is_last());
        let waits = push == Push::Pending;
        let may_defer = matches!(push, Push::Pending | Push::All);
        let end = bursts.queue.first_end().unwrap_or(self.written);
        let bytes = end.saturating_sub(self.next);
        let has_fin = self.is_closing && is_last && bursts.queue.to_copy() == 0;
        let pkts = bytes.div_ceil(mss).max(1);
        let mut quota = self.quota_pkts(has_fin && pkts == 1);
        if quota == 0 && push == Push::Probe {
            quota = 1;
        }
        if quota == 0 || !self.has_unsent() || !self.next_fits() {
            return false;
        }
        let most = self.most_pkts();
        if pkts == 1 {
            if waits && (self.waits_for_more() || (is_last && self.corks_next())) {
                return false;
            }
        } else if may_defer && self.defers(bytes, is_last, has_fin, most, now) {
            return false;
        }
        let limit = if pkts == 1 {
            mss
        } else {
            self.split_point(bytes, is_last, waits, quota.min(most))
        };
        let sent = bytes.min(limit);
        if sent < bytes
            && let Some(bursts) = &mut self.bursts
        {
            bursts.queue.cut(self.next + sent);
        }
        if !self.fits_burst(sent, false) {
            return false;
        }
        self.begin(
            BurstProgress::New(sent.div_ceil(mss).max(1) as u32),
            sent,
            now,
        );
        true
    }

    /// Whether the queue of its host has room for a burst of this payload.
    fn fits_burst(&mut self, bytes: u64, is_retransmission: bool) -> bool {
        self.small_queue.allows(&Candidate {
            truesize_bytes: bytes + STRUCTURE_BYTES,
            is_retransmission,
            // An outstanding sk_buff counts as one packet.
            packets_out: self.board.buffers_out(),
            pacing_rate_bytes_per_s: self.window.pacing_rate_bytes_per_s,
            is_paced: self.pacing.is_on(),
        })
    }

    fn begin(&mut self, going: BurstProgress, bytes: u64, now: Time) {
        let (BurstProgress::New(pkts) | BurstProgress::Again(pkts)) = going else {
            return;
        };
        self.pace(pkts, bytes as u32, now);
        if let Some(bursts) = &mut self.bursts {
            bursts.going = going;
            bursts.is_inside = false;
            bursts.has_begun = false;
            bursts.entering = Some((pkts, bytes + STRUCTURE_BYTES));
        }
    }

    /// Where to split an sk_buff so that it fits the windows, bytes of payload.
    fn split_point(&self, bytes: u64, is_last: bool, waits: bool, most_pkts: u32) -> u64 {
        let mss = u64::from(self.settings.mss_bytes);
        let window = self.window_end.saturating_sub(self.next);
        let most = mss * u64::from(most_pkts);
        if most <= window && !is_last {
            return most;
        }
        let needed = bytes.min(window);
        if most <= needed {
            return most;
        }
        let partial = needed % mss;
        let small_is_out = self.small_end > self.una;
        let is_held = self.corks_small_segment() || (self.nagle && small_is_out);
        if partial > 0 && waits && is_held {
            needed - partial
        } else {
            needed
        }
    }

    /// Whether to defer a burst until it can be larger, because the next acknowledgement is expected soon.
    fn defers(&mut self, bytes: u64, is_last: bool, has_fin: bool, most: u32, now: Time) -> bool {
        if self.recovery.state >= CaState::Recovery {
            return false;
        }
        let sent = self.pacing.last_departure(self.last_sent());
        if sent.is_none_or(|sent| now > sent.saturating_add(RECENT)) {
            return false;
        }
        let mss = u64::from(self.settings.mss_bytes);
        let (cwnd, in_flight) = (self.window.cwnd_pkts, self.board.in_flight());
        let by_receiver = self.window_end.saturating_sub(self.next);
        let by_sender = u64::from(cwnd.saturating_sub(in_flight)) * mss;
        let limit = by_receiver.min(by_sender);
        if limit >= u64::from(most) * mss || (!is_last && limit >= bytes) {
            return false;
        }
        let chunk = u64::from(self.window_bytes).min(u64::from(cwnd) * mss) / WINDOW_DIVISOR;
        if limit >= chunk {
            return false;
        }
        let Some(head) = self.board.first() else {
            return false;
        };
        // The next acknowledgement is expected a round-trip time after the first packet was sent. Data sent
        // at this instant is not acknowledged soon, however short the round trip, once that is known.
        let srtt_8us = self.rtt.srtt_8us();
        let srtt_us = (srtt_8us >> 3).max(u64::from(srtt_8us > 0));
        let expected_us = head.sent_us + srtt_us;
        let soon_us = (srtt_us / 2).min(SOON_US);
        if expected_us > as_us(now) + soon_us {
            return false;
        }
        if by_sender < by_receiver {
            if by_sender <= bytes {
                if let Some(bursts) = &mut self.bursts {
                    bursts.is_limited = true;
                }
                return true;
            }
        } else if by_receiver <= bytes {
            return true;
        }
        !has_fin
    }

    /// Decides on the next retransmission, from the lost packet `number` on. Returns whether a burst begins.
    pub(super) fn plan_retransmission(&mut self, number: u64, now: Time) -> bool {
        let quota = self.window.cwnd_pkts.saturating_sub(self.board.in_flight());
        let end = self.board.end_of_lost_buffer(number);
        let bytes_to = |sender: &Sender, end: u64| {
            sender.board.get(end - 1).end() - sender.board.get(number).seq
        };
        let all = bytes_to(self, end);
        if quota == 0 || !self.fits_burst(all, true) {
            return false;
        }
        let pkts = u64::from(quota.min(self.most_pkts())).min(end - number);
        self.board.split(number + pkts);
        if number + pkts == end {
            self.collapse(number);
        }
        let bytes = bytes_to(self, number + pkts);
        self.begin(BurstProgress::Again(pkts as u32), bytes, now);
        true
    }

    /// Merges a small segment to be retransmitted with following ones that fit (`tcp_retrans_try_collapse`).
    pub(super) fn collapse(&mut self, number: u64) {
        if self.bursts.is_none() {
            return;
        }
        let seq = self.board.get(number).seq;
        let window = self.window_end.saturating_sub(seq);
        let space = window.min(u64::from(self.settings.mss_bytes));
        let payload_to = |sender: &Sender, end: u64| end.min(sender.written) - seq;
        let is_alone = |sender: &Sender, number: u64| {
            let is_whole = !sender.board.get(number).continues();
            is_whole && sender.board.end_of_buffer(number) == number + 1
        };
        while number + 1 < self.board.tail()
            && payload_to(self, self.board.get(number).end()) < space
            && is_alone(self, number)
            && is_alone(self, number + 1)
            && !self.ends_record(self.board.get(number).end())
            && !self.board.get(number + 1).is_sacked()
            && payload_to(self, self.board.get(number + 1).end()) <= space
            && self.board.get(number + 1).end() <= self.window_end
        {
            self.board.collapse_next(number);
            self.rare.statistics.sent_pkts += 1;
            if !self.is_sack() {
                // Without SACK, merging two packets removes one duplicate (`tcp_adjust_pcount`).
                let duplicates = self.board.sacked_out();
                self.board.set_duplicates(duplicates.saturating_sub(1));
            }
            self.rare.repair.judged.on_collapsed(number);
        }
    }

    /// Sends one segment as an sk_buff of its own, regardless of earlier decisions.
    pub(super) fn begin_alone(&mut self, payload_bytes: u32, now: Time) {
        if let Some(bursts) = &mut self.bursts {
            bursts.going = BurstProgress::Nothing;
            bursts.is_inside = false;
            bursts.ends_burst = false;
            bursts.entering = Some((1, u64::from(payload_bytes) + STRUCTURE_BYTES));
            self.pace(1, payload_bytes, now);
        }
    }

    /// Whether the whole next sk_buff fits the receive window (`tcp_ack_probe`).
    pub(super) fn first_fits(&self) -> bool {
        let Some(end) = self
            .bursts
            .as_ref()
            .and_then(|bursts| bursts.queue.first_end())
        else {
            return self.next_fits();
        };
        end + u64::from(self.is_closing && end == self.written) <= self.window_end
    }

    /// Takes the next of the remaining new segments of a burst.
    #[inline]
    pub(super) fn take_going_new(&mut self) -> bool {
        self.take_from_burst(|going| match going {
            BurstProgress::New(left) => Some((left, BurstProgress::New(left - 1))),
            _ => None,
        })
    }

    /// As `take_going_new`, for retransmissions.
    #[inline]
    pub(super) fn take_going_again(&mut self) -> bool {
        self.take_from_burst(|going| match going {
            BurstProgress::Again(left) => Some((left, BurstProgress::Again(left - 1))),
            _ => None,
        })
    }

    fn take_from_burst(
        &mut self,
        next: impl FnOnce(BurstProgress) -> Option<(u32, BurstProgress)>,
    ) -> bool {
        let Some(bursts) = &mut self.bursts else {
            return false;
        };
        let Some((left, rest)) = next(bursts.going) else {
            return false;
        };
        bursts.is_inside = bursts.has_begun;
        bursts.has_begun = true;
        bursts.ends_burst = bursts.is_inside && left == 1;
        bursts.going = if left > 1 {
            rest
        } else {
            BurstProgress::Nothing
        };
        true
    }

    /// Remaining new segments of a burst.
    pub(super) fn going_new_pkts(&self) -> u32 {
        match self.bursts.as_ref().map(|bursts| bursts.going) {
            Some(BurstProgress::New(left)) => left,
            _ => 0,
        }
    }
}
