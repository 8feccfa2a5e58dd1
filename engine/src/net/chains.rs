//! Chains of links: all that goes into one comes out of another.
//!
//! The hops of a path between two hosts are often like that: access link, bottleneck, access
//! link; and where paths part, as those of acknowledgements do on their way back through a tree. When
//! a packet arrives at such a link, and what becomes of it there, is known from the one before, and
//! need not be an event: only what comes out of a chain is one (`net/pipe.rs`,
//! `sim/world/chained.rs`). Where several links lead into one, their packets are put in order first
//! (`net/merge.rs`).

use super::link::Link;
use super::turn::{Turn, class};

/// Where packets go that come out of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Onward {
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

/// Joins links to chains wherever all ways that packets take, there and back, allow it.
pub fn join(links: &mut [Link], ways: impl Iterator<Item = Vec<u32>>) {
    let mut before = vec![Neighbour::Unknown; links.len()];
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
    let mut upstreams = vec![Vec::new(); links.len()];
    for (upstream, neighbour) in after.iter().enumerate() {
        if let Neighbour::Only(fed) = neighbour {
            upstreams[*fed].push(upstream);
        }
    }
    let sides = Sides { before, after };
    for (fed, upstreams) in upstreams.iter().enumerate() {
        match sides.before[fed] {
            Neighbour::Only(upstream) => sides.chain(links, upstream, fed),
            _ => merge(links, fed, upstreams),
        }
    }
    links.iter_mut().for_each(Link::lay_pipe);
    for link in 0..links.len() {
        let next = links[link].sole_downstream;
        let keeps = |&next: &u32| links[link].hands_to(&links[next as usize]);
        links[link].sole_downstream = next.filter(keeps);
    }
}

/// What stands at both sides of each link.
struct Sides {
    before: Vec<Neighbour>,
    after: Vec<Neighbour>,
}

impl Sides {
    /// Joins a link to the one that only leads into it, if they allow it.
    fn chain(&self, links: &mut [Link], upstream: usize, fed: usize) {
        let is_onward = self.after[upstream] == Neighbour::Only(fed);
        if is_onward {
            links[upstream].sole_downstream = Some(fed as u32);
        }
        let source = self.source(links, upstream);
        if !links[source].can_feed() {
            return;
        }
        if is_onward && source == upstream && links[fed].can_be_awaited() {
            links[fed].lazy_upstream = Some(upstream as u32);
            links[upstream].onward = Onward::IntoQueue(fed as u32);
        }
        if !self.goes_on(links, fed) {
            return;
        }
        links[fed].upstream = Some(upstream as u32);
        // What leaves a link in the instant of an arrival has left before it, as events would have
        // it: departures come before arrivals, among themselves by the order of links.
        links[fed].departs_before_arrivals = links[source].has_delay() || source > fed;
        links[upstream].onward = if is_onward {
            Onward::Into(fed as u32)
        } else {
            Onward::ByRoute
        };
    }

    /// The link whose event brings packets out of this one: itself, or one before those that they pass
    /// in that instant.
    fn source(&self, links: &[Link], link: usize) -> usize {
        match self.before[link] {
            Neighbour::Only(before) if self.passes(links, link) => self.source(links, before),
            _ => link,
        }
    }

    /// Whether packets may go on through a link as through part of a chain: what they pass in an instant
    /// is one only if a link follows that is.
    fn goes_on(&self, links: &[Link], link: usize) -> bool {
        match self.after[link] {
            Neighbour::Only(after) if self.passes(links, link) => self.goes_on(links, after),
            _ => links[link].can_be_fed(),
        }
    }

    /// Whether all of one other link's packets pass a link in an instant, and go into one that has no
    /// others.
    fn passes(&self, links: &[Link], link: usize) -> bool {
        let Neighbour::Only(after) = self.after[link] else {
            return false;
        };
        links[link].passes_at_once()
            && matches!(self.before[link], Neighbour::Only(_))
            && self.before[after] == Neighbour::Only(link)
    }
}

/// Puts packets of several links, and of hosts, in order before a link that they lead into.
fn merge(links: &mut [Link], fed: usize, upstreams: &[usize]) {
    let takes_part =
        |&&upstream: &&usize| links[upstream].can_feed() && links[upstream].takes_time();
    let upstreams: Vec<usize> = upstreams.iter().filter(takes_part).copied().collect();
    if upstreams.is_empty() || !links[fed].can_be_fed() || !links[fed].takes_time() {
        return;
    }
    let turn_of = |&upstream: &usize| {
        let class = if links[upstream].has_delay() {
            class::ARRIVAL
        } else {
            class::DEPARTURE
        };
        Turn::new(class, upstream as u32)
    };
    let turns: Vec<Turn> = upstreams.iter().map(turn_of).collect();
    links[fed].merge_from(&turns);
    for (number, upstream) in (0..).zip(upstreams) {
        links[upstream].onward = Onward::Joins {
            link: fed as u32,
            upstream: number,
        };
    }
}
