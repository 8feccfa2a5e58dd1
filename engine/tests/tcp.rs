//! TCP through a network: it fills a link, shares it, ends its transfers; nothing is lost or
//! made on the way.

mod common;

use common::*;
use dumbbell_engine::cca::NAMES;
use dumbbell_engine::run::{Monitor, RunOutput, run};
use dumbbell_engine::sim::world::World;
use dumbbell_engine::spec::source::{self, Arrivals, Cbr, ClosedLoop, Greedy};
use dumbbell_engine::spec::{Experiment, Flow, Source, Tcp};
use dumbbell_engine::traffic::tcp_flow::Transfer;
use std::collections::BTreeMap;

fn simulate(experiment: &Experiment) -> RunOutput {
    run(&checked(experiment), 0, &Monitor::default()).unwrap()
}

/// A bottleneck of 10 Mbit/s and 40 ms with a queue of one bandwidth-delay product.
fn dumbbell(flows: Vec<Flow>) -> Experiment {
    let mut experiment = experiment(
        vec![bottleneck(10_000_000, 40 * MS, pfifo(33))],
        flows,
        vec![],
    );
    experiment.duration_ns = 60 * S;
    experiment.warm_up_ns = 10 * S;
    experiment.sample_interval_ns = 100 * MS;
    experiment
}

fn greedy(name: &str, controller: &str) -> Flow {
    let tcp = without_small_queues(controller);
    tcp_flow(name, "a", "b", Source::Greedy(Greedy::default()), tcp)
}

fn goodput_bps(output: &RunOutput, flow: usize) -> f64 {
    output.tables.column_i64("flows", "received_payload_bytes")[flow] as f64 * 8.0 / 50.0
}

/// Payload of 1448 in 1514 bytes on the link.
const MOST_BPS: f64 = 1e7 * 1448.0 / 1514.0;

#[test]
fn one_flow_fills_the_link() {
    // A window by hand stays what it is.
    let by_themselves = NAMES.iter().filter(|name| **name != "manual");
    for controller in by_themselves {
        let output = simulate(&dumbbell(vec![greedy("f", controller)]));
        let share = goodput_bps(&output, 0) / MOST_BPS;
        // Up to a tenth of its time LEDBAT++ lets the queue run empty, to measure the base delay.
        let least = if *controller == "ledbat++" { 0.9 } else { 0.95 };
        assert!((least..1.0001).contains(&share), "{controller}: {share}");
        assert_eq!(
            output.tables.column_i64("flows", "rto_count"),
            [0],
            "{controller}"
        );
    }
}

#[test]
fn equal_flows_share_alike() {
    let flows = (0..4).map(|n| greedy(&format!("f{n}"), "reno")).collect();
    let mut experiment = dumbbell(flows);
    experiment.duration_ns = 210 * S;
    for (flow, start_ns) in experiment
        .flows
        .iter_mut()
        .zip((0..).step_by(37 * MS as usize))
    {
        flow.start_ns = start_ns;
    }
    let output = simulate(&experiment);
    let shares: Vec<f64> = (0..4).map(|flow| goodput_bps(&output, flow)).collect();
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), share| {
        (sum + share, squares + share * share)
    });
    // Jain's index.
    assert!(sum * sum / (4.0 * squares) > 0.95, "{shares:?}");
}

#[test]
fn the_shorter_path_gets_more() {
    let mut experiment = dumbbell(vec![greedy("short", "reno")]);
    let mut long = bottleneck(0, 120 * MS, pfifo(1000));
    (long.a, long.b) = ("c".into(), "a".into());
    experiment.links.push(long);
    experiment
        .hosts
        .push(dumbbell_engine::spec::Host { name: "c".into() });
    experiment.flows.push(tcp_flow(
        "long",
        "c",
        "b",
        Source::Greedy(Greedy::default()),
        without_small_queues("reno"),
    ));
    let output = simulate(&experiment);
    assert!(goodput_bps(&output, 0) > 1.5 * goodput_bps(&output, 1));
}

/// In a network of FIFO queues nothing is overtaken, however much is lost.
#[test]
fn no_reordering_is_seen_where_there_is_none() {
    let flows = (0..8).map(|n| greedy(&format!("f{n}"), "reno")).collect();
    let mut experiment = dumbbell(flows);
    for flow in &mut experiment.flows {
        flow.start_jitter_ns = 100 * MS;
    }
    let mut world = World::new(&checked(&experiment), 0);
    while world.step() {}
    assert!(world.links[0].statistics.total.dropped_pkts() > 1000);
    for conversation in &world.conversations {
        let sender = conversation.tcp().unwrap().sender().unwrap();
        assert!(!sender.has_seen_reordering());
    }
}

