//! Sizes, rates and times as tc(8) writes them.
//!
//! | quantity | result | units | bare number in tc text |
//! | --- | --- | --- | --- |
//! | size | bytes | [`SIZE_UNITS`]: powers of 1024, `kbit` = 128 bytes | bytes |
//! | rate | bit/s | [`RATE_UNITS`]: `kbit` = 1000, `kibit` = 1024, `kbps` = 1000 **bytes**/s | bit/s |
//! | time | ns | [`TIME_UNITS`] | microseconds |
//! | percentage | parts per billion | `%`, only in tc text | per cent |
//!
//! Case does not matter (`512B`, `10Kb`), as in tc. Two ways to enter a value: where a unit is
//! required ([`parse_size_bytes`], [`parse_rate_bps`], [`parse_time_ns`]), and as inside tc text
//! ([`parse_size_bytes_in_tc`], ...), where a bare number has tc's default unit.
//!
//! Differences from iproute2, all on purpose:
//! - arithmetic is exact: tc multiplies doubles, so that its `2.01ms` is 2009999 ns. As in tc,
//!   a remaining fraction of a byte, bit/s or nanosecond is cut off;
//! - a value that is not zero but would become zero is refused (`0.1ns`), and so is a rate of 0;
//! - negative numbers, `nan`, `inf`, hexadecimal and overflow are refused (tc wraps some).

mod error;

pub use error::UnitError;
pub(crate) use error::{did_you_mean, shortened};

use crate::decimal::{Decimal, NumberError};
use crate::nearest::nearest;

/// The longest text read as one value.
pub const MAX_VALUE_BYTES: usize = 256;

/// A unit and what one of it is in the quantity's base unit (bytes, bit/s, ns).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// As typed, in lower case.
    pub name: &'static str,
    /// Bytes, bit/s or nanoseconds in one.
    pub scale: u64,
}

const fn unit(name: &'static str, scale: u64) -> Unit {
    Unit { name, scale }
}

const KIBI: u64 = 1 << 10;
const MEBI: u64 = 1 << 20;
const GIBI: u64 = 1 << 30;
const TEBI: u64 = 1 << 40;

/// Units of size, in bytes (iproute2 `get_size64`). `kbit` is 1024 bits, 128 bytes.
pub const SIZE_UNITS: &[Unit] = &[
    unit("b", 1),
    unit("k", KIBI),
    unit("kb", KIBI),
    unit("m", MEBI),
    unit("mb", MEBI),
    unit("g", GIBI),
    unit("gb", GIBI),
    unit("kbit", KIBI / 8),
    unit("mbit", MEBI / 8),
    unit("gbit", GIBI / 8),
];

/// Units of rate, in bit/s (iproute2 `get_rate64`). `bps` is **bytes** per second.
pub const RATE_UNITS: &[Unit] = &[
    unit("bit", 1),
    unit("kbit", 1_000),
    unit("mbit", 1_000_000),
    unit("gbit", 1_000_000_000),
    unit("tbit", 1_000_000_000_000),
    unit("kibit", KIBI),
    unit("mibit", MEBI),
    unit("gibit", GIBI),
    unit("tibit", TEBI),
    unit("bps", 8),
    unit("kbps", 8_000),
    unit("mbps", 8_000_000),
    unit("gbps", 8_000_000_000),
    unit("tbps", 8_000_000_000_000),
    unit("kibps", 8 * KIBI),
    unit("mibps", 8 * MEBI),
    unit("gibps", 8 * GIBI),
    unit("tibps", 8 * TEBI),
];

/// Units of time, in nanoseconds (iproute2 `get_time64`).
pub const TIME_UNITS: &[Unit] = &[
    unit("s", 1_000_000_000),
    unit("sec", 1_000_000_000),
    unit("secs", 1_000_000_000),
    unit("ms", 1_000_000),
    unit("msec", 1_000_000),
    unit("msecs", 1_000_000),
    unit("us", 1_000),
    unit("usec", 1_000),
    unit("usecs", 1_000),
    unit("ns", 1),
    unit("nsec", 1),
    unit("nsecs", 1),
];

