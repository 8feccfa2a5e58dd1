//! Runs that would not end, or not fit, are refused or end by themselves; what is foreseen of
//! others is near what they take.

mod common;

use common::*;
use dumbbell_engine::EngineError;
use dumbbell_engine::qdisc::Config;
use dumbbell_engine::run::{Account, Budget, Estimate, Monitor, RunOutput, check_simulator, run};
use dumbbell_engine::spec::law::Law;
use dumbbell_engine::spec::source::{Arrivals, Cbr, Greedy};
use dumbbell_engine::spec::{Change, Experiment, Link, SizeAt, Source, Tcp};
use dumbbell_tc::parse_qdisc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn qdisc(text: &str) -> Config {
    parse_qdisc(text).unwrap()
}

/// One greedy flow over links from a to b.
fn greedy(links: Vec<Link>) -> Experiment {
    let flow = tcp_flow(
        "f",
        "a",
        "b",
        Source::Greedy(Greedy::default()),
        Tcp::linux("cubic"),
    );
    let mut experiment = experiment(links, vec![flow], vec![]);
    experiment.duration_ns = S;
    experiment
}

fn refusal(experiment: &Experiment) -> Option<(String, String)> {
    let refused = check_simulator(&checked(experiment)).err();
    refused.map(|error| (error.path, error.allowed))
}

#[test]
fn no_way_round_without_time_is_accepted() {
    for text in [
        "pfifo limit 10",
        "fq_codel",
        "prio",
        "codel",
        "pie",
        "red limit 400kb min 1kb max 10kb avpkt 100 burst 30 probability 0.5",
        "netem limit 1000",
        "netem loss 1%",
    ] {
        let mut instant = link("a", "b", end(0));
        instant.forward.qdisc = qdisc(text);
        let (path, allowed) = refusal(&greedy(vec![instant.clone()])).expect(text);
        assert_eq!(path, "flows[0].to");
        assert!(allowed.contains("a rate or a delay"), "{allowed}");
        // It takes time on the way back.
        instant.reverse.delay_ns = 1;
        assert_eq!(refusal(&greedy(vec![instant])), None);
    }
    for text in [
        "netem delay 1ms",
        "netem rate 1mbit",
        "tbf rate 1mbit burst 3000 limit 30kb",
    ] {
        let mut shaped = link("a", "b", end(0));
        shaped.reverse.qdisc = qdisc(text);
        assert_eq!(refusal(&greedy(vec![shaped])), None, "{text}");
    }
}

#[test]
fn a_change_that_takes_the_last_delay_away_is_seen() {
    let change = |at_ns, rate_bps, delay_ns| Change {
        at_ns,
        rate_bps,
        delay_ns,
        loss: None,
    };
    let mut changing = link("a", "b", end(1_000_000));
    changing.forward.changes = vec![
        change(100 * MS, None, Some(MS)),
        change(S / 2, Some(0), Some(0)),
    ];
    let (_, allowed) = refusal(&greedy(vec![changing.clone()])).unwrap();
    assert!(allowed.contains("from 500000000 ns on"), "{allowed}");
    // The other direction takes over in that very instant.
    changing.reverse.changes = vec![change(S / 2, None, Some(1))];
    assert_eq!(refusal(&greedy(vec![changing.clone()])), None);
    // After the end of the run nothing matters.
    changing.reverse.changes.clear();
    changing.forward.changes[1].at_ns = S;
    assert_eq!(refusal(&greedy(vec![changing])), None);
}

/// A source whose gaps are nearly always 0, though their mean is a second.
fn rarely_moving() -> Experiment {
    let gap = Law::Gamma {
        shape: 1e-7,
        scale: 1e7,
    };
    let flow = flow("f", "a", "b", source(gap, constant(100.0)));
    let mut experiment = experiment(vec![link("a", "b", end(0))], vec![flow], vec![]);
    experiment.duration_ns = S;
    experiment
}

