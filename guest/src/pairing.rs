//! Matches the packets seen before a queue with those seen behind it.

use crate::sys::Frame;
use dumbbell_core::time::Time;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::net::SocketAddrV4;

const ETHERNET_BYTES: usize = 14;
const FRAGMENT_OFFSET: u16 = 0x1fff;
/// In the same field: more fragments of the datagram follow.
const MORE_FRAGMENTS: u16 = 0x2000;
const CONGESTION_EXPERIENCED: u8 = 0b11;
/// Number of IP identification values; between two hosts they then begin again (RFC 791 section 3.1).
const NUMBERS: usize = 1 << 16;

/// Identity of a packet: its addresses, IP identification, fragment offset, ports, sequence number, and of
/// UDP the beginning of the payload. Not its ECN field, which a queue may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Identity {
    addresses: u64,
    number: u64,
    ports_and_sequence: u64,
    /// The number of one of our datagrams (`messages`): IP identifications soon begin again.
    datagram: u32,
}

impl Identity {
    /// Whether further fragments of its datagram follow.
    fn has_more_fragments(self) -> bool {
        (self.number >> 16) as u16 & MORE_FRAGMENTS != 0
    }

    /// Identity of the segment behind one with this payload: the IP identification is one more, and the
    /// sequence number is in the lower half.
    fn next(self, payload_bytes: u32) -> Identity {
        let number = (self.number >> 32) as u16;
        let sequence = self.ports_and_sequence as u32;
        let rest = self.number & 0xffff_ffff;
        Identity {
            number: u64::from(number.wrapping_add(1)) << 32 | rest,
            ports_and_sequence: self.ports_and_sequence >> 32 << 32
                | u64::from(sequence.wrapping_add(payload_bytes)),
            ..self
        }
    }
}

/// A packet seen at a point.
#[derive(Debug, Clone, Copy)]
pub struct Sighting {
    at: Time,
    identity: Identity,
    /// With the IP header.
    bytes: u32,
    ecn: u8,
    source: Source,
}

/// The sender of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// TCP or UDP (protocol number), source and destination socket.
    Sockets(u8, SocketAddrV4, SocketAddrV4),
    /// Of ICMP with this identifier.
    Echo(u16),
    /// A later fragment of the datagram with this number, or a packet of an unknown protocol.
    Fragment(u16),
}

/// A packet at a queue.
#[derive(Debug, Clone, Copy)]
pub struct QueuedPacket {
    /// Arrival at the queue.
    pub arrived: Time,
    /// When the device took it; `NEVER` if it did not.
    pub taken: Time,
    /// With the IP header.
    pub bytes: u32,
    /// Its sender.
    pub source: Source,
    /// Whether the queue marked it.
    pub marked: bool,
}

/// Parses a frame; None if it is not IPv4, or was seen before time zero.
pub fn sighting(frame: &Frame<'_>, zero_wall_ns: u64) -> Option<Sighting> {
    let at_ns = frame.at_ns.checked_sub(zero_wall_ns)?;
    let ip = frame.head.get(ETHERNET_BYTES..)?;
    let u16_at = |at: usize| Some(u16::from_be_bytes([*ip.get(at)?, *ip.get(at + 1)?]));
    let socket = |address: usize, port: usize| {
        let bytes: [u8; 4] = ip.get(address..address + 4)?.try_into().expect("four");
        Some(SocketAddrV4::new(bytes.into(), u16_at(port)?))
    };
    let u64_at = |at: usize| {
        let bytes = ip.get(at..at + 8)?;
        Some(u64::from_be_bytes(bytes.try_into().expect("eight bytes")))
    };
    if frame.head[12..14] != [0x08, 0x00] {
        return None;
    }
    let header = usize::from(ip.first()? & 0xf) * 4;
    let (number, part, protocol) = (u16_at(4)?, u16_at(6)?, *ip.get(9)?);
    let source = match i32::from(protocol) {
        _ if part & FRAGMENT_OFFSET != 0 => Source::Fragment(number),
        libc::IPPROTO_TCP | libc::IPPROTO_UDP => {
            Source::Sockets(protocol, socket(12, header)?, socket(16, header + 2)?)
        }
        libc::IPPROTO_ICMP => Source::Echo(u16_at(header + 4)?),
        _ => Source::Fragment(number),
    };
    let datagram = match source {
        Source::Sockets(protocol, ..) if i32::from(protocol) == libc::IPPROTO_UDP => {
            let payload = ip.get(header + 8..).unwrap_or_default();
            payload.first_chunk().copied().map_or(0, u32::from_be_bytes)
        }
        _ => 0,
    };
    Some(Sighting {
        at: Time::from_ns(at_ns),
        identity: Identity {
            addresses: u64_at(12)?,
            number: u64::from(number) << 32 | u64::from(part) << 16 | u64::from(protocol),
            ports_and_sequence: u64_at(header).unwrap_or(0),
            datagram,
        },
        bytes: frame.bytes - ETHERNET_BYTES as u32,
        ecn: ip[1] & CONGESTION_EXPERIENCED,
        source,
    })
}

