//! What a flow is told of the queue of its senders' host: what enters and leaves it (`tcp::small_queue`),
//! and what it refuses.

use super::TcpFlow;
use crate::qdisc::DropReason;
use crate::sim::time::Time;
use crate::traffic::connection::{Connection, SentSegment};

impl TcpFlow {
    /// Whether its sender has an account of a packet while that is in the queue of its host.
    #[inline]
    pub fn is_in_small_queue(&self, sent: &SentSegment) -> bool {
        self.has_small_queues() && !sent.tag.is_reply && sent.carries_data
    }

    /// Whether its senders leave little in the queue of their host.
    #[inline]
    pub fn has_small_queues(&self) -> bool {
        self.has_small_queues
    }

    /// What was to leave the host's queue before `bound` has left.
    #[inline]
    pub fn catch_up_with_host_queue(&mut self, bound: Time) {
        match &mut self.connection {
            Some(connection) => connection.sender.catch_up_with_host_queue(bound),
            None => self.rest.connection_table.catch_up_with_host_queue(bound),
        }
    }

    /// Before this a segment that is sent `now` does not leave its host's queue, where that paces.
    pub fn departure(&mut self, sent: &SentSegment, now: Time) -> Time {
        let connection = self.connection_of(sent.tag.connection);
        connection.map_or(now, |connection| {
            connection.sender.departure(now, sent.carries_data)
        })
    }

    /// A packet of it is handed to the host's queue, which may have cut its sk_buff.
    pub fn enter_host_queue(&mut self, place: u32, is_cut: bool) {
        let (number, payload_bytes) = self.segments.hold(place);
        if let Some(connection) = self.connection_of(number) {
            connection.sender.enter_host_queue(payload_bytes, is_cut);
        }
    }

    /// A packet of it is not in the host's queue, if it ever was, or was refused there. Returns whether
    /// a sender is to be woken: `rearm`.
    pub fn leave_host_queue(&mut self, place: u32, is_refused: bool, now: Time) -> bool {
        let Some((number, payload_bytes)) = self.segments.release(place) else {
            return false;
        };
        match &mut self.connection {
            Some(connection) if connection.number == number => {
                connection
                    .sender
                    .leave_host_queue(payload_bytes, is_refused, now)
            }
            Some(_) => false,
            None => (self.rest.connection_table).leave_host_queue(
                number,
                payload_bytes,
                is_refused,
                now,
            ),
        }
    }

    /// A packet of it, the last of those in the host's queue, will leave that at `at`.
    pub fn leave_host_queue_at(&mut self, place: u32, at: Time) {
        if let Some((number, payload_bytes)) = self.segments.release(place)
            && let Some(connection) = self.connection_of(number)
        {
            connection.sender.leave_host_queue_at(payload_bytes, at);
        }
    }

    /// The queue of its host has dropped what a connection sent last: `pkts` segments.
    pub fn on_refused(&mut self, last: &SentSegment, reason: DropReason, pkts: u32, now: Time) {
        if let Some(connection) = self.connection_of(last.tag.connection) {
            connection.on_refused(reason, pkts, last.tag.is_again, now);
        }
    }

    fn connection_of(&mut self, number: u32) -> Option<&mut Connection> {
        match &mut self.connection {
            Some(connection) if connection.number == number => Some(connection),
            Some(_) => None,
            None => self.rest.connection_table.connection_mut(number),
        }
    }
}