#[test]
fn sources_are_foreseen_by_what_a_run_has_room_for() {
    let heavy_tail = Law::Pareto {
        shape: 0.1,
        scale: 5880.0,
    };
    let initial_window_pkts = 1000;
    let tcp = Tcp {
        initial_window_pkts,
        ..Tcp::linux("cubic")
    };
    let arrivals = Source::Arrivals(Arrivals {
        gap: exponential(0.027),
        size: heavy_tail,
        transfers: None,
    });
    let transfers = |rate_bps| {
        let mut slow_way = link("a", "b", end(rate_bps));
        slow_way.reverse.delay_ns = 6 * MS;
        let flow = tcp_flow("f", "a", "b", arrivals.clone(), tcp.clone());
        let mut transfers = experiment(vec![slow_way], vec![flow], vec![]);
        transfers.duration_ns = S / 2;
        transfers
    };

    let mut short_way = greedy(vec![link("a", "b", end(0))]);
    short_way.links[0].forward.delay_ns = 1000;
    short_way.duration_ns = 2 * MS;

    let cut = Source::Cbr(Cbr {
        gap: constant(1e-4),
        size: constant(5000.0),
        size_at: SizeAt::Payload,
    });
    let mut recorded = link("a", "b", end(1_000_000_000));
    recorded.forward.record_packets = true;
    let mut fragments = experiment(vec![recorded], vec![flow("f", "a", "b", cut)], vec![]);
    fragments.duration_ns = S;

    for (name, experiment, least) in [
        // Its number of packets is all but exponentially distributed, so it may well be small.
        ("gaps of 0", rarely_moving(), 0.001),
        ("transfers of any size", transfers(100_000_000_000), 0.1),
        // All segments of an instant are one event and have one acknowledgement.
        ("transfers of any size in an instant", transfers(0), 0.01),
        ("a round trip of a microsecond", short_way, 0.1),
        ("fragments", fragments, 0.2),
    ] {
        let experiment = checked(&experiment);
        let expected = Estimate::of(&experiment);
        let done = run(&experiment, 0, &Monitor::default()).unwrap();
        let ratio = done.events as f64 / expected.events as f64;
        assert!(
            (least..5.0).contains(&ratio),
            "{name}: {expected:?}, {}",
            done.events
        );
        let ratio = done.memory_bytes as f64 / expected.memory_bytes as f64;
        assert!(ratio < 5.0, "{name}: {expected:?}, {}", done.memory_bytes);
        assert_eq!(done.expected, expected);
    }
}

/// Many records in a short time.
fn with_records(duration_ns: u64) -> Experiment {
    let source = Source::Cbr(Cbr {
        gap: constant(1e-6),
        size: constant(100.0),
        size_at: SizeAt::Wire,
    });
    let mut recorded = link("a", "b", end(0));
    recorded.forward.record_packets = true;
    let mut experiment = experiment(vec![recorded], vec![flow("f", "a", "b", source)], vec![]);
    experiment.duration_ns = duration_ns;
    experiment
}

#[test]
fn memory_is_foreseen_and_counted_as_its_records_take_it() {
    let experiment = checked(&with_records(S / 10));
    let done = run(&experiment, 0, &Monitor::default()).unwrap();
    let rows = done.tables.column_i64("packets", "t_ns").len() as u64;
    assert_eq!(rows, 200_000);
    // 48 bytes while it runs, and 46 as columns.
    assert!(done.memory_bytes > 94 * rows);
    assert!(done.memory_bytes < 110 * rows);
    let expected = done.expected.memory_bytes as f64 / done.memory_bytes as f64;
    assert!((0.8..1.3).contains(&expected), "{expected}");
}

