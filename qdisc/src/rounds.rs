//! Deficit round robin (M. Shreedhar and G. Varghese, "Efficient Fair Queuing using Deficit Round Robin",
//! SIGCOMM 1995) over disciplines; what `drr` and the sharing bands of `ets` have in common.
//!
//! | clause | here |
//! | --- | --- |
//! | the first class of the active list sends, if its packet is no longer than its deficit | yes |
//! | else its deficit grows by its quantum and the next class's turn comes | yes |
//! | a class that gets a packet while it has none goes to the end of the list with a whole quantum | yes, as in Linux; in the paper the deficit begins at 0 |
//! | a class that is empty leaves the list and its deficit | yes |
//! | a class that shapes holds back those behind it while its turn lasts (tc-drr(8)) | yes |

use super::{Child, Dequeued, Events};
use dumbbell_core::time::Time;
use std::collections::VecDeque;

/// Whose turn it is.
#[derive(Debug, Clone)]
pub struct Rounds {
    turns: Vec<Turn>,
    /// Classes with packets, in the order of their turns.
    active: VecDeque<usize>,
    overhead_bytes: u32,
}

#[derive(Debug, Clone)]
struct Turn {
    quantum_bytes: u64,
    deficit_bytes: u64,
    is_active: bool,
}

impl Turn {
    /// Whether a packet may be sent in this turn; if it may, its bytes are taken off.
    fn takes(&mut self, bytes: u64) -> bool {
        let left = self.deficit_bytes.checked_sub(bytes);
        self.deficit_bytes = left.unwrap_or(self.deficit_bytes + self.quantum_bytes);
        left.is_some()
    }

    /// In how many further turns a packet is still too long.
    fn turns_without(&self, bytes: u64) -> u64 {
        let missing = bytes.saturating_sub(self.deficit_bytes);
        missing.div_ceil(self.quantum_bytes)
    }
}

impl Rounds {
    /// Of classes with these quanta, all empty.
    pub fn new(quanta_bytes: impl Iterator<Item = u32>, overhead_bytes: u32) -> Rounds {
        let turns = quanta_bytes.map(|quantum_bytes| Turn {
            quantum_bytes: u64::from(quantum_bytes),
            deficit_bytes: 0,
            is_active: false,
        });
        Rounds {
            turns: turns.collect(),
            active: VecDeque::new(),
            overhead_bytes,
        }
    }

    /// Notes that a class has taken a packet.
    pub fn filled(&mut self, class: usize) {
        let turn = &mut self.turns[class];
        if !turn.is_active {
            turn.is_active = true;
            turn.deficit_bytes = turn.quantum_bytes;
            self.active.push_back(class);
        }
    }

    fn leave(&mut self, class: usize) {
        self.turns[class].is_active = false;
        self.active.pop_front();
    }

    /// The packet of the class whose turn it is; `classes` has what queues in each.
    pub fn dequeue(&mut self, classes: &mut [Child], now: Time, events: &mut Events) -> Dequeued {
        let mut asked = 0;
        let mut turns_without = u64::MAX;
        while let Some(&class) = self.active.front() {
            let child = &mut classes[class];
            let packet = match child.peek(now, events) {
                Dequeued::Packet(packet) => packet,
                // Whoever has to wait keeps its turn.
                later @ Dequeued::NotBefore(_) => return later,
                Dequeued::Empty => {
                    self.leave(class);
                    continue;
                }
            };
            let bytes = u64::from(packet.wire_bytes(self.overhead_bytes));
            let turn = &mut self.turns[class];
            if turn.takes(bytes) {
                let leaving = child.dequeue(now, events);
                if child.backlog().0 == 0 {
                    self.leave(class);
                }
                return leaving;
            }
            turns_without = turns_without.min(turn.turns_without(bytes));
            self.active.rotate_left(1);
            asked += 1;
            // Rounds in which nobody sends, at once: a quantum may be a byte.
            if asked == self.active.len() {
                for class in &self.active {
                    let turn = &mut self.turns[*class];
                    turn.deficit_bytes += turn.quantum_bytes * turns_without;
                }
                (asked, turns_without) = (0, u64::MAX);
            }
        }
        Dequeued::Empty
    }
}
