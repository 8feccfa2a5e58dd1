//! A TCP flow: when connections are opened, what is written to them, what arrives.
//!
//! | source | connections | written |
//! | --- | --- | --- |
//! | greedy | one, at the start | as much as the send buffer takes, optionally a small first write |
//! | sized | one, at the start | its bytes |
//! | closed loop | one for each transfer, after a think time | the transfer's bytes |
//! | arrivals | one for each transfer, any number in parallel | the transfer's bytes |
//! | Poisson, renewal, constant rate | one, at the start | sizes at the source's instants |
//!
//! A connection is closed when the receiver has all of a transfer. At the flow's stop it is abandoned:
//! nothing more is sent, not even a reset. Small segments are not delayed (the application sets
//! `TCP_NODELAY`).

mod acknowledgement;
mod host_queue;
mod super_packet;

use super::connection::{ArrivedSegment, Connection, SentSegment, UNLIMITED};
use super::connection_table::ConnectionTable;
use super::segment_store::{SegmentStore, SegmentTag};
use crate::cca::Algorithm;
use crate::sim::chunked_vec::ChunkedVec;
use crate::sim::packet::Packet;
use crate::sim::random::Stream;
use crate::sim::tcp_sample::TcpSample;
use crate::sim::time::Time;
use crate::spec::Source;
use crate::spec::source::{FlowStreams, Supply};
use crate::spec::tcp::CwndChange;
use crate::tcp::Settings;
use crate::tcp::segment::{Header, Segment, SparseOptions};
use crate::tcp::sender::{Sender, Statistics};
use std::sync::Arc;

/// Largest number of writes or transfers that a source starts per wakeup; the rest follow at the same
/// instant.
const ACTIONS_A_STEP: u32 = 1024;
/// Payload over a connection of its own. Packets are those of the sender, whole run, including those that
/// arrive after the connection has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Payload requested; None for a connection without end.
    pub bytes: Option<u64>,
    /// Start of its connection.
    pub started: Time,
    /// Time when the receiver had all of it.
    pub completed: Option<Time>,
    /// Packets sent.
    pub created_pkts: u64,
    /// Retransmissions among them.
    pub retransmitted_pkts: u64,
    /// Packets that arrived at the receiver.
    pub received_pkts: u64,
    /// Their bytes with the IP header.
    pub received_bytes: u64,
    /// Retransmissions among them.
    pub received_again_pkts: u64,
    /// Arrival of the first packet.
    pub first_received: Option<Time>,
    /// Arrival of the last packet.
    pub last_received: Option<Time>,
    /// Packets lost in the network.
    pub dropped_pkts: u64,
}

impl Transfer {
    /// The transfer of a new connection.
    pub fn new(bytes: Option<u64>, started: Time) -> Transfer {
        Transfer {
            bytes,
            started,
            completed: None,
            created_pkts: 0,
            retransmitted_pkts: 0,
            received_pkts: 0,
            received_bytes: 0,
            received_again_pkts: 0,
            first_received: None,
            last_received: None,
            dropped_pkts: 0,
        }
    }

    #[inline]
    pub(super) fn created(&mut self, is_retransmission: bool) {
        self.created_pkts += 1;
        self.retransmitted_pkts += u64::from(is_retransmission);
    }

    #[inline]
    pub(super) fn received(&mut self, bytes: u32, is_retransmission: bool, now: Time) {
        self.received_pkts += 1;
        self.received_bytes += u64::from(bytes);
        self.received_again_pkts += u64::from(is_retransmission);
        self.first_received.get_or_insert(now);
        self.last_received = Some(now);
    }
}

/// Sums over all of a flow's connections, closed ones included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentTotals {
    /// Retransmissions since the start.
    pub retransmitted_pkts: u64,
    /// Payload transmitted for the first time since the start.
    pub payload_bytes: u64,
    /// Payload written by the application since the start.
    pub written_bytes: u64,
}

/// What is kept of closed connections.
#[derive(Debug, Clone, Default)]
pub struct FinishedConnections {
    statistics: Statistics,
    /// One for each connection; for an open one its initial values.
    transfers: ChunkedVec<Transfer>,
}

impl FinishedConnections {
    /// A connection is over.
    pub fn add(&mut self, connection: &Connection) {
        self.statistics.add(&connection.statistics());
        self.put(connection);
    }

    fn put(&mut self, connection: &Connection) {
        if let Some(transfer) = self.transfer_mut(connection.number) {
            *transfer = connection.transfer;
        }
    }

    /// The transfer of a connection, by its number from 1.
    fn transfer_mut(&mut self, connection: u32) -> Option<&mut Transfer> {
        self.transfers.get_mut(connection as usize - 1)
    }
}

