//! The script's program: its sockets, and the system call in which it is blocked.

mod opening;
mod options;
mod polling;
mod queue_of_errors;

use super::Run;
use crate::clock::span;
use crate::endpoint::{ConnectionState, Endpoint, OWN_MSS_BYTES};
use crate::fast_open::Key;
use crate::language::Place;
use crate::language::script::{EcnMark, TcpPacket};
use crate::plan::messages::ErrorMessage;
use crate::plan::operations::{Call, Operation, Reading, Sending};
use crate::plan::polling::{Events, Timeout};
use crate::verdict::Difference;
use dumbbell_core::time::Time;
use dumbbell_tcp::cca::Algorithm;
use dumbbell_tcp::sender::Sender;
use polling::Epoll;

/// Largest SO_SNDBUF (`net.core.wmem_max`), before doubling, bytes.
const MOST_SEND_BUFFER_BYTES: u64 = 212_992;
/// Smallest memory of a send buffer, bytes (`SOCK_MIN_SNDBUF`).
const LEAST_SEND_MEMORY_BYTES: u64 = 4608;

/// Memory of a send buffer set to this size (socket(7), SO_SNDBUF: doubled), bytes.
fn send_memory_bytes(asked_bytes: u64) -> u64 {
    (2 * asked_bytes.min(MOST_SEND_BUFFER_BYTES)).max(LEAST_SEND_MEMORY_BYTES)
}

/// Role of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Fresh,
    /// It connects at the first write (`TCP_FASTOPEN_CONNECT`).
    Deferred,
    Listening,
    /// It belongs to this connection.
    Connected(usize),
}

/// A socket.
#[derive(Debug, Clone)]
struct Socket {
    fd: i64,
    role: Role,
    is_nonblocking: bool,
    nodelay: bool,
    corks: bool,
    mss_bytes: u32,
    /// Memory of its send buffer, if set by `SO_SNDBUF`, bytes.
    send_memory_bytes: Option<u64>,
    /// `TCP_NOTSENT_LOWAT`, bytes; 0 for the host's setting.
    most_unsent_bytes: u32,
    congestion_control: Option<Algorithm>,
    reads_no_more: bool,
    /// Its error has been reported.
    was_told: bool,
    /// The program has been told that it is connected.
    knows_it_is_connected: bool,
    /// `TCP_FASTOPEN` is set, or the host enables Fast Open for every listening socket.
    has_fast_open_queue: bool,
    /// `TCP_FASTOPEN_CONNECT`
    defers_connect: bool,
    fast_open_key: Option<Key>,
    /// `SO_ZEROCOPY`
    is_zero_copy: bool,
    /// `TCP_INQ`
    tells_readable: bool,
    syn_retries: Option<u32>,
    /// `TCP_USER_TIMEOUT`; 0 for none.
    user_timeout_ms: u32,
}

impl Socket {
    fn connection(&self) -> Option<usize> {
        match self.role {
            Role::Connected(index) => Some(index),
            _ => None,
        }
    }
}

/// A system call that is blocked.
#[derive(Debug, Clone)]
struct BlockedCall {
    call: Call,
    until: Time,
    /// Tolerance of its return time.
    tolerance: Time,
    /// Its timeout, at which it returns in any case.
    deadline: Time,
    place: Place,
    progress: Progress,
}

/// Progress of a blocked call.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    /// Bytes written so far.
    written: u64,
    /// It has opened the connection.
    has_opened: bool,
}

/// State of the program.
#[derive(Debug, Clone, Default)]
pub(super) struct Application {
    sockets: Vec<Socket>,
    waiting: Option<BlockedCall>,
    /// The listening socket that receives the next SYN.
    listening: Option<i64>,
    epolls: Vec<Epoll>,
    /// The connection that waits to be accepted, and its listening socket.
    child: Option<(usize, i64)>,
    /// The timeout of the blocked call has expired.
    is_call_over: bool,
}

