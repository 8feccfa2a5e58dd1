//! Quantities by example.

use super::*;

#[test]
fn sizes_are_powers_of_1024_bytes() {
    for (text, bytes) in [
        ("512B", 512),
        ("512b", 512),
        ("0b", 0),
        ("10kb", 10_240),
        ("10K", 10_240),
        ("1.1kb", 1_126), // tc cuts off the fraction of a byte
        ("2mb", 2_097_152),
        ("1m", 1 << 20),
        ("1GB", 1 << 30),
        ("1g", 1 << 30),
        ("1kbit", 128),
        ("1mbit", 131_072),
        ("1gbit", 134_217_728),
        (" 1500b\n", 1500),
    ] {
        assert_eq!(parse_size_bytes(text), Ok(bytes), "{text}");
    }
}

#[test]
fn rates_are_bits_per_second_and_bps_is_bytes() {
    for (text, bps) in [
        ("1bit", 1),
        ("1000kbit", 1_000_000),
        ("1Mbit", 1_000_000),
        ("6.55mbit", 6_550_000),
        ("1gbit", 1_000_000_000),
        ("1tbit", 1_000_000_000_000),
        ("1kibit", 1_024),
        ("1Mibit", 1_048_576),
        ("1tibit", 1 << 40),
        ("1bps", 8),
        ("1kbps", 8_000),
        ("1KBps", 8_000),
        ("1mbps", 8_000_000),
        ("1KiBps", 8_192),
        ("1tibps", 8 << 40),
        ("1e3kbit", 1_000_000),
    ] {
        assert_eq!(parse_rate_bps(text), Ok(bps), "{text}");
    }
}

