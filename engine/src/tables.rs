//! The tables of a run, as columns. The Python package documents each of them.

use crate::net::link::Link;
use crate::observe::records::NO_CLASS;
use crate::observe::samples::{FlowSamples, QueueSamples};
use crate::sim::chunked_vec::{ChunkedVec, ExactSize};
use crate::sim::histogram::Histogram;
use crate::sim::link_statistics::LinkStatistics;
use crate::sim::table::NONE;
use crate::sim::time::{PS_PER_NS, PS_PER_S, Time};
use crate::sim::world::World;
use crate::tcp::sender::Statistics;
use crate::traffic::conversation::{Application, Conversation};
use crate::traffic::tcp_flow::{TcpFlow, Transfer};
use std::mem;
use std::sync::atomic::AtomicBool;

pub use crate::sim::table::{Column, Table, Tables, Values};

fn i64s<Row>(
    name: &'static str,
    rows: impl IntoIterator<Item = Row>,
    value: impl Fn(Row) -> u64,
) -> Column {
    let values = rows.into_iter().map(|row| value(row) as i64).collect();
    Column {
        name,
        values: Values::I64(values),
    }
}

fn instants<Row>(
    name: &'static str,
    rows: impl IntoIterator<Item = Row>,
    value: impl Fn(Row) -> Option<Time>,
) -> Column {
    let ns = |time: Option<Time>| time.map_or(NONE, |time| time.as_ns() as i64);
    let values = rows.into_iter().map(|row| ns(value(row))).collect();
    Column {
        name,
        values: Values::I64(values),
    }
}

fn i32s<Row>(
    name: &'static str,
    rows: impl IntoIterator<Item = Row>,
    value: impl Fn(Row) -> i64,
) -> Column {
    let values = rows.into_iter().map(|row| value(row) as i32).collect();
    Column {
        name,
        values: Values::I32(values),
    }
}

fn i8s<Row>(
    name: &'static str,
    rows: impl IntoIterator<Item = Row>,
    value: impl Fn(Row) -> i8,
) -> Column {
    let values = rows.into_iter().map(value).collect();
    Column {
        name,
        values: Values::I8(values),
    }
}

fn f64s<Row>(
    name: &'static str,
    rows: impl IntoIterator<Item = Row>,
    value: impl Fn(Row) -> f64,
) -> Column {
    let values = rows.into_iter().map(value).collect();
    Column {
        name,
        values: Values::F64(values),
    }
}

/// Columns of what TCP senders counted.
fn of_senders(
    name: &'static str,
    flows: &[Conversation],
    value: impl Fn(&Statistics) -> u64,
) -> Column {
    let or_none = |flow: &Conversation| {
        let statistics = flow.tcp().map(TcpFlow::statistics);
        statistics.map_or(NONE, |statistics| value(&statistics) as i64)
    };
    Column {
        name,
        values: Values::I64(flows.iter().map(or_none).collect()),
    }
}

fn index(name: &'static str, rows: usize) -> Column {
    Column {
        name,
        values: Values::I32((0..rows as i32).collect()),
    }
}

/// The tables of a finished run; takes its samples.
pub fn of(world: &mut World) -> Tables {
    until(world, &AtomicBool::new(false))
}

/// The tables of an unfinished run that have the same meaning before its end; open transfers have their
/// counts so far.
pub fn so_far(world: &World) -> Tables {
    let never = AtomicBool::new(false);
    Tables(vec![
        distributions(world),
        queue_samples(world.samples.queues.clone()),
        flow_samples(world.samples.flows.clone()),
        transfers(world, &never),
        probes(world, &never),
        packets(world, &never),
    ])
}

/// As `of`, abandoned soon after `stop` is set; the tables are then incomplete.
pub fn until(world: &mut World, stop: &AtomicBool) -> Tables {
    let samples = mem::take(&mut world.samples);
    Tables(vec![
        flows(world),
        queues(world),
        distributions(world),
        flow_delays(world),
        queue_samples(samples.queues),
        flow_samples(samples.flows),
        transfers(world, stop),
        probes(world, stop),
        packets(world, stop),
    ])
}

