//! Super-packets: what a device with TSO sends uncut, and what one with GRO has merged.

mod common;
mod conserving;
mod random_network;

use common::*;
use conserving::conserves;
use dumbbell_engine::run::{Monitor, RunOutput, run};
use dumbbell_engine::spec::source::{Greedy, Sized};
use dumbbell_engine::spec::{Experiment, Source, Tcp};
use dumbbell_engine::tables::Values;
use proptest::prelude::*;
use random_network::any_experiment;

const SEGMENT_BYTES: i64 = 1514;

/// A sender, a router with a queue at 10 Mbit/s, and a receiver.
fn behind_a_router(source: Source, tcp: Tcp, limit_packets: u32) -> Experiment {
    let mut narrow = bottleneck(10_000_000, 40 * MS, pfifo(limit_packets));
    (narrow.a, narrow.b) = ("b".into(), "c".into());
    let flow = tcp_flow("f", "a", "c", source, tcp);
    experiment(vec![link("a", "b", end(0)), narrow], vec![flow], vec![])
}

/// Every device sends super-packets as they are.
fn with_tso(mut spec: Experiment) -> Experiment {
    for link in &mut spec.links {
        (link.forward.tso, link.reverse.tso) = (true, true);
    }
    spec
}

fn simulate(spec: &Experiment) -> RunOutput {
    run(&checked(spec), 0, &Monitor::default()).unwrap()
}

fn ten_segments() -> Source {
    Source::Sized(Sized { bytes: 14_480 })
}

fn greedy() -> Source {
    Source::Greedy(Greedy::default())
}

/// Of an initial window of ten segments in bursts of two a device sends each in the time of two.
#[test]
fn a_super_packet_takes_the_time_of_its_bytes() {
    let tcp = Tcp {
        gso_max_segs: 2,
        ..Tcp::linux("cubic")
    };
    let times_ns = |spec: &Experiment| {
        let mut spec = spec.clone();
        spec.links[1].forward.record_packets = true;
        let output = simulate(&spec);
        let table = output.tables.0.iter().find(|table| table.name == "packets");
        let columns = &table.unwrap().columns;
        let column = |name| {
            &columns
                .iter()
                .find(|each| each.name == name)
                .unwrap()
                .values
        };
        let (Values::I64(times), Values::I8(events), Values::I32(bytes)) =
            (column("t_ns"), column("event"), column("bytes"))
        else {
            unreachable!("the columns of the table have these types");
        };
        let sent =
            (0..times.len()).filter(|&row| events[row] == 1 && bytes[row] == SEGMENT_BYTES as i32);
        let first = sent.clone().next().unwrap();
        sent.map(|row| (times[row] - times[first]) / 1000)
            .collect::<Vec<_>>()
    };
    let spec = behind_a_router(ten_segments(), tcp, 1000);
    let single_us: Vec<i64> = (0..10).map(|n| n * 12_112 / 10).collect();
    assert_eq!(times_ns(&spec), single_us);
    let whole_us: Vec<i64> = (0..10).map(|n| n / 2 * 24_224 / 10).collect();
    assert_eq!(times_ns(&with_tso(spec)), whole_us);
}

/// A queue of ten packets takes ten bursts of two.
#[test]
fn a_queue_counts_and_drops_super_packets() {
    let tcp = Tcp {
        gso_max_segs: 2,
        ..Tcp::linux("cubic")
    };
    let output = simulate(&with_tso(behind_a_router(greedy(), tcp.clone(), 10)));
    let queue = |column| output.tables.column_i64("queues", column)[2];
    let dropped = queue("dropped_overlimit_pkts");
    assert!(dropped > 20, "{dropped}");
    assert!(queue("backlog_max_pkts") > 15);
    assert_eq!(queue("backlog_max_bytes") % SEGMENT_BYTES, 0);
    let single = simulate(&behind_a_router(greedy(), tcp, 10));
    assert_eq!(
        single.tables.column_i64("queues", "backlog_max_pkts")[2],
        10
    );
    for output in [&output, &single] {
        let payload = output.tables.column_i64("flows", "received_payload_bytes")[0];
        assert!(payload * 8 > 75_000_000, "{payload}");
    }
}

/// What a receiver merges it acknowledges once; what comes one by one, every second.
#[test]
fn a_merged_packet_has_one_acknowledgement() {
    let tcp = Tcp::linux("cubic");
    let acknowledgements = |gro_ns: Option<u64>| {
        let mut spec = behind_a_router(greedy(), tcp.clone(), 100);
        spec.links[1].forward.gro_ns = gro_ns;
        let output = simulate(&spec);
        let packets = output.tables.column_i64("queues", "arrived_pkts");
        (packets[2], packets[3])
    };
    let (data, acks) = acknowledgements(None);
    let share = acks as f64 / data as f64;
    assert!((0.5..0.62).contains(&share), "{share}");
    // Frames come 1.2 ms apart: none in the same instant, and in ten milliseconds nine, whose timestamps
    // are not the same. A burst's last has PSH.
    assert_eq!(acknowledgements(Some(0)), (data, acks));
    let mut merged = behind_a_router(greedy(), tcp.clone(), 100);
    merged.links[1].forward.gro_ns = Some(10 * MS);
    if let Some(tcp) = &mut merged.flows[0].tcp {
        (tcp.timestamps, tcp.gso_max_segs) = (false, 1);
    }
    let packets = simulate(&merged);
    let packets = packets.tables.column_i64("queues", "arrived_pkts");
    let share = packets[3] as f64 / packets[2] as f64;
    assert!((0.1..0.14).contains(&share), "{share}");
}

/// A router that merges hands its queue super-packets, and has them cut behind it.
#[test]
fn a_router_that_merges_fills_its_queue_with_super_packets() {
    let longest = |gro_ns: Option<u64>| {
        let mut spec = behind_a_router(greedy(), Tcp::linux("cubic"), 10);
        spec.links[0].forward.gro_ns = gro_ns;
        let output = simulate(&spec);
        output.tables.column_i64("queues", "backlog_max_pkts")[2]
    };
    assert_eq!(longest(None), 10);
    assert!(longest(Some(0)) > 15);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_made_or_lost_by_mistake(
        spec in any_experiment(),
        offloads in prop::collection::vec(
            (any::<bool>(), prop::option::of(prop::sample::select(&[0, 50_000, 3 * MS][..]))),
            8,
        ),
    ) {
        let mut spec = spec;
        let ends = spec.links.iter_mut().flat_map(|link| [&mut link.forward, &mut link.reverse]);
        for (end, (tso, gro_ns)) in ends.zip(offloads) {
            (end.tso, end.gro_ns) = (tso, gro_ns);
        }
        conserves(&spec)?;
    }
}
