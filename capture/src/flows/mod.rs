//! Flows of a capture: bytes, packets, times, and retransmissions by two rules.
//!
//! A flow is the traffic between two ends, identified by addresses, protocol and ports. Its two
//! directions are counted separately. A SYN whose sequence number differs from the first one seen
//! from its sender begins a new connection.
//!
//! The two rules are in `wireshark` (Wireshark's flags) and `seen` (ours). They agree on the number
//! of segments that did not advance the sequence and differ in how they classify them.

mod seen;
mod wireshark;

use crate::decode::{Decoded, Endpoints, TcpView, flags};
use std::collections::HashMap;

pub use seen::Repeats;
pub(crate) use seen::ahead;
pub use wireshark::WiresharkFlags;

/// Counts of one direction of a flow. Times are those of the capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowRow {
    /// Source and destination.
    pub ends: Endpoints,
    /// Number of the connection among those with the same ends, from 1.
    pub connection: u32,
    /// Whether this is the direction of the end that did not send first.
    pub is_reply: bool,
    /// Time of the first packet.
    pub first_ns: i64,
    /// Time of the last packet.
    pub last_ns: i64,
    /// Number of packets.
    pub pkts: u64,
    /// Their bytes, including the link-layer header, before truncation (`frame.len`).
    pub bytes: u64,
    /// Transport payload.
    pub payload_bytes: u64,
    /// Packets with payload.
    pub data_pkts: u64,
    /// Retransmissions by Wireshark's rules.
    pub wireshark: WiresharkFlags,
    /// Retransmissions by our rule.
    pub repeats: Repeats,
}

/// The connection of a packet, and whether it is a retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowEntry {
    /// Index of its connection, from 0 in the order of their first packets.
    pub connection: usize,
    /// Whether it is sent to the end that sent first.
    pub is_reply: bool,
    /// Whether Wireshark would set `tcp.analysis.retransmission`.
    pub is_retransmission: bool,
    /// Whether at least one of its bytes was seen before.
    pub is_repeated: bool,
    /// Whether it lies below the highest sequence number and none of its bytes was seen before.
    pub is_late: bool,
}

#[derive(Debug, Clone)]
struct Direction {
    row: FlowRow,
    tcp: Option<Box<TcpDirection>>,
}

#[derive(Debug, Clone, Default)]
struct TcpDirection {
    wireshark: wireshark::Direction,
    seen: seen::SeenSequences,
}

/// A connection: the direction of the end that sent first, and the reverse direction.
#[derive(Debug, Clone)]
struct Connection {
    directions: [Option<Direction>; 2],
    ends: Endpoints,
    number: u32,
    /// For TCP, the first sequence number seen in each direction.
    first_seqs: [Option<u32>; 2],
    shared: wireshark::SharedState,
}

/// A table of flows, filled packet by packet, in bounded memory.
#[derive(Debug)]
pub struct FlowTable {
    most: usize,
    by_ends: HashMap<Endpoints, u32>,
    connections: Vec<Connection>,
    /// Packets of connections beyond `most`.
    pub passed_over_pkts: u64,
}

impl FlowTable {
    /// An empty table for at most `most` connections; packets of further ones are only counted.
    pub fn new(most: usize) -> FlowTable {
        FlowTable {
            most,
            by_ends: HashMap::new(),
            connections: Vec::new(),
            passed_over_pkts: 0,
        }
    }

    /// Enters a packet of this number of bytes, including the link-layer header. Packets are
    /// entered in the order of the capture, whatever their times. None if the packet is beyond the
    /// limit.
    pub fn add(&mut self, at_ns: i64, frame_bytes: u32, packet: &Decoded) -> Option<FlowEntry> {
        let Some((index, is_reply)) = self.find(packet) else {
            self.passed_over_pkts += 1;
            return None;
        };
        let connection = &mut self.connections[index];
        let before = connection.sent_again(is_reply);
        connection.add(at_ns, frame_bytes, packet, is_reply);
        let after = connection.sent_again(is_reply);
        Some(FlowEntry {
            connection: index,
            is_reply,
            is_retransmission: after[0] > before[0],
            is_repeated: after[1] > before[1],
            is_late: after[2] > before[2],
        })
    }

    /// The connection of a packet, and whether the packet is in its reverse direction.
    fn find(&mut self, packet: &Decoded) -> Option<(usize, bool)> {
        let mut number = 1;
        if let Some((index, is_reply)) = self.known(packet.ends) {
            let connection = &self.connections[index];
            let tcp = packet.tcp.as_ref();
            if !tcp.is_some_and(|tcp| connection.is_begun_anew_by(tcp, is_reply)) {
                return Some((index, is_reply));
            }
            number = connection.number + 1;
        }
        if self.connections.len() >= self.most {
            return None;
        }
        let index = self.connections.len();
        // The new connection may be opened by the other end.
        self.by_ends.remove(&packet.ends.reversed());
        self.by_ends.insert(packet.ends, index as u32);
        self.connections.push(Connection {
            directions: [None, None],
            ends: packet.ends,
            number,
            first_seqs: [None, None],
            shared: wireshark::SharedState::default(),
        });
        Some((index, false))
    }

    /// The latest connection between two ends, and whether its ends are in reverse order.
    fn known(&self, ends: Endpoints) -> Option<(usize, bool)> {
        let ways = [(ends, false), (ends.reversed(), true)];
        ways.into_iter().find_map(|(ends, is_reply)| {
            let index = self.by_ends.get(&ends)?;
            Some((*index as usize, is_reply))
        })
    }

