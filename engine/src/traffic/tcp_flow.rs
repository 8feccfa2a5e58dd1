//! A flow over TCP: when connections are made, what is handed to them, what arrives.
//!
//! | source | connections | written |
//! | --- | --- | --- |
//! | greedy | one, at the start | as much as the send buffer takes |
//! | sized | one, at the start | its bytes |
//! | closed loop | one for each transfer, after a pause | the transfer's bytes |
//! | Poisson, renewal, constant rate | one, at the start | sizes at the source's instants |
//!
//! A connection is closed when the receiver has all of a transfer. At the flow's stop it is cut
//! off: nothing more is sent, and no reset either. Small segments are not held back (the
//! application sets `TCP_NODELAY`).

use super::conversation::Counters;
use super::segment_store::SegmentStore;
use super::{FlowStreams, Generator};
use crate::sim::random::Stream;
use crate::sim::samples::TcpSample;
use crate::sim::time::Time;
use crate::spec::Source;
use crate::tcp::receiver::Receiver;
use crate::tcp::segment::{Flags, Segment};
use crate::tcp::sender::{Phase, Sender, Statistics};
use crate::tcp::{IP_HEADER_BYTES, Settings};
use crate::traffic::law::Law;

/// Most that is written before there was a connection: `u64::MAX` for a greedy source.
const UNLIMITED: u64 = u64::MAX;

/// What decides how much is sent, and when.
#[derive(Debug, Clone)]
enum Supply {
    Greedy,
    Sized(u64),
    ClosedLoop {
        size: Law,
        think: Law,
        streams: FlowStreams,
    },
    Schedule(Box<Generator>),
}

/// Payload from one end to the other over a connection of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Payload asked for.
    pub bytes: u64,
    /// When its connection was begun.
    pub started: Time,
    /// When the receiver had all of it.
    pub completed: Option<Time>,
}

#[derive(Debug, Clone)]
struct Connection {
    number: u32,
    sender: Sender,
    receiver: Receiver,
    /// Not yet handed to the sender.
    to_write: u64,
    /// Of the transfer; None for one without an end.
    bytes: Option<u64>,
}

/// A packet to be sent.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing {
    /// Bytes with the IP header.
    pub bytes: u16,
    /// Low 32 bits of its sequence number, or for the receiver's of what it acknowledges.
    pub number: u32,
    /// Which segment it carries.
    pub place: u32,
    /// From the receiver to the sender.
    pub is_reply: bool,
    /// ECN-capable: ECT(0).
    pub is_ecn_capable: bool,
    /// Payload that is sent for the first time.
    pub new_payload_bytes: u32,
}

/// Names the random numbers of a flow's connections: `flow/NAME/connection/NUMBER`.
#[derive(Debug, Clone)]
pub struct Named {
    /// Of the experiment.
    pub seed: u64,
    /// Which replication.
    pub replication: u64,
    /// The flow.
    pub name: String,
}

impl Named {
    fn stream(&self, connection: u32) -> Stream {
        let component = format!("flow/{}/connection/{connection}", self.name);
        Stream::new(self.seed, self.replication, &component)
    }
}

/// A flow while it runs.
#[derive(Debug, Clone)]
pub struct TcpFlow {
    named: Named,
    settings: Settings,
    supply: Supply,
    connection: Option<Connection>,
    connections: u32,
    segments: SegmentStore,
    /// When the source acts next.
    next_action: Time,
    stop: Time,
    /// Of connections that are gone.
    gone: Statistics,
    /// What the tournament has for it: no later than `due`.
    armed: Time,
    /// Of sized and closed-loop sources.
    pub transfers: Vec<Transfer>,
    /// Packets from the receiver to the sender, whole run.
    pub replies: Counters,
}

