//! Quantities inside tc text, exactly as iproute2 6.1 computes them.
//!
//! The value is a number of C's `strtod` times its unit, in doubles, truncated (`get_size` and `get_rate64`
//! in `lib/utils_math.c`, `get_time` in `lib/utils.c`, `parse_percent` in `tc/tc_util.c`). So `2.01ms` is
//! 2009 us. tc checks overflow for sizes only; rates, times and percentages that would wrap in C are refused
//! here.

use super::error::shortened;
use super::{
    Quantity, RATE, SIZE, TIME, TIME_UNITS, Unit, UnitError, bytes_per_second, format_rate,
    format_time, known_unit, trimmed, unit,
};
use crate::c_numbers::strtod;
use crate::notice::Notice;
use crate::reason::Reason;

/// Length of tc's tick, ns (`PSCHED_SHIFT` in the kernel's `net/pkt_sched.h`).
pub const TICK_NS: u64 = 64;

/// `get_time` of tc before 2024, which does not read `ns`: the larger units of [`TIME_UNITS`].
const TIME_IN_TC: Quantity = Quantity {
    units: TIME_UNITS.split_at(9).0,
    allowed: "a number of microseconds, or one with a unit: s, ms or us (also sec, msec, usec), \
              such as 5ms; most versions of tc do not read ns",
    ..TIME
};

/// `get_time64`, which reads `ns`; a bare number is nanoseconds.
const LONG_TIME: Quantity = Quantity {
    allowed: "a number of nanoseconds, or one with a unit: s, ms, us or ns (also sec, msec, usec, \
              nsec), such as 10us, at most 4294967295ns",
    ..TIME
};

const PERCENTAGE: Quantity = Quantity {
    name: "percentage",
    units: &[PERCENT],
    suggested: None,
    allowed: "a number from 0 to 100, such as 0.5 or 0.5%",
    zero: true,
    foreign: &[("percent", "%")],
};

/// One per cent, in parts per billion.
const PERCENT: Unit = unit("%", 10_000_000);

/// A share of 1, in parts per billion.
const PPB: f64 = 1e9;

/// Bytes of a size; a bare number is bytes.
///
/// # Errors
/// [`UnitError`]: no number, an unknown unit, negative, or above `u32::MAX` bytes.
pub fn parse_size_bytes(text: &str) -> Result<u32, UnitError> {
    let value = read(text, &SIZE, 1)?;
    match value.floor() {
        below if below < 0.0 => Err(refused!(Negative, SIZE, text, None)),
        whole if whole <= f64::from(u32::MAX) => Ok(whole as u32),
        _ => Err(refused!(OutOfRange, SIZE, text, None)),
    }
}

/// Bit/s of a rate, rounded down to the whole bytes per second that tc passes to the kernel, so it may become
/// 0; a bare number is bit/s.
///
/// # Errors
/// [`UnitError`]: no number, an unknown unit, or a value that would wrap in tc.
pub fn parse_rate_bps(text: &str) -> Result<u64, UnitError> {
    if text.contains('%') {
        return Err(not_taken(&RATE, text, Reason::NeedsDevice));
    }
    let value_bps = read(text, &RATE, 1)?;
    let bytes_per_second = whole(&RATE, text, value_bps / 8.0)?;
    let fits = bytes_per_second.checked_mul(8);
    fits.ok_or_else(|| not_taken(&RATE, text, Reason::NotModelled))
}

/// Microseconds of a time; a bare number is microseconds.
///
/// # Errors
/// [`UnitError`]: no number, an unknown unit (`ns` is one), or a value that would wrap in tc.
pub fn parse_time_us(text: &str) -> Result<u32, UnitError> {
    const NS_PER_US: u64 = 1_000;
    let value_us = read(text, &TIME_IN_TC, NS_PER_US);
    let value_us = value_us.map_err(|error| without_ns(error, text))?;
    let time_us = whole(&TIME_IN_TC, text, value_us)?;
    u32::try_from(time_us).map_err(|_| not_taken(&TIME_IN_TC, text, Reason::Wraps))
}

