//! netem's words by example; the messages of tc from the same texts name the same words.

use super::*;
use crate::qdisc::{Qdisc, parse};

fn netem(text: &str) -> Netem {
    match parse(text) {
        Ok(Qdisc::Netem(netem)) => netem,
        other => panic!("{text}: {other:?}"),
    }
}

fn refused(text: &str) -> String {
    parse(text).expect_err(text).to_string()
}

#[test]
fn words_become_values_and_text() {
    for (text, expected, written) in [
        ("netem", Netem::default(), "netem limit 1000"),
        (
            "  netem\trate 1mbps  delay 100\n limit 10 ",
            Netem {
                limit_packets: 10,
                delay_ns: 99_968, // 1562 ticks of 64 ns, of 1562.5
                rate_bps: 8_000_000,
                ..Netem::default()
            },
            "netem limit 10 delay 100us rate 8mbit",
        ),
        (
            "netem latency 10ms 2ms",
            Netem {
                delay_ns: 10_000_000,
                jitter_ns: 2_000_000,
                ..Netem::default()
            },
            "netem limit 1000 delay 10ms 2ms",
        ),
        (
            "netem delay 100ms 10ms 25% distribution normal",
            Netem {
                delay_ns: 100_000_000,
                jitter_ns: 10_000_000,
                delay_correlation_ppb: 250_000_000,
                distribution: Distribution::Normal,
                ..Netem::default()
            },
            "netem limit 1000 delay 100ms 10ms 25% distribution normal",
        ),
        // 4166.66 bytes/s: the kernel holds 4166.
        (
            "netem rate 33.3333kbit -20 48 5",
            Netem {
                rate_bps: 33_328,
                packet_overhead_bytes: -20,
                cell_size_bytes: 48,
                cell_overhead_bytes: 5,
                ..Netem::default()
            },
            "netem limit 1000 rate 33328bit -20 48 5",
        ),
        (
            "netem delay 10ms reorder 25% 50% gap 5",
            Netem {
                delay_ns: 10_000_000,
                reorder_ppb: 250_000_000,
                reorder_correlation_ppb: 500_000_000,
                gap_packets: 5,
                ..Netem::default()
            },
            "netem limit 1000 delay 10ms reorder 25% 50% gap 5",
        ),
        // As tc: a gap of 1 is no gap.
        (
            "netem reorder 25 delay 10ms",
            Netem {
                delay_ns: 10_000_000,
                reorder_ppb: 250_000_000,
                gap_packets: 1,
                ..Netem::default()
            },
            "netem limit 1000 delay 10ms reorder 25%",
        ),
        // Without another correlation, tc would leave this one out.
        (
            "netem duplicate 1% 30% loss 0% 0% loss 0%",
            Netem {
                loss: Some(Loss::Random {
                    probability_ppb: 0,
                    correlation_ppb: 0,
                }),
                duplicate_ppb: 10_000_000,
                duplicate_correlation_ppb: 300_000_000,
                ..Netem::default()
            },
            "netem limit 1000 delay 0s 0s 0% loss random 0% duplicate 1% 30%",
        ),
    ] {
        assert_eq!(netem(text), expected, "{text}");
        assert_eq!(expected.to_string(), written);
        assert_eq!(netem(written), expected, "{written}");
    }
}

