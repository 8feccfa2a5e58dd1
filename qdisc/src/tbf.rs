//! `tbf`: a token bucket filter (tc-tbf(8)), by Linux's arithmetic (6.1, `net/sched/sch_tbf.c`).
//!
//! | clause | here | test |
//! | --- | --- | --- |
//! | the head leaves when the bucket of `rate` and `burst` has tokens for it, in order | yes | `a_burst_leaves_at_once_and_the_rest_at_the_rate` |
//! | with `peakrate`, when the bucket of `peakrate` and `mtu` has tokens too | yes | `a_second_bucket_spreads_the_burst` |
//! | both buckets are full at the start | yes | `a_burst_leaves_at_once_and_the_rest_at_the_rate` |
//! | tokens are nanoseconds; a packet costs `bytes * mult >> shift` (`psched_l2t_ns`) | yes | `times_are_those_of_linux_multiplication_and_shift` |
//! | a packet longer than `burst`, or `mtu` with `peakrate`, is dropped at enqueue | yes | `longer_than_the_bucket_is_dropped` |
//! | `limit`: an inner `bfifo`, which another discipline can replace | yes | `the_limit_is_that_of_what_waits_the_head_included`, `a_child_takes_the_place_of_the_limit` |
//! | the head is peeked at in the child, or dequeued from it, and counts in its limit (`peek`) | yes, see `Child` | `a_bucket_in_a_bucket_is_asked_when_it_has_tokens` |
//! | GSO packets longer than the bucket are segmented (`tbf_segment`) | yes, at the root | `gso_packets_come_in_segments_if_longer_than_the_bucket` |
//! | `tc qdisc change` | no | |
//!
//! During any time t at most min(peakrate t + mtu, rate t + burst) bytes leave. With an empty bucket the
//! backlog drains at one packet per `bytes / rate`. The wait of a packet that finds `limit` bytes in the
//! queue is (limit - tokens) / rate, which is tc's `latency`.

use super::fifo::Limit;
use super::token_bucket::{PschedRate, TokenBucket};
use super::{Build, Child, Config, Dequeued, Discipline, DropReason, Events, Setting, Statistics};
use dumbbell_core::own_samples::OwnState;
use dumbbell_core::packet::Packet;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::{Bfifo, Tbf as Parameters};

/// The state of a token bucket filter.
#[derive(Debug, Clone)]
pub struct Tbf {
    bucket: TokenBucket,
    /// The longest packet for which the buckets can hold enough tokens.
    largest_bytes: u32,
    child: Child,
    overhead_bytes: u32,
}

/// The parameters that determine departures from a tbf over a plain FIFO.
#[derive(Debug, Clone)]
pub struct Bucket {
    /// The tokens.
    pub tokens: TokenBucket,
    /// Longer packets are dropped.
    pub largest_bytes: u32,
    /// The limit of the FIFO.
    pub limit: Limit,
}

impl Tbf {
    /// Its bucket, if the child is a plain FIFO: the departure of a packet is then known at its arrival.
    pub fn over_a_fifo(&self) -> Option<Bucket> {
        Some(Bucket {
            tokens: self.bucket.clone(),
            largest_bytes: self.largest_bytes,
            limit: self.child.fifo_limit()?,
        })
    }
}

impl Build<Parameters> for Tbf {
    fn build(parameters: &Parameters, setting: &Setting) -> Tbf {
        let depth_ns = PschedRate::new(parameters.rate_bps).ns_of(parameters.burst_bytes);
        let mut bucket = TokenBucket::new(parameters.rate_bps, depth_ns);
        let mut largest_bytes = parameters.burst_bytes;
        if parameters.peakrate_bps > 0 {
            bucket = bucket.with_peak(parameters.peakrate_bps, parameters.mtu_bytes);
            largest_bytes = largest_bytes.min(parameters.mtu_bytes);
        }
        let fifo = Config::Bfifo(Bfifo {
            limit_bytes: parameters.limit_bytes,
        });
        let inside = parameters.child.as_deref().unwrap_or(&fifo);
        Tbf {
            bucket,
            largest_bytes,
            child: Child::new(inside, &setting.child("1")),
            overhead_bytes: setting.overhead_bytes,
        }
    }
}

impl Discipline for Tbf {
    /// Enqueues the packet in the child, unless it is too long.
    fn enqueue(
        &mut self,
        packet: Packet,
        now: Time,
        events: &mut Events,
    ) -> Result<(), DropReason> {
        if packet.wire_bytes(self.overhead_bytes) > self.largest_bytes {
            return Err(DropReason::TooLarge);
        }
        self.child.enqueue(packet, now, events)
    }

    /// The child's next packet once the buckets have tokens for it.
    fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued {
        let head = match self.child.peek(now, events) {
            Dequeued::Packet(packet) => packet,
            nothing => return nothing,
        };
        let now_ns = now.as_ns();
        let bytes = head.wire_bytes(self.overhead_bytes);
        match self.bucket.take(bytes, now_ns) {
            Ok(()) => self.child.dequeue(now, events),
            Err(wait_ns) => Dequeued::NotBefore(Time::from_ns(now_ns + wait_ns)),
        }
    }

    /// Its next packet and the tokens needed are known.
    fn keeps_its_head(&self) -> bool {
        self.child.keeps_what_was_seen()
    }

    fn largest_gso_bytes(&self) -> u32 {
        self.largest_bytes
    }

    fn backlog(&self) -> (u32, u64) {
        self.child.backlog()
    }

    fn statistics(&self) -> Statistics {
        self.child.statistics()
    }

    fn own_state(&self) -> Option<OwnState> {
        self.child.own_state()
    }

    fn class_of(&self, packet: &Packet) -> Option<u16> {
        self.child.class_of(packet)
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        Box::new(self.child.packets())
    }
}

#[cfg(test)]
mod tests;
