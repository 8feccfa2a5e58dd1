//! Metrics of a finished run, with the paths and definitions of `dumbbell.metrics`.

use crate::capacity::capacities_bps;
use crate::changes::number_of;
use dumbbell_engine::spec::{Experiment, Flow, Source};
use dumbbell_engine::tables::{Tables, Values};
use serde::Serialize;
use std::collections::BTreeMap;

/// Nanoseconds per second.
pub(crate) const NS_PER_S: f64 = 1e9;
/// Value of `distributions.quantity` for sojourn times.
const SOJOURN: f64 = 0.0;

/// A metric with its path, such as `queue[a->b].loss_ratio`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Number {
    /// Path of the metric.
    pub path: String,
    /// Its value; None if undefined.
    pub value: Option<f64>,
}

/// A column as numbers; None if it does not exist.
pub fn column(tables: &Tables, table: &str, name: &str) -> Option<Vec<f64>> {
    let table = tables.0.iter().find(|each| each.name == table)?;
    let column = table.columns.iter().find(|each| each.name == name)?;
    Some(match &column.values {
        Values::I64(values) => values.iter().map(|value| *value as f64).collect(),
        Values::I32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        Values::I8(values) => values.iter().map(|value| f64::from(*value)).collect(),
        Values::F64(values) => values.clone(),
    })
}

/// Metrics of a run: those of queues, goodputs of flows, round-trip times of probes.
///
/// # Arguments
/// `ways` are the queues on the path of each flow; `queue` is the number of the selected queue. The
/// queues in `together` are reported separately, and over the packets of all of them under paths
/// that begin with `queues.`. Random traces are those of `replication`.
pub fn numbers(
    experiment: &Experiment,
    replication: u64,
    tables: &Tables,
    ways: &[Vec<u32>],
    queue: usize,
    together: &[usize],
) -> Vec<Number> {
    let names = experiment.queue_names();
    let mut found = Vec::new();
    let others = together.iter().filter(|each| **each != queue);
    for &each in std::iter::once(&queue).chain(others) {
        if let Some(name) = names.get(each) {
            of_queue(tables, each, &format!("queue[{name}]"), &mut found);
        }
    }
    if !together.is_empty() {
        of_queues(tables, together, &mut found);
    }
    let capacities = capacities_bps(experiment, replication);
    of_flows(experiment, tables, ways, &capacities, &mut found);
    of_probes(experiment, tables, &mut found);
    found
}

fn add(to: &mut Vec<Number>, path: String, value: f64) {
    let value = value.is_finite().then_some(value);
    to.push(Number { path, value });
}

fn of_queue(tables: &Tables, queue: usize, path: &str, to: &mut Vec<Number>) {
    let one = |name: &str| {
        let values = column(tables, "queues", name);
        values.and_then(|values| values.get(queue).copied())
    };
    let one = |name: &str| one(name).unwrap_or(f64::NAN);
    let causes = ["dropped_overlimit_pkts", "dropped_aqm_pkts", "policed_pkts"];
    let dropped: f64 = causes.map(one).iter().sum();
    let when = |count: f64, value: f64| if count > 0.0 { value } else { f64::NAN };
    let arrived = one("arrived_pkts");
    let measured_s = one("measured_s");
    let sojourns = one("sojourn_count");
    // A bin may extend beyond the maximum, which is exact.
    let greatest = one("sojourn_max_ns") / NS_PER_S;
    let p95 = sojourn_quantile_s(tables, &[queue], 0.95).min(greatest);
    let own = [
        ("utilization", one("busy_s") / measured_s),
        ("throughput_bps", 8.0 * one("departed_bytes") / measured_s),
        ("loss_ratio", when(arrived, dropped / arrived)),
        ("mean_system_pkts", one("system_mean_pkts")),
        ("mean_backlog_pkts", one("backlog_mean_pkts")),
        ("mean_sojourn_s", when(sojourns, one("sojourn_mean_s"))),
        ("sojourn_p95_s", when(sojourns, p95)),
    ];
    for (name, value) in own {
        add(to, format!("{path}.{name}"), value);
    }
}

