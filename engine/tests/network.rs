//! What links and hosts do, by exact times.

mod common;

use common::*;
use dumbbell_engine::observe::samples::{BYTES_PER_FLOW_SAMPLE, BYTES_PER_QUEUE_SAMPLE};
use dumbbell_engine::qdisc::Config;
use dumbbell_engine::run::{Monitor, RunOutput, run};
use dumbbell_engine::spec::source::{Cbr, Replay};
use dumbbell_engine::spec::{Change, Experiment, SizeAt, Source};
use dumbbell_engine::tables::Tables;
use dumbbell_tc::qdisc::Netem;

fn output(spec: &Experiment) -> RunOutput {
    run(&checked(spec), 0, &Monitor::default()).unwrap()
}

#[test]
fn ping_over_two_hops_takes_transmission_and_delay_both_ways() {
    let mut first = link("a", "r", end(1_000_000));
    first.forward.delay_ns = 3 * MS;
    first.reverse.delay_ns = 4 * MS;
    let mut second = link("r", "b", end(0));
    second.forward.qdisc = Config::Netem(Netem {
        delay_ns: 10 * MS,
        ..Netem::default()
    });
    let spec = experiment(
        vec![first, second],
        vec![],
        vec![ping("p", "a", "b", 100 * MS, 3)],
    );
    let output = output(&spec);
    // 98 bytes at 1 Mbit/s, 3 + 4 ms of delay, 10 ms in netem.
    let expected = 784_000 + 17 * MS as i64;
    assert_eq!(output.tables.column_i64("probes", "rtt_ns"), &[expected; 3]);
    assert_eq!(output.tables.column_i64("probes", "seq"), &[1, 2, 3]);
    assert_eq!(
        output.tables.column_i64("probes", "sent_ns"),
        &[0, 100_000_000, 200_000_000]
    );
}

#[test]
fn an_answer_that_is_late_or_lost_is_missing() {
    let mut slow = link("a", "b", end(0));
    slow.forward.delay_ns = 6 * S;
    let spec = experiment(vec![slow], vec![], vec![ping("p", "a", "b", 5 * S, 0)]);
    // Sent at 0 and 5 s of ten: the first is back after 6 s, the second would be after 11.
    assert_eq!(
        output(&spec).tables.column_i64("probes", "rtt_ns"),
        &[6_000_000_000, -1]
    );
    let mut lossy = link("a", "b", end(0));
    lossy.reverse.loss = 1.0;
    let spec = experiment(vec![lossy], vec![], vec![ping("p", "a", "b", S, 2)]);
    let output = output(&spec);
    assert_eq!(output.tables.column_i64("probes", "rtt_ns"), &[-1, -1]);
    assert_eq!(output.tables.column_i64("queues", "lost_pkts"), &[0, 2]);
}

#[test]
fn headers_and_fragments_are_on_the_wire() {
    let source = Source::Replay(Replay {
        times_ns: vec![0, S],
        sizes_bytes: vec![512, 2000],
        size_at: SizeAt::Payload,
    });
    let spec = experiment(
        vec![link("a", "b", end(1_000_000))],
        vec![flow("f", "a", "b", source)],
        vec![],
    );
    let tables = output(&spec).tables;
    // 512 + 42; then 1500 + 14 and 548 + 14 (2008 bytes of IP payload less 1480, and headers).
    assert_eq!(
        tables.column_i64("queues", "departed_bytes")[0],
        554 + 1514 + 562
    );
    assert_eq!(tables.column_i64("flows", "sent_datagrams")[0], 2);
    assert_eq!(
        tables.column_i64("flows", "received_payload_bytes")[0],
        2512
    );
    assert_eq!(tables.column_i64("flows", "delivered_pkts")[0], 3);
}

#[test]
fn a_slower_rate_and_a_shorter_delay_from_a_given_time() {
    let mut forward = end(1_000_000);
    forward.delay_ns = 50 * MS;
    forward.record_packets = true;
    forward.changes = vec![Change {
        at_ns: S,
        rate_bps: Some(500_000),
        delay_ns: Some(0),
        loss: None,
    }];
    let packets = [(0, 125), (S - MS / 2, 125), (S + 10 * MS, 125)];
    let spec = experiment(
        vec![link("a", "b", forward)],
        vec![trace("t", "a", "b", &packets)],
        vec![],
    );
    let tables = output(&spec).tables;
    // The second is in transmission during the change and ends as it began; it then finds no
    // delay. The first one's delay is 1 + 50 ms.
    let sojourn: Vec<i64> = tables
        .column_i64("packets", "sojourn_ns")
        .iter()
        .copied()
        .filter(|ns| *ns >= 0)
        .collect();
    assert_eq!(sojourn, vec![1_000_000, 1_000_000, 2_000_000]);
    assert_eq!(tables.column_i64("flows", "delay_max_ns")[0], 51_000_000);
    assert_eq!(tables.column_i64("flows", "delay_min_ns")[0], 1_000_000);
}

