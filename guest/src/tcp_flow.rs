//! A flow over the kernel's own TCP: when connections are opened, what is written to them, what arrives.
//! Sizes, think times and the times of writes and transfers come from the engine's generators with the same
//! named streams as in the simulator.

mod by_module;
mod record;

pub use by_module::seen_by_flow;
pub use record::{Seen, TcpRecord, Totals, TransferRecord};

use crate::error::{ErrorContext, GuestError};
use crate::samples::SeenEnd;
use crate::sys::{Poll, Socket, SocketOption};
use crate::tcp_info::TcpInfo;
use crate::traffic_module::TrafficModule;
use by_module::ByModule;
use dumbbell_core::time::Time;
use dumbbell_spec as spec;
use dumbbell_spec::source::{FlowStreams, Supply, TransferSize};
use dumbbell_spec::tcp::Pacing;
use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::rc::Rc;

/// Bytes of a write or read.
const CHUNK: usize = 1 << 18;
static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// Token bases of a flow's sockets.
#[derive(Debug, Clone, Copy)]
pub struct Tokens {
    /// A connection was accepted.
    pub listener: u64,
    /// The sender of connection 0 is writable.
    pub sender: u64,
    /// Data arrived over connection 0.
    pub receiver: u64,
    /// Added for each connection.
    pub connection: u64,
}

/// Number of a connection in a flow: that of its transfer, from 1, if connections may overlap; 0 if they
/// follow each other.
pub type ConnectionNumber = u32;
/// Number of connections for which there are tokens.
pub const MOST_CONNECTIONS: ConnectionNumber = 1 << 24;

/// An open connection. If the module reads and writes, it keeps the amounts to send and received.
struct Connection {
    sender: Socket,
    /// The sender's port, by which the receiving host identifies the connection.
    port: u16,
    receiver: Option<Socket>,
    /// Bytes not yet handed to TCP.
    to_send: u64,
    received: u64,
    /// Bytes left of a write of fixed size.
    write_left: u64,
    /// Whether the poll waits for the sender to be writable.
    waited_for: bool,
}

/// An end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Sender,
    Receiver,
}

/// A flow during the run.
pub struct TcpFlow {
    settings: spec::Tcp,
    class: u8,
    from: usize,
    to: SocketAddrV4,
    tokens: Tokens,
    supply: Supply,
    listener: Socket,
    /// The module that reads and writes; None if this process does.
    module: Option<Rc<TrafficModule>>,
    /// The same if it also opens and closes connections, which are not in `connections` then.
    by_module: Option<ByModule>,
    connections: BTreeMap<ConnectionNumber, Connection>,
    closed: Totals,
    /// Number of services by the module for closed connections.
    served: u64,
    /// The measurements.
    pub record: TcpRecord,
}

impl TcpFlow {
    /// A flow before its start. `listener` is a socket of the receiving host.
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
            by_module: None,
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

    /// The sending host, where the next connection is opened.
    pub fn host(&self) -> usize {
        self.from
    }

    /// Options of a socket before its connection is opened, in the order in which they are set.
    fn options(&self, end: End) -> std::io::Result<Vec<SocketOption>> {
        let settings = &self.settings;
        let mut options = vec![SocketOption::reuse_address()];
        // A controller in C hears of what is sent, and of nothing else.
        // `linux:vegas` is this kernel's own vegas.
        let name = &settings.congestion_control;
        let of_kernel = name.strip_prefix("linux:");
        let name = of_kernel.unwrap_or(name);
        if end == End::Sender || of_kernel.is_some() || settings.controller.is_none() {
            options.push(SocketOption::congestion_control(name)?);
        }
        options.push(SocketOption::traffic_class(self.class));
        if self.write_bytes().is_none() {
            options.push(SocketOption::no_delay());
        }
        if settings.send_buffer_bytes > 0 {
            options.push(SocketOption::send_buffer(settings.send_buffer_bytes));
        }
        if settings.receive_window_bytes > 0 {
            options.extend(SocketOption::receive_window(settings.receive_window_bytes));
        }
        if settings.pacing == Pacing::Switch(true) {
            options.push(SocketOption::pace());
        }
        Ok(options)
    }

    fn setting_up(&self) -> String {
        format!("setting up TCP with {}", self.settings.congestion_control)
    }

    /// Options of a sender.
    fn sender_options(&self) -> Result<Vec<SocketOption>, GuestError> {
        self.options(End::Sender).context(|| self.setting_up())
    }

    fn set(&self, socket: &Socket, end: End) -> Result<(), GuestError> {
        let options = self.options(end);
        let set = options.and_then(|options| options.iter().try_for_each(|each| socket.set(each)));
        set.context(|| self.setting_up())
    }

    /// Size of each write, if fixed.
    fn write_bytes(&self) -> Option<u64> {
        match &self.supply {
            Supply::Schedule(_) => None,
            Supply::Transfers(transfers) => transfers.write_bytes,
        }
    }

    /// Time of the source's first action.
    pub fn first(&mut self, start: Time) -> Time {
        match &mut self.supply {
            // The connection is opened at the start, whenever the first write is.
            Supply::Schedule(_) => start,
            Supply::Transfers(transfers) => start.saturating_add(transfers.first_pause()),
        }
    }

