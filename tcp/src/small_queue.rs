//! TCP small queues: limits the data of a connection in the queue of its own host.
//!
//! A sender stops while the memory of its packets that the host has not handed to the device reaches a limit,
//! and continues when one of them leaves. So a single flow never fills the queue of its own host, however
//! large its window is.
//!
//! | Linux 6.1 | here |
//! | --- | --- |
//! | limit (`tcp_small_queue_check`) | the larger of twice the packet's memory and what the pacing rate sends in 1/1024 s (`sk_pacing_shift`) |
//! | `tcp_limit_output_bytes`, 1 MiB | at most that, where TCP does not pace: not for BBR |
//! | retransmissions | twice the limit |
//! | at most one packet unacknowledged | always sent |
//! | memory counts from 1 (`sk_wmem_alloc`) | reaching the limit stops the sender |
//! | a packet's memory (`truesize`) | payload and 1280 bytes: 2728 of a full segment |
//! | pure acknowledgements (memory 2), SYN | not counted |
//! | released (`tcp_wfree`, `skb_orphan_partial`) | when dropped, handed to the device, or accepted by a `netem` with delay, jitter or rate |
//! | the sender is woken (`tcp_tasklet_func`) | at that instant, at the turn of its source |
//! | autocorking (`tcp_should_autocork`) | uses the account (`corks`) |
//! | `skb_still_in_host_queue`, `TCP_TX_DELAY` | no |
//!
//! Sources: net/ipv4/tcp_output.c, net/ipv4/tcp_ipv4.c, net/core/sock.c, net/sched/sch_netem.c.
//! The idea: E. Dumazet, "tcp: TCP Small Queues", commit 46d3ceabd8d9 (2012).

use super::STRUCTURE_BYTES;
use dumbbell_core::prefetch::prefetch;
use dumbbell_core::time::Time;
use std::collections::VecDeque;

/// Shift of the pacing rate, for about a millisecond's bytes (`sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;
/// `tcp_limit_output_bytes`.
const LIMIT_OUTPUT_BYTES: u64 = 1 << 20;
/// Initial value of a socket's memory count (`sk_wmem_alloc`).
const FIRST_BYTES: u64 = 1;
/// Memory of a packet with one byte of payload (`SKB_TRUESIZE(1)`).
const LEAST_PACKET_BYTES: u64 = 577;

/// Memory of a packet with this payload (`truesize`).
#[inline]
pub fn truesize_bytes(payload_bytes: u32) -> u64 {
    u64::from(payload_bytes) + STRUCTURE_BYTES
}

/// A packet to be sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Its memory.
    pub truesize_bytes: u64,
    /// Whether it is a retransmission.
    pub is_retransmission: bool,
    /// Packets sent and not yet acknowledged.
    pub packets_out: u32,
    /// The pacing rate, paced or not; 0 if unknown.
    pub pacing_rate_bytes_per_s: u64,
    /// Whether packets are paced.
    pub is_paced: bool,
}

impl Candidate {
    /// Memory that the host's queue may hold of the connection, bytes.
    fn limit_bytes(&self) -> u64 {
        let by_rate = match self.pacing_rate_bytes_per_s {
            0 => u64::MAX,
            rate => rate >> PACING_SHIFT,
        };
        let mut limit = by_rate.max(2 * self.truesize_bytes);
        if !self.is_paced {
            limit = limit.min(LIMIT_OUTPUT_BYTES);
        }
        limit.saturating_mul(1 + u64::from(self.is_retransmission))
    }
}

/// The account of a connection.
#[derive(Debug, Clone, PartialEq)]
pub struct SmallQueue {
    /// Earliest known departure of held packets, or `NEVER`. Read with every event of the flow.
    first_leaves: Time,
    /// When the sender must be woken, for a departure whose time was not known in advance.
    woken: Time,
    /// Memory held; the limit is a few megabytes at most.
    held_bytes: u32,
    /// Memory of the first packet to leave.
    first_bytes: u32,
    is_on: bool,
    /// Whether the sender would have sent more.
    is_throttled: bool,
    /// Whether a packet was dropped since the last departure.
    is_full: bool,
    /// None until needed.
    behind: Option<Box<LaterPackets>>,
}

const _: () = assert!(size_of::<SmallQueue>() <= 40);

/// Later departures in order, with their memory; few senders have any.
#[derive(Debug, Clone, Default, PartialEq)]
struct LaterPackets {
    packets: VecDeque<(Time, u32)>,
}

impl SmallQueue {
    /// An empty account. If it is off it never holds anything.
    pub fn new(is_on: bool) -> SmallQueue {
        SmallQueue {
            first_leaves: Time::NEVER,
            woken: Time::NEVER,
            held_bytes: 0,
            first_bytes: 0,
            is_on,
            is_throttled: false,
            is_full: false,
            behind: None,
        }
    }

