//! What is measured at one directed link, streamed as packets pass.
//!
//! Counters run from the start of the run. At the end of the warm-up a copy is kept, so that
//! the measured window is a difference and no packet is counted twice on its way. Delays
//! enter when a packet leaves, if it arrived after the warm-up.

mod crossings;
#[cfg(test)]
mod tests;

use crate::drop::{DropCause, DropReason};
use crate::histogram::Histogram;
use crate::moments::Moments;
use crate::time::Time;

pub use crossings::{CrossingRange, Server};

/// Packets and bytes (on the wire of this link) since the start of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkCounters {
    // Packets first and then bytes: of two neighbours the compiler makes a vector, and adding
    // to that takes three times the instructions of two additions.
    /// Offered to the queue.
    pub arrived_pkts: u64,
    /// Sent.
    pub departed_pkts: u64,
    /// Dropped because a limit was reached.
    pub dropped_overlimit_pkts: u64,
    /// Dropped early by the queue management.
    pub dropped_aqm_pkts: u64,
    /// Dropped by a policer.
    pub policed_pkts: u64,
    /// Lost by the link after they were sent.
    pub lost_pkts: u64,
    /// Lost by a discipline that is to lose packets: these were not sent.
    pub lost_in_queue_pkts: u64,
    /// Marked instead of dropped.
    pub marked_pkts: u64,
    /// Offered to the queue.
    pub arrived_bytes: u64,
    /// Sent.
    pub departed_bytes: u64,
    /// Dropped because a limit was reached.
    pub dropped_overlimit_bytes: u64,
    /// Dropped early by the queue management.
    pub dropped_aqm_bytes: u64,
    /// Dropped by a policer.
    pub policed_bytes: u64,
}

impl LinkCounters {
    /// A packet was offered to the queue.
    #[inline]
    pub fn arrived(&mut self, bytes: u32) {
        self.arrived_pkts += 1;
        self.arrived_bytes += u64::from(bytes);
    }

    /// A limit was reached: a packet that was offered is dropped.
    #[inline]
    pub fn refused(&mut self, bytes: u32) {
        self.dropped_overlimit_pkts += 1;
        self.dropped_overlimit_bytes += u64::from(bytes);
    }

    /// A packet is dropped.
    pub fn dropped(&mut self, bytes: u32, reason: DropReason) {
        match reason.cause() {
            DropCause::Limit => self.refused(bytes),
            DropCause::QueueManagement => {
                self.dropped_aqm_pkts += 1;
                self.dropped_aqm_bytes += u64::from(bytes);
            }
            DropCause::Policer => {
                self.policed_pkts += 1;
                self.policed_bytes += u64::from(bytes);
            }
            DropCause::Loss => self.lost_in_queue_pkts += 1,
        }
    }

    /// Everything that was dropped before it was sent, for whatever reason.
    pub fn dropped_pkts(&self) -> u64 {
        let decided = self.dropped_aqm_pkts + self.policed_pkts + self.lost_in_queue_pkts;
        self.dropped_overlimit_pkts + decided
    }

    /// What was counted since an earlier copy.
    pub fn since(&self, earlier: &LinkCounters) -> LinkCounters {
        LinkCounters {
            arrived_pkts: self.arrived_pkts - earlier.arrived_pkts,
            arrived_bytes: self.arrived_bytes - earlier.arrived_bytes,
            departed_pkts: self.departed_pkts - earlier.departed_pkts,
            departed_bytes: self.departed_bytes - earlier.departed_bytes,
            dropped_overlimit_pkts: self.dropped_overlimit_pkts - earlier.dropped_overlimit_pkts,
            dropped_overlimit_bytes: self.dropped_overlimit_bytes - earlier.dropped_overlimit_bytes,
            dropped_aqm_pkts: self.dropped_aqm_pkts - earlier.dropped_aqm_pkts,
            dropped_aqm_bytes: self.dropped_aqm_bytes - earlier.dropped_aqm_bytes,
            policed_pkts: self.policed_pkts - earlier.policed_pkts,
            policed_bytes: self.policed_bytes - earlier.policed_bytes,
            lost_pkts: self.lost_pkts - earlier.lost_pkts,
            lost_in_queue_pkts: self.lost_in_queue_pkts - earlier.lost_in_queue_pkts,
            marked_pkts: self.marked_pkts - earlier.marked_pkts,
        }
    }
}

/// How many packets and bytes are where, at one instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Level {
    /// Packets in the queue and in transmission.
    pub system_pkts: u32,
    /// Packets the discipline holds.
    pub backlog_pkts: u32,
    /// Bytes the discipline holds.
    pub backlog_bytes: u64,
}

/// Time at each number of packets in the system is kept up to here; above it, one bin.
const OCCUPANCY_CAP: usize = 1 << 16;