#[test]
fn each_delivered_packet_of_the_measured_window_is_in_its_flows_histogram() {
    let mut forward = end(1_000_000);
    forward.delay_ns = 3 * MS;
    // 125 bytes take 1 ms: three come at once, two of which wait, and one alone. A packet before
    // the end of the warm-up and one that is on its way at the end are not counted.
    let packets = [
        (S / 2, 125),
        (2 * S, 125),
        (2 * S, 125),
        (2 * S, 125),
        (3 * S, 125),
        (10 * S - MS, 125),
    ];
    let mut spec = experiment(
        vec![link("a", "b", forward)],
        vec![
            trace("t", "a", "b", &packets),
            trace("none", "a", "b", &[(S / 2, 125)]),
        ],
        vec![],
    );
    spec.warm_up_ns = S;
    let tables = output(&spec).tables;
    assert_eq!(tables.column_i64("flow_delays", "pkts"), &[2, 1, 1]);
    assert_eq!(tables.column_i64("flows", "delay_count"), &[4, 0]);
    let low = tables.column_f64("flow_delays", "low_ns");
    let high = tables.column_f64("flow_delays", "high_ns");
    for (bin, ms) in [4.0, 5.0, 6.0].into_iter().enumerate() {
        let delay_ns = ms * MS as f64;
        assert!((low[bin]..high[bin]).contains(&delay_ns), "{ms} ms");
        assert!(high[bin] - low[bin] <= delay_ns / 128.0, "{ms} ms");
    }
}

#[test]
fn a_shorter_delay_lets_a_later_packet_overtake() {
    let mut forward = end(0);
    forward.delay_ns = 100 * MS;
    forward.changes = vec![Change {
        at_ns: 10 * MS,
        rate_bps: None,
        delay_ns: Some(MS),
        loss: None,
    }];
    let spec = experiment(
        vec![link("a", "b", forward)],
        vec![
            trace("early", "a", "b", &[(0, 100)]),
            trace("late", "a", "b", &[(20 * MS, 100)]),
        ],
        vec![],
    );
    let tables = output(&spec).tables;
    assert_eq!(
        tables.column_i64("flows", "last_received_ns"),
        &[100_000_000, 21_000_000]
    );
}

#[test]
fn nothing_is_sent_from_the_stop_on_and_the_first_packet_of_cbr_is_at_the_start() {
    let cbr = Source::Cbr(Cbr {
        gap: constant(0.1),
        size: constant(100.0),
        size_at: SizeAt::Wire,
    });
    let mut steady = flow("f", "a", "b", cbr);
    steady.start_ns = S;
    steady.stop_ns = 2 * S;
    let spec = experiment(vec![link("a", "b", end(0))], vec![steady], vec![]);
    let tables = output(&spec).tables;
    assert_eq!(tables.column_i64("flows", "sent_datagrams")[0], 10);
    assert_eq!(tables.column_i64("flows", "first_sent_ns")[0], S as i64);
}

#[test]
fn samples_hold_running_totals_up_to_the_end() {
    let packets = [(0, 125), (0, 125), (1_500 * MS, 125)];
    let mut spec = experiment(
        vec![link("a", "b", end(1_000_000))],
        vec![trace("t", "a", "b", &packets)],
        vec![],
    );
    spec.sample_interval_ns = S;
    spec.duration_ns = 3 * S;
    let tables = output(&spec).tables;
    assert_eq!(
        tables.column_i64("flow_samples", "t_ns"),
        &[1_000_000_000, 2_000_000_000, 3_000_000_000]
    );
    assert_eq!(
        tables.column_i64("flow_samples", "delivered_pkts"),
        &[2, 3, 3]
    );
    let sums = tables.column_f64("queue_samples", "sojourn_sum_s");
    assert_eq!((sums[0], sums[4]), (0.003, 0.004));
    let integrals = tables.column_f64("queue_samples", "system_integral_pkt_s");
    assert_eq!(integrals[0], 0.003);
    // What was written and what senders do stand beside the table.
    let of_flows = BYTES_PER_FLOW_SAMPLE - 8 - 1;
    let counted = [
        ("queue_samples", 2 * 3 * BYTES_PER_QUEUE_SAMPLE),
        ("flow_samples", 3 * of_flows),
    ];
    for (name, bytes) in counted {
        let table = tables.0.iter().find(|table| table.name == name).unwrap();
        assert_eq!(Tables(vec![table.clone()]).memory_bytes(), bytes, "{name}");
    }
}