/// Length of the IP and TCP headers; None if not TCP.
pub fn tcp_headers_bytes(frame: &Frame<'_>) -> Option<u32> {
    let ip = frame.head.get(ETHERNET_BYTES..)?;
    let header = usize::from(ip.first()? & 0xf) * 4;
    let is_tcp = i32::from(*ip.get(9)?) == libc::IPPROTO_TCP;
    let tcp_words = u32::from(ip.get(header + 12)? >> 4);
    is_tcp.then_some(header as u32 + 4 * tcp_words)
}

/// Packets of one identity that have not departed: their places in `Pairing::passages` and ECN fields.
struct Equals {
    first: (usize, u8),
    /// In the order they came. Mostly empty, for which it needs no memory.
    others: VecDeque<(usize, u8)>,
}

/// Matches arrivals with departures; equal identities in order. Only one record is kept for a departed
/// packet: all sightings of a minute at 100 Mbit/s would not fit memory.
#[derive(Default)]
pub struct Pairing {
    /// All packets that came, in this order.
    pub passages: Vec<QueuedPacket>,
    /// Packets that have not departed.
    waiting: FxHashMap<Identity, Equals>,
    /// Whether the queue flips bits of packets.
    finds_damaged: bool,
    /// Senders by addresses and IP identification, from first fragments.
    datagrams: FxHashMap<(u64, u64), Source>,
}

impl Pairing {
    /// For a queue that flips bits of packets, or for one that does not.
    pub fn new(finds_damaged: bool) -> Pairing {
        Pairing {
            finds_damaged,
            ..Pairing::default()
        }
    }

    /// A departing packet may consist of several segments that arrived individually (the device that receives
    /// copies has them segmented). All but the last are as long as the first, and their identities follow
    /// from segmentation (`tcp_gso_segment`, `inet_gso_segment`).
    pub fn went_whole(&mut self, sighting: &Sighting, headers_bytes: u32) {
        let Some(first) = self.waiting_bytes(&sighting.identity) else {
            return self.went(sighting);
        };
        let payload_bytes = first.saturating_sub(headers_bytes);
        let mut left_bytes = sighting.bytes - headers_bytes;
        let mut segment = *sighting;
        while payload_bytes > 0 && left_bytes > payload_bytes {
            self.went(&segment);
            left_bytes -= payload_bytes;
            segment.identity = segment.identity.next(payload_bytes);
        }
        self.went(&segment);
    }

    /// That of one that waits and differs from this in no bit, or in one: a bit of it was flipped.
    fn undamaged(&self, identity: Identity) -> Identity {
        let flipped = (0..u64::BITS).flat_map(|bit| {
            let mut each = [identity; 4];
            each[0].addresses ^= 1 << bit;
            each[1].number ^= 1 << bit;
            each[2].ports_and_sequence ^= 1 << bit;
            each[3].datagram ^= (1u64 << bit) as u32;
            each
        });
        let mut candidates = std::iter::once(identity).chain(flipped);
        let found = candidates.find(|each| self.waiting.contains_key(each));
        found.unwrap_or(identity)
    }

    /// Bytes of the first waiting packet with this identity.
    fn waiting_bytes(&self, identity: &Identity) -> Option<u32> {
        let (place, _) = self.waiting.get(identity)?.first;
        Some(self.passages[place].bytes)
    }