/// Exact integrals over time of the level.
#[derive(Debug, Clone, Default)]
pub struct LevelIntegrals {
    /// The latest change.
    since: Time,
    /// Where integrals begin that are kept as sums of times (`crossings`).
    base: Time,
    /// The level since then.
    pub current: Level,
    /// Integrals in packet picoseconds and byte picoseconds.
    pub system: u128,
    /// As above.
    pub backlog_bytes: u128,
    /// Packets of the system that are not in the backlog, packet picoseconds: a transmitter
    /// holds one at most, so this is a time.
    in_transmission: u64,
    /// Greatest levels.
    pub max: Level,
    /// Picoseconds at each number of packets in the system.
    pub occupancy: Vec<u64>,
}

impl LevelIntegrals {
    /// The level is `level` from `now` on.
    #[inline(always)]
    pub fn set(&mut self, now: Time, level: Level) {
        self.advance(now);
        self.current = level;
        // New maxima are rare.
        if level.system_pkts > self.max.system_pkts {
            self.raise_max();
        }
        if level.backlog_pkts > self.max.backlog_pkts {
            self.raise_max();
        }
        if level.backlog_bytes > self.max.backlog_bytes {
            self.raise_max();
        }
    }

    #[cold]
    #[inline(never)]
    fn raise_max(&mut self) {
        let level = self.current;
        self.max.system_pkts = self.max.system_pkts.max(level.system_pkts);
        self.max.backlog_pkts = self.max.backlog_pkts.max(level.backlog_pkts);
        self.max.backlog_bytes = self.max.backlog_bytes.max(level.backlog_bytes);
    }

    /// The level falls to `level`: as `set`, but there is no new maximum to look for.
    #[inline(always)]
    pub fn fall(&mut self, now: Time, level: Level) {
        self.advance(now);
        self.current = level;
    }

    /// The integral of packets in the backlog, packet picoseconds.
    pub fn backlog(&self) -> u128 {
        self.system - u128::from(self.in_transmission)
    }

    /// Time with a packet in the system, picoseconds.
    pub fn busy(&self) -> u64 {
        self.occupancy.iter().skip(1).sum()
    }

    /// Brings the integrals up to `now`.
    #[inline(always)]
    pub fn advance(&mut self, now: Time) {
        self.occupy(self.current.system_pkts, now);
        let span = (now - self.base).0;
        self.base = now;
        let level = self.current;
        let of = |level: u64| u128::from(level) * u128::from(span);
        self.system = self.system.wrapping_add(of(level.system_pkts.into()));
        self.backlog_bytes = self.backlog_bytes.wrapping_add(of(level.backlog_bytes));
        let sending = u64::from(level.system_pkts - level.backlog_pkts);
        self.in_transmission = self.in_transmission.wrapping_add(sending * span);
    }

    /// The time since the latest change was spent with `system_pkts` packets in the system.
    #[inline(always)]
    fn occupy(&mut self, system_pkts: u32, now: Time) {
        let span = (now - self.since).0;
        self.since = now;
        self.add_time(system_pkts, span);
    }

    #[inline(always)]
    fn add_time(&mut self, system_pkts: u32, span: u64) {
        match self.occupancy.get_mut(system_pkts as usize) {
            Some(time) => *time += span,
            None => self.occupy_new_bin(system_pkts as usize, span),
        }
    }

    #[cold]
    #[inline(never)]
    fn occupy_new_bin(&mut self, system_pkts: usize, span: u64) {
        if span == 0 {
            return;
        }
        let bin = system_pkts.min(OCCUPANCY_CAP);
        let bins = self.occupancy.len().max(bin + 1);
        self.occupancy.resize(bins, 0);
        self.occupancy[bin] += span;
    }

    /// Forgets everything but the level.
    pub fn restart(&mut self, now: Time) {
        *self = LevelIntegrals {
            since: now,
            base: now,
            current: self.current,
            max: self.current,
            ..LevelIntegrals::default()
        };
    }
}

/// What is kept of the packets of a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Observation {
    /// Counters, times and levels.
    #[default]
    Whole,
    /// Counters.
    CountersOnly,
}

/// Everything measured at one directed link.
#[derive(Debug, Clone, Default)]
pub struct LinkStatistics {
    /// What of it is kept; the rest says nothing.
    pub observation: Observation,
    /// Since the start of the run.
    pub total: LinkCounters,
    /// As they stood at the end of the warm-up.
    pub at_warm_up: LinkCounters,
    /// Integrals since the end of the warm-up.
    pub levels: LevelIntegrals,
    /// The integral of packets in the system up to the end of the warm-up.
    pub system_before_warm_up: u128,
    /// From arrival to the end of transmission.
    pub sojourn: Moments,
    /// From arrival to the start of transmission.
    pub wait: Moments,
    /// Picoseconds.
    pub sojourn_histogram: Histogram,
    /// Picoseconds.
    pub wait_histogram: Histogram,
    /// Sum of the sojourn times of packets that arrived before the warm-up ended, picoseconds.
    sojourn_before_warm_up: u128,
    /// Packets of the measured window that a queue which never holds any let through. Their
    /// sojourn times are zero; `finish` enters them all at once.
    passed_at_once: u64,
    repeated: RepeatedTimes,
}