#[test]
fn a_sized_transfer_takes_its_round_trips() {
    let source = Source::Sized(source::Sized { bytes: 10 * 1448 });
    let output = simulate(&dumbbell(vec![tcp_flow(
        "f",
        "a",
        "b",
        source,
        Tcp::linux("cubic"),
    )]));
    let tables = &output.tables;
    assert_eq!(tables.column_i64("transfers", "bytes"), [14480]);
    // Handshake, then the initial window: 40 ms, 20 ms, ten packets of 1514 bytes (1.2112 ms)
    // behind the acknowledgement that opened the connection (66 bytes) and a SYN of 74.
    let expected_ns = 60_000_000 + (74 + 66 + 10 * 1514) * 800;
    assert_eq!(
        tables.column_i64("transfers", "completed_ns"),
        [expected_ns]
    );
    assert_eq!(tables.column_i64("flows", "retransmitted_pkts"), [0]);
}

#[test]
fn closed_loops_transfer_one_after_the_other() {
    let source = Source::ClosedLoop(ClosedLoop {
        size: constant(50_000.0),
        think: constant(0.5),
        transfers: None,
    });
    let output = simulate(&dumbbell(vec![tcp_flow(
        "f",
        "a",
        "b",
        source,
        Tcp::linux("reno"),
    )]));
    let (started, completed) = (
        output.tables.column_i64("transfers", "started_ns"),
        output.tables.column_i64("transfers", "completed_ns"),
    );
    assert!(started.len() > 60);
    assert_eq!(started[0], 500_000_000);
    for (next, before) in started[1..].iter().zip(completed) {
        assert_eq!(next - before, 500_000_000);
    }
}

fn arrivals(gap_s: f64, bytes: f64) -> Source {
    Source::Arrivals(Arrivals {
        gap: constant(gap_s),
        size: constant(bytes),
        transfers: None,
    })
}

/// Those that are begun are the first of those that would be begun without a number.
#[test]
fn so_many_transfers_and_no_more() {
    let closed_loop = Source::ClosedLoop(ClosedLoop {
        size: constant(50_000.0),
        think: constant(0.5),
        transfers: None,
    });
    for source in [closed_loop, arrivals(0.1, 14480.0)] {
        let begun = |source: &Source| {
            let flow = tcp_flow("f", "a", "b", source.clone(), Tcp::linux("reno"));
            let output = simulate(&dumbbell(vec![flow]));
            let column = |name| output.tables.column_i64("transfers", name).to_vec();
            (column("started_ns"), column("completed_ns"))
        };
        let mut limited = source.clone();
        if let Source::ClosedLoop(ClosedLoop { transfers, .. })
        | Source::Arrivals(Arrivals { transfers, .. }) = &mut limited
        {
            *transfers = Some(7);
        }
        let (all, seven) = (begun(&source).0, begun(&limited));
        assert!(all.len() > 60);
        assert_eq!(seven.0, all[..7]);
        assert!(seven.1.iter().all(|completed| *completed > 0));
    }
}

/// A tenth of a second apart, each takes longer than that: they overlap and each takes as long.
#[test]
fn arrivals_do_not_wait_for_each_other() {
    let flow = tcp_flow("f", "a", "b", arrivals(0.1, 14480.0), Tcp::linux("cubic"));
    let output = simulate(&dumbbell(vec![flow]));
    let column = |name| output.tables.column_i64("transfers", name);
    let (started, completed) = (column("started_ns"), column("completed_ns"));
    assert_eq!(started.len(), 599);
    for (number, start) in (1..).zip(started) {
        assert_eq!(*start, number * 100_000_000);
    }
    let times: Vec<i64> = completed.iter().zip(started).map(|(c, s)| c - s).collect();
    let first = 60_000_000 + (74 + 66 + 10 * 1514) * 800;
    assert_eq!(times[0], first);
    assert!(
        times
            .iter()
            .all(|time| (first..first + 200_000).contains(time))
    );
}

/// What is under way at the stop is cut off; a run may end before a second transfer begins.
#[test]
fn arrivals_end_at_the_stop() {
    let mut flow = tcp_flow("f", "a", "b", arrivals(0.7, 1e6), Tcp::linux("cubic"));
    flow.stop_ns = S;
    let mut experiment = dumbbell(vec![flow]);
    let output = simulate(&experiment);
    assert_eq!(output.tables.column_i64("transfers", "completed_ns"), [-1]);
    let last = output.tables.column_i64("transfers", "last_received_ns")[0];
    assert!((S as i64..1_100_000_000).contains(&last), "{last}");
    experiment.duration_ns = S;
    (experiment.warm_up_ns, experiment.sample_interval_ns) = (0, 0);
    let shorter = simulate(&experiment);
    assert_eq!(shorter.tables.column_i64("transfers", "bytes"), [1_000_000]);
}