    /// Whether there is a limit.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Memory held, as far as known.
    pub fn held_bytes(&self) -> u64 {
        u64::from(self.held_bytes)
    }

    /// Prefetches the pointer to later departures.
    pub fn prefetch_behind(&self) {
        if let Some(behind) = &self.behind {
            prefetch(&**behind);
        }
    }

    /// Prefetches the next departure, some time after `prefetch_behind`.
    pub fn prefetch_next(&self) {
        if let Some(next) = self
            .behind
            .as_ref()
            .and_then(|behind| behind.packets.front())
        {
            prefetch(next);
        }
    }

    /// A packet is handed to the host's queue.
    #[inline]
    pub fn enter(&mut self, truesize_bytes: u64) {
        self.held_bytes += truesize_bytes as u32;
    }

    /// A packet has left at `now`. Returns whether the sender must be woken.
    #[inline]
    pub fn leave(&mut self, truesize_bytes: u64, now: Time) -> bool {
        self.is_full = false;
        self.take_back(truesize_bytes, now)
    }

    /// A packet was dropped on arrival at `now`. Returns whether the sender must be woken: once, then again
    /// after a held packet has left. Linux would retry repeatedly (`tcp_wfree`), which takes time there; here
    /// no time would pass.
    pub fn refuse(&mut self, truesize_bytes: u64, now: Time) -> bool {
        let was_full = std::mem::replace(&mut self.is_full, true);
        if was_full && u64::from(self.held_bytes) > truesize_bytes {
            self.held_bytes -= truesize_bytes as u32;
            return false;
        }
        self.take_back(truesize_bytes, now)
    }

    fn take_back(&mut self, truesize_bytes: u64, now: Time) -> bool {
        self.held_bytes -= truesize_bytes as u32;
        let wakes = std::mem::take(&mut self.is_throttled);
        if wakes {
            self.woken = now;
        }
        wakes
    }

    /// A packet will leave at `at`, after all packets with known departures.
    pub fn leave_at(&mut self, truesize_bytes: u64, at: Time) {
        if self.first_leaves == Time::NEVER {
            (self.first_leaves, self.first_bytes) = (at, truesize_bytes as u32);
        } else {
            let packets = &mut self.behind.get_or_insert_default().packets;
            let last = packets.back().map_or(self.first_leaves, |(last, _)| *last);
            debug_assert!(last <= at);
            packets.push_back((at, truesize_bytes as u32));
        }
    }

    /// Processes departures before `bound`. Returns whether the sender may continue.
    #[inline]
    pub fn catch_up(&mut self, bound: Time) -> bool {
        self.first_leaves < bound && self.take_off(bound)
    }

    fn take_off(&mut self, bound: Time) -> bool {
        while self.first_leaves < bound {
            self.held_bytes -= self.first_bytes;
            self.is_full = false;
            let behind = self.behind.as_mut();
            let next = behind.and_then(|behind| behind.packets.pop_front());
            (self.first_leaves, self.first_bytes) = next.unwrap_or((Time::NEVER, 0));
        }
        std::mem::take(&mut self.is_throttled)
    }

    /// Whether the packet may be sent. If not, the sender is woken at the next departure.
    #[inline]
    pub fn allows(&mut self, candidate: &Candidate) -> bool {
        if self.held_bytes == 0 || candidate.packets_out <= 1 {
            return true;
        }
        let allows = self.held_bytes() + FIRST_BYTES <= candidate.limit_bytes();
        self.is_throttled |= !allows;
        allows
    }

    /// Whether the end of a write with this memory is held until a departure: others with more memory are
    /// held. If so, the sender is woken then.
    pub fn corks(&mut self, truesize_bytes: u64) -> bool {
        let corks = self.held_bytes() + FIRST_BYTES > truesize_bytes;
        self.is_throttled |= corks;
        corks
    }

