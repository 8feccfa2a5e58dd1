//! Packets in pipes (`net/pipe.rs`) and chains of pipes (`net/chains.rs`): one event, at the exit.

use super::{AFTER_DEPARTURES, World};
use crate::net::chains::Downstream;
use crate::net::link::Link;
use crate::qdisc::DropReason;
use crate::sim::packet::Packet;
use crate::sim::time::Time;
use crate::traffic::conversation::Conversation;

/// Packets in propagation on a link, of several flows, from which the state of each is no longer in the
/// nearest caches when it arrives.
const FAR_PKTS: usize = 512;

impl World {
    /// Offers a packet to a pipe that hosts or queues send into.
    #[inline(always)]
    pub(super) fn offer_to_pipe(&mut self, index: usize, packet: Packet) {
        let mut link = &mut self.links[index];
        if link.merge.is_some() {
            self.merge_arrivals_before(index, (self.now, self.current));
            link = &mut self.links[index];
        }
        let Some(taken) = link.cross(packet.size(), self.now) else {
            link.count_refused(&packet);
            return self.count_refused(index, DropReason::Overlimit, &packet);
        };
        let out = taken.departure + link.delay;
        if taken.is_to_be_entered {
            enter(link, self.now, self.warm_up, &mut self.conversations);
        }
        if link.has_small_queues {
            self.schedule_leaving(&packet, taken.begins_at);
        }
        self.traverse_chain(index, packet, out);
    }

    /// Offers segments as one packet to such a pipe.
    pub(super) fn offer_gso_to_pipe(&mut self, index: usize, segments: &[Packet]) {
        let now = self.now;
        if self.links[index].merge.is_some() {
            self.merge_arrivals_before(index, (now, self.current));
        }
        if !self.links[index].admits_gso(segments, now) {
            for packet in segments {
                self.links[index].count_refused(packet);
                self.count_refused(index, DropReason::Overlimit, packet);
            }
            return;
        }
        let mut begins_at = None;
        for (number, packet) in segments.iter().enumerate() {
            let link = &mut self.links[index];
            let taken = link.take_segment(packet, now, number > 0);
            let (out, has_small_queues) = (taken.departure + link.delay, link.has_small_queues);
            if number == 0 {
                begins_at = taken.begins_at;
            }
            if taken.is_to_be_entered {
                self.enter_before(index, now);
            }
            if has_small_queues {
                // All segments leave the queue with the first.
                self.schedule_leaving(packet, begins_at);
            }
            self.traverse_chain(index, *packet, out);
        }
    }

    /// A packet leaves a link at `at`: follows it through the chain to its exit.
    #[inline(always)]
    pub(super) fn traverse_chain(&mut self, index: usize, packet: Packet, at: Time) {
        let downstream = self.links[index].downstream;
        let (index, at) = match downstream {
            Downstream::Out | Downstream::Joins { .. } | Downstream::IntoQueue(_) => (index, at),
            Downstream::Into(_) | Downstream::ByRoute => {
                match self.cross_chain(index, packet, at) {
                    Some(exit) => exit,
                    None => return,
                }
            }
        };
        let link = &mut self.links[index];
        let ring = link.propagation.ring();
        let mut packet = packet;
        packet.arrived = at;
        ring.push_back(packet);
        if let Downstream::IntoQueue(queue) = link.downstream {
            return self.await_arrival(queue as usize, index, at);
        }
        if ring.len() > 1 {
            return;
        }
        match link.downstream {
            Downstream::Joins { link, upstream } => self.join(link as usize, upstream, at),
            _ => self.tournament.set(link.exit_leaf(), at),
        }
    }

    /// A packet crosses the links of a chain that follow `index`. Returns the last and when it leaves it; None
    /// if a link drops it.
    #[inline(always)]
    fn cross_chain(&mut self, index: usize, packet: Packet, at: Time) -> Option<(usize, Time)> {
        let (mut index, mut at) = (index, at);
        let size = packet.size();
        let mut downstream = self.links[index].downstream;
        loop {
            let next = match downstream {
                Downstream::Out | Downstream::Joins { .. } | Downstream::IntoQueue(_) => break,
                Downstream::Into(next) => next as usize,
                Downstream::ByRoute => match self.onward_by_route(index, &packet) {
                    Some(next) => next,
                    None => break,
                },
            };
            let link = &mut self.links[next];
            let Some(taken) = link.cross(size, at) else {
                link.refuse_at(packet, at);
                return None;
            };
            // Earlier arrivals are complete up to here; they may be recorded late.
            let bound = at.min(self.now);
            at = taken.departure + link.delay;
            (index, downstream) = (next, link.downstream);
            if taken.is_to_be_entered {
                enter(link, bound, self.warm_up, &mut self.conversations);
            }
        }
        Some((index, at))
    }

    /// The next link of the chain for a packet whose route decides.
    #[inline(never)]
    fn onward_by_route(&self, index: usize, packet: &Packet) -> Option<usize> {
        let host = self.links[index].to;
        let (goal, row) = self.destination_of(packet);
        if host == goal {
            return None;
        }
        let next = self.routes.next(row, host) as usize;
        (self.links[next].upstream == Some(index as u32)).then_some(next)
    }

    /// Records what has happened in a pipe before `bound`.
    pub(super) fn enter_before(&mut self, index: usize, bound: Time) {
        enter(
            &mut self.links[index],
            bound,
            self.warm_up,
            &mut self.conversations,
        );
    }

    /// Removes the first packet that leaves a link.
    #[inline(always)]
    pub(super) fn take_out(&mut self, index: usize) -> Packet {
        let link = &mut self.links[index];
        let (packet, next) = link.propagation.pop_due();
        self.tournament.set(link.exit_leaf(), next);
        self.prefetches_segments |=
            self.may_prefetch_segments && link.propagation.ring().len() >= FAR_PKTS;
        if self.prefetches_segments {
            self.prefetch_arrivals(index);
        }
        packet
    }

    /// A packet leaves a pipe without delay.
    #[inline(never)]
    pub(super) fn depart_from_pipe(&mut self, index: usize) {
        let host = self.links[index].to;
        if let Downstream::IntoQueue(queue) = self.links[index].downstream {
            let packet = self.take_out_for_queue(queue as usize, index);
            if self.arriving.is_empty() && !self.departs_now() {
                self.onward_turn = AFTER_DEPARTURES;
                self.offer_queued(queue as usize, packet);
            } else {
                self.queue_host_arrival(packet, host);
            }
            return;
        }
        let packet = self.take_out(index);
        let sink = &mut self.conversations[packet.conversation as usize];
        if sink.counts_at(host) {
            sink.receive(&packet, self.now, self.warm_up);
        } else {
            self.arrive_at_once(packet, host);
        }
    }
}

#[inline(never)]
fn enter(link: &mut Link, bound: Time, warm_up: Time, conversations: &mut [Conversation]) {
    link.enter_before(bound, warm_up);
    while let Some(packet) = link.refused_before(bound) {
        conversations[packet.conversation as usize].count_dropped(&packet);
    }
}
