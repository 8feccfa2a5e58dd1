//! Several segments that arrive as one packet.

use super::TcpFlow;
use crate::sim::packet::Packet;
use crate::sim::time::Time;
use crate::traffic::connection::{ArrivedSegment, flags_of_ip};

impl TcpFlow {
    /// Consecutive segments of the sender, at least one, arrive as one packet. TCP sees one segment with the
    /// header of the first; captures and counters there see one packet. Otherwise as `on_packet`.
    pub fn on_super_packet(&mut self, segments: &[Packet], now: Time) -> u64 {
        let first = &segments[0];
        let tag = self.segments.tag(first.segment_place());
        debug_assert!(!tag.is_reply, "pure acknowledgements are not merged");
        let (mut header, ..) = self.segments.take(first.segment_place());
        header.flags |= flags_of_ip(first);
        let mut bytes = u32::from(first.bytes);
        for packet in &segments[1..] {
            let (next, ..) = self.segments.take(packet.segment_place());
            debug_assert_eq!(header.end(), next.seq, "segments are consecutive");
            header.payload_bytes += next.payload_bytes;
            header.flags |= next.flags;
            bytes += next.payload_bytes;
        }
        let arrived = ArrivedSegment {
            header,
            options: None,
            bytes,
            tag,
        };
        self.enter(&arrived, now)
    }
}
