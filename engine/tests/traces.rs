//! Links that follow a trace: what leaves them, and when.

mod common;

use common::*;
use dumbbell_engine::run::{Monitor, run};
use dumbbell_engine::spec::law::Law;
use dumbbell_engine::spec::trace::{State, Trace};
use dumbbell_engine::spec::{Experiment, LinkEnd};
use dumbbell_engine::tables::Tables;

fn tables(spec: &Experiment) -> Tables {
    run(&checked(spec), 0, &Monitor::default()).unwrap().tables
}

fn steps(steps: &str) -> Trace {
    Trace::Steps {
        steps: steps.to_owned().into(),
        repeat_ns: None,
    }
}

fn opportunities(gaps_ms: &str) -> Trace {
    Trace::Opportunities {
        gaps_ms: gaps_ms.to_owned().into(),
        size_bytes: 1504,
    }
}

fn traced(trace: Trace) -> LinkEnd {
    LinkEnd {
        trace: Some(trace),
        overhead_bytes: 0,
        record_packets: true,
        ..end(0)
    }
}

/// Packets of a size, more than any link here sends.
fn saturated(forward: LinkEnd, bytes: f64, gap_s: f64) -> Experiment {
    let source = source(constant(gap_s), constant(bytes));
    experiment(
        vec![link("a", "b", forward)],
        vec![flow("f", "a", "b", source)],
        vec![],
    )
}

/// When packets left the queue's transmitter, nanoseconds.
fn departures_ns(tables: &Tables) -> Vec<i64> {
    let times = tables.column_i64("packets", "t_ns");
    let sojourns = tables.column_i64("packets", "sojourn_ns");
    let left = times
        .iter()
        .zip(sojourns)
        .filter(|(_, sojourn)| **sojourn >= 0);
    left.map(|(at, _)| *at).collect()
}

#[test]
fn what_a_saturated_link_sends_is_the_integral_of_its_rate_to_the_packet() {
    // bit/s from a millisecond on, with two outages, one of them at the beginning.
    let changes: [(u64, u64); 9] = [
        (0, 0),
        (137, 1_234_567),
        (411, 9_999_991),
        (412, 3),
        (700, 777_777),
        (1501, 0),
        (2750, 12_345_678),
        (4001, 250_000),
        (9000, 8_000_001),
    ];
    let mut text = String::new();
    let mut last_ms = 0;
    for (at_ms, rate_bps) in changes {
        text += &format!(" {}mr{rate_bps}", at_ms - last_ms);
        last_ms = at_ms;
    }
    let spec = saturated(traced(steps(text.trim())), 1000.0, 0.0004);
    let tables = tables(&spec);
    // Bits until an instant, times 10^9.
    let integral = |at_ns: i64| -> i128 {
        let ends = changes.iter().skip(1).map(|(at_ms, _)| *at_ms);
        let spans = changes.iter().zip(ends.chain([10_000]));
        let bits = spans.map(|((from_ms, rate_bps), until_ms)| {
            let until_ns = at_ns.min((until_ms * MS) as i64);
            i128::from(until_ns - (from_ms * MS) as i64).max(0) * i128::from(*rate_bps)
        });
        bits.sum()
    };
    let left = departures_ns(&tables);
    let all = integral(10 * S as i64) / (8000 * i128::from(S));
    assert_eq!(left.len() as i128, all);
    assert_eq!(
        tables.column_i64("queues", "departed_bytes")[0],
        1000 * all as i64
    );
    assert!(all > 3000);
    for (number, at_ns) in (1i128..).zip(&left) {
        // Times in the table are cut off to nanoseconds.
        let needed = number * 8000 * i128::from(S);
        assert!(integral(*at_ns + 1) >= needed, "packet {number} left early");
        assert!(integral(*at_ns - 1) < needed, "packet {number} left late");
    }
}

