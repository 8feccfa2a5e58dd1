//! The same description, seed and replication give the same digest, whatever else is done.

mod common;

use common::*;
use dumbbell_engine::run::{IncrementalRun, Monitor, RunOutput, run};
use dumbbell_engine::spec::source::Greedy;
use dumbbell_engine::spec::{Experiment, Source, Tcp};

fn busy() -> Experiment {
    let source = || source(exponential(2e-3), exponential(200.0));
    let flows = vec![
        flow("one", "a", "b", source()),
        flow("two", "a", "b", source()),
        tcp_flow(
            "three",
            "a",
            "b",
            Source::Greedy(Greedy::default()),
            Tcp::linux("cubic"),
        ),
    ];
    let mut forward = end(1_000_000);
    forward.loss = 0.05;
    let mut spec = experiment(
        vec![link("a", "b", forward)],
        flows,
        vec![ping("p", "a", "b", 10 * MS, 0)],
    );
    spec.sample_interval_ns = 100 * MS;
    checked(&spec)
}

fn output(spec: &Experiment, replication: u64) -> RunOutput {
    run(spec, replication, &Monitor::default()).unwrap()
}

#[test]
fn equal_again_and_different_for_another_replication_or_seed() {
    let spec = busy();
    assert_eq!(output(&spec, 3).digest, output(&spec, 3).digest);
    assert_ne!(output(&spec, 3).digest, output(&spec, 4).digest);
    let other = Experiment {
        seed: 2,
        ..spec.clone()
    };
    assert_ne!(output(&spec, 3).digest, output(&other, 3).digest);
}

#[test]
fn an_unrelated_flow_changes_nobodys_draws() {
    let spec = busy();
    let mut fewer = spec.clone();
    fewer.flows.remove(1);
    let sent = |spec: &Experiment| {
        let tables = output(spec, 0).tables;
        let bytes = tables.column_i64("flows", "sent_payload_bytes")[0];
        (bytes, tables.column_i64("flows", "first_sent_ns")[0])
    };
    assert_eq!(sent(&spec), sent(&fewer));
}

#[test]
fn jitter_moves_the_start_and_nothing_else() {
    let spec = busy();
    let mut later = spec.clone();
    later.flows[0].start_jitter_ns = 5 * MS;
    let at = |spec: &Experiment| {
        output(spec, 0)
            .tables
            .column_i64("flows", "first_sent_ns")
            .to_vec()
    };
    let (before, after) = (at(&spec), at(&later));
    assert_eq!(before[1], after[1]);
    assert!((1..5 * MS as i64).contains(&(after[0] - before[0])));
}

#[cfg(feature = "batch")]
#[test]
fn equal_on_one_thread_and_on_four() {
    use dumbbell_engine::batch::Batch;
    use std::sync::Arc;
    use std::time::Duration;
    let digests = |threads| {
        let mut batch = Batch::new(threads, u64::MAX).unwrap();
        let spec = Arc::new(busy());
        (0..12).for_each(|replication| batch.submit(Arc::clone(&spec), replication, None));
        let mut found = vec![String::new(); 12];
        while batch.running() > 0 {
            if let Some(done) = batch.wait(Duration::from_secs(60)) {
                found[done.replication as usize] = done.result.unwrap().digest;
            }
        }
        found
    };
    assert_eq!(digests(1), digests(4));
}

#[test]
fn pieces_of_a_run_and_looks_at_it_change_nothing() {
    let spec = busy();
    let whole = output(&spec, 3);
    for piece in [1, 5_000, 1 << 40] {
        let monitor = Monitor::default();
        let mut going = IncrementalRun::new(&spec, 3, &monitor).unwrap();
        let mut samples = 0;
        while going.advance(piece).unwrap() {
            let so_far = going.tables_so_far();
            let times = so_far.column_i64("queue_samples", "t_ns");
            assert!(times.len() >= samples, "at {} ns", going.now_ns());
            samples = times.len();
            let all = whole.tables.column_i64("queue_samples", "t_ns");
            assert_eq!(times, &all[..samples]);
            let sent = so_far.column_i64("probes", "sent_ns");
            let all = whole.tables.column_i64("probes", "sent_ns");
            assert_eq!(sent, &all[..sent.len()]);
        }
        assert_eq!(going.finish().unwrap().digest, whole.digest);
    }
}

#[test]
fn records_that_were_forgotten_are_missing_and_nothing_else() {
    let mut spec = busy();
    spec.links[0].forward.record_packets = true;
    let whole = output(&spec, 0);
    let monitor = Monitor::default();
    let mut going = IncrementalRun::new(&spec, 0, &monitor).unwrap();
    going.advance(5_000).unwrap();
    going.forget_records();
    let from_ns = going.now_ns();
    while going.advance(5_000).unwrap() {}
    let rest = going.finish().unwrap();
    let all = whole.tables.column_i64("packets", "t_ns");
    let kept = rest.tables.column_i64("packets", "t_ns");
    assert!(!kept.is_empty() && kept.len() < all.len());
    assert_eq!(kept, &all[all.len() - kept.len()..]);
    assert!(kept[0] >= from_ns as i64);
    assert_eq!(
        rest.tables.column_i64("flows", "delivered_pkts"),
        whole.tables.column_i64("flows", "delivered_pkts")
    );
}
