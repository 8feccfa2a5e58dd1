//! Deferred enqueue: a queue with events of its own that has one upstream link (`net/chains.rs`).
//!
//! Departures of the upstream link are known in advance. A packet that arrives while the queue cannot send,
//! during a transmission or before there are tokens for the next packet, needs no event: it is enqueued, with
//! its own time of arrival, before the queue sends again or a sample reads it. Only an arrival when the queue
//! could send, or at the instant of the end of a transmission, is an event.

use super::World;
use crate::net::link::OfferOutcome;
use crate::sim::packet::Packet;
use crate::sim::time::Time;

impl World {
    /// A packet is propagating out of a link, behind all others, and will arrive at the queue at `at`.
    #[inline(always)]
    pub(super) fn await_arrival(&mut self, queue: usize, upstream: usize, at: Time) {
        let from = self.links[queue].cannot_send_before();
        let link = &mut self.links[upstream];
        if at >= from && link.next_upstream_event == Time::NEVER {
            link.next_upstream_event = at;
            self.tournament.set(link.exit_leaf(), at);
        }
    }

    /// The next transmission time depends on no arrival before it, so those arrivals need no event.
    #[inline(always)]
    pub(super) fn await_next(&mut self, queue: usize, upstream: usize) {
        let from = self.links[queue].cannot_send_before();
        let link = &mut self.links[upstream];
        let ring = link.propagation.ring();
        let next = ring.iter().find(|packet| packet.arrived >= from);
        let next = next.map_or(Time::NEVER, |packet| packet.arrived);
        if next != link.next_upstream_event {
            link.next_upstream_event = next;
            self.tournament.set(link.exit_leaf(), next);
        }
    }

    /// Processes an arrival at the queue that has an event.
    #[inline(never)]
    pub(super) fn come_to_queue(&mut self, queue: usize, upstream: usize) {
        let packet = self.take_out_for_queue(queue, upstream);
        self.offer_queued(queue, packet);
    }

    /// Removes the packet that arrives at the queue now from its link, after enqueueing earlier ones.
    pub(super) fn take_out_for_queue(&mut self, queue: usize, upstream: usize) -> Packet {
        self.enqueue_deferred(queue, upstream, self.now);
        let (packet, _) = self.links[upstream].propagation.pop_due();
        self.await_next(queue, upstream);
        packet
    }

    /// Enqueues packets that arrived before `bound`, while the queue could not send.
    #[inline(never)]
    pub(super) fn enqueue_deferred(&mut self, queue: usize, upstream: usize, bound: Time) {
        loop {
            let coming = self.links[upstream].propagation.ring();
            let Some(&packet) = coming.front().filter(|packet| packet.arrived < bound) else {
                return;
            };
            coming.pop_front();
            if self.links[queue].reads_acknowledgements {
                self.tell_acknowledgement(queue, &packet);
            }
            let offered = self.links[queue].offer(packet, packet.arrived);
            if matches!(offered, OfferOutcome::Dropped(_)) {
                self.count_dropped(&packet);
            }
            if self.links[queue].has_events() {
                self.record_qdisc_events(queue);
            }
            self.links[queue].settle(packet.arrived);
        }
    }
}
