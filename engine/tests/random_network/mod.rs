//! Random networks: a tree of hosts with flows and pings between any two.

use crate::common::*;
use dumbbell_engine::qdisc::Config;
use dumbbell_engine::spec::{Change, Experiment, LinkEnd, SizeAt, Source};
use dumbbell_tc::qdisc::{Bfifo, Netem, Pfifo};
use proptest::prelude::*;

const HOSTS: usize = 5;

fn any_qdisc() -> impl Strategy<Value = Config> {
    prop_oneof![
        (1u32..20).prop_map(|limit_packets| Config::Pfifo(Pfifo { limit_packets })),
        (1u32..20_000).prop_map(|limit_bytes| Config::Bfifo(Bfifo { limit_bytes })),
        (
            1u32..50,
            0u64..5 * MS,
            prop_oneof![Just(0), (12_500u64..1_250_000).prop_map(|rate| 8 * rate)]
        )
            .prop_map(|(limit_packets, delay_ns, rate_bps)| {
                Config::Netem(Netem {
                    limit_packets,
                    delay_ns,
                    rate_bps,
                })
            }),
    ]
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

/// Half of them plain, as most links of real descriptions are.
fn any_end() -> impl Strategy<Value = LinkEnd> {
    prop_oneof![
        any_eventful_end(),
        any_eventful_end().prop_map(|end| LinkEnd {
            delay_ns: 0,
            loss: 0.0,
            changes: vec![],
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
            )| {
                LinkEnd {
                    rate_bps,
                    delay_ns,
                    mtu_bytes,
                    overhead_bytes,
                    loss,
                    qdisc,
                    changes,
                    record_packets,
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
        0 => Source::Poisson {
            gap,
            size,
            size_at: SizeAt::Wire,
        },
        1 => Source::Renewal {
            gap,
            size,
            size_at: SizeAt::Payload,
        },
        2 => Source::Cbr {
            gap: constant(1e-3),
            size,
            size_at: SizeAt::Payload,
        },
        _ => Source::Ditg {
            gap,
            size,
            oversleep: Some(constant(1e-4)),
        },
    })
}

prop_compose! {
    /// A tree of five hosts and perhaps one link more, with flows and pings between any two.
    pub fn any_experiment()(
        parents in prop::collection::vec(any::<prop::sample::Index>(), HOSTS - 1),
        ends in prop::collection::vec((any_end(), any_end()), HOSTS - 1),
        talks in prop::collection::vec((0..HOSTS, 1..HOSTS, any_source()), 0..4),
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
        let flows = talks.into_iter().enumerate().map(|(index, (from, step, source))| {
            flow(&format!("f{index}"), &name(from), &name(from + step), source)
        });
        let probes = pings.into_iter().enumerate().map(|(index, (from, step))| {
            ping(&format!("p{index}"), &name(from), &name(from + step), 7 * MS, 0)
        });
        let mut spec = experiment(links, flows.collect(), probes.collect());
        spec.duration_ns = 600 * MS;
        spec.sample_interval_ns = 50 * MS;
        spec.warm_up_ns = warm_up_ns;
        spec.seed = seed;
        spec
    }
}
