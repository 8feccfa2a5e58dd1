//! What a run will cost, before it starts.

use crate::net::route::Routes;
use crate::qdisc;
use crate::sim::time::Time;
use crate::spec::{Experiment, Flow, Probe, Source, Transport};
use crate::traffic::datagram;
use crate::traffic::law::Law;

/// Two histograms with every row in use, and time at some thousands of numbers of packets.
const BYTES_PER_QUEUE: u64 = 160 << 10;
/// A row of `queue_samples` while it is built and as columns.
const BYTES_PER_SAMPLE: u64 = 160;
/// A row of `probes`.
const BYTES_PER_ECHO: u64 = 80;
/// A row of `transfers` while it is built and as columns.
const BYTES_PER_TRANSFER: u64 = 400;
/// A connection, with what its segments on the way take.
const BYTES_PER_CONNECTION: u64 = 4000;
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
        let indices = experiment.host_indices();
        let index = |name: &str| *indices.get(name).expect("hosts were checked");
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
        let mut connections_bytes = 0.0;
        let mut add = |packets: f64, path: Vec<u32>| {
            events += packets * (1.0 + 2.0 * path.len() as f64);
            let links = path.iter().filter(|link| recorded[**link as usize]).count();
            records += packets * 2.0 * links as f64;
        };
        let mut shares = Shares::new(experiment);
        for flow in &experiment.flows {
            if flow.transport == Transport::Tcp {
                shares.add(&path(&flow.from, &flow.to));
            }
        }
        for flow in &experiment.flows {
            let out = path(&flow.from, &flow.to);
            if flow.transport == Transport::Tcp {
                let share_bps = shares.bps(&out);
                let segments = segments_of(flow, duration_s, share_bps);
                connections_bytes += connections_bytes_of(flow, duration_s, share_bps);
                add(segments, out);
                // An acknowledgement for every second segment.
                add(segments / 2.0, path(&flow.to, &flow.from));
            } else {
                add(packets_of(flow, duration_s), out);
            }
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
            + records * BYTES_PER_RECORD as f64
            + connections_bytes;
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

/// What TCP gets where nothing is known to limit it, bit/s.
const UNLIMITED_BPS: f64 = 1e9;
/// Payload of a segment on an Ethernet.
const SEGMENT_BYTES: f64 = 1448.0;

/// What TCP flows can get of the links they share.
struct Shares {
    /// bit/s of each queue; infinite where nothing limits it.
    rates_bps: Vec<f64>,
    flows: Vec<u32>,
}

impl Shares {
    fn new(experiment: &Experiment) -> Shares {
        let ends = experiment.link_ends();
        let rates_bps: Vec<f64> = ends
            .map(|(_, _, end)| {
                let shaped_bps = match &end.qdisc {
                    qdisc::Config::Netem(netem) => netem.rate_bps,
                    qdisc::Config::Tbf(tbf) => tbf.rate_bps,
                    _ => 0,
                };
                let rates = [end.rate_bps, shaped_bps]
                    .into_iter()
                    .filter(|rate| *rate > 0);
                rates.min().map_or(f64::INFINITY, |rate| rate as f64)
            })
            .collect();
        Shares {
            flows: vec![0; rates_bps.len()],
            rates_bps,
        }
    }

    fn add(&mut self, path: &[u32]) {
        path.iter()
            .for_each(|queue| self.flows[*queue as usize] += 1);
    }

    /// Its fair share at the narrowest place.
    fn bps(&self, path: &[u32]) -> f64 {
        let shares = path.iter().map(|queue| {
            let queue = *queue as usize;
            self.rates_bps[queue] / f64::from(self.flows[queue])
        });
        shares.fold(UNLIMITED_BPS, f64::min)
    }
}

fn active_s(flow: &Flow, duration_s: f64) -> f64 {
    let start = flow.start_ns as f64 * 1e-9;
    (duration_s.min(flow.stop_ns as f64 * 1e-9) - start).max(0.0)
}

fn segments_of(flow: &Flow, duration_s: f64, share_bps: f64) -> f64 {
    let active = active_s(flow, duration_s);
    let most_bytes = active * share_bps / 8.0;
    let asked_bytes = match &flow.source {
        Source::Sized { bytes } => *bytes as f64,
        Source::Poisson { gap, size, .. }
        | Source::Renewal { gap, size, .. }
        | Source::Cbr { gap, size, .. } => {
            let mean = |law: &Law, least: f64| law.mean().unwrap_or(1e3).max(least);
            active / mean(gap, 1e-9) * mean(size, 1.0)
        }
        Source::ClosedLoop { size, think } => {
            let bytes = size.mean().unwrap_or(1e6).max(1.0);
            let each_s = think.mean().unwrap_or(1.0) + bytes * 8.0 / share_bps;
            active / each_s.max(1e-6) * bytes
        }
        Source::Arrivals { gap, size } => active * arrivals_of(gap, size).0 / 8.0,
        _ => f64::INFINITY,
    };
    most_bytes.min(asked_bytes) / SEGMENT_BYTES + 1.0
}

/// Payload that a flow asks for on average, bit/s, and transfers a second, where they begin
/// whether or not earlier ones are over.
fn arrivals_of(gap: &Law, size: &Law) -> (f64, f64) {
    let each_s = gap.mean().unwrap_or(1e-3).max(1e-9);
    (
        8.0 * size.mean().unwrap_or(1e6).max(1.0) / each_s,
        1.0 / each_s,
    )
}

/// Memory for a flow's transfers: those that do not get through as fast as they come are all
/// there at the end.
fn connections_bytes_of(flow: &Flow, duration_s: f64, share_bps: f64) -> f64 {
    let active = active_s(flow, duration_s);
    match &flow.source {
        Source::Arrivals { gap, size } => {
            let (asked_bps, per_s) = arrivals_of(gap, size);
            let waiting = (1.0 - share_bps / asked_bps).max(0.0);
            let each = BYTES_PER_TRANSFER as f64 + waiting * BYTES_PER_CONNECTION as f64;
            active * per_s * each
        }
        Source::ClosedLoop { size, think } => {
            let sent_s = 8.0 * size.mean().unwrap_or(1e6).max(1.0) / share_bps;
            let each_s = (think.mean().unwrap_or(1.0) + sent_s).max(1e-6);
            active / each_s * BYTES_PER_TRANSFER as f64 + BYTES_PER_CONNECTION as f64
        }
        _ => BYTES_PER_CONNECTION as f64,
    }
}

fn packets_of(flow: &Flow, duration_s: f64) -> f64 {
    let active = active_s(flow, duration_s);
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
        Source::Bursts { packets, gap, .. } => active / mean(gap) * f64::from(*packets),
        Source::Greedy
        | Source::Sized { .. }
        | Source::ClosedLoop { .. }
        | Source::Arrivals { .. } => {
            unreachable!("these have no packets of their own")
        }
    }
}
