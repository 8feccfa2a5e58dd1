//! Chains of links: every packet that enters one link comes out of one other link.
//!
//! Most paths have such hops: access link, bottleneck, access link. So does the way of acknowledgements back
//! through a tree. The arrival of a packet at such a link and its departure are computed when it enters the
//! chain, so only the exit from the chain is an event (`net/pipe.rs`, `sim/world/chained.rs`). Where several
//! links lead into one, their packets are merged in order of arrival first (`net/merge.rs`).

use super::plan::preconditions::LinkFacts;

/// Where packets go that come out of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Downstream {
    /// Out of the chain, by an event.
    Out,
    /// All of them into this link, which only they go into.
    Into(u32),
    /// All of them into a link that others lead into too.
    Joins {
        /// Where to.
        link: u32,
        /// Which of those that lead there this is.
        upstream: u32,
    },
    /// Some of them into links that only they go into: their routes say which.
    ByRoute,
    /// All of them into a queue with events of its own, which only they go into. What comes while that
    /// cannot send is taken in before it sends next (`sim/world/deferred_enqueue.rs`).
    IntoQueue(u32),
}

/// What stands at one side of a link, over all paths.
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

/// What stands at both sides of each link, over all ways that packets take, there and back.
pub struct LinkNeighbours<'a> {
    facts: &'a [LinkFacts],
    before: Vec<Neighbour>,
    after: Vec<Neighbour>,
    /// Of each link those all of whose packets go into it.
    leading_into: Vec<Vec<usize>>,
}

impl<'a> LinkNeighbours<'a> {
    /// Of links of which this is known, in a network where packets take these ways.
    pub fn new(facts: &'a [LinkFacts], ways: impl Iterator<Item = Vec<u32>>) -> LinkNeighbours<'a> {
        let mut before = vec![Neighbour::Unknown; facts.len()];
        let mut after = before.clone();
        for way in ways {
            let Some((first, last)) = way.first().zip(way.last()) else {
                continue;
            };
            // Hosts send into it, or take what comes out.
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

    /// The link that all packets of this one come out of.
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

    /// Whether all packets of the one go into the other.
    pub fn is_only_way(&self, upstream: usize, fed: usize) -> bool {
        self.after[upstream] == Neighbour::Only(fed)
    }

    /// Where packets of the one link that leads into another go from it; None where the two do not allow a
    /// chain.
    pub fn chained(&self, upstream: usize, fed: usize) -> Option<Downstream> {
        let is_onward = self.is_only_way(upstream, fed);
        let source = self.source(upstream);
        if !self.facts[source].can_feed() {
            return None;
        }
        let downstream = match is_onward {
            _ if self.goes_on(fed) && is_onward => Downstream::Into(fed as u32),
            _ if self.goes_on(fed) => Downstream::ByRoute,
            true if source == upstream && self.facts[fed].can_be_awaited() => {
                Downstream::IntoQueue(fed as u32)
            }
            _ => return None,
        };
        Some(downstream)
    }

    /// The link whose event brings packets out of this one: itself, or one before those that they pass
    /// in that instant.
    fn source(&self, link: usize) -> usize {
        match self.before[link] {
            Neighbour::Only(before) if self.passes(link) => self.source(before),
            _ => link,
        }
    }

    /// Whether packets may go on through a link as through part of a chain: what they pass in an instant
    /// is one only if a link follows that is.
    fn goes_on(&self, link: usize) -> bool {
        match self.after[link] {
            Neighbour::Only(after) if self.passes(link) => self.goes_on(after),
            _ => self.facts[link].can_be_fed(),
        }
    }

    /// Whether all of one other link's packets pass a link in an instant, and go into one that has no
    /// others.
    fn passes(&self, link: usize) -> bool {
        let Neighbour::Only(after) = self.after[link] else {
            return false;
        };
        self.facts[link].passes_at_once()
            && matches!(self.before[link], Neighbour::Only(_))
            && self.before[after] == Neighbour::Only(link)
    }
}
