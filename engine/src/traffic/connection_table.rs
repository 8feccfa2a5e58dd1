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
    /// The entry of it in `timers` that counts: no later than `due`.
    armed: Time,
}

/// The connections that are not over, by number.
#[derive(Debug, Clone, Default)]
pub struct ConnectionTable {
    members: BTreeMap<u32, Box<ConnectionEntry>>,
    /// Early for some, never late; those that are not `armed` are of no account.
    timers: BinaryHeap<Reverse<(Time, u32)>>,
    /// May have something to send.
    ready: Vec<u32>,
    /// What was to leave the host's queue before this has left.
    left_before: Time,
}

impl ConnectionTable {
    /// One more.
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

    /// How many there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// When the first of them wants to be woken.
    pub fn due(&self) -> Time {
        let first = self.timers.peek();
        first.map_or(Time::NEVER, |Reverse((time, _))| *time)
    }

    /// What was to leave the host's queue before `bound` has left.
    #[inline]
    pub fn catch_up_with_host_queue(&mut self, bound: Time) {
        self.left_before = bound;
    }

    /// A packet of one of them is in the host's queue no more. Returns whether it is to be woken.
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

    /// It is `now`: does what is due.
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

    /// A segment arrives for one of them: as `Connection::on_arrival`; None when that one is
    /// over.
    #[inline(never)]
    pub fn on_arrival(&mut self, arrived: &ArrivedSegment<'_>, now: Time) -> Option<(u64, bool)> {
        let member = self.members.get_mut(&arrived.tag.connection)?;
        self.ready.push(arrived.tag.connection);
        let sender = &mut member.connection.sender;
        sender.catch_up_with_host_queue(self.left_before);
        Some(member.connection.on_arrival(arrived, now))
    }

    /// The next segment to be sent now, kept in `segments`; call until None. What connections that
    /// are over have counted is added to `gone`.
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

    /// All of them.
    pub fn connections(&self) -> impl Iterator<Item = &Connection> {
        self.members.values().map(|member| &member.connection)
    }

    /// One of them, if that one is not over.
    pub fn connection_mut(&mut self, number: u32) -> Option<&mut Connection> {
        let member = self.members.get_mut(&number)?;
        Some(&mut member.connection)
    }

    /// Senders of all of them.
    pub fn senders_mut(&mut self) -> impl Iterator<Item = &mut Sender> {
        let members = self.members.values_mut();
        members.map(|member| &mut member.connection.sender)
    }

    /// Ends all of them, adding what they counted to `gone`.
    pub fn clear(&mut self, gone: &mut FinishedConnections) {
        for member in self.members.values() {
            gone.add(&member.connection);
        }
        *self = ConnectionTable::default();
    }

    /// Adds what they counted so far.
    pub fn add_statistics(&self, sum: &mut Statistics) {
        for member in self.members.values() {
            sum.add(&member.connection.statistics());
        }
    }
}
