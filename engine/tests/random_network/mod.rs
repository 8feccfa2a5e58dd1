//! Random networks: a tree of hosts with flows and pings between any two.

use crate::common::*;
use dumbbell_engine::qdisc::Config;
use dumbbell_engine::run::check_simulator;
use dumbbell_engine::spec::source::{
    self, Arrivals, Cbr, ClosedLoop, Ditg, Greedy, Poisson, Renewal,
};
use dumbbell_engine::spec::tcp::{Ecn, Pacing, Tcp};
use dumbbell_engine::spec::trace::{State, Trace};
use dumbbell_engine::spec::{Change, Experiment, Flow, LinkEnd, SizeAt, Source};
use dumbbell_tc::parse_qdisc;
use dumbbell_tc::qdisc::{Bfifo, Loss, Netem, Pfifo, Tbf};
use dumbbell_tc::units::in_tc::in_ticks_ns;
use proptest::prelude::*;

const HOSTS: usize = 5;

/// Disciplines as typed to tc, with limits and rates that such traffic reaches. One that is in none of them is
/// drawn as its table's short example.
const LINES: &[&str] = &[
    "pfifo limit 3",
    "bfifo limit 4kb",
    "pfifo_fast",
    "netem limit 7 delay 2ms rate 1mbit",
    "netem limit 12 delay 1ms corrupt 10% slot 2ms 4ms packets 3 bytes 3000",
    "netem limit 20 slot distribution normal 2ms 500us",
    "codel limit 9 target 1ms interval 5ms",
    "codel limit 40 target 500us interval 2ms ecn ce_threshold 3ms",
    "fq limit 20 flow_limit 9 quantum 300 initial_quantum 700",
    "fq limit 20 maxrate 900kbit",
    "fq_codel limit 12 flows 4 quantum 300 target 1ms interval 5ms",
    "fq_codel limit 30 memory_limit 9kb noecn drop_batch 2",
    "cake bandwidth 1mbit rtt 10ms memlimit 20kb",
    "cake unlimited diffserv4 dual-srchost rtt 5ms memlimit 9kb wash",
    "cake bandwidth 2mbit ingress atm overhead 32 flows ack-filter",
    "pie limit 12 target 1ms tupdate 2ms",
    "pie limit 40 target 1ms tupdate 1ms bytemode dq_rate_estimator ecn",
    "pie limit 40 linux_3_14",
    "dualpi2 limit 12 target 1ms tupdate 2ms alpha 9 beta 60 step_thresh 500us",
    "dualpi2 limit 40 target 2ms tupdate 1ms alpha 9 beta 60 step_thresh 2p any_ect drop_enqueue overflow",
    "red limit 20kb min 1kb max 4kb avpkt 500 burst 3 probability 0.5 adaptive ecn nodrop",
    "red limit 9kb min 2kb max 6kb avpkt 500 burst 6",
    "fq_pie limit 12 flows 4 quantum 300 target 1ms tupdate 2ms",
    "fq_pie limit 30 target 1us tupdate 1ms ecn bytemode dq_rate_estimator",
    "choke limit 20 bandwidth 1mbit min 2 max 9 burst 4 probability 0.3",
    "choke limit 30 bandwidth 1mbit min 3 max 12 burst 6 ecn",
    "sfb limit 30 max 6 target 2 increment 0.1 decrement 0.02 penalty_rate 40 penalty_burst 3 rehash 50 db 20",
    "sfb limit 9 target 4 increment 1 decrement 0.3 rehash 3 db 9",
    "sfq limit 9 flows 4 divisor 4 depth 4 quantum 300 perturb 1",
    "sfq limit 12 depth 5 headdrop",
    "sfq redflowlimit 9000 min 1500 max 6000 burst 3 probability 0.3 ecn headdrop",
    "root handle 1: prio; parent 1:1 pfifo limit 2; parent 1:2 bfifo limit 3kb",
    "root handle 1: ets strict 1 quanta 300 1514 priomap 1 1 2 1 1 1 0; parent 1:2 pfifo limit 4",
    "root handle 1: hfsc default 2; class add parent 1: classid 1:1 hfsc sc umax 1500 dmax 5ms rate 400kbit; \
     class add parent 1: classid 1:2 hfsc ls m2 600kbit ul m2 900kbit; parent 1:2 pfifo limit 4; \
     filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0x10 0xfc flowid 1:1",
    "root handle 1: netem delay 2ms 1ms limit 20; parent 1:1 handle 2: htb default 1; \
     class add parent 2: classid 2:1 htb rate 900kbit; parent 2:1 pfifo limit 4",
    "root handle 1: netem delay 1ms reorder 20% loss 1%; parent 1:1 codel limit 6 target 1ms",
    "root handle 1: drr; class add parent 1: classid 1:1 drr quantum 300; class add parent 1: classid 1:2 drr; \
     parent 1:1 pfifo limit 2; parent 1:2 codel limit 4; \
     filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0x10 0xfc flowid 1:1; \
     filter add parent 1: prio 2 matchall flowid 1:2",
    "root handle 1: prio; parent 1:1 codel limit 4; parent 1:2 pie limit 9 target 1ms tupdate 2ms",
    "tbf rate 1mbit burst 2kb limit 6kb",
    "root handle 1: tbf rate 1mbit burst 2kb limit 9kb; parent 1:1 fq_codel limit 12 target 1ms",
    "root handle 1: tbf rate 1mbit burst 2kb limit 9kb; parent 1:1 pie limit 9 target 1ms tupdate 2ms",
    "root handle 1: tbf rate 1mbit burst 2kb limit 9kb; parent 1:1 netem limit 9 delay 1ms 1ms",
    "root handle 1: tbf rate 1mbit burst 2kb limit 9kb; parent 1:1 fq limit 12",
    "root handle 1: htb default 20 direct_qlen 2
     class add parent 1: classid 1:1 htb rate 1mbit
     class add parent 1:1 classid 1:10 htb rate 300kbit ceil 1mbit prio 1
     class add parent 1:1 classid 1:20 htb rate 100kbit ceil 700kbit quantum 1514
     filter add parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:10
     parent 1:10 pfifo limit 3
     parent 1:20 fq_codel limit 9",
];
/// Best effort; a code point of `pfifo_fast`'s and prio's other bands; expedited forwarding, which the
/// filter above looks for.
const DSCPS: [u8; 4] = [0, 2, 4, 46];

