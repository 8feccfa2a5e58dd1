//! Estimates the cost of a run before it starts.
//!
//! The estimate is rough and tends to be too high: links without departure events (folded or in a chain) are
//! counted as if they had them, and competition between flows is considered only where they share a link's
//! rate. A run that takes far more than estimated is ended (`run::watch`), so heavy-tailed laws are judged by
//! the mean truncated at what a run can contain.

mod tcp;
mod udp;
mod ways;

use crate::net::link::Link;
use crate::net::pending::BYTES_PER_CROSSING;
use crate::observe::samples::{BYTES_PER_FLOW_SAMPLE, BYTES_PER_QUEUE_SAMPLE};
use crate::qdisc::{MOST_UPDATES_A_PACKET, UPDATES_AN_EVENT};
use crate::sim::world::memory::{
    BYTES_PER_CAPTURED_CONNECTION, BYTES_PER_CONNECTION, BYTES_PER_ECHO, BYTES_PER_PACKET,
    BYTES_PER_RECORD, BYTES_PER_SEGMENT, BYTES_PER_TRANSFER,
};
use crate::spec::{Experiment, Flow, Probe, Transport};
use std::collections::BTreeMap;
use ways::NetworkPaths;

/// Ratio of capacity to length of the columns of samples, at most.
const MOST_ROOM_PER_SAMPLE: f64 = 2.0;
/// Memory of a queue with traffic: histograms, the occupancy at some thousands of levels, and the rows of
/// `distributions`.
const BYTES_PER_QUEUE: f64 = 160.0 * 1024.0;
/// Memory of a flow's delay histogram, over two or three octaves, and its rows of `flow_delays`.
const BYTES_PER_FLOW: f64 = 24.0 * 1024.0;
/// IP and ICMP or UDP headers of a probe.
const PROBE_HEADER_BYTES: f64 = 28.0;
/// Fitted to the examples on one thread of an AMD EPYC; within a factor of two for most.
const NS_PER_EVENT: f64 = 170.0;
const NS_PER_TCP_SEGMENT: f64 = 250.0;
/// Time to touch memory for the first time.
const NS_PER_BYTE: f64 = 0.25;

/// Expected cost of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Number of events.
    pub events: u64,
    /// Memory with the tables, bytes.
    pub memory_bytes: u64,
    /// Time on one thread of the machine of `NS_PER_EVENT`.
    pub cpu_ns: u64,
}

/// Sums accumulated over flows and probes.
#[derive(Debug, Default)]
struct Costs {
    events: f64,
    /// Departure events that most runs do not need, included in `events`.
    folded: f64,
    /// Segments sent by hosts, acknowledgements included.
    tcp_segments: f64,
    records: f64,
    echoes: f64,
    transfers: f64,
    connections: f64,
    captured_connections: f64,
    /// Packets in flight or queued at a time.
    packets: f64,
    /// Of these, at queues on fast paths, where their timestamps are kept.
    crossings: f64,
    segments: f64,
    /// Packets that enter or leave queues whose disciplines have timers.
    at_timers: BTreeMap<u32, f64>,
}

/// Packets of one kind.
#[derive(Debug, Clone, Copy)]
struct Packets {
    /// Number in the whole run.
    count: f64,
    /// Size on the wire, bytes, approximately.
    bytes: f64,
    /// Duration of sending, seconds.
    active_s: f64,
}

