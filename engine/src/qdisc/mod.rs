//! Queue disciplines.
//!
//! As in Linux, a discipline decides at `enqueue` whether to take a packet and at `dequeue`
//! which one leaves, or when to ask again. The device that drives it is `net::link`.
//!
//! Adding one: its grammar in the crate `dumbbell-tc`, a file here with its state, and a line in
//! each `match` below (the compiler names them).

pub mod fifo;
pub mod netem;

use crate::sim::packet::Packet;
use crate::sim::time::Time;
use fifo::Fifo;
use netem::Netem;

/// A discipline and its parameters, as the resolved description writes them. The type is tc's:
/// what the grammar reads is what the engine runs.
pub use dumbbell_tc::Qdisc as Config;

/// Why a packet was dropped; the `reason` column of the table `packets`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum DropReason {
    /// The queue was full.
    Overlimit = 1,
    /// The link lost it after the queue.
    LinkLoss = 2,
}

/// What a discipline says when asked for a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dequeued {
    /// This one leaves now.
    Packet(Packet),
    /// None before this instant.
    NotBefore(Time),
    /// The queue is empty.
    Empty,
}

/// A discipline with its state. An enum rather than a trait object: the plain FIFO is on the
/// path of every packet.
#[derive(Debug, Clone)]
pub enum Qdisc {
    /// `pfifo` and `bfifo`.
    Fifo(Fifo),
    /// `netem`.
    Netem(Netem),
}

impl Qdisc {
    /// An empty queue on a link whose packets carry `overhead_bytes` more than their IP size.
    pub fn new(config: &Config, overhead_bytes: u32) -> Qdisc {
        match config {
            Config::Pfifo(pfifo) => {
                Qdisc::Fifo(Fifo::by_packets(pfifo.limit_packets, overhead_bytes))
            }
            Config::Bfifo(bfifo) => Qdisc::Fifo(Fifo::by_bytes(bfifo.limit_bytes, overhead_bytes)),
            Config::Netem(config) => Qdisc::Netem(Netem::new(config, overhead_bytes)),
        }
    }

    /// Takes the packet or refuses it.
    #[inline(always)]
    pub fn enqueue(&mut self, packet: Packet, now: Time) -> Result<(), DropReason> {
        match self {
            Qdisc::Fifo(fifo) => fifo.enqueue(packet),
            Qdisc::Netem(netem) => netem.enqueue(packet, now),
        }
    }

    /// The packet that leaves at `now`, if any.
    #[inline(always)]
    pub fn dequeue(&mut self, now: Time) -> Dequeued {
        match self {
            Qdisc::Fifo(fifo) => fifo.dequeue(),
            Qdisc::Netem(netem) => netem.dequeue(now),
        }
    }

    /// Packets and bytes on the wire that it holds, as `tc -s qdisc` counts them.
    #[inline(always)]
    pub fn backlog(&self) -> (u32, u64) {
        match self {
            Qdisc::Fifo(fifo) => fifo.backlog(),
            Qdisc::Netem(netem) => netem.backlog(),
        }
    }

    /// The part of a packet's stay that was its own transmission inside the discipline. Zero
    /// for those that leave transmission to the link.
    #[inline]
    pub fn own_service_time(&self, wire_bytes: u32) -> Time {
        match self {
            Qdisc::Fifo(_) => Time::ZERO,
            Qdisc::Netem(netem) => netem.transmission_time(wire_bytes),
        }
    }

    /// Every packet it holds, in no particular order.
    pub fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        match self {
            Qdisc::Fifo(fifo) => Box::new(fifo.packets()),
            Qdisc::Netem(netem) => Box::new(netem.packets()),
        }
    }
}
