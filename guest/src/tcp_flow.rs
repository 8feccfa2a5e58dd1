//! A flow over the kernel's own TCP: when connections are made, what is handed to them, what
//! arrives. Sizes, thinking times and the instants of writes and of transfers are the engine's
//! generators' and come from the same named streams as in the simulator.

use crate::error::{ErrorContext, GuestError};
use crate::sys::{Poll, Socket};
use crate::tcp_info::TcpInfo;
use crate::traffic_module::{Moved, TrafficModule};
use dumbbell_core::tcp_sample::TcpSample;
use dumbbell_core::time::Time;
use dumbbell_spec as spec;
use dumbbell_spec::source::{FlowStreams, Supply, TransferSize};
use dumbbell_spec::tcp::Pacing;
use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::rc::Rc;

/// As much as a write or a read hands over at once.
const CHUNK: usize = 1 << 18;
static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// What the events of a flow's sockets are called.
#[derive(Debug, Clone, Copy)]
pub struct Tokens {
    /// A connection was made.
    pub listener: u64,
    /// The sender of connection 0 takes more.
    pub sender: u64,
    /// Something arrived over connection 0.
    pub receiver: u64,
    /// What is added for each connection.
    pub connection: u64,
}

/// ConnectionNumber of a flow's connections: the number of its transfer, from 1, where several may be open at
/// a time, and 0 where one follows the other.
pub type ConnectionNumber = u32;
/// Number of tokens there is room for.
pub const MOST_CONNECTIONS: ConnectionNumber = 1 << 24;

/// A transfer from its beginning.
#[derive(Debug, Clone, Copy)]
pub struct TransferRecord {
    /// Payload.
    pub bytes: u64,
    /// Its connection was begun.
    pub started: Time,
    /// All of it was received; `NEVER` while it was not.
    pub completed: Time,
}

/// Sums over the connections of a flow.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    /// Segments that the sender made.
    pub created_pkts: u64,
    /// Segments that the receiver got.
    pub delivered_pkts: u64,
    /// Segments sent again.
    pub retransmitted_pkts: u64,
    /// Payload sent, what was sent again too.
    pub payload_sent: u64,
    /// Payload sent again.
    pub payload_retransmitted: u64,
    /// Payload that the application got.
    pub received_payload_bytes: u64,
    /// Writes of sources with a schedule.
    pub writes: u64,
    /// Payload that `write()` took.
    pub written_payload_bytes: u64,
    /// Connections.
    pub connections: u64,
}

/// What was seen of a flow.
#[derive(Debug, Default)]
pub struct TcpRecord {
    /// At the end of the warm-up.
    pub at_warm_up: Totals,
    /// At the end of the run.
    pub at_end: Totals,
    /// At the sampling instants; None while there is no connection.
    pub samples: Vec<(Totals, Option<TcpSample>)>,
    /// The first connection was begun; None before.
    pub first_sent: Option<Time>,
    /// Something was received last.
    pub last_received: Option<Time>,
    /// Of sized and closed-loop sources, and of arrivals.
    pub transfers: Vec<TransferRecord>,
}

/// A connection under way. What is to be sent and was received is the module's to know where it reads
/// and writes.
struct Connection {
    sender: Socket,
    /// The sender's, by which the receiving host knows whose a connection is.
    port: u16,
    receiver: Option<Socket>,
    /// Not yet handed to TCP.
    to_send: u64,
    received: u64,
    /// Of a write under way that has a size.
    write_left: u64,
    /// Whether the sender is waited for.
    waited_for: bool,
}

/// Of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Sender,
    Receiver,
}

/// A flow under way.
pub struct TcpFlow {
    settings: spec::Tcp,
    class: u8,
    from: usize,
    to: SocketAddrV4,
    tokens: Tokens,
    supply: Supply,
    listener: Socket,
    /// That reads and writes; None where this process does.
    module: Option<Rc<TrafficModule>>,
    connections: BTreeMap<ConnectionNumber, Connection>,
    closed: Totals,
    /// How often the module did something for connections that are over.
    served: u64,
    /// What was seen.
    pub record: TcpRecord,
}

impl TcpFlow {
    /// A flow that has not begun. `listener` is a socket of the receiving host.
    pub fn new(
        flow: &spec::Flow,
        streams: FlowStreams,
        (from, to): (usize, SocketAddrV4),
        listener: Socket,
        tokens: Tokens,
        module: Option<Rc<TrafficModule>>,
    ) -> Result<TcpFlow, GuestError> {
        let settings = flow.tcp.clone().expect("descriptions are checked");
        let supply = flow.source.parameters().supply(streams);
        let tcp_flow = TcpFlow {
            settings,
            class: flow.dscp << 2,
            from,
            to,
            tokens,
            supply,
            listener,
            module,
            connections: BTreeMap::new(),
            closed: Totals::default(),
            served: 0,
            record: TcpRecord::default(),
        };
        tcp_flow.set(&tcp_flow.listener, End::Receiver)?;
        tcp_flow
            .listener
            .bind(to.port())
            .context(|| "taking a port".to_owned())?;
        tcp_flow
            .listener
            .listen()
            .context(|| "listening".to_owned())?;
        Ok(tcp_flow)
    }