impl Estimate {
    /// The expected cost of one replication.
    pub fn of(experiment: &Experiment) -> Estimate {
        let duration_s = experiment.duration_ns as f64 * 1e-9;
        let mut ways = NetworkPaths::new(experiment);
        let mut costs = Costs::default();
        let demands = experiment.flows.iter();
        let demands = demands.map(|flow| tcp::demand_bps(flow, &mut ways, duration_s));
        let demands_bps: Vec<f64> = demands.collect();
        for (flow, demanded_bps) in experiment.flows.iter().zip(demands_bps) {
            if flow.transport == Transport::Tcp {
                tcp::add(&mut costs, flow, &ways, duration_s, demanded_bps);
            } else {
                let out = ways.between(&flow.from, &flow.to);
                let packets = udp::packets_of(flow, &ways, &out, duration_s);
                costs.events += packets.count;
                costs.pass(packets, &out, &ways);
            }
        }
        for probe in &experiment.probes {
            let requests = Packets {
                count: requests_of(probe, duration_s),
                bytes: f64::from(probe.payload_bytes) + PROBE_HEADER_BYTES,
                active_s: duration_s,
            };
            costs.echoes += requests.count;
            costs.events += requests.count;
            let there = ways.between(&probe.from, &probe.to);
            let back = ways.between(&probe.to, &probe.from);
            let answered = costs.pass(requests, &there, &ways);
            costs.pass(answered, &back, &ways);
        }
        let changes = experiment.link_ends().flat_map(|(_, _, end)| &end.changes);
        let end_of_warm_up = u32::from(experiment.warm_up_ns > 0);
        costs.events += changes.count() as f64 + f64::from(end_of_warm_up);
        let traces = experiment
            .link_ends()
            .filter_map(|(_, _, end)| end.trace.as_ref());
        let steps_per_s: f64 = traces.map(|trace| trace.outline().steps_per_s).sum();
        costs.events += steps_per_s * duration_s;
        costs.events += costs.timer_updates(&ways, duration_s) / UPDATES_AN_EVENT as f64;
        let samples = match experiment.sample_interval_ns {
            0 => 0.0,
            interval => experiment.duration_ns as f64 / interval as f64,
        };
        let queues = 2.0 * experiment.links.len() as f64;
        let sampled = queues * BYTES_PER_QUEUE_SAMPLE as f64
            + experiment.flows.len() as f64 * BYTES_PER_FLOW_SAMPLE as f64;
        let memory = queues * Link::BYTES as f64
            + ways.in_use() as f64 * BYTES_PER_QUEUE
            + experiment.flows.len() as f64 * BYTES_PER_FLOW
            + samples * sampled * MOST_ROOM_PER_SAMPLE
            + costs.memory_bytes();
        Estimate {
            events: (costs.events + samples) as u64,
            memory_bytes: memory as u64,
            cpu_ns: costs.cpu_ns(memory) as u64,
        }
    }
}

impl Costs {
    /// Adds the cost of packets along a path. Returns those that reach its end.
    fn pass(&mut self, mut packets: Packets, way: &[u32], ways: &NetworkPaths) -> Packets {
        for (place, queue) in way.iter().enumerate() {
            let end = &ways.ends[*queue as usize];
            let come = packets.count;
            packets.count = end.leaving(packets);
            self.events += end.events * packets.count;
            if end.keeps_times {
                self.folded += packets.count;
            }
            if end.is_recorded {
                self.records += come + packets.count;
            }
            if end.timer_period_s.is_some() {
                *self.at_timers.entry(*queue).or_default() += come + packets.count;
            }
            let held = end.held(come, packets);
            self.packets += held;
            let known = way[place..].iter().map(|queue| &ways.ends[*queue as usize]);
            self.crossings += held * known.take_while(|end| end.keeps_times).count() as f64;
        }
        packets
    }

    /// Number of timer updates of disciplines, which are done when packets enter or leave.
    fn timer_updates(&self, ways: &NetworkPaths, duration_s: f64) -> f64 {
        let most = self.at_timers.iter().filter_map(|(queue, packets)| {
            let due = duration_s / ways.ends[*queue as usize].timer_period_s?;
            Some(due.min(packets * MOST_UPDATES_A_PACKET as f64))
        });
        most.sum()
    }

    fn cpu_ns(&self, memory_bytes: f64) -> f64 {
        (self.events - self.folded).max(0.0) * NS_PER_EVENT
            + self.tcp_segments * NS_PER_TCP_SEGMENT
            + memory_bytes * NS_PER_BYTE
    }

    fn memory_bytes(&self) -> f64 {
        let parts = [
            (self.records, BYTES_PER_RECORD),
            (self.echoes, BYTES_PER_ECHO),
            (self.transfers, BYTES_PER_TRANSFER),
            (self.connections, BYTES_PER_CONNECTION),
            (self.captured_connections, BYTES_PER_CAPTURED_CONNECTION),
            (self.packets, BYTES_PER_PACKET),
            (self.crossings, BYTES_PER_CROSSING),
            (self.segments, BYTES_PER_SEGMENT),
        ];
        parts.iter().map(|(count, each)| count * *each as f64).sum()
    }
}

fn requests_of(probe: &Probe, duration_s: f64) -> f64 {
    let fitting = duration_s / (probe.interval_ns as f64 * 1e-9) + 1.0;
    match probe.count {
        0 => fitting,
        count => fitting.min(count as f64),
    }
}

fn active_s(flow: &Flow, duration_s: f64) -> f64 {
    let start = flow.start_ns as f64 * 1e-9;
    (duration_s.min(flow.stop_ns as f64 * 1e-9) - start).max(0.0)
}
