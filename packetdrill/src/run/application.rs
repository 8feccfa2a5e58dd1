//! The program of a script: its sockets, and the call that it waits in.

use super::Run;
use crate::clock::span;
use crate::endpoint::{Endpoint, OWN_MSS_BYTES, Setup, State};
use crate::language::Place;
use crate::language::script::{EcnMark, TcpFlags, TcpPacket};
use crate::plan::operations::{Call, Operation, SocketOption};
use crate::verdict::Difference;
use dumbbell_core::time::Time;

/// Memory of a packet beside its payload, bytes, as the engine's senders reckon.
const STRUCTURE_BYTES: u64 = 768;
/// What SO_SNDBUF gives at most (`net.core.wmem_max`), before it is doubled, bytes.
const MOST_SEND_BUFFER_BYTES: u64 = 212_992;

/// What a socket is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Fresh,
    Listening,
    Connected,
}

/// A socket.
#[derive(Debug, Clone)]
struct Socket {
    fd: i64,
    role: Role,
    is_nonblocking: bool,
    nodelay: bool,
    mss_bytes: u32,
    send_buffer_bytes: Option<u64>,
    congestion_control: Option<String>,
    reads_no_more: bool,
    /// Its error has been told.
    was_told: bool,
}

/// A call that has not returned.
#[derive(Debug, Clone)]
struct Waiting {
    call: Call,
    until: Time,
    place: Place,
    /// Of a write.
    written: u64,
}

/// What it has.
#[derive(Debug, Clone, Default)]
pub(super) struct Application {
    sockets: Vec<Socket>,
    waiting: Option<Waiting>,
    is_accepted: bool,
    /// Payload that it has read.
    read_bytes: u64,
}

/// What a call comes to.
enum Outcome {
    Returns(i64),
    Fails(&'static str),
    /// A value to be looked at: the one there is, and the one that is wanted.
    Finds(u64, u64),
    /// Later, perhaps.
    Waits,
}

impl Application {
    /// When the call that it waits in must return.
    pub(super) fn waits_until(&self) -> Option<Time> {
        self.waiting.as_ref().map(|waiting| waiting.until)
    }

    fn socket(&mut self, fd: i64) -> Option<&mut Socket> {
        self.sockets.iter_mut().find(|socket| socket.fd == fd)
    }
}

impl Run<'_> {
    /// A packet arrives: for the connection, or for who listens.
    pub(super) fn arrive(&mut self, packet: &TcpPacket, mark: EcnMark) {
        let now = self.now;
        if let Some(connection) = &mut self.connection {
            connection.on_packet(packet, mark, now);
            return;
        }
        let listener = self
            .application
            .sockets
            .iter()
            .find(|socket| socket.role == Role::Listening)
            .cloned();
        let is_syn = packet.flags.has(TcpFlags::SYN) && !packet.flags.has(TcpFlags::ACK);
        let Some(listener) = listener.filter(|_| is_syn) else {
            return;
        };
        let mut connection = Endpoint::answer(&self.setup(&listener), packet, now);
        if self.keeps_host_queue {
            connection.keep_in_host_queue();
        }
        connection.poll(now);
        self.connection = Some(connection);
    }

    fn setup(&self, socket: &Socket) -> Setup {
        let mut host = self.host.clone();
        if let Some(name) = &socket.congestion_control {
            host.tcp.congestion_control.clone_from(name);
        }
        Setup {
            host,
            nodelay: socket.nodelay,
            mss_bytes: socket.mss_bytes,
            first_phase: self.first_phase,
        }
    }

    /// The program calls. `until`: when the call returns, if it waits.
    pub(super) fn call(
        &mut self,
        call: &Call,
        until: Option<Time>,
        place: Place,
    ) -> Result<(), Difference> {
        if self.application.waiting.is_some() {
            return Err(differs(call, "another call still waits"));
        }
        self.application.waiting = Some(Waiting {
            call: call.clone(),
            until: until.unwrap_or(self.now),
            place,
            written: 0,
        });
        self.application_goes_on()?;
        match (until, &self.application.waiting) {
            (None, Some(_)) => Err(differs(call, "it waits")),
            _ => Ok(()),
        }
    }

