//! Windows and rates that a caller sets between monitor intervals, and what it is told of each.

mod common;

use common::*;
use dumbbell_engine::cca::external::NoModules;
use dumbbell_engine::run::{AgentRun, Control, Interval, Monitor, run};
use dumbbell_engine::spec::law::Law;
use dumbbell_engine::spec::source::{Arrivals, Greedy, Sized};
use dumbbell_engine::spec::tcp::{CwndChange, Tcp};
use dumbbell_engine::spec::{Experiment, Source};
use std::rc::Rc;

const RATE_BPS: u64 = 10_000_000;
/// A full packet on the wire, and what one more in the queue adds to the round trip.
const PACKET_NS: u64 = 1514 * 8 * S / RATE_BPS;

fn greedy() -> Source {
    Source::Greedy(Greedy::default())
}

/// 10 Mbit/s and 50 ms both ways, which hold 41 packets, with 40 more in the queue.
fn described(sources: Vec<Source>, tcp: &Tcp) -> Experiment {
    let flows = sources.into_iter().zip(["one", "other"]);
    let flows = flows.map(|(source, name)| tcp_flow(name, "a", "b", source, tcp.clone()));
    let links = vec![bottleneck(RATE_BPS, 50 * MS, pfifo(40))];
    let mut experiment = experiment(links, flows.collect(), vec![]);
    experiment.sample_interval_ns = 10 * MS;
    experiment.duration_ns = 5 * S;
    experiment
}

fn begun(experiment: &Experiment, flows: &[usize], control: Control) -> AgentRun<Rc<Monitor>> {
    let experiment = checked(experiment);
    AgentRun::new(&experiment, 0, Rc::default(), &NoModules, flows, control).unwrap()
}

/// A window that is held, and what each interval of 100 ms said.
fn held(cwnd_pkts: u32) -> (Vec<Interval>, AgentRun<Rc<Monitor>>) {
    let experiment = described(vec![greedy()], &without_small_queues("cubic"));
    let mut going = begun(&experiment, &[0], Control::Window);
    going.set_cwnd(0, cwnd_pkts);
    let ends = (1..=50).map(|number| number * 100 * MS);
    let seen = ends.map(|end_ns| {
        assert!(going.advance_through(end_ns, u64::MAX).unwrap());
        assert_eq!(going.is_at_end(), end_ns == 5 * S);
        going.interval(0)
    });
    (seen.collect(), going)
}

#[test]
fn a_window_that_is_held_is_that_of_a_description_with_it() {
    let changes = vec![CwndChange {
        at_ns: 0,
        cwnd_pkts: 60,
    }];
    let told = Tcp {
        cwnd_changes: changes,
        ..without_small_queues("manual")
    };
    let experiment = described(vec![greedy()], &told);
    let told = run(&checked(&experiment), 0, &Monitor::default()).unwrap();
    let (_, going) = held(60);
    let held = going.finish().unwrap();
    assert_eq!((held.digest, held.events), (told.digest, told.events));
}

#[test]
fn how_finely_it_is_advanced_changes_nothing() {
    let experiment = described(vec![greedy(), greedy()], &Tcp::linux("reno"));
    let digests = [1u64, 7, 100].map(|parts| {
        let mut going = begun(&experiment, &[1, 0], Control::Rate);
        for step in 1..=50u64 {
            let (from, until) = ((step - 1) * 100 * MS, step * 100 * MS);
            for part in 1..=parts {
                going
                    .advance_through(from + part * (until - from) / parts, u64::MAX)
                    .unwrap();
            }
            going.set_pacing_rate(0, 200_000 + 10_000 * step);
            going.set_pacing_rate(1, 900_000 - 10_000 * step);
        }
        while going.advance(u64::MAX).unwrap() {}
        going.finish().unwrap().digest
    });
    assert_eq!(digests[0], digests[1]);
    assert_eq!(digests[0], digests[2]);
}

