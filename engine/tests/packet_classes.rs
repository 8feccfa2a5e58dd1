//! Which queue of its discipline each recorded packet came to: by its headers, and in no table of a run.

mod common;

use common::*;
use dumbbell_engine::run::{IncrementalRun, Monitor};
use dumbbell_engine::spec::{Ecn, Flow};
use dumbbell_engine::tables::{Table, Values};
use dumbbell_tc::parse_qdisc;
use std::collections::BTreeMap;
use std::rc::Rc;

const ENQUEUE: i64 = 0;

fn column(tables: &[Table], table: &str, name: &str) -> Vec<i64> {
    let table = tables.iter().find(|each| each.name == table).unwrap();
    let column = table.columns.iter().find(|each| each.name == name);
    match &column.unwrap().values {
        Values::I64(values) => values.clone(),
        Values::I32(values) => values.iter().map(|value| i64::from(*value)).collect(),
        Values::I8(values) => values.iter().map(|value| i64::from(*value)).collect(),
        Values::F64(_) => panic!("{name} has no whole numbers"),
    }
}

fn sent(name: &str, dscp: u8, ecn: Ecn) -> Flow {
    Flow {
        dscp,
        ecn,
        ..trace(name, "a", "b", &[(MS, 500), (MS, 500), (2 * MS, 500)])
    }
}

/// The classes of packets as they came, of flows: best effort, DSCP 4 (TOS 0x10, minimize delay), CS1, EF, best
/// effort with ECT(1), and DSCP 2 (TOS 0x08, maximize throughput).
fn classes(text: &str) -> Vec<Vec<i64>> {
    let flows = vec![
        sent("be", 0, Ecn::NotEct),
        sent("interactive", 4, Ecn::NotEct),
        sent("cs1", 8, Ecn::NotEct),
        sent("ef", 46, Ecn::NotEct),
        sent("l4s", 0, Ecn::Ect1),
        sent("bulk", 2, Ecn::NotEct),
    ];
    let mut link = bottleneck(1_000_000, 10 * MS, parse_qdisc(text).unwrap());
    link.forward.record_packets = true;
    let experiment = experiment(vec![link], flows, Vec::new());
    let mut run: IncrementalRun<Rc<Monitor>> =
        IncrementalRun::new(&checked(&experiment), 0, Rc::default()).unwrap();
    while run.advance(100).unwrap() {}
    let mut tables = run.tables_so_far().0;
    tables.push(run.packet_classes());
    let events = column(&tables, "packets", "event");
    let flows = column(&tables, "packets", "flow");
    let classes = column(&tables, "packet_classes", "class");
    assert_eq!(classes.len(), events.len());
    let mut found: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for row in 0..events.len() {
        if events[row] == ENQUEUE {
            found.entry(flows[row]).or_default().push(classes[row]);
        }
    }
    // It is no table of the run.
    let finished = run.finish().unwrap().tables.0;
    assert!(finished.iter().all(|each| each.name != "packet_classes"));
    found.into_values().collect()
}

/// Three packets of each flow, all in the class of their flow.
fn check(text: &str, expected: [i64; 6]) {
    let expected: Vec<Vec<i64>> = expected.iter().map(|class| vec![*class; 3]).collect();
    assert_eq!(classes(text), expected, "{text}");
}

#[test]
fn bands_follow_the_priority_by_tos() {
    // EF has both old bits, which is no better than best effort.
    for text in ["prio", "pfifo_fast", "ets bands 3 priomap 1 2 2 2 1 2 0 0"] {
        check(text, [1, 0, 1, 1, 1, 2]);
    }
}

#[test]
fn filters_choose_a_class_and_what_has_none_is_class_zero() {
    let htb = "root handle 1: htb default 20; \
        class add parent 1: classid 1:1 htb rate 1mbit; \
        class add parent 1:1 classid 1:10 htb rate 500kbit; \
        class add parent 1:1 classid 1:20 htb rate 500kbit; \
        filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:10";
    check(htb, [0x20, 0x20, 0x20, 0x10, 0x20, 0x20]);
    check(
        &htb.replace("default 20", "default 99"),
        [0, 0, 0, 0x10, 0, 0],
    );
}

#[test]
fn trees_and_rounds_of_classes_have_no_class_for_what_they_drop() {
    for kind in [
        "hfsc default 20; class add parent 1: classid 1:10 hfsc ls m2 500kbit; \
         class add parent 1: classid 1:20 hfsc ls m2 500kbit",
        "drr; class add parent 1: classid 1:10 drr; class add parent 1: classid 1:20 drr; \
         filter add parent 1: protocol ip prio 2 matchall flowid 1:20",
    ] {
        let text = format!(
            "root handle 1: {kind}; \
             filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:10"
        );
        check(&text, [0x20, 0x20, 0x20, 0x10, 0x20, 0x20]);
    }
}

#[test]
fn tins_follow_the_dscp_below_a_shaper_too() {
    check("cake", [0, 2, 1, 2, 0, 0]);
    check("cake besteffort", [0; 6]);
    check(
        "root handle 1: tbf rate 900kbit burst 5kb limit 50kb; parent 1:1 prio",
        [1, 0, 1, 1, 1, 2],
    );
}

#[test]
fn the_queue_of_l4s_is_told_apart() {
    check("dualpi2", [1, 1, 1, 1, 0, 1]);
}

#[test]
fn one_queue_or_queues_by_flow_have_no_classes() {
    for text in ["pfifo limit 100", "fq_codel", "codel"] {
        check(text, [-1; 6]);
    }
}
