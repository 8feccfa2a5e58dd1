//! Chains of links (`net/chains.rs`) while they run: one pending event for the last link, the
//! others caught up with.
//!
//! The time of that event is exact: the first packet of a chain finds the links after it empty, and
//! no queue in it refuses a packet when it is empty.

use super::World;
use super::folded::catch_up_apart;
use crate::net::link::Forwarding;
use crate::net::propagation::Propagation;
use crate::sim::packet::Packet;
use crate::sim::time::Time;

impl World {
    /// Packets have come into a chain: if it was empty, notes when the first comes out.
    #[inline(always)]
    pub(super) fn wake_chain(&mut self, last: usize) {
        let chain = self.links[last].chain.as_ref();
        if chain.is_some_and(|chain| chain.armed == Time::NEVER) {
            self.arm_chain(last);
        }
    }

    /// Notes when the next packet comes out of a chain.
    pub(super) fn arm_chain(&mut self, last: usize) {
        let due = self.first_out(last).map_or(Time::NEVER, |(due, _)| due);
        let link = &mut self.links[last];
        if let Some(chain) = &mut link.chain {
            chain.armed = due;
        }
        let leaf = if link.delay > Time::ZERO {
            link.arrival_leaf
        } else {
            link.departure_leaf
        };
        self.tournament.set(leaf, due);
    }

    /// The first packet to come out of a link, of those in it and before it in its chain.
    fn first_out(&self, index: usize) -> Option<(Time, Packet)> {
        let link = &self.links[index];
        if let Some(first) = link.first_out() {
            return Some(first);
        }
        let (at, packet) = self.first_out(link.feeder()?)?;
        Some((link.out_when_empty(&packet, at), packet))
    }

    /// Takes what arrives at a link before `bound` from the one before it in its chain.
    pub(super) fn pull(&mut self, index: usize, bound: Time) {
        if let Some(feeder) = self.links[index].feeder() {
            self.pull(feeder, bound);
            self.hand_over(feeder, index, bound);
        }
    }

    /// Takes what arrives at a link before the departure that it has in this instant.
    fn pull_before_departure(&mut self, index: usize) {
        let Some(feeder) = self.links[index].feeder() else {
            return;
        };
        if self.departs_before_arrivals(feeder, index) {
            self.pull(index, self.now);
        } else {
            self.pull_before_departure(feeder);
            self.hand_over(feeder, index, self.now + Time(1));
        }
    }

    /// Whether what leaves a link in the instant of an arrival has left before it, as events
    /// would have it: departures come before arrivals, among themselves by the order of links.
    fn departs_before_arrivals(&self, feeder: usize, index: usize) -> bool {
        self.links[feeder].delay > Time::ZERO || feeder > index
    }

    /// What comes out of a link before `bound` arrives at the next one.
    fn hand_over(&mut self, feeder: usize, index: usize, bound: Time) {
        self.catch_up(feeder, bound);
        let is_past = self.departs_before_arrivals(feeder, index);
        let links = self.links.get_disjoint_mut([feeder, index]);
        let [from, link] = links.expect("a link does not feed itself");
        while let Some((at, packet)) = from.out_before(bound) {
            if link.forwarding() == Forwarding::Folded {
                catch_up_apart(
                    link,
                    at + Time(u64::from(is_past)),
                    self.warm_up,
                    &mut self.conversations,
                    &mut self.arriving,
                );
                if !link.offer_folded(packet, at, false) {
                    let conversation = &mut self.conversations[packet.conversation as usize];
                    conversation.count_dropped(&packet);
                }
            } else if let Propagation::Ring(ring) = &mut link.propagation {
                let bytes = packet.wire_bytes(link.overhead_bytes);
                link.statistics.passed(bytes, at, self.warm_up);
                ring.push_back((at.saturating_add(link.delay), packet));
            }
        }
    }

    /// A packet may have arrived at the far end of the last link of a chain, after its delay.
    #[inline(never)]
    pub(super) fn arrive_from_chain(&mut self, index: usize) {
        self.pull_before_departure(index);
        self.catch_up(index, self.now + Time(1));
        let host = self.links[index].to;
        let arrived = self.links[index].out_before(self.now + Time(1));
        self.arm_chain(index);
        if let Some((_, packet)) = arrived {
            self.arrive(packet, host);
        }
    }

    /// A packet may have left the last link of a chain, which has no delay.
    #[inline(never)]
    pub(super) fn depart_from_chain(&mut self, index: usize) {
        self.pull_before_departure(index);
        self.catch_up(index, self.now + Time(1));
        self.arm_chain(index);
    }
}
