//! A plain FIFO in front of a transmitter with a constant rate, without events for departures.
//!
//! The departure time of a packet is known when it is enqueued, because its transmission starts when the
//! previous one ends. Statistics of departures are recorded later: at the next arrival, at a sample, or at
//! the end of the run. A departure is an event only if a host must forward or answer the packet at that time.
//! With a propagation delay no host does, and the only event is the arrival at the far end.
//!
//! The ordinary path (`Link::send`) has an event for each departure; both give the same digest
//! (`tests/folding.rs`). Links with loss, changes or records take the ordinary path.

use crate::qdisc::fifo::Limit;
use crate::sim::link_statistics::Level;
use crate::sim::packet::Packet;
use crate::sim::rate::Rate;
use crate::sim::ring::Ring;
use crate::sim::time::Time;

/// A packet in the system with its known departure.
#[derive(Debug, Clone, Copy)]
pub struct ScheduledDeparture {
    /// The packet.
    pub packet: Packet,
    /// End of its transmission.
    pub departure: Time,
}

/// A packet that has departed.
#[derive(Debug, Clone, Copy)]
pub struct DepartedPacket {
    /// The packet.
    pub packet: Packet,
    /// End of its transmission.
    pub departure: Time,
    /// Duration of its transmission.
    pub service: Time,
}

/// Queue and transmitter of a folded link.
#[derive(Debug, Clone)]
pub struct FoldedFifo {
    /// In order of departure. Packets that have departed and are propagating come first, then the one in
    /// transmission, so each packet is written once and read where it arrives.
    scheduled: Ring<ScheduledDeparture>,
    /// Number of departed packets not taken out yet.
    on_the_way: usize,
    /// Bytes on the wire of all packets in the system but the first.
    waiting_bytes: u64,
    /// Departure of the first packet in the system, or `NEVER`.
    next_departure: Time,
    /// Departure of the last packet.
    last_departure: Time,
    /// Departure of the last packet that has left.
    latest_departed: Time,
    /// Departures that need an event because a host forwards or answers the packet.
    awaited: Ring<Time>,
    /// The first of `awaited`, or `NEVER`.
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

    /// Enqueues a packet and computes its departure; false if the queue is full. Departures before `now` must
    /// have been processed.
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

    /// Departs the next packet due before `bound`. It then propagates until `take_out`.
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

    /// Removes the first propagating packet, if it departed before `bound`, with its departure time.
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

    /// Start of transmission of the packet enqueued last, if it must wait. Departures before now must have
    /// been processed.
    pub fn last_begins_at(&self) -> Option<Time> {
        let system_pkts = self.scheduled.len() - self.on_the_way;
        let before = self.scheduled.len().checked_sub(2)?;
        let before = self.scheduled.get(before).filter(|_| system_pkts > 1)?;
        Some(before.departure)
    }

    /// The next departure that needs an event.
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

    /// Every packet in queue, in transmission and in propagation.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.scheduled.iter().map(|scheduled| &scheduled.packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::packet::PacketKind;

    fn packet(bytes: u16) -> Packet {
        Packet::new(PacketKind::Udp, 0, 1, bytes, Time::ZERO).with_size_on_wire()
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