impl TcpFlow {
    /// A flow that begins at `start`, and when it first acts.
    pub fn new(
        source: &Source,
        settings: Settings,
        named: Named,
        mut streams: FlowStreams,
        start: Time,
        stop: Time,
    ) -> TcpFlow {
        let mut first = start;
        let supply = match source {
            Source::Greedy => Supply::Greedy,
            Source::Sized { bytes } => Supply::Sized(*bytes),
            Source::ClosedLoop { size, think } => {
                let pause = Time::from_seconds(think.draw(&mut streams.gap));
                first = start.saturating_add(pause);
                Supply::ClosedLoop {
                    size: size.clone(),
                    think: think.clone(),
                    streams,
                }
            }
            open_loop => Supply::Schedule(Box::new(Generator::new(open_loop, streams))),
        };
        TcpFlow {
            named,
            settings,
            supply,
            connection: None,
            connections: 0,
            segments: SegmentStore::default(),
            next_action: first,
            stop,
            gone: Statistics::default(),
            armed: Time::NEVER,
            transfers: Vec::new(),
            replies: Counters::default(),
        }
    }

    /// When it is to be woken next.
    #[inline]
    pub fn due(&self) -> Time {
        let Some(connection) = &self.connection else {
            return if self.next_action < self.stop {
                self.next_action
            } else {
                Time::NEVER
            };
        };
        let timers = connection.sender.next_timer();
        let timers = timers.min(connection.receiver.next_timer());
        timers.min(self.next_action).min(self.stop)
    }

    /// What to tell the tournament, if it is to be told anything: entries may be early, never
    /// late, so a timer that moves back costs nothing.
    #[inline]
    pub fn rearm(&mut self, now: Time) -> Option<Time> {
        let due = self.due();
        if due < self.armed || self.armed <= now {
            self.armed = due;
            return Some(due);
        }
        None
    }

    /// It is `now`: does what is due. Returns how many writes the source made. Call `poll`
    /// afterwards.
    pub fn wake(&mut self, now: Time) -> u32 {
        if now >= self.stop {
            self.drop_connection();
            self.next_action = Time::NEVER;
            return 0;
        }
        let mut writes = 0;
        while self.next_action <= now {
            writes += self.act(now);
        }
        if let Some(connection) = &mut self.connection {
            connection.sender.on_timer(now);
            connection.receiver.on_timer(now);
            connection.fill(now);
        }
        writes
    }

    /// The source makes a connection or writes.
    fn act(&mut self, now: Time) -> u32 {
        let mut writes = 0;
        let is_scheduled = matches!(self.supply, Supply::Schedule(_));
        if !is_scheduled || self.connection.is_none() {
            self.connect(now);
        } else if let (Supply::Schedule(generator), Some(connection)) =
            (&mut self.supply, &mut self.connection)
        {
            connection.to_write += u64::from(generator.next_size());
            writes = 1;
        }
        self.next_action = match &mut self.supply {
            Supply::Schedule(generator) => generator
                .next_gap()
                .map_or(Time::NEVER, |gap| now.saturating_add(gap)),
            _ => Time::NEVER,
        };
        writes
    }

    fn connect(&mut self, now: Time) {
        self.drop_connection();
        let (to_write, bytes) = match &mut self.supply {
            Supply::Greedy => (UNLIMITED, None),
            Supply::Sized(bytes) => (*bytes, Some(*bytes)),
            Supply::ClosedLoop { size, streams, .. } => {
                let bytes = (size.draw(&mut streams.size) + 0.5).max(1.0) as u64;
                (bytes, Some(bytes))
            }
            Supply::Schedule(_) => (0, None),
        };
        self.connections += 1;
        self.settings.stream = self.named.stream(self.connections);
        let mut sender = Sender::new(&self.settings, now).without_nagle();
        sender.connect(now);
        self.connection = Some(Connection {
            number: self.connections,
            sender,
            receiver: Receiver::new(&self.settings),
            to_write,
            bytes,
        });
        if let Some(bytes) = bytes {
            self.transfers.push(Transfer {
                bytes,
                started: now,
                completed: None,
            });
        }
    }

