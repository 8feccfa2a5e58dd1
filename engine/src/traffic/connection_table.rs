//! The open connections of one flow: any number, as transfers may start before earlier ones end.

use super::connection::{ArrivedSegment, Connection, SentSegment};
use super::segment_store::SegmentStore;
use super::tcp_flow::FinishedConnections;
use crate::sim::time::Time;
use crate::tcp::sender::{Sender, Statistics};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

#[derive(Debug, Clone)]
struct ConnectionEntry {
    connection: Connection,
    /// Its valid entry in `timers`: not later than `due`.
    armed: Time,
}

/// The open connections, by number.
#[derive(Debug, Clone, Default)]
pub struct ConnectionTable {
    members: BTreeMap<u32, Box<ConnectionEntry>>,
    /// Entries may be early, never late; entries that are not `armed` are stale.
    timers: BinaryHeap<Reverse<(Time, u32)>>,
    /// Connections that may have something to send.
    ready: Vec<u32>,
    /// Departures from the host's queue before this time have been processed.
    left_before: Time,
}

impl ConnectionTable {
    /// Adds a connection.
    pub fn add(&mut self, connection: Connection) {
        let number = connection.number;
        let member = ConnectionEntry {
            connection,
            armed: Time::NEVER,
        };
        self.members.insert(number, Box::new(member));
        self.ready.push(number);
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Number of open connections.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Time of the earliest wakeup.
    pub fn due(&self) -> Time {
        let first = self.timers.peek();
        first.map_or(Time::NEVER, |Reverse((time, _))| *time)
    }

    /// Processes departures from the host's queue before `bound`.
    #[inline]
    pub fn catch_up_with_host_queue(&mut self, bound: Time) {
        self.left_before = bound;
    }

    /// A packet of a connection has left the host's queue. Returns whether the connection must be woken.
    pub fn leave_host_queue(
        &mut self,
        number: u32,
        payload_bytes: u32,
        is_refused: bool,
        now: Time,
    ) -> bool {
        let Some(member) = self.members.get_mut(&number) else {
            return false;
        };
        let sender = &mut member.connection.sender;
        let wakes = sender.leave_host_queue(payload_bytes, is_refused, now);
        if wakes && now < member.armed {
            member.armed = now;
            self.timers.push(Reverse((now, number)));
        }
        wakes
    }

    /// Processes what is due at `now`.
    pub fn wake(&mut self, now: Time) {
        while let Some(Reverse((time, number))) = self.timers.peek().copied()
            && time <= now
        {
            self.timers.pop();
            let Some(member) = self.members.get_mut(&number) else {
                continue;
            };
            if member.armed != time {
                continue;
            }
            member.armed = Time::NEVER;
            let sender = &mut member.connection.sender;
            sender.catch_up_with_host_queue(self.left_before);
            if member.connection.due() <= now {
                member.connection.on_timer(now);
            }
            self.ready.push(number);
        }
    }

    /// Delivers a segment to its connection, as `Connection::on_arrival`; None if that is closed.
    #[inline(never)]
    pub fn on_arrival(&mut self, arrived: &ArrivedSegment<'_>, now: Time) -> Option<(u64, bool)> {
        let member = self.members.get_mut(&arrived.tag.connection)?;
        self.ready.push(arrived.tag.connection);
        let sender = &mut member.connection.sender;
        sender.catch_up_with_host_queue(self.left_before);
        Some(member.connection.on_arrival(arrived, now))
    }

    /// The next segment to send now, stored in `segments`; call until None. Counters of closed connections
    /// are added to `gone`.
    #[inline(never)]
    pub fn poll(
        &mut self,
        now: Time,
        segments: &mut SegmentStore,
        gone: &mut FinishedConnections,
    ) -> Option<SentSegment> {
        while let Some(&number) = self.ready.last() {
            let Some(member) = self.members.get_mut(&number) else {
                self.ready.pop();
                continue;
            };
            if let Some(sent) = member.connection.poll(now, segments) {
                return Some(sent);
            }
            self.ready.pop();
            if member.connection.is_finished() {
                gone.add(&member.connection);
                self.members.remove(&number);
                continue;
            }
            let due = member.connection.due();
            if due < member.armed {
                member.armed = due;
                self.timers.push(Reverse((due, number)));
            }
        }
        None
    }

    /// All open connections.
    pub fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.members.values().map(|member| &member.connection)
    }

    /// An open connection by number.
    pub fn connection_mut(&mut self, number: u32) -> Option<&mut Connection> {
        let member = self.members.get_mut(&number)?;
        Some(&mut member.connection)
    }

    /// The senders of all open connections.
    pub fn senders_mut(&mut self) -> impl Iterator<Item = &mut Sender> {
        let members = self.members.values_mut();
        members.map(|member| &mut member.connection.sender)
    }

    /// Closes all connections, adding their counters to `gone`.
    pub fn clear(&mut self, gone: &mut FinishedConnections) {
        for member in self.members.values() {
            gone.add(&member.connection);
        }
        *self = ConnectionTable::default();
    }

    /// Adds the counters of all connections so far.
    pub fn add_statistics(&self, sum: &mut Statistics) {
        for member in self.members.values() {
            sum.add(&member.connection.statistics());
        }
    }
}