    /// Tries the call that waits again.
    pub(super) fn application_goes_on(&mut self) -> Result<(), Difference> {
        let Some(mut waiting) = self.application.waiting.take() else {
            return Ok(());
        };
        let call = waiting.call.clone();
        let outcome = self.try_call(&call, &mut waiting.written);
        let (value, error) = match outcome {
            Outcome::Waits => {
                self.application.waiting = Some(waiting);
                return Ok(());
            }
            Outcome::Finds(found, wanted) if found != wanted => {
                self.place = Some(waiting.place);
                return Err(Difference::Call {
                    name: call.name,
                    expected: format!("[{wanted}]"),
                    found: format!("[{found}]"),
                });
            }
            Outcome::Finds(..) => (0, None),
            Outcome::Returns(value) => (value, None),
            Outcome::Fails(error) => (-1, Some(error)),
        };
        let is_as_expected = call.returns.is_none_or(|expected| expected == value)
            && (call.error.is_none() || call.error.as_deref() == error);
        if !is_as_expected {
            self.place = Some(waiting.place);
            let found = match error {
                Some(error) => format!("-1 {error}"),
                None => value.to_string(),
            };
            return Err(differs(&call, &found));
        }
        let tolerance = span(self.plan.tolerance_us);
        if self.now.saturating_add(tolerance) < waiting.until {
            self.place = Some(waiting.place);
            return Err(late(&call, waiting.until, Some(self.now)));
        }
        Ok(())
    }

    /// No call may wait longer than it is to.
    pub(super) fn check_waiting(&mut self) -> Result<(), Difference> {
        let Some(waiting) = &self.application.waiting else {
            return Ok(());
        };
        if self.now <= waiting.until.saturating_add(span(self.plan.tolerance_us)) {
            return Ok(());
        }
        self.place = Some(waiting.place);
        Err(late(&waiting.call, waiting.until, None))
    }

    fn try_call(&mut self, call: &Call, written: &mut u64) -> Outcome {
        let now = self.now;
        match &call.operation {
            Operation::Socket => self.open(call),
            Operation::Bind(_) => Outcome::Returns(0),
            Operation::Listen(fd) => self.with_socket(*fd, |socket| socket.role = Role::Listening),
            Operation::Accept(fd) => self.accept(*fd, call),
            Operation::Connect(fd) => self.connect(*fd),
            Operation::Read(fd, bytes) => self.read(*fd, *bytes),
            Operation::Write(fd, bytes) => self.write(*fd, *bytes, written),
            Operation::Close(fd) => self.close(*fd),
            Operation::Shutdown { fd, reads, writes } => {
                if *reads && let Some(socket) = self.application.socket(*fd) {
                    socket.reads_no_more = true;
                }
                if *writes && let Some(connection) = &mut self.connection {
                    connection.shut_down(now);
                }
                Outcome::Returns(0)
            }
            Operation::Fcntl(fd, flag) => {
                let flag = *flag;
                self.with_socket(*fd, |socket| {
                    socket.is_nonblocking = flag.unwrap_or(socket.is_nonblocking);
                });
                // F_GETFL tells the flags, whatever they are.
                Outcome::Returns(call.returns.unwrap_or(0))
            }
            Operation::Set(fd, option) => self.set(*fd, option),
            Operation::Get(fd, option) => self.get(*fd, option),
            Operation::Readable(_, wanted) => Outcome::Finds(self.unread_bytes(), *wanted),
            Operation::Unacknowledged(_, wanted) => {
                let sender = self.connection.as_ref().and_then(Endpoint::sender);
                let bytes = sender.map_or(0, |sender| sender.unacknowledged_bytes());
                Outcome::Finds(bytes, *wanted)
            }
        }
    }

    fn open(&mut self, call: &Call) -> Outcome {
        let next = 3 + self.application.sockets.len() as i64;
        let fd = call.returns.unwrap_or(next);
        if self.application.socket(fd).is_some() {
            return Outcome::Fails("EMFILE");
        }
        self.application.sockets.push(Socket {
            fd,
            role: Role::Fresh,
            is_nonblocking: false,
            nodelay: false,
            mss_bytes: OWN_MSS_BYTES,
            send_buffer_bytes: None,
            congestion_control: None,
            reads_no_more: false,
            was_told: false,
        });
        Outcome::Returns(fd)
    }

    fn with_socket(&mut self, fd: i64, change: impl FnOnce(&mut Socket)) -> Outcome {
        match self.application.socket(fd) {
            Some(socket) => {
                change(socket);
                Outcome::Returns(0)
            }
            None => Outcome::Fails("EBADF"),
        }
    }

    fn accept(&mut self, fd: i64, call: &Call) -> Outcome {
        let Some(listener) = self.application.socket(fd).cloned() else {
            return Outcome::Fails("EBADF");
        };
        let is_open = self
            .connection
            .as_ref()
            .is_some_and(|one| !matches!(one.state(), State::SynSent | State::SynReceived));
        if !is_open || self.application.is_accepted {
            return match listener.is_nonblocking {
                true => Outcome::Fails("EAGAIN"),
                false => Outcome::Waits,
            };
        }
        self.application.is_accepted = true;
        let fd = call.returns.filter(|fd| *fd >= 0).unwrap_or(fd + 1);
        self.application.sockets.push(Socket {
            fd,
            role: Role::Connected,
            is_nonblocking: false,
            ..listener
        });
        Outcome::Returns(fd)
    }

