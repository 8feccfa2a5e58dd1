//! Links with several upstream links (`net/merge.rs`): arrivals enter together, in order.

use super::{Turn, World};
use crate::net::chains::Downstream;
use crate::sim::packet::Packet;
use crate::sim::time::Time;

impl World {
    /// An idle upstream link has a packet for a link now, which will arrive at `at`.
    #[inline(always)]
    pub(super) fn join(&mut self, index: usize, upstream: u32, at: Time) {
        if let Some(merge) = &mut self.links[index].merge
            && merge.set(upstream, at)
        {
            self.schedule_merge(index);
        }
    }

    /// Schedules the merge of a link for its earliest possible departure.
    #[inline(always)]
    fn schedule_merge(&mut self, index: usize) {
        let link = &self.links[index];
        if let Some(merge) = &link.merge {
            self.tournament.set(merge.leaf, link.earliest_exit());
        }
    }

    /// Merges arrivals, because one of them could leave the link now.
    #[inline(never)]
    pub(super) fn on_merge_event(&mut self, index: usize) {
        self.merge_arrivals_before(index, (self.now, self.current));
    }

    /// Enters all packets that arrived before this instant and turn, no later than the present: no earlier
    /// arrival is possible.
    #[inline(never)]
    pub(super) fn merge_arrivals_before(&mut self, index: usize, bound: (Time, Turn)) {
        let mut taken_on = false;
        while let Some((at, turn)) = self.first_arrival(index, bound) {
            let packet = self.take_from_upstream(index, turn.component() as usize);
            let link = &mut self.links[index];
            taken_on = true;
            let Some(taken) = link.cross(packet.size(), at) else {
                link.count_refused(&packet);
                self.conversations[packet.conversation as usize].count_dropped(&packet);
                continue;
            };
            let out = taken.departure + link.delay;
            if taken.is_to_be_entered {
                self.enter_before(index, at);
            }
            self.traverse_chain(index, packet, out);
        }
        if taken_on {
            self.schedule_merge(index);
        }
    }

    #[inline(always)]
    fn first_arrival(&self, index: usize, bound: (Time, Turn)) -> Option<(Time, Turn)> {
        self.links[index].merge.as_ref()?.first_before(bound)
    }

    /// The first packet of an upstream link, which is due.
    #[inline(always)]
    fn take_from_upstream(&mut self, index: usize, upstream: usize) -> Packet {
        let link = &mut self.links[upstream];
        let (packet, next) = link.propagation.pop_due();
        if let Downstream::Joins {
            upstream: number, ..
        } = link.downstream
            && let Some(merge) = &mut self.links[index].merge
        {
            merge.set(number, next);
        }
        packet
    }
}
