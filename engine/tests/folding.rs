//! Folded departures change nothing but the number of events.

mod common;
mod random_network;

use common::*;
use dumbbell_engine::net::plan::FastPaths;
use dumbbell_engine::qdisc::Config;
use dumbbell_engine::run::check_simulator;
use dumbbell_engine::sim::world::World;
use dumbbell_engine::spec::source::{self, Greedy};
use dumbbell_engine::spec::{Experiment, Flow, Link, LinkEnd, Source, Tcp};
use dumbbell_engine::tables::{self, Tables};
use dumbbell_tc::parse_qdisc;
use dumbbell_tc::qdisc::Tbf;
use proptest::prelude::*;
use random_network::any_experiment;

fn finished(mut world: World) -> (Tables, u64) {
    while world.step() {}
    world.finish();
    (tables::of(&mut world), world.events)
}

/// Tables by both paths, and the events each took.
fn both(spec: &Experiment) -> ((Tables, u64), (Tables, u64)) {
    let spec = checked(spec);
    let folded = finished(World::new(&spec, 0));
    let plain = finished(World::planned(
        &spec,
        0,
        FastPaths::Off,
        &Default::default(),
    ));
    (folded, plain)
}

/// Packets of senders that TCP small queues may keep waiting.
fn from_small_queues(spec: &Experiment, tables: &Tables) -> u64 {
    let created = tables.column_i64("flows", "created_pkts");
    let is_kept = spec
        .flows
        .iter()
        .map(|flow| flow.tcp.as_ref().is_some_and(|tcp| tcp.small_queues));
    { created.iter().zip(is_kept) }
        .map(|(&pkts, is_kept)| if is_kept { pkts as u64 } else { 0 })
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
    #[test]
    fn both_paths_give_the_same_tables(spec in any_experiment()) {
        let ((folded, few), (plain, many)) = both(&spec);
        prop_assert_eq!(folded.digest(), plain.digest());
        // Folded links have no departure to wake a sender by that waits for its own queue: that
        // takes an event of its own, at most one a packet of such a sender.
        let most = many + from_small_queues(&spec, &folded);
        prop_assert!(few <= most, "{few} events, {many} without folding");
    }
}

/// Of a burst in transmission nothing lies in the queue any more, also not of its bytes.
#[test]
fn bursts_fill_short_queues_alike() {
    for (qdisc, small_queues) in [
        ("bfifo limit 5000", true),
        ("bfifo limit 8000", true),
        ("bfifo limit 12000", true),
        ("pfifo limit 1", false),
        ("pfifo limit 2", false),
        ("pfifo limit 9", false),
    ] {
        let mut own = link("a", "b", end(10_000_000));
        own.forward.qdisc = parse_qdisc(qdisc).unwrap();
        (own.forward.delay_ns, own.reverse.delay_ns) = (10 * MS, 10 * MS);
        let flows = ["f", "g", "h"].map(|name| {
            let tcp = Tcp {
                gso_max_segs: 65535,
                small_queues,
                ..Tcp::linux("cubic")
            };
            tcp_flow(name, "a", "b", Source::Greedy(Greedy::default()), tcp)
        });
        let ((folded, _), (plain, _)) = both(&experiment(vec![own], flows.to_vec(), vec![]));
        assert!(
            folded.column_i64("queues", "dropped_overlimit_pkts")[0] > 0,
            "{qdisc}"
        );
        assert_eq!(folded.digest(), plain.digest(), "{qdisc}");
    }
}

#[test]
fn a_queue_whose_packets_end_at_a_counting_host_needs_no_departures() {
    let source = source(exponential(5e-3), exponential(500.0));
    let mut spec = experiment(
        vec![link("a", "b", end(1_000_000))],
        vec![flow("f", "a", "b", source)],
        vec![],
    );
    spec.warm_up_ns = 3 * S;
    spec.sample_interval_ns = 7 * MS;
    let ((folded, few), (plain, many)) = both(&spec);
    assert_eq!(folded.digest(), plain.digest());
    let samples = 10 * S / (7 * MS);
    let sent = folded.column_i64("flows", "created_pkts")[0] as u64;
    assert_eq!(few, sent + samples + 1);
    assert!(many > few + sent - 20);
}