/// Every packet of a connection is counted with it, wherever it ends.
#[test]
fn packets_of_transfers_add_up() {
    // Twice as much as the link takes.
    let tcp = without_small_queues("reno");
    let flow = tcp_flow("f", "a", "b", arrivals(0.04, 100_000.0), tcp);
    let experiment = checked(&dumbbell(vec![flow, greedy("g", "cubic")]));
    let mut world = World::new(&experiment, 0);
    while world.step() {}
    world.finish();
    world.check_conservation().unwrap();
    for conversation in &world.conversations {
        let flow = conversation.tcp().unwrap();
        let sum = |of: fn(&Transfer) -> u64| flow.transfers().iter().map(of).sum::<u64>();
        let counters = conversation.counters();
        assert_eq!(sum(|t| t.created_pkts), counters.created.pkts);
        assert_eq!(sum(|t| t.received_pkts), counters.delivered.pkts);
        assert_eq!(sum(|t| t.received_bytes), counters.delivered.bytes);
        assert_eq!(sum(|t| t.dropped_pkts), counters.dropped.pkts);
        assert!(counters.dropped.pkts > 10);
        let again = sum(|t| t.retransmitted_pkts);
        assert_eq!(again, flow.statistics().retransmitted_pkts);
        // What was sent again was not dropped twice as a rule, and never arrived more often.
        let arrived = sum(|t| t.received_again_pkts);
        assert!(0 < arrived && arrived <= again);
    }
    assert!(world.conversations[0].tcp().unwrap().transfers().len() > 1400);
}

/// Writes of 500 bytes, `apart_s` seconds apart.
fn writes(apart_s: f64) -> Flow {
    let source = Source::Cbr(Cbr {
        gap: constant(apart_s),
        size: constant(500.0),
        size_at: dumbbell_engine::spec::SizeAt::Payload,
    });
    tcp_flow("f", "a", "b", source, Tcp::linux("cubic"))
}

#[test]
fn paced_writes_arrive() {
    let output = simulate(&dumbbell(vec![writes(0.01)]));
    assert!((goodput_bps(&output, 0) - 400_000.0).abs() < 1000.0);
    assert_eq!(output.tables.column_i64("flows", "sent_datagrams"), [5000]);
}

/// With nothing on its way a sender hears of a write from nobody else.
#[test]
fn a_write_is_sent_although_nothing_else_happens() {
    let output = simulate(&dumbbell(vec![writes(0.5)]));
    assert_eq!(output.tables.column_i64("flows", "sent_datagrams"), [100]);
    assert_eq!(
        output.tables.column_i64("flows", "received_payload_bytes"),
        [100 * 500]
    );
}

#[test]
fn nothing_is_sent_after_the_stop() {
    let mut flow = greedy("f", "cubic");
    flow.stop_ns = 20 * S;
    let output = simulate(&dumbbell(vec![flow]));
    let last = output.tables.column_i64("flows", "last_received_ns")[0];
    assert!((19_900_000_000..20_200_000_000).contains(&last), "{last}");
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let mut experiment = dumbbell(vec![greedy("f", "yeah")]);
    let refused = run(&experiment, 0, &Monitor::default()).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("flows[0].tcp.congestion_control")
    );
    experiment = dumbbell(vec![greedy("f", "reno")]);
    experiment.links[0] = bottleneck(0, 0, pfifo(100));
    let refused = run(&experiment, 0, &Monitor::default()).unwrap_err();
    assert!(refused.to_string().contains("flows[0].to"), "{refused}");
}

/// What a description resolves to is written by the Python side, which is compared with the same
/// file (`tests/spec/test_spec_tcp.py`).
#[test]
fn the_profiles_are_those_that_descriptions_resolve_to() {
    const PATH: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/golden/tcp-profiles.json"
    );
    let text = std::fs::read_to_string(PATH).unwrap();
    let resolved: BTreeMap<String, Tcp> = serde_json::from_str(&text).unwrap();
    let profiles = [
        ("linux-6.1", Tcp::linux("cubic")),
        ("rfc", Tcp::rfc("cubic")),
    ];
    let ours = BTreeMap::from(profiles.map(|(name, tcp)| (name.to_owned(), tcp)));
    assert_eq!(ours, resolved);
}
