//! Sizes, rates and times as tc(8) writes them.
//!
//! | quantity | result | units | bare number in tc text |
//! | --- | --- | --- | --- |
//! | size | bytes | [`SIZE_UNITS`]: powers of 1024, `kbit` = 128 bytes | bytes |
//! | rate | bit/s | [`RATE_UNITS`]: `kbit` = 1000, `kibit` = 1024, `kbps` = 1000 **bytes**/s | bit/s |
//! | time | ns | [`TIME_UNITS`] | microseconds |
//! | percentage | parts per billion | `%`, only in tc text | per cent |
//!
//! Case does not matter (`512B`, `10Kb`), as in tc. Values are read in two ways:
//!
//! - as a quantity of its own, with its unit ([`parse_size_bytes`], [`parse_rate_bps`], [`parse_time_ns`]).
//!   Arithmetic is exact; a fraction of a byte, bit/s or nanosecond is truncated. Refused: a nonzero value
//!   that would become zero (`0.1ns`), a rate of 0, negative numbers, `nan`, `inf`, hexadecimal and overflow;
//! - inside tc text ([`in_tc`]), with the result of iproute2 6.1: a number of C's `strtod`, hexadecimal
//!   included, times its unit in doubles, so `2.01ms` is 2009 us.

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

mod error;
pub mod in_tc;
pub mod shown;

pub use error::UnitError;
pub(crate) use error::{did_you_mean, shortened};

use crate::decimal::{Decimal, NumberError};
use crate::nearest::nearest;
use crate::notice::Notice;

/// The longest text read as one value.
pub const MAX_VALUE_BYTES: usize = 256;

/// A unit and its size in the quantity's base unit (bytes, bit/s, ns).
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

/// One of the three quantities, with what is needed to parse it and explain errors.
struct Quantity {
    name: &'static str,
    units: &'static [Unit],
    /// The unit that a hint appends to a bare number; None if any guess could be badly wrong.
    suggested: Option<&'static str>,
    /// What an error says is allowed.
    allowed: &'static str,
    zero: bool,
    /// Units of other systems, with the equivalent units here.
    foreign: &'static [(&'static str, &'static str)],
}

const SIZE: Quantity = Quantity {
    name: "size",
    units: SIZE_UNITS,
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
        ("kb/s", "kbit"),
        ("mb/s", "mbit"),
        ("gb/s", "gbit"),
        ("kB/s", "kbps"),
        ("KB/s", "kbps"),
        ("MB/s", "mbps"),
        ("GB/s", "gbps"),
        ("k", "kbit"),
        ("m", "mbit"),
        ("g", "gbit"),
    ],
};

const TIME: Quantity = Quantity {
    name: "time",
    units: TIME_UNITS,
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

/// Bytes of a size with its unit: `512B`, `10kb` (10240), `1mbit` (131072).
///
/// # Errors
/// [`UnitError`]: no unit, unknown unit, negative, not finite, above `u64::MAX` bytes, or a
/// fraction of a byte only.
pub fn parse_size_bytes(text: &str) -> Result<u64, UnitError> {
    parse(text, &SIZE)
}

/// Bit/s of a rate with its unit: `6.55mbit`, `1kbps` (8000). Always above 0.
///
/// # Errors
/// [`UnitError`]: as for sizes, and for a rate of 0.
pub fn parse_rate_bps(text: &str) -> Result<u64, UnitError> {
    parse(text, &RATE)
}

/// Nanoseconds of a time with its unit: `200ms`, `1.5s`, `5us`, `10ns`.
///
/// # Errors
/// [`UnitError`]: as for sizes.
pub fn parse_time_ns(text: &str) -> Result<u64, UnitError> {
    parse(text, &TIME)
}

fn parse(text: &str, quantity: &Quantity) -> Result<u64, UnitError> {
    let text = trimmed(text, quantity)?;
    let (number, unit_text) = Decimal::split_from(text).map_err(|error| match error {
        NumberError::NotANumber => refused!(NotANumber, quantity, text, None),
        NumberError::Negative => refused!(Negative, quantity, text, None),
        NumberError::TooManyDigits => refused!(TooLong, quantity, text, None),
    })?;
    if unit_text.is_empty() {
        let hint = quantity.suggested.map(|unit| format!("{text}{unit}"));
        return Err(refused!(UnitMissing, quantity, text, hint));
    }
    let unit = known_unit(quantity, text, unit_text)?;
    scaled(number, unit, quantity).ok_or_else(|| refused!(OutOfRange, quantity, text, None))
}

/// Trims blanks; refuses empty and too long text.
fn trimmed<'a>(text: &'a str, quantity: &Quantity) -> Result<&'a str, UnitError> {
    let text = text.trim_ascii();
    match text.len() {
        0 => Err(refused!(Empty, quantity, text, None)),
        1..=MAX_VALUE_BYTES => Ok(text),
        _ => Err(refused!(TooLong, quantity, text, None)),
    }
}