/// A flow begins behind a queue that another flow's packets come out of: in the event of their
/// departure its host hears of its own, too.
#[test]
fn a_host_hears_of_a_departure_in_the_event_of_it() {
    let slow = LinkEnd {
        overhead_bytes: 0,
        qdisc: pfifo(6),
        ..end(200_000)
    };
    let one = LinkEnd {
        qdisc: pfifo(1),
        ..slow.clone()
    };
    for (gso_max_segs, packet_memory_bytes) in [(1, 2304), (1, 4352), (65535, 2304), (65535, 4352)]
    {
        let spec = experiment(
            vec![
                link("h0", "h1", end(0)),
                link("h1", "h2", slow.clone()),
                link("h3", "h0", one.clone()),
            ],
            vec![
                flow(
                    "f0",
                    "h3",
                    "h2",
                    source(exponential(2.4e-3), constant(1500.0)),
                ),
                tcp_flow(
                    "f1",
                    "h1",
                    "h2",
                    Source::Sized(source::Sized { bytes: 157_021 }),
                    Tcp {
                        gso_max_segs,
                        packet_memory_bytes,
                        ..Tcp::linux("reno")
                    },
                ),
            ],
            vec![ping("p0", "h1", "h0", 7 * MS, 0)],
        );
        let ((folded, _), (plain, _)) = both(&spec);
        assert_eq!(
            folded.digest(),
            plain.digest(),
            "{gso_max_segs} segments, {packet_memory_bytes} bytes"
        );
    }
}

/// Acknowledgements arrive in the instants in which the sender's own queue lets a packet go, and
/// before it: their link stands earlier. There is room for what the sender sends after it only.
#[test]
fn a_host_does_not_hear_of_a_departure_before_the_event_of_it() {
    let answers = LinkEnd {
        overhead_bytes: 0,
        mtu_bytes: 400,
        ..end(40_000) // 8 ms for an acknowledgement of 40 bytes
    };
    let data = LinkEnd {
        rate_bps: 400_000, // and for a packet of 400
        delay_ns: 8 * MS,
        qdisc: pfifo(2),
        ..answers.clone()
    };
    let tcp = Tcp {
        timestamps: false,
        sack: false,
        delayed_ack: false,
        ..Tcp::linux("reno")
    };
    let spec = experiment(
        vec![Link {
            reverse: data,
            ..link("receiver", "sender", answers)
        }],
        vec![tcp_flow(
            "f",
            "sender",
            "receiver",
            Source::Greedy(Greedy::default()),
            tcp,
        )],
        vec![],
    );
    let ((folded, few), (plain, many)) = both(&spec);
    assert_eq!(folded.digest(), plain.digest());
    assert!(few < many, "{few} of {many}");
}

/// Constant sizes and gaps make departures and arrivals fall on the same instants, on links
/// that stand before and after one another in the description.
#[test]
fn ties_are_broken_alike() {
    let mut chain = vec![
        link("b", "c", end(1_000_000)),
        link("a", "b", end(1_000_000)),
        link("c", "d", end(1_000_000)),
    ];
    for link in &mut chain {
        link.forward.qdisc = pfifo(2);
    }
    let burst: Vec<(u64, u32)> = (0..40).map(|n| (n / 4 * MS, 125)).collect();
    let flows = vec![
        trace("far", "a", "d", &burst),
        trace("near", "b", "c", &burst),
        trace("last", "c", "d", &burst),
    ];
    let mut spec = experiment(chain, flows, vec![ping("p", "a", "d", MS, 20)]);
    spec.sample_interval_ns = MS;
    spec.warm_up_ns = 4 * MS;
    let ((folded, _), (plain, _)) = both(&spec);
    assert_eq!(folded.digest(), plain.digest());
    assert!(folded.column_i64("flows", "dropped_pkts")[0] > 0);
}

