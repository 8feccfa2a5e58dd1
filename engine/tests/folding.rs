//! Folded departures change nothing but the number of events.

mod common;
mod random_network;

use common::*;
use dumbbell_engine::sim::world::World;
use dumbbell_engine::spec::Experiment;
use dumbbell_engine::tables::Tables;
use proptest::prelude::*;
use random_network::any_experiment;

fn finished(mut world: World) -> (Tables, u64) {
    while world.step() {}
    world.finish();
    (Tables::of(&world), world.events)
}

/// Tables by both paths, and the events each took.
fn both(spec: &Experiment) -> ((Tables, u64), (Tables, u64)) {
    let spec = checked(spec);
    let folded = finished(World::new(&spec, 0));
    let plain = finished(World::with_an_event_for_every_departure(&spec, 0));
    (folded, plain)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
    #[test]
    fn both_paths_give_the_same_tables(spec in any_experiment()) {
        let ((folded, few), (plain, many)) = both(&spec);
        prop_assert_eq!(folded.digest(), plain.digest());
        prop_assert!(few <= many);
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
