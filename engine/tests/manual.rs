//! A window by hand: it is what the description says, and a run in which it is changed while the run
//! goes on is the run of the description that has those changes.

mod common;

use common::*;
use dumbbell_engine::EngineError;
use dumbbell_engine::run::{IncrementalRun, Monitor, run};
use dumbbell_engine::spec::law::Law;
use dumbbell_engine::spec::source::{Arrivals, Greedy};
use dumbbell_engine::spec::tcp::{CwndChange, Tcp};
use dumbbell_engine::spec::{Experiment, Source, SpecError};
use dumbbell_engine::tables::Values;
use std::rc::Rc;

/// 10 Mbit/s and 50 ms, which hold 41 packets, with 40 more in the queue.
fn game(changes: &[CwndChange]) -> Experiment {
    let tcp = Tcp {
        cwnd_changes: changes.to_vec(),
        ..Tcp::linux("manual")
    };
    let short = Source::Arrivals(Arrivals {
        gap: Law::Exponential { mean: 0.2 },
        size: Law::Constant { value: 30_000.0 },
        transfers: None,
    });
    let flows = vec![
        tcp_flow(
            "one",
            "a",
            "b",
            Source::Greedy(Greedy::default()),
            tcp.clone(),
        ),
        tcp_flow("other", "a", "b", short, tcp),
        tcp_flow(
            "beside",
            "a",
            "b",
            Source::Greedy(Greedy::default()),
            Tcp::linux("cubic"),
        ),
    ];
    let links = vec![bottleneck(10_000_000, 50 * MS, pfifo(40))];
    let mut experiment = experiment(links, flows, vec![ping("p", "a", "b", 100 * MS, 0)]);
    experiment.sample_interval_ns = 10 * MS;
    experiment.duration_ns = 5 * S;
    experiment
}

fn begun(experiment: &Experiment) -> IncrementalRun<Rc<Monitor>> {
    IncrementalRun::new(&checked(experiment), 0, Rc::default()).unwrap()
}

#[test]
fn a_game_is_its_description() {
    let mut going = begun(&game(&[]));
    let mut moves: Vec<CwndChange> = Vec::new();
    for step in 1..250u64 {
        assert!(going.advance_to(step * 20 * MS).unwrap());
        // Up by hand, down at once, and twice at one instant.
        if step % 7 != 0 {
            let cwnd_pkts = 1 + (step * step % 83) as u32;
            going.change_cwnd(&[0, 1], 500).unwrap();
            moves.push(going.change_cwnd(&[0, 1], cwnd_pkts).unwrap());
        }
    }
    while going.advance(1000).unwrap() {}
    let played = going.finish().unwrap();
    let told = run(&checked(&game(&moves)), 0, &Monitor::default()).unwrap();
    assert_eq!(played.digest, told.digest);
    assert_eq!(played.events, told.events);
    let other = run(&checked(&game(&moves[..100])), 0, &Monitor::default()).unwrap();
    assert_ne!(played.digest, other.digest);
}

#[test]
fn the_window_is_the_one_that_was_asked_for() {
    let changes = [(1000, 20), (2000, 60), (3000, 3)].map(|(at_ms, cwnd_pkts)| CwndChange {
        at_ns: at_ms * MS,
        cwnd_pkts,
    });
    let mut experiment = game(&changes);
    experiment.flows.truncate(1);
    let output = run(&checked(&experiment), 0, &Monitor::default()).unwrap();
    let table = output
        .tables
        .0
        .iter()
        .find(|table| table.name == "flow_samples");
    let column = |name: &str| {
        let column = table.unwrap().columns.iter().find(|each| each.name == name);
        match &column.unwrap().values {
            Values::I64(values) => values.clone(),
            Values::I32(values) => values.iter().map(|value| i64::from(*value)).collect(),
            other => panic!("{other:?}"),
        }
    };
    let (times_ns, windows) = (column("t_ns"), column("cwnd_pkts"));
    // A round trip after each change, queue included, the window is what it says: also behind the
    // losses of 60 packets where there is no room for them is none.
    for (from_ms, until_ms, expected) in [
        (200, 1000, 10),
        (1150, 2000, 20),
        (2150, 3000, 60),
        (3150, 5000, 3),
    ] {
        let within = (from_ms * MS) as i64..(until_ms * MS) as i64;
        let seen = times_ns
            .iter()
            .zip(&windows)
            .filter(|(time, _)| within.contains(time));
        let others: Vec<_> = seen.filter(|(_, window)| **window != expected).collect();
        assert!(others.is_empty(), "{expected}: {others:?}");
    }
}

#[test]
fn what_is_no_window_by_hand_is_refused() {
    let mut going = begun(&game(&[]));
    going.advance_to(S).unwrap();
    let refused = |found: Result<CwndChange, EngineError>| match found {
        Err(EngineError::Spec(SpecError { path, .. })) => path,
        other => panic!("{other:?}"),
    };
    let another = "flows[2].tcp.congestion_control";
    assert_eq!(refused(going.change_cwnd(&[2], 5)), another);
    assert!(refused(going.change_cwnd(&[99], 5)).starts_with("flows[99]"));
    for cwnd_pkts in [0, 100_001] {
        let path = refused(going.change_cwnd(&[0], cwnd_pkts));
        assert_eq!(path, "cwnd_changes.cwnd_pkts");
    }
    let at = |at_ns, cwnd_pkts| CwndChange { at_ns, cwnd_pkts };
    for (changes, path) in [
        (vec![at(5, 0)], "[0].cwnd_pkts"),
        (vec![at(5, 1), at(5, 2)], "[1].at_ns"),
        (vec![at(u64::MAX, 1)], "[0].at_ns"),
        ((0..10_001).map(|n| at(n, 1)).collect(), ""),
    ] {
        let text = serde_json::to_string(&game(&changes)).unwrap();
        let found = Experiment::from_json(&text)
            .map(|_| at(0, 0))
            .map_err(EngineError::from);
        assert_eq!(refused(found), format!("flows[0].tcp.cwnd_changes{path}"));
    }
}
