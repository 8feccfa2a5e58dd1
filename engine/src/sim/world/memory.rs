//! Memory of a run: the parts that grow, and the tables that will be made of them.

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

/// Places of packets: in a ring, which is twice as large as what it holds at most, or in one of
/// the stores of disciplines and changing delays, which have more beside the packet.
pub const BYTES_PER_PACKET: u64 = 96;
/// Of a packet of TCP also its segment, and its entry in the sender's scoreboard.
pub const BYTES_PER_SEGMENT: u64 = 144;
/// A row of `packets`: while the network runs, and its columns.
pub const BYTES_PER_RECORD: u64 = (size_of::<Record>() + 46) as u64;
/// A row of `probes`.
pub const BYTES_PER_ECHO: u64 = (size_of::<Echo>() + 36) as u64;
/// A row of `transfers`.
pub const BYTES_PER_TRANSFER: u64 = (size_of::<Transfer>() + 100) as u64;
/// A connection that is not over, its segments apart.
pub const BYTES_PER_CONNECTION: u64 = 3500;
/// A row of `distributions` or `flow_delays`, built and as columns.
const BYTES_PER_BIN: u64 = 32 + 29;
/// A connection at a place where flows are counted, with its row of `captured_flows`.
pub const BYTES_PER_CAPTURED_CONNECTION: u64 = 1500;

/// Rows that are there, with what lies ready for the next.
fn rows_bytes<T>(rows: &ChunkedVec<T>, bytes_per_row: u64) -> u64 {
    rows.memory_bytes() + rows.len() as u64 * (bytes_per_row - size_of::<T>() as u64)
}

fn in_network_pkts(counters: &PacketCounters) -> u64 {
    let made = counters.created.pkts + counters.duplicated.pkts;
    // Of links that are caught up with later, some are counted late.
    made.saturating_sub(counters.delivered.pkts + counters.dropped.pkts)
}

fn histogram_bytes(histogram: &Histogram) -> u64 {
    histogram.rows() * (BYTES_PER_COUNT + BYTES_PER_BIN)
}

/// Of delays that are spread over few octaves, as those of flows are.
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
    /// What the run takes now and, with the tables that are made of it, at its end, bytes.
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