/// A configuration of every discipline of the table.
fn every_discipline() -> Vec<Config> {
    let mut all: Vec<Config> = { LINES.iter() }
        .map(|text| parse_qdisc(text).unwrap())
        .collect();
    for discipline in dumbbell_tc::disciplines() {
        if !all
            .iter()
            .any(|each| each.discipline().name == discipline.name)
        {
            all.push(parse_qdisc(&discipline.short_example()).unwrap());
        }
    }
    all
}

fn any_qdisc() -> impl Strategy<Value = Config> {
    prop_oneof![
        4 => any_varied_qdisc(),
        3 => prop::sample::select(every_discipline()),
    ]
}

/// Those that the fast paths know best, with every parameter drawn.
fn any_varied_qdisc() -> impl Strategy<Value = Config> {
    prop_oneof![
        (1u32..20).prop_map(|limit_packets| Config::Pfifo(Pfifo { limit_packets })),
        (1u32..20_000).prop_map(|limit_bytes| Config::Bfifo(Bfifo { limit_bytes })),
        any_netem().prop_map(Config::Netem),
        any_tbf().prop_map(Config::Tbf),
    ]
}

/// One bucket or two; some are too small for full packets.
pub fn any_tbf() -> impl Strategy<Value = Tbf> {
    let peak = prop_oneof![Just((0, 0)), (1u64..2_000_000, 1000u32..3000)];
    let limit = prop_oneof![1_000u32..6_000, 1_000u32..30_000];
    (12_500u64..1_250_000, 1000u32..8000, limit, peak).prop_map(
        |(bytes_per_s, burst_bytes, limit_bytes, (more_bytes_per_s, mtu_bytes))| Tbf {
            rate_bps: 8 * bytes_per_s,
            burst_bytes,
            limit_bytes,
            peakrate_bps: match more_bytes_per_s {
                0 => 0,
                more => 8 * (bytes_per_s + more),
            },
            mtu_bytes,
            child: None,
        },
    )
}