/// Result of trying a call.
enum Outcome {
    Returns(i64),
    Fails(&'static str),
    /// The message in the error queue, and the different one that is expected.
    Queued(ErrorMessage, Option<ErrorMessage>),
    /// The reported events differ from the expected ones.
    Tells {
        found: Events,
        wanted: Events,
    },
    /// A value to compare: found, and expected.
    Finds(u64, u64),
    /// The call blocks.
    Waits,
}

impl Application {
    /// Whether the last connection has been accepted.
    pub(super) fn has_accepted_last(&self) -> bool {
        self.child.is_none()
    }

    /// Timeout of the blocked call.
    pub(super) fn deadline(&self) -> Time {
        let waiting = self.waiting.as_ref();
        waiting.map_or(Time::NEVER, |waiting| waiting.deadline)
    }

    /// Latest time at which the blocked call must return.
    pub(super) fn waits_until(&self) -> Option<Time> {
        let waiting = self.waiting.as_ref();
        waiting.map(|waiting| waiting.until.saturating_add(waiting.tolerance))
    }

    fn socket(&mut self, fd: i64) -> Option<&mut Socket> {
        self.sockets.iter_mut().find(|socket| socket.fd == fd)
    }
}

impl Run<'_> {
    /// Delivers a packet to the current connection.
    pub(super) fn arrive(&mut self, packet: &TcpPacket, mark: EcnMark) {
        let now = self.now;
        let Some(connection) = self.connections.last_mut() else {
            return;
        };
        connection.on_packet(packet, mark, now);
        if let Some(told) = connection.take_syn_ack_options() {
            self.remembered.learn(told);
        }
    }

    /// The connection of a socket.
    fn connection_of(&mut self, fd: i64) -> Option<&mut Endpoint> {
        let index = self.application.socket(fd)?.connection()?;
        self.connections.get_mut(index)
    }

    /// The program makes a system call. `until`: when the call returns, if it blocks.
    pub(super) fn call(
        &mut self,
        call: &Call,
        until: Option<Time>,
        place: Place,
    ) -> Result<(), Difference> {
        if self.application.waiting.is_some() {
            return Err(differs(call, "another call still waits"));
        }
        let until_known = until.unwrap_or(self.now);
        self.application.waiting = Some(BlockedCall {
            call: call.clone(),
            until: until_known,
            deadline: self.deadline(&call.operation),
            tolerance: self.plan.tolerance(until_known.saturating_sub(self.now)),
            place,
            progress: Progress::default(),
        });
        self.application_goes_on()?;
        match (until, &self.application.waiting) {
            (None, Some(_)) => Err(differs(call, "it waits")),
            _ => Ok(()),
        }
    }

    /// When a call with a timeout times out.
    fn deadline(&self, operation: &Operation) -> Time {
        match operation {
            Operation::Poll(_, Timeout::Ms(ms)) | Operation::EpollWait(_, _, Timeout::Ms(ms)) => {
                self.now.saturating_add(span(ms.saturating_mul(1000)))
            }
            _ => Time::NEVER,
        }
    }

    fn is_call_over(&self) -> bool {
        self.application.is_call_over
    }

