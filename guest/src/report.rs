//! From records to the tables that the simulator makes too.

use crate::messages::Datagram;
use crate::netlink::Counted;
use crate::paths::{self, Leg};
use crate::replay::{self, Replayed, Sample};
use crate::traffic::{QueueCounters, Records};
use dumbbell_engine::net::link_statistics::Level;
use dumbbell_engine::sim::histogram::Histogram;
use dumbbell_engine::sim::moments::Moments;
use dumbbell_engine::sim::time::{PS_PER_S, Time};
use dumbbell_engine::spec::{Experiment, SizeAt};
use dumbbell_engine::tables::{Column, Table, Tables, Values};

/// Where there is no instant, or a number is not known.
const NONE: i64 = -1;

/// A table in the making: its columns are filled row by row.
struct Rows {
    name: &'static str,
    columns: Vec<Column>,
    next: usize,
}

impl Rows {
    fn new(name: &'static str) -> Rows {
        Rows {
            name,
            columns: Vec::new(),
            next: 0,
        }
    }

    fn column(mut self, values: Values, names: &[&'static str]) -> Rows {
        self.columns.extend(names.iter().map(|name| Column {
            name,
            values: values.clone(),
        }));
        self
    }

    fn i64(self, names: &[&'static str]) -> Rows {
        self.column(Values::I64(Vec::new()), names)
    }

    fn i32(self, names: &[&'static str]) -> Rows {
        self.column(Values::I32(Vec::new()), names)
    }

    fn i8(self, names: &[&'static str]) -> Rows {
        self.column(Values::I8(Vec::new()), names)
    }

    fn f64(self, names: &[&'static str]) -> Rows {
        self.column(Values::F64(Vec::new()), names)
    }

    /// The next value of the row; after the last column the next row begins.
    fn put(&mut self, value: i64) -> &mut Rows {
        match &mut self.columns[self.next].values {
            Values::I64(values) => values.push(value),
            Values::I32(values) => values.push(value as i32),
            Values::I8(values) => values.push(value as i8),
            Values::F64(values) => values.push(value as f64),
        }
        self.next = (self.next + 1) % self.columns.len();
        self
    }

    fn count(&mut self, value: u64) -> &mut Rows {
        self.put(value as i64)
    }

    fn real(&mut self, value: f64) -> &mut Rows {
        let Values::F64(values) = &mut self.columns[self.next].values else {
            unreachable!("the column holds whole numbers");
        };
        values.push(value);
        self.next = (self.next + 1) % self.columns.len();
        self
    }

    fn instant(&mut self, time: Option<Time>) -> &mut Rows {
        self.put(time.map_or(NONE, |time| time.as_ns() as i64))
    }

    fn table(self) -> Table {
        assert_eq!(self.next, 0, "a row of {} is not whole", self.name);
        Table {
            name: self.name,
            columns: self.columns,
        }
    }
}

/// A datagram with what it was on the network.
#[derive(Clone, Copy)]
struct Packets {
    created: Time,
    delivered: Option<Time>,
    /// Whether it will never be.
    lost: bool,
    count: u64,
    bytes: u64,
    payload: u64,
}

/// Everything that tables are made of.
pub struct Report<'a> {
    experiment: &'a Experiment,
    records: &'a Records,
    warm_up: Time,
    end: Time,
    /// By queue; None where the packets are not known.
    queues: Vec<Option<Replayed>>,
    /// By flow.
    flows: Vec<Vec<Packets>>,
    legs: Vec<Leg>,
}

impl<'a> Report<'a> {
    /// Works out what happened at each queue.
    pub fn new(experiment: &'a Experiment, records: &'a Records) -> Report<'a> {
        let legs = paths::legs(experiment);
        let known = replay::known_queues(experiment, records, &legs);
        let crossings = replay::crossings(experiment, records, &legs);
        let ends = experiment.link_ends().map(|(_, _, end)| end);
        let queues = ends.zip(known).zip(crossings);
        let end = Time::from_ns(experiment.duration_ns);
        Report {
            experiment,
            records,
            warm_up: Time::from_ns(experiment.warm_up_ns),
            end,
            queues: queues
                .map(|((end, known), crossings)| {
                    known.then(|| replay::replay(experiment, end, &crossings))
                })
                .collect(),
            flows: flow_packets(experiment, records, &legs, end),
            legs,
        }
    }

    /// Names of the queues whose packets are not known.
    pub fn unknown_queues(&self) -> Vec<String> {
        let names = self.experiment.queue_names().into_iter().zip(&self.queues);
        names
            .filter(|(_, known)| known.is_none())
            .map(|(name, _)| name)
            .collect()
    }

    /// All tables.
    pub fn tables(&self) -> Tables {
        Tables(vec![
            self.flows(),
            self.queues(),
            self.distributions(),
            self.queue_samples(),
            self.flow_samples(),
            self.probes(),
            self.packets(),
        ])
    }

    fn flows(&self) -> Table {
        let mut rows = Rows::new("flows")
            .i32(&["flow"])
            .i64(&[
                "created_pkts",
                "created_bytes",
                "delivered_pkts",
                "delivered_bytes",
                "dropped_pkts",
                "dropped_bytes",
                "in_network_pkts",
                "in_network_bytes",
                "sent_datagrams",
                "sent_payload_bytes",
                "received_datagrams",
                "received_payload_bytes",
                "first_sent_ns",
                "last_received_ns",
                "delay_count",
            ])
            .f64(&["delay_mean_s", "delay_sd_s"])
            .i64(&["delay_min_ns", "delay_max_ns"]);
        for (index, packets) in self.flows.iter().enumerate() {
            let (mut received, mut received_bytes) = (0, 0);
            // Created, delivered, dropped: packets and bytes.
            let mut sums = [(0u64, 0u64); 3];
            let mut add = |what: usize, each: &Packets| {
                sums[what].0 += each.count;
                sums[what].1 += each.bytes;
            };
            let delay = self.delay(index);
            let mut last = None;
            for each in packets {
                add(0, each);
                if each.lost {
                    add(2, each);
                }
                let Some(at) = each.delivered else { continue };
                add(1, each);
                if at >= self.warm_up {
                    received += 1;
                    received_bytes += each.payload;
                    last = last.max(Some(at));
                }
            }
            let first = packets.iter().find(|each| each.created >= self.warm_up);
            let record = &self.records.flows[index];
            rows.put(index as i64);
            sums.iter().for_each(|(count, bytes)| {
                rows.count(*count).count(*bytes);
            });
            rows.count(sums[0].0 - sums[1].0 - sums[2].0)
                .count(sums[0].1 - sums[1].1 - sums[2].1)
                .count(record.sent_datagrams)
                .count(record.sent_bytes)
                .count(received)
                .count(received_bytes)
                .instant(first.map(|each| each.created))
                .instant(last)
                .count(delay.count())
                .real(delay.mean_seconds())
                .real(delay.sd_seconds())
                .instant(delay.min())
                .instant(delay.max());
        }
        rows.table()
    }

    /// One-way delays of a flow's packets that were made in the measured window.
    fn delay(&self, flow: usize) -> Moments {
        let leg = self.legs.iter().find(|leg| leg.conversation == flow);
        let leg = leg.expect("every flow has a way");
        let journeys = replay::journeys(self.experiment, self.records, leg);
        let mut delay = Moments::default();
        for journey in journeys.iter().filter(|each| each.delivered < self.end) {
            if journey.created >= self.warm_up {
                delay.push(journey.delivered.saturating_sub(journey.created));
            }
        }
        delay
    }

    fn queues(&self) -> Table {
        let mut rows = Rows::new("queues")
            .i32(&["queue"])
            .i64(&[
                "arrived_pkts",
                "arrived_bytes",
                "departed_pkts",
                "departed_bytes",
                "dropped_overlimit_pkts",
                "dropped_overlimit_bytes",
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
                Some(replayed) => self.known_queue(&mut rows, replayed),
                None => {
                    let counters = &self.records;
                    let between = (counters.at_warm_up[index], counters.at_end[index]);
                    self.counted_queue(&mut rows, between);
                }
            }
        }
        rows.table()
    }

    fn known_queue(&self, rows: &mut Rows, replayed: &Replayed) {
        let statistics = &replayed.statistics;
        let (levels, counted) = (&statistics.levels, statistics.measured());
        let measured_ps = (self.end - self.warm_up).0;
        let mean = |integral: u128| integral as f64 / measured_ps as f64;
        let (sojourn, wait) = (&statistics.sojourn, &statistics.wait);
        rows.count(counted.arrived_pkts)
            .count(counted.arrived_bytes)
            .count(counted.departed_pkts)
            .count(counted.departed_bytes)
            .count(counted.dropped_overlimit_pkts)
            .count(counted.dropped_overlimit_bytes)
            .count(0)
            .count(0)
            .real(measured_ps as f64 / PS_PER_S as f64)
            .real(levels.busy() as f64 / PS_PER_S as f64)
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

    /// Of a queue whose packets are not known: what the kernel counted.
    fn counted_queue(&self, rows: &mut Rows, between: (QueueCounters, QueueCounters)) {
        let ((before, before_loss), (after, after_loss)) = between;
        let departed = after.packets - before.packets;
        let departed_bytes = after.bytes - before.bytes;
        let dropped = u64::from(after.drops.wrapping_sub(before.drops));
        let lost = u64::from(after_loss.drops.wrapping_sub(before_loss.drops));
        let held = i64::from(after.backlog_pkts) - i64::from(before.backlog_pkts);
        let held_bytes = i64::from(after.backlog_bytes) - i64::from(before.backlog_bytes);
        // The kernel counts dropped packets, not their bytes.
        let unless_dropped = |bytes: i64| if dropped == 0 { bytes } else { NONE };
        let measured_ps = (self.end - self.warm_up).0;
        rows.put((departed + dropped) as i64 + held)
            .put(unless_dropped(departed_bytes as i64 + held_bytes))
            .count(departed)
            .count(departed_bytes)
            .count(dropped)
            .put(unless_dropped(0))
            .count(lost)
            .put(0)
            .real(measured_ps as f64 / PS_PER_S as f64)
            .real(f64::NAN)
            .put(0)
            .real(f64::NAN)
            .real(f64::NAN)
            .put(NONE)
            .put(NONE)
            .real(f64::NAN)
            .real(f64::NAN)
            .put(NONE)
            .real(f64::NAN)
            .real(f64::NAN)
            .real(f64::NAN)
            .put(NONE)
            .put(NONE)
            .put(NONE);
    }

    fn distributions(&self) -> Table {
        let mut rows = Rows::new("distributions")
            .i32(&["queue"])
            .i8(&["quantity"])
            .f64(&["low", "high", "weight"]);
        let ns = |ps: u64| ps as f64 / 1e3;
        for (index, replayed) in self.queues.iter().enumerate() {
            let Some(Replayed { statistics, .. }) = replayed else {
                continue;
            };
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

    fn queue_samples(&self) -> Table {
        let mut rows = Rows::new("queue_samples")
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
            .f64(&["sojourn_sum_s", "system_integral_pkt_s"]);
        for (number, (time, counters)) in self.records.samples.iter().enumerate() {
            for (index, replayed) in self.queues.iter().enumerate() {
                let known = replayed
                    .as_ref()
                    .and_then(|known| known.samples.get(number));
                let sample = known
                    .copied()
                    .unwrap_or_else(|| counted_sample(&counters[index].0));
                rows.instant(Some(*time))
                    .put(index as i64)
                    .count(u64::from(sample.level.system_pkts))
                    .count(u64::from(sample.level.backlog_pkts))
                    .count(sample.level.backlog_bytes)
                    .count(sample.departed_pkts)
                    .count(sample.departed_bytes)
                    .count(sample.dropped_pkts)
                    .real(sample.sojourn_sum_s)
                    .real(sample.system_integral_pkt_s);
            }
        }
        rows.table()
    }

    fn flow_samples(&self) -> Table {
        let mut rows = Rows::new("flow_samples")
            .i64(&["t_ns"])
            .i32(&["flow"])
            .i64(&["delivered_pkts", "delivered_payload_bytes", "dropped_pkts"])
            .f64(&["delay_sum_s"]);
        // Of each flow, in the order of delivery; and in the order of sending those that were lost.
        let delivered = self.flows.iter().map(|packets| {
            let mut arrived: Vec<Packets> = packets.clone();
            arrived.retain(|each| each.delivered.is_some());
            arrived.sort_by_key(|each| each.delivered);
            arrived
        });
        let mut flows: Vec<_> = delivered
            .zip(&self.flows)
            .map(|(arrived, all)| {
                let lost: Vec<Packets> = all.iter().filter(|each| each.lost).copied().collect();
                (arrived, 0, lost, 0, [0u64; 3], 0u128)
            })
            .collect();
        for (time, _) in &self.records.samples {
            for (index, flow) in flows.iter_mut().enumerate() {
                let (arrived, next, lost, next_lost, sums, delay) = flow;
                while let Some(each) = arrived.get(*next)
                    && let Some(at) = each.delivered
                    && at <= *time
                {
                    sums[0] += each.count;
                    sums[1] += each.payload;
                    *delay += u128::from((at - each.created).0) * u128::from(each.count);
                    *next += 1;
                }
                while let Some(each) = lost.get(*next_lost)
                    && each.created <= *time
                {
                    sums[2] += each.count;
                    *next_lost += 1;
                }
                rows.instant(Some(*time)).put(index as i64);
                sums.iter().for_each(|sum| {
                    rows.count(*sum);
                });
                rows.real(*delay as f64 / PS_PER_S as f64);
            }
        }
        rows.table()
    }

    fn probes(&self) -> Table {
        let names = ["seq", "sent_ns", "received_ns", "rtt_ns"];
        let mut rows = Rows::new("probes").i32(&["probe"]).i64(&names);
        for (probe, echoes) in self.records.probes.iter().enumerate() {
            for (number, echo) in (1..).zip(echoes) {
                let received = (echo.received < self.end).then_some(echo.received);
                rows.put(probe as i64)
                    .put(number)
                    .instant(Some(echo.sent))
                    .instant(received)
                    .instant(received.map(|at| at - echo.sent));
            }
        }
        rows.table()
    }

    fn packets(&self) -> Table {
        let mut rows = Rows::new("packets")
            .i64(&["t_ns"])
            .i32(&["queue"])
            .i8(&["event", "reason"])
            .i32(&["flow", "probe"])
            .i64(&["seq"])
            .i32(&["bytes", "system_pkts"])
            .i64(&["sojourn_ns"]);
        let flows = self.experiment.flows.len() as i64;
        let mut all = Vec::new();
        for (queue, replayed) in self.queues.iter().enumerate() {
            let recorded = replayed.iter().flat_map(|known| &known.rows);
            all.extend(recorded.map(|row| (row.time, queue, row)));
        }
        all.sort_by_key(|(time, queue, _)| (*time, *queue));
        for (time, queue, row) in all {
            let index = row.crossing.conversation as i64;
            let sojourn = (row.event == 1).then(|| row.crossing.departed - row.crossing.arrived);
            rows.instant(Some(time))
                .put(queue as i64)
                .put(i64::from(row.event))
                .put(i64::from(row.event == 2))
                .put(if index < flows { index } else { NONE })
                .put(if index < flows { NONE } else { index - flows })
                .put(i64::from(row.crossing.number))
                .put(i64::from(row.crossing.bytes))
                .put(i64::from(row.system_pkts))
                .instant(sojourn);
        }
        rows.table()
    }
}

/// A sample of a queue whose packets are not known: the transmitter is not seen.
fn counted_sample(counted: &Counted) -> Sample {
    Sample {
        level: Level {
            system_pkts: counted.backlog_pkts,
            backlog_pkts: counted.backlog_pkts,
            backlog_bytes: u64::from(counted.backlog_bytes),
        },
        departed_pkts: counted.packets,
        departed_bytes: counted.bytes,
        dropped_pkts: u64::from(counted.drops),
        sojourn_sum_s: f64::NAN,
        system_integral_pkt_s: f64::NAN,
    }
}

fn flow_packets(
    experiment: &Experiment,
    records: &Records,
    legs: &[Leg],
    end: Time,
) -> Vec<Vec<Packets>> {
    let flows = experiment.flows.iter().zip(&records.flows).enumerate();
    let all = flows.map(|(index, (flow, record))| {
        let leg = legs.iter().find(|leg| leg.conversation == index);
        let mtu = paths::mtu(experiment, leg.expect("every flow has a way"));
        let size_at: SizeAt = paths::size_at(&flow.source);
        let packets = |sent: &Datagram| {
            let (count, bytes) = paths::packets(sent.size, size_at, mtu);
            Packets {
                created: sent.created,
                delivered: (sent.delivered < end).then_some(sent.delivered),
                lost: sent.delivered == Time::NEVER,
                count,
                bytes,
                payload: u64::from(sent.size),
            }
        };
        record.datagrams.iter().map(packets).collect()
    });
    all.collect()
}
