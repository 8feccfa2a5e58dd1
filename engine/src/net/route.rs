//! Static shortest-path routes.
//!
//! Paths are shortest in hops. Where several are, the one over the link that stands earlier
//! in the description is taken, at every hop: routes do not depend on names or on hashing.

use std::collections::VecDeque;

/// A directed link end, as routing sees it.
#[derive(Debug, Clone, Copy)]
pub struct Hop {
    /// Host it leaves.
    pub from: u32,
    /// Host it enters.
    pub to: u32,
}

/// No link leads there.
pub const UNREACHABLE: u32 = u32::MAX;

/// The next link at each host towards each destination that anything is sent to.
#[derive(Debug, Clone, Default)]
pub struct Routes {
    hosts: usize,
    slot_of_destination: Vec<Option<u32>>,
    next: Vec<u32>,
}

impl Routes {
    /// Routes over `hops` to each of `destinations`.
    pub fn new(hosts: usize, hops: &[Hop], destinations: impl IntoIterator<Item = u32>) -> Routes {
        let mut entering = vec![Vec::new(); hosts];
        for (link, hop) in hops.iter().enumerate() {
            entering[hop.to as usize].push(link as u32);
        }
        let mut routes = Routes {
            hosts,
            slot_of_destination: vec![None; hosts],
            next: Vec::new(),
        };
        for destination in destinations {
            let slot = routes.next.len() / hosts;
            let known = &mut routes.slot_of_destination[destination as usize];
            if known.is_none() {
                *known = Some(slot as u32);
                routes
                    .next
                    .extend(towards(destination, hosts, hops, &entering));
            }
        }
        routes
    }

    /// Where the row of a destination starts; to be passed to `next`.
    pub fn row(&self, destination: u32) -> usize {
        let slot = self.slot_of_destination[destination as usize];
        slot.expect("routes were made for every destination") as usize * self.hosts
    }

    /// The link to take at `host`, or `UNREACHABLE`.
    #[inline]
    pub fn next(&self, row: usize, host: u32) -> u32 {
        self.next[row + host as usize]
    }

    /// The links from `from` to the destination of `row`; None when it cannot be reached.
    pub fn path(&self, hops: &[Hop], row: usize, from: u32, destination: u32) -> Option<Vec<u32>> {
        let mut path = Vec::new();
        let mut host = from;
        while host != destination {
            let link = self.next(row, host);
            if link == UNREACHABLE {
                return None;
            }
            path.push(link);
            host = hops[link as usize].to;
        }
        Some(path)
    }
}

/// Breadth first from the destination; a host takes the earliest link to a host one hop nearer.
fn towards(destination: u32, hosts: usize, hops: &[Hop], entering: &[Vec<u32>]) -> Vec<u32> {
    let mut distance = vec![u32::MAX; hosts];
    let mut next = vec![UNREACHABLE; hosts];
    distance[destination as usize] = 0;
    let mut queue = VecDeque::from([destination]);
    while let Some(host) = queue.pop_front() {
        for &link in &entering[host as usize] {
            let from = hops[link as usize].from as usize;
            if distance[from] == u32::MAX {
                distance[from] = distance[host as usize] + 1;
                queue.push_back(from as u32);
            }
            if distance[from] == distance[host as usize] + 1 {
                next[from] = next[from].min(link);
            }
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both_ways(pairs: &[(u32, u32)]) -> Vec<Hop> {
        let hops = pairs
            .iter()
            .flat_map(|&(a, b)| [Hop { from: a, to: b }, Hop { from: b, to: a }]);
        hops.collect()
    }

    #[test]
    fn a_ring_of_four_takes_the_earlier_link_on_ties() {
        let hops = both_ways(&[(0, 1), (1, 2), (2, 3), (3, 0)]);
        let routes = Routes::new(4, &hops, [2]);
        let row = routes.row(2);
        assert_eq!(routes.path(&hops, row, 0, 2), Some(vec![0, 2]));
        assert_eq!(routes.path(&hops, row, 3, 2), Some(vec![5]));
        assert_eq!(routes.path(&hops, row, 2, 2), Some(vec![]));
    }

    #[test]
    fn an_island_is_unreachable() {
        let hops = both_ways(&[(0, 1), (2, 3)]);
        let routes = Routes::new(4, &hops, [3, 3]);
        assert_eq!(routes.path(&hops, routes.row(3), 0, 3), None);
    }
}