fn flows(world: &World) -> Table {
    let flows = &world.conversations[..world.flows];
    let in_network = world.in_network();
    let in_network = &in_network[..world.flows];
    type Row = Conversation;
    let columns = vec![
        index("flow", flows.len()),
        i64s("created_pkts", flows, |f: &Row| f.counters().created.pkts),
        i64s("created_bytes", flows, |f| f.counters().created.bytes),
        i64s("delivered_pkts", flows, |f| f.counters().delivered.pkts),
        i64s("delivered_bytes", flows, |f| f.counters().delivered.bytes),
        i64s("dropped_pkts", flows, |f| f.counters().dropped.pkts),
        i64s("dropped_bytes", flows, |f| f.counters().dropped.bytes),
        i64s("duplicated_pkts", flows, |f| f.counters().duplicated.pkts),
        i64s("duplicated_bytes", flows, |f| f.counters().duplicated.bytes),
        i64s("in_network_pkts", in_network, |(packets, _)| *packets),
        i64s("in_network_bytes", in_network, |(_, bytes)| *bytes),
        i64s("sent_datagrams", flows, |f| f.datagrams().sent),
        i64s("sent_payload_bytes", flows, |f| {
            f.datagrams().sent_payload_bytes
        }),
        i64s("received_datagrams", flows, |f| f.datagrams().received),
        i64s("received_payload_bytes", flows, |f| {
            f.datagrams().received_payload_bytes
        }),
        instants("first_sent_ns", flows, Row::first_sent),
        instants("last_received_ns", flows, Row::last_received),
        i64s("delay_count", flows, |f| f.delay().moments().count()),
        f64s("delay_mean_s", flows, |f| {
            f.delay().moments().mean_seconds()
        }),
        f64s("delay_sd_s", flows, |f| f.delay().moments().sd_seconds()),
        instants("delay_min_ns", flows, |f| f.delay().moments().min()),
        instants("delay_max_ns", flows, |f| f.delay().moments().max()),
        of_senders("retransmitted_pkts", flows, |tcp| tcp.retransmitted_pkts),
        of_senders("rto_count", flows, |tcp| tcp.rto_count),
    ];
    Table {
        name: "flows",
        columns,
    }
}

/// The statistics of an observed queue.
fn whole(link: &Link) -> Option<&LinkStatistics> {
    Some(&link.statistics).filter(|statistics| statistics.is_whole())
}

fn queues(world: &World) -> Table {
    let links = &world.links;
    let measured_ps = (world.end - world.warm_up).0;
    let per_measured = |integral: u128| integral as f64 / measured_ps as f64;
    let seconds = |ps: u64| ps as f64 / PS_PER_S as f64;
    type Row = Link;
    // NaN and -1 if the queue is not observed.
    let times = |name, value: &dyn Fn(&LinkStatistics) -> f64| {
        f64s(name, links, |link: &Row| {
            whole(link).map_or(f64::NAN, value)
        })
    };
    let counts = |name, value: &dyn Fn(&LinkStatistics) -> u64| {
        let or_none = |link: &Row| whole(link).map_or(NONE, |of| value(of) as i64);
        Column {
            name,
            values: Values::I64(links.iter().map(or_none).collect()),
        }
    };
    let counted: Vec<_> = links
        .iter()
        .map(|link| link.statistics.measured())
        .collect();
    let columns = vec![
        index("queue", links.len()),
        i64s("arrived_pkts", &counted, |c| c.arrived_pkts),
        i64s("arrived_bytes", &counted, |c| c.arrived_bytes),
        i64s("departed_pkts", &counted, |c| c.departed_pkts),
        i64s("departed_bytes", &counted, |c| c.departed_bytes),
        i64s("dropped_overlimit_pkts", &counted, |c| {
            c.dropped_overlimit_pkts
        }),
        i64s("dropped_overlimit_bytes", &counted, |c| {
            c.dropped_overlimit_bytes
        }),
        i64s("dropped_aqm_pkts", &counted, |c| c.dropped_aqm_pkts),
        i64s("dropped_aqm_bytes", &counted, |c| c.dropped_aqm_bytes),
        i64s("policed_pkts", &counted, |c| c.policed_pkts),
        i64s("policed_bytes", &counted, |c| c.policed_bytes),
        i64s("lost_pkts", &counted, |c| {
            c.lost_pkts + c.lost_in_queue_pkts
        }),
        i64s("marked_pkts", &counted, |c| c.marked_pkts),
        f64s("measured_s", links, |_: &Row| seconds(measured_ps)),
        times("busy_s", &|of| seconds(of.levels.busy())),
        counts("sojourn_count", &|of| of.sojourn.count()),
        times("sojourn_mean_s", &|of| of.sojourn.mean_seconds()),
        times("sojourn_sd_s", &|of| of.sojourn.sd_seconds()),
        instants("sojourn_min_ns", links, |l: &Row| whole(l)?.sojourn.min()),
        instants("sojourn_max_ns", links, |l| whole(l)?.sojourn.max()),
        times("wait_mean_s", &|of| of.wait.mean_seconds()),
        times("wait_sd_s", &|of| of.wait.sd_seconds()),
        instants("wait_max_ns", links, |l| whole(l)?.wait.max()),
        times("system_mean_pkts", &|of| per_measured(of.levels.system)),
        times("backlog_mean_pkts", &|of| per_measured(of.levels.backlog())),
        times("backlog_mean_bytes", &|of| {
            per_measured(of.levels.backlog_bytes)
        }),
        counts("system_max_pkts", &|of| {
            u64::from(of.levels.max.system_pkts)
        }),
        counts("backlog_max_pkts", &|of| {
            u64::from(of.levels.max.backlog_pkts)
        }),
        counts("backlog_max_bytes", &|of| of.levels.max.backlog_bytes),
    ];
    Table {
        name: "queues",
        columns,
    }
}

