//! What is written reads back as the same number, and readers of text agree with each other.

mod drawn;

use drawn::bands::{drrs, etses, filters, hfscs, prios};
use drawn::losses::{losses, shares_ppb};
use drawn::slots::slots;
use drawn::{chokes, dualpi2s, sfbs, sfqs};
use dumbbell_tc::qdisc::{
    Attachment, Bfifo, Cake, Codel, Distribution, Fq, FqCodel, FqPie, Htb, HtbClass, Netem,
    Noqueue, Pfifo, PfifoFast, Pie, Red, Selector, Tbf, cake,
};
use dumbbell_tc::{
    Police, Qdisc, UnitError, disciplines, format_rate, format_size, format_time, parse_police,
    parse_qdisc, parse_rate_bps, parse_size_bytes, parse_time_ns, units, units::in_tc,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;

/// Numbers of every magnitude, many of them round, as people's are.
fn magnitudes() -> impl Strategy<Value = u64> {
    let round = (
        1u64..2000,
        prop::sample::select(vec![1u64, 10, 1000, 1024]),
        0u32..6,
    );
    prop_oneof![
        any::<u64>(),
        (any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift),
        round.prop_map(|(value, base, power)| value.saturating_mul(base.saturating_pow(power))),
        Just(0),
        Just(u64::MAX),
    ]
}

/// Rates of whole bytes per second that tc reads: doubles hold 53 bits.
fn rates_bps() -> impl Strategy<Value = u64> {
    (1..1u64 << 53, 0u32..50).prop_map(|(rate, shift)| (rate >> shift).max(1) * 8)
}

/// `bytes` bytes, or those of 274 s, the longest that tc's ticks hold of a bucket.
fn bucket_bytes(rate_bps: u64, bytes: u32) -> u32 {
    let most = (rate_bps / 8).saturating_mul(274);
    bytes.min(u32::try_from(most).unwrap_or(u32::MAX))
}

/// What the kernel has of a time of whole microseconds.
fn ticks_ns(most_us: u32) -> impl Strategy<Value = u64> {
    let times_us = prop_oneof![0..=most_us, 0..5000u32, Just(most_us)];
    times_us.prop_map(|us| in_tc::in_ticks_ns(us).expect("at most what fits"))
}

fn netems() -> impl Strategy<Value = Netem> {
    let distributions = prop::sample::select(vec![
        Distribution::Uniform,
        Distribution::Normal,
        Distribution::Pareto,
        Distribution::Paretonormal,
    ]);
    let delays = (ticks_ns(274_877_906), ticks_ns(2_147_483), distributions);
    let bytes = (-28..=65_535i32, 0..=65_535u32, -65_535..=65_535i32);
    let rates = (prop_oneof![Just(0), rates_bps()], bytes);
    let shares = (prop::array::uniform7(shares_ppb()), slots().boxed());
    let counts = (1..=u32::MAX, 0..=u32::MAX, any::<bool>());
    (delays, losses(), rates, shares, counts).prop_filter_map(
        "words that need each other",
        |(
            (delay, jitter_ns, distribution),
            loss,
            (rate, bytes),
            (shares, slot),
            (limit, gap, ecn),
        )| {
            let netem = Netem {
                limit_packets: limit,
                delay_ns: delay,
                jitter_ns,
                delay_correlation_ppb: shares[0],
                distribution,
                loss,
                ecn,
                duplicate_ppb: shares[1],
                duplicate_correlation_ppb: shares[2],
                corrupt_ppb: shares[5],
                corrupt_correlation_ppb: shares[6],
                reorder_ppb: shares[3],
                reorder_correlation_ppb: shares[4],
                gap_packets: if shares[3] > 0 { gap.max(1) } else { 0 },
                rate_bps: rate,
                packet_overhead_bytes: bytes.0,
                cell_size_bytes: bytes.1,
                cell_overhead_bytes: bytes.2,
                slot,
                child: None,
            };
            { Qdisc::Netem(netem.clone()).check().is_ok() }.then_some(netem)
        },
    )
}

/// One of them is the root or nothing.
fn qdiscs() -> impl Strategy<Value = Qdisc> {
    prop_oneof![40 => trees(), 1 => Just(Qdisc::Noqueue(Noqueue {}))]
}

fn trees() -> impl Strategy<Value = Qdisc> {
    leaves().boxed().prop_recursive(4, 8, 4, |inner| {
        prop_oneof![
            tbfs(Some(inner.clone())),
            prios(inner.clone()),
            etses(inner.clone()),
            drrs(inner.clone()),
            hfscs(inner.clone()),
            (netems(), inner.clone()).prop_map(|(netem, child)| {
                let child = Some(Box::new(child));
                Qdisc::Netem(Netem { child, ..netem })
            }),
            htbs(inner)
        ]
    })
}

fn tbfs(children: Option<BoxedStrategy<Qdisc>>) -> impl Strategy<Value = Qdisc> {
    let child = match children {
        Some(children) => prop::option::of(children.prop_map(Box::new)).boxed(),
        None => Just(None).boxed(),
    };
    let bytes = || prop_oneof![1..=u32::MAX, 1..5000u32];
    let rates = (rates_bps(), rates_bps(), any::<bool>());
    let buckets = (bytes(), bytes(), bytes());
    (rates, buckets, child).prop_map(|((rate, more, has_peak), (burst, limit, mtu), child)| {
        // A peak rate is above the rate.
        let has_peak = has_peak && rate != more;
        let peakrate_bps = if has_peak { rate.max(more) } else { 0 };
        Qdisc::Tbf(Tbf {
            rate_bps: if has_peak { rate.min(more) } else { rate },
            burst_bytes: burst,
            limit_bytes: limit,
            peakrate_bps,
            mtu_bytes: if has_peak { mtu } else { 0 },
            child,
        })
    })
}

fn fqs() -> impl Strategy<Value = Qdisc> {
    let counts = || prop_oneof![1..=u32::MAX, 1..5000u32];
    let rates = || (1..u64::from(u32::MAX)).prop_map(|bytes| 8 * bytes);
    let times = |most_us: u64| prop_oneof![0..=most_us, 0..5000u64].prop_map(|us| us * 1000);
    let most_us = u64::from(u32::MAX);
    let quanta = (
        prop::option::of(1..=1u32 << 20),
        prop::option::of(0..=u32::MAX >> 1),
    );
    let rates = (prop::option::of(rates()), rates());
    let times = (
        (times(most_us), any::<u32>(), times(most_us)),
        prop::option::of(times(most_us - 1)),
    );
    let flags = any::<[bool; 2]>();
    (counts(), counts(), quanta, rates, times, flags).prop_map(
        |(limit_packets, flow_limit_packets, quanta, rates, times, flags)| {
            let ((refill_delay_ns, timer_slack_ns, horizon_ns), ce_threshold_ns) = times;
            Qdisc::Fq(Fq {
                limit_packets,
                flow_limit_packets,
                quantum_bytes: quanta.0,
                initial_quantum_bytes: quanta.1,
                maxrate_bps: rates.0,
                pacing: flags[0],
                refill_delay_ns,
                low_rate_threshold_bps: rates.1,
                timer_slack_ns,
                ce_threshold_ns,
                horizon_ns,
                horizon_drop: flags[1],
            })
        },
    )
}

/// Those that manage their queue actively.
fn managed() -> impl Strategy<Value = Qdisc> {
    let counts = || prop_oneof![1..=u32::MAX, 1..5000u32];
    let times = || prop_oneof![1..=u64::from(u32::MAX), 1..200_000u64].prop_map(|us| us * 1000);
    let thresholds = || prop::option::of((0..u64::from(u32::MAX)).prop_map(|us| us * 1000));
    let flags = any::<[bool; 4]>();
    let codel = (counts(), times(), times(), any::<bool>(), thresholds());
    let queues = (
        1..=65_536u32,
        prop::option::of(256..=1u32 << 20),
        1..=1u32 << 31,
        counts(),
    );
    let pie = (counts(), times(), times(), 1..=32u32, 1..=32u32, flags);
    let bytes = (
        counts(),
        1..1_000_000u32,
        1..1_000_000u32,
        1..3000u32,
        2..100u32,
    );
    let red = (
        bytes,
        1_000_000..1_000_000_000u32,
        1_000..1_000_000u64,
        any::<[bool; 4]>(),
    );
    prop_oneof![
        codel.clone().prop_map(
            |(limit_packets, target_ns, interval_ns, ecn, ce_threshold_ns)| {
                Qdisc::Codel(Codel {
                    limit_packets,
                    target_ns,
                    interval_ns,
                    ecn,
                    ce_threshold_ns,
                })
            }
        ),
        (codel, queues).prop_map(|(codel, queues)| {
            let (limit_packets, target_ns, interval_ns, ecn, ce_threshold_ns) = codel;
            let (flows, quantum_bytes, memory_limit_bytes, drop_batch_packets) = queues;
            Qdisc::FqCodel(FqCodel {
                limit_packets,
                flows,
                quantum_bytes,
                target_ns,
                interval_ns,
                ecn,
                ce_threshold_ns,
                ce_threshold_selector: (flows % 3 == 0).then_some(Selector {
                    value: (flows >> 1) as u8 % 255,
                    mask: (flows >> 3) as u8 | 1,
                }),
                memory_limit_bytes,
                drop_batch_packets,
            })
        }),
        (pie.clone(), 1..=65_536u32, 1..=u32::MAX, 1..100u32).prop_map(
            |(
                (limit_packets, target_ns, tupdate_ns, alpha, beta, flags),
                flows,
                memory,
                percent,
            )| {
                Qdisc::FqPie(FqPie {
                    limit_packets,
                    flows,
                    target_ns,
                    tupdate_ns,
                    alpha,
                    beta,
                    quantum_bytes: flags[3].then_some(256 + flows),
                    memory_limit_bytes: memory,
                    ecn_prob_percent: percent,
                    ecn: flags[0],
                    bytemode: flags[1],
                    dq_rate_estimator: flags[2],
                })
            }
        ),
        pie.prop_map(
            |(limit_packets, target_ns, tupdate_ns, alpha, beta, flags)| {
                Qdisc::Pie(Pie {
                    limit_packets,
                    target_ns,
                    tupdate_ns,
                    alpha,
                    beta,
                    ecn: flags[0],
                    bytemode: flags[1],
                    dq_rate_estimator: flags[2],
                    linux_3_14: flags[3],
                })
            }
        ),
        red.prop_map(
            |((limit_bytes, min_bytes, more, avpkt_bytes, burst), ppb, kbyte, flags)| {
                Qdisc::Red(Red {
                    limit_bytes,
                    min_bytes,
                    max_bytes: min_bytes + more,
                    avpkt_bytes,
                    burst_packets: burst + min_bytes / avpkt_bytes,
                    probability_ppb: ppb,
                    bandwidth_bps: kbyte * 8000,
                    ecn: flags[0],
                    harddrop: flags[1],
                    adaptive: flags[2],
                    nodrop: flags[0] && flags[3],
                })
            }
        )
        .prop_filter("a weight for the burst", |red| red.check().is_ok()),
    ]
}

fn polices() -> impl Strategy<Value = Police> {
    let bytes = || prop_oneof![1..=u32::MAX, 1..5000u32];
    let peak = prop::option::of(rates_bps());
    (rates_bps(), bytes(), bytes(), peak).prop_map(|(rate, burst_bytes, mtu_bytes, more)| Police {
        rate_bps: rate,
        burst_bytes: bucket_bytes(rate, burst_bytes),
        mtu_bytes,
        peakrate_bps: more.filter(|more| *more > rate).unwrap_or(0),
    })
}

/// A root class and leaves below it.
fn htbs(children: BoxedStrategy<Qdisc>) -> impl Strategy<Value = Qdisc> {
    let rates = (rates_bps(), rates_bps());
    let buckets = (1..=u32::MAX, 1..=u32::MAX, 0..8u8, any::<u32>());
    let child = prop::option::of(children.prop_map(Box::new));
    let leaves = prop::collection::vec((rates, buckets, child), 1..4);
    let globals = (any::<u16>(), 1..=u32::MAX >> 1, 0..u32::MAX);
    (leaves, globals, filters()).prop_map(|(leaves, (default_minor, r2q, direct), filters)| {
        let class = |(minor, ((rate, ceil), (burst, cburst, prio, quantum), child))| HtbClass {
            minor,
            parent_minor: if minor == 1 { 0 } else { 1 },
            rate_bps: rate,
            ceil_bps: ceil,
            burst_bytes: bucket_bytes(rate, burst),
            cburst_bytes: bucket_bytes(ceil, cburst),
            prio,
            quantum_bytes: quantum,
            child,
        };
        let mut classes: Vec<HtbClass> = (1..).zip(leaves).map(class).collect();
        if classes.len() > 1 {
            classes[0].child = None;
        }
        Qdisc::Htb(Htb {
            default_minor,
            r2q,
            direct_qlen_packets: direct,
            classes,
            filters,
        })
    })
}

fn cakes() -> impl Strategy<Value = Qdisc> {
    use cake::{AckFiltering, Isolation, LinkLayer, Tins};
    let tins = prop::sample::select(vec![
        Tins::Besteffort,
        Tins::Diffserv3,
        Tins::Diffserv4,
        Tins::Diffserv8,
        Tins::Precedence,
    ]);
    let isolations = prop::sample::select(vec![
        Isolation::Flowblind,
        Isolation::Srchost,
        Isolation::Dsthost,
        Isolation::Hosts,
        Isolation::Flows,
        Isolation::DualSrchost,
        Isolation::DualDsthost,
        Isolation::TripleIsolate,
    ]);
    let layers = prop::sample::select(vec![LinkLayer::Noatm, LinkLayer::Atm, LinkLayer::Ptm]);
    let filters = prop::sample::select(vec![
        AckFiltering::Off,
        AckFiltering::Conservative,
        AckFiltering::Aggressive,
    ]);
    let words = (tins, isolations, layers, any::<[bool; 4]>(), filters);
    let rates = prop_oneof![Just(0), rates_bps()];
    let framing = (-64..=256i32, 0..=256u32);
    let rtts = prop_oneof![1..=u64::from(u32::MAX), 1..200_000u64].prop_map(|us| us * 1000);
    let memory = prop::option::of(1..=u32::MAX);
    (words, rates, framing, rtts, memory).prop_map(|(words, rate, framing, rtt_ns, memory)| {
        let (tins, isolation, link_layer, [wash, ingress, split_gso, raw], ack_filter) = words;
        Qdisc::Cake(Cake {
            bandwidth_bps: rate,
            tins,
            isolation,
            wash,
            ingress,
            split_gso,
            ack_filter,
            rtt_ns,
            raw,
            overhead_bytes: framing.0,
            mpu_bytes: framing.1,
            link_layer,
            memlimit_bytes: memory,
        })
    })
}

/// Disciplines that the strategies here are for.
const WITH_STRATEGIES: &str = "pfifo bfifo pfifo_fast netem tbf prio ets htb fq cake dualpi2 sfb sfq choke \
                               hfsc drr codel fq_codel pie fq_pie red noqueue";

fn leaves() -> impl Strategy<Value = Qdisc> {
    let limits = || prop_oneof![1..=u32::MAX, 1..5000u32, Just(u32::MAX)];
    prop_oneof![
        limits().prop_map(|limit_packets| Qdisc::Pfifo(Pfifo { limit_packets })),
        limits().prop_map(|limit_bytes| Qdisc::Bfifo(Bfifo { limit_bytes })),
        netems().prop_map(Qdisc::Netem).boxed(),
        tbfs(None).boxed(),
        Just(Qdisc::PfifoFast(PfifoFast {})),
        fqs(),
        cakes(),
        dualpi2s(),
        sfbs(),
        sfqs(),
        chokes(),
        managed(),
        others(),
    ]
}

/// Disciplines of the table that no strategy here is for, with limits of any size.
fn others() -> impl Strategy<Value = Qdisc> {
    let is_other = |name: &str| !WITH_STRATEGIES.split(' ').any(|own| own == name);
    let others = disciplines().iter().filter(|each| is_other(each.name));
    let examples: Vec<String> = { others.map(|each| each.short_example()) }
        .chain(["pfifo_fast".to_owned()])
        .collect();
    (prop::sample::select(examples), 1..5000u32).prop_map(|(example, limit)| {
        let text = example.replace(" limit 5", &format!(" limit {limit}"));
        dumbbell_tc::parse_qdisc(&text).unwrap()
    })
}

/// A discipline that the strategies above do not know would be read by no property.
#[test]
fn every_discipline_of_the_table_is_drawn() {
    let mut runner = TestRunner::deterministic();
    let strategy = qdiscs();
    let drawn: BTreeSet<&str> = (0..8000)
        .map(|_| strategy.new_tree(&mut runner).unwrap().current())
        .map(|qdisc| qdisc.discipline().name)
        .collect();
    let table: BTreeSet<&str> = disciplines().iter().map(|each| each.name).collect();
    assert_eq!(drawn, table);
}

/// What iproute2 makes of a number and a unit: a double, multiplied, its fraction cut off.
fn by_doubles(text: &str, units: &[units::Unit]) -> u64 {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = units
        .iter()
        .find(|unit| unit.name == &text[digits.len()..])
        .unwrap();
    (digits.parse::<f64>().unwrap() * unit.scale as f64) as u64
}

/// tc reads every time written with three digits, in microseconds as before 2024, and in
/// nanoseconds as since then.
#[test]
fn tc_reads_every_time_of_three_digits() {
    for digits in 100..1000u64 {
        for us in (0..7).map(|power| digits * 10u64.pow(power)) {
            let text = in_tc::format_time_us(us);
            assert_eq!(by_doubles(&text, units::TIME_UNITS), us * 1000, "{text}");
            assert_eq!(in_tc::parse_time_us(&text).map(u64::from), Ok(us), "{text}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn sizes_round_trip(bytes in magnitudes()) {
        prop_assert_eq!(parse_size_bytes(&format_size(bytes)), Ok(bytes));
    }

    #[test]
    fn rates_round_trip(bps in magnitudes().prop_filter("0 is no rate", |bps| *bps > 0)) {
        prop_assert_eq!(parse_rate_bps(&format_rate(bps)), Ok(bps));
    }

    #[test]
    fn times_round_trip(ns in magnitudes()) {
        prop_assert_eq!(parse_time_ns(&format_time(ns)), Ok(ns));
    }

    /// The kernel is given this text: tc must read our number. Doubles hold 53 bits.
    #[test]
    fn tc_reads_what_is_written(value in magnitudes().prop_map(|value| value % (1 << 53))) {
        prop_assert_eq!(by_doubles(&format_size(value), units::SIZE_UNITS), value);
        prop_assert_eq!(by_doubles(&format_rate(value), units::RATE_UNITS), value);
        prop_assert_eq!(in_tc::parse_rate_bps(&format_rate(value)), Ok(value / 8 * 8));
        let of_32_bits = value as u32;
        let written = format_size(of_32_bits.into());
        prop_assert_eq!(in_tc::parse_size_bytes(&written), Ok(of_32_bits));
        let written = in_tc::format_time_us(of_32_bits.into());
        prop_assert_eq!(in_tc::parse_time_us(&written), Ok(of_32_bits));
        prop_assert!(!written.ends_with("ns"), "{}", written);
    }

    /// Of a share that is held, the kernel's fraction is that of what was typed.
    #[test]
    fn tc_reads_every_share_that_is_written(ppb in shares_ppb()) {
        prop_assert_eq!(in_tc::parse_percent_ppb(&in_tc::format_percent(ppb)), Ok(ppb));
    }

    /// Exact arithmetic differs from tc's doubles by at most their last digit.
    #[test]
    fn fractions_are_near_what_tc_reads(
        number in 0.001f64..10_000.0,
        unit in prop::sample::select(units::TIME_UNITS),
    ) {
        let text = format!("{number}{}", unit.name);
        let Ok(exact) = parse_time_ns(&text) else {
            prop_assert!(number * (unit.scale as f64) < 1.0);
            return Ok(());
        };
        prop_assert!(exact.abs_diff(by_doubles(&text, units::TIME_UNITS)) <= 1);
    }

    #[test]
    fn case_does_not_matter(value in 1u64..1 << 20, index in 0usize..18) {
        let unit = units::RATE_UNITS[index].name;
        let lower = parse_rate_bps(&format!("{value}{unit}"));
        prop_assert_eq!(lower, parse_rate_bps(&format!("{value}{}", unit.to_uppercase())));
    }

    #[test]
    fn a_bare_number_needs_its_unit_outside_tc(value in magnitudes()) {
        let text = value.to_string();
        for parse in [parse_size_bytes, parse_rate_bps, parse_time_ns] {
            let error = parse(&text).unwrap_err();
            prop_assert!(matches!(error, UnitError::UnitMissing { .. }), "{}", error);
        }
        let in_tc = in_tc::parse_size_bytes(&text).ok();
        prop_assert_eq!(in_tc, u32::try_from(value).ok());
    }

    #[test]
    fn disciplines_round_trip_as_text(qdisc in qdiscs()) {
        prop_assert_eq!(parse_qdisc(&qdisc.to_string()), Ok(qdisc));
    }

    #[test]
    fn disciplines_round_trip_as_json(qdisc in qdiscs()) {
        prop_assert_eq!(Qdisc::from_json(&qdisc.to_json()), Ok(qdisc));
    }

    /// The lines that are given to tc, with device, handles and options, mean the same.
    #[test]
    fn the_lines_for_tc_read_back(qdisc in qdiscs(), handle in 1..0x100u16) {
        let attachment = Attachment {
            device: Some("eth1"),
            handle,
            ..Attachment::default()
        };
        let lines = qdisc.lines(&attachment);
        prop_assert_eq!(parse_qdisc(&lines.join("; ")), Ok(qdisc.clone()));
        let typed: Vec<String> = lines.iter().map(|line| format!("tc {line}")).collect();
        prop_assert_eq!(parse_qdisc(&typed.join("\n")), Ok(qdisc));
    }

    #[test]
    fn policers_round_trip(police in polices()) {
        prop_assert_eq!(parse_police(&police.to_string()), Ok(police));
        prop_assert_eq!(Police::from_json(&police.to_json()), Ok(police));
    }

    /// A hint is an answer: typed in place of the value, it is accepted.
    #[test]
    fn hints_are_accepted(number in 1u32..100_000, unit in "[a-zA-Z/]{0,6}") {
        let text = format!("{number}{unit}");
        for parse in [parse_size_bytes, parse_rate_bps, parse_time_ns] {
            if let Err(error) = parse(&text)
                && let Some(hint) = error.hint()
            {
                prop_assert!(parse(hint).is_ok(), "{} gives {}", text, hint);
            }
        }
    }
}