    /// A packet has come to the queue.
    pub fn came(&mut self, sighting: &Sighting) {
        let identity = sighting.identity;
        let datagram = (identity.addresses, identity.number >> 32);
        let source = match sighting.source {
            // Only the first fragment has ports, and it arrives first.
            Source::Fragment(_) => self.datagrams.get(&datagram).copied(),
            known => {
                if identity.has_more_fragments() {
                    self.datagrams.insert(datagram, known);
                }
                Some(known)
            }
        };
        let place = self.passages.len();
        let this = (place, sighting.ecn);
        match self.waiting.entry(identity) {
            Entry::Vacant(none) => {
                none.insert(Equals {
                    first: this,
                    others: VecDeque::new(),
                });
            }
            Entry::Occupied(mut equals) => {
                let equals = equals.get_mut();
                equals.others.push_back(this);
                // A packet that arrived before the identification wrapped and has not departed was dropped;
                // otherwise it would be matched with this departure.
                while place - equals.first.0 >= NUMBERS
                    && let Some(next) = equals.others.pop_front()
                {
                    equals.first = next;
                }
            }
        }
        self.passages.push(QueuedPacket {
            arrived: sighting.at,
            taken: Time::NEVER,
            bytes: sighting.bytes,
            source: source.unwrap_or(sighting.source),
            marked: false,
        });
    }