fn ns(ps: u64) -> f64 {
    ps as f64 / PS_PER_NS as f64
}

/// A bin of a distribution: queue, quantity, [low, high), weight.
type Bin = (i32, i8, f64, f64, f64);

fn delay_bins(bins: &mut Vec<Bin>, queue: i32, quantity: i8, histogram: &Histogram) {
    for (low, high, count) in histogram.bins() {
        bins.push((queue, quantity, ns(low), ns(high), count as f64));
    }
}

fn distributions(world: &World) -> Table {
    let mut bins: Vec<Bin> = Vec::new();
    for (queue, link) in world.links.iter().enumerate() {
        let Some(statistics) = whole(link) else {
            continue;
        };
        let queue = queue as i32;
        delay_bins(&mut bins, queue, 0, &statistics.sojourn_histogram);
        delay_bins(&mut bins, queue, 1, &statistics.wait_histogram);
        for (packets, &ps) in statistics.levels.occupancy.iter().enumerate() {
            if ps > 0 {
                let low = packets as f64;
                bins.push((queue, 2, low, low + 1.0, ps as f64 / PS_PER_S as f64));
            }
        }
    }
    let columns = vec![
        i32s("queue", &bins, |bin| i64::from(bin.0)),
        i8s("quantity", &bins, |bin| bin.1),
        f64s("low", &bins, |bin| bin.2),
        f64s("high", &bins, |bin| bin.3),
        f64s("weight", &bins, |bin| bin.4),
    ];
    Table {
        name: "distributions",
        columns,
    }
}

fn flow_delays(world: &World) -> Table {
    let flows = (0i64..).zip(&world.conversations[..world.flows]);
    let bins: Vec<(i64, (u64, u64, u64))> = flows
        .flat_map(|(flow, of)| of.delay().histogram().bins().map(move |bin| (flow, bin)))
        .collect();
    let columns = vec![
        i32s("flow", &bins, |(flow, _)| *flow),
        f64s("low_ns", &bins, |(_, (low, _, _))| ns(*low)),
        f64s("high_ns", &bins, |(_, (_, high, _))| ns(*high)),
        i64s("pkts", &bins, |(_, (_, _, count))| *count),
    ];
    Table {
        name: "flow_delays",
        columns,
    }
}

fn integers(name: &'static str, values: Vec<i64>) -> Column {
    Column {
        name,
        values: Values::I64(values),
    }
}

fn indices(name: &'static str, values: Vec<i32>) -> Column {
    Column {
        name,
        values: Values::I32(values),
    }
}

fn numbers(name: &'static str, values: Vec<f64>) -> Column {
    Column {
        name,
        values: Values::F64(values),
    }
}