/// One of the three quantities: how it is read and explained.
struct Quantity {
    name: &'static str,
    units: &'static [Unit],
    /// What a bare number counts inside tc text.
    bare: Unit,
    /// What a hint appends to a bare number; none where guessing would be reckless.
    suggested: Option<&'static str>,
    /// What an error says is allowed.
    allowed: &'static str,
    zero: bool,
    /// Units other systems use, with ours.
    foreign: &'static [(&'static str, &'static str)],
}

const SIZE: Quantity = Quantity {
    name: "size",
    units: SIZE_UNITS,
    bare: SIZE_UNITS[0],
    suggested: Some("b"),
    allowed: "a number with a unit: b, k or kb, m or mb, g or gb (powers of 1024 bytes), \
              kbit, mbit, gbit (powers of 1024 bits), such as 512b or 10kb",
    zero: true,
    foreign: &[
        ("byte", "b"),
        ("bytes", "b"),
        ("kib", "kb"),
        ("mib", "mb"),
        ("gib", "gb"),
    ],
};

const RATE: Quantity = Quantity {
    name: "rate",
    units: RATE_UNITS,
    bare: RATE_UNITS[0],
    suggested: Some("bit"),
    allowed: "a number above 0 with a unit: bit, kbit, mbit, gbit, tbit (powers of 1000 bit/s), \
              kibit, mibit, gibit, tibit (of 1024), or bytes per second bps, kbps, mbps, gbps, \
              tbps, kibps, mibps, gibps, tibps, such as 6.55mbit",
    zero: false,
    foreign: &[
        ("bit/s", "bit"),
        ("kbit/s", "kbit"),
        ("mbit/s", "mbit"),
        ("gbit/s", "gbit"),
        ("kb/s", "kbps"),
        ("mb/s", "mbps"),
        ("gb/s", "gbps"),
        ("k", "kbit"),
        ("m", "mbit"),
        ("g", "gbit"),
    ],
};

const TIME: Quantity = Quantity {
    name: "time",
    units: TIME_UNITS,
    bare: unit("us", 1_000),
    suggested: None,
    allowed: "a number with a unit: s, ms, us or ns (also sec, msec, usec, nsec), \
              such as 200ms or 1.5s",
    zero: true,
    foreign: &[
        ("second", "s"),
        ("seconds", "s"),
        ("\u{b5}s", "us"),  // micro sign
        ("\u{3bc}s", "us"), // Greek mu
    ],
};

const PERCENTAGE: Quantity = Quantity {
    name: "percentage",
    units: &[PERCENT],
    bare: PERCENT,
    suggested: None,
    allowed: "a number from 0 to 100, such as 0.5 or 0.5%",
    zero: true,
    foreign: &[("percent", "%")],
};

/// One per cent, in parts per billion.
const PERCENT: Unit = unit("%", 10_000_000);

/// Whether a bare number is a mistake or has tc's default unit.
#[derive(Clone, Copy)]
enum Entry {
    UnitRequired,
    InTc,
}

/// Bytes of a size with its unit: `512B`, `10kb` (10240), `1mbit` (131072).
///
/// # Errors
/// [`UnitError`]: no unit, unknown unit, negative, not finite, above `u64::MAX` bytes, or a
/// fraction of a byte only.
pub fn parse_size_bytes(text: &str) -> Result<u64, UnitError> {
    parse(text, &SIZE, Entry::UnitRequired)
}

/// Bit/s of a rate with its unit: `6.55mbit`, `1kbps` (8000). Always above 0.
///
/// # Errors
/// [`UnitError`]: as for sizes, and for a rate of 0.
pub fn parse_rate_bps(text: &str) -> Result<u64, UnitError> {
    parse(text, &RATE, Entry::UnitRequired)
}

/// Nanoseconds of a time with its unit: `200ms`, `1.5s`, `5us`, `10ns`.
///
/// # Errors
/// [`UnitError`]: as for sizes.
pub fn parse_time_ns(text: &str) -> Result<u64, UnitError> {
    parse(text, &TIME, Entry::UnitRequired)
}

/// As [`parse_size_bytes`]; a bare number is bytes.
///
/// # Errors
/// As there, without [`UnitError::UnitMissing`].
pub fn parse_size_bytes_in_tc(text: &str) -> Result<u64, UnitError> {
    parse(text, &SIZE, Entry::InTc)
}

