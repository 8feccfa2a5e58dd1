//! The merge in front of a link: packets of several upstream links, in order of arrival.
//!
//! Departures from the upstream links are known in advance, but a packet sent later may arrive earlier over a
//! shorter path. So arrivals wait upstream until all earlier ones are known. They enter together, before a
//! packet could leave the link, or when a host sends a packet into it (`sim/world/merged.rs`).

use super::turn::Turn;
use crate::sim::time::Time;
use crate::sim::tournament::Tournament;

/// The upstream links of a link, and their packets that have not entered it.
#[derive(Debug, Clone)]
pub struct Merge {
    /// The next packet of each upstream link with its turn, that of the event it would have.
    arrivals: Tournament,
    /// The minimum time of a packet through the link.
    least_time: Time,
    /// Its leaf in the world's tournament.
    pub leaf: usize,
}

impl Merge {
    /// No packets in propagation; the upstreams' packets arrive at these turns.
    pub fn new(turns: &[Turn], least_time: Time) -> Merge {
        let turns: Vec<u64> = turns.iter().map(|turn| turn.0).collect();
        Merge {
            arrivals: Tournament::new(&turns, turns.len()),
            least_time,
            leaf: usize::MAX,
        }
    }

    /// Sets the arrival of an upstream link's next packet; `NEVER` for none. Returns whether the first
    /// arrival may have changed.
    #[inline(always)]
    pub fn set(&mut self, upstream: u32, at: Time) -> bool {
        let before = self.arrivals.first();
        self.arrivals.set(upstream as usize, at);
        self.arrivals.first() != before
    }

    /// The first arrival with its turn, if it precedes this instant and turn.
    #[inline(always)]
    pub fn first_before(&self, bound: (Time, Turn)) -> Option<(Time, Turn)> {
        let (at, turn) = self.arrivals.first();
        let first = (at, Turn(turn));
        (first < bound).then_some(first)
    }

    /// Earliest time a packet still waiting here can leave the link, if the transmitter is
    /// busy until `busy_until`; `NEVER` when nothing waits.
    #[inline(always)]
    pub fn earliest_exit(&self, busy_until: Time) -> Time {
        let (at, _) = self.arrivals.first();
        at.max(busy_until).saturating_add(self.least_time)
    }
}

#[cfg(test)]
mod tests {
    use super::super::turn::class;
    use super::*;

    #[test]
    fn arrivals_are_in_the_order_of_time_then_turn() {
        let turns = [7, 9].map(|link| Turn::new(class::ARRIVAL, link));
        let mut merge = Merge::new(&turns, Time(5));
        assert_eq!(merge.earliest_exit(Time(1)), Time::NEVER);
        assert!(merge.set(1, Time(20)));
        assert!(!merge.set(0, Time(30)));
        assert!(merge.set(0, Time(20)));
        let host = (Time(20), Turn::new(class::ARRIVAL, 8));
        assert_eq!(merge.first_before(host), Some((Time(20), turns[0])));
        assert!(merge.set(0, Time::NEVER));
        assert_eq!(merge.first_before(host), None);
        assert_eq!(merge.earliest_exit(Time(1)), Time(25));
        assert_eq!(merge.earliest_exit(Time(22)), Time(27));
    }
}