/// Three links with rates, in this order of the description, whose queues hold few packets.
fn chain_of(rates_bps: [u64; 3], is_reversed: bool) -> Vec<Link> {
    let hosts = [("a", "b"), ("b", "c"), ("c", "d")];
    let ends = hosts.into_iter().zip(rates_bps);
    let mut chain: Vec<_> = ends
        .map(|((from, to), rate_bps)| link(from, to, end(rate_bps)))
        .collect();
    for link in &mut chain {
        link.reverse = end(8_000_000);
        link.forward.qdisc = pfifo(3);
    }
    if is_reversed {
        chain.reverse();
    }
    chain
}

/// Equal rates and constant sizes: what arrives and what leaves do so in the same instants.
#[test]
fn ties_in_a_chain_are_broken_alike() {
    let burst: Vec<(u64, u32)> = (0..60).map(|n| (n / 6 * 3 * MS, 125)).collect();
    let mut dropped = 0;
    for rates_bps in [
        [1_000_000; 3],
        [2_000_000, 1_000_000, 1_000_000],
        [4_000_000, 2_000_000, 1_000_000],
    ] {
        for is_reversed in [false, true] {
            let flows = vec![trace("f", "a", "d", &burst), trace("g", "a", "d", &burst)];
            let pings = vec![ping("p", "a", "d", MS, 20)];
            let mut spec = experiment(chain_of(rates_bps, is_reversed), flows, pings);
            spec.sample_interval_ns = MS;
            spec.warm_up_ns = 4 * MS;
            let ((folded, few), (plain, many)) = both(&spec);
            assert_eq!(
                folded.digest(),
                plain.digest(),
                "{rates_bps:?} {is_reversed}"
            );
            assert!(few < many);
            dropped += folded.column_i64("flows", "dropped_pkts")[0];
        }
    }
    assert!(dropped > 0);
}

#[test]
fn a_flow_over_a_chain_has_an_event_for_each_packet_that_comes_out_of_it() {
    let mut chain = chain_of([8_000_000, 1_000_000, 8_000_000], false);
    chain[1].forward.delay_ns = 5 * MS;
    chain[1].reverse.delay_ns = 5 * MS;
    let flow = tcp_flow(
        "f",
        "a",
        "d",
        Source::Greedy(Greedy::default()),
        Tcp::rfc("reno"),
    );
    let mut spec = experiment(chain, vec![flow], vec![]);
    spec.warm_up_ns = 2 * S;
    spec.sample_interval_ns = 70 * MS;
    let ((folded, few), (plain, many)) = both(&spec);
    assert_eq!(folded.digest(), plain.digest());
    assert!(folded.column_i64("queues", "dropped_overlimit_pkts")[2] > 0);
    // Four of each packet otherwise: three departures and an arrival after the delay.
    assert!(3 * few < many, "{few} of {many}");
}

/// A token bucket between two links with rates: an event where a packet comes out of all three, and one
/// for its acknowledgement.
#[test]
fn a_token_bucket_in_a_chain_has_no_events() {
    let mut chain = chain_of([80_000_000, 0, 80_000_000], false);
    let tbf = "tbf rate 4mbit burst 20000b peakrate 40mbit mtu 1514 limit 30000b";
    chain[0].forward.qdisc = pfifo(1000);
    chain[1].forward.qdisc = parse_qdisc(tbf).unwrap();
    chain[1].forward.delay_ns = 7 * MS;
    chain[1].reverse.delay_ns = 7 * MS;
    let greedy = Source::Greedy(Greedy::default());
    let flow = tcp_flow("f", "a", "d", greedy, Tcp::rfc("reno"));
    let mut spec = experiment(chain, vec![flow], vec![]);
    spec.warm_up_ns = 2 * S;
    spec.sample_interval_ns = 70 * MS;
    let ((folded, few), (plain, many)) = both(&spec);
    assert_eq!(folded.digest(), plain.digest());
    assert!(folded.column_i64("queues", "dropped_overlimit_pkts")[2] > 0);
    let packets = folded.column_i64("queues", "departed_pkts")[2] as u64;
    assert!(2 * few < 5 * packets, "{few} events of {packets} packets");
    assert!(2 * few < many, "{few} of {many}");
}

