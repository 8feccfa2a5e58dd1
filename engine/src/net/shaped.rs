//! A token bucket over a plain FIFO and a constant delay: the usual `tbf`.
//!
//! The departure of a packet depends on the tokens that earlier packets have left, so it is known at the
//! arrival, as with a transmitter (`net/pipe.rs`), and no timer polls the head of the queue. Only timestamps
//! of a packet are kept, until its statistics are recorded.

use super::pending::Pending;
use super::pipe::PipeDeparture;
use crate::qdisc::fifo::Limit;
use crate::qdisc::tbf::Bucket;
use crate::qdisc::token_bucket::TokenBucket;
use crate::sim::crossing::Crossing;
use crate::sim::link_statistics::{LinkStatistics, Server};
use crate::sim::packet::Packet;
use crate::sim::time::Time;

/// Queue and bucket of a shaped link.
#[derive(Debug, Clone)]
pub struct Shaped {
    pending: Pending,
    /// Departure of the last packet.
    last_departure: Time,
    bucket: TokenBucket,
    /// Longer packets are dropped.
    largest_bytes: u32,
    limit: Limit,
}

impl Shaped {
    /// An empty queue behind a full bucket. Without `is_first`, packets come only from another link of a
    /// chain and are recorded before they arrive.
    pub fn new(of: Bucket, is_first: bool) -> Shaped {
        Shaped {
            pending: Pending::new(is_first),
            last_departure: Time::ZERO,
            bucket: of.tokens,
            largest_bytes: of.largest_bytes,
            limit: of.limit,
        }
    }

    /// A packet of `bytes` bytes on the wire arrives: see `Pipe::cross`.
    #[inline(never)]
    pub fn cross(&mut self, bytes: u32, at: Time) -> Option<PipeDeparture> {
        let bound = at + Time(1);
        if bytes > self.largest_bytes || !self.admits(u64::from(bytes), bound) {
            return None;
        }
        let departure = self.bucket.leave(bytes, at.max(self.last_departure));
        self.last_departure = departure;
        let is_to_be_entered = self.pending.push(Crossing {
            arrived: at,
            departure,
            bytes,
            continues: false,
        });
        Some(PipeDeparture {
            departure,
            begins_at: None,
            is_to_be_entered,
        })
    }

    fn admits(&mut self, bytes: u64, bound: Time) -> bool {
        let (waiting_pkts, waiting_bytes) = self.pending.system();
        // The count is an upper bound: some packets may have left by then.
        if self.limit.admits(waiting_pkts, waiting_bytes, bytes) {
            return true;
        }
        let waiting_pkts = self.pending.system_at(bound).len();
        let (_, waiting_bytes) = self.pending.system();
        self.limit.admits(waiting_pkts, waiting_bytes, bytes)
    }

    /// Departure of the last packet.
    pub fn last_departure(&self) -> Time {
        self.last_departure
    }

    /// Records a packet that finds the queue full at `at`, which may be in the future.
    pub fn refuse(&mut self, packet: Packet, at: Time) {
        self.pending.refuse(packet, at);
    }

    /// The next packet that found the queue full before `bound`.
    pub fn refused_before(&mut self, bound: Time) -> Option<Packet> {
        self.pending.refused_before(bound)
    }

    /// Records everything before `bound`, which is not later than the present.
    #[inline(never)]
    pub fn enter_before(&mut self, bound: Time, warm_up: Time, statistics: &mut LinkStatistics) {
        self.pending
            .enter_before(bound, Server::Tokens, warm_up, statistics);
    }

    /// Memory of the timestamps.
    pub fn memory_bytes(&self) -> u64 {
        self.pending.memory_bytes()
    }

    /// Packets still propagating that will find the queue full.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.pending.packets()
    }
}