/// Metrics over the packets of all these queues; each packet has the same weight.
fn of_queues(tables: &Tables, queues: &[usize], to: &mut Vec<Number>) {
    let of = |name| {
        let values = column(tables, "queues", name).unwrap_or_default();
        let own = queues
            .iter()
            .filter_map(|queue| values.get(*queue).copied());
        own.collect::<Vec<f64>>()
    };
    let (counts, means_s) = (of("sojourn_count"), of("sojourn_mean_s"));
    let all: f64 = counts.iter().sum();
    let of_some = counts
        .iter()
        .zip(&means_s)
        .filter(|(count, _)| **count > 0.0);
    let sum_s: f64 = of_some.map(|(count, mean_s)| count * mean_s).sum();
    let greatest_s = of("sojourn_max_ns").into_iter().fold(f64::NAN, f64::max) / NS_PER_S;
    let median_s = match all > 0.0 {
        true => sojourn_quantile_s(tables, queues, 0.5).min(greatest_s),
        false => f64::NAN,
    };
    add(to, "queues.mean_sojourn_s".into(), sum_s / all);
    add(to, "queues.sojourn_p50_s".into(), median_s);
}

/// Quantile over the packets of these queues, interpolated linearly within a bin
/// (`dumbbell.stats.histogram_quantile`).
fn sojourn_quantile_s(tables: &Tables, queues: &[usize], q: f64) -> f64 {
    let of = |name| column(tables, "distributions", name).unwrap_or_default();
    let (at, kinds) = (of("queue"), of("quantity"));
    let (low, high, weight) = (of("low"), of("high"), of("weight"));
    let is_own = |row: &usize| {
        kinds[*row] == SOJOURN && queues.iter().any(|queue| at[*row] == *queue as f64)
    };
    let mut rows: Vec<usize> = (0..at.len()).filter(is_own).collect();
    rows.sort_by(|one, other| low[*one].total_cmp(&low[*other]));
    let total: f64 = rows.iter().map(|row| weight[*row]).sum();
    let mut before = 0.0;
    // Merges bins that occur in several queues.
    for bin in rows.chunk_by(|one, other| low[*one] == low[*other]) {
        let own: f64 = bin.iter().map(|row| weight[*row]).sum();
        if before + own >= q * total {
            let share = ((q * total - before) / own).clamp(0.0, 1.0);
            let (low, high) = (low[bin[0]], high[bin[0]]);
            return (low + share * (high - low)) / NS_PER_S;
        }
        before += own;
    }
    f64::NAN
}

/// For each flow the common name of its group of equal flows, such as `download` for `download-1`
/// and `download-2`; its own name if it has no equal (`dumbbell.compare.equal_flows`).
pub fn groups(flows: &[Flow]) -> Vec<String> {
    let mut kinds: BTreeMap<&str, Vec<Vec<usize>>> = BTreeMap::new();
    for (index, flow) in flows.iter().enumerate() {
        let Some(base) = base_of(&flow.name) else {
            continue;
        };
        let of_base = kinds.entry(base).or_default();
        let is_alike = |members: &Vec<usize>| is_equal_but_for_name(flow, &flows[members[0]]);
        match of_base.iter_mut().find(|members| is_alike(members)) {
            Some(members) => members.push(index),
            None => of_base.push(vec![index]),
        }
    }
    let mut names: Vec<String> = flows.iter().map(|flow| flow.name.clone()).collect();
    for (base, of_base) in kinds {
        // Of several groups with the same base name, the first one gets the name.
        let equal = of_base.iter().find(|members| members.len() > 1);
        for &index in equal.into_iter().flatten() {
            names[index] = base.to_owned();
        }
    }
    names
}

fn base_of(name: &str) -> Option<&str> {
    let base = &name[..name.rfind('-')?];
    (!base.is_empty() && number_of(name, base).is_some()).then_some(base)
}

/// Whether two flows are equal except for their names.
pub fn is_equal_but_for_name(one: &Flow, other: &Flow) -> bool {
    // Destructured, so that the compiler reports a field that is added later. Not cloned, because a
    // replayed trace may be long.
    let Flow {
        name: _,
        // Equal flows have different ports.
        port: _,
        from,
        to,
        start_ns,
        stop_ns,
        start_jitter_ns,
        dscp,
        ecn,
        transport,
        tcp,
        source,
    } = one;
    *from == other.from
        && *to == other.to
        && *start_ns == other.start_ns
        && *stop_ns == other.stop_ns
        && *start_jitter_ns == other.start_jitter_ns
        && *dscp == other.dscp
        && *ecn == other.ecn
        && *transport == other.transport
        && *tcp == other.tcp
        && *source == other.source
}

