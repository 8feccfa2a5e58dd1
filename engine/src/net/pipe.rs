//! A plain FIFO, a transmitter with a constant rate and a constant delay: the departure of a packet, or its
//! drop, is known at its arrival.
//!
//! Both depend only on earlier packets. So only timestamps of a packet are kept, until its statistics are
//! recorded. Statistics are recorded many packets at a time, in the order of events, and never ahead of the
//! present: a packet that enters a chain is recorded at later links before it reaches them
//! (`sim/world/chained.rs`).
//!
//! The ordinary path (`Link::send`) has an event for each departure and gives the same digest
//! (`tests/folding.rs`).

use super::pending::Pending;
use crate::qdisc::fifo::Limit;
use crate::sim::crossing::Crossing;
use crate::sim::link_statistics::{LinkStatistics, Server};
use crate::sim::packet::Packet;
use crate::sim::rate::Rate;
use crate::sim::time::Time;

/// The outcome for an accepted packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PipeDeparture {
    /// End of its transmission.
    pub departure: Time,
    /// Start of its transmission, if it must wait.
    pub begins_at: Option<Time>,
    /// Whether enough packets are pending to be recorded (`Link::enter_before`).
    pub is_to_be_entered: bool,
}

/// Queue, transmitter and delay of a pipe.
#[derive(Debug, Clone)]
pub struct Pipe {
    pending: Pending,
    /// Departure of the last packet.
    last_departure: Time,
    /// None for an infinite rate: packets pass in an instant.
    rate: Option<Rate>,
    limit: Limit,
    /// Whether GSO packets may arrive.
    takes_gso: bool,
}

impl Pipe {
    /// An empty pipe. With `is_first`, `cross` is called at the time of arrival. `takes_gso` says whether GSO
    /// packets may arrive.
    pub fn new(limit: Limit, rate: Option<Rate>, is_first: bool, takes_gso: bool) -> Pipe {
        Pipe {
            pending: Pending::new(is_first),
            last_departure: Time::ZERO,
            rate,
            limit,
            takes_gso,
        }
    }

    /// A packet of `bytes` bytes on the wire arrives at `at`, not before earlier packets, and after
    /// departures of that instant. None if the queue is full.
    #[inline(always)]
    pub fn cross(&mut self, bytes: u32, at: Time) -> Option<PipeDeparture> {
        if self.rate.is_some() && !self.admits(u64::from(bytes), at) {
            return None;
        }
        Some(self.take(bytes, at, false))
    }

    /// Whether the queue has room for a packet or GSO packet of `bytes` bytes.
    #[inline(always)]
    pub fn admits(&mut self, bytes: u64, at: Time) -> bool {
        let (system_pkts, system_bytes) = self.pending.system();
        let waiting_pkts = system_pkts.saturating_sub(1);
        // The count is an upper bound: some packets may have left by then, or be segments of one GSO packet.
        if self.limit.admits(waiting_pkts, system_bytes, bytes) {
            return true;
        }
        self.admits_at_last(bytes, at + Time(1))
    }

    /// Enqueues an admitted packet, or the next segment of an admitted GSO packet.
    #[inline(always)]
    pub fn take(&mut self, bytes: u32, at: Time, continues: bool) -> PipeDeparture {
        let mut taken = PipeDeparture {
            departure: at,
            begins_at: None,
            is_to_be_entered: false,
        };
        let bound = at + Time(1);
        if let Some(rate) = &mut self.rate {
            let service = rate.time_for(bytes);
            if self.last_departure >= bound && self.last_departure > Time::ZERO {
                taken.begins_at = Some(self.last_departure);
            }
            taken.departure = at.max(self.last_departure) + service;
            self.last_departure = taken.departure;
        }
        taken.is_to_be_entered = self.pending.push(Crossing {
            arrived: at,
            departure: taken.departure,
            bytes,
            continues,
        });
        taken
    }

    /// Whether a packet has room in the queue as it is after all departures before `bound`.
    #[inline(never)]
    fn admits_at_last(&mut self, bytes: u64, bound: Time) -> bool {
        let limit = self.limit;
        let Some((first, waiting)) = self.pending.system_at(bound).split_first() else {
            return limit.admits(0, 0, bytes);
        };
        if !self.takes_gso {
            let (waiting_pkts, first_bytes) = (waiting.len(), u64::from(first.bytes));
            let waiting_bytes = self.pending.system().1 - first_bytes;
            return limit.admits(waiting_pkts, waiting_bytes, bytes);
        }
        // The segments of the packet in transmission have left the queue with the first of them.
        let begun_bytes = { waiting.iter().take_while(|each| each.continues) }
            .map(|each| u64::from(each.bytes))
            .sum::<u64>();
        let (is_first, first_bytes) = (!first.continues, u64::from(first.bytes));
        let (segments, bytes_in_system) = self.pending.system();
        let pkts = segments - self.pending.continuing() - usize::from(is_first);
        limit.admits(pkts, bytes_in_system - first_bytes - begun_bytes, bytes)
    }

    /// Departure of the last packet.
    #[inline(always)]
    pub fn last_departure(&self) -> Time {
        self.last_departure
    }

    /// Records a packet that finds the queue full at `at`, which may be in the future.
    pub fn refuse(&mut self, packet: Packet, at: Time) {
        self.pending.refuse(packet, at);
    }

    /// The next packet that found the queue full before `bound`.
    #[inline]
    pub fn refused_before(&mut self, bound: Time) -> Option<Packet> {
        self.pending.refused_before(bound)
    }

    /// Records everything before `bound`, which is not later than the present.
    pub fn enter_before(&mut self, bound: Time, warm_up: Time, statistics: &mut LinkStatistics) {
        if self.rate.is_some() {
            let server = Server::Transmitter;
            self.pending
                .enter_before(bound, server, warm_up, statistics);
        } else {
            self.enter_passed(bound, warm_up, statistics);
        }
    }

    #[inline(never)]
    fn enter_passed(&mut self, bound: Time, warm_up: Time, statistics: &mut LinkStatistics) {
        self.pending.enter_passed(bound, warm_up, statistics);
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
