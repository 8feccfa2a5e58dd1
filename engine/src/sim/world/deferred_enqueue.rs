//! Deferred enqueue: a queue with events of its own that one upstream link feeds (`net/chains.rs`).
//!
//! When packets leave the upstream link is known. A packet that arrives while the queue cannot send, during a
//! transmission or before there are tokens for the next packet, needs no event: it is enqueued, with its own time
//! of arrival, before the queue sends again or a sample reads it. Only an arrival when the queue could send, or
//! at the instant of a transmission's end, is an event.

use super::World;
use crate::net::link::OfferOutcome;
use crate::sim::packet::Packet;
use crate::sim::time::Time;

impl World {
    /// A packet is on its way out of a link now, behind all others, and comes to the queue at `at`.
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

    /// A packet comes to the queue by an event.
    #[inline(never)]
    pub(super) fn come_to_queue(&mut self, queue: usize, upstream: usize) {
        let packet = self.take_out_for_queue(queue, upstream);
        self.offer_queued(queue, packet);
    }

    /// Takes the packet that comes to the queue now out of its link, after those before it.
    pub(super) fn take_out_for_queue(&mut self, queue: usize, upstream: usize) -> Packet {
        self.enqueue_deferred(queue, upstream, self.now);
        let (packet, _) = self.links[upstream].propagation.pop_due();
        self.await_next(queue, upstream);
        packet
    }

    /// Takes in what came to the queue before `bound`, while it could not send.
    #[inline(never)]
    pub(super) fn enqueue_deferred(&mut self, queue: usize, upstream: usize, bound: Time) {
        loop {
            let coming = self.links[upstream].propagation.ring();
            let Some(&packet) = coming.front().filter(|packet| packet.arrived < bound) else {
                return;
            };
            coming.pop_front();
            let link = &mut self.links[queue];
            let is_transmitting = link.is_transmitting();
            let offered = link.offer(packet, packet.arrived);
            if matches!(offered, OfferOutcome::Dropped(_)) {
                self.count_dropped(&packet);
            }
            self.record_qdisc_events(queue);
            if is_transmitting || offered == OfferOutcome::Taken {
                self.links[queue].settle(packet.arrived);
            }
        }
    }
}