    fn connect(&mut self, fd: i64) -> Outcome {
        let Some(socket) = self.application.socket(fd).cloned() else {
            return Outcome::Fails("EBADF");
        };
        if socket.role == Role::Fresh {
            let now = self.now;
            let mut connection = Endpoint::connect(&self.setup(&socket), now);
            if self.keeps_host_queue {
                connection.keep_in_host_queue();
            }
            connection.poll(now);
            self.connection = Some(connection);
            let socket = self.application.socket(fd).expect("it was found before");
            socket.role = Role::Connected;
            if socket.is_nonblocking {
                return Outcome::Fails("EINPROGRESS");
            }
            return Outcome::Waits;
        }
        match self.connection.as_ref().map(Endpoint::state) {
            Some(State::SynSent) if socket.is_nonblocking => Outcome::Fails("EALREADY"),
            Some(State::SynSent) => Outcome::Waits,
            Some(State::Refused) => Outcome::Fails("ECONNREFUSED"),
            _ => Outcome::Returns(0),
        }
    }

    fn unread_bytes(&self) -> u64 {
        let received = self.connection.as_ref().map_or(0, Endpoint::received_bytes);
        match self.host.application_reads {
            true => 0,
            false => received.saturating_sub(self.application.read_bytes),
        }
    }

    fn read(&mut self, fd: i64, bytes: u64) -> Outcome {
        let now = self.now;
        let Some(socket) = self.application.socket(fd).cloned() else {
            return Outcome::Fails("EBADF");
        };
        let Some(connection) = &mut self.connection else {
            return Outcome::Fails("ENOTCONN");
        };
        let taken = connection.read(bytes, now);
        self.application.read_bytes += taken;
        if taken > 0 || bytes == 0 {
            return Outcome::Returns(taken as i64);
        }
        if connection.state() == State::Reset && !socket.was_told {
            self.with_socket(fd, |socket| socket.was_told = true);
            return Outcome::Fails("ECONNRESET");
        }
        let is_at_end = connection.has_peer_finished()
            || socket.reads_no_more
            || matches!(connection.state(), State::Reset | State::Gone);
        match (is_at_end, socket.is_nonblocking) {
            (true, _) => Outcome::Returns(0),
            (false, true) => Outcome::Fails("EAGAIN"),
            (false, false) => Outcome::Waits,
        }
    }

    fn write(&mut self, fd: i64, bytes: u64, written: &mut u64) -> Outcome {
        let now = self.now;
        let Some(socket) = self.application.socket(fd).cloned() else {
            return Outcome::Fails("EBADF");
        };
        let initial_bytes = self.host.send_memory_bytes;
        let Some(connection) = &mut self.connection else {
            return Outcome::Fails("EPIPE");
        };
        match connection.state() {
            State::SynSent if socket.is_nonblocking => return Outcome::Fails("EAGAIN"),
            State::SynSent | State::SynReceived => return Outcome::Waits,
            State::Reset if !socket.was_told => {
                self.with_socket(fd, |socket| socket.was_told = true);
                return Outcome::Fails("ECONNRESET");
            }
            State::Reset | State::Refused | State::Gone => return Outcome::Fails("EPIPE"),
            State::Open if connection.is_closing() => return Outcome::Fails("EPIPE"),
            State::Open => {}
        }
        let room = room_bytes(connection, &socket, initial_bytes);
        if socket.is_nonblocking {
            let taken = room.min(bytes);
            if taken > 0 {
                connection.write(taken, now);
            }
            if taken < bytes {
                connection.wait_for_space();
            }
            if taken == 0 && bytes > 0 {
                return Outcome::Fails("EAGAIN");
            }
            return Outcome::Returns(taken as i64);
        }
        let left = bytes - *written;
        let mut taken = room.min(left);
        if *written > 0 && taken < left && !is_writable(connection, &socket) {
            taken = 0;
        }
        if taken > 0 {
            connection.write(taken, now);
            *written += taken;
        }
        if *written < bytes {
            connection.wait_for_space();
        }
        match *written == bytes {
            true => Outcome::Returns(bytes as i64),
            false => Outcome::Waits,
        }
    }

