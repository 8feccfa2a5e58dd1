//! The next event of components that have one pending event each: transmitters, propagation rings, sources.
//!
//! Winner trees over a fixed number of leaves. Each leaf has a turn, a number that orders events at the same
//! time, so the order depends neither on when events were scheduled nor on which others exist. Setting a leaf
//! costs one comparison per level, without a branch to mispredict.
//!
//! Links have a new event with nearly every packet and are few; flows have a timer that rarely moves and may
//! be many. So each of the two has a tree of its own, and the earlier of both winners is first: the cost of a
//! link's event does not grow with the number of flows.

use super::time::Time;
use std::hint::select_unpredictable;

/// A component's next event, and its turn among events at the same time.
#[derive(Debug, Clone, Copy)]
struct Node {
    time: Time,
    turn: u64,
}

impl Node {
    /// The earlier of two, by time, then turn.
    #[inline(always)]
    fn or_earlier(self, other: Node) -> Node {
        // As a 128-bit number the pair is compared without a branch.
        let key = |node: Node| u128::from(node.time.0) << 64 | u128::from(node.turn);
        let other_wins = key(other) < key(self);
        Node {
            time: Time(select_unpredictable(other_wins, other.time.0, self.time.0)),
            turn: select_unpredictable(other_wins, other.turn, self.turn),
        }
    }
}

/// The node of a missing leaf.
const NOBODY: Node = Node {
    time: Time::NEVER,
    turn: u64::MAX,
};

/// One winner tree.
#[derive(Debug, Clone)]
struct Bracket {
    /// A complete binary tree: the children of node `i` are `2i` and `2i + 1`, and node `i` is side `i % 2`
    /// of pair `i / 2`, because a node is compared only with its sibling.
    pairs: Vec<[Node; 2]>,
    /// Node 1, the root.
    winner: Node,
    first_leaf: usize,
}

impl Bracket {
    /// A tree with one leaf for each of these turns, with nothing pending.
    fn new(turns: &[u64]) -> Bracket {
        let first_leaf = turns.len().next_power_of_two().max(2);
        let mut tree = Bracket {
            pairs: vec![[NOBODY; 2]; first_leaf],
            winner: NOBODY,
            first_leaf,
        };
        for (leaf, turn) in turns.iter().enumerate() {
            let node = first_leaf + leaf;
            tree.pairs[node / 2][node % 2].turn = *turn;
            tree.set(leaf, Time::NEVER);
        }
        tree
    }

    /// Sets the time of a leaf's event.
    #[inline(always)]
    fn set(&mut self, leaf: usize, time: Time) {
        let mut node = self.first_leaf + leaf;
        let (mut pair, mut side) = (&mut self.pairs[node / 2], node % 2);
        let mut winner = Node {
            time,
            turn: pair[side].turn,
        };
        // Only the siblings along the path are read; the current winner stays in registers.
        loop {
            pair[side] = winner;
            winner = winner.or_earlier(pair[side ^ 1]);
            node /= 2;
            if node <= 1 {
                break;
            }
            (pair, side) = (&mut self.pairs[node / 2], node % 2);
        }
        self.winner = winner;
    }
}

/// The next event of each component.
#[derive(Debug, Clone)]
pub struct Tournament {
    /// The leaves that are set often.
    often: Bracket,
    often_leaves: usize,
    seldom: Bracket,
}

impl Tournament {
    /// One leaf for each of these turns, with nothing pending. The first `often` of them are set more often
    /// than the others.
    pub fn new(turns: &[u64], often: usize) -> Tournament {
        // A separate tree is not worthwhile for few leaves, or if it is hardly smaller.
        let often = if 2 * often < turns.len() && turns.len() > 4 {
            often
        } else {
            turns.len()
        };
        let (first, others) = turns.split_at(often);
        Tournament {
            often: Bracket::new(first),
            often_leaves: often,
            seldom: Bracket::new(others),
        }
    }

    /// Sets the time of a component's next event; `Time::NEVER` for none.
    #[inline(always)]
    pub fn set(&mut self, leaf: usize, time: Time) {
        if leaf < self.often_leaves {
            self.often.set(leaf, time);
        } else {
            self.set_seldom(leaf - self.often_leaves, time);
        }
    }

    #[inline(never)]
    fn set_seldom(&mut self, leaf: usize, time: Time) {
        self.seldom.set(leaf, time);
    }

    /// The turn of the earliest event among leaves that are set less often; `u64::MAX` for none.
    #[inline(always)]
    pub fn first_of_seldom(&self) -> u64 {
        self.seldom.winner.turn
    }

    /// The earliest event and its turn; the time is `NEVER` if nothing is pending.
    #[inline(always)]
    pub fn first(&self) -> (Time, u64) {
        let first = self.often.winner.or_earlier(self.seldom.winner);
        (first.time, first.turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn of_equal_times_the_lower_turn_is_first() {
        for often in 0..=5 {
            let mut tree = Tournament::new(&[10, 20, 30, 40, 50], often);
            tree.set(4, Time(7));
            tree.set(2, Time(7));
            assert_eq!(tree.first(), (Time(7), 30));
            tree.set(2, Time::NEVER);
            assert_eq!(tree.first(), (Time(7), 50));
            tree.set(1, Time(7));
            assert_eq!(tree.first(), (Time(7), 20));
            tree.set(1, Time::NEVER);
            tree.set(4, Time::NEVER);
            assert_eq!(tree.first().0, Time::NEVER);
        }
    }

    #[test]
    fn without_leaves_nothing_is_pending() {
        assert_eq!(Tournament::new(&[], 0).first().0, Time::NEVER);
    }

    proptest! {
        #[test]
        fn the_first_is_the_least_by_time_then_turn(
            turns in prop::collection::vec(any::<u64>(), 1..40),
            often in any::<prop::sample::Index>(),
            settings in prop::collection::vec((any::<prop::sample::Index>(), 0u64..20), 1..200),
        ) {
            let mut tree = Tournament::new(&turns, often.index(turns.len()));
            let mut model = vec![Time::NEVER; turns.len()];
            for (index, time) in settings {
                let leaf = index.index(turns.len());
                tree.set(leaf, Time(time));
                model[leaf] = Time(time);
                let expected = model.iter().copied().zip(turns.iter().copied()).min().unwrap();
                prop_assert_eq!(tree.first(), expected);
            }
        }
    }
}
