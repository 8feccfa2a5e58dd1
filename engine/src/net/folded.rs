//! A plain FIFO in front of a transmitter of constant rate, without events for departures.
//!
//! The departure time of a packet is known when it is enqueued: its transmission starts when the one before it
//! ends. Statistics of departures are entered later: at the next arrival, at a sample, or at the end of the run.
//! A departure is an event only where a host waits for the packet, to forward it or to answer it. With a delay
//! behind the transmitter no host does, and the only event is the arrival at the far end.
//!
//! The ordinary path (`Link::send`) has an event for each departure; both give the same digest
//! (`tests/folding.rs`). Links with loss, changes or records take the ordinary path.

use crate::qdisc::fifo::Limit;
use crate::sim::link_statistics::Level;
use crate::sim::packet::Packet;
use crate::sim::rate::Rate;
use crate::sim::ring::Ring;
use crate::sim::time::Time;

/// A packet in the system whose departure is known.
#[derive(Debug, Clone, Copy)]
pub struct ScheduledDeparture {
    /// The packet.
    pub packet: Packet,
    /// When its transmission ends.
    pub departure: Time,
}

/// A packet that has left.
#[derive(Debug, Clone, Copy)]
pub struct DepartedPacket {
    /// The packet.
    pub packet: Packet,
    /// When its transmission ended.
    pub departure: Time,
    /// How long its transmission took.
    pub service: Time,
}

/// Queue and transmitter in one.
#[derive(Debug, Clone)]
pub struct FoldedFifo {
    /// First to leave first. Those on the way lie in front of the one in transmission, so that
    /// a packet is written once and read where it arrives.
    scheduled: Ring<ScheduledDeparture>,
    /// Number of those that have left and not been taken out.
    on_the_way: usize,
    /// Bytes on the wire of all but the first.
    waiting_bytes: u64,
    /// When the first of them leaves, or `NEVER`.
    next_departure: Time,
    /// When the last of them leaves.
    last_departure: Time,
    /// When the last one before them left.
    latest_departed: Time,
    /// Departures that somebody waits for.
    awaited: Ring<Time>,
    /// The first of these, or `NEVER`.
    next_awaited: Time,
    limit: Limit,
    rate: Rate,
    overhead_bytes: u32,
}

impl FoldedFifo {
    /// An empty queue.
    pub fn new(limit: Limit, rate: Rate, overhead_bytes: u32) -> FoldedFifo {
        FoldedFifo {
            scheduled: Ring::default(),
            on_the_way: 0,
            waiting_bytes: 0,
            next_departure: Time::NEVER,
            last_departure: Time::ZERO,
            latest_departed: Time::ZERO,
            awaited: Ring::default(),
            next_awaited: Time::NEVER,
            limit,
            rate,
            overhead_bytes,
        }
    }

    /// Takes a packet and fixes its departure; false when the queue is full. Departures before
    /// now have been caught up with.
    #[inline(always)]
    pub fn offer(&mut self, packet: Packet, bytes: u32, now: Time, is_awaited: bool) -> bool {
        let system_pkts = self.scheduled.len() - self.on_the_way;
        let waiting_pkts = system_pkts.saturating_sub(1);
        let is_idle = system_pkts == 0;
        if !self
            .limit
            .admits(waiting_pkts, self.waiting_bytes, u64::from(bytes))
        {
            return false;
        }
        let service = self.rate.time_for(bytes);
        self.last_departure = now.max(self.last_departure) + service;
        if is_idle {
            self.next_departure = self.last_departure;
        } else {
            self.waiting_bytes += u64::from(bytes);
        }
        self.scheduled.push_back(ScheduledDeparture {
            packet,
            departure: self.last_departure,
        });
        if is_awaited {
            self.awaited.push_back(self.last_departure);
            self.next_awaited = self.next_awaited.min(self.last_departure);
        }
        true
    }

