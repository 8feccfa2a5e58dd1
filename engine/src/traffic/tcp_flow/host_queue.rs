//! Notifications to a flow from the queue of its senders' host: packets that enter, leave or are dropped
//! (`tcp::small_queue`).

use super::TcpFlow;
use crate::qdisc::DropReason;
use crate::sim::time::Time;
use crate::traffic::connection::{Connection, SentSegment};

impl TcpFlow {
    /// Whether its sender accounts for a packet while it is in the queue of its host.
    #[inline]
    pub fn is_in_small_queue(&self, sent: &SentSegment) -> bool {
        self.has_small_queues() && !sent.tag.is_reply && sent.carries_data
    }

    /// Whether TCP small queues are on.
    #[inline]
    pub fn has_small_queues(&self) -> bool {
        self.has_small_queues
    }

    /// Processes departures from the host's queue before `bound`.
    #[inline]
    pub fn catch_up_with_host_queue(&mut self, bound: Time) {
        match &mut self.connection {
            Some(connection) => connection.sender.catch_up_with_host_queue(bound),
            None => self.rest.connection_table.catch_up_with_host_queue(bound),
        }
    }

    /// Departure time, by pacing, of a segment that is sent `now`.
    pub fn departure(&mut self, sent: &SentSegment, now: Time) -> Time {
        let connection = self.connection_of(sent.tag.connection);
        connection.map_or(now, |connection| {
            connection.sender.departure(now, sent.carries_data)
        })
    }

    /// A packet is handed to the host's queue, which may have segmented its sk_buff.
    pub fn enter_host_queue(&mut self, place: u32, is_cut: bool) {
        let (number, payload_bytes) = self.segments.hold(place);
        if let Some(connection) = self.connection_of(number) {
            connection.sender.enter_host_queue(payload_bytes, is_cut);
        }
    }

    /// A packet is no longer in the host's queue, or was dropped there. Returns whether a sender must be
    /// woken: `rearm`.
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

    /// A packet, the last of those in the host's queue, will leave it at `at`.
    pub fn leave_host_queue_at(&mut self, place: u32, at: Time) {
        if let Some((number, payload_bytes)) = self.segments.release(place)
            && let Some(connection) = self.connection_of(number)
        {
            connection.sender.leave_host_queue_at(payload_bytes, at);
        }
    }

    /// The host's queue has dropped what a connection sent last: `pkts` segments.
    pub fn on_refused(&mut self, last: &SentSegment, reason: DropReason, pkts: u32, now: Time) {
        if let Some(connection) = self.connection_of(last.tag.connection) {
            connection.on_refused(reason, pkts, last.tag.is_retransmission, now);
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