    /// Whether it holds no packet with payload.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.held_bytes() < LEAST_PACKET_BYTES
    }

    /// When the sender must be woken; `NEVER` for not at all, as far as known.
    #[inline]
    pub fn wake_due(&self) -> Time {
        if !self.is_throttled {
            return self.woken;
        }
        self.first_leaves.min(self.woken)
    }

    /// The sender is awake at `now`.
    #[inline]
    pub fn wake(&mut self, now: Time) {
        if self.woken <= now {
            self.woken = Time::NEVER;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u64 = 2728;

    fn queue(packets: u64) -> SmallQueue {
        let mut queue = SmallQueue::new(true);
        (0..packets).for_each(|_| queue.enter(FULL));
        queue
    }

    fn full(pacing_rate_bytes_per_s: u64) -> Candidate {
        Candidate {
            truesize_bytes: truesize_bytes(1448),
            is_retransmission: false,
            packets_out: 10,
            pacing_rate_bytes_per_s,
            is_paced: false,
        }
    }

    /// How many full packets are let in, one after the other.
    fn most(candidate: Candidate) -> u64 {
        (0..)
            .find(|packets| !queue(*packets).allows(&candidate))
            .expect("the queue has a limit")
    }

    #[test]
    fn a_slow_sender_may_have_two_packets_in_its_queue() {
        assert_eq!(truesize_bytes(1448), FULL);
        assert_eq!(most(full(1000)), 2);
        // 1024 times two packets of memory a second, and one byte of the third.
        assert_eq!(most(full(2048 * FULL)), 2);
        assert_eq!(most(full(2048 * FULL + 1024)), 3);
    }

    #[test]
    fn a_fast_one_as_many_as_it_sends_in_a_1024th_of_a_second() {
        assert_eq!(most(full((100 * FULL) << 10)), 100);
        let unknown = most(full(0));
        assert_eq!(unknown, (1u64 << 20).div_ceil(FULL));
        assert_eq!(most(full(1 << 50)), unknown);
        let paced = Candidate {
            is_paced: true,
            ..full((1000 * FULL) << 10)
        };
        assert_eq!(most(paced), 1000);
    }

    /// What is lost does not fit, what is new does and is refused: that wakes a sender once.
    #[test]
    fn a_sender_is_woken_once_by_what_is_refused() {
        let (now, mut queue) = (Time(7), queue(4));
        let refuse = |queue: &mut SmallQueue| {
            assert!(!queue.allows(&full(1000)));
            queue.enter(100);
            queue.refuse(100, now)
        };
        assert!(refuse(&mut queue) && !refuse(&mut queue) && !refuse(&mut queue));
        assert_eq!(queue.held_bytes(), 4 * FULL);
        // It waits for one that is held.
        assert!(queue.leave(FULL, now) && refuse(&mut queue));
        queue.leave_at(FULL, Time(9));
        assert!(!refuse(&mut queue) && queue.catch_up(Time(10)) && refuse(&mut queue));
        assert!(!refuse(&mut queue) && queue.leave(FULL, now));
        // With nothing else held nobody else could wake it.
        queue.leave(FULL, now);
        queue.enter(FULL);
        for _ in 0..2 {
            assert!(queue.corks(FULL) && queue.refuse(FULL, now));
            queue.enter(FULL);
        }
    }

    #[test]
    fn retransmissions_have_twice_the_limit() {
        for (rate, packets) in [(1000, 4), ((100 * FULL) << 10, 200), (1 << 50, 769)] {
            let again = Candidate {
                is_retransmission: true,
                ..full(rate)
            };
            assert_eq!(most(again), packets);
        }
    }

    #[test]
    fn the_end_of_a_write_waits_for_what_takes_more_than_it() {
        assert!(!queue(0).corks(truesize_bytes(1)));
        // One packet of the same memory: the count begins at 1.
        assert!(queue(1).corks(FULL));
        assert!(!queue(1).corks(FULL + 1));
        let mut queue = queue(2);
        assert!(queue.corks(truesize_bytes(100)));
        assert!(queue.leave(FULL, Time(3)), "it is woken");
        assert!(!queue.leave(FULL, Time(4)), "once");
    }

    #[test]
    fn with_at_most_one_packet_out_nothing_holds_back() {
        for (packets_out, allows) in [(0, true), (1, true), (2, false)] {
            let candidate = Candidate {
                packets_out,
                ..full(1000)
            };
            let mut queue = queue(50);
            assert_eq!(queue.allows(&candidate), allows, "{packets_out}");
            assert_eq!(queue.leave(FULL, Time(7)), !allows);
        }
    }

    #[test]
    fn a_sender_held_back_is_woken_once_by_the_first_packet_that_is_gone() {
        let mut queue = queue(3);
        assert_eq!(queue.wake_due(), Time::NEVER);
        assert!(!queue.allows(&full(1000)));
        assert_eq!(queue.wake_due(), Time::NEVER);
        assert!(queue.leave(FULL, Time(5)));
        assert_eq!(queue.wake_due(), Time(5));
        assert!(!queue.leave(FULL, Time(6)));
        queue.wake(Time(6));
        assert_eq!(queue.wake_due(), Time::NEVER);
        assert!(queue.allows(&full(1000)));
    }

    #[test]
    fn instants_that_are_known_wake_by_themselves() {
        let mut queue = queue(3);
        for at in [4, 6, 9] {
            queue.leave_at(FULL, Time(at));
        }
        // Nobody waits.
        assert_eq!(queue.wake_due(), Time::NEVER);
        assert!(!queue.catch_up(Time(4)));
        assert!(!queue.allows(&full(1000)));
        assert_eq!(queue.wake_due(), Time(4));
        assert!(queue.catch_up(Time(5)));
        assert!(!queue.allows(&full(1000)));
        assert_eq!(queue.wake_due(), Time(6));
        assert!(queue.catch_up(Time(7)));
        assert!(queue.allows(&full(1000)));
        assert!(!queue.is_empty());
        assert!(!queue.catch_up(Time(10)));
        assert!(queue.is_empty());
    }
}