#[test]
fn a_packet_in_transmission_goes_on_at_the_new_rate_and_waits_for_the_end_of_an_outage() {
    // 1000 bytes need 8 ms at 1 Mbit/s: 5 ms at that, 20 ms of nothing, 1.5 ms at 2 Mbit/s.
    let spec = experiment(
        vec![link("a", "b", traced(steps("0r1m 5mr0 20mr2m")))],
        vec![trace("t", "a", "b", &[(0, 1000), (40 * MS, 1000)])],
        vec![],
    );
    assert_eq!(departures_ns(&tables(&spec)), [26_500_000, 44_000_000]);
}

#[test]
fn a_run_may_end_in_an_outage_and_nothing_is_lost() {
    let packets = [(0, 1000), (MS, 1000), (2 * MS, 1000)];
    let spec = experiment(
        vec![link("a", "b", traced(steps("0r1m 9mr0")))],
        vec![trace("t", "a", "b", &packets)],
        vec![],
    );
    let tables = tables(&spec);
    assert_eq!(departures_ns(&tables), [8_000_000]);
    assert_eq!(tables.column_i64("queues", "arrived_pkts")[0], 3);
    assert_eq!(tables.column_i64("queues", "dropped_overlimit_pkts")[0], 0);
}

#[test]
fn a_packet_has_the_delay_of_its_departure_and_does_not_overtake() {
    // The first leaves at 1 ms with 50 ms of delay, the second at 3 ms with 5: it arrives no earlier.
    let forward = traced(steps("0r1md50m 2md5m"));
    let packets = [(0, 125), (2 * MS, 125), (60 * MS, 125)];
    let spec = experiment(
        vec![link("a", "b", forward)],
        vec![trace("t", "a", "b", &packets)],
        vec![],
    );
    let tables = tables(&spec);
    assert_eq!(tables.column_i64("flows", "delay_max_ns")[0], 51_000_000);
    assert_eq!(tables.column_i64("flows", "delay_min_ns")[0], 6_000_000);
    // The second, which came at 2 ms, arrives at 51 ms with the first.
    assert_eq!(
        tables.column_i64("flows", "last_received_ns")[0],
        66_000_000
    );
}

#[test]
fn a_packet_is_lost_by_the_loss_of_its_departure() {
    let spec = saturated(traced(steps("0r8ml0 1gl1g 1gl0")), 1000.0, 0.001);
    let tables = tables(&spec);
    // One each millisecond; those that leave in [1 s, 2 s) are lost.
    assert_eq!(tables.column_i64("queues", "lost_pkts")[0], 1000);
}

#[test]
fn a_trace_of_delays_alone_leaves_the_links_own_rate() {
    let forward = LinkEnd {
        rate_bps: 1_000_000,
        ..traced(steps("5md7m"))
    };
    let packets = [(0, 125), (10 * MS, 125)];
    let spec = experiment(
        vec![link("a", "b", forward)],
        vec![trace("t", "a", "b", &packets)],
        vec![],
    );
    let tables = tables(&spec);
    assert_eq!(tables.column_i64("flows", "delay_min_ns")[0], 1_000_000);
    assert_eq!(tables.column_i64("flows", "delay_max_ns")[0], 8_000_000);
}

/// Milliseconds of opportunities as Mahimahi's files have them, in a round of 1009 ms.
fn lines_ms() -> Vec<u64> {
    let mut lines = vec![];
    let mut at_ms = 0;
    for number in 0u64.. {
        at_ms += [0, 3, 0, 0, 1, 17, 2, 0, 40, 1][(number * 7 % 10) as usize];
        if at_ms > 1000 {
            break;
        }
        lines.push(at_ms);
    }
    lines.push(1009);
    lines
}

fn as_gaps(lines_ms: &[u64]) -> String {
    let mut gaps = vec![];
    let mut last = 0;
    for at_ms in lines_ms {
        gaps.push((at_ms - last).to_string());
        last = *at_ms;
    }
    gaps.join(" ")
}

