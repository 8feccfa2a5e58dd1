//! Slightly smaller cases for shrinking, largest reductions first. The caller takes the first case
//! in which the two implementations still differ, and repeats.

use super::case::{Case, SHORTEST_RTT_US, SHORTEST_SPACING_US};

impl Case {
    /// Smaller cases, each with one element removed.
    pub fn shorter(&self) -> Vec<Case> {
        let mut found = Vec::new();
        let mut with = |change: &dyn Fn(&mut Case)| {
            let mut case = self.clone();
            change(&mut case);
            if case != *self {
                found.push(case);
            }
        };
        for part in [2, 4] {
            for at in 0..part {
                with(&|case| remove_part(&mut case.packets, part, at));
                with(&|case| remove_part(&mut case.acks, part, at));
            }
        }
        with(&|case| case.acks.clear());
        with(&|case| case.closes = false);
        for index in 0..self.writes.len() {
            with(&|case| {
                if case.writes.len() > 1 {
                    case.writes.remove(index);
                }
            });
        }
        for index in 0..self.writes.len() {
            with(&|case| case.writes[index].pkts = case.writes[index].pkts.div_ceil(2));
            with(&|case| case.writes[index].pkts = (case.writes[index].pkts - 1).max(1));
            with(&|case| case.writes[index].after_us = 0);
        }
        for index in 0..self.packets.len() {
            with(&|case| {
                case.packets.remove(index);
            });
        }
        for index in 0..self.acks.len() {
            with(&|case| {
                case.acks.remove(index);
            });
        }
        with(&|case| case.rtt_us = SHORTEST_RTT_US);
        with(&|case| case.spacing_us = SHORTEST_SPACING_US);
        with(&|case| case.ecn = false);
        with(&|case| case.timestamps = false);
        with(&|case| case.delays_acks = false);
        with(&|case| case.window_bytes = 400_000);
        with(&|case| case.probes = false);
        found
    }
}

/// Removes part `at` of `parts` equal parts.
fn remove_part<T>(all: &mut Vec<T>, parts: usize, at: usize) {
    let (first, last) = (all.len() * at / parts, all.len() * (at + 1) / parts);
    if all.len() >= parts {
        all.drain(first..last);
    }
}