/// Names of the random streams of a flow's connections: `flow/NAME/connection/NUMBER`.
#[derive(Debug, Clone)]
pub struct ConnectionStreams {
    /// Seed of the experiment.
    pub seed: u64,
    /// Which replication.
    pub replication: u64,
    /// The flow.
    pub name: String,
}

impl ConnectionStreams {
    fn stream(&self, connection: u32) -> Stream {
        let component = format!("flow/{}/connection/{connection}", self.name);
        Stream::new(self.seed, self.replication, &component)
    }
}

/// A flow while it runs: the state that each packet touches.
///
/// It is part of its conversation's row, and its connection is allocated separately, so that a packet touches
/// few pages of memory; everything else is in `rest`.
#[derive(Debug, Clone)]
pub struct TcpFlow {
    /// For a flow with one connection at a time.
    connection: Option<Box<Connection>>,
    segments: SegmentStore,
    /// Time of the source's next action.
    next_action: Time,
    stop: Time,
    /// Its tournament entry: not later than `due`.
    armed: Time,
    has_small_queues: bool,
    rest: Box<ColdState>,
}

const _: () = assert!(size_of::<TcpFlow>() <= 88);

/// State used when a connection begins or ends, or by a flow with many connections.
#[derive(Debug, Clone)]
struct ColdState {
    named: ConnectionStreams,
    settings: Arc<Settings>,
    supply: Supply,
    /// For a flow with parallel connections.
    connection_table: ConnectionTable,
    connections: u32,
    gone: FinishedConnections,
}

impl TcpFlow {
    /// A flow that starts at `start`, and its first wakeup.
    pub fn new(
        source: &Source,
        settings: Arc<Settings>,
        named: ConnectionStreams,
        streams: FlowStreams,
        start: Time,
        stop: Time,
    ) -> TcpFlow {
        let mut supply = source.parameters().supply(streams);
        let first = match &mut supply {
            // The connection is opened at the start, whenever the first write is.
            Supply::Schedule(_) => start,
            Supply::Transfers(transfers) => start.saturating_add(transfers.first_pause()),
        };
        let mut flow = TcpFlow {
            connection: None,
            segments: SegmentStore::default(),
            next_action: first,
            stop,
            armed: Time::NEVER,
            has_small_queues: settings.tcp.small_queues,
            rest: Box::new(ColdState {
                named,
                settings,
                supply,
                connection_table: ConnectionTable::default(),
                connections: 0,
                gone: FinishedConnections::default(),
            }),
        };
        flow.armed = flow.due();
        flow
    }

    /// Time of its next wakeup.
    #[inline]
    pub fn due(&self) -> Time {
        let Some(connection) = &self.connection else {
            return if !self.rest.connection_table.is_empty() {
                self.rest
                    .connection_table
                    .due()
                    .min(self.next_action)
                    .min(self.stop)
            } else if self.next_action < self.stop {
                self.next_action
            } else {
                Time::NEVER
            };
        };
        connection.due().min(self.next_action).min(self.stop)
    }

    /// The time to enter into the tournament when the flow is `due`, if it must change: entries may be early,
    /// never late, so a timer that moves back costs nothing.
    #[inline]
    pub fn rearm(&mut self, due: Time, now: Time) -> Option<Time> {
        if due < self.armed || self.armed <= now {
            self.armed = due;
            return Some(due);
        }
        None
    }

    /// Whether its tournament entry is later than now.
    #[inline]
    pub fn is_armed_after(&self, now: Time) -> bool {
        self.armed > now
    }

    /// Processes what is due at `now`. Returns how many writes the source made. Call `poll` afterwards.
    pub fn wake(&mut self, now: Time) -> u32 {
        if now >= self.stop {
            self.drop_connection();
            self.rest.connection_table.clear(&mut self.rest.gone);
            self.next_action = Time::NEVER;
            return 0;
        }
        let mut writes = 0;
        for _ in 0..ACTIONS_A_STEP {
            if self.next_action > now {
                break;
            }
            writes += self.run_source(now);
        }
        match &mut self.connection {
            Some(connection) => connection.on_timer(now),
            None => self.rest.connection_table.wake(now),
        }
        writes
    }

    /// The source opens a connection or writes.
    fn run_source(&mut self, now: Time) -> u32 {
        let mut writes = 0;
        match (&mut self.rest.supply, &mut self.connection) {
            (Supply::Schedule(generator), Some(connection)) => {
                connection.add_to_write(generator.next_size().into());
                writes = 1;
            }
            (Supply::Transfers(transfers), Some(connection)) if transfers.has_rest() => {
                transfers.first_write = None;
                connection.add_to_write(UNLIMITED);
            }
            _ => self.connect(now),
        }
        let pause = match &mut self.rest.supply {
            Supply::Schedule(generator) => generator.next_gap(),
            Supply::Transfers(transfers) => transfers.pause_after_start(),
        };
        self.next_action = pause.map_or(Time::NEVER, |pause| now.saturating_add(pause));
        writes
    }