    fn drop_connection(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.gone.add(connection.sender.statistics());
        }
    }

    /// A packet of it arrives. Returns the payload that has come in order by it. Call `poll`
    /// afterwards.
    pub fn on_packet(&mut self, place: u32, is_reply: bool, is_marked: bool, now: Time) -> u64 {
        let (mut segment, number) = self.segments.take(place);
        if is_marked {
            segment.flags |= Flags::CE;
        }
        let Some(connection) = &mut self.connection else {
            return 0;
        };
        // Of a connection that is gone.
        if connection.number != number {
            return 0;
        }
        if is_reply {
            connection.sender.on_segment(&segment, now);
            connection.fill(now);
            return 0;
        }
        let before = connection.receiver.received_payload_bytes();
        connection.receiver.on_segment(&segment, now);
        let received = connection.receiver.received_payload_bytes();
        if received > before && connection.bytes == Some(received) {
            connection.sender.close();
            self.complete(now);
        }
        received - before
    }

    fn complete(&mut self, now: Time) {
        if let Some(transfer) = self.transfers.last_mut() {
            transfer.completed = Some(now);
        }
        if let Supply::ClosedLoop { think, streams, .. } = &mut self.supply {
            let pause = Time::from_seconds(think.draw(&mut streams.gap));
            self.next_action = now.saturating_add(pause);
        }
    }

    /// The next packet to be sent now; call until None.
    pub fn poll(&mut self, now: Time) -> Option<Outgoing> {
        let connection = self.connection.as_mut()?;
        let sent = connection.sender.statistics().sent_payload_bytes;
        if let Some(segment) = connection.sender.poll_transmit(now) {
            let new = connection.sender.statistics().sent_payload_bytes - sent;
            let number = segment.seq as u32;
            return Some(self.outgoing(segment, number, false, new as u32));
        }
        let segment = connection.receiver.poll_transmit(now)?;
        let number = segment.ack as u32;
        Some(self.outgoing(segment, number, true, 0))
    }

    fn outgoing(
        &mut self,
        segment: Segment,
        number: u32,
        is_reply: bool,
        new_payload_bytes: u32,
    ) -> Outgoing {
        let bytes = IP_HEADER_BYTES + segment.header_bytes() + segment.payload_bytes;
        Outgoing {
            bytes: bytes as u16,
            number,
            place: self.segments.put(&segment, self.connections),
            is_reply,
            is_ecn_capable: segment.flags.has(Flags::ECT),
            new_payload_bytes,
        }
    }

    /// A packet of it was lost.
    pub fn on_drop(&mut self, place: u32) {
        self.segments.take(place);
    }

    /// A queue has made a copy of a packet of it.
    pub fn on_copy(&mut self, place: u32) {
        self.segments.share(place);
    }

    /// Counted over all its connections.
    pub fn statistics(&self) -> Statistics {
        let mut sum = self.gone;
        if let Some(connection) = &self.connection {
            sum.add(connection.sender.statistics());
        }
        sum
    }

    /// The sender of the present connection.
    pub fn sender(&self) -> Option<&Sender> {
        self.connection
            .as_ref()
            .map(|connection| &connection.sender)
    }

    /// What its sender knows now; None without a connection.
    pub fn sample(&self) -> Option<TcpSample> {
        let sender = self.sender()?;
        let (window, round_trip) = (sender.window(), sender.round_trip());
        let statistics = self.statistics();
        let bits = |bytes_per_s: u64| 8 * bytes_per_s;
        let ssthresh = window.ssthresh_pkts;
        Some(TcpSample {
            cwnd_pkts: window.cwnd_pkts,
            ssthresh_pkts: (ssthresh < crate::cca::INFINITE_SSTHRESH).then_some(ssthresh),
            inflight_pkts: sender.board().in_flight(),
            srtt: round_trip.srtt(),
            rttvar: round_trip.rttvar(),
            min_rtt: round_trip.min_rtt(),
            retransmitted_pkts: statistics.retransmitted_pkts,
            sent_payload_bytes: statistics.sent_payload_bytes,
            pacing_rate_bps: sender.pacing_rate_bytes_per_s().map(bits),
            delivery_rate_bps: sender.delivery_rate_bytes_per_s().map(bits),
        })
    }
}

impl Connection {
    /// Hands the sender what its buffer takes. As a program that waits until it may write
    /// again: when a third of the buffer is free (`sk_stream_is_writeable`).
    fn fill(&mut self, now: Time) {
        if self.to_write == 0 || self.sender.phase() != Phase::Established {
            return;
        }
        let room = self.sender.room_bytes();
        if room < self.sender.unacknowledged_bytes() / 2 {
            return;
        }
        let bytes = room.min(self.to_write);
        if bytes > 0 {
            self.sender.write(bytes, now);
            if self.to_write != UNLIMITED {
                self.to_write -= bytes;
            }
        }
    }
}