    /// The next packet that leaves before `bound`. It is on the way then: `take_out`.
    #[inline(always)]
    pub fn depart_before(&mut self, bound: Time) -> Option<DepartedPacket> {
        if self.next_departure >= bound {
            return None;
        }
        let ScheduledDeparture { packet, departure } = *self.scheduled.get(self.on_the_way)?;
        self.on_the_way += 1;
        self.next_departure = match self.scheduled.get(self.on_the_way) {
            Some(next) => {
                self.waiting_bytes -= u64::from(next.packet.wire_bytes(self.overhead_bytes));
                next.departure
            }
            None => Time::NEVER,
        };
        if departure == self.next_awaited {
            self.wait_for_the_next();
        }
        let start = packet.arrived.max(self.latest_departed);
        self.latest_departed = departure;
        Some(DepartedPacket {
            packet,
            departure,
            service: departure - start,
        })
    }

    /// Takes out the first packet on the way, if it left before `bound`, and says when it did.
    #[inline(always)]
    pub fn take_out(&mut self, bound: Time) -> Option<(Time, Packet)> {
        let first = self.scheduled.front()?;
        if self.on_the_way == 0 || first.departure >= bound {
            return None;
        }
        self.on_the_way -= 1;
        let ScheduledDeparture { packet, departure } = self.scheduled.pop_front()?;
        Some((departure, packet))
    }

    fn wait_for_the_next(&mut self) {
        self.awaited.pop_front();
        self.next_awaited = self.awaited.front().copied().unwrap_or(Time::NEVER);
    }

    /// When the transmission of the packet that was taken last begins, if it waits for another's
    /// end. Departures before now have been caught up with.
    pub fn last_begins_at(&self) -> Option<Time> {
        let system_pkts = self.scheduled.len() - self.on_the_way;
        let before = self.scheduled.len().checked_sub(2)?;
        let before = self.scheduled.get(before).filter(|_| system_pkts > 1)?;
        Some(before.departure)
    }

    /// The next departure that somebody waits for.
    #[inline]
    pub fn next_awaited(&self) -> Time {
        self.next_awaited
    }

    /// Packets in queue and transmission, and the backlog.
    #[inline(always)]
    pub fn level(&self) -> Level {
        let system_pkts = (self.scheduled.len() - self.on_the_way) as u32;
        Level {
            system_pkts,
            backlog_pkts: system_pkts.saturating_sub(1),
            backlog_bytes: self.waiting_bytes,
        }
    }

    /// Every packet in queue and transmission, and on the way.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.scheduled.iter().map(|scheduled| &scheduled.packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::packet::Kind;

    fn packet(bytes: u16) -> Packet {
        Packet::new(Kind::Udp, 0, 1, bytes, Time::ZERO).with_size_on_wire()
    }

    /// 125 bytes take a millisecond.
    fn queue(limit: Limit) -> FoldedFifo {
        FoldedFifo::new(limit, Rate::new(1_000_000), 14)
    }

    const MS: Time = Time::from_ns(1_000_000);

    #[test]
    fn departures_follow_one_another() {
        let mut queue = queue(Limit::Packets(10));
        assert!(queue.offer(packet(125), 125, Time::ZERO, false));
        assert!(queue.offer(packet(250), 250, Time::ZERO, true));
        assert_eq!(queue.next_awaited(), MS + MS + MS);
        assert_eq!(queue.level().backlog_bytes, 250);
        assert!(queue.depart_before(MS).is_none());
        let first = queue.depart_before(MS + Time(1)).unwrap();
        assert_eq!((first.departure, first.service), (MS, MS));
        assert_eq!(queue.level().backlog_bytes, 0);
        assert_eq!(queue.depart_before(Time::NEVER).unwrap().service, MS + MS);
        assert_eq!(queue.next_awaited(), Time::NEVER);
        // After an idle time transmission starts at once.
        assert!(queue.offer(packet(125), 125, Time(7) + MS + MS + MS, false));
        let third = queue.depart_before(Time::NEVER).unwrap();
        assert_eq!(third.departure, Time(7) + MS + MS + MS + MS);
    }

    #[test]
    fn limits_count_what_waits_and_not_what_is_in_transmission() {
        let mut by_packets = queue(Limit::Packets(1));
        let mut by_bytes = queue(Limit::Bytes(125));
        for queue in [&mut by_packets, &mut by_bytes] {
            assert!(queue.offer(packet(125), 125, Time::ZERO, false));
            assert!(queue.offer(packet(125), 125, Time::ZERO, false));
            assert!(!queue.offer(packet(125), 125, Time::ZERO, false));
            assert_eq!(queue.packets().count(), 2);
        }
    }
}
