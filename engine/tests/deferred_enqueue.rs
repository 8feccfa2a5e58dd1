//! What comes to a queue with events of its own, behind a link that only leads there, has an event only
//! where the queue could send: nothing changes but the number of events.

mod common;

use common::*;
use dumbbell_engine::net::plan::FastPaths;
use dumbbell_engine::sim::world::World;
use dumbbell_engine::spec::source::Greedy;
use dumbbell_engine::spec::{Experiment, Link, Source, Tcp};
use dumbbell_engine::tables::{self, Tables};
use dumbbell_tc::parse_qdisc;

/// Disciplines that may stand behind a link, of 1 Mbit/s or in front of it.
const QDISCS: [(&str, u64); 16] = [
    ("codel limit 4 ecn", 1_000_000),
    ("fq_codel limit 5", 1_000_000),
    ("pie limit 6 target 1ms tupdate 2ms", 1_000_000),
    (
        "red limit 3000 min 300 max 900 avpkt 125 burst 3 probability 0.5",
        1_000_000,
    ),
    ("prio", 1_000_000),
    ("fq limit 5 flow_limit 3", 1_000_000),
    ("fq maxrate 900kbit", 2_000_000),
    ("netem limit 9 delay 2ms 1ms loss 10%", 1_000_000),
    ("netem limit 9 rate 1mbit", 0),
    ("tbf rate 1mbit burst 250b limit 700b", 0),
    ("tbf rate 1mbit burst 500b limit 900b", 2_000_000),
    (
        "root handle 1: tbf rate 1mbit burst 1500b limit 9000b ; parent 1:1 handle 2: pie limit 7 target 1ms tupdate 2ms",
        0,
    ),
    (
        "root handle 1: tbf rate 1mbit burst 250b limit 9000b ; parent 1:1 handle 2: fq_codel limit 5",
        0,
    ),
    (
        "root handle 1: tbf rate 1mbit burst 250b limit 9000b ; parent 1:1 handle 2: codel limit 4",
        0,
    ),
    (
        "root handle 1: tbf rate 1mbit burst 250b limit 9000b ; parent 1:1 handle 2: prio",
        0,
    ),
    (
        "root handle 1: tbf rate 1mbit burst 250b limit 9000b ; parent 1:1 handle 2: netem delay 1ms 1ms",
        0,
    ),
];

fn finished(mut world: World) -> (Tables, u64) {
    while world.step() {}
    world.finish();
    world.check_conservation().unwrap();
    (tables::of(&mut world), world.events)
}

/// Events of a run, and of one with an event for everything. Their tables are the same.
fn events(spec: &Experiment, name: &str) -> (Tables, u64, u64) {
    let spec = checked(spec);
    let (tables, few) = finished(World::new(&spec, 0));
    let (plain, many) = finished(World::planned(
        &spec,
        0,
        FastPaths::Off,
        &Default::default(),
    ));
    assert_eq!(tables.digest(), plain.digest(), "{name}");
    (tables, few, many)
}

/// Access link, a queue of this discipline, access link.
fn line(qdisc: &str, rate_bps: u64, access_bps: u64, is_reversed: bool) -> Vec<Link> {
    let hosts = [("a", "b"), ("b", "c"), ("c", "d")];
    let ends = hosts.into_iter().zip([access_bps, rate_bps, access_bps]);
    let mut line: Vec<_> = ends
        .map(|((from, to), rate_bps)| link(from, to, end(rate_bps)))
        .collect();
    line[1].forward.qdisc = parse_qdisc(qdisc).unwrap();
    line[1].reverse = end(0);
    for link in &mut line {
        link.forward.overhead_bytes = 0;
        link.reverse.overhead_bytes = 0;
    }
    if is_reversed {
        line.reverse();
    }
    line
}

/// Constant sizes: what arrives does so in the instants in which the queue sends, by links that stand
/// before it and after it in the description.
#[test]
fn ties_before_a_queue_are_broken_alike() {
    let burst: Vec<(u64, u32)> = (0..120).map(|n| (n / 6 * 5 * MS, 125)).collect();
    let mut dropped = 0;
    for (qdisc, rate_bps) in QDISCS {
        for access_bps in [1_000_000, 2_000_000, 8_000_000] {
            for is_reversed in [false, true] {
                let flows = vec![trace("f", "a", "d", &burst), trace("g", "a", "d", &burst)];
                let pings = vec![ping("p", "a", "d", MS, 40)];
                let line = line(qdisc, rate_bps, access_bps, is_reversed);
                let mut spec = experiment(line, flows, pings);
                spec.sample_interval_ns = MS;
                spec.warm_up_ns = 4 * MS;
                let (tables, few, many) = events(&spec, qdisc);
                assert!(few <= many, "{few} of {many}: {qdisc}");
                dropped += tables.column_i64("flows", "dropped_pkts")[0];
            }
        }
    }
    assert!(dropped > 0);
}

/// TCP with probes beside it, samples at odd times, ways there and back.
#[test]
fn senders_behind_an_access_link_see_the_same_queue() {
    for (qdisc, rate_bps) in QDISCS {
        let qdisc = qdisc.replace("250b limit", "3028b limit");
        let mut line = line(&qdisc, rate_bps, 10_000_000, false);
        line[2].forward.delay_ns = 3 * MS;
        line[1].reverse.delay_ns = 5 * MS;
        let flows = ["f", "g"].map(|name| {
            let source = Source::Greedy(Greedy::default());
            tcp_flow(name, "a", "d", source, Tcp::linux("cubic"))
        });
        let mut spec = experiment(line, flows.to_vec(), vec![ping("p", "a", "d", 7 * MS, 0)]);
        spec.warm_up_ns = 2 * S;
        spec.sample_interval_ns = 3_333_333;
        let (_, few, many) = events(&spec, &qdisc);
        assert!(few < many, "{few} of {many}: {qdisc}");
    }
}

/// While a transmitter or a bucket is busy, nothing that comes to it is an event; nor is what passes a
/// link in an instant on its way from a delay to a transmitter.
#[test]
fn what_comes_to_a_busy_queue_has_no_events() {
    for (qdisc, rate_bps) in [
        ("codel", 1_000_000),
        (
            "root handle 1: tbf rate 1mbit burst 3028b limit 100mb ; parent 1:1 handle 2: pie",
            0,
        ),
    ] {
        let mut line = line(qdisc, rate_bps, 10_000_000, false);
        line[2].reverse.delay_ns = 5 * MS;
        line[0].reverse.rate_bps = 10_000_000;
        let source = Source::Greedy(Greedy::default());
        let tcp = Tcp {
            delayed_ack: false,
            ..Tcp::rfc("reno")
        };
        let flow = tcp_flow("f", "a", "d", source, tcp);
        let spec = experiment(line, vec![flow], vec![]);
        let (tables, few, many) = events(&spec, qdisc);
        let packets = tables.column_i64("queues", "departed_pkts")[2] as u64;
        // Where the queue sends, where the packet arrives, where its acknowledgement does. Two more
        // otherwise: before the queue, and where the delay of acknowledgements ends.
        assert!(10 * few < 33 * packets, "{few} events of {packets} packets");
        assert!(
            10 * many > 48 * packets,
            "{many} events of {packets} packets"
        );
    }
}
