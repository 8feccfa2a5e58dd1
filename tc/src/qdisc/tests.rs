//! The grammar by example; properties and fuzzing are in `tests/`.

use super::*;

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
            "pfifo limit 1000p",
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
            "netem",
            r#"{"kind":"netem","limit_packets":1000,"delay_ns":0,"rate_bps":0}"#,
        ),
        (
            "netem rate 1000kbit",
            r#"{"kind":"netem","limit_packets":1000,"delay_ns":0,"rate_bps":1000000}"#,
        ),
        (
            "  netem\trate 1mbps  delay 100\n limit 10 ",
            r#"{"kind":"netem","limit_packets":10,"delay_ns":100000,"rate_bps":8000000}"#,
        ),
        (
            "netem latency 2.5ms",
            r#"{"kind":"netem","limit_packets":1000,"delay_ns":2500000,"rate_bps":0}"#,
        ),
        // 4166.66 bytes/s: the kernel holds 4166.
        (
            "netem rate 33.3333kbit",
            r#"{"kind":"netem","limit_packets":1000,"delay_ns":0,"rate_bps":33328}"#,
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
            "netem rate 6.55mbit delay 1500",
            "netem limit 1000 delay 1.5ms rate 6550kbit",
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
    let error = refused("tbf rate 6.55mbit limit 2mb burst 10kb");
    assert!(matches!(error, E::DisciplineNotImplemented { .. }));
    assert_eq!(
        error.to_string(),
        "queue discipline \"tbf\" is not implemented yet; implemented: pfifo [ limit PACKETS ]; \
         bfifo [ limit SIZE ]; netem [ limit PACKETS ] [ delay TIME ] [ rate RATE ]"
    );
    assert!(matches!(refused(" \n"), E::Empty { .. }));
    assert!(matches!(refused(&"pfifo ".repeat(1000)), E::TooLong { .. }));
}

#[test]
fn a_whole_command_is_answered_with_its_end() {
    let error = refused("sudo tc qdisc replace dev eth2 root netem rate 1000kbit");
    assert_eq!(error.hint(), Some("netem rate 1000kbit"));
    assert_eq!(
        refused("tc qdisc add dev eth2 root tbf rate 1mbit").hint(),
        None
    );
}

#[test]
fn unknown_missing_and_repeated_words() {
    use QdiscError as E;
    let error = refused("netem dely 10ms");
    assert!(matches!(error, E::UnknownWord { .. }));
    assert_eq!(
        error.to_string(),
        "netem has no parameter \"dely\"; allowed: netem [ limit PACKETS ] [ delay TIME ] \
         [ rate RATE ]; did you mean \"delay\"?"
    );
    assert_eq!(refused("pfifo lim 5").hint(), Some("limit"));
    assert!(matches!(refused("pfifo 50"), E::UnknownWord { .. }));
    let error = refused("netem delay");
    assert!(matches!(error, E::MissingValue { .. }));
    assert_eq!((error.value(), error.allowed()), ("delay", "delay TIME"));
    assert!(matches!(
        refused("netem limit 5 limit 6"),
        E::Repeated { .. }
    ));
    assert!(matches!(
        refused("netem delay 1ms latency 1ms"),
        E::Repeated { .. }
    ));
}

#[test]
fn netem_words_to_come() {
    for text in [
        "netem loss 1%",
        "netem jitter 1ms",
        "netem delay 10ms 2ms",
        "netem rate 1mbit -20",
        "netem delay 10ms reorder 25%",
        "netem slot 1ms",
    ] {
        let error = refused(text);
        assert!(
            matches!(error, QdiscError::WordNotImplemented { .. }),
            "{text}: {error}"
        );
        assert!(error.to_string().contains("not implemented yet"));
    }
    assert_eq!(refused("netem delay 10ms 2ms").value(), "jitter 2ms");
}

#[test]
fn values_out_of_range_or_no_values() {
    use QdiscError as E;
    for text in [
        "pfifo limit 0",
        "pfifo limit 4294967296",
        "pfifo limit 99999999999999999999999",
        "bfifo limit 0",
        "bfifo limit 4gb",
        "netem limit 0",
        "netem rate 7bit", // no whole byte per second
        "netem delay 9223372036854775808ns",
    ] {
        assert!(matches!(refused(text), E::OutOfRange { .. }), "{text}");
    }
    for text in [
        "bfifo limit 10xb",
        "netem rate 0",
        "netem rate 5%",
        "netem delay -5ms",
    ] {
        assert!(matches!(refused(text), E::BadUnit { .. }), "{text}");
    }
    for text in [
        "pfifo limit 100kb",
        "pfifo limit -1",
        "pfifo limit 1.5",
        "pfifo limit p",
    ] {
        assert!(matches!(refused(text), E::NotACount { .. }), "{text}");
    }
    assert_eq!(refused("pfifo limit 100kb").hint(), Some("100"));
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
        r#"{"kind":"tbf"}"#,
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
        r#"{"kind":"netem","limit_packets":0,"delay_ns":0,"rate_bps":0}"#,
        r#"{"kind":"netem","limit_packets":1,"delay_ns":9223372036854775808,"rate_bps":0}"#,
        r#"{"kind":"netem","limit_packets":1,"delay_ns":0,"rate_bps":1000001}"#,
    ] {
        assert!(
            matches!(Qdisc::from_json(json), Err(E::OutOfRange { .. })),
            "{json}"
        );
    }
}

/// The table is documentation: what it says must be what the code does.
#[test]
fn the_table_agrees_with_the_code() {
    for discipline in disciplines() {
        let defaults = parse(discipline.name).unwrap();
        assert_eq!(defaults.discipline(), discipline);
        let value: serde_json::Value = serde_json::from_str(&defaults.to_json()).unwrap();
        let object = value.as_object().unwrap();
        assert_eq!(object.len(), 1 + discipline.parameters.len());
        for parameter in discipline.parameters {
            assert_eq!(
                object[parameter.key], parameter.default,
                "{}",
                parameter.key
            );
            for word in [&[parameter.name], parameter.aliases].concat() {
                // 8 is a count, a size, a rate and a time.
                parse(&format!("{} {word} 8", discipline.name)).unwrap();
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
