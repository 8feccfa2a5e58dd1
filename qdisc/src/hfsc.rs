//! `hfsc`: hierarchical fair service curves (I. Stoica, H. Zhang and T. S. E. Ng, "A Hierarchical Fair
//! Service Curve Algorithm for Link-Sharing, Real-Time and Priority Services", SIGCOMM 1997; tc-hfsc(7)).
//!
//! | clause | here |
//! | --- | --- |
//! | real-time: among leaves whose eligible time has come, the one with the earliest deadline | yes |
//! | eligible time E^-1(w), deadline D^-1(w + l), w served by real-time only | yes |
//! | link-sharing: from the root down, the active child with the smallest virtual time V^-1(w) | yes |
//! | a class that becomes active starts at the mean of the smallest and largest virtual time of its siblings, or at its own if later | yes |
//! | the first of idle siblings starts at the largest virtual time that any of them had | yes, as in Linux |
//! | the smallest is that of the sibling that link-sharing chose last | yes, as in Linux |
//! | upper limit: link-sharing skips classes whose fit time F^-1(w) has not come; then they catch up with the smallest virtual time | yes |
//! | `rt` of an inner class is ignored | yes |
//! | no leaf matches, and there is no `default` leaf: the packet is dropped | yes |
//! | a leaf without a discipline: a `pfifo` of 1000 packets (txqueuelen) | yes |
//! | a leaf that holds packets back blocks all others while it is chosen | yes |
//! | ticks of 64 ns, slopes in fixed point (`curve`) | yes |

mod curve;
mod tree;

use super::bands::TXQUEUELEN;
use super::headers::{self, Filters};
use super::passing_time::bucket_takes_tokens;
use super::{Build, Child, Config, Dequeued, Discipline, DropReason, Events, Setting};
use curve::TICK_SHIFT;
use dumbbell_core::packet::Packet;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::filter::Header;
use dumbbell_tc::qdisc::{Filter, Hfsc as Parameters, HfscClass};
use tree::Tree;

/// The state of the tree.
#[derive(Debug, Clone)]
pub struct Hfsc {
    tree: Tree,
    /// The number of each class, and the discipline of each leaf.
    minors: Vec<u16>,
    leaves: Vec<Option<Child>>,
    filters: Filters,
    default_minor: u16,
    overhead_bytes: u32,
}

/// The leaf named by a filter or the default; None if the packet is dropped.
fn classified<Leaf>(
    filter: Option<&Filter>,
    default_minor: u16,
    leaf: impl Fn(u16) -> Option<Leaf>,
) -> Option<Leaf> {
    let said = filter.and_then(|filter| leaf(filter.minor));
    said.or_else(|| leaf(default_minor))
}

/// The leaf of packets with these headers; None if they are dropped.
pub(super) fn leaf_of<'a>(parameters: &'a Parameters, header: &Header) -> Option<&'a HfscClass> {
    let filter = headers::first(&parameters.filters, header);
    classified(filter, parameters.default_minor, |minor| {
        parameters.leaf(minor)
    })
}

/// Whether packets of a leaf are limited to rates that take at least a tick of the kernel's clock.
pub(super) fn holds_back(parameters: &Parameters, leaf: &HfscClass) -> bool {
    let is_slow = |curve: &dumbbell_tc::qdisc::ServiceCurve| {
        [curve.m1_bps, curve.m2_bps]
            .iter()
            .all(|bps| bucket_takes_tokens(*bps))
    };
    let limited = || {
        let mut way = parameters.way_up(leaf);
        way.any(|class| class.ul.as_ref().is_some_and(is_slow))
    };
    leaf.rt.as_ref().is_none_or(is_slow) && (leaf.ls.is_none() || limited())
}

impl Hfsc {
    fn leaf_index(&self, minor: u16) -> Option<usize> {
        let found = self.minors.iter().position(|class| *class == minor);
        found.filter(|index| self.leaves[*index].is_some())
    }