#[test]
fn a_run_within_its_budget_gives_the_same_as_without_one() {
    let experiment = checked(&with_records(S / 100));
    let free = run(&experiment, 0, &Monitor::default()).unwrap();
    let monitor = Monitor {
        memory: Account::of(Arc::new(Budget::new(free.memory_bytes, 1))),
        ..Monitor::default()
    };
    let within = run(&experiment, 0, &monitor).unwrap();
    assert_eq!((within.digest, within.events), (free.digest, free.events));
    // Afterwards it has its tables on the account.
    assert_eq!(monitor.memory.used_bytes(), free.tables.memory_bytes());
    let less = Monitor {
        memory: Account::of(Arc::new(Budget::new(free.memory_bytes - 100_000, 1))),
        ..Monitor::default()
    };
    let error = run(&experiment, 0, &less).unwrap_err();
    assert!(matches!(error, EngineError::OutOfMemory { .. }), "{error}");
}

/// How long a run goes on after it is asked to stop.
fn time_to_stop(
    experiment: Experiment,
    after: Duration,
) -> (Duration, Result<RunOutput, EngineError>) {
    let monitor = Arc::new(Monitor {
        cancel: AtomicBool::new(false),
        ..Monitor::default()
    });
    let watched = Arc::clone(&monitor);
    let worker = std::thread::spawn(move || run(&experiment, 0, &watched));
    std::thread::sleep(after);
    monitor.cancel.store(true, Ordering::Relaxed);
    let asked = Instant::now();
    let result = worker.join().unwrap();
    (asked.elapsed(), result)
}

