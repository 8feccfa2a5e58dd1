//! `htb`: hierarchical token bucket (tc-htb(8)), with the decisions of Linux 6.1
//! (`net/sched/sch_htb.c`; M. Devera's design, luxik.cdi.cz/~devik/qos/htb/).
//!
//! | clause | here |
//! | --- | --- |
//! | a class sends by itself while it has tokens of `rate` and `ceil`; one packet may overdraw both | yes |
//! | without tokens of `rate` it borrows from the nearest ancestor that has some; without tokens of `ceil` it waits | yes |
//! | order of service: lowest level first, then lowest `prio`, then round robin by `quantum` | yes |
//! | each priority at each class keeps its position in the round while a class is out of tokens | yes |
//! | a packet is charged to its leaf and all ancestors; `rate` only from the lender up | yes |
//! | tokens: nanoseconds by multiplication and shift, buckets in ticks of 64 ns from whole microseconds (iproute2 6.1) | yes |
//! | a debt is limited to one minute | yes |
//! | no leaf matches, and there is no `default` leaf: unshaped and first, up to `direct_qlen` | yes |
//! | hysteresis (module parameter, off by default), offload, rate estimators | no |
//! | the limit of two jiffies on due events in one call | no |
//!
//! `Tree` decides which leaf is next, `Bucket` whether a class may send; this file combines them.

mod bucket;
mod tree;

use super::bands::TXQUEUELEN;
use super::headers::{self, Filters};
use super::{Above, Build, Child, Config, Dequeued, Discipline, DropReason, Events, Setting};
use bucket::Bucket;
use dumbbell_core::packet::Packet;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::filter::Header;
use dumbbell_tc::qdisc::{Filter, Htb as Parameters, HtbClass};
use std::collections::VecDeque;
use tree::{ClassPosition, LEVELS, Tree};

/// Range of a computed quantum of a leaf.
const QUANTUM_BYTES: std::ops::RangeInclusive<u64> = 1000..=200_000;

/// The state of the tree.
#[derive(Debug, Clone)]
pub struct Htb {
    /// In ascending order of their numbers, as in the kernel.
    classes: Vec<Class>,
    tree: Tree,
    filters: Filters,
    default_minor: u16,
    direct: VecDeque<Packet>,
    direct_limit: usize,
    overhead_bytes: u32,
}

#[derive(Debug, Clone)]
struct Class {
    minor: u16,
    bucket: Bucket,
    /// None for an inner class.
    leaf: Option<Leaf>,
}

#[derive(Debug, Clone)]
struct Leaf {
    child: Child,
    quantum_bytes: i64,
    /// Deficit of the leaf, by the level it borrows from.
    deficit_bytes: [i64; LEVELS],
}

impl Htb {
    /// The leaf of a packet; None for unshaped.
    fn classify(&self, packet: &Packet) -> Option<usize> {
        let filter = self.filters.first(packet);
        classified(filter, self.default_minor, |minor| self.leaf(minor))
    }

    fn leaf(&self, minor: u16) -> Option<usize> {
        let found = self
            .classes
            .binary_search_by_key(&minor, |class| class.minor);
        found
            .ok()
            .filter(|index| self.classes[*index].leaf.is_some())
    }

    /// Updates classes of a level that may send or borrow again.
    fn do_events(&mut self, level: usize, now_ns: u64) {
        loop {
            let due = { self.classes.iter().enumerate() }
                .filter(|(index, _)| self.tree.level(*index) == level)
                .filter_map(|(index, class)| Some((class.bucket.wake_ns()?, index)))
                .filter(|(wake_ns, _)| *wake_ns <= now_ns)
                .min();
            let Some((_, index)) = due else { return };
            let mode = self.classes[index].bucket.look_again(now_ns);
            self.tree.set_mode(index, mode);
        }
    }

    /// Dequeues from a leaf that may send at this level and priority.
    fn dequeue_at(
        &mut self,
        level: usize,
        priority: usize,
        now: Time,
        events: &mut Events,
        wake: &mut Option<Time>,
    ) -> Option<Packet> {
        let mut first = None;
        loop {
            let index = self.tree.current_leaf(level, priority)?;
            let leaf = self.classes[index].leaf.as_mut()?;
            if leaf.child.backlog().0 == 0 {
                // Its discipline dropped all its packets.
                self.tree.set_active(index, false);
                if first == Some(index) {
                    first = None;
                }
                continue;
            }
            if first == Some(index) {
                return None;
            }
            first = first.or(Some(index));
            match leaf.child.dequeue(now, events) {
                Dequeued::Packet(packet) => {
                    self.sent(index, level, priority, &packet, now.as_ns());
                    return Some(packet);
                }
                Dequeued::NotBefore(later) => {
                    *wake = Some(wake.map_or(later, |wake| wake.min(later)));
                }
                Dequeued::Empty => {}
            }
            self.tree.advance(index, level, priority);
        }
    }

    /// Charges the packet, and ends the leaf's turn if its deficit is used up.
    fn sent(&mut self, index: usize, level: usize, priority: usize, packet: &Packet, now_ns: u64) {
        let bytes = packet.wire_bytes(self.overhead_bytes);
        if let Some(leaf) = &mut self.classes[index].leaf {
            let deficit = &mut leaf.deficit_bytes[level];
            *deficit -= i64::from(bytes);
            if *deficit < 0 {
                *deficit += leaf.quantum_bytes;
                self.tree.advance(index, level, priority);
            }
            if leaf.child.backlog().0 == 0 {
                self.tree.set_active(index, false);
            }
        }
        let mut charged = Some(index);
        while let Some(index) = charged {
            let pays_rate = self.tree.level(index) >= level;
            let mode = self.classes[index].bucket.charge(bytes, pays_rate, now_ns);
            self.tree.set_mode(index, mode);
            charged = self.tree.parent(index);
        }
    }
}

