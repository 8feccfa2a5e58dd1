//! The written rule for ties, and what it means for a full queue.

mod common;

use common::*;
use dumbbell_engine::run::{Monitor, run};
use dumbbell_engine::spec::{Change, LinkEnd};

/// A packet of 125 bytes takes 1 ms at 1 Mbit/s.
const BYTES: u32 = 125;

fn drops(packets: &[(u64, u32)], limit: u32) -> i64 {
    let mut forward = end(1_000_000);
    forward.qdisc = pfifo(limit);
    let spec = experiment(
        vec![link("a", "b", forward)],
        vec![trace("t", "a", "b", packets)],
        vec![],
    );
    let output = run(&checked(&spec), 0, &Monitor::default()).unwrap();
    output.tables.column_i64("flows", "dropped_pkts")[0]
}

#[test]
fn a_packet_that_leaves_as_another_arrives_has_made_room() {
    // Room for one that waits and one in transmission; the third arrives as the first leaves.
    assert_eq!(drops(&[(0, BYTES), (0, BYTES), (MS, BYTES)], 1), 0);
    assert_eq!(drops(&[(0, BYTES), (0, BYTES), (MS - 1, BYTES)], 1), 1);
}

/// What a queue is given besides its rate.
type Shape = fn(&mut LinkEnd);

/// Packets to `c` over a link from `a` that has no delay, into a queue of one at `b`, and their drops.
fn drops_behind_a_link(
    packets: &[(u64, u32)],
    shape: impl Fn(&mut LinkEnd),
    is_second: bool,
) -> i64 {
    let first = link("a", "b", end(1_000_000));
    let mut forward = end(1_000_000);
    forward.qdisc = pfifo(1);
    shape(&mut forward);
    let mut links = vec![first, link("b", "c", forward)];
    if !is_second {
        links.reverse();
    }
    let spec = experiment(links, vec![trace("t", "a", "c", packets)], vec![]);
    let output = run(&checked(&spec), 0, &Monitor::default()).unwrap();
    output.tables.column_i64("flows", "dropped_pkts")[0]
}

#[test]
fn over_a_link_without_a_delay_a_packet_comes_after_the_departures_of_the_instant() {
    // They come to the queue each millisecond, in the instant in which one that it sends leaves. What
    // takes 2 ms there is one in transmission and one that waits, so every other packet is dropped.
    let packets: Vec<(u64, u32)> = (0..9).map(|_| (0, BYTES)).collect();
    let slow = |end: &mut LinkEnd| end.rate_bps = 500_000;
    let shapes: [(&str, Shape); 4] = [
        ("folded", |_| ()),
        ("pipe", |end| end.delay_ns = MS),
        ("events", |end| end.record_packets = true),
        ("lossy", |end| end.loss_every_pkts = 1_000),
    ];
    for (name, shape) in shapes {
        for is_second in [false, true] {
            assert_eq!(drops_behind_a_link(&packets, shape, is_second), 0, "{name}");
            let drops = drops_behind_a_link(
                &packets,
                |end| {
                    shape(end);
                    slow(end);
                },
                is_second,
            );
            assert_eq!(drops, 3, "{name}");
        }
    }
}

#[test]
fn at_one_instant_a_link_changes_before_its_next_packet_starts() {
    let mut forward = end(1_000_000);
    forward.changes = vec![Change {
        at_ns: MS,
        rate_bps: Some(500_000),
        delay_ns: None,
        loss: None,
    }];
    let packets = [(0, BYTES), (0, BYTES)];
    let flows = vec![trace("t", "a", "b", &packets)];
    let spec = experiment(vec![link("a", "b", forward)], flows, vec![]);
    let output = run(&checked(&spec), 0, &Monitor::default()).unwrap();
    // The second starts as the first ends, at 1 ms, and takes 2 ms at the new rate.
    let last = output.tables.column_i64("flows", "last_received_ns")[0];
    assert_eq!(last, 3 * MS as i64);
}

#[test]
fn of_two_sources_at_one_instant_the_earlier_in_the_description_goes_first() {
    let mut forward = end(1_000_000);
    forward.record_packets = true;
    let flows = vec![
        trace("z", "a", "b", &[(5 * MS, 100)]),
        trace("a", "a", "b", &[(5 * MS, 200)]),
    ];
    let spec = experiment(vec![link("a", "b", forward)], flows, vec![]);
    let output = run(&checked(&spec), 0, &Monitor::default()).unwrap();
    let sojourn = output.tables.column_i64("packets", "sojourn_ns");
    let sent: Vec<i64> = sojourn.iter().copied().filter(|ns| *ns >= 0).collect();
    assert_eq!(sent, vec![800_000, 2_400_000]);
}

#[test]
fn a_component_that_does_nothing_changes_nothing() {
    let source = || source(exponential(1e-3), exponential(100.0));
    let bare = experiment(
        vec![link("b", "c", end(1_000_000))],
        vec![flow("f", "b", "c", source())],
        vec![],
    );
    let mut more = bare.clone();
    // A host, a link and a flow that ends before it sends, all in front of the others.
    more.links.insert(0, link("a", "b", end(1_000_000)));
    more.hosts
        .insert(0, dumbbell_engine::spec::Host { name: "a".into() });
    let mut silent = trace("silent", "a", "b", &[]);
    silent.stop_ns = 1;
    more.flows.insert(0, silent);
    let bare = run(&checked(&bare), 0, &Monitor::default()).unwrap();
    let more = run(&checked(&more), 0, &Monitor::default()).unwrap();
    let of = |output: &dumbbell_engine::run::RunOutput, queue: usize| {
        output.tables.column_f64("queues", "sojourn_mean_s")[queue].to_bits()
    };
    assert_eq!(of(&bare, 0), of(&more, 2));
}