/// Asked of iproute2 6.1 and of the kernel.
#[test]
fn slots_and_damage_as_tc_takes_and_shows_them() {
    for (text, written, shown) in [
        (
            "slot 2ms 8ms pack 0x5",
            "netem limit 1000 slot 2ms 8ms packets 5",
            "limit 1000 slot 2ms 8ms packets 5",
        ),
        (
            "s 2ms packets 5 by 3000",
            "netem limit 1000 slot 2ms 2ms packets 5 bytes 3000",
            "limit 1000 slot 2ms 2ms packets 5 bytes 3000",
        ),
        (
            "slot 1500000",
            "netem limit 1000 slot 1500us 1500us",
            "limit 1000 slot 1.5ms 1.5ms",
        ),
        (
            "slot distribution normal 5ms 1ms packets 3",
            "netem limit 1000 slot distribution normal 5ms 1ms packets 3",
            "limit 1000 slot distribution 5ms 1ms packets 3",
        ),
        (
            "corrupt 1% corrupt 2% 25% corrupt 1%",
            "netem limit 1000 corrupt 1% 25%",
            "limit 1000 corrupt 1% 25%",
        ),
    ] {
        let read = netem(&format!("netem {text}"));
        assert_eq!(read.to_string(), written);
        assert_eq!(netem(written), read);
        let options = read.show();
        assert_eq!(options.text, shown, "{text}");
    }
    for text in [
        "slot 8ms 2ms",
        "slot -1ms",
        "slot distribution uniform 5ms 1ms",
        "slot distribution pareto 5ms 0ms",
        "slot distribution pareto 5ms",
        "slot 2ms bytes 5k packets 5",
        "slot 2ms packets -1",
        "slot 2ms packets 3000000000",
        "slot 2ms bytes 3gb",
        "slot 1min",
        "slot 3us packets 5p",
        "slot",
        "corrupt 101%",
    ] {
        let error = parse(&format!("netem {text}")).expect_err(text);
        assert_eq!(error.reason(), None, "{text}: {error}");
    }
}

/// tc-netem(8) and `tc/q_netem.c`: what is not said of a chain.
#[test]
fn models_of_loss_have_the_defaults_of_tc() {
    let percent = |percent: u32| percent * 10_000_000;
    for (text, expected, written) in [
        (
            "0.5%",
            Loss::Random {
                probability_ppb: 5_000_000,
                correlation_ppb: 0,
            },
            "random 0.5%",
        ),
        (
            "random 1 25%",
            Loss::Random {
                probability_ppb: percent(1),
                correlation_ppb: percent(25),
            },
            "random 1% 25%",
        ),
        (
            "state 1%",
            Loss::State {
                p13_ppb: percent(1),
                p31_ppb: percent(99),
                p32_ppb: 0,
                p23_ppb: ALL_PPB,
                p14_ppb: 0,
            },
            "state 1% 99% 0% 100% 0%",
        ),
        (
            "state 1% 20% 5% 50% 0.1%",
            Loss::State {
                p13_ppb: percent(1),
                p31_ppb: percent(20),
                p32_ppb: percent(5),
                p23_ppb: percent(50),
                p14_ppb: 1_000_000,
            },
            "state 1% 20% 5% 50% 0.1%",
        ),
        (
            "gemodel 1%",
            Loss::Gemodel {
                p_ppb: percent(1),
                r_ppb: percent(99),
                loss_in_bad_ppb: ALL_PPB,
                loss_in_good_ppb: 0,
            },
            "gemodel 1% 99% 100% 0%",
        ),
        (
            "gemodel 1% 10% 70% 0.1%",
            Loss::Gemodel {
                p_ppb: percent(1),
                r_ppb: percent(10),
                loss_in_bad_ppb: percent(70),
                loss_in_good_ppb: 1_000_000,
            },
            "gemodel 1% 10% 70% 0.1%",
        ),
    ] {
        let read = netem(&format!("netem drop {text} ecn"));
        assert_eq!(read.loss, Some(expected.clone()), "{text}");
        assert!(read.ecn);
        assert_eq!(expected.to_string(), written);
    }
}

#[test]
fn words_that_need_others() {
    for (text, reason) in [
        (
            "netem reorder 25%",
            "netem: delay is required with reorder; ",
        ),
        (
            "netem delay 1ms gap 5",
            "netem: reorder is required with gap; ",
        ),
        ("netem ecn", "netem: loss is required with ecn; "),
        ("netem ecn loss 0%", "netem loss: \"0\" is out of range; "),
        (
            "netem distribution normal",
            "netem: delay is required with distribution; ",
        ),
        (
            "netem delay 10ms distribution normal",
            "netem delay TIME: \"0\" is out of range; ",
        ),
        (
            "netem delay 0ms 1ms reorder 1%",
            "netem delay: \"0\" is out of range; ",
        ),
    ] {
        let message = refused(text);
        assert!(message.starts_with(reason), "{text}: {message}");
    }
}