fn queue_samples(samples: QueueSamples) -> Table {
    Table {
        name: "queue_samples",
        columns: vec![
            integers("t_ns", samples.t_ns),
            indices("queue", samples.queue),
            integers("system_pkts", samples.system_pkts),
            integers("backlog_pkts", samples.backlog_pkts),
            integers("backlog_bytes", samples.backlog_bytes),
            integers("departed_pkts", samples.departed_pkts),
            integers("departed_bytes", samples.departed_bytes),
            integers("dropped_pkts", samples.dropped_pkts),
            numbers("sojourn_sum_s", samples.sojourn_sum_s),
            numbers("system_integral_pkt_s", samples.system_integral_pkt_s),
            integers("marked_pkts", samples.marked_pkts),
            numbers("drop_probability", samples.drop_probability),
            integers("delay_estimate_ns", samples.delay_estimate_ns),
        ],
    }
}

fn flow_samples(samples: FlowSamples) -> Table {
    let tcp = samples.tcp;
    let delivered_payload_bytes = samples.delivered_payload_bytes;
    Table {
        name: "flow_samples",
        columns: vec![
            integers("t_ns", samples.t_ns),
            indices("flow", samples.flow),
            integers("delivered_pkts", samples.delivered_pkts),
            integers("delivered_payload_bytes", delivered_payload_bytes),
            integers("dropped_pkts", samples.dropped_pkts),
            numbers("delay_sum_s", samples.delay_sum_s),
            integers("cwnd_pkts", tcp.cwnd_pkts),
            integers("ssthresh_pkts", tcp.ssthresh_pkts),
            integers("inflight_pkts", tcp.inflight_pkts),
            integers("srtt_ns", tcp.srtt_ns),
            integers("rttvar_ns", tcp.rttvar_ns),
            integers("min_rtt_ns", tcp.min_rtt_ns),
            integers("retransmitted_pkts", samples.retransmitted_pkts),
            integers("sent_payload_bytes", samples.sent_payload_bytes),
            integers("pacing_rate_bps", tcp.pacing_rate_bps),
            integers("delivery_rate_bps", tcp.delivery_rate_bps),
        ],
    }
}

/// Payload written by applications to TCP, one row for each TCP flow and sampling instant. It is separate
/// from the tables of a run, so it does not change the digest. Call it before the samples are taken.
pub fn writes(world: &World) -> Table {
    let samples = &world.samples.flows;
    let rows = || {
        let written = samples.written_payload_bytes.iter().enumerate();
        written.filter(|(_, bytes)| **bytes != NONE)
    };
    let t_ns = rows().map(|(row, _)| samples.t_ns[row]).collect();
    let flow = rows().map(|(row, _)| samples.flow[row]).collect();
    let written = rows().map(|(_, bytes)| *bytes).collect();
    Table {
        name: "flow_writes",
        columns: vec![
            integers("t_ns", t_ns),
            indices("flow", flow),
            integers("written_payload_bytes", written),
        ],
    }
}

/// Activity of TCP senders, in the order of `flow_samples`. It is separate from the tables of a run, so it
/// does not change the digest. The sample at the end of a run is missing before the run is over.
pub fn activities(world: &World) -> Table {
    Table {
        name: "flow_activities",
        columns: vec![Column {
            name: "activity",
            values: Values::I8(world.samples.flows.activity.clone()),
        }],
    }
}

/// Class of each packet of `packets`, in the order of that table. It is separate from the tables of a run, so
/// it does not change the digest.
pub fn packet_classes(world: &World) -> Table {
    let never = AtomicBool::new(false);
    let class = |class: u16| match class {
        NO_CLASS => NONE,
        class => i64::from(class),
    };
    let rows = world.records.rows.until(&never);
    Table {
        name: "packet_classes",
        columns: vec![i32s("class", rows, |record| class(record.class))],
    }
}

/// Rows of several lists in sequence, each with the index of its list and its own number from 1. The total is
/// known, so columns are allocated once.
struct NumberedRows<'a, T> {
    lists: Vec<(i64, &'a ChunkedVec<T>)>,
    stop: &'a AtomicBool,
}