/// What tc makes of whole microseconds below `us`.
fn ticks_ns(us: u32) -> impl Strategy<Value = u64> {
    (0..us).prop_map(|us| in_ticks_ns(us).unwrap())
}

fn any_netem() -> impl Strategy<Value = Netem> {
    let rate = prop_oneof![Just(0), (12_500u64..1_250_000).prop_map(|rate| 8 * rate)];
    let shares = prop::array::uniform5(prop_oneof![Just(0), 0..300_000_000u32]);
    (
        1u32..50,
        ticks_ns(5_000),
        rate,
        ticks_ns(2_000),
        shares,
        1..5u32,
    )
        .prop_map(
            |(limit_packets, delay_ns, rate_bps, jitter_ns, shares, gap_packets)| {
                let reorder_ppb = if delay_ns > 0 { shares[1] } else { 0 };
                Netem {
                    limit_packets,
                    delay_ns,
                    rate_bps,
                    jitter_ns,
                    duplicate_ppb: shares[0],
                    reorder_ppb,
                    gap_packets: if reorder_ppb > 0 { gap_packets } else { 0 },
                    loss: (shares[2] > 0).then_some(Loss::Random {
                        probability_ppb: shares[2],
                        correlation_ppb: shares[3],
                    }),
                    ecn: shares[2] > 0 && shares[4] > 0,
                    ..Netem::default()
                }
            },
        )
}

fn any_changes() -> impl Strategy<Value = Vec<Change>> {
    let change = (
        0u64..500 * MS,
        prop::option::of(100_000u64..20_000_000),
        prop::option::of(0u64..20 * MS),
    );
    prop::collection::vec(change, 0..4).prop_map(|mut changes| {
        changes.sort();
        let change = |(at_ns, rate_bps, delay_ns)| Change {
            at_ns,
            rate_bps,
            delay_ns,
            loss: None,
        };
        changes.into_iter().map(change).collect()
    })
}

/// One of every kind; most links have none. TCP needs a rate or a delay from the start.
fn any_trace() -> impl Strategy<Value = Option<Trace>> {
    let gaps_ms = prop::collection::vec(0u64..20, 1..20).prop_map(|gaps_ms| {
        let gaps_ms: Vec<_> = gaps_ms.iter().map(u64::to_string).collect();
        format!("1 {}", gaps_ms.join(" ")).into()
    });
    let opportunities =
        (gaps_ms, 100u32..4000).prop_map(|(gaps_ms, size_bytes)| Trace::Opportunities {
            gaps_ms,
            size_bytes,
        });
    let step = (1u64..50, 0u64..20, 0u64..20, 0u64..200);
    let steps = prop::collection::vec(step, 0..10).prop_map(|steps| {
        let step = |(gap, rate, delay, loss)| format!(" {gap}mr{rate}md{delay}ml{loss}m");
        let later: Vec<String> = steps.into_iter().map(step).collect();
        Trace::Steps {
            steps: format!("0r1m{}", later.concat()).into(),
            repeat_ns: Some(600 * MS),
        }
    });
    let on_off = (1e-3f64..0.1, 1e-3f64..0.1).prop_map(|(on, off)| Trace::OnOff {
        rate_bps: 5_000_000,
        on: exponential(on),
        off: exponential(off),
    });
    let state = |rate_bps, delay_ns| State {
        hold: exponential(0.02),
        rate_bps: Some(rate_bps),
        delay_ns: Some(delay_ns),
        loss: Some(0.01),
        next: vec![],
    };
    let markov = (100_000u64..20_000_000, 0u64..20 * MS).prop_map(move |(rate_bps, delay_ns)| {
        Trace::Markov {
            states: vec![state(rate_bps, delay_ns), state(0, 0), state(1_000_000, 0)],
        }
    });
    let handover = (5u64..100).prop_map(|every_ms| Trace::Handover {
        every_ns: every_ms * MS,
        outage: exponential(0.002),
        least_rate_bps: 1_000_000,
        most_rate_bps: 10_000_000,
        least_delay_ns: MS,
        most_delay_ns: 5 * MS,
    });
    let aggregation = (1e-3f64..1e-2).prop_map(|mean_s| Trace::Aggregation {
        gap: exponential(mean_s),
        size_bytes: 6000,
    });
    let any = prop_oneof![opportunities, steps, on_off, markov, handover, aggregation];
    prop_oneof![4 => Just(None), 1 => any.prop_map(Some)]
}

