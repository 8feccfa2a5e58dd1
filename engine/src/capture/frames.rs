//! Converts a simulated packet to a frame as `tcpdump` would have recorded it.

use super::addresses::ConversationAddresses;
use crate::sim::datagram::{IP_HEADER_BYTES, UDP_HEADER_BYTES};
use crate::sim::packet::{Packet, PacketKind};
use crate::tcp::receiver::scale_of;
use crate::tcp::segment::{Flags, Segment, TIMESTAMPS_BYTES};
use crate::traffic::tcp_flow::TcpFlow;
use dumbbell_capture::decode::flags;
use dumbbell_capture::frame::{ETHERNET_BYTES, FrameMaker, OuterHeaders, SynOptions, TcpHeader};

/// Headers assumed for a packet that has only a size (`size_at = "wire"`), bytes.
const LEAST_IP_BYTES: u32 = IP_HEADER_BYTES + UDP_HEADER_BYTES;
const MOST_SACK_BLOCKS: usize = 4;

/// The segment of a packet, with what its connection negotiated.
#[derive(Debug, Clone, Copy)]
pub struct CarriedSegment {
    /// The segment.
    pub segment: Segment,
    /// Number of the connection in its flow, from 1.
    pub connection: u32,
    /// Options negotiated by the connection.
    pub options: SynOptions,
    /// IP identification: the segment's number among those of the flow.
    pub number: u16,
}

impl CarriedSegment {
    /// The segment of a packet of a flow, looked up by its place in the segment store.
    pub fn of(flow: &TcpFlow, place: u32) -> CarriedSegment {
        let (segment, connection) = flow.segment(place);
        let settings = flow.settings();
        let timestamps = if settings.tcp.timestamps {
            TIMESTAMPS_BYTES
        } else {
            0
        };
        CarriedSegment {
            segment,
            connection,
            options: SynOptions {
                mss: (settings.mss_bytes + timestamps) as u16,
                sack_permitted: settings.tcp.sack,
                window_scale: scale_of(settings) as u8,
            },
            number: flow.segment_number(place),
        }
    }
}

/// Where a packet is captured.
#[derive(Debug, Clone, Copy)]
pub struct FrameContext<'a> {
    /// Index of the queue of the link.
    pub queue: u32,
    /// Link overhead per packet, besides the IP size, bytes.
    pub overhead_bytes: u32,
    /// Index of its conversation.
    pub conversation: u32,
    /// Addresses of its conversation.
    pub addressed: &'a ConversationAddresses,
    /// For a fragmented datagram: payload of each fragment but the last, and of the datagram, bytes.
    pub fragmented: (u16, u16),
}

/// Builds the frame of a packet. Returns the bytes to store and the length of the frame.
pub fn frame<'a>(
    maker: &'a mut FrameMaker,
    packet: &Packet,
    carried: Option<&CarriedSegment>,
    seen: FrameContext<'_>,
) -> (&'a [u8], u32) {
    let ip_bytes = ip_bytes(packet, seen.overhead_bytes);
    let outer = outer(packet, ip_bytes, carried, &seen);
    let (from, to) = match packet.is_reply() {
        false => (seen.addressed.source_port, seen.addressed.destination_port),
        true => (seen.addressed.destination_port, seen.addressed.source_port),
    };
    let length = ip_bytes + ETHERNET_BYTES as u32;
    let number = packet.number as u16;
    let bytes = match (packet.kind(), carried) {
        (PacketKind::Tcp, Some(carried)) => tcp(maker, &outer, packet.is_reply(), carried, &seen),
        (PacketKind::Echo, _) if seen.addressed.is_icmp => maker.echo(
            &outer,
            packet.is_reply(),
            seen.addressed.source_port,
            number,
        ),
        (PacketKind::Udp, _) if packet.fragments() > 1 => {
            let index = packet.fragment_index();
            let is_last = index + 1 == packet.fragments();
            let (most, payload) = seen.fragmented;
            maker.udp_fragment(&outer, (from, to), payload, index * most, is_last)
        }
        _ => maker.udp(&outer, from, to),
    };
    (bytes, length)
}