/// Parts per billion of a percentage from 0% to 100%, with or without its sign: `0.5%` and `0.5` are 5000000.
/// The kernel's 32-bit fraction of the result equals that of the text.
///
/// # Errors
/// As for rates; also more digits than parts per billion can represent, if they make a difference.
pub fn parse_percent_ppb(text: &str) -> Result<u32, UnitError> {
    let text = trimmed(text, &PERCENTAGE)?;
    let (number, rest) = number_of(text, &PERCENTAGE)?;
    if !rest.is_empty() {
        known_unit(&PERCENTAGE, text, rest)?;
    }
    let share = number / 100.0;
    if share.is_nan() {
        return Err(not_taken(&PERCENTAGE, text, Reason::Wraps));
    }
    if share < 0.0 {
        return Err(refused!(Negative, PERCENTAGE, text, None));
    }
    if share > 1.0 {
        return Err(refused!(OutOfRange, PERCENTAGE, text, None));
    }
    let ppb = libm::rint(share * PPB) as u32;
    match fraction_of_ppb(ppb) == fraction(share) {
        true => Ok(ppb),
        false => Err(not_taken(&PERCENTAGE, text, Reason::TooFine)),
    }
}

/// The kernel's 32-bit fraction to which tc rounds a share (`set_percent` of `q_netem.c`).
pub fn fraction_of_ppb(ppb: u32) -> u32 {
    fraction(f64::from(ppb) / PPB)
}

fn fraction(share: f64) -> u32 {
    libm::rint(share * f64::from(u32::MAX)) as u32
}

/// The notice for a rate that [`parse_rate_bps`] reads.
pub(crate) fn rate_notice(text: &str, rate_bps: u64) -> Option<Notice> {
    bytes_per_second(text, rate_bps)
}

/// The notice for a time that [`parse_time_us`] reads without unit.
pub(crate) fn time_notice(text: &str, time_us: u32) -> Option<Notice> {
    let (_, unit) = strtod(text)?;
    (unit.is_empty() && time_us > 0).then(|| Notice::Microseconds {
        value: text.to_owned(),
        means: format_time_us(time_us.into()),
        instead: format!("{text}ms"),
    })
}

/// The notice for a count that tc reads as a size with a unit.
pub(crate) fn packets_notice(text: &str, packets: u32) -> Option<Notice> {
    let (number, unit) = strtod(text)?;
    (!unit.is_empty() && number != f64::from(packets)).then(|| Notice::PacketsWithUnit {
        value: text.to_owned(),
        means: packets.to_string(),
        instead: text[..text.len() - unit.len()].to_owned(),
    })
}

/// Formats a time, in microseconds, so that every version of tc reads it, such as `200ms` or `1.5ms`.
/// [`parse_time_us`] reads it back.
pub fn format_time_us(time_us: u64) -> String {
    format_time(time_us.saturating_mul(1000))
}

/// Whether a rate can be typed: whole bytes per second, represented exactly enough by a double.
pub fn is_rate(rate_bps: u64) -> bool {
    parse_rate_bps(&format_rate(rate_bps)) == Ok(rate_bps)
}

/// Formats a percentage for tc, such as `0.5%`, exactly.
pub fn format_percent(ppb: u32) -> String {
    let whole = u64::from(ppb) / PERCENT.scale;
    let fraction = format!("{:07}", u64::from(ppb) % PERCENT.scale);
    match fraction.trim_end_matches('0') {
        "" => format!("{whole}%"),
        digits => format!("{whole}.{digits}%"),
    }
}

/// The nanoseconds that the kernel computes from a time passed in ticks (`get_ticks` of `q_netem.c`); None if
/// they do not fit 32 bits, which tc refuses.
pub fn in_ticks_ns(time_us: u32) -> Option<u64> {
    let ticks = u64::from(time_us) * 1000 / TICK_NS;
    u32::try_from(ticks).is_ok().then_some(ticks * TICK_NS)
}

/// Whether the time to drain a bucket of this size fits the 32 bits of ticks in which tc passes it
/// (`tc_calc_xmittime` in `tc/tc_core.c`).
pub fn fits_ticks(rate_bps: u64, size_bytes: u32) -> bool {
    let time_us = 1e6 * (f64::from(size_bytes) / (rate_bps / 8) as f64);
    time_us < f64::from(u32::MAX) && in_ticks_ns(time_us as u32).is_some()
}

