//! Bytes created = delivered + dropped + queued + in flight, at every instant, for random
//! networks; and an empty network delivers nothing.

mod common;
mod random_network;

use common::*;
use dumbbell_engine::sim::world::World;
use proptest::prelude::*;
use random_network::any_experiment;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_made_or_lost_by_mistake(spec in any_experiment()) {
        let mut world = World::new(&checked(&spec), 0);
        let mut last = world.now;
        loop {
            let more = world.step();
            prop_assert!(world.now >= last, "time went backwards");
            last = world.now;
            prop_assert_eq!(world.check_conservation(), Ok(()));
            if !more {
                break;
            }
        }
        world.finish();
        for link in &world.links {
            let level = link.level();
            prop_assert_eq!(level, link.statistics.levels.current);
            let counted = link.statistics.total;
            let inside = u64::from(level.system_pkts);
            prop_assert_eq!(
                counted.arrived_pkts,
                counted.departed_pkts + counted.dropped_pkts() + inside
            );
        }
    }
}

#[test]
fn an_empty_network_delivers_nothing() {
    let spec = experiment(vec![link("a", "b", end(1_000_000))], vec![], vec![]);
    let output =
        dumbbell_engine::run::simulate_one(&serde_json::to_string(&spec).unwrap(), 0).unwrap();
    assert_eq!(output.events, 0);
    assert_eq!(output.tables.column_i64("queues", "arrived_pkts"), &[0, 0]);
    assert_eq!(
        output.tables.column_f64("queues", "system_mean_pkts"),
        &[0.0, 0.0]
    );
}