    fn close(&mut self, fd: i64) -> Outcome {
        let now = self.now;
        let Some(socket) = self.application.socket(fd).cloned() else {
            return Outcome::Fails("EBADF");
        };
        self.application.sockets.retain(|other| other.fd != fd);
        let unread = self.unread_bytes();
        let is_accepted = self.application.is_accepted;
        if let Some(connection) = &mut self.connection
            && (socket.role == Role::Connected || (socket.role == Role::Listening && !is_accepted))
        {
            connection.close(unread, now);
        }
        Outcome::Returns(0)
    }

    fn set(&mut self, fd: i64, option: &SocketOption) -> Outcome {
        let now = self.now;
        let outcome = self.with_socket(fd, |socket| match option {
            SocketOption::SendBuffer(bytes) => {
                socket.send_buffer_bytes = Some((*bytes).min(MOST_SEND_BUFFER_BYTES));
            }
            SocketOption::NoDelay(on) => socket.nodelay = *on,
            SocketOption::LargestSegment(bytes) => socket.mss_bytes = *bytes,
            SocketOption::CongestionControl(name) => {
                socket.congestion_control = Some(name.clone());
            }
            SocketOption::Neutral | SocketOption::Error(_) => {}
        });
        let role = self.application.socket(fd).map(|socket| socket.role);
        if let (SocketOption::NoDelay(on), Some(Role::Connected), Some(connection)) =
            (option, role, &mut self.connection)
        {
            connection.set_nodelay(*on, now);
        }
        outcome
    }

    fn get(&mut self, fd: i64, option: &SocketOption) -> Outcome {
        let connection = self.connection.as_ref();
        let mss_bytes = connection.map(Endpoint::mss_bytes);
        let refused = connection.is_some_and(|one| one.state() == State::Refused);
        let Some(socket) = self.application.socket(fd) else {
            return Outcome::Fails("EBADF");
        };
        let found = match option {
            SocketOption::SendBuffer(bytes) => {
                let asked = socket.send_buffer_bytes.map(|asked| 2 * asked);
                (asked.unwrap_or(*bytes), *bytes)
            }
            SocketOption::NoDelay(on) => (u64::from(socket.nodelay), u64::from(*on)),
            SocketOption::LargestSegment(bytes) => {
                let found = mss_bytes.filter(|_| socket.role == Role::Connected);
                (
                    u64::from(found.unwrap_or(socket.mss_bytes)),
                    u64::from(*bytes),
                )
            }
            SocketOption::Error(wanted) => (u64::from(refused), u64::from(*wanted != 0)),
            SocketOption::Neutral | SocketOption::CongestionControl(_) => (0, 0),
        };
        Outcome::Finds(found.0, found.1)
    }
}

/// What the send buffer takes. A buffer that was asked for holds twice that (socket(7),
/// SO_SNDBUF), and the last segment may be beyond it.
fn room_bytes(connection: &Endpoint, socket: &Socket, initial_bytes: u64) -> u64 {
    let Some(sender) = connection.sender() else {
        return 0;
    };
    match socket.send_buffer_bytes {
        None => {
            let initial = initial_bytes.saturating_sub(sender.unacknowledged_bytes());
            sender.room_bytes().max(initial)
        }
        Some(asked) => {
            let free = (2 * asked).saturating_sub(memory_bytes(connection));
            let mss_bytes = u64::from(connection.mss_bytes());
            free.div_ceil(mss_bytes + STRUCTURE_BYTES) * mss_bytes
        }
    }
}

/// Memory of what was written and not acknowledged.
fn memory_bytes(connection: &Endpoint) -> u64 {
    let Some(sender) = connection.sender() else {
        return 0;
    };
    let bytes = sender.unacknowledged_bytes();
    bytes + bytes * STRUCTURE_BYTES / u64::from(connection.mss_bytes().max(1))
}

/// Whether who waits to write is woken: a third of the buffer is free.
fn is_writable(connection: &Endpoint, socket: &Socket) -> bool {
    match (socket.send_buffer_bytes, connection.sender()) {
        (Some(asked), _) => {
            let used = memory_bytes(connection);
            (2 * asked).saturating_sub(used) >= used / 2
        }
        (None, Some(sender)) => sender.is_writable(),
        (None, None) => false,
    }
}

fn differs(call: &Call, found: &str) -> Difference {
    let expected = match (call.returns, &call.error) {
        (Some(value), Some(error)) => format!("{value} {error}"),
        (Some(value), None) => value.to_string(),
        (None, _) => "anything".into(),
    };
    Difference::Call {
        name: call.name.clone(),
        expected,
        found: found.to_owned(),
    }
}

fn late(call: &Call, expected: Time, found: Option<Time>) -> Difference {
    let at = |time: Time| format!("returns at {:.6} s", time.as_seconds());
    Difference::Call {
        name: call.name.clone(),
        expected: at(expected),
        found: found.map_or("it still waits".into(), at),
    }
}
