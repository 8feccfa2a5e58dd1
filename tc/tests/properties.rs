//! What is written reads back as the same number, and readers of text agree with each other.

use dumbbell_tc::qdisc::{Bfifo, Netem, Pfifo};
use dumbbell_tc::{
    Qdisc, UnitError, format_rate, format_size, format_time, parse_qdisc, parse_rate_bps,
    parse_size_bytes, parse_time_ns, units,
};
use proptest::prelude::*;

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

fn qdiscs() -> impl Strategy<Value = Qdisc> {
    let limits = || prop_oneof![1..=u32::MAX, 1..5000u32, Just(u32::MAX)];
    let netem = (limits(), magnitudes(), magnitudes()).prop_map(|(limit_packets, delay, rate)| {
        let delay_ns = delay >> 1; // the kernel's s64
        let rate_bps = rate / 8 * 8; // whole bytes per second
        Qdisc::Netem(Netem {
            limit_packets,
            delay_ns,
            rate_bps,
        })
    });
    prop_oneof![
        limits().prop_map(|limit_packets| Qdisc::Pfifo(Pfifo { limit_packets })),
        limits().prop_map(|limit_bytes| Qdisc::Bfifo(Bfifo { limit_bytes })),
        netem,
    ]
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

/// tc reads every time written with three digits: in nanoseconds, and in microseconds as tc
/// before 2024 holds netem's delay.
#[test]
fn tc_reads_every_time_of_three_digits() {
    let in_microseconds: Vec<_> = units::TIME_UNITS
        .iter()
        .filter(|unit| unit.scale >= 1000)
        .map(|unit| units::Unit {
            scale: unit.scale / 1000,
            ..*unit
        })
        .collect();
    for digits in 100..1000u64 {
        for ns in (0..10).map(|power| digits * 10u64.pow(power)) {
            let text = format_time(ns);
            assert_eq!(by_doubles(&text, units::TIME_UNITS), ns, "{text}");
            if ns.is_multiple_of(1000) {
                assert_eq!(by_doubles(&text, &in_microseconds), ns / 1000, "{text}");
            }
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
        prop_assert_eq!(by_doubles(&format_time(value), units::TIME_UNITS), value);
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
        prop_assert_eq!(units::parse_size_bytes_in_tc(&text), Ok(value));
    }

    #[test]
    fn disciplines_round_trip_as_text(qdisc in qdiscs()) {
        prop_assert_eq!(parse_qdisc(&qdisc.to_string()), Ok(qdisc));
    }

    #[test]
    fn disciplines_round_trip_as_json(qdisc in qdiscs()) {
        prop_assert_eq!(Qdisc::from_json(&qdisc.to_json()), Ok(qdisc));
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