    /// The sending host, where the next connection is made.
    pub fn host(&self) -> usize {
        self.from
    }

    /// What has to be set before a connection is made, at both ends.
    fn set(&self, socket: &Socket, end: End) -> Result<(), GuestError> {
        let settings = &self.settings;
        let what = || format!("setting up TCP with {}", settings.congestion_control);
        // A controller in C hears of what is sent, and of nothing else.
        // `linux:vegas` is this kernel's own vegas.
        let name = &settings.congestion_control;
        let of_kernel = name.strip_prefix("linux:");
        let name = of_kernel.unwrap_or(name);
        if end == End::Sender || of_kernel.is_some() || settings.controller.is_none() {
            socket.congestion_control(name).context(what)?;
        }
        socket.traffic_class(self.class).context(what)?;
        if self.write_bytes().is_none() {
            socket
                .option(libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)
                .context(what)?;
        }
        if settings.send_buffer_bytes > 0 {
            socket
                .send_buffer(settings.send_buffer_bytes)
                .context(what)?;
        }
        if settings.receive_window_bytes > 0 {
            socket
                .receive_window(settings.receive_window_bytes)
                .context(what)?;
        }
        if settings.pacing == Pacing::Switch(true) {
            socket.pace().context(what)?;
        }
        Ok(())
    }

    /// What each write has, where that is said.
    fn write_bytes(&self) -> Option<u64> {
        match &self.supply {
            Supply::Schedule(_) => None,
            Supply::Transfers(transfers) => transfers.write_bytes,
        }
    }

    /// When the source acts first, by the start of the flow.
    pub fn first(&mut self, start: Time) -> Time {
        match &mut self.supply {
            // The connection is made at the start, whenever the first write is.
            Supply::Schedule(_) => start,
            Supply::Transfers(transfers) => start.saturating_add(transfers.first_pause()),
        }
    }

    /// The source acts: it makes a connection or writes. Returns when it acts next.
    pub fn act(&mut self, poll: &Poll, now: Time) -> Result<Option<Time>, GuestError> {
        let is_connected = !self.connections.is_empty();
        let bytes = match &mut self.supply {
            Supply::Schedule(generator) if is_connected => {
                let size = u64::from(generator.next_size());
                self.closed.writes += 1;
                self.send_more(poll, size)?;
                None
            }
            Supply::Schedule(_) => Some(0),
            Supply::Transfers(transfers) if transfers.has_rest() => {
                transfers.first_write = None;
                // A connection that has broken is gone.
                if is_connected {
                    self.send_more(poll, u64::MAX)?;
                }
                None
            }
            Supply::Transfers(transfers) => {
                let first = transfers.first_write.map(|first| first.bytes);
                let bytes = transfers.begin().or(first);
                Some(bytes.unwrap_or(u64::MAX))
            }
        };
        if let Some(bytes) = bytes {
            self.connect(poll, bytes, now)?;
        }
        let pause = match &mut self.supply {
            Supply::Schedule(generator) => generator.next_gap(),
            Supply::Transfers(transfers) => transfers.pause_after_start(),
        };
        Ok(pause.map(|pause| now.saturating_add(pause)))
    }

    /// The only connection has more to send.
    fn send_more(&mut self, poll: &Poll, bytes: u64) -> Result<(), GuestError> {
        if let Some(module) = &self.module {
            return module.send_more(token(self.tokens.sender, self.tokens, 0), bytes);
        }
        let missing = || GuestError::Internal("the connection is not there".to_owned());
        let connection = self.connections.get_mut(&0).ok_or_else(missing)?;
        connection.to_send = connection.to_send.saturating_add(bytes);
        self.write(poll, 0)
    }

    fn connect(&mut self, poll: &Poll, bytes: u64, now: Time) -> Result<(), GuestError> {
        let what = || "connecting".to_owned();
        let sender = Socket::tcp().context(what)?;
        self.set(&sender, End::Sender)?;
        sender.connect(self.to).context(what)?;
        self.closed.connections += 1;
        self.record.first_sent.get_or_insert(now);
        let mut which = 0;
        if let Supply::Transfers(transfers) = &self.supply
            && transfers.size != TransferSize::Unlimited
        {
            self.record.transfers.push(TransferRecord {
                bytes,
                started: now,
                completed: Time::NEVER,
            });
            if transfers.may_overlap() {
                which = self.record.transfers.len() as ConnectionNumber;
            }
        }
        if which >= MOST_CONNECTIONS {
            return Err(GuestError::Job(format!("{which} transfers of one flow")));
        }
        let token = token(self.tokens.sender, self.tokens, which);
        match &self.module {
            Some(module) => module.send(token, &sender, bytes, self.write_bytes())?,
            None => poll.add_writer(&sender, token).context(what)?,
        }
        let connection = Connection {
            port: sender.port().context(what)?,
            sender,
            receiver: None,
            to_send: bytes,
            received: 0,
            write_left: 0,
            waited_for: true,
        };
        self.connections.insert(which, connection);
        Ok(())
    }