/// The leaf named by a filter or the default, among those that `leaf` knows; None for unshaped.
fn classified<Leaf>(
    filter: Option<&Filter>,
    default_minor: u16,
    leaf: impl Fn(u16) -> Option<Leaf>,
) -> Option<Leaf> {
    match filter {
        // Class 0 is the discipline itself: unshaped.
        Some(filter) if filter.minor == 0 => None,
        Some(filter) => leaf(filter.minor).or_else(|| leaf(default_minor)),
        None => leaf(default_minor),
    }
}

/// The leaf of packets with these headers; None for unshaped.
pub(super) fn leaf_of<'a>(parameters: &'a Parameters, header: &Header) -> Option<&'a HtbClass> {
    let classes = &parameters.classes;
    let is_leaf = |class: &&HtbClass| {
        let mut others = classes.iter();
        !others.any(|other| other.parent_minor == class.minor)
    };
    let leaf = |minor: u16| {
        let found = classes.iter().find(|class| class.minor == minor);
        found.filter(is_leaf)
    };
    let filter = headers::first(&parameters.filters, header);
    classified(filter, parameters.default_minor, leaf)
}

impl Build<Parameters> for Htb {
    fn build(parameters: &Parameters, setting: &Setting) -> Htb {
        let mut sorted: Vec<&HtbClass> = parameters.classes.iter().collect();
        sorted.sort_by_key(|class| class.minor);
        let place = |class: &&HtbClass| {
            let parent = sorted.binary_search_by_key(&class.parent_minor, |other| other.minor);
            let is_leaf = !sorted.iter().any(|other| other.parent_minor == class.minor);
            ClassPosition {
                parent: parent.ok(),
                leaf_priority: is_leaf.then_some(usize::from(class.prio)),
            }
        };
        let places: Vec<ClassPosition> = sorted.iter().map(place).collect();
        let default = Config::Pfifo(TXQUEUELEN);
        let class = |(class, place): (&&HtbClass, &ClassPosition)| {
            let quantum = u64::from(class.quantum_bytes);
            let computed = class.rate_bps / 8 / u64::from(parameters.r2q);
            let quantum = match quantum {
                0 => computed.clamp(*QUANTUM_BYTES.start(), *QUANTUM_BYTES.end()),
                said => said,
            };
            let leaf = place.leaf_priority.map(|_| Leaf {
                child: Child::new(
                    class.child.as_deref().unwrap_or(&default),
                    &Setting {
                        above: Above::Shaper,
                        ..setting.child(&format!("{:x}", class.minor))
                    },
                ),
                quantum_bytes: quantum as i64,
                deficit_bytes: [0; LEVELS],
            });
            Class {
                minor: class.minor,
                bucket: Bucket::new(class),
                leaf,
            }
        };
        Htb {
            classes: sorted.iter().zip(&places).map(class).collect(),
            tree: Tree::new(&places),
            filters: Filters::new(&parameters.filters, &setting.headers),
            default_minor: parameters.default_minor,
            direct: VecDeque::new(),
            direct_limit: parameters.direct_qlen_packets as usize,
            overhead_bytes: setting.overhead_bytes,
        }
    }
}

impl Discipline for Htb {
    fn enqueue(
        &mut self,
        packet: Packet,
        now: Time,
        events: &mut Events,
    ) -> Result<(), DropReason> {
        let Some(index) = self.classify(&packet) else {
            if self.direct.len() >= self.direct_limit {
                return Err(DropReason::Overlimit);
            }
            self.direct.push_back(packet);
            return Ok(());
        };
        if let Some(leaf) = &mut self.classes[index].leaf {
            leaf.child.enqueue(packet, now, events)?;
            self.tree.set_active(index, true);
        }
        Ok(())
    }

    fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued {
        if let Some(packet) = self.direct.pop_front() {
            return Dequeued::Packet(packet);
        }
        if self.backlog().0 == 0 {
            return Dequeued::Empty;
        }
        let mut wake = None;
        for level in 0..LEVELS {
            self.do_events(level, now.as_ns());
            for priority in self.tree.priorities(level) {
                if let Some(packet) = self.dequeue_at(level, priority, now, events, &mut wake) {
                    return Dequeued::Packet(packet);
                }
            }
        }
        let waking = self
            .classes
            .iter()
            .filter_map(|class| class.bucket.wake_ns());
        let soonest = waking.map(Time::from_ns).chain(wake).min();
        soonest.map_or(Dequeued::Empty, Dequeued::NotBefore)
    }

    fn backlog(&self) -> (u32, u64) {
        let direct = self.direct.iter();
        let direct = direct.map(|packet| (1, u64::from(packet.wire_bytes(self.overhead_bytes))));
        let leaves = self.classes.iter().filter_map(|class| class.leaf.as_ref());
        let all = leaves.map(|leaf| leaf.child.backlog()).chain(direct);
        all.fold((0, 0), |all, part| (all.0 + part.0, all.1 + part.1))
    }

    fn class_of(&self, packet: &Packet) -> Option<u16> {
        // Class 0 is the discipline itself: unshaped.
        let index = self.classify(packet);
        Some(index.map_or(0, |index| self.classes[index].minor))
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        let leaves = self.classes.iter().filter_map(|class| class.leaf.as_ref());
        let waiting = leaves.flat_map(|leaf| leaf.child.packets());
        Box::new(waiting.chain(&self.direct))
    }
}

#[cfg(test)]
mod tests;
