//! Statistics of one directed link, updated as packets pass.
//!
//! Counters run from the start of the run. A copy is kept at the end of the warm-up, so the measured window
//! is a difference and no packet is counted twice. Delays are recorded when a packet leaves, if it arrived
//! after the warm-up.

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
    // All packet counters first, then all byte counters: the compiler would turn two neighbouring additions
    // into a vector operation that takes three times the instructions.
    /// Offered to the queue.
    pub arrived_pkts: u64,
    /// Sent.
    pub departed_pkts: u64,
    /// Dropped because a limit was reached.
    pub dropped_overlimit_pkts: u64,
    /// Dropped early by active queue management.
    pub dropped_aqm_pkts: u64,
    /// Dropped by a policer.
    pub policed_pkts: u64,
    /// Lost by the link after transmission.
    pub lost_pkts: u64,
    /// Lost by a discipline with a loss model, before transmission.
    pub lost_in_queue_pkts: u64,
    /// Marked instead of dropped.
    pub marked_pkts: u64,
    /// Offered to the queue.
    pub arrived_bytes: u64,
    /// Sent.
    pub departed_bytes: u64,
    /// Dropped because a limit was reached.
    pub dropped_overlimit_bytes: u64,
    /// Dropped early by active queue management.
    pub dropped_aqm_bytes: u64,
    /// Dropped by a policer.
    pub policed_bytes: u64,
}

impl LinkCounters {
    /// Counts a packet offered to the queue.
    #[inline]
    pub fn arrived(&mut self, bytes: u32) {
        self.arrived_pkts += 1;
        self.arrived_bytes += u64::from(bytes);
    }

    /// Counts an offered packet that is dropped at a limit.
    #[inline]
    pub fn refused(&mut self, bytes: u32) {
        self.dropped_overlimit_pkts += 1;
        self.dropped_overlimit_bytes += u64::from(bytes);
    }

    /// Counts a dropped packet.
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

    /// All packets dropped before transmission, for any reason.
    pub fn dropped_pkts(&self) -> u64 {
        let decided = self.dropped_aqm_pkts + self.policed_pkts + self.lost_in_queue_pkts;
        self.dropped_overlimit_pkts + decided
    }

    /// The counts since an earlier copy.
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

/// Packets and bytes in the system at one instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Level {
    /// Packets in the queue and in transmission.
    pub system_pkts: u32,
    /// Packets in the discipline.
    pub backlog_pkts: u32,
    /// Bytes in the discipline.
    pub backlog_bytes: u64,
}

/// Occupancy is recorded for each number of packets up to this; larger numbers share one bin.
const OCCUPANCY_CAP: usize = 1 << 16;

/// Exact time integrals of the level.
#[derive(Debug, Clone, Default)]
pub struct LevelIntegrals {
    /// Time of the latest change.
    since: Time,
    /// Start of integrals that are kept as sums of times (`crossings`).
    base: Time,
    /// The level since `since`.
    pub current: Level,
    /// Integral of packets in the system, packet picoseconds.
    pub system: u128,
    /// Integral of the backlog, byte picoseconds.
    pub backlog_bytes: u128,
    /// Integral of packets in transmission, packet picoseconds: at most one at a time, so this is a time.
    in_transmission: u64,
    /// Maximum levels.
    pub max: Level,
    /// Time at each number of packets in the system, picoseconds.
    pub occupancy: Vec<u64>,
}

impl LevelIntegrals {
    /// Sets the level from `now` on.
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

    /// Sets a lower level: as `set`, without the check for a new maximum.
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

    /// Adds the time since the latest change to the occupancy of `system_pkts`.
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

    /// Resets everything but the level.
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

/// What is recorded for the packets of a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Observation {
    /// Counters, times and levels.
    #[default]
    Whole,
    /// Counters only.
    CountersOnly,
}

/// Everything measured at one directed link.
#[derive(Debug, Clone, Default)]
pub struct LinkStatistics {
    /// What is recorded; other fields are then meaningless.
    pub observation: Observation,
    /// Since the start of the run.
    pub total: LinkCounters,
    /// Counters at the end of the warm-up.
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
    /// Packets of the measured window that passed a queue which never holds any. Their sojourn times are 0;
    /// `finish` records them all at once.
    passed_at_once: u64,
    repeated: RepeatedTimes,
}

/// Consecutive packets of the measured window with equal times, as on a mostly idle link. They are recorded
/// together: when the times change, and by `finish`.
#[derive(Debug, Clone, Copy, Default)]
struct RepeatedTimes {
    sojourn: Time,
    wait: Time,
    pkts: u64,
}

impl RepeatedTimes {
    /// The sojourn time if the packets did not wait; `NEVER` otherwise.
    #[inline(always)]
    fn sojourn_without_wait(&self) -> Time {
        match self.wait {
            Time::ZERO => self.sojourn,
            _ => Time::NEVER,
        }
    }
}

impl LinkStatistics {
    /// Statistics of an unused link.
    pub fn new(observation: Observation) -> LinkStatistics {
        LinkStatistics {
            observation,
            ..LinkStatistics::default()
        }
    }

    /// Whether times and levels are recorded.
    #[inline(always)]
    pub fn is_whole(&self) -> bool {
        self.observation == Observation::Whole
    }

    /// Sets the level from `now` on; it may be a new maximum.
    #[inline(always)]
    pub fn set_level(&mut self, now: Time, level: impl FnOnce() -> Level) {
        if self.is_whole() {
            self.levels.set(now, level());
        }
    }

    /// Sets a lower level.
    #[inline(always)]
    pub fn fall_to_level(&mut self, now: Time, level: impl FnOnce() -> Level) {
        if self.is_whole() {
            self.levels.fall(now, level());
        }
    }

    /// Records a departure: the packet arrived at `arrived` and its transmission took `service`.
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

    /// Records the times of a departed packet.
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

    /// Records a packet that passed a queue which never holds any.
    #[inline]
    pub fn passed(&mut self, bytes: u32, now: Time, warm_up: Time) {
        self.total.arrived_pkts += 1;
        self.total.arrived_bytes += u64::from(bytes);
        self.total.departed_pkts += 1;
        self.total.departed_bytes += u64::from(bytes);
        self.passed_at_once += u64::from(now >= warm_up);
    }

    /// Ends the run.
    pub fn finish(&mut self, end: Time) {
        self.levels.advance(end);
        let passed = std::mem::take(&mut self.passed_at_once);
        self.enter_many(Time::ZERO, Time::ZERO, passed);
        self.enter_repeated();
    }

    /// Ends the warm-up.
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
