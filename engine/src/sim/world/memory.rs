//! Memory of a run: the parts that grow, and the tables made of them.

use super::World;
use crate::net::link::Link;
use crate::observe::records::Record;
use crate::sim::chunked_vec::ChunkedVec;
use crate::sim::delays::Delays;
use crate::sim::histogram::{BYTES_PER_COUNT, Histogram};
use crate::traffic::conversation::{Application, Conversation};
use crate::traffic::counters::{ConversationCounters, PacketCounters};
use crate::traffic::ping::Echo;
use crate::traffic::tcp_flow::Transfer;

/// Memory of a packet in a ring, which has twice the size of its contents at most, or in the stores of
/// disciplines and changing delays.
pub const BYTES_PER_PACKET: u64 = 96;
/// Additional memory of a TCP packet: its segment, and its entry in the sender's scoreboard.
pub const BYTES_PER_SEGMENT: u64 = 144;
/// Memory of a row of `packets`: during the run, and as columns.
pub const BYTES_PER_RECORD: u64 = (size_of::<Record>() + 46) as u64;
/// A row of `probes`.
pub const BYTES_PER_ECHO: u64 = (size_of::<Echo>() + 36) as u64;
/// A row of `transfers`.
pub const BYTES_PER_TRANSFER: u64 = (size_of::<Transfer>() + 100) as u64;
/// Memory of an open connection, without segments.
pub const BYTES_PER_CONNECTION: u64 = 3500;
/// Memory of a row of `distributions` or `flow_delays`, during construction and as columns.
const BYTES_PER_BIN: u64 = 32 + 29;
/// Memory of a connection at a counting point, with its row of `captured_flows`.
pub const BYTES_PER_CAPTURED_CONNECTION: u64 = 1500;

/// Memory of rows, with the capacity reserved for the next.
fn rows_bytes<T>(rows: &ChunkedVec<T>, bytes_per_row: u64) -> u64 {
    rows.memory_bytes() + rows.len() as u64 * (bytes_per_row - size_of::<T>() as u64)
}

fn in_network_pkts(counters: &PacketCounters) -> u64 {
    let made = counters.created.pkts + counters.duplicated.pkts;
    // Links whose statistics are recorded late count some packets late.
    made.saturating_sub(counters.delivered.pkts + counters.dropped.pkts)
}

fn histogram_bytes(histogram: &Histogram) -> u64 {
    histogram.rows() * (BYTES_PER_COUNT + BYTES_PER_BIN)
}

/// Memory of delays, which spread over few octaves.
fn delays_bytes(delays: &Delays) -> u64 {
    let bins = delays.histogram().rows();
    BYTES_PER_COUNT * bins + BYTES_PER_BIN * bins.min(delays.moments().count())
}

fn link_bytes(link: &Link) -> u64 {
    let statistics = &link.statistics;
    let histograms = [&statistics.sojourn_histogram, &statistics.wait_histogram];
    let bins: u64 = histograms.into_iter().map(histogram_bytes).sum();
    let levels = statistics.levels.occupancy.len() as u64;
    link.memory_bytes() + bins + levels * (16 + BYTES_PER_BIN)
}

fn conversation_bytes(conversation: &Conversation) -> u64 {
    let packets = in_network_pkts(&conversation.counters()) * BYTES_PER_PACKET;
    let delays = delays_bytes(conversation.delay());
    let own = (size_of::<Conversation>() + size_of::<ConversationCounters>()) as u64;
    own + packets
        + delays
        + match &conversation.application {
            Application::Udp(_) => 0,
            Application::Ping(ping) => rows_bytes(&ping.echoes, BYTES_PER_ECHO),
            Application::Tcp(flow) => {
                rows_bytes(flow.transfers(), BYTES_PER_TRANSFER)
                    + flow.connections() as u64 * BYTES_PER_CONNECTION
                    + flow.places() as u64 * BYTES_PER_SEGMENT
                    + in_network_pkts(&conversation.replies()) * BYTES_PER_PACKET
            }
        }
}

impl World {
    /// Memory of the run now and, with its tables, at its end, bytes.
    pub fn memory_bytes(&self) -> u64 {
        let links: u64 = self.links.iter().map(link_bytes).sum();
        let conversations: u64 = self.conversations.iter().map(conversation_bytes).sum();
        let captured = self.capture.as_ref().map_or(0, |capture| {
            capture.connections() as u64 * BYTES_PER_CAPTURED_CONNECTION
        });
        links
            + conversations
            + captured
            + rows_bytes(&self.records.rows, BYTES_PER_RECORD)
            + self.samples.memory_bytes()
    }
}
