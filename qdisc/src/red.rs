//! `red`: random early detection (Floyd and Jacobson, IEEE/ACM Transactions on Networking 1(4),
//! 1993), by Linux's arithmetic (6.1, `include/net/red.h`, `net/sched/sch_red.c`).
//!
//! | clause | here | test |
//! | --- | --- | --- |
//! | paper, section 4: exponentially weighted average of the backlog at each arrival | yes, in bytes | `the_average_follows_with_its_weight` |
//! | section 4, figure 2: no drop below `min`, every packet dropped from `max` on | yes | `below_min_nothing_and_from_max_on_everything` |
//! | section 7: drops spaced uniformly by counting packets since the last one | yes, figure 17's method | `drops_are_uniform_between_the_thresholds` |
//! | section 4: average decays while the queue is idle | only if the discipline is polled while it is empty, see below | `the_average_decays_while_idle` |
//! | section 4: probability scaled by packet size | no, nor in Linux | |
//! | "gentle" above `max` (Floyd 2000) | no, nor in Linux | |
//! | adaptive: probability increased by min(0.01, p/4), or decreased to 0.9 p, every 500 ms (Floyd, Gummadi and Shenker 2001) | yes | `the_probability_adapts`, `adaptations_of_a_long_time_are_those_one_by_one` |
//! | ECN: marks, also above `max`, unless `harddrop`; `nodrop` | yes | `marks_in_place_of_drops` |
//! | `limit`: an inner byte FIFO | yes | `an_overloaded_queue_as_text` |
//! | another inner discipline (`parent`), `qevent`, `tc qdisc change` | no | |
//!
//! | parameter | Floyd's advice (1997) | tc |
//! | --- | --- | --- |
//! | max | 3 min | 3 min, or limit / 4 |
//! | burst | min / avpkt or more | (2 min + max) / (3 avpkt) |
//! | probability | 0.02, later 0.1 | 0.02 |
//! | bandwidth | that of the link | 10 Mbit/s |
//!
//! Two properties of the kernel that may surprise:
//! - Shapers (htb, tbf, and therefore a link with a finite rate) never poll an empty discipline. RED learns
//!   of an idle queue by being polled, so below a shaper its average does not decay over time, only with
//!   arrivals. In a band of a prio below a shaper it learns of it when a later band sends.
//! - iproute2 since 5.7 passes `adaptive` in an attribute that the kernel does not read when it starts the
//!   timer (`__red_change` reads the older field), so `adaptive` has no effect on a new queue there. Here it
//!   works as in the paper.

use super::fifo::Fifo;
use super::{Above, Build, Dequeued, Discipline, DropReason, Events, Setting, Statistics};
use dumbbell_core::packet::Packet;
use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;
use dumbbell_tc::qdisc::red::IdleTable;
use dumbbell_tc::qdisc::{Bfifo, Choke, Red as Config};

/// `RED_ONE_PERCENT`, in units of 2^-32.
const ONE_PERCENT: u32 = ((1 << 32) + 50u64).div_euclid(100) as u32;
/// Bounds of the adaptive probability.
const LEAST_ADAPTIVE: u32 = ONE_PERCENT;
const LARGEST_ADAPTIVE: u32 = 50 * ONE_PERCENT;
/// Period of adaptation.
const ADAPTATION_NS: u64 = 500_000_000;

/// Decision about an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Pass,
    /// Random drop or mark between the thresholds.
    Early,
    /// Drop or mark above the upper threshold.
    Forced,
}

/// Position of the average relative to Adaptive RED's target range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Above,
    Within,
    Below,
}

/// State of the average.
#[derive(Debug, Clone)]
pub(super) struct Average {
    /// The weight W is 2^-`weight_log2`.
    weight_log2: u32,
    /// Thresholds, with `weight_log2` fractional bits; in bytes here and below, or in packets for `choke`.
    min: u64,
    max: u64,
    /// Bytes between the thresholds.
    width_bytes: u32,
    /// Target range of the average (adaptive).
    target_bytes: (u64, u64),
    idle_table: IdleTable,
    /// Probability at `max`, in units of 2^-32, `max_P`.
    probability: u32,
    /// 2^32 / (bytes between packets dropped times bytes above `min`): the divisor that turns a random word
    /// into the paper's R.
    slope: u32,
    /// The average backlog in bytes, with `weight_log2` fractional bits, `qavg`.
    average: u64,
    /// Packets since the last drop or mark, `qcount`; -1 below `min`.
    count: i32,
    /// The random number that the count is compared with, `qR`.
    threshold: u32,
    idle_since: Option<Time>,
}

impl Average {
    fn new(config: &Config) -> Average {
        let thresholds = [config.min_bytes, config.max_bytes];
        let (weight_log2, idle_table) = (config.weight_log2(), config.idle_table());
        Average::between(
            thresholds,
            weight_log2,
            idle_table,
            config.probability_q32(),
        )
    }

    /// The average of a flow of `sfq`, which never decays: an idle flow has none.
    pub(super) fn of_flow(config: &Config) -> Average {
        Average {
            idle_since: None,
            ..Average::new(config)
        }
    }