    /// A sender takes more, or its connection has broken.
    pub fn is_ready(&mut self, poll: &Poll, which: ConnectionNumber) -> Result<(), GuestError> {
        let what = || "looking after a connection".to_owned();
        if let Some(connection) = self.connections.get(&which) {
            let info = connection.sender.tcp_info().context(what)?;
            if TcpInfo::new(&info).is_closed() {
                return self.close(which);
            }
        }
        self.write(poll, which)
    }

    /// Hands TCP what it takes.
    fn write(&mut self, poll: &Poll, which: ConnectionNumber) -> Result<(), GuestError> {
        let what = || "writing to a connection".to_owned();
        let token = token(self.tokens.sender, self.tokens, which);
        let write_bytes = self.write_bytes();
        let Some(connection) = self.connections.get_mut(&which) else {
            return Ok(());
        };
        let mut full = false;
        while connection.to_send > 0 && !full {
            let mut chunk = connection.to_send.min(CHUNK as u64);
            if let Some(write_bytes) = write_bytes {
                if connection.write_left == 0 {
                    connection.write_left = write_bytes.min(chunk);
                }
                chunk = connection.write_left;
            }
            let chunk = chunk as usize;
            match connection.sender.write(&ZEROS[..chunk]) {
                Ok(Some(taken)) => {
                    connection.write_left = connection.write_left.saturating_sub(taken as u64);
                    // One that has a size and was not taken whole waits, as it would in a program.
                    full |= write_bytes.is_some() && taken < chunk;
                    self.closed.written_payload_bytes += taken as u64;
                    if connection.to_send == u64::MAX {
                        full = taken < chunk;
                    } else {
                        connection.to_send -= taken as u64;
                    }
                }
                Ok(None) => full = true,
                // Not yet connected.
                Err(error) if error.raw_os_error() == Some(libc::ENOTCONN) => full = true,
                Err(error) => return Err(error).context(what),
            }
        }
        if full != connection.waited_for {
            poll.set_writer(&connection.sender, token, full)
                .context(what)?;
            connection.waited_for = full;
        }
        Ok(())
    }

    /// A connection has arrived at the receiving host.
    pub fn accept(&mut self, poll: &Poll) -> Result<(), GuestError> {
        let what = || "accepting a connection".to_owned();
        while let Some((receiver, port)) = self.listener.accept().context(what)? {
            let mut all = self.connections.iter();
            // The sender of any other has given it up.
            let Some((&which, _)) = all.find(|(_, one)| one.port == port) else {
                continue;
            };
            let token = token(self.tokens.receiver, self.tokens, which);
            let bytes = self.transfer(which).map_or(u64::MAX, |one| one.bytes);
            match &self.module {
                Some(module) => {
                    let window_bytes = self.settings.receive_window_bytes;
                    module.receive(token, &receiver, bytes, window_bytes)?;
                }
                None => poll.add(&receiver, token).context(what)?,
            }
            if let Some(connection) = self.connections.get_mut(&which) {
                connection.receiver = Some(receiver);
            }
        }
        Ok(())
    }

    /// Waits for connections from now on.
    pub fn wait_for_connections(&self, poll: &Poll) -> Result<(), GuestError> {
        poll.add(&self.listener, self.tokens.listener)
            .context(|| "waiting for connections".to_owned())
    }

    /// Something has arrived. Returns when the source acts next, if that follows from it.
    pub fn receive(
        &mut self,
        which: ConnectionNumber,
        now: Time,
    ) -> Result<Option<Time>, GuestError> {
        let window_bytes = self.settings.receive_window_bytes;
        let Some(connection) = self.connections.get_mut(&which) else {
            return Ok(None);
        };
        let Some(receiver) = &connection.receiver else {
            return Ok(None);
        };
        loop {
            let got = receiver
                .discard(CHUNK)
                .context(|| "reading from a connection".to_owned())?;
            let Some(bytes) = got.filter(|bytes| *bytes > 0) else {
                break;
            };
            if window_bytes > 0 {
                receiver
                    .hold_receive_window(window_bytes)
                    .context(|| "holding a receive window".to_owned())?;
            }
            connection.received += bytes as u64;
            self.closed.received_payload_bytes += bytes as u64;
            self.record.last_received = Some(now);
            if bytes < CHUNK {
                break;
            }
        }
        let received = connection.received;
        match self.transfer(which) {
            Some(transfer) if received >= transfer.bytes => self.complete(which, now),
            _ => Ok(None),
        }
    }

