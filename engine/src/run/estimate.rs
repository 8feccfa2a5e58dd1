//! What a run will cost, before it starts.

use crate::net::route::Routes;
use crate::sim::time::Time;
use crate::spec::{Experiment, Flow, Probe, Source};
use crate::traffic::datagram;
use crate::traffic::law::Law;

/// Two histograms with every row in use, and time at some thousands of numbers of packets.
const BYTES_PER_QUEUE: u64 = 160 << 10;
/// A row of `queue_samples` while it is built and as columns.
const BYTES_PER_SAMPLE: u64 = 160;
/// A row of `probes`.
const BYTES_PER_ECHO: u64 = 80;
/// A row of `packets`.
const BYTES_PER_RECORD: u64 = 120;

/// Expected cost of a run. Rough: within a factor of two where the traffic's means are finite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// Events to be done.
    pub events: u64,
    /// Memory it will need, bytes.
    pub memory_bytes: u64,
}

impl Estimate {
    /// The expected cost of one replication.
    pub fn of(experiment: &Experiment) -> Estimate {
        let duration_s = experiment.duration_ns as f64 * 1e-9;
        let hops = experiment.hops();
        let index = |name: &str| experiment.host_index(name).expect("hosts were checked");
        let all = experiment.flows.iter().map(|f| (&f.from, &f.to));
        let all = all.chain(experiment.probes.iter().map(|p| (&p.from, &p.to)));
        let ends = all.flat_map(|(from, to)| [index(from), index(to)]);
        let routes = Routes::new(experiment.hosts.len(), &hops, ends);
        let path = |from: &str, to: &str| {
            let row = routes.row(index(to));
            routes
                .path(&hops, row, index(from), index(to))
                .unwrap_or_default()
        };
        let recorded: Vec<bool> = experiment
            .link_ends()
            .map(|(_, _, end)| end.record_packets)
            .collect();
        let (mut events, mut records, mut echoes) = (0.0, 0.0, 0.0);
        let mut add = |packets: f64, path: Vec<u32>| {
            events += packets * (1.0 + 2.0 * path.len() as f64);
            let links = path.iter().filter(|link| recorded[**link as usize]).count();
            records += packets * 2.0 * links as f64;
        };
        for flow in &experiment.flows {
            add(packets_of(flow, duration_s), path(&flow.from, &flow.to));
        }
        for probe in &experiment.probes {
            let requests = requests_of(probe, duration_s);
            echoes += requests;
            add(requests, path(&probe.from, &probe.to));
            add(requests, path(&probe.to, &probe.from));
        }
        let queues = 2 * experiment.links.len() as u64;
        let samples = match experiment.sample_interval_ns {
            0 => 0.0,
            interval => experiment.duration_ns as f64 / interval as f64,
        };
        let sampled = samples * (queues as f64 + experiment.flows.len() as f64);
        let memory = queues as f64 * BYTES_PER_QUEUE as f64
            + sampled * BYTES_PER_SAMPLE as f64
            + echoes * BYTES_PER_ECHO as f64
            + records * BYTES_PER_RECORD as f64;
        Estimate {
            events: (events + samples) as u64,
            memory_bytes: memory as u64,
        }
    }
}

fn requests_of(probe: &Probe, duration_s: f64) -> f64 {
    let fitting = duration_s / (probe.interval_ns as f64 * 1e-9);
    if probe.count == 0 {
        fitting
    } else {
        fitting.min(probe.count as f64)
    }
}

fn packets_of(flow: &Flow, duration_s: f64) -> f64 {
    let start = flow.start_ns as f64 * 1e-9;
    let active = (duration_s.min(flow.stop_ns as f64 * 1e-9) - start).max(0.0);
    // An infinite mean (Pareto with a shape of at most 1) is counted by its scale.
    let mean = |law: &Law| law.mean().unwrap_or(1e-3).max(1e-9);
    match &flow.source {
        Source::Poisson { gap, .. } | Source::Renewal { gap, .. } | Source::Cbr { gap, .. } => {
            active / mean(gap)
        }
        Source::Ditg { gap, size, .. } => {
            let payload = size.mean().unwrap_or(64_000.0).clamp(20.0, 64_000.0) as u32;
            let fragments = datagram::packets(0, 0, payload, 1500, Time::ZERO).count();
            active / mean(gap) * fragments as f64
        }
        Source::Replay { times_ns, .. } => times_ns.len() as f64,
    }
}
