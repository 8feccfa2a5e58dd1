//! From records to the tables that the simulator makes too.

mod flows;
mod queues;
mod table_builder;
mod tcp;

use crate::job::Job;
use crate::paths::{self, PathLeg};
use crate::records::Records;
use crate::replay::{self, Crossing, ReplayedQueue};
use crate::watched;
use dumbbell_core::delays::Delays;
use dumbbell_core::table::{Table, Tables};
use dumbbell_core::time::Time;
use dumbbell_spec::{Experiment, LinkEnd};
use flows::{DatagramFate, flow_delays, flow_packets};
use table_builder::{NONE, TableBuilder};

/// Everything that tables are made of.
pub struct Report<'a> {
    experiment: &'a Experiment,
    records: &'a Records,
    warm_up: Time,
    end: Time,
    /// By queue; None where the packets are not known.
    queues: Vec<Option<ReplayedQueue>>,
    is_observed: Vec<bool>,
    /// By queue: whether every packet was captured before and behind it.
    is_watched: Vec<bool>,
    /// By flow: when its packets were dropped, and their bytes with the IP header; None where
    /// that is not known.
    drops: Vec<Option<Vec<(Time, u32)>>>,
    /// By flow.
    flows: Vec<Vec<DatagramFate>>,
    /// By flow.
    delays: Vec<Delays>,
}

impl<'a> Report<'a> {
    /// Works out what happened at each queue.
    pub fn new(job: &Job, experiment: &'a Experiment, records: &'a Records) -> Report<'a> {
        let receivers = watched::receivers(job, experiment);
        let legs = paths::legs(experiment);
        let mut known = replay::known_queues(experiment, records, &legs);
        if !experiment.programs.is_empty() {
            // Others may send there too, by no schedule of ours.
            known.fill(false);
        }
        let crossings = replay::crossings(experiment, records, &legs);
        let ends = experiment.link_ends().map(|(_, _, end)| end);
        let mut queues: Vec<_> = ends.zip(known).zip(crossings).collect();
        let mut watched = vec![false; queues.len()];
        for (queue, passages) in &records.passages {
            let ((end, known), crossings) = &mut queues[*queue];
            *crossings = watched::crossings(experiment, &receivers, end, passages);
            *known = true;
            watched[*queue] = true;
        }
        let warm_up = Time::from_ns(experiment.warm_up_ns);
        let end = Time::from_ns(experiment.duration_ns);
        let drops = drops_of_flows(experiment, &legs, &queues, &watched, end);
        Report {
            drops,
            experiment,
            records,
            warm_up,
            end,
            is_observed: experiment.observed_queues(),
            queues: queues
                .into_iter()
                .map(|((end, known), crossings)| {
                    known.then(|| replay::replay(experiment, end, &crossings))
                })
                .collect(),
            is_watched: watched,
            flows: flow_packets(experiment, records, &legs, end),
            delays: flow_delays(experiment, records, &legs, (warm_up, end)),
        }
    }

    /// Names of the queues that may hold packets, and whose packets are not known.
    pub fn unknown_queues(&self) -> Vec<String> {
        let names = self.experiment.queue_names().into_iter();
        let ends = self.experiment.link_ends().map(|(_, _, end)| end);
        let all = names.zip(ends).zip(&self.queues);
        all.filter(|((_, end), known)| known.is_none() && paths::holds(end))
            .map(|((name, _), _)| name)
            .collect()
    }

    /// All tables.
    pub fn tables(&self) -> Tables {
        Tables(vec![
            self.flows(),
            self.queues(),
            self.distributions(),
            self.flow_delays(),
            self.queue_samples(),
            self.flow_samples(),
            self.transfers(),
            self.probes(),
            self.packets(),
        ])
    }

    /// Tables that are not part of the digest.
    pub fn beside(&self) -> Vec<Table> {
        let own = self.records.own.tables();
        self.writes().into_iter().chain(own).collect()
    }

    /// What applications have handed to TCP, a row a flow over TCP and sampling instant, where it
    /// is asked for: beside the tables, so that the digest is what it is without.
    fn writes(&self) -> Option<Table> {
        let mut rows = TableBuilder::new("flow_writes")
            .i64(&["t_ns"])
            .i32(&["flow"])
            .i64(&["written_payload_bytes"]);
        for (number, (time, _)) in self.records.samples.iter().enumerate() {
            for (index, record) in self.records.tcp.iter().enumerate() {
                let Some(record) = record else { continue };
                let (totals, _) = &record.samples[number];
                rows.instant(Some(*time)).put(index as i64);
                rows.count(totals.written_payload_bytes);
            }
        }
        self.experiment.record_writes.then(|| rows.table())
    }

    /// Packets and bytes of a flow that queues have dropped; None where that is not known.
    fn dropped_of(&self, flow: usize) -> Option<(u64, u64)> {
        let drops = self.drops[flow].as_ref()?;
        let bytes = drops.iter().map(|(_, bytes)| u64::from(*bytes)).sum();
        Some((drops.len() as u64, bytes))
    }

    /// Packets of a flow that queues have dropped by then; None where that is not known.
    fn dropped_of_by(&self, flow: usize, time: Time) -> Option<u64> {
        let drops = self.drops[flow].as_ref()?;
        Some(drops.partition_point(|(at, _)| *at <= time) as u64)
    }

    fn probes(&self) -> Table {
        let names = ["seq", "sent_ns", "received_ns", "rtt_ns"];
        let mut rows = TableBuilder::new("probes").i32(&["probe"]).i64(&names);
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
        let mut rows = TableBuilder::new("packets")
            .i64(&["t_ns"])
            .i32(&["queue"])
            .i8(&["event", "reason"])
            .i32(&["flow", "probe"])
            .i64(&["seq"])
            .i32(&["bytes", "system_pkts"])
            .i64(&["sojourn_ns"]);
        let flows = self.experiment.flows.len() as i64;
        let probes = self.experiment.probes.len() as i64;
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
                .put(match index - flows {
                    probe if (0..probes).contains(&probe) => probe,
                    _ => NONE, // a flow, or a program
                })
                .put(i64::from(row.crossing.number))
                .put(i64::from(row.crossing.bytes))
                .put(i64::from(row.system_pkts))
                .instant(sojourn);
        }
        rows.table()
    }
}