    /// A new flow begins.
    pub(super) fn reset(&mut self) {
        (self.average, self.count) = (0, -1);
    }

    /// The average in packets, for `choke`.
    pub(super) fn of_packets(config: &Choke) -> Average {
        let thresholds = [config.min_packets, config.max_packets];
        let (weight_log2, idle_table) = (config.weight_log2(), config.idle_table());
        Average::between(
            thresholds,
            weight_log2,
            idle_table,
            config.probability_q32(),
        )
    }

    fn between(
        [min, max]: [u32; 2],
        weight_log2: Option<u8>,
        idle_table: Option<IdleTable>,
        probability: u32,
    ) -> Average {
        // `Config::check` has verified that both exist and that the thresholds fit.
        let weight_log2 = u32::from(weight_log2.unwrap_or(1));
        let idle_table = idle_table.unwrap_or(IdleTable {
            cell_log2: 0,
            halvings: [0; dumbbell_tc::qdisc::red::IDLE_TABLE_SIZE],
        });
        // `qth_delta`, 1 if both are equal.
        let width_bytes = (max - min).max(1);
        let fifth = u64::from(width_bytes / 5);
        let min_bytes = u64::from(min);
        Average {
            weight_log2,
            min: min_bytes << weight_log2,
            max: u64::from(max) << weight_log2,
            width_bytes,
            target_bytes: (min_bytes + 2 * fifth, min_bytes + 3 * fifth),
            idle_table,
            probability,
            slope: (probability / width_bytes).max(1),
            average: 0,
            count: -1,
            threshold: 0,
            idle_since: Some(Time::ZERO),
        }
    }

    /// Section 4: `avg <- (1 - W) avg + W q`, or the decay over the idle time.
    pub(super) fn update(&mut self, backlog_bytes: u64, now: Time) {
        self.average = match self.idle_since.take() {
            Some(since) => self.decayed(now - since),
            None => self.average + backlog_bytes - (self.average >> self.weight_log2),
        };
    }

    /// The average after an idle time.
    fn decayed(&self, idle: Time) -> u64 {
        let cell_log2 = u32::from(self.idle_table.cell_log2);
        let idle_us = (idle.as_ns() / 1000).min(255 << cell_log2);
        let halvings = self.idle_table.halvings[(idle_us >> cell_log2) as usize & 255];
        if halvings > 0 {
            return self.average >> halvings;
        }
        // The first part of the exponential is approximated by a straight line.
        let loss = (self.average * idle_us) >> cell_log2;
        match self.average >> 1 {
            half if loss < half => self.average - loss,
            half => half,
        }
    }

    /// Figure 2 with the counting of section 7, method 2.
    pub(super) fn judge(&mut self, stream: &mut Stream) -> Verdict {
        if self.average < self.min {
            self.count = -1;
            return Verdict::Pass;
        }
        if self.average >= self.max {
            self.count = -1;
            return Verdict::Forced;
        }
        self.judge_by_count(stream)
    }

    /// `choke`: whether the average is above the lower threshold.
    pub(super) fn is_above_min(&mut self) -> bool {
        let is_above = self.average > self.min;
        if !is_above {
            self.count = -1;
        }
        is_above
    }

    /// `choke`: as [`Average::judge`], above the lower threshold.
    pub(super) fn judge_above_min(&mut self, stream: &mut Stream) -> Verdict {
        if self.average > self.max {
            self.count = -1;
            return Verdict::Forced;
        }
        self.judge_by_count(stream)
    }

    fn judge_by_count(&mut self, stream: &mut Stream) -> Verdict {
        self.count += 1;
        if self.count == 0 {
            self.threshold = self.draw(stream);
            return Verdict::Pass;
        }
        let above_min_bytes = (self.average - self.min) >> self.weight_log2;
        if above_min_bytes * (self.count as u64) < u64::from(self.threshold) {
            return Verdict::Pass;
        }
        self.count = 0;
        self.threshold = self.draw(stream);
        Verdict::Early
    }

    /// Uniform between 0 and (bytes between the thresholds / probability).
    fn draw(&self, stream: &mut Stream) -> u32 {
        (stream.next_u64() >> 32) as u32 / self.slope
    }

    /// The side of the target range on which the average is, at an instant without packets.
    fn side(&self, now: Time) -> Side {
        let average = match self.idle_since {
            Some(since) => self.decayed(now - since),
            None => self.average,
        };
        let bytes = average >> self.weight_log2;
        let (low, high) = self.target_bytes;
        if bytes > high {
            Side::Above
        } else if bytes < low {
            Side::Below
        } else {
            Side::Within
        }
    }

    /// The adaptation step of Adaptive RED, section 4.1 of its paper.
    fn adapt(&mut self, side: Side) {
        if side == Side::Above && self.probability <= LARGEST_ADAPTIVE {
            self.probability += ONE_PERCENT.min(self.probability / 4);
        } else if side == Side::Below && self.probability >= LEAST_ADAPTIVE {
            self.probability = self.probability / 10 * 9;
        }
        let rounded = (u64::from(self.probability) + u64::from(self.width_bytes / 2))
            / u64::from(self.width_bytes);
        self.slope = (rounded as u32).max(1);
    }