/// An ideal packet has a size on the wire and no headers; its frame gets the smallest headers.
fn ip_bytes(packet: &Packet, overhead_bytes: u32) -> u32 {
    let bytes = u32::from(packet.bytes);
    if !packet.has_size_on_wire() {
        return bytes;
    }
    bytes.saturating_sub(overhead_bytes).max(LEAST_IP_BYTES)
}

fn outer(
    packet: &Packet,
    ip_bytes: u32,
    carried: Option<&CarriedSegment>,
    seen: &FrameContext<'_>,
) -> OuterHeaders {
    let mac = |queue: u32| {
        let [_, high, middle, low] = queue.to_be_bytes();
        [2, 0, 0, high, middle, low] // administered locally
    };
    let ends = (seen.addressed.source, seen.addressed.destination);
    let (source, destination) = match packet.is_reply() {
        false => ends,
        true => (ends.1, ends.0),
    };
    OuterHeaders {
        source_mac: mac(seen.queue),
        destination_mac: mac(seen.queue ^ 1),
        source,
        destination,
        traffic_class: packet.traffic_class,
        // Fragments of a datagram share its number. A retransmitted segment is a new packet. RFC 6864 section
        // 4.1 does not require unique numbers for packets that are never fragmented; as in Linux they are
        // numbered in sequence, because analysis tools take a number that repeats soon for a duplicate.
        identification: carried.map_or(packet.number as u16, |carried| carried.number),
        ip_bytes: ip_bytes as u16,
    }
}

/// A bijection that scatters (the finalizer of SplitMix64).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

/// The initial sequence number of a connection, by direction: below 2^28, so that few captures contain a
/// wrap, and never 0.
fn initial_sequence(conversation: u32, connection: u32, is_reply: bool) -> u32 {
    let which = u64::from(conversation) << 32 | u64::from(connection);
    let mixed = mix(which ^ u64::from(is_reply) << 63);
    (mixed as u32 >> 4) | 1
}

fn tcp<'a>(
    maker: &'a mut FrameMaker,
    outer: &OuterHeaders,
    is_reply: bool,
    carried: &CarriedSegment,
    seen: &FrameContext<'_>,
) -> &'a [u8] {
    let segment = &carried.segment;
    let local = seen.addressed.port_of_connection(carried.connection);
    let (source_port, destination_port) = match is_reply {
        false => (local, seen.addressed.destination_port),
        true => (seen.addressed.destination_port, local),
    };
    let base = |reply| initial_sequence(seen.conversation, carried.connection, reply);
    let (own, other) = (base(is_reply), base(!is_reply));
    let is_syn = segment.flags.has(Flags::SYN);
    let scale = if is_syn {
        0
    } else {
        carried.options.window_scale
    };
    let window = (segment.window_bytes >> scale).min(u64::from(u16::MAX));
    let mut sack = [(0, 0); MOST_SACK_BLOCKS];
    let blocks = segment.sack.as_slice();
    for (place, block) in sack.iter_mut().zip(blocks) {
        let edge = |number: u64| other.wrapping_add(number as u32);
        *place = (edge(block.start), edge(block.end));
    }
    let ecn_option = segment.ecn_option.as_ref();
    let acks = segment.flags.has(Flags::ACK);
    let header = TcpHeader {
        source_port,
        destination_port,
        seq: own.wrapping_add(segment.seq as u32),
        ack: if acks {
            other.wrapping_add(segment.ack as u32)
        } else {
            0
        },
        flags: wire_flags(segment.flags),
        is_accurate_ecn: segment.flags.has(Flags::AE),
        window: window as u16,
        timestamps: segment.timestamps.map(|pair| (pair.value_ms, pair.echo_ms)),
        sack: &sack[..blocks.len()],
        ecn_option: ecn_option.map(|option| (option.order().kind(), option.fields())),
        syn: is_syn.then_some(carried.options),
    };
    maker.tcp(outer, &header)
}

fn wire_flags(of: Flags) -> u8 {
    [
        (Flags::FIN, flags::FIN),
        (Flags::SYN, flags::SYN),
        (Flags::PSH, flags::PSH),
        (Flags::ACK, flags::ACK),
        (Flags::ECE, flags::ECE),
        (Flags::CWR, flags::CWR),
    ]
    .into_iter()
    .filter(|(flag, _)| of.has(*flag))
    .fold(0, |bits, (_, bit)| bits | bit)
}
