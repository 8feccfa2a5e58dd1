//! Lindley's recursion: the minimum arithmetic that gives the same delays, with the engine's own sampler and
//! histogram. No events, packets or queue: a lower bound, not a simulator.

use crate::workload::{ARRIVALS_PER_S, FLOW, LINK_BPS, MEAN_SIZE_BYTES, Workload};
use dumbbell_engine::sim::histogram::Histogram;
use dumbbell_engine::sim::random::Stream;
use std::hint::black_box;

const PICOSECONDS_PER_S: f64 = 1e12;

/// What the loop delivers.
pub struct Sojourns {
    /// How many packets left in time.
    pub packets: u64,
    total_s: f64,
}

impl Sojourns {
    /// Mean sojourn time, seconds.
    pub fn mean_s(&self) -> f64 {
        self.total_s / self.packets as f64
    }
}

/// `W' = max(0, W + S - A)` over the arrivals of the work's duration.
///
/// D. V. Lindley, "The theory of queues with a single server", 1952.
pub fn lindley(work: &Workload) -> Sojourns {
    let mut gaps = Stream::new(work.seed, 0, &format!("flow/{FLOW}/gap"));
    let mut sizes = Stream::new(work.seed, 0, &format!("flow/{FLOW}/size"));
    let mut histogram = Histogram::default();
    let (mean_gap_s, mean_service_s) = (1.0 / ARRIVALS_PER_S, MEAN_SIZE_BYTES * 8.0 / LINK_BPS);
    let end_s = work.duration_ns() as f64 / 1e9;
    let mut sojourns = Sojourns {
        packets: 0,
        total_s: 0.0,
    };
    let mut wait_s = 0.0_f64;
    let mut now_s = gaps.exponential() * mean_gap_s;
    while now_s < end_s {
        let sojourn_s = wait_s + sizes.exponential() * mean_service_s;
        let gap_s = gaps.exponential() * mean_gap_s;
        if now_s + sojourn_s < end_s {
            sojourns.packets += 1;
            sojourns.total_s += sojourn_s;
            histogram.record((sojourn_s * PICOSECONDS_PER_S) as u64);
        }
        wait_s = (sojourn_s - gap_s).max(0.0);
        now_s += gap_s;
    }
    black_box(&histogram);
    sojourns
}
