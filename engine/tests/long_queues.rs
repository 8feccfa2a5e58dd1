//! Queues that will hold very many packets keep no times of them, and give the same results.

mod common;

use common::*;
use dumbbell_engine::net::long_queues::long_queues;
use dumbbell_engine::net::plan::FastPaths;
use dumbbell_engine::sim::world::World;
use dumbbell_engine::spec::Experiment;
use dumbbell_engine::spec::route::Routes;
use dumbbell_engine::tables;
use dumbbell_tc::parse_qdisc;

/// 4,000 packets of 1,000 bits a second for 10 s over `links` links: the first sends 1,000 a second, unless
/// told otherwise, the others more.
fn overloaded(links: usize) -> Experiment {
    let hosts: Vec<String> = (0..=links).map(|host| format!("h{host}")).collect();
    let described = (0..links).map(|place| {
        let mut described = link(&hosts[place], &hosts[place + 1], end(1_000_000));
        described.forward.rate_bps += 1_000_000 * place as u64;
        described.forward.overhead_bytes = 0;
        described.forward.delay_ns = 5 * MS;
        described
    });
    let sent = source(constant(250e-6), constant(125.0));
    let flows = vec![flow("f", &hosts[0], &hosts[links], sent)];
    experiment(described.collect(), flows, vec![])
}

/// Whether the queue of each link's first direction is expected to be long.
fn long(spec: &Experiment) -> Vec<bool> {
    let hops = spec.hops();
    let hosts = spec.host_indices();
    let ends = spec.flows.iter().flat_map(|flow| [&flow.from, &flow.to]);
    let routes = Routes::new(
        spec.hosts.len(),
        &hops,
        ends.map(|name| hosts[name.as_str()]),
    );
    let found = long_queues(spec, &hops, &routes);
    found.into_iter().step_by(2).collect()
}

#[test]
fn what_holds_very_many_is_long() {
    assert_eq!(long(&overloaded(3)), [true, false, false]);
    let mut spec = overloaded(1);
    spec.duration_ns = 6 * S;
    assert_eq!(long(&spec), [false], "18,000 packets");
    spec.flows.push(spec.flows[0].clone());
    spec.flows[1].name = "g".into();
    assert_eq!(long(&spec), [true], "of two senders");
    for sender in &mut spec.flows {
        (sender.from, sender.to) = (sender.to.clone(), sender.from.clone());
    }
    assert_eq!(long(&spec), [false], "the other way");
    let mut spec = overloaded(1);
    spec.flows[0].start_ns = 5 * S;
    assert_eq!(long(&spec), [false], "half as long");
}

#[test]
fn limits_and_token_buckets_are_known() {
    for (qdisc, expected) in [
        ("pfifo limit 20000", true),
        ("pfifo limit 19999", false),
        ("bfifo limit 2500000", true),
        ("bfifo limit 2400000", false),
        ("tbf rate 1mbit burst 1500b limit 4mb", true),
        ("tbf rate 1mbit burst 1500b limit 2mb", false),
        ("tbf rate 10mbit burst 1500b limit 4mb", false),
    ] {
        let mut spec = overloaded(1);
        spec.links[0].forward.qdisc = parse_qdisc(qdisc).unwrap();
        if qdisc.starts_with("tbf") {
            spec.links[0].forward.rate_bps = 0;
        }
        assert_eq!(long(&spec), [expected], "{qdisc}");
    }
}

/// Memory in the end, beside that of the same run with an event for each departure.
fn memory(spec: &Experiment) -> (u64, u64) {
    let spec = checked(spec);
    let worlds = [
        World::new(&spec, 0),
        World::planned(&spec, 0, FastPaths::Off, &Default::default()),
    ];
    let [(memory, digest), (plain_memory, plain_digest)] = worlds.map(|mut world| {
        while world.step() {}
        let memory = world.memory_bytes();
        world.finish();
        (memory, tables::of(&mut world).digest())
    });
    assert_eq!(digest, plain_digest);
    (memory, plain_memory)
}

#[test]
fn a_long_queue_keeps_no_times() {
    let mut spec = overloaded(3);
    let (found, plain) = memory(&spec);
    assert!(found < plain + 100_000, "{found} and {plain} bytes");
    // A shorter one keeps them, for itself and for the two links behind it.
    spec.duration_ns = 6 * S;
    let (found, plain) = memory(&spec);
    assert!(found > plain + 3 * 24 * 18_000, "{found} and {plain} bytes");
}