/// One direction without loss: rates, delays and limits are of few values, so that packets of
/// several links come to one in the same instants and find it full.
fn any_calm_end() -> impl Strategy<Value = LinkEnd> {
    prop_oneof![3 => any_end_with_a_rate(), 1 => any_shaped_end()]
}

/// Packets of 125 bytes take whole milliseconds of tokens.
fn any_shaped_end() -> impl Strategy<Value = LinkEnd> {
    let burst_bytes = prop::sample::select(vec![250, 1500, 3000]);
    let peakrate_bps = prop::sample::select(vec![0, 4_000_000]);
    let limit_bytes = prop::sample::select(vec![500, 3000, 9000]);
    (1u64..3, burst_bytes, peakrate_bps, limit_bytes, 1u64..4).prop_map(
        |(rate_mbps, burst_bytes, peakrate_bps, limit_bytes, delay_ms)| LinkEnd {
            overhead_bytes: 0,
            delay_ns: delay_ms * MS,
            qdisc: Config::Tbf(Tbf {
                rate_bps: rate_mbps * 1_000_000,
                burst_bytes,
                limit_bytes,
                peakrate_bps,
                mtu_bytes: 1500,
                child: None,
            }),
            ..end(0)
        },
    )
}

fn any_end_with_a_rate() -> impl Strategy<Value = LinkEnd> {
    let rate_bps = prop::sample::select(vec![0, 1_000_000, 2_000_000, 4_000_000]);
    let delay_ms = prop::sample::select(vec![0, 1, 2, 4]);
    (rate_bps, delay_ms, 1u32..8).prop_map(|(rate_bps, delay_ms, limit)| LinkEnd {
        overhead_bytes: 0,
        delay_ns: delay_ms * MS,
        qdisc: pfifo(limit),
        ..end(rate_bps)
    })
}

/// A host of the tree sends to its root, or a little to its parent.
fn any_climbing_flow(name: String, from: String, parent: String) -> impl Strategy<Value = Flow> {
    let burst = prop::collection::vec((0u64..40, prop::sample::select(vec![125u32, 250])), 1..60);
    (0..5, burst).prop_map(move |(kind, mut burst)| {
        burst.sort_unstable();
        let to_root = |source: Source| tcp_flow(&name, &from, "h0", source, Tcp::linux("cubic"));
        match kind {
            0 => to_root(Source::Greedy(Greedy::default())),
            1 => to_root(Source::Sized(source::Sized { bytes: 90_000 })),
            2 => tcp_flow(
                &name,
                &from,
                "h0",
                Source::Greedy(Greedy::default()),
                Tcp::rfc("reno"),
            ),
            _ => {
                let packets: Vec<_> = burst.iter().map(|&(at, bytes)| (at * MS, bytes)).collect();
                let to = if kind == 3 { "h0" } else { &parent };
                trace(&name, &from, to, &packets)
            }
        }
    })
}