    /// The transfer of a connection, where it has one.
    fn transfer(&mut self, which: ConnectionNumber) -> Option<&mut TransferRecord> {
        match which {
            0 => self.record.transfers.last_mut(),
            number => self.record.transfers.get_mut(number as usize - 1),
        }
    }

    /// All of a transfer has arrived. Returns when the source acts next, if that follows from it.
    pub fn complete(
        &mut self,
        which: ConnectionNumber,
        now: Time,
    ) -> Result<Option<Time>, GuestError> {
        if let Some(transfer) = self.transfer(which) {
            transfer.completed = now;
        }
        self.close(which)?;
        let pause = match &mut self.supply {
            Supply::Schedule(_) => None,
            Supply::Transfers(transfers) => transfers.pause_after_end(),
        };
        Ok(pause.map(|pause| now.saturating_add(pause)))
    }

    /// Sums up to now.
    pub fn totals(&self) -> Result<Totals, GuestError> {
        self.look().map(|(totals, _)| totals)
    }

    /// Sums up to now, and what the sender knows where there is one at a time.
    pub fn look(&self) -> Result<(Totals, Option<TcpSample>), GuestError> {
        let mut totals = self.closed;
        let mut sample = None;
        for (which, connection) in &self.connections {
            let sender = totals.add(connection)?;
            sample = (*which == 0).then_some(sender);
            if let Some(module) = &self.module {
                let [sent, received] =
                    self.by_module(*which, connection, |token| module.moved(token))?;
                totals.written_payload_bytes += sent.bytes;
                totals.received_payload_bytes += received.bytes;
            }
        }
        Ok((totals, sample))
    }

    /// What the module has done for a connection: of the sender, and of the receiver.
    fn by_module(
        &self,
        which: ConnectionNumber,
        connection: &Connection,
        ask: impl Fn(u64) -> Result<Moved, GuestError>,
    ) -> Result<[Moved; 2], GuestError> {
        let sent = ask(token(self.tokens.sender, self.tokens, which))?;
        let received = match connection.receiver {
            Some(_) => ask(token(self.tokens.receiver, self.tokens, which))?,
            None => Moved::default(),
        };
        Ok([sent, received])
    }

    /// Ends a connection as an application does whose transfer is over.
    pub fn close(&mut self, which: ConnectionNumber) -> Result<(), GuestError> {
        if let Some(connection) = self.connections.remove(&which) {
            self.count_last(which, &connection)?;
        }
        Ok(())
    }

    /// Counts what a connection that is over has done.
    fn count_last(
        &mut self,
        which: ConnectionNumber,
        connection: &Connection,
    ) -> Result<(), GuestError> {
        self.closed.add(connection)?;
        if let Some(module) = &self.module {
            let [sent, received] =
                self.by_module(which, connection, |token| module.take_back(token))?;
            self.closed.written_payload_bytes += sent.bytes;
            self.closed.received_payload_bytes += received.bytes;
            self.served += sent.served + received.served;
            self.record.last_received = self.record.last_received.max(received.last);
        }
        Ok(())
    }

    /// How often the module did something for connections that are over.
    pub fn served(&self) -> u64 {
        self.served
    }

    /// Ends all connections at once: nothing more is sent.
    pub fn abort(&mut self) -> Result<(), GuestError> {
        for (which, connection) in std::mem::take(&mut self.connections) {
            self.count_last(which, &connection)?;
            let what = || "ending a connection".to_owned();
            connection.sender.abort_on_close().context(what)?;
        }
        Ok(())
    }
}

impl Totals {
    /// Adds what a connection counted so far; returns what its sender knows.
    fn add(&mut self, connection: &Connection) -> Result<TcpSample, GuestError> {
        let what = || "asking TCP for its numbers".to_owned();
        let info = connection.sender.tcp_info().context(what)?;
        let info = TcpInfo::new(&info);
        self.created_pkts += info.segments_out();
        self.retransmitted_pkts += info.retransmitted();
        self.payload_sent += info.payload_sent();
        self.payload_retransmitted += info.payload_retransmitted();
        if let Some(receiver) = &connection.receiver {
            let info = receiver.tcp_info().context(what)?;
            self.delivered_pkts += TcpInfo::new(&info).segments_in();
        }
        Ok(info.sample())
    }
}

/// The token of a connection's sender or receiver.
fn token(of: u64, tokens: Tokens, which: ConnectionNumber) -> u64 {
    of + u64::from(which) * tokens.connection
}