#[test]
fn times_are_nanoseconds() {
    for (text, ns) in [
        ("200ms", 200_000_000),
        ("1s", 1_000_000_000),
        ("1.5sec", 1_500_000_000),
        ("2SECS", 2_000_000_000),
        ("2.01msec", 2_010_000), // 2009999 by tc's doubles
        ("3msecs", 3_000_000),
        ("5us", 5_000),
        ("5usec", 5_000),
        ("5usecs", 5_000),
        ("10ns", 10),
        ("10nsec", 10),
        ("10nsecs", 10),
        ("0s", 0),
        ("1.5ns", 1),
    ] {
        assert_eq!(parse_time_ns(text), Ok(ns), "{text}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    use UnitError as E;
    assert!(matches!(parse_time_ns(" "), Err(E::Empty { .. })));
    assert!(matches!(
        parse_time_ns(&"1".repeat(5000)),
        Err(E::TooLong { .. })
    ));
    assert!(matches!(
        parse_time_ns(&"1".repeat(30)),
        Err(E::TooLong { .. })
    ));
    for text in [
        "nan",
        "NaNms",
        "inf",
        "infinityms",
        "ms",
        "0x10ms",
        "\u{664}ms",
    ] {
        assert!(
            matches!(parse_time_ns(text), Err(E::NotANumber { .. })),
            "{text}"
        );
    }
    assert!(matches!(parse_time_ns("-5ms"), Err(E::Negative { .. })));
    assert!(matches!(parse_time_ns("-infms"), Err(E::NotANumber { .. })));
    assert!(matches!(parse_time_ns("5"), Err(E::UnitMissing { .. })));
    assert!(matches!(parse_rate_bps("0"), Err(E::UnitMissing { .. })));
    assert!(matches!(parse_time_ns("5kb"), Err(E::UnknownUnit { .. })));
    assert!(matches!(parse_rate_bps("5%"), Err(E::UnknownUnit { .. })));
    for (text, parser) in [
        ("0mbit", parse_rate_bps as fn(&str) -> _),
        ("0.5bit", parse_rate_bps),
        ("1e30mbit", parse_rate_bps),
        ("18446744073709551616b", parse_size_bytes),
        ("18446744074s", parse_time_ns),
        ("0.1ns", parse_time_ns),
    ] {
        assert!(matches!(parser(text), Err(E::OutOfRange { .. })), "{text}");
    }
}

#[test]
fn hints_are_values_to_type() {
    let hint = |error: UnitError| error.hint().map(str::to_owned);
    let rate = |text| hint(parse_rate_bps(text).unwrap_err());
    assert_eq!(rate("10mbits").as_deref(), Some("10mbit"));
    assert_eq!(rate("10 mbit").as_deref(), Some("10mbit"));
    assert_eq!(rate("10Mbit/s").as_deref(), Some("10mbit"));
    assert_eq!(rate("1000000").as_deref(), Some("1000000bit"));
    assert_eq!(rate("5%"), None);
    // Never bytes per second, which hardly anybody means.
    for text in ["1 Mbps", "1mpbs", "1Mb/s", "1mbp", "1 mbPs"] {
        assert_eq!(rate(text).as_deref(), Some("1mbit"), "{text}");
    }
    assert_eq!(rate("1 KiBps").as_deref(), Some("1kibit"));
    assert_eq!(rate("1MB/s").as_deref(), Some("1mbps"));
    let size = |text| hint(parse_size_bytes(text).unwrap_err());
    assert_eq!(size("512").as_deref(), Some("512b"));
    assert_eq!(size("512 bytes").as_deref(), Some("512b"));
    assert_eq!(size("4KiB").as_deref(), Some("4kb"));
    let time = |text| hint(parse_time_ns(text).unwrap_err());
    assert_eq!(time("200mss").as_deref(), Some("200ms"));
    assert_eq!(time("5\u{b5}s").as_deref(), Some("5us"));
    assert_eq!(time("5"), None); // seconds? milliseconds? not for us to guess
}

#[test]
fn bytes_per_second_are_noted() {
    let notice = rate_notice(" 10Mbps").unwrap();
    assert_eq!(
        notice,
        Notice::BytesPerSecond {
            value: "10Mbps".to_owned(),
            means: "80mbit".to_owned(),
            instead: "10Mbit".to_owned(),
        }
    );
    assert_eq!(
        notice.to_string(),
        "\"10Mbps\" is 80mbit: in tc, bps means bytes per second; for bits write \"10Mbit\""
    );
    for text in ["10mbit", "1000bit", "bps", "10 Mbps", "10\u{fffd}bps"] {
        assert_eq!(rate_notice(text), None, "{text}");
    }
    assert_eq!(
        rate_notice("8bps")
            .map(|it| it.instead().to_owned())
            .as_deref(),
        Some("8bit")
    );
}

#[test]
fn errors_show_value_allowed_and_hint() {
    let error = parse_rate_bps("10mbits").unwrap_err();
    assert_eq!((error.quantity(), error.value()), ("rate", "10mbits"));
    let message = error.to_string();
    assert!(message.starts_with("rate \"10mbits\": no such unit; allowed: a number above 0"));
    assert!(message.ends_with("; did you mean \"10mbit\"?"), "{message}");
    let long = parse_size_bytes(&"\u{e9}".repeat(5000)).unwrap_err();
    assert!(long.to_string().len() < 600);
}

#[test]
fn formats_are_what_one_types() {
    for (bytes, text) in [
        (0, "0b"),
        (51_200, "50kb"),
        (1_514_000, "1514000b"),
        (2 << 20, "2mb"),
        (3 << 30, "3gb"),
        (1023, "1023b"),
    ] {
        assert_eq!(format_size(bytes), text);
    }
    for (bps, text) in [
        (0, "0bit"),
        (1_000_000, "1mbit"),
        (6_550_000, "6550kbit"),
        (1_234_567, "1234567bit"),
        (2_000_000_000_000, "2tbit"),
    ] {
        assert_eq!(format_rate(bps), text);
    }
    for (ns, text) in [
        (0, "0s"),
        (1, "1ns"),
        (999, "999ns"),
        (200_000_000, "200ms"),
        (1_500_000, "1.5ms"),
        (1_250_000_000, "1.25s"),
        (2_010_000, "2010us"), // tc would read 2.01ms as 2009999 ns
        (12_345_000, "12345us"),
        (1_500_001, "1500001ns"),
        (1_234_000_000_000, "1234s"),
    ] {
        assert_eq!(format_time(ns), text);
    }
}