    /// A row for each direction that was seen, in the order of connections.
    pub fn rows(&self) -> impl Iterator<Item = FlowRow> {
        (0..self.connections.len()).flat_map(|index| self.rows_of(index))
    }

    /// The rows of one connection, counted from 0.
    pub fn rows_of(&self, connection: usize) -> impl Iterator<Item = FlowRow> {
        let directions = self.connections[connection].directions.iter().flatten();
        directions.map(|direction| {
            let mut row = direction.row;
            if let Some(tcp) = &direction.tcp {
                row.wireshark = tcp.wireshark.flags;
                row.repeats = tcp.seen.repeats;
            }
            row
        })
    }

    /// Sets the maximum number of connections from now on.
    pub fn set_most(&mut self, most: usize) {
        self.most = most;
    }

    /// Number of connections.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }
}

impl Connection {
    /// Whether a segment opens a new connection between the same ends.
    fn is_begun_anew_by(&self, tcp: &TcpView, is_reply: bool) -> bool {
        let is_opening = tcp.has(flags::SYN) && !tcp.has(flags::ACK);
        let first_seq = self.first_seqs[usize::from(is_reply)];
        is_opening && first_seq.is_some_and(|seq| seq != tcp.seq)
    }

    /// Retransmitted, repeated and late segments of a direction so far.
    fn sent_again(&self, is_reply: bool) -> [u64; 3] {
        let direction = self.directions[usize::from(is_reply)].as_ref();
        let tcp = direction.and_then(|direction| direction.tcp.as_ref());
        tcp.map_or([0; 3], |tcp| {
            let repeats = &tcp.seen.repeats;
            let flagged = tcp.wireshark.flags.retransmission_pkts;
            [flagged, repeats.repeated_pkts, repeats.late_pkts]
        })
    }

    fn add(&mut self, at_ns: i64, frame_bytes: u32, packet: &Decoded, is_reply: bool) {
        let ends = if is_reply {
            self.ends.reversed()
        } else {
            self.ends
        };
        let place = &mut self.directions[usize::from(is_reply)];
        let direction = place.get_or_insert_with(|| Direction {
            row: FlowRow {
                ends,
                connection: self.number,
                is_reply,
                first_ns: at_ns,
                last_ns: at_ns,
                pkts: 0,
                bytes: 0,
                payload_bytes: 0,
                data_pkts: 0,
                wireshark: WiresharkFlags::default(),
                repeats: Repeats::default(),
            },
            tcp: packet.tcp.map(|_| Box::default()),
        });
        let row = &mut direction.row;
        row.first_ns = row.first_ns.min(at_ns);
        row.last_ns = row.last_ns.max(at_ns);
        row.pkts += 1;
        row.bytes += u64::from(frame_bytes);
        row.payload_bytes += u64::from(packet.payload_bytes);
        row.data_pkts += u64::from(packet.payload_bytes > 0);
        if let Some(tcp) = &packet.tcp {
            self.add_segment(at_ns, tcp, is_reply);
        }
    }

    fn add_segment(&mut self, at_ns: i64, tcp: &TcpView, is_reply: bool) {
        self.first_seqs[usize::from(is_reply)].get_or_insert(tcp.seq);
        let [first, second] = &mut self.directions;
        let (forward, backward) = match is_reply {
            false => (first, second),
            true => (second, first),
        };
        let backward = backward
            .as_ref()
            .and_then(|direction| direction.tcp.as_ref());
        let backward = backward.map(|tcp| &tcp.wireshark);
        if let Some(ahead) = forward
            .as_mut()
            .and_then(|direction| direction.tcp.as_mut())
        {
            wireshark::enter(&mut ahead.wireshark, backward, &mut self.shared, at_ns, tcp);
            ahead.seen.enter(tcp);
        }
    }
}

/// A quantity of a flow, with its column name.
pub type Number = (&'static str, fn(&FlowRow) -> i64);

/// Quantities of a flow as columns: those of the table `captured_flows` after the columns that
/// identify the flow.
pub const NUMBERS: [Number; 19] = [
    ("protocol", |row| i64::from(row.ends.protocol)),
    ("source_port", |row| i64::from(row.ends.source_port)),
    ("destination_port", |row| {
        i64::from(row.ends.destination_port)
    }),
    ("first_ns", |row| row.first_ns),
    ("last_ns", |row| row.last_ns),
    ("pkts", |row| row.pkts as i64),
    ("bytes", |row| row.bytes as i64),
    ("data_pkts", |row| row.data_pkts as i64),
    ("payload_bytes", |row| row.payload_bytes as i64),
    ("retransmission_pkts", |row| {
        row.wireshark.retransmission_pkts as i64
    }),
    ("fast_retransmission_pkts", |row| {
        row.wireshark.fast_retransmission_pkts as i64
    }),
    ("spurious_retransmission_pkts", |row| {
        row.wireshark.spurious_retransmission_pkts as i64
    }),
    ("out_of_order_pkts", |row| {
        row.wireshark.out_of_order_pkts as i64
    }),
    ("lost_segment_pkts", |row| {
        row.wireshark.lost_segment_pkts as i64
    }),
    ("duplicate_ack_pkts", |row| {
        row.wireshark.duplicate_ack_pkts as i64
    }),
    ("keep_alive_pkts", |row| {
        row.wireshark.keep_alive_pkts as i64
    }),
    ("repeated_pkts", |row| row.repeats.repeated_pkts as i64),
    ("late_pkts", |row| row.repeats.late_pkts as i64),
    ("new_bytes", |row| row.repeats.new_bytes as i64),
];