#[test]
fn whenever_a_run_is_asked_to_stop_it_does() {
    // Until it has an end, most of such a run is events; then tables and a hash.
    for after_ms in [0, 50, 200, 400, 600, 800] {
        let (took, result) = time_to_stop(with_records(S), Duration::from_millis(after_ms));
        if let Err(error) = result {
            assert_eq!(error, EngineError::Cancelled);
        }
        assert!(took < Duration::from_secs(20), "{took:?}");
    }
    let rare = rarely_moving();
    let (took, result) = time_to_stop(rare, Duration::from_millis(100));
    assert!(result.is_ok() || result == Err(EngineError::Cancelled));
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn tables_and_their_hash_are_given_up() {
    use dumbbell_engine::sim::world::World;
    use dumbbell_engine::tables;
    let mut world = World::new(&checked(&with_records(S / 10)), 0);
    while world.step() {}
    world.finish();
    let stop = AtomicBool::new(true);
    let given_up = tables::until(&mut world, &stop);
    assert!(given_up.column_i64("packets", "t_ns").is_empty());
    let whole = tables::of(&mut world);
    assert_ne!(whole.digest_until(&stop), whole.digest());
    stop.store(false, Ordering::Relaxed);
    assert_eq!(whole.digest_until(&stop), whole.digest());
}

#[cfg(feature = "batch")]
#[test]
fn one_run_of_a_batch_that_needs_too_much_leaves_the_others_alone() {
    use dumbbell_engine::batch::Batch;
    let (small, large) = (with_records(S / 100), with_records(20 * S));
    let mut batch = Batch::new(2, 40_000_000).unwrap();
    for experiment in [&small, &large, &small, &small] {
        batch.submit(Arc::new(checked(experiment)), 0, None);
    }
    let mut ended = Vec::new();
    while batch.running() > 0 {
        ended.extend(batch.wait(Duration::from_secs(60)));
    }
    assert_eq!(ended.len(), 4);
    for done in ended {
        match done.result {
            Ok(_) => assert_ne!(done.index, 1),
            Err(error) => {
                assert_eq!(done.index, 1, "{error}");
                assert!(matches!(error, EngineError::OutOfMemory { .. }), "{error}");
            }
        }
    }
    assert_eq!(batch.memory().in_use_bytes(), 0);
}

/// A drawn size may be any number; a transfer is at most as large as the largest that a source of
/// one transfer may ask for.
#[test]
fn transfers_of_any_drawn_size_have_a_size() {
    let size = Law::Pareto {
        shape: 0.01,
        scale: 1000.0,
    };
    let arrivals = Source::Arrivals(Arrivals {
        gap: constant(0.01),
        size,
        transfers: None,
    });
    let flow = tcp_flow("f", "a", "b", arrivals, Tcp::linux("cubic"));
    let mut experiment = experiment(
        vec![bottleneck(1_000_000, 10 * MS, pfifo(10))],
        vec![flow],
        vec![],
    );
    experiment.duration_ns = S;
    let done = run(&checked(&experiment), 0, &Monitor::default()).unwrap();
    let bytes = done.tables.column_i64("transfers", "bytes");
    assert!(bytes.len() > 90);
    assert!(
        bytes
            .iter()
            .all(|bytes| (1..=1_000_000_000_000_000).contains(bytes))
    );
    assert!(bytes.contains(&1_000_000_000_000_000));
}

/// 100 days of a queue that nobody asks are no more work than a second.
#[test]
fn a_long_idle_time_costs_nothing() {
    let mut idle = link("a", "b", end(1_000_000));
    idle.forward.qdisc = qdisc("pie tupdate 1ms");
    let days = 100 * 86_400 * S;
    let packets = [(0, 1000), (days - S, 1000)];
    let mut experiment = experiment(vec![idle], vec![trace("f", "a", "b", &packets)], vec![]);
    experiment.duration_ns = days;
    let began = Instant::now();
    let done = run(&checked(&experiment), 0, &Monitor::default()).unwrap();
    assert_eq!(done.tables.column_i64("flows", "delivered_pkts"), [2]);
    assert!(began.elapsed() < Duration::from_secs(10));
}

/// 200 days of a queue that stands, 17 billion updates by its timer: those that cannot be done at once
/// are counted, in what is foreseen and by who watches.
#[test]
fn a_queue_that_stands_for_months_is_little_work() {
    let standing = |words: &str| {
        let mut slow = link("a", "b", end(1));
        slow.forward.qdisc = qdisc(words);
        let source = Source::Cbr(Cbr {
            gap: constant(1e-3),
            size: constant(1500.0),
            size_at: SizeAt::Wire,
        });
        let mut flow = flow("f", "a", "b", source);
        flow.stop_ns = 2 * S;
        let mut experiment = experiment(vec![slow], vec![flow], vec![]);
        experiment.duration_ns = 17_279_999 * S;
        checked(&experiment)
    };
    let foreseen = |words: &str| Estimate::of(&standing(words)).events;
    let plain = foreseen("pfifo limit 100000");
    for words in [
        "pie limit 100000 tupdate 1ms",
        "pie limit 100000 tupdate 1ms target 1us ecn bytemode",
        "pie limit 100000 tupdate 1ms dq_rate_estimator",
    ] {
        let experiment = standing(words);
        let done = run(&experiment, 0, &Monitor::default()).unwrap();
        assert!(
            done.tables.column_i64("flows", "delivered_pkts")[0] > 1000,
            "{words}"
        );
        let counted = foreseen(words) - plain;
        // At most 3000 for each of the 2000 that come and of those that leave, 64 of them an event.
        assert!((50_000..200_000).contains(&counted), "{words}: {counted}");
    }
}

/// Routes to every host from every other would take gigabytes.
#[test]
fn more_routes_than_there_is_room_for_are_refused() {
    let star = |hosts: usize| {
        let name = |number: usize| format!("h{number}");
        let links = (0..hosts).map(|number| link(&name(number), "centre", end(0)));
        let pairs = (0..hosts / 2).map(|pair| (name(2 * pair), name(2 * pair + 1)));
        let flows = pairs.map(|(from, to)| {
            let source = source(constant(1.0), constant(100.0));
            flow(&format!("f-{from}"), &from, &to, source)
        });
        experiment(links.collect(), flows.collect(), vec![])
    };
    let text = serde_json::to_string(&star(8300)).unwrap();
    let error = Experiment::from_json(&text).unwrap_err();
    assert_eq!(error.path, "hosts");
    checked(&star(100));
}
