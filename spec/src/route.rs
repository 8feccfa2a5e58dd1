//! Static shortest-path routes.
//!
//! Paths are shortest in hops. Among equally short paths, each hop uses the link that is earliest in the
//! description, so routes do not depend on names or hashing.

/// A directed link end, as routing sees it.
#[derive(Debug, Clone, Copy)]
pub struct Hop {
    /// Host it leaves.
    pub from: u32,
    /// Host it enters.
    pub to: u32,
}

/// Marks a destination that cannot be reached.
pub const UNREACHABLE: u32 = u32::MAX;

/// The incoming links of each host.
struct Entering {
    /// Start index of each host's links; one more entry at the end.
    starts: Vec<usize>,
    /// Each link with the host it leaves, in the order of the description.
    links: Vec<(u32, u32)>,
}

impl Entering {
    fn new(hosts: usize, hops: &[Hop]) -> Entering {
        let mut starts = vec![0; hosts + 1];
        for hop in hops {
            starts[hop.to as usize + 1] += 1;
        }
        for host in 0..hosts {
            starts[host + 1] += starts[host];
        }
        let mut free = starts.clone();
        let mut links = vec![(0, 0); hops.len()];
        for (link, hop) in (0..).zip(hops) {
            let place = &mut free[hop.to as usize];
            links[*place] = (link, hop.from);
            *place += 1;
        }
        Entering { starts, links }
    }

    fn of(&self, host: u32) -> &[(u32, u32)] {
        let host = host as usize;
        &self.links[self.starts[host]..self.starts[host + 1]]
    }

    /// The host that all incoming links come from, and the first of the links.
    fn only_neighbour(&self, host: u32) -> Option<(u32, u32)> {
        let (first, others) = self.of(host).split_first()?;
        let (link, from) = *first;
        others
            .iter()
            .all(|(_, other)| *other == from)
            .then_some((from, link))
    }
}

/// A handle of the routes to a destination, for `Routes::next`.
///
/// A host with only one neighbour shares the table of that neighbour; the last hop is stored here. So there
/// are tables for the routers of a network and none for its many end hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteHandle {
    slot: u32,
    /// The neighbour, or no host.
    last_host: u32,
    last_link: u32,
}

/// The next link from each host to each destination.
#[derive(Debug, Clone, Default)]
pub struct Routes {
    handles: Vec<Option<RouteHandle>>,
    /// Indexed by host first, because packets of many conversations meet at one host.
    next: Vec<u32>,
    slots: usize,
}

impl Routes {
    /// Routes over `hops` to each of `destinations`.
    pub fn new(hosts: usize, hops: &[Hop], destinations: impl IntoIterator<Item = u32>) -> Routes {
        let entering = Entering::new(hosts, hops);
        let mut handles = vec![None; hosts];
        let mut slot_of_target = vec![None; hosts];
        let mut targets = Vec::new();
        for destination in destinations {
            let handle = &mut handles[destination as usize];
            if handle.is_some() {
                continue;
            }
            let neighbour = entering.only_neighbour(destination);
            let (target, last_host, last_link) = match neighbour {
                Some((host, link)) => (host, host, link),
                None => (destination, u32::MAX, UNREACHABLE),
            };
            let slot = *slot_of_target[target as usize].get_or_insert_with(|| {
                targets.push(target);
                targets.len() as u32 - 1
            });
            *handle = Some(RouteHandle {
                slot,
                last_host,
                last_link,
            });
        }
        let slots = targets.len();
        let mut next = vec![UNREACHABLE; hosts * slots];
        let mut search = Search::new(hosts);
        for (slot, target) in targets.into_iter().enumerate() {
            search.towards(target, &entering, |host, link| {
                let best = &mut next[host as usize * slots + slot];
                *best = link.min(*best);
            });
        }
        Routes {
            handles,
            next,
            slots,
        }
    }

    /// The handle of the routes to a destination.
    pub fn handle(&self, destination: u32) -> RouteHandle {
        self.handles[destination as usize].expect("routes were made for every destination")
    }

    /// The next link at `host`, which is not the destination; or `UNREACHABLE`.
    #[inline]
    pub fn next(&self, route: RouteHandle, host: u32) -> u32 {
        if host == route.last_host {
            return route.last_link;
        }
        self.next[host as usize * self.slots + route.slot as usize]
    }

    /// The links from `from` to the destination of `route`; None if it is unreachable.
    pub fn path(
        &self,
        hops: &[Hop],
        route: RouteHandle,
        from: u32,
        destination: u32,
    ) -> Option<Vec<u32>> {
        let mut path = Vec::new();
        let mut host = from;
        while host != destination {
            let link = self.next(route, host);
            if link == UNREACHABLE {
                return None;
            }
            path.push(link);
            host = hops[link as usize].to;
        }
        Some(path)
    }
}

/// Breadth-first search from a destination; buffers are reused.
struct Search {
    distance: Vec<u32>,
    queue: Vec<u32>,
}

impl Search {
    fn new(hosts: usize) -> Search {
        Search {
            distance: vec![u32::MAX; hosts],
            queue: Vec::with_capacity(hosts),
        }
    }

    /// Calls `found` for each link that leads one hop nearer.
    fn towards(&mut self, target: u32, entering: &Entering, mut found: impl FnMut(u32, u32)) {
        self.distance.fill(u32::MAX);
        self.queue.clear();
        self.distance[target as usize] = 0;
        self.queue.push(target);
        let mut done = 0;
        while let Some(&host) = self.queue.get(done) {
            done += 1;
            let nearer = self.distance[host as usize] + 1;
            for &(link, from) in entering.of(host) {
                let distance = &mut self.distance[from as usize];
                if *distance == u32::MAX {
                    *distance = nearer;
                    self.queue.push(from);
                }
                if *distance == nearer {
                    found(from, link);
                }
            }
        }
    }
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
        let row = routes.handle(2);
        assert_eq!(routes.path(&hops, row, 0, 2), Some(vec![0, 2]));
        assert_eq!(routes.path(&hops, row, 3, 2), Some(vec![5]));
        assert_eq!(routes.path(&hops, row, 2, 2), Some(vec![]));
    }

    /// A host with one neighbour has no table of its own and forwards nothing.
    #[test]
    fn ends_share_the_table_of_their_neighbour() {
        let hops = both_ways(&[(0, 1), (1, 2), (1, 3), (3, 1), (0, 2)]);
        let routes = Routes::new(4, &hops, [3, 1, 0]);
        assert_eq!(routes.slots, 2);
        let path = |from, to| routes.path(&hops, routes.handle(to), from, to);
        assert_eq!(path(0, 3), Some(vec![0, 4]));
        assert_eq!(path(2, 3), Some(vec![3, 4]));
        assert_eq!(path(3, 1), Some(vec![5]));
        assert_eq!(path(3, 0), Some(vec![5, 1]));
        assert_eq!(path(3, 3), Some(vec![]));
    }

    #[test]
    fn an_island_is_unreachable() {
        let hops = both_ways(&[(0, 1), (2, 3)]);
        let routes = Routes::new(4, &hops, [3, 3]);
        assert_eq!(routes.path(&hops, routes.handle(3), 0, 3), None);
    }
}