/// The microseconds to type for `time_ns` nanoseconds of ticks; None if no integer gives them.
pub fn of_ticks_us(time_ns: u64) -> Option<u64> {
    let time_us = u32::try_from(time_ns.div_ceil(1000)).ok()?;
    (in_ticks_ns(time_us)? == time_ns).then_some(time_us.into())
}

/// The error for text that tc accepts and that is refused here.
fn not_taken(quantity: &Quantity, text: &str, reason: Reason) -> UnitError {
    UnitError::NotTaken {
        quantity: quantity.name,
        value: shortened(text),
        reason,
        allowed: quantity.allowed.to_owned(),
        hint: None,
    }
}

fn number_of<'a>(text: &'a str, quantity: &Quantity) -> Result<(f64, &'a str), UnitError> {
    strtod(text).ok_or_else(|| refused!(NotANumber, quantity, text, None))
}

/// Nanoseconds of a time that has 64 bits in tc and 32 in the kernel; a bare number is nanoseconds.
///
/// # Errors
/// [`UnitError`]: no number, an unknown unit, or a value that does not fit.
pub fn parse_time_ns(text: &str) -> Result<u32, UnitError> {
    let value_ns = read(text, &LONG_TIME, 1)?;
    let fits = value_ns > -1.0 && value_ns < f64::from(u32::MAX) + 1.0;
    match fits {
        true => Ok(value_ns as u32),
        false => Err(refused!(OutOfRange, LONG_TIME, text, None)),
    }
}

/// Nanoseconds of a time for which tc and the kernel have 64 bits; a bare number is nanoseconds.
///
/// # Errors
/// [`UnitError`]: no number, an unknown unit, or more than 200 days.
pub fn parse_longest_time_ns(text: &str) -> Result<u64, UnitError> {
    const MOST_NS: f64 = 200.0 * 86_400.0 * 1e9;
    let value_ns = read(text, &LONG_TIME, 1)?;
    if value_ns.is_nan() || value_ns <= -1.0 {
        return Err(refused!(OutOfRange, LONG_TIME, text, None));
    }
    match value_ns <= MOST_NS {
        true => Ok(value_ns as u64),
        false => Err(not_taken(&LONG_TIME, text, Reason::NotModelled)),
    }
}

/// A number times its unit, in units of `base`; a number without unit is returned as is.
fn read(text: &str, quantity: &Quantity, base: u64) -> Result<f64, UnitError> {
    let text = trimmed(text, quantity)?;
    let (number, unit_text) = number_of(text, quantity)?;
    let scale = match unit_text {
        "" => 1,
        name => known_unit(quantity, text, name)?.scale / base,
    };
    Ok(number * scale as f64)
}

/// The truncated integer that C stores, if it equals the value.
fn whole(quantity: &Quantity, text: &str, value: f64) -> Result<u64, UnitError> {
    let fits = value > -1.0 && value < u64::MAX as f64;
    match fits {
        true => Ok(value as u64),
        false => Err(not_taken(quantity, text, Reason::Wraps)),
    }
}

