//! Chains of links: what comes out of one goes into the next, all of it, and nothing else does.
//!
//! The hops of a path between two hosts are often like that: access link, bottleneck, access
//! link. When packets arrive at the next link is then known from the one before, and need not be
//! an event: only what comes out of the last link of a chain is. The others are caught up with when
//! that happens, at a sample and at the end, as the departures of a folded link are
//! (`net/folded.rs`, `sim/world/chained.rs`).

use super::link::Link;
use crate::sim::time::Time;

/// The place of a link in a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chained {
    /// The link before it.
    pub feeder: Option<usize>,
    /// Whether there is one after it.
    pub feeds: bool,
    /// The last link of the chain.
    pub last: usize,
    /// Of the last link: what the tournament has for the chain, `NEVER` while it is empty.
    pub armed: Time,
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
            let (feeder, fed) = (pair[0] as usize, pair[1] as usize);
            before[fed].add(Neighbour::Only(feeder));
            after[feeder].add(Neighbour::Only(fed));
        }
    }
    let is_chained = |fed: usize| {
        let Neighbour::Only(feeder) = before[fed] else {
            return None;
        };
        let is_only = after[feeder] == Neighbour::Only(fed);
        let can = links[feeder].can_feed() && links[fed].can_be_fed();
        (is_only && can).then_some(feeder)
    };
    let feeders: Vec<Option<usize>> = (0..links.len()).map(is_chained).collect();
    enter(links, &feeders);
}

fn enter(links: &mut [Link], feeders: &[Option<usize>]) {
    let mut feeds = vec![false; links.len()];
    for feeder in feeders.iter().flatten() {
        feeds[*feeder] = true;
    }
    for last in 0..links.len() {
        if feeds[last] || feeders[last].is_none() {
            continue;
        }
        let mut next = Some(last);
        while let Some(index) = next {
            let feeder = feeders[index];
            links[index].chain = Some(Chained {
                feeder,
                feeds: feeds[index],
                last,
                armed: Time::NEVER,
            });
            next = feeder;
        }
    }
}