/// As [`parse_rate_bps`]; a bare number is bit/s.
///
/// # Errors
/// As there, without [`UnitError::UnitMissing`].
pub fn parse_rate_bps_in_tc(text: &str) -> Result<u64, UnitError> {
    parse(text, &RATE, Entry::InTc)
}

/// As [`parse_time_ns`]; a bare number is **microseconds**.
///
/// # Errors
/// As there, without [`UnitError::UnitMissing`].
pub fn parse_time_ns_in_tc(text: &str) -> Result<u64, UnitError> {
    parse(text, &TIME, Entry::InTc)
}

/// An error of one variant about `text`.
macro_rules! refused {
    ($variant:ident, $quantity:expr, $text:expr, $hint:expr) => {
        UnitError::$variant {
            quantity: $quantity.name,
            value: shortened($text),
            allowed: $quantity.allowed.to_owned(),
            hint: $hint,
        }
    };
}

/// Parts per billion of a percentage from 0% to 100%, with or without its sign (iproute2
/// `parse_percent`): `0.5%` and `0.5` are 5000000.
///
/// # Errors
/// As for sizes, without [`UnitError::UnitMissing`]; and for more than 100%.
pub fn parse_percent_ppb_in_tc(text: &str) -> Result<u64, UnitError> {
    match parse(text, &PERCENTAGE, Entry::InTc)? {
        ppb if ppb > 100 * PERCENT.scale => Err(refused!(OutOfRange, PERCENTAGE, text, None)),
        ppb => Ok(ppb),
    }
}

fn parse(text: &str, quantity: &Quantity, entry: Entry) -> Result<u64, UnitError> {
    let text = text.trim_ascii();
    if text.is_empty() {
        return Err(refused!(Empty, quantity, text, None));
    }
    if text.len() > MAX_VALUE_BYTES {
        return Err(refused!(TooLong, quantity, text, None));
    }
    let (number, unit_text) = Decimal::split_from(text).map_err(|error| match error {
        NumberError::NotANumber => refused!(NotANumber, quantity, text, None),
        NumberError::Negative => refused!(Negative, quantity, text, None),
        NumberError::TooManyDigits => refused!(TooLong, quantity, text, None),
    })?;
    let unit = match (unit_text, entry) {
        ("", Entry::InTc) => quantity.bare,
        ("", Entry::UnitRequired) => {
            let hint = quantity.suggested.map(|unit| format!("{text}{unit}"));
            return Err(refused!(UnitMissing, quantity, text, hint));
        }
        (name, _) => find_unit(quantity, name).ok_or_else(|| {
            refused!(UnknownUnit, quantity, text, unit_hint(quantity, text, name))
        })?,
    };
    scaled(number, unit, quantity).ok_or_else(|| refused!(OutOfRange, quantity, text, None))
}

/// The value in the base unit, if it is within the quantity's range.
fn scaled(number: Decimal, unit: Unit, quantity: &Quantity) -> Option<u64> {
    let product = number.times(unit.scale)?;
    let zero_allowed = quantity.zero && number.is_zero();
    (product.whole > 0 || zero_allowed).then_some(product.whole)
}

fn find_unit(quantity: &Quantity, text: &str) -> Option<Unit> {
    let same = |unit: &&Unit| unit.name.eq_ignore_ascii_case(text);
    quantity.units.iter().find(same).copied()
}

/// `text` with the unit that was probably meant: `10mbits` gives `10mbit`.
fn unit_hint(quantity: &Quantity, text: &str, unit_text: &str) -> Option<String> {
    let number = text.strip_suffix(unit_text)?;
    let meant = unit_text.trim_start();
    let foreign = |(name, _): &&(&str, &str)| name.eq_ignore_ascii_case(meant);
    let unit = find_unit(quantity, meant)
        .map(|unit| unit.name)
        .or_else(|| quantity.foreign.iter().find(foreign).map(|(_, ours)| *ours))
        .or_else(|| nearest(meant, quantity.units.iter().map(|unit| unit.name)))?;
    Some(format!("{number}{unit}"))
}

