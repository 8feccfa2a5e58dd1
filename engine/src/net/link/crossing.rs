//! Operations of links that are pipes (`net/pipe.rs`) or token buckets with a delay (`net/shaped.rs`).

use super::{Link, LinkPath};
use crate::net::pipe::PipeDeparture;
use crate::sim::packet::{Packet, PacketSize};
use crate::sim::time::Time;

impl Link {
    /// A packet of this size arrives at the link: see `Pipe::cross`. None if the queue is full.
    #[inline(always)]
    pub fn cross(&mut self, size: PacketSize, at: Time) -> Option<PipeDeparture> {
        let bytes = size.wire_bytes(self.overhead_bytes);
        match &mut self.kind {
            LinkPath::Pipe(pipe) => pipe.cross(bytes, at),
            LinkPath::Shaped(shaped) => shaped.cross(bytes, at),
            _ => unreachable!("only pipes take this path"),
        }
    }

    /// Whether the queue of a pipe has room for a GSO packet of these segments.
    pub fn admits_gso(&mut self, segments: &[Packet], at: Time) -> bool {
        let bytes = segments
            .iter()
            .map(|each| u64::from(each.wire_bytes(self.overhead_bytes)));
        let bytes = bytes.sum();
        match &mut self.kind {
            LinkPath::Pipe(pipe) => pipe.admits(bytes, at),
            _ => false,
        }
    }

    /// Enqueues the next segment of an admitted GSO packet in a pipe.
    pub fn take_segment(&mut self, packet: &Packet, at: Time, continues: bool) -> PipeDeparture {
        let bytes = packet.wire_bytes(self.overhead_bytes);
        let LinkPath::Pipe(pipe) = &mut self.kind else {
            unreachable!("only pipes take this path");
        };
        pipe.take(bytes, at, continues)
    }

    /// Records statistics up to `bound`. Then call `refused_before` until None.
    pub fn enter_before(&mut self, bound: Time, warm_up: Time) {
        match &mut self.kind {
            LinkPath::Pipe(pipe) => pipe.enter_before(bound, warm_up, &mut self.statistics),
            LinkPath::Shaped(shaped) => shaped.enter_before(bound, warm_up, &mut self.statistics),
            _ => {}
        }
    }

    /// The next packet that found the queue full before `bound`. It is counted here.
    pub fn refused_before(&mut self, bound: Time) -> Option<Packet> {
        let packet = match &mut self.kind {
            LinkPath::Pipe(pipe) => pipe.refused_before(bound),
            LinkPath::Shaped(shaped) => shaped.refused_before(bound),
            _ => None,
        }?;
        self.count_refused(&packet);
        Some(packet)
    }

    /// Counts a packet that finds the queue full.
    #[inline(never)]
    pub fn count_refused(&mut self, packet: &Packet) {
        let bytes = packet.wire_bytes(self.overhead_bytes);
        self.statistics.total.arrived(bytes);
        self.statistics.total.refused(bytes);
    }

    /// Records that a packet will find the queue full at `at`.
    #[inline(never)]
    pub fn refuse_at(&mut self, packet: Packet, at: Time) {
        match &mut self.kind {
            LinkPath::Pipe(pipe) => pipe.refuse(packet, at),
            LinkPath::Shaped(shaped) => shaped.refuse(packet, at),
            _ => {}
        }
    }
}