/// Half of them plain, as most links of real descriptions are.
fn any_end() -> impl Strategy<Value = LinkEnd> {
    prop_oneof![
        any_eventful_end(),
        any_eventful_end().prop_map(|end| LinkEnd {
            delay_ns: 0,
            loss: 0.0,
            loss_every_pkts: 0,
            changes: vec![],
            trace: None,
            record_packets: false,
            ..end
        }),
    ]
}

fn any_eventful_end() -> impl Strategy<Value = LinkEnd> {
    (
        prop_oneof![Just(0), 200_000u64..20_000_000],
        prop_oneof![Just(0), 0u64..10 * MS],
        prop_oneof![Just(1500u32), 300u32..1500],
        0u32..40,
        prop_oneof![Just(0.0), 0.0f64..0.3],
        any_qdisc(),
        any_changes(),
        any::<bool>(),
        any_trace(),
    )
        .prop_map(
            |(
                rate_bps,
                delay_ns,
                mtu_bytes,
                overhead_bytes,
                loss,
                qdisc,
                changes,
                record_packets,
                trace,
            )| {
                let (rate_bps, changes) = match &trace {
                    Some(_) => (0, vec![]),
                    None => (rate_bps, changes),
                };
                LinkEnd {
                    rate_bps,
                    delay_ns,
                    mtu_bytes,
                    overhead_bytes,
                    loss,
                    loss_every_pkts: 0,
                    qdisc,
                    changes,
                    trace,
                    record_packets,
                    capture: false,
                    capture_flows: false,
                    tso: false,
                    gro_ns: None,
                    random_marks: false,
                    police: None,
                }
            },
        )
}

fn any_source() -> impl Strategy<Value = Source> {
    let gap = (1e-4f64..5e-3).prop_map(exponential);
    let size = prop_oneof![
        (20.0f64..3000.0).prop_map(exponential),
        (0.0f64..4000.0).prop_map(constant)
    ];
    (gap, size, 0..4).prop_map(|(gap, size, kind)| match kind {
        0 => Source::Poisson(Poisson {
            gap,
            size,
            size_at: SizeAt::Wire,
        }),
        1 => Source::Renewal(Renewal {
            gap,
            size,
            size_at: SizeAt::Payload,
        }),
        2 => Source::Cbr(Cbr {
            gap: constant(1e-3),
            size,
            size_at: SizeAt::Payload,
        }),
        _ => Source::Ditg(Ditg {
            gap,
            size,
            oversleep: Some(constant(1e-4)),
        }),
    })
}

fn any_tcp_source() -> impl Strategy<Value = Source> {
    prop_oneof![
        Just(Source::Greedy(Greedy::default())),
        (1u64..200_000).prop_map(|bytes| Source::Sized(source::Sized { bytes })),
        (1.0f64..50_000.0).prop_map(|mean| Source::ClosedLoop(ClosedLoop {
            size: exponential(mean),
            think: exponential(0.02),
            transfers: (mean > 25_000.0).then_some(3),
        })),
        (1.0f64..50_000.0).prop_map(|mean| Source::Arrivals(Arrivals {
            gap: exponential(0.05),
            size: exponential(mean),
            transfers: (mean > 25_000.0).then_some(3),
        })),
        (1.0f64..4000.0).prop_map(|mean| Source::Poisson(Poisson {
            gap: exponential(5e-3),
            size: exponential(mean),
            size_at: SizeAt::Payload,
        })),
    ]
}

