//! The pending events of components that have one each: transmitters, propagation rings, sources.
//!
//! A winner tree over a fixed number of leaves. Leaves are numbered by (class, component), and
//! of two equal times the left one wins, so the order of events at one instant is (class,
//! component) and depends neither on when they were scheduled nor on which others exist.
//! Setting a leaf costs one comparison a level and has no branch to mispredict.

use super::time::Time;

#[derive(Debug, Clone, Copy)]
struct Node {
    time: Time,
    leaf: u32,
}

/// A winner tree of the next event of each component.
#[derive(Debug, Clone)]
pub struct Tournament {
    /// A complete binary tree: the root is 1, the children of `i` are `2i` and `2i + 1`. Node
    /// `i` is side `i % 2` of pair `i / 2`: a node is compared with its sibling only.
    pairs: Vec<[Node; 2]>,
    first_leaf: usize,
}

impl Tournament {
    /// A tree of `leaves` components with nothing pending.
    pub fn new(leaves: usize) -> Tournament {
        let first_leaf = leaves.next_power_of_two().max(2);
        let nothing = Node {
            time: Time::NEVER,
            leaf: 0,
        };
        let mut tree = Tournament {
            pairs: vec![[nothing; 2]; first_leaf],
            first_leaf,
        };
        for leaf in (0..first_leaf).rev() {
            tree.set(leaf, Time::NEVER);
        }
        tree
    }

    /// Says when the component's next event is; `Time::NEVER` for none.
    #[inline(always)]
    pub fn set(&mut self, leaf: usize, time: Time) {
        let mut at = self.first_leaf + leaf;
        let mut winner = Node {
            time,
            leaf: leaf as u32,
        };
        // Only the siblings along the way are read; the winner so far stays in registers.
        while at > 1 {
            let (pair, side) = (&mut self.pairs[at / 2], at % 2);
            pair[side] = winner;
            let sibling = pair[1 - side];
            let sibling_is_left = side == 1;
            let sibling_wins =
                sibling.time < winner.time || (sibling_is_left && sibling.time == winner.time);
            winner = if sibling_wins { sibling } else { winner };
            at /= 2;
        }
        self.pairs[0][1] = winner;
    }

    /// The earliest event and its leaf; the time is `NEVER` when nothing is pending.
    #[inline]
    pub fn first(&self) -> (Time, usize) {
        let root = self.pairs[0][1];
        (root.time, root.leaf as usize)
    }

    /// When the component's next event is.
    #[inline]
    pub fn time_of(&self, leaf: usize) -> Time {
        let node = self.first_leaf + leaf;
        self.pairs[node / 2][node % 2].time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn of_equal_times_the_lower_leaf_is_first() {
        let mut tree = Tournament::new(5);
        tree.set(4, Time(7));
        tree.set(2, Time(7));
        assert_eq!(tree.first(), (Time(7), 2));
        tree.set(2, Time::NEVER);
        assert_eq!(tree.first(), (Time(7), 4));
        tree.set(4, Time::NEVER);
        assert_eq!(tree.first().0, Time::NEVER);
    }

    proptest! {
        #[test]
        fn the_first_is_the_least_by_time_then_leaf(
            leaves in 1usize..40,
            settings in prop::collection::vec((any::<prop::sample::Index>(), 0u64..20), 1..200),
        ) {
            let mut tree = Tournament::new(leaves);
            let mut model = vec![Time::NEVER; leaves];
            for (index, time) in settings {
                let leaf = index.index(leaves);
                tree.set(leaf, Time(time));
                model[leaf] = Time(time);
                let expected = (0..leaves).map(|l| (model[l], l)).min().unwrap();
                prop_assert_eq!(tree.first(), expected);
            }
        }
    }
}