#[test]
fn each_opportunity_of_a_saturated_link_is_a_packet_of_full_size() {
    let lines = lines_ms();
    let forward = LinkEnd {
        overhead_bytes: 4,
        ..traced(opportunities(&as_gaps(&lines)))
    };
    let spec = saturated(forward, 1504.0, 0.0002);
    let left = departures_ns(&tables(&spec));
    let rounds = 0..10_000 / 1009 + 1;
    let expected = rounds.flat_map(|round| lines.iter().map(move |at_ms| 1009 * round + at_ms));
    let expected: Vec<_> = expected
        // At 0 there is nothing yet: sources come after departures.
        .filter(|at_ms| (1..10_000).contains(at_ms))
        .map(|at_ms| (at_ms * MS) as i64)
        .collect();
    assert_eq!(left, expected);
}

#[test]
fn packets_share_an_opportunity_and_continue_in_the_next() {
    // 1504 bytes at 10, 20 and 30 ms: two packets of 600 and 304 of the third; its rest and 1208 of
    // the fourth (1400); its rest of 192 and the last one (64). What is left over is lost.
    let sizes = [600, 600, 600, 1400, 64];
    let packets: Vec<_> = sizes.iter().map(|bytes| (0, *bytes)).collect();
    let later = [(31 * MS, 100), (69 * MS, 1500)];
    let spec = experiment(
        vec![link("a", "b", traced(opportunities("10*3 10*3")))],
        vec![trace("t", "a", "b", &[&packets[..], &later[..]].concat())],
        vec![],
    );
    let left_ms: Vec<_> = { departures_ns(&tables(&spec)).into_iter() }
        .map(|at_ns| at_ns / MS as i64)
        .collect();
    assert_eq!(left_ms, [10, 10, 20, 30, 30, 40, 70]);
}

#[test]
fn opportunities_of_an_idle_link_are_lost_also_over_rounds() {
    let packets = [(5 * S + MS / 2, 1504), (9 * S + 1, 752), (9 * S + 2, 752)];
    let spec = experiment(
        vec![link("a", "b", traced(opportunities("1*4 3")))],
        vec![trace("t", "a", "b", &packets)],
        vec![],
    );
    // A round is 7 ms: 1, 2, 3, 4, 7. 5 s is 714 of them and 2 ms; 9 s is 1285 and 5 ms.
    let expected = [5_001_000_000, 9_002_000_000, 9_002_000_000];
    assert_eq!(departures_ns(&tables(&spec)), expected);
}

#[test]
fn a_queue_of_an_aqm_is_asked_at_the_opportunity() {
    // codel drops at its head when it is asked: with one packet a millisecond from two there is a
    // standing queue, which it keeps near its target.
    let mut forward = traced(opportunities("1"));
    forward.qdisc = dumbbell_tc::parse_qdisc("codel").unwrap();
    let spec = saturated(forward, 1504.0, 0.0009);
    let tables = tables(&spec);
    let left = departures_ns(&tables).len() as i64;
    assert_eq!(left, 9999);
    let dropped = tables.column_i64("queues", "dropped_aqm_pkts")[0];
    assert!((900..1111).contains(&dropped), "{dropped}");
}

#[test]
fn a_gilbert_channel_is_on_for_its_share_of_the_time() {
    let law = Trace::OnOff {
        rate_bps: 8_000_000,
        on: Law::Constant { value: 0.3 },
        off: Law::Constant { value: 0.2 },
    };
    let spec = saturated(traced(law), 1000.0, 0.0005);
    // 10 s are 20 rounds: 6 s at 1000 packets a second, but for the time before the first packet comes.
    assert_eq!(departures_ns(&tables(&spec)).len(), 5999);
}