    /// Bytes of the next packet of a leaf; 0 if it holds packets back.
    fn next_bytes(&mut self, leaf: usize, now: Time, events: &mut Events) -> u64 {
        let child = self.leaves[leaf].as_mut();
        match child.map(|child| child.peek(now, events)) {
            Some(Dequeued::Packet(packet)) => u64::from(packet.wire_bytes(self.overhead_bytes)),
            _ => 0,
        }
    }

    fn is_empty(&self, leaf: usize) -> bool {
        { self.leaves[leaf].as_ref() }.is_none_or(|child| child.backlog().0 == 0)
    }
}

impl Build<Parameters> for Hfsc {
    fn build(parameters: &Parameters, setting: &Setting) -> Hfsc {
        let default = Config::Pfifo(TXQUEUELEN);
        let leaf = |class: &HfscClass| {
            parameters.leaf(class.minor)?;
            let setting = setting.child(&format!("{:x}", class.minor));
            Some(Child::new(
                class.child.as_deref().unwrap_or(&default),
                &setting,
            ))
        };
        let classes = &parameters.classes;
        Hfsc {
            tree: Tree::new(classes),
            minors: classes.iter().map(|class| class.minor).collect(),
            leaves: classes.iter().map(leaf).collect(),
            filters: Filters::new(&parameters.filters, &setting.headers),
            default_minor: parameters.default_minor,
            overhead_bytes: setting.overhead_bytes,
        }
    }
}

impl Discipline for Hfsc {
    fn enqueue(
        &mut self,
        packet: Packet,
        now: Time,
        events: &mut Events,
    ) -> Result<(), DropReason> {
        let filter = self.filters.first(&packet);
        let leaf = classified(filter, self.default_minor, |minor| self.leaf_index(minor));
        let leaf = leaf.ok_or(DropReason::NoClass)?;
        let was_empty = self.is_empty(leaf);
        if let Some(child) = &mut self.leaves[leaf] {
            child.enqueue(packet, now, events)?;
        }
        if was_empty {
            let bytes = u64::from(packet.wire_bytes(self.overhead_bytes));
            self.tree.activate(leaf, bytes, now.as_ns() >> TICK_SHIFT);
            if self.tree.has_real_time(leaf) {
                // A drop at the head of its queue does not change the deadline.
                self.next_bytes(leaf, now, events);
            }
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued {
        let ticks = now.as_ns() >> TICK_SHIFT;
        while let Some((leaf, by)) = self.tree.choose(ticks) {
            let child = self.leaves[leaf].as_mut();
            let Some(answer) = child.map(|child| child.dequeue(now, events)) else {
                return Dequeued::Empty;
            };
            let packet = match answer {
                Dequeued::Packet(packet) => packet,
                Dequeued::NotBefore(later) => return Dequeued::NotBefore(later),
                Dequeued::Empty => {
                    // Its discipline has dropped all its packets.
                    self.tree.served(leaf, 0, true);
                    self.tree.next(leaf, by, 0, None);
                    continue;
                }
            };
            let bytes = u64::from(packet.wire_bytes(self.overhead_bytes));
            let is_empty = self.is_empty(leaf);
            self.tree.served(leaf, bytes, is_empty);
            if self.tree.has_real_time(leaf) {
                let next = (!is_empty).then(|| self.next_bytes(leaf, now, events));
                self.tree.next(leaf, by, bytes, next);
            }
            return Dequeued::Packet(packet);
        }
        match self.tree.wake() {
            Some(tick) => Dequeued::NotBefore(Time::from_ns(tick << TICK_SHIFT)),
            None => Dequeued::Empty,
        }
    }

    fn backlog(&self) -> (u32, u64) {
        let leaves = self.leaves.iter().flatten().map(Child::backlog);
        leaves.fold((0, 0), |all, part| (all.0 + part.0, all.1 + part.1))
    }

    fn class_of(&self, packet: &Packet) -> Option<u16> {
        // 0 for packets without a class, which are dropped.
        let filter = self.filters.first(packet);
        let leaf = classified(filter, self.default_minor, |minor| self.leaf_index(minor));
        Some(leaf.map_or(0, |leaf| self.minors[leaf]))
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        Box::new(self.leaves.iter().flatten().flat_map(Child::packets))
    }
}

#[cfg(test)]
mod tests;