/// The unit at the end of `text`.
fn known_unit(quantity: &Quantity, text: &str, unit_text: &str) -> Result<Unit, UnitError> {
    find_unit(quantity, unit_text).ok_or_else(|| {
        let hint = unit_hint(quantity, text, unit_text);
        refused!(UnknownUnit, quantity, text, hint)
    })
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

/// `text` with the probably intended unit: `10mbits` gives `10mbit`. Never one of `bps`, which most people
/// mean as bits: `1 Mbps` gives `1mbit`.
fn unit_hint(quantity: &Quantity, text: &str, unit_text: &str) -> Option<String> {
    let number = text.strip_suffix(unit_text)?;
    let meant = unit_text.trim_start();
    let unit = find_unit(quantity, meant)
        .map(|unit| unit.name)
        .or_else(|| foreign_unit(quantity, meant))
        .or_else(|| nearest(meant, quantity.units.iter().map(|unit| unit.name)))?;
    match meant.contains('/') {
        true => Some(format!("{number}{unit}")),
        false => Some(format!("{number}{}", in_bits(unit))),
    }
}

/// The equivalent of a foreign unit; an exact match of case is preferred.
fn foreign_unit(quantity: &Quantity, meant: &str) -> Option<&'static str> {
    let exact = quantity.foreign.iter().find(|(name, _)| *name == meant);
    let any_case = |(name, _): &&(&str, &str)| name.eq_ignore_ascii_case(meant);
    let found = exact.or_else(|| quantity.foreign.iter().find(any_case))?;
    Some(found.1)
}

/// The bit unit that corresponds to a unit in bytes per second: `mbit` for `mbps`.
fn in_bits(name: &str) -> String {
    match split_off_bps(name) {
        Some(prefix) => format!("{prefix}bit"),
        None => name.to_owned(),
    }
}

/// The prefix before `bps`, in any case.
fn split_off_bps(unit_text: &str) -> Option<&str> {
    let at = unit_text.len().checked_sub("bps".len())?;
    let end = unit_text.get(at..)?;
    end.eq_ignore_ascii_case("bps").then(|| &unit_text[..at])
}

/// The notice for a rate that [`parse_rate_bps`] reads: `bps` is bytes per second.
pub fn rate_notice(text: &str) -> Option<Notice> {
    let rate_bps = parse_rate_bps(text).ok()?;
    bytes_per_second(text.trim_ascii(), rate_bps)
}

/// The notice that a rate is in bytes per second, if it is.
fn bytes_per_second(text: &str, rate_bps: u64) -> Option<Notice> {
    let number_and_prefix = split_off_bps(text)?;
    Some(Notice::BytesPerSecond {
        value: text.to_owned(),
        means: format_rate(rate_bps),
        instead: format!("{number_and_prefix}bit"),
    })
}

/// Formats a size for tc, such as `10kb`: an integer of the largest unit that is exact. [`parse_size_bytes`]
/// reads it back.
pub fn format_size(size_bytes: u64) -> String {
    const UNITS: [Unit; 4] = [
        unit("gb", GIBI),
        unit("mb", MEBI),
        unit("kb", KIBI),
        unit("b", 1),
    ];
    whole_number_of(size_bytes, &UNITS)
}

/// Formats a rate for tc, such as `6550kbit`: an integer of the largest unit (of 1000) that is exact.
/// [`parse_rate_bps`] reads back every rate except 0.
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

/// Formats a time, such as `200ms` or `1.5ms`: three digits as tc prints them if that is exact, otherwise an
/// integer of the largest exact unit (`12345us`). [`parse_time_ns`] reads it back. Not for tc text, because
/// most versions of tc do not read `ns`: see [`in_tc::format_time_us`].
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

/// `units` from the largest to the base unit.
fn whole_number_of(value: u64, units: &[Unit]) -> String {
    let exact = |unit: &&Unit| value >= unit.scale && value.is_multiple_of(unit.scale);
    match units.iter().find(exact).or(units.last()) {
        Some(unit) => format!("{}{}", value / unit.scale, unit.name),
        None => value.to_string(),
    }
}

/// The value with at most three significant digits (C's `%.3g`, as tc prints times), if that is exact and tc
/// reads it back.
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

/// Whether tc's arithmetic, a truncated double, gives the value.
fn tc_reads_time(number: &str, unit: Unit, value: u64) -> bool {
    number
        .parse::<f64>()
        .is_ok_and(|number| (number * unit.scale as f64) as u64 == value)
}

#[cfg(test)]
mod tests;
