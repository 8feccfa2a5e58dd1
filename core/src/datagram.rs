//! UDP datagrams in the network: headers, IP fragments (RFC 791 section 3.2), and reassembly.
//!
//! The sender fragments a datagram for the smallest MTU of the path, as a host does after path MTU discovery.
//! Each fragment is queued, counted and dropped individually; a datagram is lost if any fragment is.

use crate::packet::{Packet, PacketKind};
use crate::time::Time;
use std::collections::BTreeMap;

/// IPv4 header without options, bytes.
pub const IP_HEADER_BYTES: u32 = 20;
/// UDP header, bytes.
pub const UDP_HEADER_BYTES: u32 = 8;
/// Number of partially received datagrams kept. Linux keeps them for 30 s; with more, a flow discards the
/// oldest.
const INCOMPLETE_KEPT: usize = 64;

/// The packets of a datagram of `payload_bytes` on a path with this MTU.
pub fn packets(
    conversation: u32,
    number: u32,
    payload_bytes: u32,
    mtu_bytes: u32,
    now: Time,
) -> impl Iterator<Item = Packet> {
    let body = payload_bytes + UDP_HEADER_BYTES;
    // All fragments but the last carry a multiple of eight bytes.
    let most = if body + IP_HEADER_BYTES <= mtu_bytes {
        body
    } else {
        (mtu_bytes - IP_HEADER_BYTES) / 8 * 8
    };
    let count = body.div_ceil(most);
    (0..count).map(move |index| {
        let carried = most.min(body - index * most);
        let bytes = (carried + IP_HEADER_BYTES) as u16;
        Packet::new(PacketKind::Udp, conversation, number, bytes, now)
            .as_fragment(index as u16, count as u16)
    })
}

/// Reassembles fragments at the receiver.
#[derive(Debug, Clone, Default)]
pub struct Reassembly {
    incomplete: BTreeMap<u32, Incomplete>,
}

/// A partially received datagram.
#[derive(Debug, Clone, Default)]
struct Incomplete {
    /// One bit for each fragment received.
    seen: Vec<u64>,
    count: u16,
    /// Bytes after the IP headers.
    body_bytes: u32,
}

impl Incomplete {
    /// Records fragment `index`. Returns whether it is new.
    fn note(&mut self, index: u16) -> bool {
        let (word, bit) = (usize::from(index / 64), 1 << (index % 64));
        if self.seen.len() <= word {
            self.seen.resize(word + 1, 0);
        }
        let is_first = self.seen[word] & bit == 0;
        self.seen[word] |= bit;
        is_first
    }
}

impl Reassembly {
    /// Processes a packet. Returns the payload of the datagram that it completes, if any.
    #[inline(always)]
    pub fn arrived(&mut self, packet: &Packet) -> Option<u32> {
        let carried = u32::from(packet.bytes) - IP_HEADER_BYTES;
        if packet.fragments() == 1 {
            return Some(carried - UDP_HEADER_BYTES);
        }
        self.fragment_arrived(packet, carried)
    }

    #[inline(never)]
    fn fragment_arrived(&mut self, packet: &Packet, carried: u32) -> Option<u32> {
        let incomplete = self.incomplete.entry(packet.number).or_default();
        if incomplete.note(packet.fragment_index()) {
            incomplete.count += 1;
            incomplete.body_bytes += carried;
        }
        if incomplete.count == packet.fragments() {
            let whole = self.incomplete.remove(&packet.number)?;
            return Some(whole.body_bytes - UDP_HEADER_BYTES);
        }
        if self.incomplete.len() > INCOMPLETE_KEPT {
            self.incomplete.pop_first();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(payload: u32) -> Vec<u16> {
        packets(0, 1, payload, 1500, Time::ZERO)
            .map(|p| p.bytes)
            .collect()
    }

    #[test]
    fn fragments_begin_above_1472_bytes_of_payload() {
        assert_eq!(sizes(512), vec![540]);
        assert_eq!(sizes(1472), vec![1500]);
        assert_eq!(sizes(1473), vec![1500, 21]);
        assert_eq!(sizes(0), vec![28]);
        // 3000 + 8 bytes: 1480 + 1480 + 48.
        assert_eq!(sizes(3000), vec![1500, 1500, 68]);
    }

    #[test]
    fn a_datagram_is_whole_when_all_its_fragments_are_there() {
        let mut reassembly = Reassembly::default();
        let fragments: Vec<Packet> = packets(0, 1, 3000, 1500, Time::ZERO).collect();
        assert_eq!(reassembly.arrived(&fragments[2]), None);
        assert_eq!(reassembly.arrived(&fragments[0]), None);
        assert_eq!(reassembly.arrived(&fragments[0]), None); // a duplicate
        assert_eq!(reassembly.arrived(&fragments[1]), Some(3000));
    }

    #[test]
    fn a_lost_fragment_loses_the_datagram_and_memory_stays_bounded() {
        let mut reassembly = Reassembly::default();
        for number in 0..1000 {
            let first = packets(0, number, 3000, 1500, Time::ZERO).next().unwrap();
            assert_eq!(reassembly.arrived(&first), None);
        }
        assert!(reassembly.incomplete.len() <= INCOMPLETE_KEPT + 1);
    }
}
