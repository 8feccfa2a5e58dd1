//! Tables of queues.

use super::Report;
use super::table_builder::{NONE, TableBuilder};
use crate::netlink::QdiscCounters;
use crate::paths;
use crate::records::QueueCounters;
use crate::replay::{ReplayedQueue, Sample};
use dumbbell_core::histogram::Histogram;
use dumbbell_core::link_statistics::Level;
use dumbbell_core::table::Table;
use dumbbell_core::time::PS_PER_S;

/// PIE counts its probability in parts of 2^64.
const PARTS: f64 = 18_446_744_073_709_551_616.0;

impl Report<'_> {
    pub(super) fn queues(&self) -> Table {
        let mut rows = TableBuilder::new("queues")
            .i32(&["queue"])
            .i64(&[
                "arrived_pkts",
                "arrived_bytes",
                "departed_pkts",
                "departed_bytes",
                "dropped_overlimit_pkts",
                "dropped_overlimit_bytes",
                "dropped_aqm_pkts",
                "dropped_aqm_bytes",
                "policed_pkts",
                "policed_bytes",
                "lost_pkts",
                "marked_pkts",
            ])
            .f64(&["measured_s", "busy_s"])
            .i64(&["sojourn_count"])
            .f64(&["sojourn_mean_s", "sojourn_sd_s"])
            .i64(&["sojourn_min_ns", "sojourn_max_ns"])
            .f64(&["wait_mean_s", "wait_sd_s"])
            .i64(&["wait_max_ns"])
            .f64(&[
                "system_mean_pkts",
                "backlog_mean_pkts",
                "backlog_mean_bytes",
            ])
            .i64(&["system_max_pkts", "backlog_max_pkts", "backlog_max_bytes"]);
        for (index, replayed) in self.queues.iter().enumerate() {
            rows.put(index as i64);
            match replayed {
                Some(replayed) => self.known_queue(&mut rows, index, replayed),
                None => {
                    let counters = &self.records;
                    let between = (counters.at_warm_up[index], counters.at_end[index]);
                    let end = self.experiment.link_ends().nth(index);
                    let passes = end.is_some_and(|(_, _, end)| !paths::holds(end));
                    let is_observed = self.is_observed[index];
                    self.counted_queue(&mut rows, passes, is_observed, between);
                }
            }
        }
        rows.table()
    }

    fn known_queue(&self, rows: &mut TableBuilder, index: usize, replayed: &ReplayedQueue) {
        let statistics = &replayed.statistics;
        let (levels, mut counted) = (&statistics.levels, statistics.measured());
        // What a packet was dropped for is not seen; the kernel counts it. Nor is a mark on a packet that
        // is dropped later, nor any where packets follow from a schedule.
        let (before, after) = (self.records.at_warm_up[index], self.records.at_end[index]);
        let all = counted.dropped_overlimit_pkts;
        let (_, _, end) = self.experiment.link_ends().nth(index).expect("a queue");
        // A policer's drops are in no discipline's count.
        let by_queue = match end.police {
            Some(_) => between(before.0.drops, after.0.drops).min(all),
            None => all,
        };
        counted.policed_pkts = all - by_queue;
        if !self.marks_are_seen(index, &after.0) {
            counted.marked_pkts = between(before.0.own.marked, after.0.own.marked);
        }
        let by_algorithm = by_algorithm(&before.0, &after.0);
        counted.dropped_aqm_pkts = by_algorithm.min(by_queue);
        counted.dropped_overlimit_pkts = by_queue - counted.dropped_aqm_pkts;
        let bytes = counted.dropped_overlimit_bytes as i64;
        // Of which bytes were dropped for what, only an answer for all of them is known.
        let bytes_of = |pkts: u64| match pkts {
            0 => 0,
            _ if pkts == all => bytes,
            _ => NONE,
        };
        let overlimit_bytes = bytes_of(counted.dropped_overlimit_pkts);
        let aqm_bytes = bytes_of(counted.dropped_aqm_pkts);
        let policed_bytes = bytes_of(counted.policed_pkts);
        let lost = between(before.1.drops, after.1.drops);
        let measured_ps = (self.end - self.warm_up).0;
        let mean = |integral: u128| integral as f64 / measured_ps as f64;
        let (sojourn, wait) = (&statistics.sojourn, &statistics.wait);
        rows.count(counted.arrived_pkts)
            .count(counted.arrived_bytes)
            .count(counted.departed_pkts)
            .count(counted.departed_bytes)
            .count(counted.dropped_overlimit_pkts)
            .put(overlimit_bytes)
            .count(counted.dropped_aqm_pkts)
            .put(aqm_bytes)
            .count(counted.policed_pkts)
            .put(policed_bytes)
            .count(lost)
            .count(counted.marked_pkts)
            .real(measured_ps as f64 / PS_PER_S as f64);
        if !self.is_observed[index] {
            times_unknown(rows);
            return;
        }
        rows.real(levels.busy() as f64 / PS_PER_S as f64)
            .count(sojourn.count())
            .real(sojourn.mean_seconds())
            .real(sojourn.sd_seconds())
            .instant(sojourn.min())
            .instant(sojourn.max())
            .real(wait.mean_seconds())
            .real(wait.sd_seconds())
            .instant(wait.max())
            .real(mean(levels.system))
            .real(mean(levels.backlog()))
            .real(mean(levels.backlog_bytes))
            .count(u64::from(levels.max.system_pkts))
            .count(u64::from(levels.max.backlog_pkts))
            .count(levels.max.backlog_bytes);
    }

    /// Whether marks are those seen at packets, because the discipline's counter is not of packets.
    fn marks_are_seen(&self, index: usize, counters: &QdiscCounters) -> bool {
        self.is_watched[index] && counters.own.miscounts_marks
    }

    /// Of a queue whose packets are not known: what the kernel counted.
    fn counted_queue(
        &self,
        rows: &mut TableBuilder,
        passes: bool,
        is_observed: bool,
        counters: (QueueCounters, QueueCounters),
    ) {
        let ((before, before_loss), (after, after_loss)) = counters;
        let departed = after.packets - before.packets;
        let departed_bytes = after.bytes - before.bytes;
        let dropped = between(before.drops, after.drops);
        let by_algorithm = by_algorithm(&before, &after).min(dropped);
        let lost = between(before_loss.drops, after_loss.drops);
        let held = i64::from(after.backlog_pkts) - i64::from(before.backlog_pkts);
        let held_bytes = i64::from(after.backlog_bytes) - i64::from(before.backlog_bytes);
        // The kernel counts dropped packets, not their bytes.
        let unless_dropped = |bytes: i64| if dropped == 0 { bytes } else { NONE };
        let measured_ps = (self.end - self.warm_up).0;
        // Through a queue that never holds any, every packet passes at once.
        let (unknown, none) = if passes { (0.0, 0) } else { (f64::NAN, NONE) };
        rows.put((departed + dropped) as i64 + held)
            .put(unless_dropped(departed_bytes as i64 + held_bytes))
            .count(departed)
            .count(departed_bytes)
            .count(dropped - by_algorithm)
            .put(unless_dropped(0))
            .count(by_algorithm)
            .put(unless_dropped(0))
            .put(0)
            .put(0)
            .count(lost)
            .count(between(before.own.marked, after.own.marked))
            .real(measured_ps as f64 / PS_PER_S as f64);
        if !is_observed {
            times_unknown(rows);
            return;
        }
        rows.real(unknown)
            .count(if passes { departed } else { 0 })
            .real(unknown)
            .real(unknown)
            .put(none)
            .put(none)
            .real(unknown)
            .real(unknown)
            .put(none)
            .real(unknown)
            .real(unknown)
            .real(unknown)
            .put(none)
            .put(none)
            .put(none);
    }

    pub(super) fn distributions(&self) -> Table {
        let mut rows = TableBuilder::new("distributions")
            .i32(&["queue"])
            .i8(&["quantity"])
            .f64(&["low", "high", "weight"]);
        let ns = |ps: u64| ps as f64 / 1e3;
        for (index, replayed) in self.queues.iter().enumerate() {
            let Some(ReplayedQueue { statistics, .. }) = replayed else {
                continue;
            };
            if !self.is_observed[index] {
                continue;
            }
            let mut bins = |quantity: i64, histogram: &Histogram| {
                for (low, high, count) in histogram.bins() {
                    rows.put(index as i64).put(quantity);
                    rows.real(ns(low)).real(ns(high)).real(count as f64);
                }
            };
            bins(0, &statistics.sojourn_histogram);
            bins(1, &statistics.wait_histogram);
            for (packets, &ps) in statistics.levels.occupancy.iter().enumerate() {
                if ps > 0 {
                    let (low, seconds) = (packets as f64, ps as f64 / PS_PER_S as f64);
                    rows.put(index as i64).put(2);
                    rows.real(low).real(low + 1.0).real(seconds);
                }
            }
        }
        rows.table()
    }

    pub(super) fn queue_samples(&self) -> Table {
        let mut rows = TableBuilder::new("queue_samples")
            .i64(&["t_ns"])
            .i32(&["queue"])
            .i64(&[
                "system_pkts",
                "backlog_pkts",
                "backlog_bytes",
                "departed_pkts",
                "departed_bytes",
                "dropped_pkts",
            ])
            .f64(&["sojourn_sum_s", "system_integral_pkt_s"])
            .i64(&["marked_pkts"])
            .f64(&["drop_probability"])
            .i64(&["delay_estimate_ns"]);
        for (number, (time, counters)) in self.records.samples.iter().enumerate() {
            for (index, replayed) in self.queues.iter().enumerate() {
                let known = replayed
                    .as_ref()
                    .and_then(|known| known.samples.get(number));
                let sample = known
                    .copied()
                    .unwrap_or_else(|| counted_sample(&counters[index].0));
                let if_observed = |sum: f64| match self.is_observed[index] {
                    true => sum,
                    false => f64::NAN,
                };
                let own = &counters[index].0.own;
                let marked_pkts = match self.marks_are_seen(index, &counters[index].0) {
                    true => sample.marked_pkts,
                    false => u64::from(own.marked),
                };
                let probability = own.drop_probability.map(|parts| parts as f64 / PARTS);
                rows.instant(Some(*time))
                    .put(index as i64)
                    .count(u64::from(sample.level.system_pkts))
                    .count(u64::from(sample.level.backlog_pkts))
                    .count(sample.level.backlog_bytes)
                    .count(sample.departed_pkts)
                    .count(sample.departed_bytes)
                    .count(sample.dropped_pkts)
                    .real(if_observed(sample.sojourn_sum_s))
                    .real(if_observed(sample.system_integral_pkt_s))
                    .count(marked_pkts)
                    .real(probability.unwrap_or(f64::NAN))
                    .put(own.delay_ns.map_or(NONE, |ns| ns as i64));
            }
        }
        rows.table()
    }
}