fn goodput_bps(experiment: &Experiment, received_bytes: f64, flow: &Flow) -> f64 {
    let start = experiment.warm_up_ns.max(flow.start_ns);
    let stop = experiment.duration_ns.min(flow.stop_ns);
    match stop.saturating_sub(start) {
        0 => f64::NAN,
        on_ns => 8.0 * received_bytes / (on_ns as f64 / NS_PER_S),
    }
}

/// Sums over a group of equal flows.
#[derive(Default)]
struct FlowGroup {
    name: String,
    is_one: bool,
    flows: usize,
    goodput_bps: f64,
    capacity_bps: f64,
    dropped_pkts: f64,
    delivered_pkts: f64,
}

/// `capacities` are those of the queues, bit/s.
fn of_flows(
    experiment: &Experiment,
    tables: &Tables,
    ways: &[Vec<u32>],
    capacities: &[f64],
    to: &mut Vec<Number>,
) {
    let flows = &experiment.flows;
    let of = |name| column(tables, "flows", name).unwrap_or_default();
    let (received, dropped) = (of("received_payload_bytes"), of("dropped_pkts"));
    let delivered = of("delivered_pkts");
    let goodput = |index: usize| goodput_bps(experiment, received[index], &flows[index]);
    let mut sums: Vec<FlowGroup> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (index, name) in groups(flows).into_iter().enumerate() {
        let place = *places.entry(name).or_insert_with_key(|name| {
            sums.push(FlowGroup {
                name: name.clone(),
                is_one: *name == flows[index].name,
                ..FlowGroup::default()
            });
            sums.len() - 1
        });
        let sum = &mut sums[place];
        let way = ways[index].iter().map(|queue| capacities[*queue as usize]);
        sum.flows += 1;
        sum.goodput_bps += goodput(index);
        sum.capacity_bps += way.fold(f64::INFINITY, f64::min);
        sum.dropped_pkts += dropped[index];
        sum.delivered_pkts += delivered[index];
    }
    for sum in sums {
        let (of, goodput) = match sum.is_one {
            true => (format!("flow[{}]", sum.name), "goodput_bps"),
            false => (format!("flows[{}]", sum.name), "total_goodput_bps"),
        };
        let capacity_bps = sum.capacity_bps / sum.flows as f64;
        let is_limited = capacity_bps.is_finite();
        let share = if is_limited {
            sum.goodput_bps / capacity_bps
        } else {
            f64::NAN
        };
        let loss = sum.dropped_pkts / (sum.dropped_pkts + sum.delivered_pkts);
        add(to, format!("{of}.{goodput}"), sum.goodput_bps);
        add(to, format!("{of}.capacity_share"), share);
        add(to, format!("{of}.loss_ratio"), loss);
    }
    let greedy = (0..flows.len()).filter(|index| matches!(flows[*index].source, Source::Greedy(_)));
    let shares: Vec<f64> = greedy.map(goodput).collect();
    if shares.len() > 1 {
        let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|x| x * x));
        let jain = sum * sum / (shares.len() as f64 * squares.sum::<f64>());
        add(to, "network.jain_index".into(), jain);
    }
}

fn of_probes(experiment: &Experiment, tables: &Tables, to: &mut Vec<Number>) {
    let of = |name| column(tables, "probes", name).unwrap_or_default();
    let (probes, round_trips_ns) = (of("probe"), of("rtt_ns"));
    for (index, probe) in experiment.probes.iter().enumerate() {
        let rows = probes.iter().zip(&round_trips_ns);
        let answered = rows.filter(|(probe, rtt)| **probe == index as f64 && **rtt >= 0.0);
        let answered: Vec<f64> = answered.map(|(_, rtt)| rtt / 1e6).collect();
        let mean = answered.iter().sum::<f64>() / answered.len() as f64;
        add(to, format!("probe[{}].mean_rtt_ms", probe.name), mean);
    }
}
