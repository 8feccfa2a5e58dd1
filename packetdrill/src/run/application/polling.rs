//! poll(2) and epoll(7): the events reported for a socket, and when the program is woken.
//!
//! | Linux 6.1 | here |
//! | --- | --- |
//! | `tcp_poll` | `Run::events_of` |
//! | `ep_poll_callback`: a socket has a new event | `Run::wake_epolls` |
//! | `ep_send_events`: the socket is polled again, and an edge is reported once | `Run::epoll_wait` |

use super::{Outcome, Role, Run, Socket, is_writable};
use crate::endpoint::{ConnectionState, Endpoint};
use crate::plan::polling::{Control, Events, PollEntry};

/// An epoll instance.
#[derive(Debug, Clone)]
pub(super) struct Epoll {
    pub(super) fd: i64,
    items: Vec<EpollEntry>,
}

/// A socket in the interest list.
#[derive(Debug, Clone)]
struct EpollEntry {
    fd: i64,
    asked: Events,
    /// It is in the ready list.
    is_listed: bool,
    seen: SocketSnapshot,
}

/// State of a socket when it was last checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SocketSnapshot {
    received_bytes: u64,
    has_ended: bool,
    state: Option<ConnectionState>,
    is_writable: bool,
    queued_errors: u32,
    has_child: bool,
}

impl Epoll {
    pub(super) fn new(fd: i64) -> Epoll {
        Epoll {
            fd,
            items: Vec::new(),
        }
    }

    /// Removes a closed socket.
    pub(super) fn forget(&mut self, fd: i64) {
        self.items.retain(|item| item.fd != fd);
    }
}

