//! Connections over time: bytes, round-trip times, bytes in flight, window, retransmissions.
//!
//! | quantity | definition | recorded at | source |
//! | --- | --- | --- | --- |
//! | round trip | from a segment to the first acknowledgement of its end, at the capture point | the acknowledgement | as `tcp.analysis.ack_rtt`; without samples of repairs, below |
//! | round trip of a ping | from an echo request to its reply | the reply | as `icmp.resptime` |
//! | in flight | from the highest number acknowledged to the highest sent | a segment with payload | RFC 5681 section 2, FlightSize; as `tcp.analysis.bytes_in_flight` without SACK |
//! | window | the receiver's advertised window, scaled if both ends negotiated it in the captured handshake | its segment, RST excluded | RFC 9293 section 3.8.6, RFC 7323 section 2; as `tcp.window_size` |
//! | sent again | Wireshark's flag, and repeated and late segments by our rule | the segment | `flows` |
//!
//! An acknowledgement that may answer a repair gives no round-trip sample (Karn's algorithm,
//! RFC 6298 section 3). Such an acknowledgement is above the beginning of a segment that arrived
//! below the highest number sent, and not above the highest number at that time. tcptrace excludes
//! the same acknowledgements as ambiguous and post-loss.
//!
//! Memory is bounded: a fixed number of connections is followed at a time, each with a fixed number
//! of intervals. Beyond that number, those with the fewest bytes, in total and recently, are no
//! longer followed.

mod echo;
mod followed_connections;
mod tcp;

use crate::decode::Decoded;
use crate::flows::FlowEntry;
use crate::intervals::{Intervals, Merge};
use echo::Echoes;
use tcp::Conversation;

pub use followed_connections::{FollowedConnections, MOST_FOLLOWED};
pub use tcp::WindowScale;

/// Maximum number of intervals of a direction.
pub const MOST_INTERVALS: usize = 512;

/// Statistics of the values in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Values {
    /// Number of values; with zero values the other fields are meaningless.
    pub count: u64,
    sum: i128,
    /// Smallest value.
    pub min: i64,
    /// Largest value.
    pub max: i64,
}

impl Values {
    fn add(&mut self, value: i64) {
        self.merge(Values {
            count: 1,
            sum: i128::from(value),
            min: value,
            max: value,
        });
    }

    /// Mean, rounded down; None without values.
    pub fn mean(&self) -> Option<i64> {
        let mean = self.sum.checked_div(i128::from(self.count))?;
        i64::try_from(mean).ok()
    }
}

impl Merge for Values {
    fn merge(&mut self, later: Values) {
        if later.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = later;
            return;
        }
        self.count += later.count;
        self.sum += later.sum;
        self.min = self.min.min(later.min);
        self.max = self.max.max(later.max);
    }
}

/// Activity of one direction of a connection in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interval {
    /// Packets.
    pub pkts: u64,
    /// Their bytes, including the link-layer header.
    pub bytes: u64,
    /// Segments with Wireshark's flag.
    pub retransmission_pkts: u64,
    /// Segments of which at least one byte was seen before.
    pub repeated_pkts: u64,
    /// Segments below the highest sequence number of which no byte was seen before.
    pub late_pkts: u64,
    /// Round-trip times, nanoseconds, of segments and echo requests of this direction, recorded
    /// when they were answered.
    pub round_trip_ns: Values,
    /// Bytes in flight at each segment with payload.
    pub in_flight_bytes: Values,
    /// Window advertised to this direction by its receiver.
    pub window_bytes: Values,
}

impl Merge for Interval {
    fn merge(&mut self, later: Interval) {
        self.pkts += later.pkts;
        self.bytes += later.bytes;
        self.retransmission_pkts += later.retransmission_pkts;
        self.repeated_pkts += later.repeated_pkts;
        self.late_pkts += later.late_pkts;
        self.round_trip_ns.merge(later.round_trip_ns);
        self.in_flight_bytes.merge(later.in_flight_bytes);
        self.window_bytes.merge(later.window_bytes);
    }
}