    /// The empty queue was polled.
    pub(super) fn become_idle(&mut self, now: Time) {
        self.idle_since.get_or_insert(now);
    }

    /// Section 4's `p_b`: the probability for one packet.
    pub(super) fn drop_probability(&self) -> f64 {
        if self.average >= self.max {
            return 1.0;
        }
        let above_min = self.average.saturating_sub(self.min) as f64;
        let share = above_min / (self.max - self.min) as f64;
        share * f64::from(self.probability) / (1u64 << 32) as f64
    }
}

/// The state of a RED queue.
#[derive(Debug, Clone)]
pub struct Red {
    queue: Fifo,
    average: Average,
    /// Time of the next adaptation; never, unless adaptive.
    next_adaptation: Time,
    adaptation_period: Time,
    ecn: bool,
    harddrop: bool,
    nodrop: bool,
    is_asked_while_empty: bool,
    stream: Stream,
}

impl Red {
    /// Applies the adaptations due before `now`.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        if self.next_adaptation < now {
            self.adapt_until(now);
        }
    }

    /// An adaptation that changes nothing repeats as long as the average stays on its side of the target,
    /// which it does while no packet arrives. While the queue is idle the average only decreases (`decayed`),
    /// so the time when it leaves its side is found by bisection. So there are at most some hundred steps,
    /// however long the time.
    fn adapt_until(&mut self, now: Time) {
        let (first, period) = (self.next_adaptation, self.adaptation_period);
        let count = (now - first).0.div_ceil(period.0);
        let at = |index: u64| first + Time(index * period.0);
        let mut index = 0;
        while index < count {
            let side = self.average.side(at(index));
            let before = (self.average.probability, self.average.slope);
            self.average.adapt(side);
            index += 1;
            if before == (self.average.probability, self.average.slope) {
                let (mut least, mut most) = (index, count);
                while least < most {
                    let middle = least + (most - least) / 2;
                    if self.average.side(at(middle)) == side {
                        least = middle + 1;
                    } else {
                        most = middle;
                    }
                }
                index = least;
            }
        }
        self.next_adaptation = at(count);
    }

    /// Whether a packet due for a drop is marked, or kept although it is not ECN-capable.
    fn is_spared(&self, packet: &mut Packet, reason: DropReason, events: &mut Events) -> bool {
        let may_mark = self.ecn && !(reason == DropReason::RedForced && self.harddrop);
        may_mark && (events.mark(packet, reason) || self.nodrop)
    }
}

impl Build<Config> for Red {
    fn build(config: &Config, setting: &Setting) -> Red {
        let fifo = Bfifo {
            limit_bytes: config.limit_bytes,
        };
        let adaptation_period = Time::from_ns(setting.whole_ticks_ns(ADAPTATION_NS));
        Red {
            queue: Fifo::build(&fifo, setting),
            average: Average::new(config),
            next_adaptation: if config.adaptive {
                adaptation_period
            } else {
                Time::NEVER
            },
            adaptation_period,
            ecn: config.ecn,
            harddrop: config.harddrop,
            nodrop: config.nodrop,
            is_asked_while_empty: setting.above != Above::Shaper,
            stream: setting.stream(),
        }
    }
}

impl Discipline for Red {
    fn enqueue(
        &mut self,
        mut packet: Packet,
        now: Time,
        events: &mut Events,
    ) -> Result<(), DropReason> {
        self.catch_up(now);
        let (_, backlog_bytes) = self.queue.backlog();
        self.average.update(backlog_bytes, now);
        let reason = match self.average.judge(&mut self.stream) {
            Verdict::Pass => return self.queue.enqueue(packet, now, events),
            Verdict::Early => DropReason::RedEarly,
            Verdict::Forced => DropReason::RedForced,
        };
        if self.is_spared(&mut packet, reason, events) {
            return self.queue.enqueue(packet, now, events);
        }
        Err(reason)
    }

    fn dequeue(&mut self, now: Time, events: &mut Events) -> Dequeued {
        self.catch_up(now);
        let leaving = self.queue.dequeue(now, events);
        let is_idle = leaving == Dequeued::Empty && self.is_asked_while_empty;
        if is_idle {
            self.average.become_idle(now);
        }
        leaving
    }

    fn peek(&mut self, now: Time, events: &mut Events) -> Option<Dequeued> {
        self.queue.peek(now, events)
    }

    fn backlog(&self) -> (u32, u64) {
        self.queue.backlog()
    }

    fn packets(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        self.queue.packets()
    }

    /// The probability for one packet, from the average at the last arrival, before counting.
    fn statistics(&self) -> Statistics {
        Statistics {
            drop_probability: self.average.drop_probability(),
            ..Statistics::NONE
        }
    }
}

#[cfg(test)]
mod tests;
