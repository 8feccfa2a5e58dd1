//! Lines that change, replace or delete what earlier lines have added, and filters that set priorities.

use super::*;

/// Each script means the same as the plain one.
fn same(cases: &[(&str, &str)]) {
    for (script, plain) in cases {
        let script_of = parse(script).unwrap_or_else(|error| panic!("{script}: {error}"));
        assert_eq!(script_of, parse(plain).unwrap(), "{script}");
    }
}

fn refused(cases: &[(&str, &str)]) {
    for (script, said) in cases {
        let error = parse(script).unwrap_err().to_string();
        assert!(error.contains(said), "{script}: {error}");
    }
}

const TWO: &str = "qdisc add dev d root handle 1: htb default 2
class add dev d parent 1: classid 1:1 htb rate 1mbit
class add dev d parent 1: classid 1:2 htb rate 2mbit
qdisc add dev d parent 1:1 handle 10: pfifo limit 5
qdisc add dev d parent 1:2 handle 20: fq_codel
filter add dev d parent 1: prio 3 u32 match ip dport 80 ffff flowid 1:1
filter add dev d parent 1: prio 5 u32 match ip dport 443 ffff flowid 1:1";

fn two(more: &str) -> String {
    format!("{TWO}\n{more}")
}

#[test]
fn a_class_keeps_its_discipline_when_it_changes() {
    let faster = TWO.replace("rate 1mbit", "rate 3mbit ceil 4mbit");
    for verb in ["change", "replace"] {
        let line = format!("class {verb} dev d parent 1: classid 1:1 htb rate 3mbit ceil 4mbit");
        same(&[(&two(&line), &faster)]);
    }
    let without_parent = two("class change dev d classid 1:1 htb rate 3mbit ceil 4mbit");
    same(&[(&without_parent, &faster)]);
    let drr = "root handle 1: drr; class add parent 1: classid 1:1 drr quantum 900";
    same(&[
        (&format!("{drr}; class change classid 1:1 drr"), drr),
        (
            &format!("{drr}; class change classid 1:1 drr quantum 300"),
            &drr.replace("900", "300"),
        ),
    ]);
}

#[test]
fn what_is_deleted_is_gone_with_what_it_holds() {
    let without_filter = TWO.replace(
        "filter add dev d parent 1: prio 3 u32 match ip dport 80 ffff flowid 1:1\n",
        "",
    );
    let without_class = "qdisc add dev d root handle 1: htb default 2
        class add dev d parent 1: classid 1:2 htb rate 2mbit
        qdisc add dev d parent 1:2 fq_codel";
    same(&[
        (&two("filter del dev d parent 1: prio 3"), &without_filter),
        (&two("filter del dev d prio 3"), &without_filter),
        (
            &two("filter del dev d; class del dev d classid 1:1"),
            without_class,
        ),
        (
            &two("qdisc del dev d parent 1:1; qdisc add dev d parent 1:1 pfifo limit 9"),
            &TWO.replace("handle 10: pfifo limit 5", "pfifo limit 9"),
        ),
        (
            "tc filter del dev d; tc qdisc add dev d root codel",
            "codel",
        ),
    ]);
    refused(&[
        (
            &two("class del dev d classid 1:1"),
            "delete the filter first",
        ),
        (
            &two("class del dev d classid 1:7"),
            "no line before it adds the class",
        ),
        (
            &two("class change dev d classid 1:7 htb rate 1mbit"),
            "no line before it adds the class",
        ),
        (&two("filter del dev d prio 4"), "no filter has prio 4"),
        (
            &two("filter del dev d handle 800::800 prio 3"),
            "by prio here, not by handle",
        ),
        (
            &two("qdisc del dev d parent 1:9"),
            "there is no discipline to delete",
        ),
        (
            "root handle 1: hfsc; class add parent 1: classid 1:1 hfsc ls m2 1mbit; \
             class change classid 1:1 hfsc ls m2 2mbit",
            "change of a class of hfsc is not implemented",
        ),
    ]);
}

