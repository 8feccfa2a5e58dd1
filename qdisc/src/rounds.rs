//! Deficit round robin (M. Shreedhar and G. Varghese, "Efficient Fair Queuing using Deficit Round Robin",
//! SIGCOMM 1995) over child disciplines; shared by `drr` and the sharing bands of `ets`.
//!
//! | clause | here |
//! | --- | --- |
//! | the first class of the active list sends, if its packet does not exceed its deficit | yes |
//! | otherwise its deficit grows by its quantum and it moves to the end of the list | yes |
//! | a class that becomes backlogged joins the end of the list with a whole quantum | yes, as in Linux; in the paper the deficit starts at 0 |
//! | a class that empties leaves the list and loses its deficit | yes |
//! | a class that shapes blocks those behind it while its turn lasts (tc-drr(8)) | yes |

use super::{Child, Dequeued, Events};
use dumbbell_core::time::Time;
use std::collections::VecDeque;

/// The state of the rounds.
#[derive(Debug, Clone)]
pub struct Rounds {
    turns: Vec<Turn>,
    /// Backlogged classes in the order of their turns.
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
    /// Whether a packet may be sent in this turn. If so, its bytes are charged.
    fn takes(&mut self, bytes: u64) -> bool {
        let left = self.deficit_bytes.checked_sub(bytes);
        self.deficit_bytes = left.unwrap_or(self.deficit_bytes + self.quantum_bytes);
        left.is_some()
    }

    /// Number of further turns in which a packet exceeds the deficit.
    fn turns_without(&self, bytes: u64) -> u64 {
        let missing = bytes.saturating_sub(self.deficit_bytes);
        missing.div_ceil(self.quantum_bytes)
    }
}

impl Rounds {
    /// Empty classes with these quanta.
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

    /// A class has enqueued a packet.
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

    /// The packet of the class whose turn it is; `classes` are the children.
    pub fn dequeue(&mut self, classes: &mut [Child], now: Time, events: &mut Events) -> Dequeued {
        let mut asked = 0;
        let mut turns_without = u64::MAX;
        while let Some(&class) = self.active.front() {
            let child = &mut classes[class];
            let packet = match child.peek(now, events) {
                Dequeued::Packet(packet) => packet,
                // A class that must wait keeps its turn.
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
            // Rounds in which no class sends are skipped at once: a quantum may be a byte.
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