    /// Retries the blocked call.
    pub(super) fn application_goes_on(&mut self) -> Result<(), Difference> {
        self.wake_epolls();
        let Some(mut waiting) = self.application.waiting.take() else {
            return Ok(());
        };
        let call = waiting.call.clone();
        self.application.is_call_over = self.now >= waiting.deadline;
        let outcome = self.try_call(&call, &mut waiting.progress);
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
            Outcome::Queued(found, wanted) => {
                self.place = Some(waiting.place);
                return Err(Difference::Call {
                    name: call.name,
                    expected: wanted.map_or("none".into(), ErrorMessage::shown),
                    found: found.shown(),
                });
            }
            Outcome::Tells { found, wanted } => {
                self.place = Some(waiting.place);
                return Err(Difference::Call {
                    name: call.name,
                    expected: wanted.shown(),
                    found: found.shown(),
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
        if self.now.saturating_add(waiting.tolerance) < waiting.until {
            self.place = Some(waiting.place);
            return Err(late(&call, waiting.until, Some(self.now)));
        }
        Ok(())
    }

    /// Reports a call that has blocked longer than the script allows.
    pub(super) fn check_waiting(&mut self) -> Result<(), Difference> {
        let Some(waiting) = &self.application.waiting else {
            return Ok(());
        };
        if self.now <= waiting.until.saturating_add(waiting.tolerance) {
            return Ok(());
        }
        self.place = Some(waiting.place);
        Err(late(&waiting.call, waiting.until, None))
    }

    fn try_call(&mut self, call: &Call, progress: &mut Progress) -> Outcome {
        let now = self.now;
        match &call.operation {
            Operation::Socket => self.open(call),
            Operation::Bind(_) => Outcome::Returns(0),
            Operation::Listen(fd) => self.listen(*fd),
            Operation::Accept(fd) => self.accept(*fd, call),
            Operation::Connect(fd) => self.connect(*fd),
            Operation::Read(fd, bytes, reading) => self.read(*fd, *bytes, *reading),
            Operation::ReadErrors(fd, wanted) => self.read_errors(*fd, *wanted),
            Operation::Write(fd, bytes, sending) => {
                let outcome = self.write(*fd, *bytes, *sending, progress);
                if let (Outcome::Returns(1..), true) = (&outcome, sending.is_zero_copy) {
                    self.note_zero_copy(*fd);
                }
                outcome
            }
            Operation::Poll(polled, _) => self.poll(polled),
            Operation::EpollCreate => {
                let fd = call.returns.unwrap_or(0);
                self.application.epolls.push(Epoll::new(fd));
                Outcome::Returns(fd)
            }
            Operation::EpollControl(epoll, fd, control) => {
                self.epoll_control(*epoll, *fd, *control)
            }
            Operation::EpollWait(epoll, wanted, _) => self.epoll_wait(*epoll, *wanted),
            Operation::Close(fd) => self.close(*fd),
            Operation::Shutdown { fd, reads, writes } => {
                if *reads && let Some(socket) = self.application.socket(*fd) {
                    socket.reads_no_more = true;
                }
                if *writes && let Some(connection) = self.connection_of(*fd) {
                    connection.shut_down(now);
                }
                Outcome::Returns(0)
            }
            Operation::Fcntl(fd, flag) => {
                let flag = *flag;
                self.with_socket(*fd, |socket| {
                    socket.is_nonblocking = flag.unwrap_or(socket.is_nonblocking);
                });
                // F_GETFL returns the flags, whatever they are.
                Outcome::Returns(call.returns.unwrap_or(0))
            }
            Operation::Set(fd, option) => self.set(*fd, option),
            Operation::Get(fd, option) => self.get(*fd, option),
            Operation::Readable(fd, wanted) => {
                let connection = self.connection_of(*fd);
                Outcome::Finds(connection.map_or(0, |one| one.unread_bytes()), *wanted)
            }
            Operation::Unacknowledged(fd, wanted) => {
                let connection = self.connection_of(*fd);
                let sender = connection.as_deref().and_then(Endpoint::sender);
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
            corks: false,
            mss_bytes: OWN_MSS_BYTES,
            send_memory_bytes: None,
            most_unsent_bytes: 0,
            congestion_control: None,
            reads_no_more: false,
            was_told: false,
            knows_it_is_connected: false,
            has_fast_open_queue: false,
            defers_connect: false,
            fast_open_key: None,
            is_zero_copy: false,
            tells_readable: false,
            syn_retries: None,
            user_timeout_ms: 0,
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

    fn read(&mut self, fd: i64, bytes: u64, reading: Reading) -> Outcome {
        let now = self.now;
        let Some(socket) = self.application.socket(fd).cloned() else {
            return Outcome::Fails("EBADF");
        };
        if socket.role == Role::Deferred {
            return match socket.is_nonblocking {
                true => Outcome::Fails("EAGAIN"),
                false => Outcome::Waits,
            };
        }
        let Some(connection) = self.connection_of(fd) else {
            return Outcome::Fails("ENOTCONN");
        };
        if reading.lacks_buffer && bytes > 0 && connection.unread_bytes() > 0 {
            return Outcome::Fails("EFAULT");
        }
        let taken = connection.read(bytes, now);
        if let Some(wanted) = reading.readable_bytes {
            // A FIN counts as one byte, so that the program reads again (`tcp_inq_hint`).
            let found = connection.unread_bytes() + u64::from(connection.has_peer_finished());
            if !socket.tells_readable || found != wanted {
                let found = socket.tells_readable.then_some(found);
                return Outcome::Finds(found.unwrap_or(0), wanted);
            }
        }
        if taken > 0 || bytes == 0 {
            return Outcome::Returns(taken as i64);
        }
        if let (Some(error), false) = (connection.state().error(), socket.was_told) {
            self.with_socket(fd, |socket| socket.was_told = true);
            return Outcome::Fails(error);
        }
        let is_at_end =
            connection.has_peer_finished() || socket.reads_no_more || connection.state().is_over();
        match (is_at_end, socket.is_nonblocking) {
            (true, _) => Outcome::Returns(0),
            (false, true) => Outcome::Fails("EAGAIN"),
            (false, false) => Outcome::Waits,
        }
    }

    fn write(&mut self, fd: i64, bytes: u64, sending: Sending, progress: &mut Progress) -> Outcome {
        let now = self.now;
        let Some(mut socket) = self.application.socket(fd).cloned() else {
            return Outcome::Fails("EBADF");
        };
        socket.is_nonblocking |= sending.does_not_wait;
        if (sending.opens || socket.role == Role::Deferred)
            && !progress.has_opened
            && let Some(outcome) = self.open_by_write(&socket, bytes, sending, progress)
        {
            return outcome;
        }
        let Some(connection) = self.connection_of(fd) else {
            return Outcome::Fails("EPIPE");
        };
        let state = connection.state();
        if let (Some(error), false) = (state.error(), socket.was_told) {
            self.with_socket(fd, |socket| socket.was_told = true);
            return Outcome::Fails(error);
        }
        if progress.written < bytes && !socket.is_nonblocking {
            connection.expect_write();
        }
        match state {
            _ if connection.is_connecting() && socket.is_nonblocking => {
                return Outcome::Fails("EAGAIN");
            }
            _ if connection.is_connecting() => return Outcome::Waits,
            ConnectionState::SynReceived if !connection.can_send() => return Outcome::Waits,
            _ if state.is_over() || connection.is_closing() => return Outcome::Fails("EPIPE"),
            _ => {}
        }
        let written = &mut progress.written;
        if sending.lacks_buffer && bytes > 0 {
            return Outcome::Fails("EFAULT");
        }
        if socket.is_nonblocking {
            let taken = connection.write(bytes, sending.followed_by, now);
            if taken < bytes {
                connection.note_partial_write();
                connection.wait_for_space();
            }
            if taken == 0 && bytes > 0 {
                return Outcome::Fails("EAGAIN");
            }
            return Outcome::Returns(taken as i64);
        }
        let left = bytes - *written;
        if *written == 0 || is_writable(connection) {
            *written += connection.write(left, sending.followed_by, now);
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
        if let Some(at) = self.application.epolls.iter().position(|one| one.fd == fd) {
            self.application.epolls.remove(at);
            return Outcome::Returns(0);
        }
        for epoll in &mut self.application.epolls {
            epoll.forget(fd);
        }
        let Some(socket) = self.application.socket(fd).cloned() else {
            return Outcome::Fails("EBADF");
        };
        self.application.sockets.retain(|other| other.fd != fd);
        if let Some(index) = socket.connection() {
            let connection = &mut self.connections[index];
            let unread_bytes = connection.unread_bytes();
            connection.close(unread_bytes, now);
        }
        if self.application.listening == Some(fd) {
            self.application.listening = None;
        }
        if let Some((index, _)) = self
            .application
            .child
            .take_if(|(_, listens)| *listens == fd)
        {
            self.connections[index].abort(now);
        }
        Outcome::Returns(0)
    }
}

/// Whether a writer is woken.
fn is_writable(connection: &Endpoint) -> bool {
    connection.sender().is_some_and(Sender::is_writable)
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