#[test]
fn states_follow_each_other_by_their_weights() {
    let state = |rate_bps, next: &[f64]| State {
        hold: Law::Constant { value: 0.1 },
        rate_bps: Some(rate_bps),
        delay_ns: None,
        loss: None,
        next: next.to_vec(),
    };
    let law = Trace::Markov {
        states: vec![
            state(8_000_000, &[0.0, 1.0, 0.0]),
            state(4_000_000, &[0.0, 0.0, 1.0]),
            state(0, &[1.0, 0.0, 0.0]),
        ],
    };
    let spec = saturated(traced(law), 1000.0, 0.0005);
    // 33 rounds of 300 ms with 100 and 50 packets, and the first state once more; the first packet comes
    // after half a packet's time.
    assert_eq!(departures_ns(&tables(&spec)).len(), 33 * 150 + 99);
}

#[test]
fn a_handover_takes_the_link_away_and_gives_it_another_rate() {
    let law = Trace::Handover {
        every_ns: 2 * S,
        outage: Law::Constant { value: 0.5 },
        least_rate_bps: 8_000_000,
        most_rate_bps: 8_000_000,
        least_delay_ns: 3 * MS,
        most_delay_ns: 3 * MS,
    };
    let spec = saturated(traced(law), 1000.0, 0.0005);
    let left = departures_ns(&tables(&spec));
    assert_eq!(left.len(), 7999);
    let in_outage = left
        .iter()
        .filter(|at| **at > 2 * S as i64 && **at < 2_500_000_000);
    assert_eq!(in_outage.count(), 0);
}

#[test]
fn bursts_of_service_let_several_packets_leave_at_once() {
    let law = Trace::Aggregation {
        gap: Law::Constant { value: 0.01 },
        size_bytes: 32_000,
    };
    let spec = saturated(traced(law), 1000.0, 0.0002);
    let left = departures_ns(&tables(&spec));
    assert_eq!(left.len(), 999 * 32);
    assert!(left[..32].iter().all(|at| *at == 10 * MS as i64));
}

#[test]
fn replications_draw_other_laws_and_an_unrelated_flow_changes_none() {
    let law = Trace::OnOff {
        rate_bps: 8_000_000,
        on: exponential(0.05),
        off: exponential(0.05),
    };
    let mut spec = saturated(traced(law), 1000.0, 0.0005);
    let left = |spec: &Experiment, replication| {
        let output = run(&checked(spec), replication, &Monitor::default()).unwrap();
        departures_ns(&output.tables)
    };
    let first = left(&spec, 0);
    assert_ne!(first, left(&spec, 1));
    spec.links.push(link("a", "c", end(1_000_000)));
    spec.hosts
        .push(dumbbell_engine::spec::Host { name: "c".into() });
    spec.flows.push(flow(
        "g",
        "a",
        "c",
        source(exponential(0.01), constant(100.0)),
    ));
    assert_eq!(first, left(&spec, 0));
}

#[test]
fn what_is_no_trace_is_refused_with_its_place() {
    let refused = |forward: LinkEnd| {
        let spec = saturated(forward, 1000.0, 1.0);
        let text = serde_json::to_string(&spec).unwrap();
        Experiment::from_json(&text).unwrap_err().to_string()
    };
    for (text, place) in [
        ("0", "gaps_ms"),
        ("", "gaps_ms"),
        ("1*1", "gaps_ms"),
        ("1  2", "gaps_ms"),
    ] {
        let said = refused(traced(opportunities(text)));
        assert!(
            said.contains(&format!("links[0].forward.trace.{place}")),
            "{said}"
        );
    }
    for text in ["", "0", "0r", "0r1 0r2", "0x5", "0r5g5", "0l2g", "1r99999g"] {
        let said = refused(traced(steps(text)));
        assert!(
            said.contains("links[0].forward.trace.steps"),
            "{text}: {said}"
        );
    }
    let said = refused(LinkEnd {
        rate_bps: 1000,
        ..traced(opportunities("1"))
    });
    assert!(said.contains("links[0].forward.rate_bps"), "{said}");
}
