//! A token bucket over a plain FIFO and a constant delay: `tbf` as most write it.
//!
//! When a packet leaves depends on the tokens that packets before it have left, so it is certain when the packet
//! arrives, as behind a transmitter (`net/pipe.rs`): no timer is needed to look at the head of the queue
//! again. Nothing of a packet is kept but times, until the statistics have been entered that they say.
//!
//! A packet that arrives has the head looked at, too. So what is due in that very instant leaves then, also
//! when the event of its departure would come later in the instant.

use super::pipe::{Crossing, TOGETHER_PKTS, Taken};
use crate::qdisc::fifo::Limit;
use crate::qdisc::tbf::Bucket;
use crate::qdisc::token_bucket::TokenBucket;
use crate::sim::link_statistics::{Level, LinkStatistics};
use crate::sim::packet::Packet;
use crate::sim::ring::Ring;
use crate::sim::time::Time;

/// Queue and bucket in one.
#[derive(Debug, Clone)]
pub struct Shaped {
    /// First to arrive first.
    pending: Ring<Crossing>,
    /// The arrivals of so many of them have been entered.
    entered: usize,
    /// So many of them are known to have left by the latest arrival.
    left: usize,
    /// Bytes on the wire of all of them but those that have left.
    waiting_bytes: u64,
    /// When to enter what is pending: so many are.
    enters_at: usize,
    /// Departures before this came before the next arrival, whatever its turn: the latest packet
    /// that was taken had the queue looked at.
    looked_at: Time,
    /// When the last of them leaves.
    last_departure: Time,
    bucket: TokenBucket,
    /// Longer packets are dropped.
    largest_bytes: u32,
    limit: Limit,
    /// Whether hosts or queues put packets here, and no pipe: then all arrivals have happened.
    is_first: bool,
    /// As far as entered.
    level: Level,
    /// Those that will find the queue full, and when.
    refused: Ring<(Time, Packet)>,
}

impl Shaped {
    /// An empty queue behind a full bucket.
    pub fn new(of: Bucket) -> Shaped {
        Shaped {
            pending: Ring::default(),
            entered: 0,
            left: 0,
            waiting_bytes: 0,
            enters_at: TOGETHER_PKTS,
            looked_at: Time::ZERO,
            last_departure: Time::ZERO,
            bucket: of.tokens,
            largest_bytes: of.largest_bytes,
            limit: of.limit,
            is_first: true,
            level: Level::default(),
            refused: Ring::default(),
        }
    }

    /// Only another link puts packets here, which are told before they arrive.
    pub fn be_fed(&mut self) {
        self.is_first = false;
    }

    /// A packet of so many bytes on the wire arrives: see `Pipe::cross`.
    #[inline(never)]
    pub fn cross(&mut self, bytes: u32, at: Time, is_last_of_instant: bool) -> Option<Taken> {
        let bound = self.looked_at.max(at + Time(u64::from(is_last_of_instant)));
        if bytes > self.largest_bytes || !self.admits(u64::from(bytes), bound) {
            return None;
        }
        let departure = self.bucket.leave(bytes, at.max(self.last_departure));
        self.looked_at = at + Time(1);
        self.last_departure = departure;
        self.waiting_bytes += u64::from(bytes);
        self.pending.push_back(Crossing {
            arrived: at,
            departure,
            bytes,
            is_last_of_instant,
            continues: false,
        });
        Some(Taken {
            departure,
            begins_at: None,
        })
    }

    fn admits(&mut self, bytes: u64, bound: Time) -> bool {
        let waiting_pkts = self.pending.len() - self.left;
        // Fewer wait if some have left by then.
        if self.limit.admits(waiting_pkts, self.waiting_bytes, bytes) {
            return true;
        }
        while let Some(first) = self.pending.get(self.left)
            && first.departure < bound
        {
            self.waiting_bytes -= u64::from(first.bytes);
            self.left += 1;
        }
        let waiting_pkts = self.pending.len() - self.left;
        self.limit.admits(waiting_pkts, self.waiting_bytes, bytes)
    }

    /// When the last packet leaves.
    pub fn last_departure(&self) -> Time {
        self.last_departure
    }

    /// Packets in the queue, as far as entered.
    pub fn level(&self) -> Level {
        self.level
    }

    /// A packet finds the queue full at `at`, which may be yet to come.
    pub fn refuse(&mut self, packet: Packet, at: Time) {
        self.refused.push_back((at, packet));
    }

    /// The next packet that found the queue full before `bound`.
    pub fn refused_before(&mut self, bound: Time) -> Option<Packet> {
        self.refused.front().filter(|(at, _)| *at < bound)?;
        self.refused.pop_front().map(|(_, packet)| packet)
    }

    /// Whether it is time to enter what has happened.
    #[inline]
    pub fn is_to_be_entered(&self) -> bool {
        self.pending.len() >= self.enters_at
    }

    /// Enters what has happened before `bound`, no later than the present.
    #[inline(never)]
    pub fn enter_before(&mut self, bound: Time, warm_up: Time, statistics: &mut LinkStatistics) {
        let arrived_before = if self.is_first { Time::NEVER } else { bound };
        while let Some(&next) = self.pending.get(self.entered)
            && next.arrived < arrived_before
        {
            self.enter_departures(next.departures_before(), warm_up, statistics);
            self.enter_arrival(next, warm_up, statistics);
        }
        self.enter_departures(bound, warm_up, statistics);
        self.enters_at = self.pending.len() + TOGETHER_PKTS;
    }

    fn enter_arrival(&mut self, next: Crossing, warm_up: Time, statistics: &mut LinkStatistics) {
        statistics.total.arrived(next.bytes);
        self.entered += 1;
        self.level.system_pkts += 1;
        self.level.backlog_pkts += 1;
        self.level.backlog_bytes += u64::from(next.bytes);
        // What leaves in the instant in which a packet comes was never more than there was.
        self.enter_departures(next.arrived + Time(1), warm_up, statistics);
        statistics.set_level(next.arrived, || self.level);
    }

    /// Enters departures before `bound` of packets whose arrivals have been.
    fn enter_departures(&mut self, bound: Time, warm_up: Time, statistics: &mut LinkStatistics) {
        while self.entered > 0
            && let Some(&first) = self.pending.front()
            && first.departure < bound
        {
            self.pop(first);
            let departure = first.departure;
            statistics.departed(first.bytes, first.arrived, Time::ZERO, departure, warm_up);
            statistics.fall_to_level(departure, || self.level);
        }
    }

    fn pop(&mut self, first: Crossing) {
        self.pending.pop_front();
        self.entered -= 1;
        self.level.system_pkts -= 1;
        self.level.backlog_pkts -= 1;
        self.level.backlog_bytes -= u64::from(first.bytes);
        if self.left > 0 {
            self.left -= 1;
        } else {
            self.waiting_bytes -= u64::from(first.bytes);
        }
    }

    /// What the times take that it keeps.
    pub fn memory_bytes(&self) -> u64 {
        self.pending.memory_bytes() + self.refused.memory_bytes()
    }

    /// Packets that will find the queue full, which are on their way still.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.refused.iter().map(|(_, packet)| packet)
    }
}