/// A tree whose hosts all send towards its root, links in any order.
fn any_tree() -> impl Strategy<Value = Experiment> {
    (3usize..9)
        .prop_flat_map(|hosts| {
            let parents: Vec<_> = (1..hosts).map(|host| 0..host).collect();
            let ends = prop::collection::vec((any_calm_end(), any_calm_end()), hosts - 1);
            (parents, ends)
        })
        .prop_flat_map(|(parents, ends)| {
            let flows: Vec<_> = { parents.iter().enumerate() }
                .map(|(n, parent)| {
                    let name = |host: usize| format!("h{host}");
                    any_climbing_flow(format!("f{n}"), name(n + 1), name(*parent))
                })
                .collect();
            let links: Vec<_> = { parents.iter().zip(ends).enumerate() }
                .map(|(n, (parent, (up, down)))| Link {
                    reverse: down,
                    ..link(&format!("h{}", n + 1), &format!("h{parent}"), up)
                })
                .collect();
            let leaf = format!("h{}", parents.len());
            (Just(links).prop_shuffle(), flows, Just(leaf), any::<bool>())
        })
        .prop_map(|(links, flows, leaf, is_sampled)| {
            let pings = vec![ping("p", &leaf, "h0", 3 * MS, 30)];
            let mut spec = experiment(links, flows, pings);
            spec.duration_ns = S;
            spec.warm_up_ns = 40 * MS;
            spec.sample_interval_ns = if is_sampled { 11 * MS } else { 0 };
            spec
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn both_paths_give_the_same_tables_of_trees(spec in any_tree()) {
        prop_assume!(check_simulator(&checked(&spec)).is_ok());
        let ((folded, few), (plain, many)) = both(&spec);
        prop_assert_eq!(folded.digest(), plain.digest());
        let most = many + from_small_queues(&spec, &folded);
        prop_assert!(few <= most, "{few} events, {many} without folding");
    }
}

/// A tree of three tiers: what comes out at its root is nearly all that has events.
#[test]
fn packets_of_a_tree_are_events_where_they_come_out_of_it() {
    let up = |from: &str, to: &str, rate_bps, delay_ms| {
        let delayed = |rate_bps| LinkEnd {
            delay_ns: delay_ms * MS,
            ..end(rate_bps)
        };
        Link {
            reverse: delayed(100_000_000),
            ..link(from, to, delayed(rate_bps))
        }
    };
    let mut links = vec![up("root", "sink", 10_000_000, 5)];
    links[0].forward.qdisc = pfifo(40);
    for branch in ["1", "2"] {
        links.push(up(branch, "root", 100_000_000, 10));
        for leaf in ["1", "2", "3"] {
            links.push(up(&format!("{branch}-{leaf}"), branch, 100_000_000, 20));
        }
    }
    let hosts = ["1", "1-1", "1-2", "1-3", "2", "2-1", "2-2", "2-3"];
    let flows = hosts.map(|host| {
        let greedy = Source::Greedy(Greedy::default());
        tcp_flow(host, host, "sink", greedy, Tcp::linux("cubic"))
    });
    let mut spec = experiment(links, flows.to_vec(), vec![]);
    spec.sample_interval_ns = 90 * MS;
    let ((folded, few), (plain, many)) = both(&spec);
    assert_eq!(folded.digest(), plain.digest());
    assert!(folded.column_i64("queues", "dropped_overlimit_pkts")[0] > 0);
    let packets = folded.column_i64("queues", "departed_pkts")[0] as u64;
    // A receiver that may have to say what its application reads wakes for it.
    assert!(10 * few < 23 * packets, "{few} events of {packets} packets");
    assert!(4 * few < many, "{few} of {many}");
}

/// A link is fed by one that is joined to it and by one whose packets go elsewhere too, which stands
/// earlier. Both bring a packet in the instant in which the first may come out at the earliest.
#[test]
fn what_joins_waits_for_arrivals_of_the_instant_in_which_packets_are_taken_on() {
    let feeder = LinkEnd {
        delay_ns: MS,
        overhead_bytes: 0,
        ..end(1_000_000)
    };
    // The least time that a packet takes: a millisecond for its overhead, and one of delay.
    let fed = LinkEnd {
        overhead_bytes: 125,
        ..feeder.clone()
    };
    let links = vec![
        link("a", "router", feeder.clone()),
        link("b", "router", feeder),
        link("router", "sink", fed),
        link("router", "aside", end(1_000_000)),
    ];
    let flows = vec![
        trace("event", "a", "sink", &[(2 * MS, 125)]),
        trace("aside", "a", "aside", &[(40 * MS, 125)]),
        trace("joins", "b", "sink", &[(0, 125), (2 * MS, 125)]),
    ];
    let mut spec = experiment(links, flows, vec![]);
    spec.sample_interval_ns = 0;
    let ((folded, few), (plain, many)) = both(&spec);
    assert_eq!(folded.digest(), plain.digest());
    assert!(few < many, "nothing is joined: {few} of {many}");
}
