//! `pfifo` and `bfifo`: first in, first out, tail drop (tc-pfifo(8), tc-bfifo(8)).
//!
//! | clause | here |
//! | --- | --- |
//! | pfifo: a packet is taken while fewer than `limit` packets wait | yes |
//! | bfifo: a packet is taken while backlog plus its bytes is at most `limit` | yes |
//! | `tc qdisc change` of the limit while packets wait | no |
//!
//! Behind a link with a rate the packet in transmission has left the queue, as in Linux, so
//! `pfifo limit L` in front of a transmitter is the M/M/1/K queue of K = L + 1.

use super::{Dequeued, DropReason};
use crate::sim::packet::Packet;
use crate::sim::ring::Ring;

/// How much a FIFO holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// So many packets.
    Packets(u32),
    /// So many bytes on the wire.
    Bytes(u64),
}

impl Limit {
    /// Whether a packet of `bytes` is taken while this much waits.
    #[inline]
    pub fn admits(self, waiting_pkts: usize, waiting_bytes: u64, bytes: u64) -> bool {
        match self {
            Limit::Packets(limit) => waiting_pkts < limit as usize,
            Limit::Bytes(limit) => waiting_bytes + bytes <= limit,
        }
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
    /// How much it holds.
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// At most `limit_packets` wait.
    pub fn by_packets(limit_packets: u32, overhead_bytes: u32) -> Fifo {
        Fifo::new(Limit::Packets(limit_packets), overhead_bytes)
    }

    /// At most `limit_bytes` on the wire wait.
    pub fn by_bytes(limit_bytes: u32, overhead_bytes: u32) -> Fifo {
        Fifo::new(Limit::Bytes(u64::from(limit_bytes)), overhead_bytes)
    }

    fn new(limit: Limit, overhead_bytes: u32) -> Fifo {
        Fifo {
            packets: Ring::default(),
            backlog_bytes: 0,
            limit,
            overhead_bytes,
        }
    }

    /// Takes the packet unless the limit is reached.
    #[inline(always)]
    pub fn enqueue(&mut self, packet: Packet) -> Result<(), DropReason> {
        let bytes = u64::from(packet.wire_bytes(self.overhead_bytes));
        if !self
            .limit
            .admits(self.packets.len(), self.backlog_bytes, bytes)
        {
            return Err(DropReason::Overlimit);
        }
        self.backlog_bytes += bytes;
        self.packets.push_back(packet);
        Ok(())
    }

    /// The oldest packet.
    #[inline(always)]
    pub fn dequeue(&mut self) -> Dequeued {
        match self.packets.pop_front() {
            Some(packet) => {
                self.backlog_bytes -= u64::from(packet.wire_bytes(self.overhead_bytes));
                Dequeued::Packet(packet)
            }
            None => Dequeued::Empty,
        }
    }

    /// Packets and bytes waiting.
    #[inline(always)]
    pub fn backlog(&self) -> (u32, u64) {
        (self.packets.len() as u32, self.backlog_bytes)
    }

    /// Every packet waiting, oldest first.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::packet::Kind;
    use crate::sim::time::Time;

    fn packet(bytes: u16) -> Packet {
        Packet::new(Kind::Udp, 0, 1, bytes, Time::ZERO)
    }

    #[test]
    fn pfifo_takes_exactly_its_limit() {
        let mut queue = Fifo::by_packets(2, 14);
        assert_eq!(queue.enqueue(packet(100)), Ok(()));
        assert_eq!(queue.enqueue(packet(200)), Ok(()));
        assert_eq!(queue.enqueue(packet(1)), Err(DropReason::Overlimit));
        assert_eq!(queue.backlog(), (2, 328));
        assert_eq!(queue.dequeue(), Dequeued::Packet(packet(100)));
        assert_eq!(queue.enqueue(packet(1)), Ok(()));
    }

    #[test]
    fn bfifo_counts_bytes_on_the_wire_up_to_and_including_its_limit() {
        let mut queue = Fifo::by_bytes(228, 14);
        assert_eq!(queue.enqueue(packet(100)), Ok(()));
        assert_eq!(queue.enqueue(packet(101)), Err(DropReason::Overlimit));
        assert_eq!(queue.enqueue(packet(100)), Ok(()));
        assert_eq!(queue.backlog(), (2, 228));
        assert_eq!(queue.dequeue(), Dequeued::Packet(packet(100)));
        assert_eq!(queue.dequeue(), Dequeued::Packet(packet(100)));
        assert_eq!(queue.dequeue(), Dequeued::Empty);
        assert_eq!(queue.backlog(), (0, 0));
    }
}