/// A size as tc takes it, such as `10kb`: a whole number of the largest unit that gives it
/// exactly. [`parse_size_bytes`] reads it back.
pub fn format_size(size_bytes: u64) -> String {
    const UNITS: [Unit; 4] = [
        unit("gb", GIBI),
        unit("mb", MEBI),
        unit("kb", KIBI),
        unit("b", 1),
    ];
    whole_number_of(size_bytes, &UNITS)
}

/// A rate as tc takes it, such as `6550kbit`: a whole number of the largest unit (of 1000) that
/// gives it exactly. [`parse_rate_bps`] reads back every rate but 0, which is no rate.
pub fn format_rate(rate_bps: u64) -> String {
    const UNITS: [Unit; 5] = [
        RATE_UNITS[4],
        RATE_UNITS[3],
        RATE_UNITS[2],
        RATE_UNITS[1],
        RATE_UNITS[0],
    ];
    whole_number_of(rate_bps, &UNITS)
}

/// A time as tc takes it, such as `200ms` or `1.5ms`: three digits as tc prints them where
/// that is exact, otherwise a whole number of the largest unit that is (`12345us`).
/// [`parse_time_ns`] reads it back.
///
/// tc reads `ns` in few places before 2024 (not for netem's delay: see [`crate::qdisc::Netem`]).
pub fn format_time(time_ns: u64) -> String {
    const UNITS: [Unit; 4] = [
        unit("s", 1_000_000_000),
        unit("ms", 1_000_000),
        unit("us", 1_000),
        unit("ns", 1),
    ];
    if time_ns == 0 {
        return "0s".to_owned();
    }
    three_digits(time_ns, &UNITS).unwrap_or_else(|| whole_number_of(time_ns, &UNITS))
}

/// A percentage as tc takes it, such as `0.5%`, exact.
pub fn format_percent(ppb: u32) -> String {
    let whole = u64::from(ppb) / PERCENT.scale;
    let fraction = format!("{:07}", u64::from(ppb) % PERCENT.scale);
    match fraction.trim_end_matches('0') {
        "" => format!("{whole}%"),
        digits => format!("{whole}.{digits}%"),
    }
}

/// `units` from the largest to the base unit.
fn whole_number_of(value: u64, units: &[Unit]) -> String {
    let exact = |unit: &&Unit| value >= unit.scale && value.is_multiple_of(unit.scale);
    match units.iter().find(exact).or(units.last()) {
        Some(unit) => format!("{}{}", value / unit.scale, unit.name),
        None => value.to_string(),
    }
}

/// The value with at most three significant digits (C's `%.3g`, as tc prints times), if that
/// is exact and tc reads it back.
fn three_digits(value: u64, units: &[Unit]) -> Option<String> {
    let unit = units.iter().find(|unit| value >= unit.scale)?;
    let decimals = match value / unit.scale {
        0..=9 => 2,
        10..=99 => 1,
        100..=999 => 0,
        _ => return None,
    };
    let text = format!("{:.*}", decimals, value as f64 / unit.scale as f64);
    let number = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    let exact = Decimal::split_from(number).ok()?.0.times(unit.scale)?;
    (exact.whole == value && !exact.truncated && tc_reads_time(number, *unit, value))
        .then(|| format!("{number}{}", unit.name))
}

/// Whether tc's arithmetic, a double whose fraction is cut off, gives the value. Where it does
/// in nanoseconds (`get_time64`) it also does in microseconds (`get_time`, with which tc before
/// 2024 reads netem's delay): `tests/properties.rs` tries every such time.
fn tc_reads_time(number: &str, unit: Unit, value_ns: u64) -> bool {
    number
        .parse::<f64>()
        .is_ok_and(|number| (number * unit.scale as f64) as u64 == value_ns)
}

#[cfg(test)]
mod tests {
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
        assert_eq!(parse_size_bytes_in_tc("51200"), Ok(51_200));
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
        assert_eq!(parse_rate_bps_in_tc("64000"), Ok(64_000));
    }

    #[test]
    fn times_are_nanoseconds_and_bare_numbers_in_tc_microseconds() {
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
        assert_eq!(parse_time_ns_in_tc("100"), Ok(100_000));
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
}
