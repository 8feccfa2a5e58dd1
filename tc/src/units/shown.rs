//! Quantities as tc shows them: rounded, and converted through the kernel's ticks.
//!
//! The text need not read back ([`format_size`](super::format_size) and the others do). From iproute2 6.1:
//! `sprint_size` and `sprint_time` in `lib/utils.c` and `lib/json_print_math.c`, `sprint_rate` in
//! `tc/tc_util.c`, `tc_calc_xmittime` and `tc_calc_xmitsize` in `tc/tc_core.c`.

use super::in_tc::{TICK_NS, fraction_of_ppb};
use super::{KIBI, MEBI};
use crate::c_numbers::general;

const NS_PER_US: u64 = 1000;
const US_PER_S: f64 = 1e6;
/// `clock_factor` of the kernel's clock.
const TICKS_PER_US: f64 = NS_PER_US as f64 / TICK_NS as f64;

/// A size (`sprint_size`): `Mb` or `Kb` (of 1024) if close to an integer, else bytes.
pub fn size(bytes: u64) -> String {
    for (unit, name, near) in [(MEBI, "Mb", 1024.0), (KIBI, "Kb", 16.0)] {
        let whole = libm::rint(bytes as f64 / unit as f64);
        if bytes >= unit && (whole * unit as f64 - bytes as f64).abs() < near {
            return format!("{whole}{name}");
        }
    }
    format!("{bytes}b")
}

/// A rate (`sprint_rate`) of bytes per second, in bits: an integer of the largest unit that loses at most a
/// thousandth.
pub fn rate(bytes_per_s: u64) -> String {
    let mut rate = u128::from(bytes_per_s) * 8;
    for unit in ["", "K", "M", "G"] {
        if rate < 1000 || (!rate.is_multiple_of(1000) && rate < 1_000_000) {
            return format!("{rate}{unit}bit");
        }
        rate /= 1000;
    }
    format!("{rate}Tbit")
}

/// A time (`sprint_time`): three digits of seconds or milliseconds, or whole microseconds.
pub(crate) fn time(time_us: f64) -> String {
    if time_us >= US_PER_S {
        format!("{}s", general(time_us / US_PER_S, 3))
    } else if time_us >= 1e3 {
        format!("{}ms", general(time_us / 1e3, 3))
    } else {
        format!("{}us", time_us as i64)
    }
}

/// A time that tc stores in whole microseconds.
pub fn time_ns(time_ns: u64) -> String {
    time(whole_us(time_ns) as f64)
}

/// A time that tc stores in nanoseconds (`sprint_time64`): three digits of the largest unit, or an integer.
pub(crate) fn long_time_ns(time_ns: u64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
    let unit = units.iter().find(|(scale, _)| time_ns as f64 >= *scale);
    match unit {
        Some((scale, name)) => format!("{}{name}", general(time_ns as f64 / scale, 3)),
        None => format!("{time_ns}ns"),
    }
}

/// Whole microseconds, truncated.
pub(crate) fn whole_us(time_ns: u64) -> u64 {
    time_ns / NS_PER_US
}

/// A share, converted through the kernel's 32-bit fraction.
pub(crate) fn percent(ppb: u32) -> String {
    let share = 100.0 * f64::from(fraction_of_ppb(ppb)) / f64::from(u32::MAX);
    format!("{}%", general(share, 6))
}

/// A token bucket as tc passes it to the kernel and back: by the time to drain it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bucket {
    bytes_per_s: u64,
    ticks: f64,
}

impl Bucket {
    /// The bucket of `bytes` bytes at a rate above 0 (`tc_calc_xmittime`).
    pub(crate) fn of(bytes_per_s: u64, bytes: u32) -> Bucket {
        let time_us = US_PER_S * (f64::from(bytes) / bytes_per_s as f64);
        Bucket {
            bytes_per_s,
            ticks: libm::ceil(time_us * TICKS_PER_US),
        }
    }

    /// Its drain time in whole microseconds (`tc_core_tick2time`).
    pub(crate) fn time_us(self) -> f64 {
        libm::trunc(self.ticks / TICKS_PER_US)
    }

    /// Its bytes, which may be fewer than were typed (`tc_calc_xmitsize`).
    pub(crate) fn bytes(self) -> u64 {
        (self.bytes_per_s as f64 * self.time_us() / US_PER_S) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_where_a_unit_is_near() {
        for (bytes, text) in [
            (0, "0b"),
            (1000, "1000b"),
            (1023, "1023b"), // never up to the first of a unit
            (1039, "1Kb"),
            (1040, "1040b"),
            (51_199, "50Kb"),
            (1_514_000, "1514000b"),
            (2_096_000, "2096000b"),
            (2_097_152 + 1023, "2Mb"),
            (1 << 31, "2048Mb"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn rates_lose_digits_only_from_a_thousand_units_on() {
        for (bytes_per_s, text) in [
            (1, "8bit"),
            (125, "1Kbit"),
            (818_750, "6550Kbit"),
            (4_166_625, "33333Kbit"),
            (125_000_000, "1Gbit"),
            (u64::MAX, "147573952Tbit"),
        ] {
            assert_eq!(rate(bytes_per_s), text);
        }
    }

    #[test]
    fn times_have_three_digits() {
        for (time_us, text) in [
            (0.0, "0us"),
            (999.9, "999us"),
            (1000.0, "1ms"),
            (12_345.0, "12.3ms"),
            (999_999.0, "1e+03ms"), // as tc does
            (1_500_000.0, "1.5s"),
            (-7.5, "-7us"),
        ] {
            assert_eq!(time(time_us), text);
        }
        assert_eq!(time_ns(499_968), "499us");
    }

    #[test]
    fn shares_are_those_of_32_bits() {
        for (ppb, text) in [
            (0, "0%"),
            (1, "9.31323e-08%"),
            (5_000_000, "0.5%"),
            (333_333_333, "33.3333%"),
            (1_000_000_000, "100%"),
        ] {
            assert_eq!(percent(ppb), text);
        }
    }

    /// 10 kb at 6.55 Mbit/s come back as 10239 bytes, as in the kernel's `tc qdisc show`.
    #[test]
    fn a_bucket_loses_what_its_time_does_not_hold() {
        let bucket = Bucket::of(818_750, 10_240);
        assert_eq!((bucket.time_us(), bucket.bytes()), (12_506.0, 10_239));
        assert_eq!(Bucket::of(125_000, 10_240).bytes(), 10_240);
    }
}