impl Run<'_> {
    /// Current events of a socket; None if no socket has this number.
    fn events_of(&self, fd: i64) -> Option<Events> {
        let socket = self.application.sockets.iter().find(|one| one.fd == fd)?;
        let index = match socket.role {
            Role::Listening => {
                return Some(match self.acceptable(fd) {
                    Some(_) => Events::IN,
                    None => Events::default(),
                });
            }
            Role::Fresh => return Some(Events::OUT.with(Events::HUP)),
            Role::Deferred => return Some(Events::OUT),
            Role::Connected(index) => index,
        };
        let connection = &self.connections[index];
        let state = connection.state();
        let mut events = Events::default();
        if state.is_over() {
            let all = Events::IN.with(Events::OUT).with(Events::RDHUP);
            events = all.with(Events::HUP);
            if state.error().is_some() && !socket.was_told {
                events = events.with(Events::ERR);
            }
            return Some(events);
        }
        if connection.has_completed_zero_copies() || connection.has_stamps() {
            events = events.with(Events::ERR);
        }
        let can_send = connection.can_send();
        if !can_send {
            return Some(events);
        }
        let has_ended = connection.has_peer_finished() || socket.reads_no_more;
        if has_ended {
            events = events.with(Events::IN).with(Events::RDHUP);
        }
        if has_ended && connection.is_closing() {
            events = events.with(Events::HUP);
        }
        if connection.unread_bytes() > 0 {
            events = events.with(Events::IN);
        }
        if connection.is_closing() || is_writable(connection) {
            events = events.with(Events::OUT);
        }
        Some(events)
    }

    pub(super) fn poll(&self, polled: &[PollEntry]) -> Outcome {
        let mut told = Vec::new();
        for one in polled {
            let events = self.events_of(one.fd).unwrap_or(Events(0x20));
            told.push(events.told_of(one.asked));
        }
        let count = told.iter().filter(|events| events.0 != 0).count();
        let differing = polled
            .iter()
            .zip(&told)
            .find(|(one, told)| one.told != **told);
        match (count, differing) {
            (0, _) if !self.is_call_over() => Outcome::Waits,
            (_, Some((one, told))) => Outcome::Tells {
                found: *told,
                wanted: one.told,
            },
            (count, None) => Outcome::Returns(count as i64),
        }
    }

    pub(super) fn epoll_control(&mut self, epoll: i64, fd: i64, control: Control) -> Outcome {
        let Some(events) = self.events_of(fd) else {
            return Outcome::Fails("EBADF");
        };
        let seen = self.seen(fd);
        let Some(epoll) = self
            .application
            .epolls
            .iter_mut()
            .find(|one| one.fd == epoll)
        else {
            return Outcome::Fails("EBADF");
        };
        let at = epoll.items.iter().position(|item| item.fd == fd);
        let asked = match (control, at) {
            (Control::Add(_), Some(_)) => return Outcome::Fails("EEXIST"),
            (Control::Modify(_) | Control::Delete, None) => return Outcome::Fails("ENOENT"),
            (Control::Delete, Some(at)) => {
                epoll.items.remove(at);
                return Outcome::Returns(0);
            }
            (Control::Add(asked) | Control::Modify(asked), _) => asked,
        };
        if let Some(at) = at {
            epoll.items.remove(at);
        }
        epoll.items.push(EpollEntry {
            fd,
            asked,
            is_listed: events.told_of(asked).0 != 0,
            seen,
        });
        Outcome::Returns(0)
    }

    fn seen(&self, fd: i64) -> SocketSnapshot {
        let socket = self.application.sockets.iter().find(|one| one.fd == fd);
        let connection = socket.and_then(Socket::connection);
        let Some(connection) = connection.map(|index| &self.connections[index]) else {
            return SocketSnapshot {
                has_child: self.acceptable(fd).is_some(),
                ..SocketSnapshot::default()
            };
        };
        SocketSnapshot {
            received_bytes: connection.received_bytes(),
            has_ended: connection.has_peer_finished(),
            state: Some(connection.state()),
            is_writable: is_writable(connection),
            queued_errors: connection.completed_zero_copies() + connection.stamps_made(),
            has_child: false,
        }
    }

    /// Adds sockets with new events to the ready lists.
    pub(in crate::run) fn wake_epolls(&mut self) {
        let mut epolls = std::mem::take(&mut self.application.epolls);
        for item in epolls.iter_mut().flat_map(|epoll| &mut epoll.items) {
            let now = self.seen(item.fd);
            let before = std::mem::replace(&mut item.seen, now);
            let comes_in =
                now.received_bytes > before.received_bytes || (now.has_child && !before.has_child);
            // A program is woken for send buffer space only after the buffer was full
            // (`sk_stream_write_space`).
            let goes_out = now.is_writable && !before.is_writable;
            let changes = (now.state, now.has_ended, now.queued_errors)
                != (before.state, before.has_ended, before.queued_errors);
            // After EPOLLONESHOT has fired, no event is requested any more.
            item.is_listed |= (changes && item.asked.0 & !Events::HOW.0 != 0)
                || (comes_in && item.asked.has(Events::IN))
                || (goes_out && item.asked.has(Events::OUT));
        }
        self.application.epolls = epolls;
    }

    pub(super) fn epoll_wait(&mut self, fd: i64, wanted: Events) -> Outcome {
        let Some(index) = self.application.epolls.iter().position(|one| one.fd == fd) else {
            return Outcome::Fails("EBADF");
        };
        let mut items = std::mem::take(&mut self.application.epolls[index].items);
        let mut first = None;
        let mut count = 0;
        for item in items.iter_mut().filter(|item| item.is_listed) {
            let told = self.events_of(item.fd).unwrap_or_default();
            let told = told.told_of(item.asked);
            item.is_listed = told.0 != 0 && !item.asked.has(Events::EDGE);
            if told.0 == 0 {
                continue;
            }
            count += 1;
            first.get_or_insert(told);
            if item.asked.has(Events::ONESHOT) {
                (item.asked, item.is_listed) = (Events::default(), false);
            }
        }
        self.application.epolls[index].items = items;
        let found = first.unwrap_or_default();
        match count {
            0 if !self.is_call_over() => Outcome::Waits,
            _ if found != wanted => Outcome::Tells { found, wanted },
            count => Outcome::Returns(count),
        }
    }

    /// The connection that can be accepted from a socket.
    pub(super) fn acceptable(&self, fd: i64) -> Option<usize> {
        let (index, listens) = self.application.child?;
        // A connection that may send before its handshake is complete can be accepted before then.
        // A connection that was reset before it was accepted can still be accepted.
        let connection: &Endpoint = &self.connections[index];
        let state = connection.state();
        let is_opening = matches!(
            state,
            ConnectionState::SynSent | ConnectionState::SynReceived | ConnectionState::Gone
        );
        (listens == fd && (!is_opening || connection.can_send())).then_some(index)
    }
}
