//! Per-packet records on links with `record_packets`.

use crate::sim::chunked_vec::ChunkedVec;
use crate::sim::link_statistics::Level;
use crate::sim::packet::Packet;
use crate::sim::time::Time;

/// What happened to a packet; the `event` column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum Event {
    /// Enqueued.
    Enqueue = 0,
    /// Transmitted.
    Dequeue = 1,
    /// Dropped by the queue.
    Drop = 2,
    /// Marked.
    Mark = 3,
    /// Transmitted, but lost by the link.
    Lost = 4,
}

/// A row of `packets`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Time of the event.
    pub time: Time,
    /// Index of the queue.
    pub queue: u32,
    /// The event.
    pub event: Event,
    /// Reason of a drop or mark: a `DropReason`, or 0.
    pub reason: i8,
    /// Index of the flow or probe.
    pub conversation: u32,
    /// Datagram number or echo sequence.
    pub number: u32,
    /// Bytes on the wire.
    pub bytes: u32,
    /// Packets in queue and transmission after the event.
    pub system_pkts: u32,
    /// Sojourn time of a transmitted packet.
    pub sojourn: Option<Time>,
    /// `Discipline::class_of`, or `NO_CLASS`.
    pub class: u16,
}

/// Value of `Record::class` for a discipline without classes. A sentinel keeps the row small.
pub const NO_CLASS: u16 = u16::MAX;
const _: () = assert!(size_of::<Record>() == 48);

/// All records of a run.
#[derive(Debug, Clone, Default)]
pub struct Records {
    /// In the order of events.
    pub rows: ChunkedVec<Record>,
}

impl Records {
    /// Adds a row.
    #[expect(clippy::too_many_arguments, reason = "a row has this many columns")]
    #[inline]
    pub fn push(
        &mut self,
        time: Time,
        queue: usize,
        event: Event,
        reason: i8,
        packet: &Packet,
        bytes: u32,
        level: Level,
        sojourn: Option<Time>,
        class: Option<u16>,
    ) {
        self.rows.push(Record {
            time,
            queue: queue as u32,
            event,
            reason,
            conversation: packet.conversation,
            number: packet.number,
            bytes,
            system_pkts: level.system_pkts,
            sojourn,
            class: class.unwrap_or(NO_CLASS),
        });
    }
}