/// tc(8): "replace" adds where there is nothing; the kernel changes a discipline of the same kind.
#[test]
fn replace_changes_or_exchanges() {
    same(&[
        (
            "qdisc replace root codel limit 100; qdisc replace root codel target 8ms",
            "codel limit 100 target 8ms",
        ),
        (
            "qdisc add root handle 1: prio; qdisc add parent 1:1 handle 2: sfq; \
             qdisc replace root handle 3: fq_codel",
            "fq_codel",
        ),
        (
            &two("qdisc replace dev d parent 1:1 handle 11: codel limit 7"),
            &TWO.replace("handle 10: pfifo limit 5", "codel limit 7"),
        ),
    ]);
}

#[test]
fn lines_that_only_show_are_ignored() {
    same(&[(
        "tc qdisc show dev d; tc qdisc add dev d root codel; tc -s qdisc show dev d; \
         sudo tc -s -d class ls dev d; tc filter list dev d",
        "codel",
    )]);
}

const PRIO: &str = "qdisc add dev d root handle 1: prio
filter add dev d parent 1: protocol ip prio 1 u32 match ip dport 22 ffff flowid 1:2";

/// tc-skbedit(8): the priority overrides the classification; prio(8): a number goes through the priomap, after
/// the filters.
#[test]
fn priorities_set_at_egress_choose_classes() {
    let egress = "tc qdisc add dev d clsact
        tc filter add dev d egress protocol ip prio 2 u32 match ip dport 80 ffff action skbedit priority";
    let root_alone = |priority: &str| {
        let script = format!("{egress} {priority}\n{PRIO}");
        let parts = script::split(&script).unwrap().unwrap();
        parse(&parts.qdisc.unwrap()).unwrap_or_else(|error| panic!("{priority}: {error}"))
    };
    let before = "qdisc add dev d root handle 1: prio
        filter add dev d parent 1: protocol ip prio 1 u32 match ip dport 80 ffff flowid 1:3
        filter add dev d parent 1: protocol ip prio 2 u32 match ip dport 22 ffff flowid 1:2";
    assert_eq!(root_alone("1:3"), parse(before).unwrap());
    let after = "qdisc add dev d root handle 1: prio
        filter add dev d parent 1: protocol ip prio 1 u32 match ip dport 22 ffff flowid 1:2
        filter add dev d parent 1: protocol ip prio 2 u32 match ip dport 80 ffff flowid 1:1";
    // 6 is interactive, band 0.
    assert_eq!(root_alone("6"), parse(after).unwrap());
    assert_eq!(root_alone("0x6 pipe"), parse(after).unwrap());
    let edit = "filter add dev d egress matchall action skbedit";
    refused(&[
        (
            &format!("{edit} priority 1:9; {PRIO}"),
            "prio has no class 1:9",
        ),
        (
            &format!("{edit} priority 2:1; {PRIO}"),
            "the root has the handle 1:, not 2:",
        ),
        (
            &format!("{edit} mark 7; {PRIO}"),
            "is not \"skbedit priority",
        ),
        (
            &format!("{edit} priority 6; {TWO}"),
            "has no bands by priority",
        ),
        (
            &format!("{edit} priority 1:1; qdisc add dev d root handle 1: codel"),
            "has no class 1:1",
        ),
    ]);
}

#[test]
fn edits_are_asked_in_the_order_of_their_priorities() {
    let script = "qdisc add dev d root handle 1: prio
        filter add dev d egress prio 2 matchall action skbedit priority 1:3
        filter add dev d parent ffff:fff3 prio 1 u32 match ip dport 80 ffff action skbedit priority 1:1";
    let plain = "qdisc add dev d root handle 1: prio
        filter add dev d parent 1: prio 1 u32 match ip dport 80 ffff flowid 1:1
        filter add dev d parent 1: prio 2 matchall flowid 1:3";
    same(&[(script, plain)]);
}
