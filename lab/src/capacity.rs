//! What links can carry, changes of their rates and traces included.

use crate::numbers::NS_PER_S;
use dumbbell_engine::sim::random::Stream;
use dumbbell_engine::sim::time::Time;
use dumbbell_engine::spec::trace::Trace;
use dumbbell_engine::spec::trace::capacity::bits_between;
use dumbbell_engine::spec::{Experiment, LinkEnd};

/// Intervals of a trace in a figure: one is about two pixels wide.
const INTERVALS: u64 = 300;

/// Mean capacity of each queue's link and policer over the measured window of a replication, bit/s;
/// infinite if nothing limits it.
pub fn capacities_bps(experiment: &Experiment, replication: u64) -> Vec<f64> {
    let measured_s = (experiment.duration_ns - experiment.warm_up_ns) as f64 / NS_PER_S;
    let ends = experiment.link_ends();
    let names = experiment.queue_names();
    ends.zip(names)
        .map(|((_, _, end), name)| capacity_bits(experiment, replication, end, &name) / measured_s)
        .collect()
}

/// Mean rate of a queue's trace in each of `INTERVALS` equal parts of the run, bit/s.
///
/// None if the link has no trace, or none that limits its rate.
pub fn traced_bps(experiment: &Experiment, replication: u64, queue: usize) -> Option<Vec<f64>> {
    let (_, _, end) = experiment.link_ends().nth(queue)?;
    let trace = end.trace.as_ref()?;
    let name = experiment.queue_names().swap_remove(queue);
    let edge_ns = |part| {
        let edge = u128::from(experiment.duration_ns) * u128::from(part) / u128::from(INTERVALS);
        edge as u64
    };
    let edges_ns: Vec<u64> = (0..=INTERVALS).map(edge_ns).collect();
    let bits = traced_bits(experiment, replication, (end, trace, &name), &edges_ns);
    let spans_s = edges_ns
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) as f64 / NS_PER_S);
    let rates_bps = bits
        .iter()
        .zip(spans_s)
        .map(|(bits, span_s)| match span_s > 0.0 {
            true => bits / span_s,
            false => 0.0,
        });
    let rates_bps: Vec<f64> = rates_bps.collect();
    rates_bps
        .iter()
        .all(|rate| rate.is_finite())
        .then_some(rates_bps)
}

/// Bits that a trace lets pass between consecutive edges.
fn traced_bits(
    experiment: &Experiment,
    replication: u64,
    (end, trace, name): (&LinkEnd, &Trace, &str),
    edges_ns: &[u64],
) -> Vec<f64> {
    let stream = Stream::new(experiment.seed, replication, &format!("link/{name}/trace"));
    let own = end.own_values();
    let service = trace.service(&own, experiment.duration_ns, stream);
    let edges: Vec<Time> = edges_ns.iter().map(|ns| Time::from_ns(*ns)).collect();
    bits_between(service, &own, &edges)
}

/// Number of bits that a link can carry in the measured window, including changes of its rate. At
/// each time the slowest of link, qdisc and policer determines the rate.
fn capacity_bits(experiment: &Experiment, replication: u64, end: &LinkEnd, name: &str) -> f64 {
    let paced_bps = end.qdisc.shaped_bps();
    let policed_bps = end.police.as_ref().map_or(0, |police| police.rate_bps);
    let (start_ns, stop_ns) = (experiment.warm_up_ns, experiment.duration_ns);
    if let Some(trace) = &end.trace {
        let edges_ns = [start_ns, stop_ns];
        let traced = traced_bits(experiment, replication, (end, trace, name), &edges_ns)[0];
        let others = [paced_bps, policed_bps]
            .into_iter()
            .filter(|limit| *limit > 0);
        let measured_s = (stop_ns - start_ns) as f64 / NS_PER_S;
        return others
            .map(|limit| limit as f64 * measured_s)
            .fold(traced, f64::min);
    }
    let changes = end.changes.iter();
    let changes = changes.filter_map(|each| each.rate_bps.map(|rate_bps| (each.at_ns, rate_bps)));
    let steps: Vec<(u64, u64)> = std::iter::once((0, end.rate_bps)).chain(changes).collect();
    let mut bits = 0.0;
    for (place, (since_ns, rate_bps)) in steps.iter().enumerate() {
        let until_ns = steps.get(place + 1).map_or(stop_ns, |next| next.0);
        let span_ns = until_ns
            .min(stop_ns)
            .saturating_sub(start_ns.max(*since_ns));
        if span_ns > 0 {
            let limits = [*rate_bps, paced_bps, policed_bps]
                .into_iter()
                .filter(|limit| *limit > 0);
            let slowest_bps = limits.min().map_or(f64::INFINITY, |limit| limit as f64);
            bits += span_ns as f64 / NS_PER_S * slowest_bps;
        }
    }
    bits
}
