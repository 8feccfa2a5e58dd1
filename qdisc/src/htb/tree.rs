//! Selection of the next leaf of an htb tree: which classes are backlogged, from where they may borrow, and
//! whose turn it is.

use super::bucket::Mode;
use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

/// Levels of the tree (`TC_HTB_MAXDEPTH`): leaves are at 0, roots with children at 7.
pub const LEVELS: usize = 8;
/// Priorities of leaves.
const PRIORITIES: usize = 8;

/// Position of a class in the tree.
#[derive(Debug, Clone, Copy)]
pub struct ClassPosition {
    /// The parent class.
    pub parent: Option<usize>,
    /// The priority of a leaf; None for an inner class.
    pub leaf_priority: Option<usize>,
}

/// A round of classes that take turns.
#[derive(Debug, Clone, Default)]
struct Round {
    classes: BTreeSet<usize>,
    current: Option<usize>,
    /// The class whose turn it was when it left: it or its successor is next.
    resume: Option<usize>,
}

impl Round {
    /// The class whose turn it is; None at the end of the round.
    fn current(&mut self) -> Option<usize> {
        if let (None, Some(from)) = (self.current, self.resume) {
            self.current = self.classes.range(from..).next().copied();
        }
        self.resume = None;
        self.current
    }

    fn begin_again(&mut self) {
        self.current = self.classes.first().copied();
    }

    fn advance(&mut self) {
        let after = |class| self.classes.range((Excluded(class), Unbounded)).next();
        self.current = self.current.and_then(after).copied();
    }
}

#[derive(Debug, Clone)]
struct Node {
    place: ClassPosition,
    level: usize,
    mode: Mode,
    /// For a leaf: whether it is backlogged.
    is_active: bool,
    /// For an inner class: the children that borrow from it, by priority.
    borrowers: [Round; PRIORITIES],
}

/// The tree.
#[derive(Debug, Clone)]
pub struct Tree {
    nodes: Vec<Node>,
    /// By level and priority: the classes that can send or lend.
    rows: [[Round; PRIORITIES]; LEVELS],
}

/// Identifies a round in the tree.
#[derive(Debug, Clone, Copy)]
enum At {
    Row,
    Borrowers(usize),
}

impl Tree {
    /// A tree in which every class can send and is empty.
    pub fn new(places: &[ClassPosition]) -> Tree {
        let level = |index: usize| match places[index].leaf_priority {
            Some(_) => 0,
            None => {
                let above = std::iter::successors(places[index].parent, |up| places[*up].parent);
                LEVELS - 1 - above.count()
            }
        };
        let node = |(index, place): (usize, &ClassPosition)| Node {
            place: *place,
            level: level(index),
            mode: Mode::CanSend,
            is_active: false,
            borrowers: Default::default(),
        };
        Tree {
            nodes: places.iter().enumerate().map(node).collect(),
            rows: Default::default(),
        }
    }

    /// The level; 0 for leaves.
    pub fn level(&self, class: usize) -> usize {
        self.nodes[class].level
    }

    /// The parent class.
    pub fn parent(&self, class: usize) -> Option<usize> {
        self.nodes[class].place.parent
    }

    /// Priorities with a class that can send at this level, lowest first.
    pub fn priorities(&self, level: usize) -> impl Iterator<Item = usize> + use<> {
        let filled = self.rows[level]
            .each_ref()
            .map(|row| !row.classes.is_empty());
        (0..PRIORITIES).filter(move |priority| filled[*priority])
    }

    /// Sets whether a leaf is backlogged.
    pub fn set_active(&mut self, leaf: usize, is_active: bool) {
        if self.nodes[leaf].is_active != is_active {
            self.nodes[leaf].is_active = is_active;
            self.connect(leaf);
        }
    }

    /// Sets what a class may do.
    pub fn set_mode(&mut self, class: usize, mode: Mode) {
        if self.nodes[class].mode != mode {
            self.nodes[class].mode = mode;
            self.connect(class);
        }
    }

    /// Inserts a class where it belongs, for each backlogged priority: into the row of its level if it can
    /// send, into its parent's round if it must borrow.
    fn connect(&mut self, class: usize) {
        for priority in 0..PRIORITIES {
            let node = &self.nodes[class];
            let has_packets = match node.place.leaf_priority {
                Some(own) => own == priority && node.is_active,
                None => !node.borrowers[priority].classes.is_empty(),
            };
            let (mode, level, parent) = (node.mode, node.level, node.place.parent);
            self.set_in_row(class, level, priority, has_packets && mode == Mode::CanSend);
            if let Some(parent) = parent {
                let borrows = has_packets && mode == Mode::MayBorrow;
                self.set_borrower(class, parent, priority, borrows);
            }
        }
    }

    fn set_in_row(&mut self, class: usize, level: usize, priority: usize, belongs: bool) {
        let row = &mut self.rows[level][priority];
        if belongs {
            row.classes.insert(class);
        } else if row.classes.contains(&class) {
            if row.current == Some(class) {
                row.advance();
            }
            row.classes.remove(&class);
        }
    }

    fn set_borrower(&mut self, class: usize, parent: usize, priority: usize, belongs: bool) {
        let round = &mut self.nodes[parent].borrowers[priority];
        let was_empty = round.classes.is_empty();
        if belongs {
            round.classes.insert(class);
        } else if round.classes.remove(&class) && round.current == Some(class) {
            round.current = None;
            round.resume = Some(class);
        }
        if round.classes.is_empty() != was_empty {
            self.connect(parent);
        }
    }

    fn round(&mut self, at: At, level: usize, priority: usize) -> &mut Round {
        match at {
            At::Row => &mut self.rows[level][priority],
            At::Borrowers(class) => &mut self.nodes[class].borrowers[priority],
        }
    }

    /// The leaf whose turn it is among those that can send at this level and priority: by itself at level 0,
    /// by borrowing above.
    pub fn current_leaf(&mut self, level: usize, priority: usize) -> Option<usize> {
        if self.rows[level][priority].classes.is_empty() {
            return None;
        }
        let mut way = vec![At::Row];
        while let Some(at) = way.last().copied() {
            let Some(class) = self.round(at, level, priority).current() else {
                // The round has ended: start the next, and above it the next class has its turn.
                self.round(at, level, priority).begin_again();
                if way.len() > 1 {
                    way.pop();
                    let above = way[way.len() - 1];
                    self.round(above, level, priority).advance();
                }
                continue;
            };
            if self.nodes[class].place.leaf_priority.is_some() {
                return Some(class);
            }
            way.push(At::Borrowers(class));
        }
        None
    }

    /// Ends the turn of a leaf that sends at this level.
    pub fn advance(&mut self, leaf: usize, level: usize, priority: usize) {
        let parent = self.nodes[leaf].place.parent.filter(|_| level > 0);
        let at = parent.map_or(At::Row, At::Borrowers);
        self.round(at, level, priority).advance();
    }
}
