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

/// A refusal by `choke` drops a queued packet as well, while the shaper above it waits and nothing is sent.
#[test]
fn a_refusal_that_drops_a_queued_packet_is_counted_at_once() {
    use dumbbell_tc::qdisc::{Choke, Qdisc, Tbf};
    let choke = Choke {
        limit_packets: 30,
        min_packets: 2,
        max_packets: 9,
        avpkt_bytes: 1000,
        burst_packets: 4,
        probability_ppb: 20_000_000,
        bandwidth_bps: 1_000_000,
        ecn: false,
    };
    let mut forward = end(100_000_000);
    forward.qdisc = Qdisc::Tbf(Tbf {
        rate_bps: 1_000_000,
        burst_bytes: 2_000,
        limit_bytes: 30_000,
        peakrate_bps: 0,
        mtu_bytes: 0,
        child: Some(Box::new(Qdisc::Choke(choke))),
    });
    let datagrams = flow(
        "datagrams",
        "a",
        "b",
        source(exponential(0.004), constant(1000.0)),
    );
    let spec = experiment(vec![link("a", "b", forward)], vec![datagrams], vec![]);
    conserves(&spec).unwrap();
    let output =
        dumbbell_engine::run::simulate_one(&serde_json::to_string(&spec).unwrap(), 0).unwrap();
    assert!(output.tables.column_i64("queues", "dropped_aqm_pkts")[0] > 100);
}
