//! Chains of links: every packet that enters one link continues into one other link.
//!
//! Most paths have such hops: access link, bottleneck, access link; also the return path of acknowledgements.
//! The arrival and departure of a packet at each link of a chain are computed when it enters the chain, so
//! only the exit from the chain is an event (`net/pipe.rs`, `sim/world/chained.rs`). Where several links lead
//! into one, their packets are first merged in order of arrival (`net/merge.rs`).

use super::plan::preconditions::LinkFacts;

/// Where the packets of a link go next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Downstream {
    /// Out of the chain, by an event.
    Out,
    /// All into this link, which has no other upstream.
    Into(u32),
    /// All into a link that has several upstream links.
    Joins {
        /// That link.
        link: u32,
        /// Index of this link among its upstream links.
        upstream: u32,
    },
    /// Some into links that have no other upstream; the route of the packet decides.
    ByRoute,
    /// All into a queue with events of its own, which has no other upstream. Packets that arrive while it
    /// cannot send are enqueued before its next transmission (`sim/world/deferred_enqueue.rs`).
    IntoQueue(u32),
}

/// The neighbour on one side of a link, over all paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Neighbour {
    Unknown,
    Only(usize),
    Several,
}

impl Neighbour {
    fn add(&mut self, other: Neighbour) {
        *self = match *self {
            Neighbour::Unknown => other,
            same if same == other => same,
            _ => Neighbour::Several,
        };
    }
}

/// The neighbours on both sides of each link, over all paths of packets, in both directions.
pub struct LinkNeighbours<'a> {
    facts: &'a [LinkFacts],
    before: Vec<Neighbour>,
    after: Vec<Neighbour>,
    /// For each link the links all of whose packets go into it.
    leading_into: Vec<Vec<usize>>,
}

impl<'a> LinkNeighbours<'a> {
    /// From the facts about each link and the paths that packets take.
    pub fn new(facts: &'a [LinkFacts], ways: impl Iterator<Item = Vec<u32>>) -> LinkNeighbours<'a> {
        let mut before = vec![Neighbour::Unknown; facts.len()];
        let mut after = before.clone();
        for way in ways {
            let Some((first, last)) = way.first().zip(way.last()) else {
                continue;
            };
            // Hosts send into the first link and receive from the last.
            before[*first as usize].add(Neighbour::Several);
            after[*last as usize].add(Neighbour::Several);
            for pair in way.windows(2) {
                let (upstream, fed) = (pair[0] as usize, pair[1] as usize);
                before[fed].add(Neighbour::Only(upstream));
                after[upstream].add(Neighbour::Only(fed));
            }
        }
        let mut leading_into = vec![Vec::new(); facts.len()];
        for (upstream, neighbour) in after.iter().enumerate() {
            if let Neighbour::Only(fed) = neighbour {
                leading_into[*fed].push(upstream);
            }
        }
        LinkNeighbours {
            facts,
            before,
            after,
            leading_into,
        }
    }

    /// The only upstream link of this one, if all its packets come from one link.
    pub fn only_before(&self, link: usize) -> Option<usize> {
        match self.before[link] {
            Neighbour::Only(upstream) => Some(upstream),
            Neighbour::Unknown | Neighbour::Several => None,
        }
    }

    /// The links all of whose packets go into this one.
    pub fn leading_into(&self, link: usize) -> &[usize] {
        &self.leading_into[link]
    }

    /// Whether all packets of `upstream` go into `fed`.
    pub fn is_only_way(&self, upstream: usize, fed: usize) -> bool {
        self.after[upstream] == Neighbour::Only(fed)
    }

    /// How packets continue from the only upstream link; None if the two links do not allow a chain.
    pub fn chained(&self, upstream: usize, fed: usize) -> Option<Downstream> {
        let is_onward = self.is_only_way(upstream, fed);
        let source = self.source(upstream);
        if !self.facts[source].can_be_upstream() {
            return None;
        }
        let downstream = match is_onward {
            _ if self.goes_on(fed) && is_onward => Downstream::Into(fed as u32),
            _ if self.goes_on(fed) => Downstream::ByRoute,
            true if source == upstream && self.facts[fed].can_defer_enqueue() => {
                Downstream::IntoQueue(fed as u32)
            }
            _ => return None,
        };
        Some(downstream)
    }

    /// The link whose event brings packets out of this one: itself, or the nearest upstream link that packets
    /// do not pass in the same instant.
    fn source(&self, link: usize) -> usize {
        match self.before[link] {
            Neighbour::Only(before) if self.passes(link) => self.source(before),
            _ => link,
        }
    }

    /// Whether the link may be part of a chain. A pass-through link is part of one only if the next link is.
    fn goes_on(&self, link: usize) -> bool {
        match self.after[link] {
            Neighbour::Only(after) if self.passes(link) => self.goes_on(after),
            _ => self.facts[link].can_be_downstream(),
        }
    }

    /// Whether all packets of one other link pass this link in an instant and go into one without other
    /// upstreams.
    fn passes(&self, link: usize) -> bool {
        let Neighbour::Only(after) = self.after[link] else {
            return false;
        };
        self.facts[link].passes_at_once()
            && matches!(self.before[link], Neighbour::Only(_))
            && self.before[after] == Neighbour::Only(link)
    }
}