    fn connect(&mut self, now: Time) {
        self.drop_connection();
        let rest = &mut *self.rest;
        let (to_write, bytes, may_overlap, write_bytes) = match &mut rest.supply {
            Supply::Schedule(_) => (0, None, false, None),
            Supply::Transfers(transfers) => {
                let bytes = transfers.begin();
                let first = transfers.first_write.map(|first| first.bytes);
                let to_write = bytes.or(first).unwrap_or(UNLIMITED);
                (
                    to_write,
                    bytes,
                    transfers.may_overlap(),
                    transfers.write_bytes,
                )
            }
        };
        rest.connections += 1;
        let stream = rest.named.stream(rest.connections);
        let number = rest.connections;
        let mut connection = Connection::new(number, &rest.settings, stream, to_write, bytes, now);
        if let Some(write_bytes) = write_bytes {
            connection = connection.writing_chunks(write_bytes);
        }
        rest.gone.transfers.push(connection.transfer);
        if may_overlap {
            rest.connection_table.add(connection);
        } else {
            self.connection = Some(Box::new(connection));
        }
    }

    fn drop_connection(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.rest.gone.add(&connection);
        }
    }

    /// Processes an arriving packet. Returns the payload that it brings into order. Call `poll` afterwards.
    #[inline(always)]
    pub fn on_packet(&mut self, packet: &Packet, now: Time) -> u64 {
        let (header, tag) = match self.segments.take(packet.segment_place()) {
            (header, tag, None) => (header, tag),
            (header, tag, Some(options)) => {
                return self.on_packet_with_options(packet, header, tag, &options, now);
            }
        };
        self.enter(&ArrivedSegment::by(packet, header, tag, None), now)
    }

    #[inline(never)]
    fn on_packet_with_options(
        &mut self,
        packet: &Packet,
        header: Header,
        tag: SegmentTag,
        options: &SparseOptions,
        now: Time,
    ) -> u64 {
        self.enter(&ArrivedSegment::by(packet, header, tag, Some(options)), now)
    }

    /// Delivers an arriving segment to its connection.
    #[inline(always)]
    fn enter(&mut self, arrived: &ArrivedSegment<'_>, now: Time) -> u64 {
        let tag = arrived.tag;
        let entered = match &mut self.connection {
            Some(connection) if connection.number == tag.connection => {
                Some(connection.on_arrival(arrived, now))
            }
            Some(_) => None,
            None => self.rest.connection_table.on_arrival(arrived, now),
        };
        let Some((payload, is_complete)) = entered else {
            self.count_late(arrived, now);
            return 0;
        };
        if is_complete {
            self.pause_after_end(now);
        }
        payload
    }

    /// Counts a packet of a closed connection.
    #[cold]
    fn count_late(&mut self, arrived: &ArrivedSegment<'_>, now: Time) {
        let tag = arrived.tag;
        if !tag.is_reply
            && let Some(transfer) = self.rest.gone.transfer_mut(tag.connection)
        {
            transfer.received(arrived.bytes, tag.is_retransmission, now);
        }
    }

    /// The transfer of a connection.
    #[inline]
    fn transfer_mut(&mut self, number: u32) -> Option<&mut Transfer> {
        match &mut self.connection {
            Some(connection) if connection.number == number => Some(&mut connection.transfer),
            _ => self.rest.transfer_mut(number),
        }
    }

    /// A transfer is complete.
    fn pause_after_end(&mut self, now: Time) {
        if let Supply::Transfers(transfers) = &mut self.rest.supply
            && let Some(pause) = transfers.pause_after_end()
        {
            self.next_action = now.saturating_add(pause);
        }
    }

    /// The next packet to send now; call until None.
    #[inline(always)]
    pub fn poll(&mut self, now: Time) -> Option<SentSegment> {
        match &mut self.connection {
            Some(connection) => connection.poll(now, &mut self.segments),
            None => {
                let rest = &mut *self.rest;
                rest.connection_table
                    .poll(now, &mut self.segments, &mut rest.gone)
            }
        }
    }

    /// A packet was lost.
    pub fn on_drop(&mut self, place: u32) {
        let tag = self.segments.tag(place);
        self.segments.discard(place);
        if !tag.is_reply
            && let Some(transfer) = self.transfer_mut(tag.connection)
        {
            transfer.dropped_pkts += 1;
        }
    }

    /// The segment of a packet, and its connection.
    pub fn segment(&self, place: u32) -> (Segment, u32) {
        (
            self.segments.get(place),
            self.segments.tag(place).connection,
        )
    }

    /// The number of a packet's segment among those of the flow.
    pub fn segment_number(&self, place: u32) -> u16 {
        self.segments.number(place)
    }

    /// Prefetches the state of its connection for an arrival at its receiver or sender, or for a wakeup.
    #[inline(always)]
    pub fn prefetch_end(&self, is_sender: bool) {
        if let Some(connection) = &self.connection {
            connection.prefetch_end(is_sender);
        }
    }

    /// Prefetches the data structures in which an arriving packet is looked up.
    pub fn prefetch_for(&self, place: u32, is_sender: bool) {
        self.segments.prefetch(place);
        if is_sender && let Some(sender) = self.sender() {
            sender.prefetch_beside();
        }
    }

    /// Prefetches the unsent data of its sender, and the place of a second segment.
    pub fn prefetch_unsent(&self) {
        self.segments.prefetch_second();
        if let Some(sender) = self.sender() {
            sender.prefetch_unsent();
        }
    }

    /// The settings of its connections.
    pub fn settings(&self) -> &Settings {
        &self.rest.settings
    }

    /// A queue has duplicated a packet.
    pub fn on_copy(&mut self, place: u32) {
        self.segments.share(place);
    }

    /// Schedules a window change for present and future connections. False if its controller is not `manual`.
    pub fn change_cwnd(&mut self, change: CwndChange) -> bool {
        if self.rest.settings.algorithm != Algorithm::Manual {
            return false;
        }
        let settings = Arc::make_mut(&mut self.rest.settings);
        settings.tcp.cwnd_changes.push(change);
        let one = self.connection.iter_mut();
        let senders = one.map(|connection| &mut connection.sender);
        for sender in senders.chain(self.rest.connection_table.senders_mut()) {
            sender.change_cwnd(change);
        }
        true
    }

    /// Counters over all its connections.
    pub fn statistics(&self) -> Statistics {
        let mut sum = self.rest.gone.statistics;
        if let Some(connection) = &self.connection {
            sum.add(&connection.statistics());
        }
        self.rest.connection_table.add_statistics(&mut sum);
        sum
    }

    /// Number of open connections.
    pub fn connections(&self) -> usize {
        self.rest.connection_table.len() + usize::from(self.connection.is_some())
    }

    /// Whether all data has arrived, or the flow was stopped, and no more will come.
    pub fn is_over(&self) -> bool {
        match &self.connection {
            Some(connection) => {
                self.next_action == Time::NEVER && connection.transfer.completed.is_some()
            }
            None => self.due() == Time::NEVER,
        }
    }

    /// The transfers, one for each connection. Those of open connections are as of `settle`.
    pub fn transfers(&self) -> &ChunkedVec<Transfer> {
        &self.rest.gone.transfers
    }

    /// Enters the counters of open connections in `transfers`.
    pub fn settle(&mut self) {
        let rest = &mut *self.rest;
        let one = self.connection.iter().map(|connection| &**connection);
        for connection in one.chain(rest.connection_table.connections()) {
            rest.gone.put(connection);
        }
    }

    /// Number of places that its segments have used at most.
    pub fn places(&self) -> usize {
        self.segments.places()
    }

    /// The sender of the present connection.
    pub fn sender(&self) -> Option<&Sender> {
        self.connection
            .as_ref()
            .map(|connection| &connection.sender)
    }

    /// The state of its sender now; None without a connection.
    pub fn sample(&self) -> Option<TcpSample> {
        let sender = self.sender()?;
        let (window, round_trip) = (sender.window(), sender.round_trip());
        let bits = |bytes_per_s: u64| 8 * bytes_per_s;
        let ssthresh = window.ssthresh_pkts;
        Some(TcpSample {
            cwnd_pkts: window.cwnd_pkts,
            ssthresh_pkts: (ssthresh < crate::cca::INFINITE_SSTHRESH).then_some(ssthresh),
            inflight_pkts: sender.board().in_flight(),
            srtt: round_trip.srtt(),
            mean_deviation: round_trip.mean_deviation(),
            min_rtt: round_trip.min_rtt(),
            pacing_rate_bps: sender.pacing_rate_bytes_per_s().map(bits),
            delivery_rate_bps: sender.delivery_rate_bytes_per_s().map(bits),
        })
    }

    /// Totals of its senders until now.
    pub fn sent(&self) -> SentTotals {
        let statistics = self.statistics();
        SentTotals {
            retransmitted_pkts: statistics.retransmitted_pkts,
            payload_bytes: statistics.sent_payload_bytes,
            written_bytes: statistics.written_payload_bytes,
        }
    }
}

impl ColdState {
    /// The transfer of a connection that is not the only one.
    fn transfer_mut(&mut self, number: u32) -> Option<&mut Transfer> {
        match self.connection_table.connection_mut(number) {
            Some(connection) => Some(&mut connection.transfer),
            None => self.gone.transfer_mut(number),
        }
    }
}
