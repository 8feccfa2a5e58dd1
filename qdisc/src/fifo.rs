//! `pfifo` and `bfifo`: first in, first out, tail drop (tc-pfifo(8), tc-bfifo(8)).
//!
//! | clause | here |
//! | --- | --- |
//! | pfifo: a packet is enqueued if fewer than `limit` packets are queued | yes |
//! | bfifo: a packet is enqueued if backlog plus its bytes is at most `limit` | yes |
//! | `tc qdisc change` of the limit while packets are queued | no |
//!
//! On a link with a rate the packet in transmission has left the queue, as in Linux, so `pfifo limit L` in
//! front of a transmitter is the M/M/1/K queue with K = L + 1.

use super::{Build, Config, Dequeued, Discipline, DropReason, Events, Setting};
use dumbbell_core::packet::Packet;
use dumbbell_core::ring::Ring;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::{Bfifo, Pfifo};

/// A packet of 65535 bytes plus a link overhead of at most the same.
const MOST_BYTES_ON_WIRE: u64 = 2 * 65535;

/// The limit of a FIFO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// This number of packets.
    Packets(u32),
    /// This number of bytes on the wire.
    Bytes(u64),
}

impl Limit {
    /// Whether a packet of `bytes` is accepted with this backlog.
    #[inline]
    pub fn admits(self, waiting_pkts: usize, waiting_bytes: u64, bytes: u64) -> bool {
        match self {
            Limit::Packets(limit) => waiting_pkts < limit as usize,
            Limit::Bytes(limit) => waiting_bytes + bytes <= limit,
        }
    }

    /// The limit of a plain FIFO; None for other disciplines.
    pub fn of(config: &Config) -> Option<Limit> {
        match config {
            Config::Pfifo(fifo) => Some(Limit::Packets(fifo.limit_packets)),
            Config::Bfifo(fifo) => Some(Limit::Bytes(u64::from(fifo.limit_bytes))),
            _ => None,
        }
    }

    /// Whether an empty queue accepts every packet.
    pub fn admits_any(self) -> bool {
        self.admits(0, 0, MOST_BYTES_ON_WIRE)
    }
}

/// A FIFO queue.
#[derive(Debug, Clone)]
pub struct Fifo {
    packets: Ring<Packet>,
    backlog_bytes: u64,
    limit: Limit,
    overhead_bytes: u32,
}

impl Fifo {
    /// Its limit.
    pub fn limit(&self) -> Limit {
        self.limit
    }

    fn new(limit: Limit, overhead_bytes: u32) -> Fifo {
        Fifo {
            packets: Ring::default(),
            backlog_bytes: 0,
            limit,
            overhead_bytes,
        }
    }
}

impl Build<Pfifo> for Fifo {
    fn build(parameters: &Pfifo, setting: &Setting) -> Fifo {
        let limit = Limit::Packets(parameters.limit_packets);
        Fifo::new(limit, setting.overhead_bytes)
    }
}

impl Build<Bfifo> for Fifo {
    fn build(parameters: &Bfifo, setting: &Setting) -> Fifo {
        let limit = Limit::Bytes(u64::from(parameters.limit_bytes));
        Fifo::new(limit, setting.overhead_bytes)
    }
}

impl Discipline for Fifo {
    #[inline(always)]
    fn enqueue(&mut self, packet: Packet, _: Time, _: &mut Events) -> Result<(), DropReason> {
        let bytes = u64::from(packet.wire_bytes(self.overhead_bytes));
        let (waiting_pkts, waiting_bytes) = (self.packets.len(), self.backlog_bytes);
        if !self.limit.admits(waiting_pkts, waiting_bytes, bytes) {
            return Err(DropReason::Overlimit);
        }
        self.backlog_bytes += bytes;
        self.packets.push_back(packet);
        Ok(())
    }

    #[inline(always)]
    fn dequeue(&mut self, _: Time, _: &mut Events) -> Dequeued {
        match self.packets.pop_front() {
            Some(packet) => {
                self.backlog_bytes -= u64::from(packet.wire_bytes(self.overhead_bytes));
                Dequeued::Packet(packet)
            }
            None => Dequeued::Empty,
        }
    }

    fn peek(&mut self, _: Time, _: &mut Events) -> Option<Dequeued> {
        let oldest = self.packets.front();
        Some(oldest.map_or(Dequeued::Empty, |packet| Dequeued::Packet(*packet)))
    }

    #[inline(always)]
    fn backlog(&self) -> (u32, u64) {
        (self.packets.len() as u32, self.backlog_bytes)
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        Box::new(self.packets.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_core::packet::PacketKind;

    fn packet(bytes: u16) -> Packet {
        Packet::new(PacketKind::Udp, 0, 1, bytes, Time::ZERO)
    }

    fn enqueue(queue: &mut Fifo, bytes: u16) -> Result<(), DropReason> {
        queue.enqueue(packet(bytes), Time::ZERO, &mut Events::default())
    }

    fn dequeue(queue: &mut Fifo) -> Dequeued {
        queue.dequeue(Time::ZERO, &mut Events::default())
    }

    #[test]
    fn pfifo_takes_exactly_its_limit() {
        let mut queue = Fifo::build(&Pfifo { limit_packets: 2 }, &Setting::for_tests());
        assert_eq!(enqueue(&mut queue, 100), Ok(()));
        assert_eq!(enqueue(&mut queue, 200), Ok(()));
        assert_eq!(enqueue(&mut queue, 1), Err(DropReason::Overlimit));
        assert_eq!(queue.backlog(), (2, 328));
        assert_eq!(dequeue(&mut queue), Dequeued::Packet(packet(100)));
        assert_eq!(enqueue(&mut queue, 1), Ok(()));
    }

    #[test]
    fn bfifo_counts_bytes_on_the_wire_up_to_and_including_its_limit() {
        let mut queue = Fifo::build(&Bfifo { limit_bytes: 228 }, &Setting::for_tests());
        assert_eq!(enqueue(&mut queue, 100), Ok(()));
        assert_eq!(enqueue(&mut queue, 101), Err(DropReason::Overlimit));
        assert_eq!(enqueue(&mut queue, 100), Ok(()));
        assert_eq!(queue.backlog(), (2, 228));
        assert_eq!(dequeue(&mut queue), Dequeued::Packet(packet(100)));
        assert_eq!(dequeue(&mut queue), Dequeued::Packet(packet(100)));
        assert_eq!(dequeue(&mut queue), Dequeued::Empty);
        assert_eq!(queue.backlog(), (0, 0));
    }
}