    /// A packet has left it.
    pub fn went(&mut self, sighting: &Sighting) {
        let identity = match self.finds_damaged {
            true => self.undamaged(sighting.identity),
            false => sighting.identity,
        };
        let Entry::Occupied(mut equals) = self.waiting.entry(identity) else {
            return; // it came before time zero
        };
        let (place, ecn) = match equals.get_mut().others.pop_front() {
            Some(next) => std::mem::replace(&mut equals.get_mut().first, next),
            None => equals.remove().first,
        };
        let passage = &mut self.passages[place];
        passage.taken = sighting.at.max(passage.arrived);
        let marked = sighting.ecn == CONGESTION_EXPERIENCED;
        passage.marked = marked && ecn != CONGESTION_EXPERIENCED;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ethernet, IPv4 without options, and eight bytes of UDP.
    fn packet(number: u16, ecn: u8, at_ns: u64) -> Sighting {
        datagram(number, &[], ecn, at_ns)
    }

    /// The same with the beginning of a payload.
    fn datagram(number: u16, payload: &[u8], ecn: u8, at_ns: u64) -> Sighting {
        let mut head = vec![0u8; ETHERNET_BYTES + 28];
        head.extend_from_slice(payload);
        head[12] = 0x08;
        head[14] = 0x45;
        head[15] = ecn;
        head[18..20].copy_from_slice(&number.to_be_bytes());
        head[23] = libc::IPPROTO_UDP as u8;
        head[34..36].copy_from_slice(&40_000u16.to_be_bytes());
        head[36..38].copy_from_slice(&10_003u16.to_be_bytes());
        let frame = Frame {
            at_ns: 1000 + at_ns,
            bytes: head.len() as u32,
            head: &head,
            has_partial_checksum: false,
        };
        sighting(&frame, 1000).unwrap()
    }

    fn paired(came: &[Sighting], went: &[Sighting]) -> Vec<QueuedPacket> {
        let mut pairing = Pairing::default();
        came.iter().for_each(|sighting| pairing.came(sighting));
        went.iter().for_each(|sighting| pairing.went(sighting));
        pairing.passages
    }

    #[test]
    fn a_packet_is_known_again_though_it_was_marked() {
        let came = [packet(1, 2, 5), packet(2, 2, 6), packet(3, 2, 7)];
        let went = [packet(1, 2, 10), packet(3, 3, 20)];
        let found = paired(&came, &went);
        let at = |port| SocketAddrV4::new([0; 4].into(), port);
        let udp = libc::IPPROTO_UDP as u8;
        assert_eq!(
            found[0].source,
            Source::Sockets(udp, at(40_000), at(10_003))
        );
        assert_eq!((found[0].bytes, found[0].marked), (28, false));
        assert_eq!(found[0].taken, Time::from_ns(10));
        assert_eq!(found[1].taken, Time::NEVER);
        assert!(found[2].marked);
    }

    #[test]
    fn a_packet_is_known_again_though_a_bit_was_flipped() {
        let mut pairing = Pairing::new(true);
        pairing.came(&packet(1, 2, 5));
        pairing.came(&packet(6, 2, 6));
        // 7 is 6 with its last bit flipped, and not 1.
        pairing.went(&packet(7, 2, 20));
        pairing.went(&packet(1, 2, 30));
        let taken = [pairing.passages[0].taken, pairing.passages[1].taken];
        assert_eq!(taken, [Time::from_ns(30), Time::from_ns(20)]);
        assert!(pairing.waiting.is_empty());
    }

    /// A segment of TCP with so much payload.
    fn segment(number: u16, sequence: u32, payload_bytes: u32, at_ns: u64) -> (Sighting, u32) {
        let mut head = vec![0u8; ETHERNET_BYTES + 40];
        head[12] = 0x08;
        head[14] = 0x45;
        head[18..20].copy_from_slice(&number.to_be_bytes());
        head[23] = libc::IPPROTO_TCP as u8;
        head[38..42].copy_from_slice(&sequence.to_be_bytes());
        head[46] = 5 << 4;
        let frame = Frame {
            at_ns,
            bytes: head.len() as u32 + payload_bytes,
            head: &head,
            has_partial_checksum: false,
        };
        (
            sighting(&frame, 0).unwrap(),
            tcp_headers_bytes(&frame).unwrap(),
        )
    }

    #[test]
    fn a_super_packet_is_the_segments_that_came() {
        let came = [
            (65_535, u32::MAX - 99, 1000),
            (0, 900, 1000),
            (1, 1900, 300),
            (2, 2200, 300),
        ];
        let mut pairing = Pairing::default();
        for (number, sequence, payload_bytes) in came {
            pairing.came(&segment(number, sequence, payload_bytes, 5).0);
        }
        let (whole, headers_bytes) = segment(65_535, u32::MAX - 99, 2300, 9);
        assert_eq!(headers_bytes, 40);
        pairing.went_whole(&whole, headers_bytes);
        let taken = pairing.passages.iter().map(|passage| passage.taken.as_ns());
        assert_eq!(taken.take(3).collect::<Vec<_>>(), [9, 9, 9]);
        assert_eq!(pairing.passages[3].taken, Time::NEVER);
        let (last, headers_bytes) = segment(2, 2200, 300, 11);
        pairing.went_whole(&last, headers_bytes);
        assert_eq!(pairing.passages[3].taken, Time::from_ns(11));
    }

    #[test]
    fn equal_packets_leave_in_the_order_they_came() {
        let came = [packet(1, 0, 5), packet(1, 0, 6)];
        let found = paired(&came, &[packet(1, 0, 9)]);
        assert_eq!(found[0].taken, Time::from_ns(9));
        assert_eq!(found[1].taken, Time::NEVER);
    }

    /// A flood sends more packets than there are numbers while a queue drops most of them.
    #[test]
    fn a_packet_is_not_taken_for_one_whose_number_it_has_again() {
        let came: Vec<Sighting> = (0..=u64::from(u16::MAX) + 1)
            .map(|index| packet(index as u16, 0, index))
            .collect();
        let found = paired(&came, &[packet(0, 0, 70_000)]);
        assert_eq!(found[0].taken, Time::NEVER);
        assert_eq!(found[NUMBERS].taken, Time::from_ns(70_000));
    }

    #[test]
    fn a_later_fragment_is_of_the_sender_of_the_first() {
        let part = |number: u16, part: u16| {
            let mut fragment = packet(number, 0, 5);
            fragment.identity.number |= u64::from(part) << 16;
            if part & FRAGMENT_OFFSET > 0 {
                fragment.source = Source::Fragment(number);
            }
            fragment
        };
        let came = [
            part(1, MORE_FRAGMENTS),
            part(2, 0),
            part(1, MORE_FRAGMENTS | 185),
            part(2, 185),
            part(1, 370),
        ];
        let found = paired(&came, &[]);
        let sources: Vec<Source> = found.iter().map(|packet| packet.source).collect();
        let first = came[0].source;
        assert_eq!(sources, [first, first, first, Source::Fragment(2), first]);
    }

    /// Identifications begin again before the queue has sent what waits.
    #[test]
    fn datagrams_with_one_number_are_told_apart() {
        let came = [1u32, 2, 3].map(|of| datagram(7, &of.to_le_bytes(), 2, u64::from(of)));
        let went = [3u32, 1].map(|of| datagram(7, &of.to_le_bytes(), 3, 10 + u64::from(of)));
        let taken = paired(&came, &went).into_iter().map(|found| found.taken);
        let expected = [Time::from_ns(11), Time::NEVER, Time::from_ns(13)];
        assert_eq!(taken.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_is_not_ipv4_is_nothing() {
        let head = [0u8; 60];
        let frame = |head| Frame {
            at_ns: 1,
            bytes: 60,
            head,
            has_partial_checksum: false,
        };
        assert!(sighting(&frame(&head), 0).is_none());
        assert!(sighting(&frame(&head[..14]), 0).is_none());
    }
}
