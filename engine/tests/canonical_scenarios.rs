//! What disciplines with classes, netem and the policer do with a few packets, as tables to read.
//!
//! Three flows, marked 0x00 (best effort), 0x10 (minimize delay) and 0x08 (maximize throughput),
//! send packets of 1000 bytes at given instants.

mod common;

use common::*;
use dumbbell_engine::run::simulate_one;
use dumbbell_engine::spec::LinkEnd;
use dumbbell_tc::{parse_police, parse_qdisc};
use std::fmt::Write;

const DSCPS: [u8; 3] = [0, 4, 2];
const EVENTS: [&str; 5] = ["enqueue", "leaves", "dropped", "marked", "lost"];

/// Milliseconds at which each flow sends, and the table of what became of its packets.
fn table(end: LinkEnd, flows_ms: [&[u64]; 3]) -> String {
    let flows = flows_ms.iter().zip(DSCPS).enumerate();
    let flows = flows.map(|(index, (at_ms, dscp))| {
        let packets: Vec<(u64, u32)> = at_ms.iter().map(|at| (at * MS, 1000)).collect();
        let mut flow = trace(&format!("flow-{index}"), "a", "b", &packets);
        flow.dscp = dscp;
        flow
    });
    let end = LinkEnd {
        record_packets: true,
        ..end
    };
    let mut spec = experiment(vec![link("a", "b", end)], flows.collect(), vec![]);
    spec.duration_ns = 1_000 * MS;
    let output = simulate_one(&serde_json::to_string(&spec).unwrap(), 0).unwrap();
    let column = |name| output.tables.column_i64("packets", name);
    let small = |name: &str| -> Vec<i64> {
        let table = output.tables.0.iter().find(|table| table.name == "packets");
        let columns = &table.expect("packets").columns;
        let column = columns.iter().find(|column| column.name == name);
        match &column.expect("a column").values {
            dumbbell_engine::tables::Values::I8(values) => {
                values.iter().map(|value| i64::from(*value)).collect()
            }
            dumbbell_engine::tables::Values::I32(values) => {
                values.iter().map(|value| i64::from(*value)).collect()
            }
            _ => unreachable!("small columns are asked for"),
        }
    };
    let (events, flows, held) = (small("event"), small("flow"), small("system_pkts"));
    let mut text = String::from("t (ms)   flow seq what     held");
    for (row, at_ns) in column("t_ns").iter().enumerate() {
        let (event, flow, seq) = (events[row], flows[row], column("seq")[row]);
        if event == 0 {
            continue;
        }
        let at_ms = *at_ns as f64 / MS as f64;
        let what = EVENTS[event as usize];
        write!(
            text,
            "\n{at_ms:>7.3} {flow:>5} {seq:>3} {what:<8} {:>4}",
            held[row]
        )
        .unwrap();
    }
    text
}

fn behind(rate_bps: u64, qdisc: &str) -> LinkEnd {
    LinkEnd {
        qdisc: parse_qdisc(qdisc).unwrap(),
        ..end(rate_bps)
    }
}

/// A packet takes 8 ms; the band of what minimizes delay is served first.
#[test]
fn prio_serves_the_first_band_first() {
    let end = behind(1_000_000, "prio");
    let sent: [&[u64]; 3] = [&[0, 1, 2], &[3, 20], &[0, 0]];
    insta::assert_snapshot!(table(end, sent));
}

/// 1 Mbit/s for all; the first class has 750 kbit/s of it and the other 250, and either may have
/// what the other leaves.
#[test]
fn htb_shares_and_lends() {
    let tree = "root handle 1: htb default 20; \
        class add parent 1: classid 1:1 htb rate 1mbit burst 1100b cburst 1100b; \
        class add parent 1:1 classid 1:10 htb rate 750kbit ceil 1mbit burst 1100b cburst 1100b \
        quantum 1000; \
        class add parent 1:1 classid 1:20 htb rate 250kbit ceil 1mbit burst 1100b cburst 1100b \
        quantum 1000; \
        filter add parent 1: u32 match ip dsfield 0x10 0xff flowid 1:10";
    let sent: [&[u64]; 3] = [&[0, 0, 0, 0, 0, 0], &[0, 0, 0, 0, 0, 0, 0, 0], &[]];
    insta::assert_snapshot!(table(behind(0, tree), sent));
}

/// Each packet is drawn a delay of 10 ms, 4 more or less; what is drawn less overtakes.
#[test]
fn netem_delays_reorders_and_loses() {
    let end = behind(0, "netem delay 10ms 4ms loss 20% duplicate 20% limit 10");
    let sent: [&[u64]; 3] = [&[0, 1, 2, 3, 4, 5, 6, 7], &[], &[]];
    insta::assert_snapshot!(table(end, sent));
}

/// Three packets at once, and then one whenever the bucket has the tokens of one.
#[test]
fn a_policer_passes_a_burst_and_then_the_rate() {
    let end = LinkEnd {
        police: Some(parse_police("rate 1mbit burst 3000b drop").unwrap()),
        ..end(0)
    };
    let sent: [&[u64]; 3] = [&[0, 0, 0, 0, 4, 8, 12, 16, 500, 500, 500, 500], &[], &[]];
    insta::assert_snapshot!(table(end, sent));
}
