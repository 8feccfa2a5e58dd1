//! Folded departures change nothing but the number of events.

mod common;
mod random_network;

use common::*;
use dumbbell_engine::sim::world::World;
use dumbbell_engine::spec::source::{self, Greedy};
use dumbbell_engine::spec::{Experiment, Link, LinkEnd, Source, Tcp};
use dumbbell_engine::tables::{self, Tables};
use proptest::prelude::*;
use random_network::any_experiment;

fn finished(mut world: World) -> (Tables, u64) {
    while world.step() {}
    world.finish();
    (tables::of(&world), world.events)
}

/// Tables by both paths, and the events each took.
fn both(spec: &Experiment) -> ((Tables, u64), (Tables, u64)) {
    let spec = checked(spec);
    let folded = finished(World::new(&spec, 0));
    let plain = finished(World::with_an_event_for_every_departure(&spec, 0));
    (folded, plain)
}

/// Packets of senders that TCP small queues may keep waiting.
fn from_small_queues(spec: &Experiment, tables: &Tables) -> u64 {
    let created = tables.column_i64("flows", "created_pkts");
    let is_kept = spec
        .flows
        .iter()
        .map(|flow| flow.tcp.as_ref().is_some_and(|tcp| tcp.small_queues));
    { created.iter().zip(is_kept) }
        .map(|(&pkts, is_kept)| if is_kept { pkts as u64 } else { 0 })
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
    #[test]
    fn both_paths_give_the_same_tables(spec in any_experiment()) {
        let ((folded, few), (plain, many)) = both(&spec);
        prop_assert_eq!(folded.digest(), plain.digest());
        // Folded links have no departure to wake a sender by that waits for its own queue: that
        // takes an event of its own, at most one a packet of such a sender.
        let most = many + from_small_queues(&spec, &folded);
        prop_assert!(few <= most, "{few} events, {many} without folding");
    }
}

#[test]
fn a_queue_whose_packets_end_at_a_counting_host_needs_no_departures() {
    let source = source(exponential(5e-3), exponential(500.0));
    let mut spec = experiment(
        vec![link("a", "b", end(1_000_000))],
        vec![flow("f", "a", "b", source)],
        vec![],
    );
    spec.warm_up_ns = 3 * S;
    spec.sample_interval_ns = 7 * MS;
    let ((folded, few), (plain, many)) = both(&spec);
    assert_eq!(folded.digest(), plain.digest());
    let samples = 10 * S / (7 * MS);
    let sent = folded.column_i64("flows", "created_pkts")[0] as u64;
    assert_eq!(few, sent + samples + 1);
    assert!(many > few + sent - 20);
}

/// A flow begins behind a queue that another flow's packets come out of: in the event of their
/// departure its host hears of its own, too.
#[test]
fn a_host_hears_of_a_departure_in_the_event_of_it() {
    let slow = LinkEnd {
        overhead_bytes: 0,
        qdisc: pfifo(6),
        ..end(200_000)
    };
    let one = LinkEnd {
        qdisc: pfifo(1),
        ..slow.clone()
    };
    let spec = experiment(
        vec![
            link("h0", "h1", end(0)),
            link("h1", "h2", slow),
            link("h3", "h0", one),
        ],
        vec![
            flow(
                "f0",
                "h3",
                "h2",
                source(exponential(2.4e-3), constant(1500.0)),
            ),
            tcp_flow(
                "f1",
                "h1",
                "h2",
                Source::Sized(source::Sized { bytes: 157_021 }),
                Tcp::linux("reno"),
            ),
        ],
        vec![ping("p0", "h1", "h0", 7 * MS, 0)],
    );
    let ((folded, _), (plain, _)) = both(&spec);
    assert_eq!(folded.digest(), plain.digest());
}

/// Constant sizes and gaps make departures and arrivals fall on the same instants, on links
/// that stand before and after one another in the description.
#[test]
fn ties_are_broken_alike() {
    let mut chain = vec![
        link("b", "c", end(1_000_000)),
        link("a", "b", end(1_000_000)),
        link("c", "d", end(1_000_000)),
    ];
    for link in &mut chain {
        link.forward.qdisc = pfifo(2);
    }
    let burst: Vec<(u64, u32)> = (0..40).map(|n| (n / 4 * MS, 125)).collect();
    let flows = vec![
        trace("far", "a", "d", &burst),
        trace("near", "b", "c", &burst),
        trace("last", "c", "d", &burst),
    ];
    let mut spec = experiment(chain, flows, vec![ping("p", "a", "d", MS, 20)]);
    spec.sample_interval_ns = MS;
    spec.warm_up_ns = 4 * MS;
    let ((folded, _), (plain, _)) = both(&spec);
    assert_eq!(folded.digest(), plain.digest());
    assert!(folded.column_i64("flows", "dropped_pkts")[0] > 0);
}

/// Three links with rates, in this order of the description, whose queues hold few packets.
fn chain_of(rates_bps: [u64; 3], is_reversed: bool) -> Vec<Link> {
    let hosts = [("a", "b"), ("b", "c"), ("c", "d")];
    let ends = hosts.into_iter().zip(rates_bps);
    let mut chain: Vec<_> = ends
        .map(|((from, to), rate_bps)| link(from, to, end(rate_bps)))
        .collect();
    for link in &mut chain {
        link.reverse = end(8_000_000);
        link.forward.qdisc = pfifo(3);
    }
    if is_reversed {
        chain.reverse();
    }
    chain
}

/// Equal rates and constant sizes: what arrives and what leaves do so in the same instants.
#[test]
fn ties_in_a_chain_are_broken_alike() {
    let burst: Vec<(u64, u32)> = (0..60).map(|n| (n / 6 * 3 * MS, 125)).collect();
    let mut dropped = 0;
    for rates_bps in [
        [1_000_000; 3],
        [2_000_000, 1_000_000, 1_000_000],
        [4_000_000, 2_000_000, 1_000_000],
    ] {
        for is_reversed in [false, true] {
            let flows = vec![trace("f", "a", "d", &burst), trace("g", "a", "d", &burst)];
            let pings = vec![ping("p", "a", "d", MS, 20)];
            let mut spec = experiment(chain_of(rates_bps, is_reversed), flows, pings);
            spec.sample_interval_ns = MS;
            spec.warm_up_ns = 4 * MS;
            let ((folded, few), (plain, many)) = both(&spec);
            assert_eq!(
                folded.digest(),
                plain.digest(),
                "{rates_bps:?} {is_reversed}"
            );
            assert!(few < many);
            dropped += folded.column_i64("flows", "dropped_pkts")[0];
        }
    }
    assert!(dropped > 0);
}

#[test]
fn a_flow_over_a_chain_has_an_event_for_each_packet_that_comes_out_of_it() {
    let mut chain = chain_of([8_000_000, 1_000_000, 8_000_000], false);
    chain[1].forward.delay_ns = 5 * MS;
    chain[1].reverse.delay_ns = 5 * MS;
    let flow = tcp_flow("f", "a", "d", Source::Greedy(Greedy {}), Tcp::rfc("reno"));
    let mut spec = experiment(chain, vec![flow], vec![]);
    spec.warm_up_ns = 2 * S;
    spec.sample_interval_ns = 70 * MS;
    let ((folded, few), (plain, many)) = both(&spec);
    assert_eq!(folded.digest(), plain.digest());
    assert!(folded.column_i64("queues", "dropped_overlimit_pkts")[2] > 0);
    // Four of each packet otherwise: three departures and an arrival after the delay.
    assert!(3 * few < many, "{few} of {many}");
}
