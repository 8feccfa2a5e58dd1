//! A filter that no flow has packets for is told of.

mod common;

use common::{constant, end, experiment, flow, link, source};
use dumbbell_engine::run::unmatched_filters;
use dumbbell_engine::spec::Experiment;
use dumbbell_tc::parse_qdisc;

fn described(filter: &str, port: Option<u16>) -> Experiment {
    let text = format!("root handle 1: prio; filter add parent 1: {filter} flowid 1:1");
    let mut forward = end(1_000_000);
    forward.qdisc = parse_qdisc(&text).expect("a discipline");
    let mut one = flow("one", "a", "b", source(constant(0.01), constant(100.0)));
    one.port = port;
    experiment(vec![link("a", "b", forward)], vec![one], vec![])
}

fn said(filter: &str, port: Option<u16>) -> Vec<String> {
    let found = unmatched_filters(&described(filter, port));
    let said = found
        .into_iter()
        .map(|(path, notice)| format!("{path}: {notice}"));
    said.collect()
}

#[test]
fn a_port_that_no_flow_has() {
    let filter = "protocol ip u32 match ip dport 80 0xffff";
    let found = said(filter, None);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("links[0].forward.qdisc: "),
        "{found:?}"
    );
    assert!(found[0].contains("port = 80"), "{found:?}");
    assert_eq!(said(filter, Some(80)), [""; 0]);
    assert_eq!(said("u32 match ip dport 10000 0xffff", None), [""; 0]);
}

#[test]
fn other_fields_and_any_ecn() {
    assert_eq!(said("u32 match ip protocol 6 0xff", None).len(), 1);
    assert_eq!(said("u32 match ip tos 0x10 0xfc", None).len(), 1);
    assert_eq!(said("u32 match ip tos 0x01 0xff", None), [""; 0]);
    assert_eq!(said("matchall", None), [""; 0]);
    // Of marks there is a notice already.
    assert_eq!(said("handle 1 fw", None), [""; 0]);
}

/// Where two directions have one discipline, each filter need match in one of them.
#[test]
fn the_other_direction_counts() {
    let mut both = described("u32 match ip dport 10000 0xffff", None);
    both.links[0].reverse.qdisc = both.links[0].forward.qdisc.clone();
    assert_eq!(unmatched_filters(&both), []);
}