/// Of a word that is repeated, what is not said again stays (`netem_parse_opt`).
#[test]
fn repeated_words_and_overheads_are_read_as_tc_reads_them() {
    for (text, same) in [
        ("limit 5 limit 0x6", "limit 6"),
        ("delay 10ms 5ms 20% delay 20ms", "delay 20ms 5ms 20%"),
        ("loss 0% 25% loss 1%", "loss 1% 25%"),
        ("loss 0% 25% loss state 1%", "loss state 1%"),
        (
            "delay 1ms reorder 1% 5% reorder 2%",
            "delay 1ms reorder 2% 5%",
        ),
        ("rate 1mbit 10 48 5 rate 2mbit", "rate 2mbit 10 48 5"),
        // An overhead of a cell without a size of it.
        ("rate 1mbit 010 -5", "rate 1mbit 8 0 -5"),
        ("rate 1mbit 0x10 060", "rate 1mbit 16 48"),
        ("delay 1ms reorder 1% gap 010", "delay 1ms reorder 1% gap 8"),
        (
            "de 1ms reord 1% ga 2 l 7",
            "delay 1ms reorder 1% gap 2 limit 7",
        ),
        (
            "dr 1% e du 1% di normal d 1ms 1ms",
            "loss 1% ecn duplicate 1% distribution normal delay 1ms 1ms",
        ),
        ("limit 1.5kb", "limit 1536"),
    ] {
        assert_eq!(
            netem(&format!("netem {text}")),
            netem(&format!("netem {same}")),
            "{text}"
        );
    }
    assert!(refused("netem loss 1% loss 2%").contains("is given twice"));
    assert!(refused("netem se 1").contains("no parameter \"se\""));
    assert!(refused("netem loss 1% +5%").contains("no parameter \"+5%\""));
    assert!(refused("netem loss +1%").contains("out of range"));
}

#[test]
fn what_tc_takes_and_would_be_another_is_refused_with_the_reason() {
    for (text, reason) in [
        ("rate 10%", Reason::NeedsDevice),
        ("rate -1kbit", Reason::Wraps),
        ("rate nanbps", Reason::Wraps),
        ("rate 0", Reason::Ignored),
        ("rate 7bit", Reason::Ignored),
        ("limit 0", Reason::DropsAll),
        ("limit 0.5", Reason::DropsAll),
        ("delay 1ms reorder 1% gap 0", Reason::Ignored),
        (
            "delay 1ms reorder 1% gap -18446744073709551615",
            Reason::Wraps,
        ),
        ("delay 1s 3s", Reason::Replaced), // the kernel's jitter has 31 bits of nanoseconds
        ("delay -1us", Reason::Wraps),
        ("delay 5000s", Reason::Wraps),
        ("duplicate 1% 30%", Reason::Ignored),
        ("loss 33.333333333%", Reason::TooFine),
        ("rate 1mbit -29", Reason::NotModelled),
        ("rate 1mbit 0 65536", Reason::NotModelled),
        ("rate 1mbit 0 48 -48", Reason::Wraps),
        ("slot 0", Reason::Ignored),
        ("slot 0ms 0 packets 4", Reason::Ignored),
        ("slot 1s 5s", Reason::Wraps), // 31 bits of nanoseconds
        ("slot 20000000s", Reason::NotModelled),
        ("slot distribution normal 5ms 3s", Reason::Replaced),
        ("slot 2ms slot 3ms", Reason::NotModelled),
    ] {
        let error = parse(&format!("netem {text}")).expect_err(text);
        assert_eq!(error.reason(), Some(reason), "{text}: {error}");
        assert!(error.to_string().contains(&reason.to_string()), "{error}");
    }
    for text in [
        "delay 1ns",
        "delay 275s",
        "gap 1",
        "loss 101%",
        "limit 5gb",
        "delay 1ms gap 09",
    ] {
        let error = parse(&format!("netem {text}")).expect_err(text);
        assert_eq!(error.reason(), None, "{text}: {error}");
    }
}

