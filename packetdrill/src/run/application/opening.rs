//! How the connections of a script begin: listen(2), accept(2), connect(2), and writes that
//! connect.

use super::{Outcome, Progress, Role, Run, Socket};
use crate::endpoint::{ConnectionState, Endpoint, Setup, SynData};
use crate::fast_open::{OPTION_SPACE_BYTES, Server};
use crate::language::script::{EcnMark, TcpFlags, TcpPacket};
use crate::plan::operations::{Call, Sending};
use crate::run::FirstSequence;

impl Run<'_> {
    /// A SYN begins a connection if a socket has started to listen. A script has its connections
    /// one after another, as in packetdrill.
    pub(in crate::run) fn begin_if_listened_for(
        &mut self,
        packet: &TcpPacket,
        ecn: EcnMark,
    ) -> bool {
        if !packet.flags.has(TcpFlags::ACK)
            && let Some(fd) = self.application.listening.take()
            && let Some(listener) = self.application.socket(fd).cloned()
        {
            let judgement = Server {
                flags: self.host.fast_open,
                key: listener.fast_open_key.unwrap_or(self.host.fast_open_key),
                addresses: self.plan.addresses,
                has_queue: listener.has_fast_open_queue,
            }
            .judge(packet);
            let mut syn = packet.clone();
            (syn.seq, syn.ack) = (0, None);
            let setup = self.setup(&listener);
            let connection = Endpoint::answer_early(&setup, (&syn, ecn), judgement, self.now);
            self.application.child = Some((self.begin(connection), fd));
            return true;
        }
        false
    }

    /// Starts a connection; subsequent packets belong to it.
    fn begin(&mut self, mut connection: Endpoint) -> usize {
        if self.keeps_host_queue {
            connection.keep_in_host_queue();
        }
        connection.poll(self.now);
        for earlier in &mut self.connections {
            earlier.sent.clear();
        }
        self.timestamp_shift = None;
        self.first_sequence = FirstSequence::default();
        self.connections.push(connection);
        self.connections.len() - 1
    }

    fn setup(&self, socket: &Socket) -> Setup {
        let mut host = self.host.clone();
        if let Some(algorithm) = socket.congestion_control {
            host.set_controller(algorithm);
        }
        Setup {
            syn_retries: socket.syn_retries.unwrap_or(host.syn_retries),
            host,
            nodelay: socket.nodelay,
            corks: socket.corks,
            send_memory_bytes: socket.send_memory_bytes,
            most_unsent_bytes: socket.most_unsent_bytes,
            mss_bytes: socket.mss_bytes,
            first_phase: self.first_phase,
        }
    }

    pub(super) fn listen(&mut self, fd: i64) -> Outcome {
        let every = self.host.fast_open.open_every_listener();
        self.application.listening = Some(fd);
        self.with_socket(fd, |socket| {
            socket.role = Role::Listening;
            socket.has_fast_open_queue |= every;
        })
    }

    pub(super) fn accept(&mut self, fd: i64, call: &Call) -> Outcome {
        let Some(listener) = self.application.socket(fd).cloned() else {
            return Outcome::Fails("EBADF");
        };
        let Some(index) = self.acceptable(fd) else {
            return match listener.is_nonblocking {
                true => Outcome::Fails("EAGAIN"),
                false => Outcome::Waits,
            };
        };
        self.application.child = None;
        let fd = call.returns.filter(|fd| *fd >= 0).unwrap_or(fd + 1);
        // A script may reuse the number of a socket that it has not closed.
        self.application.sockets.retain(|socket| socket.fd != fd);
        self.application.sockets.push(Socket {
            fd,
            role: Role::Connected(index),
            is_nonblocking: false,
            knows_it_is_connected: true,
            ..listener
        });
        Outcome::Returns(fd)
    }

    /// connect(2).
    pub(super) fn connect(&mut self, fd: i64) -> Outcome {
        let Some(socket) = self.application.socket(fd).cloned() else {
            return Outcome::Fails("EBADF");
        };
        match socket.role {
            Role::Fresh if socket.defers_connect => {
                let opening = self.remembered.opening(self.host.fast_open);
                if opening.takes_data {
                    return self.with_socket(fd, |socket| socket.role = Role::Deferred);
                }
                self.open_with(fd, 0);
            }
            Role::Fresh => {
                let connection = Endpoint::connect(&self.setup(&socket), self.now);
                self.assign(fd, connection);
            }
            Role::Deferred => return Outcome::Fails("EISCONN"),
            Role::Listening => return Outcome::Fails("EISCONN"),
            Role::Connected(index) => {
                let connection = &self.connections[index];
                let (state, is_connecting) = (connection.state(), connection.is_connecting());
                if is_connecting && socket.is_nonblocking {
                    return Outcome::Fails("EALREADY");
                }
                if !is_connecting {
                    return self.connected(fd, state);
                }
            }
        }
        match socket.is_nonblocking {
            true => Outcome::Fails("EINPROGRESS"),
            false => Outcome::Waits,
        }
    }

    /// The result of connecting: reported once, then the socket is connected
    /// (`__inet_stream_connect`).
    fn connected(&mut self, fd: i64, state: ConnectionState) -> Outcome {
        if let Some(error) = state.error() {
            return Outcome::Fails(error);
        }
        let Some(socket) = self.application.socket(fd) else {
            return Outcome::Fails("EBADF");
        };
        match std::mem::replace(&mut socket.knows_it_is_connected, true) {
            true => Outcome::Fails("EISCONN"),
            false => Outcome::Returns(0),
        }
    }

    /// Starts a socket's connection.
    fn assign(&mut self, fd: i64, connection: Endpoint) {
        let index = self.begin(connection);
        if let Some(socket) = self.application.socket(fd) {
            socket.role = Role::Connected(index);
        }
    }

    /// Opens by Fast Open. The SYN carries as much of the `bytes` bytes written as fits
    /// (`tcp_send_syn_data`).
    fn open_with(&mut self, fd: i64, bytes: u64) -> u64 {
        let Some(socket) = self.application.socket(fd).cloned() else {
            return 0;
        };
        let opening = self.remembered.opening(self.host.fast_open);
        let setup = self.setup(&socket);
        let mss_bytes = self.remembered.mss_bytes().unwrap_or(setup.mss_bytes);
        let room = mss_bytes
            .min(setup.mss_bytes)
            .saturating_sub(OPTION_SPACE_BYTES);
        let payload_bytes = match opening.takes_data {
            true => bytes.min(room.into()),
            false => 0,
        };
        let syn = SynData {
            option: opening.option,
            payload_bytes,
        };
        let connection = Endpoint::connect_with(&setup, syn, self.now);
        self.assign(fd, connection);
        payload_bytes
    }

    /// Handles `MSG_FASTOPEN`, and the first write to a socket whose connect was deferred. None if
    /// the call continues as an ordinary write (`tcp_sendmsg_fastopen`).
    pub(super) fn open_by_write(
        &mut self,
        socket: &Socket,
        bytes: u64,
        sending: Sending,
        progress: &mut Progress,
    ) -> Option<Outcome> {
        if sending.is_to_nobody || !self.host.fast_open.allow_client() {
            return Some(Outcome::Fails("EOPNOTSUPP"));
        }
        match socket.role {
            Role::Fresh | Role::Deferred => {
                progress.has_opened = true;
                let bytes = if sending.lacks_buffer { 0 } else { bytes };
                progress.written = self.open_with(socket.fd, bytes);
                if !socket.is_nonblocking {
                    // The rest of the data is waiting, and the acknowledgement of the SYN-ACK goes
                    // with it.
                    if progress.written < bytes
                        && let Some(connection) = self.connection_of(socket.fd)
                    {
                        connection.expect_write();
                    }
                    return Some(Outcome::Waits);
                }
                Some(match progress.written {
                    0 => Outcome::Fails("EINPROGRESS"),
                    written => Outcome::Returns(written as i64),
                })
            }
            Role::Listening => Some(Outcome::Fails("EISCONN")),
            Role::Connected(index) if self.connections[index].is_connecting() => {
                Some(Outcome::Fails("EALREADY"))
            }
            Role::Connected(index) => match self.connections[index].state() {
                state if state.error().is_some() => None,
                state => match self.connected(socket.fd, state) {
                    Outcome::Returns(_) => None,
                    failure => Some(failure),
                },
            },
        }
    }
}
