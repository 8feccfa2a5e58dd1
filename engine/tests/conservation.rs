//! Bytes created = delivered + dropped + queued + in flight, at every instant, for random
//! networks; and an empty network delivers nothing.

mod common;
mod conserving;
mod random_network;

use common::*;
use conserving::conserves;
use proptest::prelude::*;
use random_network::any_experiment;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_made_or_lost_by_mistake(spec in any_experiment()) {
        conserves(&spec)?;
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