#[test]
fn an_interval_says_what_a_steady_window_does() {
    let (seen, _) = held(60);
    for interval in &seen[10..] {
        assert_eq!(interval.duration_ns, 100 * MS);
        assert_eq!((interval.cwnd_pkts, interval.in_flight_pkts), (60, 60));
        assert_eq!((interval.lost_pkts, interval.mss_bytes), (0, 1448));
        // The link's rate, whole packets in 100 ms.
        let expected = 100.0 * MS as f64 / PACKET_NS as f64;
        assert!(
            (interval.delivered_pkts as f64 - expected).abs() <= 2.0,
            "{interval:?}"
        );
        assert!(
            (interval.sent_pkts as f64 - expected).abs() <= 2.0,
            "{interval:?}"
        );
        // 60 packets at that rate, Little's law: what each waits for is the 59 before it.
        let rtt_ns = interval.mean_rtt_ns.unwrap();
        assert!(
            (rtt_ns / (60.0 * PACKET_NS as f64) - 1.0).abs() < 0.02,
            "{interval:?}"
        );
        assert!(interval.rtt_gradient.unwrap().abs() < 5e-3, "{interval:?}");
    }
    let sent: u64 = seen.iter().map(|each| each.sent_pkts).sum();
    let delivered: u64 = seen.iter().map(|each| each.delivered_pkts).sum();
    assert_eq!(sent, delivered + 60);
}

#[test]
fn what_the_queue_refuses_is_counted_as_lost() {
    let (seen, going) = held(120);
    let lost: u64 = seen.iter().map(|each| each.lost_pkts).sum();
    let sent: u64 = seen.iter().map(|each| each.sent_pkts).sum();
    let delivered: u64 = seen.iter().map(|each| each.delivered_pkts).sum();
    assert!(lost > 30, "{lost}");
    let in_flight = u64::from(seen.last().unwrap().in_flight_pkts);
    // One taken for lost that was delivered after all counts in both.
    assert!(sent <= delivered + lost + in_flight);
    assert!(sent + 60 >= delivered + lost + in_flight);
    let tables = going.finish().unwrap().tables;
    assert!(tables.0.iter().any(|table| table.name == "transfers"));
}

#[test]
fn a_rate_is_kept_and_the_gradient_is_the_growth_of_the_queue() {
    // A queue that takes all of it: 12 Mbit/s into 10 makes a round trip longer by a sixth of the time.
    let mut experiment = described(vec![greedy()], &without_small_queues("cubic"));
    experiment.links = vec![bottleneck(RATE_BPS, 50 * MS, pfifo(10_000))];
    let mut going = begun(&experiment, &[0], Control::Rate);
    let wire = 1514.0 / 1448.0;
    going.set_pacing_rate(0, (12e6 / 8.0 / wire) as u64);
    going.advance_through(S, u64::MAX).unwrap();
    going.interval(0);
    going.advance_through(2 * S, u64::MAX).unwrap();
    let interval = going.interval(0);
    let sent_bps = interval.sent_pkts as f64 * 1514.0 * 8.0;
    assert!((sent_bps / 12e6 - 1.0).abs() < 0.01, "{sent_bps}");
    let gradient = interval.rtt_gradient.unwrap();
    assert!((gradient - 1.0 / 6.0).abs() < 1e-3, "{gradient}");
}

#[test]
fn a_flow_that_is_done_is_over() {
    let sized = Source::Sized(Sized { bytes: 300_000 });
    let experiment = described(vec![sized, greedy()], &Tcp::linux("cubic"));
    let mut going = begun(&experiment, &[0, 1], Control::Window);
    assert!(!going.has_begun(0) && !going.is_over(0));
    going.advance_through(200 * MS, u64::MAX).unwrap();
    assert!(going.has_begun(0) && !going.is_over(0));
    going.advance_through(4 * S, u64::MAX).unwrap();
    assert!(going.is_over(0));
    assert!(!going.is_over(1));
    // 300,000 bytes of 1448 and the FIN, none of the handshake.
    let interval = going.interval(0);
    assert_eq!((interval.sent_pkts, interval.delivered_pkts), (209, 209));
    going.advance_through(5 * S, u64::MAX).unwrap();
    assert!(!going.is_over(1) && going.is_at_end());
}

#[test]
fn what_no_agent_can_have_is_refused() {
    let arrivals = Source::Arrivals(Arrivals {
        gap: Law::Exponential { mean: 0.2 },
        size: Law::Constant { value: 30_000.0 },
        transfers: None,
    });
    let experiment = checked(&described(vec![greedy(), arrivals], &Tcp::linux("cubic")));
    for (flows, path) in [
        (&[0, 0][..], "flows[0]"),
        (&[1], "flows[1].source"),
        (&[2], "flows[2]"),
    ] {
        let found = AgentRun::new(
            &experiment,
            0,
            Rc::new(Monitor::default()),
            &NoModules,
            flows,
            Control::Window,
        );
        let text = found.unwrap_err().to_string();
        assert!(text.starts_with(path), "{text}");
    }
}