/// When packets of each flow were dropped on their way out. Known where every queue that may hold
/// packets was watched, and no link loses any.
fn drops_of_flows(
    experiment: &Experiment,
    legs: &[PathLeg],
    queues: &[((&LinkEnd, bool), Vec<Crossing>)],
    watched: &[bool],
    over: Time,
) -> Vec<Option<Vec<(Time, u32)>>> {
    let of = |flow: usize| {
        let leg = legs
            .iter()
            .find(|leg| leg.conversation == flow && !leg.reply)?;
        let mut drops = Vec::new();
        for &queue in &leg.path {
            let ((end, _), crossings) = &queues[queue];
            let loses = end.loss > 0.0 || end.changes.iter().any(|change| change.loss.is_some());
            if loses || paths::holds(end) && !watched[queue] {
                return None;
            }
            if !watched[queue] {
                continue;
            }
            let its = crossings
                .iter()
                .filter(|crossing| crossing.conversation == flow);
            for crossing in its.filter(|crossing| crossing.departed == Time::NEVER) {
                let at = match crossing.dropped {
                    Time::NEVER => crossing.arrived,
                    at => at,
                };
                drops.push((at, crossing.bytes - end.overhead_bytes));
            }
        }
        drops.retain(|(at, _)| *at < over);
        drops.sort_unstable();
        Some(drops)
    };
    (0..experiment.flows.len()).map(of).collect()
}