/// Times and levels of a queue that is not observed: the columns from `busy_s` on.
fn times_unknown(rows: &mut TableBuilder) {
    rows.real(f64::NAN).put(NONE).real(f64::NAN).real(f64::NAN);
    rows.put(NONE).put(NONE).real(f64::NAN).real(f64::NAN);
    rows.put(NONE);
    rows.real(f64::NAN).real(f64::NAN).real(f64::NAN);
    rows.put(NONE).put(NONE).put(NONE);
}

/// What a counter has counted; it may have wrapped.
fn between(before: u32, after: u32) -> u64 {
    u64::from(after.wrapping_sub(before))
}

/// Packets dropped by a discipline's algorithm; none if cake went over its limit of memory meanwhile.
fn by_algorithm(before: &QdiscCounters, after: &QdiscCounters) -> u64 {
    let (before, after) = (&before.own, &after.own);
    match after.dropped_by_algorithm {
        0 => 0,
        dropped => between(before.dropped_by_algorithm, dropped),
    }
}

/// A sample of a queue whose packets are not known: the transmitter is not seen.
fn counted_sample(counted: &QdiscCounters) -> Sample {
    Sample {
        level: Level {
            system_pkts: counted.backlog_pkts,
            backlog_pkts: counted.backlog_pkts,
            backlog_bytes: u64::from(counted.backlog_bytes),
        },
        departed_pkts: counted.packets,
        departed_bytes: counted.bytes,
        dropped_pkts: u64::from(counted.drops),
        marked_pkts: u64::from(counted.own.marked),
        sojourn_sum_s: f64::NAN,
        system_integral_pkt_s: f64::NAN,
    }
}