impl<'a, T> NumberedRows<'a, T> {
    fn rows(&self) -> ExactSize<impl Iterator<Item = (i64, u64, &'a T)>> {
        let stop = self.stop;
        let rows = self
            .lists
            .clone()
            .into_iter()
            .flat_map(move |(list, rows)| {
                let numbered = rows.until(stop).zip(1u64..);
                numbered.map(move |(row, number)| (list, number, row))
            });
        let len = self.lists.iter().map(|(_, rows)| rows.len()).sum();
        ExactSize::new(rows, len)
    }
}

fn transfers(world: &World, stop: &AtomicBool) -> Table {
    let flows = world.conversations[..world.flows].iter().zip(0..);
    let lists = flows.filter_map(|(flow, index)| Some((index, flow.tcp()?.transfers())));
    let transfers = NumberedRows {
        lists: lists.collect(),
        stop,
    };
    type Row<'a> = (i64, u64, &'a Transfer);
    let rows = || transfers.rows();
    let asked_bytes = |(_, _, t): Row| t.bytes.map_or(NONE, |bytes| bytes as i64);
    let columns = vec![
        i32s("flow", rows(), |(flow, _, _)| flow),
        i64s("transfer", rows(), |(_, number, _)| number),
        Column {
            name: "bytes",
            values: Values::I64(rows().map(asked_bytes).collect()),
        },
        instants("started_ns", rows(), |(_, _, t)| Some(t.started)),
        instants("completed_ns", rows(), |(_, _, t)| t.completed),
        i64s("created_pkts", rows(), |(_, _, t)| t.created_pkts),
        i64s("retransmitted_pkts", rows(), |(_, _, t)| {
            t.retransmitted_pkts
        }),
        i64s("received_pkts", rows(), |(_, _, t)| t.received_pkts),
        i64s("received_bytes", rows(), |(_, _, t)| t.received_bytes),
        i64s("received_again_pkts", rows(), |(_, _, t)| {
            t.received_again_pkts
        }),
        instants("first_received_ns", rows(), |(_, _, t)| t.first_received),
        instants("last_received_ns", rows(), |(_, _, t)| t.last_received),
        i64s("dropped_pkts", rows(), |(_, _, t)| t.dropped_pkts),
    ];
    Table {
        name: "transfers",
        columns,
    }
}

fn probes(world: &World, stop: &AtomicBool) -> Table {
    let probes = world.conversations[world.flows..].iter().zip(0..);
    let lists = probes.filter_map(|(probe, index)| match &probe.application {
        Application::Ping(ping) => Some((index, &ping.echoes)),
        _ => None,
    });
    let echoes = NumberedRows {
        lists: lists.collect(),
        stop,
    };
    let rows = || echoes.rows();
    let columns = vec![
        i32s("probe", rows(), |(probe, _, _)| probe),
        i64s("seq", rows(), |(_, number, _)| number),
        instants("sent_ns", rows(), |(_, _, echo)| Some(echo.sent)),
        instants("received_ns", rows(), |(_, _, echo)| echo.received),
        instants("rtt_ns", rows(), |(_, _, echo)| {
            echo.received.map(|received| received - echo.sent)
        }),
    ];
    Table {
        name: "probes",
        columns,
    }
}

fn packets(world: &World, stop: &AtomicBool) -> Table {
    let rows = || world.records.rows.until(stop);
    let flows = world.flows as i64;
    let or_none = |holds: bool, index: i64| if holds { index } else { NONE };
    let columns = vec![
        i64s("t_ns", rows(), |r| r.time.as_ns()),
        i32s("queue", rows(), |r| i64::from(r.queue)),
        i8s("event", rows(), |r| r.event as i8),
        i8s("reason", rows(), |r| r.reason),
        i32s("flow", rows(), |r| {
            let index = i64::from(r.conversation);
            or_none(index < flows, index)
        }),
        i32s("probe", rows(), |r| {
            let index = i64::from(r.conversation) - flows;
            or_none(index >= 0, index)
        }),
        i64s("seq", rows(), |r| u64::from(r.number)),
        i32s("bytes", rows(), |r| i64::from(r.bytes)),
        i32s("system_pkts", rows(), |r| i64::from(r.system_pkts)),
        instants("sojourn_ns", rows(), |r| r.sojourn),
    ];
    Table {
        name: "packets",
        columns,
    }
}