    /// Performs the source's action: opens a connection or writes. Returns the time of the next.
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
                // A broken connection is gone.
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
        let which = self.count_start(bytes, now)?;
        let token = token(self.tokens.sender, self.tokens, which);
        let port = match &self.module {
            Some(module) => module.send(token, &sender, bytes, self.write_bytes())?,
            None => {
                poll.add_writer(&sender, token).context(what)?;
                sender.port().context(what)?
            }
        };
        let connection = Connection {
            port,
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

    /// Counts a connection that is opened, and its transfer if it has one. Returns its number.
    fn count_start(&mut self, bytes: u64, now: Time) -> Result<ConnectionNumber, GuestError> {
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
        match which < MOST_CONNECTIONS {
            true => Ok(which),
            false => Err(GuestError::Job(format!("{which} transfers of one flow"))),
        }
    }

    /// A sender is writable, or its connection has broken.
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

    /// Hands TCP as much as it accepts.
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
                    // A fixed-size write that was not accepted completely blocks, as in a program.
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
            // Other connections were given up by their senders.
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

    /// Starts waiting for connections, unless the module does.
    pub fn wait_for_connections(&self, poll: &Poll) -> Result<(), GuestError> {
        if self.is_opened_by_module() {
            return Ok(());
        }
        poll.add(&self.listener, self.tokens.listener)
            .context(|| "waiting for connections".to_owned())
    }

    /// Data has arrived. Returns the time of the source's next action, if it follows.
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

    /// The transfer of a connection, if it has one.
    fn transfer(&mut self, which: ConnectionNumber) -> Option<&mut TransferRecord> {
        match which {
            0 => self.record.transfers.last_mut(),
            number => self.record.transfers.get_mut(number as usize - 1),
        }
    }

    /// All of a transfer has arrived. Returns the time of the source's next action, if it follows.
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

    /// Totals so far, and the sender's state if there is one connection at a time. `Traffic` asks the
    /// module if that opens the connections.
    pub fn look(&self) -> Result<Seen, GuestError> {
        let mut totals = self.closed;
        let mut sample = None;
        for (which, connection) in &self.connections {
            let see = |token, socket: &Socket| self.see(token, socket);
            let (sender, receiver) = self.both(*which, connection, see)?;
            let state = totals.add(&sender, receiver.as_ref());
            sample = (*which == 0).then_some(state);
        }
        Ok((totals, sample))
    }

    /// What was seen of sender and receiver.
    fn both(
        &self,
        which: ConnectionNumber,
        connection: &Connection,
        see: impl Fn(u64, &Socket) -> Result<SeenEnd, GuestError>,
    ) -> Result<(SeenEnd, Option<SeenEnd>), GuestError> {
        let token = |of| token(of, self.tokens, which);
        let sender = see(token(self.tokens.sender), &connection.sender)?;
        let receiver = connection.receiver.as_ref();
        let receiver = receiver.map(|socket| see(token(self.tokens.receiver), socket));
        Ok((sender, receiver.transpose()?))
    }

    /// Looks at an end now.
    fn see(&self, token: u64, socket: &Socket) -> Result<SeenEnd, GuestError> {
        let info = socket.tcp_info();
        let info = info.context(|| "asking TCP for its numbers".to_owned())?;
        let moved = self.module.as_ref().map(|module| module.moved(token));
        Ok(SeenEnd {
            info,
            moved: moved.transpose()?.unwrap_or_default(),
        })
    }

    /// Whether there may be more than one connection at a time.
    pub fn may_overlap(&self) -> bool {
        matches!(&self.supply, Supply::Transfers(transfers) if transfers.may_overlap())
    }

    /// Closes a connection, as an application does after a transfer.
    pub fn close(&mut self, which: ConnectionNumber) -> Result<(), GuestError> {
        if let Some(connection) = self.connections.remove(&which) {
            self.count_last(which, &connection)?;
        }
        Ok(())
    }

    /// Adds the counters of a closed connection.
    fn count_last(
        &mut self,
        which: ConnectionNumber,
        connection: &Connection,
    ) -> Result<(), GuestError> {
        let (sender, receiver) =
            self.both(which, connection, |token, socket| match &self.module {
                Some(module) => module.take_back(token),
                None => self.see(token, socket),
            })?;
        self.add_last(&sender, receiver.as_ref());
        Ok(())
    }

    fn add_last(&mut self, sender: &SeenEnd, receiver: Option<&SeenEnd>) {
        self.closed.add(sender, receiver);
        self.served += sender.moved.served;
        if let Some(receiver) = receiver {
            self.served += receiver.moved.served;
            self.record.last_received = self.record.last_received.max(receiver.moved.last);
        }
    }

    /// Number of services by the module for closed connections, and for the listener.
    pub fn served(&self) -> Result<u64, GuestError> {
        let listener = match &self.by_module {
            Some(by_module) => by_module.accepted(self.tokens)?,
            None => 0,
        };
        Ok(self.served + listener)
    }

    /// Aborts all connections: nothing more is sent.
    pub fn abort(&mut self) -> Result<(), GuestError> {
        for (which, connection) in std::mem::take(&mut self.connections) {
            self.count_last(which, &connection)?;
            let what = || "ending a connection".to_owned();
            connection.sender.abort_on_close().context(what)?;
        }
        Ok(())
    }
}

/// The token of a connection's sender or receiver.
fn token(of: u64, tokens: Tokens, which: ConnectionNumber) -> u64 {
    of + u64::from(which) * tokens.connection
}