fn any_tcp() -> impl Strategy<Value = Tcp> {
    let controller = prop::sample::select(dumbbell_engine::cca::NAMES);
    let switches = prop::array::uniform8(any::<bool>());
    let gso_max_segs = prop::sample::select(&[1, 2, 44, 65535][..]);
    (controller, switches, any::<bool>(), 1u32..4, gso_max_segs).prop_map(
        |(controller, switches, is_rfc, ack_every, gso_max_segs)| {
            let [
                sack,
                rack,
                timestamps,
                delayed_ack,
                ecn,
                paced,
                small_queues,
                handshake,
            ] = switches;
            let profile = if is_rfc { Tcp::rfc } else { Tcp::linux };
            let mut tcp = Tcp {
                sack,
                rack,
                timestamps,
                delayed_ack,
                ecn: match (ecn, rack) {
                    (true, true) => Ecn::ACCURATE,
                    (on, _) => Ecn::Switch(on),
                },
                ack_every,
                small_queues,
                handshake,
                gso_max_segs: if is_rfc { 1 } else { gso_max_segs },
                ..profile(controller)
            };
            if paced {
                tcp.pacing = Pacing::Switch(true);
            }
            tcp
        },
    )
}

/// UDP or TCP.
fn any_flow() -> impl Strategy<Value = (Source, Option<Tcp>)> {
    prop_oneof![
        any_source().prop_map(|source| (source, None)),
        (any_tcp_source(), any_tcp()).prop_map(|(source, tcp)| (source, Some(tcp))),
    ]
}

prop_compose! {
    /// A tree of five hosts and perhaps one link more, with flows and pings between any two.
    pub fn any_experiment()(
        parents in prop::collection::vec(any::<prop::sample::Index>(), HOSTS - 1),
        ends in prop::collection::vec((any_end(), any_end()), HOSTS - 1),
        talks in prop::collection::vec((0..HOSTS, 1..HOSTS, any_flow()), 0..4),
        dscps in prop::array::uniform4(prop::sample::select(&DSCPS[..])),
        pings in prop::collection::vec((0..HOSTS, 1..HOSTS), 0..3),
        warm_up_ns in 0u64..500 * MS,
        seed in any::<u64>(),
    ) -> Experiment {
        let name = |host: usize| format!("h{}", host % HOSTS);
        let mut links = Vec::new();
        for (index, (forward, reverse)) in ends.into_iter().enumerate() {
            let mut link = link(&name(index + 1), &name(parents[index].index(index + 1)), forward);
            link.reverse = reverse;
            links.push(link);
        }
        let flows = talks.into_iter().enumerate().map(|(index, (from, step, (source, tcp)))| {
            let (name_of, from, to) = (format!("f{index}"), name(from), name(from + step));
            let drawn = match tcp {
                None => flow(&name_of, &from, &to, source),
                Some(tcp) => tcp_flow(&name_of, &from, &to, source, tcp),
            };
            Flow { dscp: dscps[index], ..drawn }
        });
        let probes = pings.into_iter().enumerate().map(|(index, (from, step))| {
            ping(&format!("p{index}"), &name(from), &name(from + step), 7 * MS, 0)
        });
        let mut spec = experiment(links, flows.collect(), probes.collect());
        spec.duration_ns = 600 * MS;
        spec.sample_interval_ns = 50 * MS;
        spec.warm_up_ns = warm_up_ns;
        spec.seed = seed;
        // A way on which nothing takes time.
        if check_simulator(&spec).is_err() {
            spec.flows.retain(|flow| flow.tcp.is_none());
        }
        spec
    }
}
