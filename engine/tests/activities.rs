//! What senders do, sample by sample: it agrees with the window and the losses that the tables have.

mod common;

use common::*;
use dumbbell_engine::observe::activity::Activity;
use dumbbell_engine::run::{IncrementalRun, Monitor};
use dumbbell_engine::spec::Source;
use dumbbell_engine::spec::source::Greedy;
use dumbbell_engine::spec::tcp::{CwndChange, Tcp};
use dumbbell_engine::tables::{Table, Values};
use std::rc::Rc;

const NONE: i64 = -1;
/// In `flow_samples.flow`.
const CUBIC: i64 = 0;
const BBR: i64 = 1;
const BY_HAND: i64 = 2;
const UDP: i64 = 3;

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

/// A sample: when, what, window, threshold, packets lost.
type Sample = (i64, i64, i64, i64, i64);

/// Each flow over a bottleneck of its own, which holds 41 packets, and 20 more in its queue; BBR's
/// queue never fills.
fn samples_of(flow: i64) -> Vec<Sample> {
    let changes = [(1, 20), (2, 200)].map(|(at_s, cwnd_pkts)| CwndChange {
        at_ns: at_s * S,
        cwnd_pkts,
    });
    let by_hand = Tcp {
        cwnd_changes: changes.to_vec(),
        ..without_small_queues("manual")
    };
    let greedy = |a: &str, b: &str, tcp| tcp_flow(a, a, b, Source::Greedy(Greedy::default()), tcp);
    let flows = vec![
        greedy("a", "b", without_small_queues("cubic")),
        greedy("c", "d", without_small_queues("bbr")),
        greedy("e", "f", by_hand),
        trace("t", "a", "b", &[(10 * MS, 100)]),
    ];
    let link = |a: &str, b: &str, limit| {
        let mut link = bottleneck(10_000_000, 50 * MS, pfifo(limit));
        (link.a, link.b) = (a.to_owned(), b.to_owned());
        link
    };
    let links = vec![link("a", "b", 20), link("c", "d", 500), link("e", "f", 20)];
    let mut experiment = experiment(links, flows, Vec::new());
    experiment.sample_interval_ns = 10 * MS;
    experiment.duration_ns = 15 * S;
    let mut run: IncrementalRun<Rc<Monitor>> =
        IncrementalRun::new(&checked(&experiment), 0, Rc::default()).unwrap();
    while run.advance(1000).unwrap() {}
    let mut tables = run.tables_so_far().0;
    tables.push(run.activities());
    let of = |name| column(&tables, "flow_samples", name);
    let whats = column(&tables, "flow_activities", "activity");
    let [times, flows, windows, thresholds, drops] =
        ["t_ns", "flow", "cwnd_pkts", "ssthresh_pkts", "dropped_pkts"].map(of);
    assert_eq!(whats.len(), times.len());
    (0..times.len())
        .filter(|&row| flows[row] == flow)
        .map(|i| (times[i], whats[i], windows[i], thresholds[i], drops[i]))
        .collect()
}

/// What it did, each time that it changed.
fn course(samples: &[Sample]) -> Vec<i64> {
    let mut found: Vec<i64> = samples.iter().map(|each| each.1).collect();
    found.dedup();
    found
}

fn numbers(activities: &[Activity]) -> Vec<i64> {
    activities.iter().map(|each| *each as i64).collect()
}

#[test]
fn cubic_starts_slowly_recovers_and_avoids_congestion() {
    let samples = samples_of(CUBIC);
    // HyStart ends slow start before there are losses.
    let begins = numbers(&[
        Activity::SlowStart,
        Activity::CongestionAvoidance,
        Activity::Recovery,
        Activity::CongestionAvoidance,
    ]);
    let course = course(&samples);
    assert!(course.starts_with(&begins), "{course:?}");
    for (t_ns, what, window, threshold, drops) in samples {
        let is_below = threshold == NONE || window < threshold;
        if what == Activity::SlowStart as i64 {
            assert!(is_below, "{t_ns}");
        } else if what == Activity::CongestionAvoidance as i64 {
            assert!(!is_below, "{t_ns}");
        } else if what == Activity::Recovery as i64 {
            assert!(drops > 0, "{t_ns}");
        }
    }
}

#[test]
fn bbr_goes_through_its_modes() {
    let samples = samples_of(BBR);
    let wanted = numbers(&[
        Activity::Startup,
        Activity::Drain,
        Activity::ProbeBw,
        Activity::ProbeRtt,
        Activity::ProbeBw,
    ]);
    let mut modes = course(&samples);
    modes.retain(|what| wanted.contains(what));
    modes.dedup();
    assert_eq!(modes, wanted);
    // It keeps the pipe empty after ten seconds, for 200 ms and no longer than a round trip more.
    let probing = samples.iter().filter(|each| each.1 == wanted[3]);
    let times: Vec<i64> = probing.map(|each| each.0).collect();
    assert!(times[0] > 10_000_000_000, "{times:?}");
    assert!((19..=30).contains(&times.len()), "{times:?}");
}

#[test]
fn a_window_by_hand_and_a_flow_without_connection_are_told_apart() {
    let by_hand = samples_of(BY_HAND);
    let first_s = by_hand.iter().filter(|each| each.0 < 1_000_000_000);
    let known: Vec<i64> = first_s.map(|each| each.1).filter(|&w| w != NONE).collect();
    assert!(known.iter().all(|&what| what == Activity::ByHand as i64) && known.len() > 90);
    // 200 packets where there is room for 61: most of the time some are lost.
    let lost = (by_hand.iter())
        .filter(|each| each.1 == Activity::Recovery as i64 || each.1 == Activity::Loss as i64);
    assert!(lost.count() > 100);
    assert!(samples_of(UDP).iter().all(|each| each.1 == NONE));
}
