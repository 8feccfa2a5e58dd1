//! Links without events for departures: pass-through links and folded queues (`net/folded.rs`).

use super::{HostArrival, Turn, World};
use crate::net::link::{Link, PathKind};
use crate::qdisc::DropReason;
use crate::sim::packet::Packet;
use crate::sim::ring::Ring;
use crate::sim::time::Time;
use crate::traffic::conversation::Conversation;

impl World {
    /// Forwards a packet through a pass-through link, and the pass-through links after it.
    #[inline(never)]
    pub(super) fn offer_at_once(&mut self, index: usize, packet: Packet) {
        let mut index = index;
        loop {
            let link = &mut self.links[index];
            if link.path_kind() != PathKind::PassThrough {
                return self.forward(index, packet);
            }
            let bytes = packet.wire_bytes(link.overhead_bytes);
            link.statistics.passed(bytes, self.now, self.warm_up);
            if link.delay > Time::ZERO {
                let out = self.now.saturating_add(link.delay);
                return self.traverse_chain(index, packet, out);
            }
            let host = link.to;
            let (goal, row) = self.destination_of(&packet);
            // Packets that wait for their turn within the instant go first.
            if host == goal || !self.has_no_arrivals_pending {
                return self.arrive_at_once(packet, host);
            }
            index = self.routes.next(row, host) as usize;
        }
    }

    /// Offers a packet to a link without departure events.
    #[inline(always)]
    pub(super) fn offer_folded(&mut self, index: usize, packet: Packet) {
        // Departures at this instant have happened.
        let bound = self.now + Time(1);
        let link = &mut self.links[index];
        // With a delay the link would be a pipe.
        let is_awaited = !self.conversations[packet.conversation as usize].counts_at(link.to);
        catch_up(
            link,
            bound,
            self.warm_up,
            &mut self.conversations,
            &mut self.arriving,
            self.current,
        );
        let is_taken = link.offer_folded(packet, self.now, is_awaited);
        if !is_taken {
            return self.count_refused(index, DropReason::Overlimit, &packet);
        }
        if link.has_small_queues {
            let begins_at = link.last_begins_at();
            self.schedule_leaving(&packet, begins_at);
        }
        if is_awaited {
            let link = &self.links[index];
            self.tournament
                .set(link.departure_leaf as usize, link.pending());
        }
    }

    #[inline(never)]
    pub(super) fn catch_up(&mut self, index: usize, bound: Time) {
        catch_up(
            &mut self.links[index],
            bound,
            self.warm_up,
            &mut self.conversations,
            &mut self.arriving,
            self.current,
        );
    }

    pub(super) fn catch_up_all(&mut self, bound: Time) {
        for index in 0..self.links.len() {
            if self.links[index].merge.is_some() {
                self.merge_arrivals_before(index, (bound, Turn::FIRST));
            }
        }
        for index in 0..self.links.len() {
            if let Some(upstream) = self.links[index].lazy_upstream {
                self.enqueue_deferred(index, upstream as usize, bound);
            }
        }
        for index in 0..self.links.len() {
            match self.links[index].path_kind() {
                PathKind::Pipe => self.enter_before(index, bound),
                PathKind::Folded => self.catch_up(index, bound),
                PathKind::PassThrough | PathKind::Queued => {}
            }
        }
    }
}

/// Processes the departures of a folded link before `bound`.
#[inline(always)]
fn catch_up(
    link: &mut Link,
    bound: Time,
    warm_up: Time,
    conversations: &mut [Conversation],
    arriving: &mut Ring<HostArrival>,
    turn: Turn,
) {
    while link.depart_before(bound, warm_up).is_some() {
        let Some((departure, packet)) = link.pop_departed_before(bound) else {
            break;
        };
        let sink = &mut conversations[packet.conversation as usize];
        if sink.counts_at(link.to) {
            sink.receive(&packet, departure, warm_up);
        } else {
            // An awaited departure is processed only by its event.
            debug_assert_eq!(departure + Time(1), bound);
            let host = link.to;
            arriving.push_back(HostArrival { packet, host, turn });
        }
    }
}
