//! A link that is a pipe (`net/pipe.rs`).

use super::{Kind, Link};
use crate::net::pipe::Taken;
use crate::sim::packet::Packet;
use crate::sim::time::Time;

impl Link {
    /// A packet arrives at a pipe: see `Pipe::cross`. None when the queue is full.
    #[inline(always)]
    pub fn cross(&mut self, packet: &Packet, at: Time, is_last_of_instant: bool) -> Option<Taken> {
        let bytes = packet.wire_bytes(self.overhead_bytes);
        let Kind::Pipe(pipe) = &mut self.kind else {
            unreachable!("only pipes are asked");
        };
        pipe.cross(bytes, at, is_last_of_instant)
    }

    /// Whether a pipe's queue has room for a GSO packet of these segments.
    pub fn admits_gso(&mut self, segments: &[Packet], at: Time, is_last_of_instant: bool) -> bool {
        let bytes = segments
            .iter()
            .map(|each| u64::from(each.wire_bytes(self.overhead_bytes)));
        let bytes = bytes.sum();
        match &mut self.kind {
            Kind::Pipe(pipe) => pipe.admits(bytes, at, is_last_of_instant),
            _ => false,
        }
    }

    /// The next segment of a GSO packet that a pipe has room for.
    pub fn take_segment(
        &mut self,
        packet: &Packet,
        at: Time,
        is_last_of_instant: bool,
        continues: bool,
    ) -> Taken {
        let bytes = packet.wire_bytes(self.overhead_bytes);
        let Kind::Pipe(pipe) = &mut self.kind else {
            unreachable!("only pipes are asked");
        };
        pipe.take(bytes, at, is_last_of_instant, continues)
    }
}