/// Adds a hint in microseconds to the error for a time in `ns`, if it is a whole number of them.
fn without_ns(error: UnitError, text: &str) -> UnitError {
    let UnitError::UnknownUnit {
        quantity,
        value,
        allowed,
        hint,
    } = error
    else {
        return error;
    };
    let in_ns = super::parse_time_ns(text).ok();
    let hint = match in_ns {
        Some(ns) if ns > 0 && ns.is_multiple_of(1000) => Some(format_time_us(ns / 1000)),
        Some(_) => None,
        None => hint,
    };
    UnitError::UnknownUnit {
        quantity,
        value,
        allowed,
        hint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use UnitError as E;

    fn reason<T: std::fmt::Debug>(result: Result<T, UnitError>) -> Option<Reason> {
        result.unwrap_err().reason()
    }

    #[test]
    fn sizes_are_doubles_cut_off() {
        for (text, bytes) in [
            ("51200", 51_200),
            ("0.5", 0),
            ("1.1kb", 1_126),
            ("0x100b", 4_107), // b is a digit there
            ("0x100kb", 262_144),
            ("+5K", 5_120),
            ("1e3", 1_000),
            ("-0", 0),
            ("4294967295.9", u32::MAX),
        ] {
            assert_eq!(parse_size_bytes(text), Ok(bytes), "{text}");
        }
        assert!(matches!(parse_size_bytes("-0.5"), Err(E::Negative { .. })));
        for text in ["4gb", "inf", "1e400"] {
            assert!(
                matches!(parse_size_bytes(text), Err(E::OutOfRange { .. })),
                "{text}"
            );
        }
        assert!(matches!(
            parse_size_bytes("10p"),
            Err(E::UnknownUnit { .. })
        ));
    }

    #[test]
    fn rates_are_whole_bytes_per_second() {
        for (text, bps) in [
            ("64000", 64_000),
            ("33.3333kbit", 33_328),
            ("7bit", 0),
            ("-7bit", 0),
            ("0x10kbit", 16_000),
            ("10Mbps", 80_000_000),
            ("1e3", 1_000),
        ] {
            assert_eq!(parse_rate_bps(text), Ok(bps), "{text}");
        }
        assert_eq!(reason(parse_rate_bps("10%")), Some(Reason::NeedsDevice));
        for text in ["-1kbit", "nanbps", "infbit", "1e30tbit"] {
            assert_eq!(reason(parse_rate_bps(text)), Some(Reason::Wraps), "{text}");
        }
        let most = parse_rate_bps("18446744073709551615bps");
        assert_eq!(reason(most), Some(Reason::Wraps)); // 2^64 as a double
        assert_eq!(reason(parse_rate_bps("1e19bps")), Some(Reason::NotModelled));
        assert!(matches!(parse_rate_bps("nanx"), Err(E::UnknownUnit { .. })));
    }

    #[test]
    fn times_are_whole_microseconds() {
        for (text, us) in [
            ("5", 5),
            ("2.01ms", 2_009),
            ("0x10Us", 16),
            ("1e3msecs", 1_000_000),
            (".5usec", 0),
            ("-.5us", 0),
            ("4294967295", u32::MAX),
        ] {
            assert_eq!(parse_time_us(text), Ok(us), "{text}");
        }
        for text in ["-1us", "5000sec", "4294967296", "nan", "infms"] {
            assert_eq!(reason(parse_time_us(text)), Some(Reason::Wraps), "{text}");
        }
        let hint = |text: &str| parse_time_us(text).unwrap_err().hint().map(str::to_owned);
        assert_eq!(hint("5000ns").as_deref(), Some("5us"));
        assert_eq!(hint("1ns"), None);
        assert_eq!(hint("5mss").as_deref(), Some("5ms"));
    }

    #[test]
    fn percentages_are_held_where_the_kernel_sees_no_difference() {
        for (text, ppb) in [
            ("0.5%", 5_000_000),
            ("0.5", 5_000_000),
            ("0x10", 160_000_000),
            ("1e1%", 100_000_000),
            ("-0", 0),
            ("0.00000001%", 0), // rounds to 0 there, too
            ("0.0000001%", 1),
            ("100%", 1_000_000_000),
        ] {
            assert_eq!(parse_percent_ppb(text), Ok(ppb), "{text}");
        }
        assert_eq!(
            reason(parse_percent_ppb("33.333333333%")),
            Some(Reason::TooFine)
        );
        assert_eq!(reason(parse_percent_ppb("nan")), Some(Reason::Wraps));
        assert!(matches!(
            parse_percent_ppb("100.1%"),
            Err(E::OutOfRange { .. })
        ));
        assert!(matches!(parse_percent_ppb("-1%"), Err(E::Negative { .. })));
        assert!(matches!(
            parse_percent_ppb("5%%"),
            Err(E::UnknownUnit { .. })
        ));
    }

    #[test]
    fn ticks_are_of_64_ns() {
        assert_eq!(in_ticks_ns(1), Some(960));
        assert_eq!(in_ticks_ns(1000), Some(1_000_000));
        assert_eq!(
            in_ticks_ns(274_877_906),
            Some(u64::from(u32::MAX - 14) * 64)
        );
        assert_eq!(in_ticks_ns(274_877_907), None);
        for us in (0..2000).chain(274_877_000..274_877_907) {
            assert_eq!(of_ticks_us(in_ticks_ns(us).unwrap()), Some(us.into()));
        }
        for ns in [1, 64, 1000, 10_000, u64::MAX] {
            assert_eq!(of_ticks_us(ns), None, "{ns}");
        }
    }
}
