//! The grammar by example; properties and fuzzing are in `tests/`.

use super::*;
use crate::reason::Reason;

mod changes;
mod shown;
mod trees;

fn json(text: &str) -> String {
    parse(text)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .to_json()
}

fn refused(text: &str) -> QdiscError {
    parse(text).expect_err(text)
}

#[test]
fn canonical_json() {
    for (text, expected) in [
        ("pfifo", r#"{"kind":"pfifo","limit_packets":1000}"#),
        ("pfifo limit 50", r#"{"kind":"pfifo","limit_packets":50}"#),
        (
            "pfifo limit 0x3e8",
            r#"{"kind":"pfifo","limit_packets":1000}"#,
        ),
        ("bfifo", r#"{"kind":"bfifo","limit_bytes":1514000}"#),
        (
            "bfifo limit 51200",
            r#"{"kind":"bfifo","limit_bytes":51200}"#,
        ),
        (
            "bfifo limit 50kb",
            r#"{"kind":"bfifo","limit_bytes":51200}"#,
        ),
        (
            "bfifo limit 1mbit",
            r#"{"kind":"bfifo","limit_bytes":131072}"#,
        ),
        (
            "tbf rate 6.55mbit limit 2mb burst 10kb",
            r#"{"kind":"tbf","rate_bps":6550000,"burst_bytes":10240,"limit_bytes":2097152,"peakrate_bps":0,"mtu_bytes":0,"child":null}"#,
        ),
        (
            "tbf maxburst 32kB rate 1mbit peakrate 1.0001mbit minburst 1600 limit 200mb",
            r#"{"kind":"tbf","rate_bps":1000000,"burst_bytes":32768,"limit_bytes":209715200,"peakrate_bps":1000096,"mtu_bytes":1600,"child":null}"#,
        ),
        // 125000 bytes/s for 50 ms, and the bucket.
        (
            "tbf rate 1mbit burst 10kb latency 50ms",
            r#"{"kind":"tbf","rate_bps":1000000,"burst_bytes":10240,"limit_bytes":16490,"peakrate_bps":0,"mtu_bytes":0,"child":null}"#,
        ),
        // The second bucket allows less: 187500 bytes/s for 10 ms, and 1600 bytes.
        (
            "tbf rate 1mbit burst 10kb latency 10ms peakrate 1.5mbit mtu 1600",
            r#"{"kind":"tbf","rate_bps":1000000,"burst_bytes":10240,"limit_bytes":3475,"peakrate_bps":1500000,"mtu_bytes":1600,"child":null}"#,
        ),
    ] {
        assert_eq!(json(text), expected, "{text}");
    }
}

#[test]
fn text_is_as_typed_to_tc() {
    for (text, expected) in [
        ("pfifo", "pfifo limit 1000"),
        ("bfifo limit 51200", "bfifo limit 50kb"),
        ("netem", "netem limit 1000"),
        (
            "tbf rate 6.55mbit latency 1ms burst 10240 mtu 1514 peakrate 1gbit",
            "tbf rate 6550kbit burst 10kb limit 11058b peakrate 1gbit mtu 1514b",
        ),
    ] {
        assert_eq!(parse(text).unwrap().to_string(), expected);
    }
}

#[test]
fn unknown_disciplines_and_those_to_come() {
    use QdiscError as E;
    let error = refused("netm rate 1mbit");
    assert!(matches!(error, E::UnknownDiscipline { .. }));
    assert_eq!((error.value(), error.hint()), ("netm", Some("netem")));
    assert_eq!(refused("NETEM").hint(), Some("netem"));
    assert_eq!(refused("quantum").hint(), None);
    let error = refused("skbprio");
    assert!(matches!(error, E::DisciplineNotImplemented { .. }));
    assert_eq!(
        error.to_string(),
        format!(
            "queue discipline \"skbprio\" is not implemented yet; implemented: {}",
            kinds()
        )
    );
    let removed = refused("cbq avpkt 1000 bandwidth 10mbit").to_string();
    assert!(removed.contains("no longer in Linux; use htb"), "{removed}");
    assert!(matches!(refused(" \n"), E::Empty { .. }));
    assert!(matches!(refused(&"pfifo ".repeat(4000)), E::TooLong { .. }));
}

#[test]
fn unknown_missing_and_repeated_words() {
    use QdiscError as E;
    let error = refused("pfifo limt 10");
    assert!(matches!(error, E::UnknownWord { .. }));
    assert_eq!(
        error.to_string(),
        "pfifo has no parameter \"limt\"; allowed: pfifo [ limit PACKETS ]; did you mean \"limit\"?"
    );
    assert_eq!(refused("pfifo lim 5").hint(), Some("limit"));
    assert!(matches!(refused("pfifo 50"), E::UnknownWord { .. }));
    let error = refused("netem delay");
    assert!(matches!(error, E::MissingValue { .. }));
    let usage = "delay TIME [ JITTER [ CORRELATION ] ]";
    assert_eq!((error.value(), error.allowed()), ("delay", usage));
    for text in [
        "tbf rate 1mbit burst 5kb buffer 5kb limit 1kb",
        "tbf rate 1mbit burst 5kb limit 1kb limit 1kb",
        "prio priomap 1 priomap 1",
    ] {
        assert!(matches!(refused(text), E::Repeated { .. }), "{text}");
    }
}

#[test]
fn values_out_of_range_or_no_values() {
    use QdiscError as E;
    for text in [
        "pfifo limit 4294967296",
        "pfifo limit 99999999999999999999999",
        "bfifo limit 4gb",
        "codel limit 4294967296",
        "codel limit -1",
        "netem delay 275s",
    ] {
        let refusal = refused(text);
        let of_unit = matches!(&refusal, E::BadUnit { source, .. }
            if matches!(**source, crate::UnitError::OutOfRange { .. }));
        assert!(
            matches!(refusal, E::OutOfRange { .. }) || of_unit,
            "{text}: {refusal}"
        );
    }
    for text in ["bfifo limit 10xb", "netem rate 5%", "netem delay -5ms"] {
        assert!(matches!(refused(text), E::BadUnit { .. }), "{text}");
    }
    for text in [
        "pfifo limit 100p",
        "codel limit 100kb",
        "codel limit 1.5",
        "codel limit 1e3",
        "codel limit 09",
        "codel limit p",
    ] {
        assert!(matches!(refused(text), E::NotACount { .. }), "{text}");
    }
    assert_eq!(refused("pfifo limit 100p").hint(), Some("100"));
    assert_eq!(refused("codel limit 100kb").hint(), Some("100"));
    assert_eq!(refused("codel limit 09").hint(), Some("9"));
    assert_eq!(
        json("pfifo limit 4294967295"),
        r#"{"kind":"pfifo","limit_packets":4294967295}"#
    );
    let error = refused("netem rate 1mbits");
    assert_eq!((error.value(), error.hint()), ("1mbits", Some("1mbit")));
    assert!(
        error
            .to_string()
            .starts_with("netem rate: rate \"1mbits\": no such unit")
    );
}

/// Each as `tc qdisc show` of iproute2 6.1 prints it after the text (`codel limit 0100` has 64).
#[test]
fn numbers_and_repeated_words_are_read_as_tc_reads_them() {
    for (text, same) in [
        ("codel limit 0100", "codel limit 64"),
        (
            "codel limit 0x10 target 0x10us",
            "codel limit 16 target 16us",
        ),
        (
            "codel limit +5 interval 1e3msecs",
            "codel limit 5 interval 1s",
        ),
        ("codel target 2.01ms", "codel target 2009us"),
        ("codel ce_threshold 0", "codel ce_threshold 0ms"),
        (
            "codel interval 10ms ecn interval 20ms noecn",
            "codel interval 20ms",
        ),
        (
            "fq_codel flows 010 quantum 0400 drop_batch +5",
            "fq_codel flows 8 quantum 256 drop_batch 5",
        ),
        (
            "pie alpha 010 beta 0x10 limit 020",
            "pie alpha 8 beta 16 limit 16",
        ),
        ("pie bytemode nobytemode", "pie"),
        ("pfifo limit 0100", "pfifo limit 100"), // a size, which is decimal
        ("pfifo limit 1.5 limit 1e3", "pfifo limit 1000"),
        ("pfifo limit 100kb", "pfifo limit 102400"),
        ("bfifo limit 0x100b", "bfifo limit 4107"),
        (
            "red limit 400000 limit 60kb avpkt 0x3e8",
            "red limit 60kb avpkt 1000",
        ),
        (
            "red limit 60kb avpkt 600 min 9000 max 9000 burst 020",
            "red limit 60kb min 9000b max 9000b avpkt 600 burst 16",
        ),
        ("prio bands +5", "prio bands 5"),
        ("prio bands 010", "prio bands 10"), // decimal here
        (
            "prio priomap 2 bands 5 4",
            "prio bands 5 priomap 2 4 2 2 1 2 0 0 1 1 1 1 1 1 1 1",
        ),
        (
            "htb r2q 010 default 010 default 0x1F",
            "htb r2q 10 default 1f",
        ),
        ("htb def 5 dir 0", "htb default 5 direct_qlen 0"),
        (
            "tbf rate 1mbit bu 5kb la 50ms",
            "tbf rate 1mbit burst 5kb latency 50ms",
        ),
    ] {
        assert_eq!(json(text), json(same), "{text}");
        assert_eq!(json(&parse(text).unwrap().to_string()), json(text));
    }
    // Of words that tc compares whole, a beginning is none.
    for text in [
        "codel lim 5",
        "pie targ 5ms",
        "tbf rat 1mbit burst 5kb limit 1kb",
        "pfifo li 5",
    ] {
        assert!(
            matches!(refused(text), QdiscError::UnknownWord { .. }),
            "{text}"
        );
    }
}

#[test]
fn what_tc_takes_and_would_be_another_is_refused_with_the_reason() {
    for (text, reason) in [
        ("codel limit 0", Reason::Ignored),
        ("codel target 0ms", Reason::Ignored),
        ("codel target .5us", Reason::Ignored),
        ("codel interval -1s", Reason::Wraps),
        ("codel ce_threshold 4294967295", Reason::Ignored),
        ("codel limit -18446744073709551615", Reason::Wraps),
        ("pie alpha 0", Reason::Ignored),
        ("fq_codel quantum 255", Reason::Replaced),
        ("fq_codel memory_limit 3gb", Reason::Replaced),
        ("fq_codel memory_limit 0", Reason::DropsAll),
        ("fq_codel ce_threshold_selector 255/3", Reason::Ignored),
        ("fq_codel ce_threshold_selector 1/0", Reason::Ignored),
        ("pfifo limit 0", Reason::DropsAll),
        ("htb r2q 0", Reason::Replaced),
        ("htb r2q 2147483648", Reason::Replaced),
        ("htb default 10000", Reason::Wraps),
        ("htb direct_qlen 4294967295", Reason::Ignored),
        ("tbf rate 5% burst 5kb limit 1kb", Reason::NeedsDevice),
        ("tbf rate 1mbit burst 5kb/8 limit 1kb", Reason::Ignored),
        ("tbf rate 1gbit burst 5kb latency 100s", Reason::Wraps),
        ("tbf rate 1mbit burst 5kb limit 1kb mtu 0", Reason::Ignored),
        ("tbf rate 7bit burst 5kb limit 1kb", Reason::Ignored), // no whole byte per second
        (
            "tbf rate 1mbit burst 5kb limit 1kb latency -0",
            Reason::Ignored,
        ),
        ("red limit 60kb avpkt 600 min 0", Reason::Ignored),
        ("red limit 60kb avpkt 600 probability 1", Reason::Wraps),
        (
            "red limit 60kb avpkt 600 probability 0.02x",
            Reason::Ignored,
        ),
        (
            "red limit 60kb avpkt 600 probability 0.1234567895",
            Reason::TooFine,
        ),
        ("red limit 60kb avpkt 600 bandwidth 10gbit", Reason::NoTime),
        ("red limit 60kb avpkt 600 bandwidth 0", Reason::Ignored),
        ("red limit 60kb avpkt 600 min 2gb", Reason::Wraps),
    ] {
        let error = refused(text);
        assert_eq!(error.reason(), Some(reason), "{text}: {error}");
        assert!(error.to_string().contains(&reason.to_string()), "{error}");
    }
}

#[test]
fn a_bandwidth_at_which_a_packet_takes_no_time_names_the_fastest_that_will_do() {
    let error = refused("red limit 60kb avpkt 858 bandwidth 8217065680bit");
    assert_eq!(error.reason(), Some(Reason::NoTime));
    assert!(
        error
            .to_string()
            .contains("at most one avpkt per microsecond, 6864mbit"),
        "{error}"
    );
    assert!(crate::parse_qdisc("red limit 60kb avpkt 858 bandwidth 6864mbit").is_ok());
}

#[test]
fn a_burst_without_an_averaging_weight_is_told_from_bad_thresholds() {
    for (text, value, allowed) in [
        // The excess of the burst over min equals what the smallest weight lets pass: tc rounds.
        (
            "red limit 82346 min 1040 max 4160 avpkt 1040 burst 20",
            "burst 20",
            "1 with this min, max and avpkt; a larger min allows more",
        ),
        (
            "red limit 60000 min 5000 max 15000 avpkt 1000 burst 4",
            "burst 4",
            "5 to 1025 with this min, max and avpkt; a larger min allows more",
        ),
        (
            "red limit 60000 min 500 max 15000 avpkt 1000 burst 3",
            "min 500",
            "more than avpkt (1000 bytes)",
        ),
    ] {
        let error = refused(text);
        assert_eq!(error.reason(), Some(Reason::NoWeight), "{error}");
        assert_eq!(error.value(), value);
        assert_eq!(error.allowed(), allowed);
    }
    let error = refused("red limit 60000 min 5000 max 1gb avpkt 1000 burst 5");
    assert_eq!((error.value(), error.reason()), ("1073741824", None));
}

#[test]
fn the_bursts_that_a_refusal_names_are_taken() {
    for (min, avpkt) in [(5000, 1000), (1041, 1040), (9000, 600), (100_000, 64)] {
        let red = |burst: u32| {
            parse(&format!(
                "red limit 1mb min {min} max 200000 avpkt {avpkt} burst {burst}"
            ))
        };
        let error = red(1_000_000).expect_err("too many");
        let range = error.allowed().split(" with").next().expect("a range");
        let (least, most) = range.split_once(" to ").expect("two ends");
        let (least, most): (u32, u32) = (least.parse().unwrap(), most.parse().unwrap());
        for burst in [least, most] {
            red(burst).unwrap_or_else(|error| panic!("{error}"));
        }
        for burst in [least - 1, most + 1] {
            let error = red(burst).expect_err("outside");
            assert_eq!(error.reason(), Some(Reason::NoWeight), "{error}");
        }
    }
}

#[test]
fn what_may_be_meant_otherwise_is_noted() {
    let notes = |text: &str| -> Vec<String> {
        let (_, notices) = parse_noting(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        notices.iter().map(Notice::to_string).collect()
    };
    assert_eq!(
        notes("netem rate 10Mbps delay 5 2"),
        [
            "\"10Mbps\" is 80mbit: in tc, bps means bytes per second; for bits write \"10Mbit\"",
            "\"5\" is 5us: tc reads a time without unit in microseconds; for milliseconds write \"5ms\"",
            "\"2\" is 2us: tc reads a time without unit in microseconds; for milliseconds write \"2ms\"",
        ]
    );
    assert_eq!(
        notes("fq_codel target 5 ce_threshold 0 interval 100ms").len(),
        1
    );
    assert_eq!(
        notes("pfifo limit 100kb"),
        [
            "\"100kb\" is 102400: tc multiplies a number of packets by its unit; for packets write \"100\""
        ]
    );
    assert!(notes("tbf rate 1mbit burst 5kb latency 50ms").is_empty());
    let tree = "root handle 1: htb; class add parent 1: classid 1:1 htb rate 1mbps ceil 2mbps
                parent 1:1 codel target 5";
    assert_eq!(notes(tree).len(), 3);
    let (_, of_police) = super::parse_police_noting("rate 1mbps burst 5kb drop").unwrap();
    assert_eq!(of_police.len(), 1);
}

#[test]
fn messages_do_not_drive_terminals() {
    for error in [
        Qdisc::from_json(r#"{"kind":"\u001b[2J"}"#).unwrap_err(),
        refused("\u{1b}[2J"),
        refused("netem rate 1\u{1b}[2J"),
    ] {
        assert!(!error.to_string().contains(char::is_control), "{error:?}");
    }
}

#[test]
fn json_is_checked() {
    use QdiscError as E;
    assert_eq!(
        Qdisc::from_json(r#"{"limit_packets":7,"kind":"pfifo"}"#),
        Ok(Qdisc::Pfifo(Pfifo { limit_packets: 7 }))
    );
    for json in [
        "",
        "[]",
        "{}",
        r#"{"kind":"cake"}"#,
        r#"{"kind":"pfifo"}"#,
        r#"{"kind":"pfifo","limit_packets":-1}"#,
        r#"{"kind":"pfifo","limit_packets":4294967296}"#,
        r#"{"kind":"pfifo","limit_packets":1.5}"#,
        r#"{"kind":"pfifo","limit_packets":1,"limit_packets":2}"#,
        r#"{"kind":"pfifo","limit_packets":1,"limit_bytes":2}"#,
        r#"{"kind":"netem","limit_packets":1,"delay_ns":0}"#,
    ] {
        assert!(
            matches!(Qdisc::from_json(json), Err(E::BadJson { .. })),
            "{json}"
        );
    }
    for json in [
        r#"{"kind":"pfifo","limit_packets":0}"#,
        r#"{"kind":"bfifo","limit_bytes":0}"#,
    ] {
        assert!(
            matches!(Qdisc::from_json(json), Err(E::OutOfRange { .. })),
            "{json}"
        );
    }
}

#[test]
fn flags_and_further_arguments_have_their_usage() {
    let flag = Parameter {
        name: "ecn",
        aliases: &["noecn", "no_ecn"],
        ..LIKE_ANY
    };
    assert_eq!(flag.usage(), "ecn | noecn | no_ecn");
    assert!(flag.is_set_by("ecn"));
    assert!(!flag.is_set_by("noecn") && !flag.is_set_by("no_ecn"));
    static WITH_FURTHER: &[Parameter] = &[
        Parameter {
            name: "delay",
            argument: "TIME",
            ..LIKE_ANY
        },
        Parameter {
            name: "delay TIME",
            argument: "JITTER",
            ..LIKE_ANY
        },
        Parameter {
            name: "delay TIME JITTER",
            argument: "CORRELATION",
            ..LIKE_ANY
        },
        Parameter {
            name: "noise",
            argument: "",
            ..LIKE_ANY
        },
    ];
    const LIKE_ANY: Parameter = Parameter {
        name: "",
        aliases: &[],
        argument: "",
        key: "",
        unit: "",
        default: Value::Nothing,
        default_source: "",
        range: "",
        bounds: Bounds::NONE,
        effect: "",
    };
    let discipline = Discipline {
        name: "any",
        summary: "",
        source: "",
        parameters: WITH_FURTHER,
        not_implemented: &[],
        once: &[],
        abbreviated: &[],
    };
    assert_eq!(
        discipline.usage(),
        "any [ delay TIME [ JITTER [ CORRELATION ] ] ] [ noise ]"
    );
    // A name that begins with no is no negation.
    assert!(WITH_FURTHER[3].is_set_by("noise"));
}

/// The table is documentation: what it says must be what the code does.
#[test]
fn the_table_agrees_with_the_code() {
    for discipline in disciplines() {
        let shortest = parse(&discipline.example()).unwrap();
        assert_eq!(shortest.discipline(), discipline);
        let value: serde_json::Value = serde_json::from_str(&shortest.to_json()).unwrap();
        let parameters = discipline.parameters.iter();
        let mut expected: Vec<&str> = parameters.map(|parameter| parameter.key).collect();
        expected.extend(["kind"]);
        let structure = ["child", "children", "classes", "filters"];
        for key in value.as_object().unwrap().keys() {
            let known = expected.contains(&key.as_str()) || structure.contains(&key.as_str());
            assert!(known, "{} {key}", discipline.name);
        }
        for parameter in discipline.parameters {
            let is_required =
                parameter.is_required() || discipline.alternative_to(parameter).is_some();
            let default = serde_json::to_value(parameter.default).unwrap();
            assert!(
                is_required || value[parameter.key] == default,
                "{}",
                parameter.key
            );
            for word in [&[parameter.name], parameter.aliases].concat() {
                // 8 is a count, a size, a rate and a time. The word is known, even where a
                // parameter is there already, or needs another.
                let number = if parameter.is_flag() { "" } else { "8" };
                let text = format!("{} {word} {number}", discipline.example());
                let answer = parse(&text);
                let refusal = matches!(
                    answer,
                    Err(QdiscError::UnknownWord { .. } | QdiscError::WordNotImplemented { .. })
                );
                assert!(!refusal, "{text}: {answer:?}");
            }
            // What is required cannot be left out.
            if parameter.is_required() {
                let words = format!("{} ", discipline.example());
                let without = words.replace(&format!(" {} ", parameter.name), " ");
                assert!(parse(&without).is_err(), "{without}");
            }
        }
        for word in discipline.not_implemented {
            let error = refused(&format!("{} {word} 1", discipline.name));
            assert!(
                matches!(error, QdiscError::WordNotImplemented { .. }),
                "{word}"
            );
        }
        assert!(!NOT_IMPLEMENTED.contains(&discipline.name));
    }
}

/// The messages of tc from the same texts name the same words (iproute2 6.1, `q_tbf.c`).
#[test]
fn tbf_says_what_is_missing_or_too_much() {
    for (text, expected) in [
        ("tbf burst 10kb limit 1kb", "tbf: rate is required; "),
        ("tbf rate 1mbit limit 10kb", "tbf: burst is required; "),
        (
            "tbf rate 1mbit burst 10kb",
            "tbf: limit or latency is required; ",
        ),
        (
            "tbf rate 1mbit burst 10kb limit 1kb latency 1ms",
            "tbf takes either limit or latency, not both; ",
        ),
        (
            "tbf rate 1mbit burst 10kb limit 1kb peakrate 2mbit",
            "tbf: mtu is required with peakrate; ",
        ),
        (
            "tbf rate 1mbit burst 10kb limit 1kb peakrate 1mbit mtu 1500",
            "tbf peakrate: \"1000000\" is out of range; allowed: above rate",
        ),
        (
            "tbf rate 1mbit burst 10kb latency 0",
            "tbf latency: \"0\": tc or the kernel ignores it; ",
        ),
        (
            "tbf rate 1gbit burst 10kb latency 100s",
            "tbf latency: \"100000000us\": it does not fit, and tc or the kernel would use another number",
        ),
        (
            "tbf rate 1mbit burst 10kb brust 1kb",
            "tbf has no parameter \"brust\"; ",
        ),
    ] {
        let message = refused(text).to_string();
        assert!(message.starts_with(expected), "{text}: {message}");
    }
    assert!(refused("tbf").allowed().starts_with(
        "tbf rate RATE burst SIZE { limit SIZE | latency TIME } [ peakrate RATE ] [ mtu SIZE ]"
    ));
    // mtu alone is taken, as tc takes it.
    parse("tbf rate 1mbit burst 10kb limit 1kb mtu 1500").unwrap();
}