#[test]
fn words_to_come_and_values_out_of_range() {
    for text in ["netem jitter 1ms", "netem seed 1"] {
        assert!(refused(text).contains("not implemented yet"), "{text}");
    }
    for text in [
        "netem loss 100.1%",
        "netem delay 275s", // 32 bits of ticks
        "netem loss burst 5%",
        "netem delay 1ms 1ms distribution uniform", // tc has no such table
        "netem delay 1ms 1ms distribution experimental",
    ] {
        assert!(refused(text).contains("out of range"), "{text}");
    }
    // A further number that there is no place for is a word that nothing is called.
    assert!(refused("netem delay 1ms 1ms 5% 5%").contains("has no parameter \"5%\""));
    assert!(refused("netem loss -1%").contains("out of range"));
    assert!(refused("netem loss 1kb").contains("percentage"));
}

#[test]
fn json_has_every_value() {
    let all = "netem limit 5 delay 1ms 1ms 1% distribution pareto loss gemodel 1% ecn \
               duplicate 1% 1% corrupt 2% 1% reorder 1% 1% gap 2 rate 1mbit 1 2 3 slot 1ms 2ms packets 3";
    let qdisc = parse(all).unwrap();
    assert_eq!(
        qdisc.to_json(),
        r#"{"kind":"netem","limit_packets":5,"delay_ns":1000000,"jitter_ns":1000000,"delay_correlation_ppb":10000000,"distribution":"pareto","loss":{"kind":"gemodel","p_ppb":10000000,"r_ppb":990000000,"loss_in_bad_ppb":1000000000,"loss_in_good_ppb":0},"ecn":true,"duplicate_ppb":10000000,"duplicate_correlation_ppb":10000000,"corrupt_ppb":20000000,"corrupt_correlation_ppb":10000000,"reorder_ppb":10000000,"reorder_correlation_ppb":10000000,"gap_packets":2,"rate_bps":1000000,"packet_overhead_bytes":1,"cell_size_bytes":2,"cell_overhead_bytes":3,"slot":{"delay":{"kind":"uniform","min_ns":1000000,"max_ns":2000000},"packets":3,"bytes":0}}"#
    );
    let json = Qdisc::Netem(Netem::default()).to_json();
    for (key, value) in [
        ("limit_packets", "0"),
        ("delay_ns", "10000"), // no whole number of microseconds becomes this in ticks of 64 ns
        ("delay_ns", "9223372036854775808"),
        ("jitter_ns", "2147483648"),
        ("delay_correlation_ppb", "1000000001"),
        ("distribution", "\"normal\""),
        ("ecn", "true"),
        ("gap_packets", "1"),
        ("reorder_ppb", "1"),
        ("rate_bps", "1000001"),
        ("cell_size_bytes", "48"),
        ("corrupt_ppb", "1000000001"),
        (
            "slot",
            r#"{"delay":{"kind":"uniform","min_ns":2,"max_ns":1},"packets":0,"bytes":0}"#,
        ),
        (
            "slot",
            r#"{"delay":{"kind":"distribution","distribution":"uniform","delay_ns":2,"jitter_ns":1},"packets":0,"bytes":0}"#,
        ),
        (
            "slot",
            r#"{"delay":{"kind":"uniform","min_ns":1,"max_ns":1},"packets":2147483648,"bytes":0}"#,
        ),
        (
            "loss",
            r#"{"kind":"random","probability_ppb":1000000001,"correlation_ppb":0}"#,
        ),
    ] {
        let before = json.split(&format!("\"{key}\":")).next().unwrap();
        let after = &json[before.len() + key.len() + 3..];
        let rest = &after[after.find([',', '}']).unwrap()..];
        let changed = format!("{before}\"{key}\":{value}{rest}");
        let refusal = Qdisc::from_json(&changed);
        assert!(
            matches!(refusal, Err(QdiscError::OutOfRange { .. })),
            "{changed}: {refusal:?}"
        );
    }
}