/// Packets in a row of the measured window whose times were the same, as nearly all are on a link
/// that is mostly idle. They are entered together: when the times change, and by `finish`.
#[derive(Debug, Clone, Copy, Default)]
struct RepeatedTimes {
    sojourn: Time,
    wait: Time,
    pkts: u64,
}

impl RepeatedTimes {
    /// The sojourn time of those that did not wait; `NEVER` of others.
    #[inline(always)]
    fn sojourn_without_wait(&self) -> Time {
        match self.wait {
            Time::ZERO => self.sojourn,
            _ => Time::NEVER,
        }
    }
}

impl LinkStatistics {
    /// Of a link that nothing has come to.
    pub fn new(observation: Observation) -> LinkStatistics {
        LinkStatistics {
            observation,
            ..LinkStatistics::default()
        }
    }

    /// Whether times and levels are kept.
    #[inline(always)]
    pub fn is_whole(&self) -> bool {
        self.observation == Observation::Whole
    }

    /// The level is another from `now` on; it may be a new maximum.
    #[inline(always)]
    pub fn set_level(&mut self, now: Time, level: impl FnOnce() -> Level) {
        if self.is_whole() {
            self.levels.set(now, level());
        }
    }

    /// The level falls.
    #[inline(always)]
    pub fn fall_to_level(&mut self, now: Time, level: impl FnOnce() -> Level) {
        if self.is_whole() {
            self.levels.fall(now, level());
        }
    }

    /// A packet left; it arrived at `arrived` and its own transmission took `service`.
    #[inline(always)]
    pub fn departed(&mut self, bytes: u32, arrived: Time, service: Time, now: Time, warm_up: Time) {
        self.total.departed_pkts += 1;
        self.total.departed_bytes += u64::from(bytes);
        if !self.is_whole() {
            return;
        }
        let sojourn = now - arrived;
        self.measure(arrived, sojourn, sojourn.saturating_sub(service), warm_up);
    }

    /// The times of a packet that left.
    #[inline(always)]
    fn measure(&mut self, arrived: Time, sojourn: Time, wait: Time, warm_up: Time) {
        if arrived >= warm_up {
            if sojourn != self.repeated.sojourn || wait != self.repeated.wait {
                self.enter_repeated();
                (self.repeated.sojourn, self.repeated.wait) = (sojourn, wait);
            }
            self.repeated.pkts += 1;
        } else {
            self.sojourn_before_warm_up += u128::from(sojourn.0);
        }
    }

    #[inline(always)]
    fn enter_repeated(&mut self) {
        let RepeatedTimes {
            sojourn,
            wait,
            pkts,
        } = self.repeated;
        if pkts == 1 {
            self.sojourn.push(sojourn);
            self.wait.push(wait);
            self.sojourn_histogram.record(sojourn.0);
            self.wait_histogram.record(wait.0);
        } else {
            self.enter_many(sojourn, wait, pkts);
        }
        self.repeated.pkts = 0;
    }

    #[inline(never)]
    fn enter_many(&mut self, sojourn: Time, wait: Time, pkts: u64) {
        self.sojourn.push_many(sojourn, pkts);
        self.wait.push_many(wait, pkts);
        self.sojourn_histogram.record_many(sojourn.0, pkts);
        self.wait_histogram.record_many(wait.0, pkts);
    }

    /// A packet went through a queue that never holds any.
    #[inline]
    pub fn passed(&mut self, bytes: u32, now: Time, warm_up: Time) {
        self.total.arrived_pkts += 1;
        self.total.arrived_bytes += u64::from(bytes);
        self.total.departed_pkts += 1;
        self.total.departed_bytes += u64::from(bytes);
        self.passed_at_once += u64::from(now >= warm_up);
    }

    /// The run is over.
    pub fn finish(&mut self, end: Time) {
        self.levels.advance(end);
        let passed = std::mem::take(&mut self.passed_at_once);
        self.enter_many(Time::ZERO, Time::ZERO, passed);
        self.enter_repeated();
    }

    /// The warm-up is over.
    pub fn start_measuring(&mut self, now: Time) {
        self.levels.advance(now);
        self.system_before_warm_up = self.levels.system;
        self.at_warm_up = self.total;
        self.levels.restart(now);
    }

    /// Counters of the measured window.
    pub fn measured(&self) -> LinkCounters {
        self.total.since(&self.at_warm_up)
    }

    /// Sum of all sojourn times since the start of the run, picoseconds.
    pub fn sojourn_total(&self) -> u128 {
        let repeated = u128::from(self.repeated.sojourn.0) * u128::from(self.repeated.pkts);
        self.sojourn_before_warm_up + self.sojourn.sum() + repeated
    }

    /// The integral of packets in the system since the start of the run, packet picoseconds.
    pub fn system_integral(&self) -> u128 {
        self.system_before_warm_up + self.levels.system
    }
}