/// A quantity of an interval, with its column name.
pub type Number = (&'static str, fn(&Interval) -> i64);

/// Stands for statistics without values.
const NONE: i64 = -1;

fn mean(values: &Values) -> i64 {
    values.mean().unwrap_or(NONE)
}

fn least(values: &Values) -> i64 {
    values.mean().map_or(NONE, |_| values.min)
}

fn greatest(values: &Values) -> i64 {
    values.mean().map_or(NONE, |_| values.max)
}

/// Quantities of an interval as columns: those of the table `captured_intervals` after the columns
/// that identify the interval.
pub const NUMBERS: [Number; 17] = [
    ("pkts", |each| each.pkts as i64),
    ("bytes", |each| each.bytes as i64),
    ("retransmission_pkts", |each| {
        each.retransmission_pkts as i64
    }),
    ("repeated_pkts", |each| each.repeated_pkts as i64),
    ("late_pkts", |each| each.late_pkts as i64),
    ("round_trips", |each| each.round_trip_ns.count as i64),
    ("round_trip_min_ns", |each| least(&each.round_trip_ns)),
    ("round_trip_mean_ns", |each| mean(&each.round_trip_ns)),
    ("round_trip_max_ns", |each| greatest(&each.round_trip_ns)),
    ("in_flight_pkts", |each| each.in_flight_bytes.count as i64),
    ("in_flight_min_bytes", |each| least(&each.in_flight_bytes)),
    ("in_flight_mean_bytes", |each| mean(&each.in_flight_bytes)),
    ("in_flight_max_bytes", |each| {
        greatest(&each.in_flight_bytes)
    }),
    ("window_pkts", |each| each.window_bytes.count as i64),
    ("window_min_bytes", |each| least(&each.window_bytes)),
    ("window_mean_bytes", |each| mean(&each.window_bytes)),
    ("window_max_bytes", |each| greatest(&each.window_bytes)),
];

/// A connection over time, starting with its first packet.
#[derive(Debug)]
pub struct Timeline {
    /// The direction of the end that sent first, and the reverse direction.
    pub directions: [Intervals<Interval>; 2],
    bytes: u64,
    bytes_lately: u64,
    conversation: Conversation,
    echoes: Echoes,
}

impl Timeline {
    fn new(begin_ns: i64) -> Timeline {
        let intervals = || Intervals::new(begin_ns, MOST_INTERVALS);
        Timeline {
            directions: [intervals(), intervals()],
            bytes: 0,
            bytes_lately: 0,
            conversation: Conversation::default(),
            echoes: Echoes::default(),
        }
    }

    fn enter(&mut self, at_ns: i64, frame_bytes: u32, packet: &Decoded, entered: &FlowEntry) {
        let bytes = u64::from(frame_bytes);
        self.bytes += bytes;
        self.bytes_lately += bytes;
        let forward = usize::from(entered.is_reply);
        let interval = self.directions[forward].at(at_ns);
        interval.pkts += 1;
        interval.bytes += bytes;
        interval.retransmission_pkts += u64::from(entered.is_retransmission);
        interval.repeated_pkts += u64::from(entered.is_repeated);
        interval.late_pkts += u64::from(entered.is_late);
        if let Some(echo) = packet.echo {
            if let Some(round_trip_ns) = self.echoes.enter(at_ns, echo) {
                let backward = &mut self.directions[1 - forward];
                backward.at(at_ns).round_trip_ns.add(round_trip_ns);
            }
            return;
        }
        let Some(tcp) = &packet.tcp else {
            return;
        };
        let found = self.conversation.enter(at_ns, tcp, entered.is_reply);
        if let Some(in_flight) = found.in_flight_bytes {
            interval.in_flight_bytes.add(in_flight);
        }
        let backward = &mut self.directions[1 - forward];
        if let Some(window) = found.window_bytes {
            backward.at(at_ns).window_bytes.add(window);
        }
        if let Some(round_trip_ns) = found.round_trip_ns {
            backward.at(at_ns).round_trip_ns.add(round_trip_ns);
        }
    }

    /// Scaling of the windows advertised to the end that sent first, and to the other end.
    pub fn window_scales(&self) -> [WindowScale; 2] {
        [1, 0].map(|receiver| self.conversation.scale_of(receiver))
    }
}
