//! Numbers as the C library reads and prints them, as tc does: strtod(3), strtol(3) and printf(3) in the C
//! locale of glibc before 2.38 (which does not read `0b101`).

/// Parses the number at the start of `text` as `strtod` does: decimal or hexadecimal, signed, `inf`, `nan`.
/// Returns the number and the rest of the text; None if `text` does not start with a number.
pub(crate) fn strtod(text: &str) -> Option<(f64, &str)> {
    let (negative, unsigned) = split_sign(text);
    let (magnitude, rest) = hexadecimal(unsigned)
        .or_else(|| not_finite(unsigned))
        .or_else(|| decimal(unsigned))?;
    Some((if negative { -magnitude } else { magnitude }, rest))
}

/// The base in which an integer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Base {
    /// Chosen by prefix: `0x10` is hexadecimal, `010` octal, `10` decimal.
    ByPrefix,
    /// Decimal; `010` is ten.
    Ten,
    /// Hexadecimal, with or without `0x`.
    Sixteen,
}

/// Parses the whole of `text` as an integer, as `strtol` does; values out of range saturate. None if `text`
/// is not an integer.
pub(crate) fn strtol(text: &str, base: Base) -> Option<i128> {
    let (negative, unsigned) = split_sign(text);
    let hexadecimal = { unsigned.strip_prefix("0x") }
        .or_else(|| unsigned.strip_prefix("0X"))
        .filter(|digits| digits.starts_with(|digit: char| digit.is_ascii_hexdigit()));
    let (radix, digits) = match (base, hexadecimal) {
        (Base::ByPrefix | Base::Sixteen, Some(digits)) => (16, digits),
        (Base::Sixteen, None) => (16, unsigned),
        (Base::ByPrefix, None) if unsigned.starts_with('0') => (8, unsigned),
        _ => (10, unsigned),
    };
    if digits.is_empty() {
        return None;
    }
    let mut number = 0i128;
    for digit in digits.chars() {
        let digit = i128::from(digit.to_digit(radix)?);
        number = number.saturating_mul(radix.into()).saturating_add(digit);
    }
    Some(if negative { -number } else { number })
}

fn split_sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn split_digits(text: &str, is_digit: fn(&u8) -> bool) -> (&str, &str) {
    text.split_at(text.bytes().take_while(is_digit).count())
}

/// Splits digits, an optional point and digits, with at least one digit. Returns the digits before the point,
/// the digits after it, and the rest.
fn split_point(text: &str, is_digit: fn(&u8) -> bool) -> Option<(&str, &str, &str)> {
    let (whole, after) = split_digits(text, is_digit);
    let (fraction, rest) = match after.strip_prefix('.') {
        Some(rest) => split_digits(rest, is_digit),
        None => ("", after),
    };
    (!whole.is_empty() || !fraction.is_empty()).then_some((whole, fraction, rest))
}

/// Parses an exponent after one of two letters. Returns the exponent and the rest; 0 and all of `text` if
/// there is none.
fn exponent(text: &str, letters: [char; 2]) -> (i64, &str) {
    let Some(after) = text.strip_prefix(letters) else {
        return (0, text);
    };
    let (negative, unsigned) = split_sign(after);
    let (digits, rest) = split_digits(unsigned, u8::is_ascii_digit);
    if digits.is_empty() {
        return (0, text);
    }
    let size: i64 = digits.parse().unwrap_or(i64::MAX);
    (if negative { -size } else { size }, rest)
}

fn decimal(text: &str) -> Option<(f64, &str)> {
    let (_, _, after) = split_point(text, u8::is_ascii_digit)?;
    let (_, rest) = exponent(after, ['e', 'E']);
    let number = text[..text.len() - rest.len()].parse().ok()?;
    Some((number, rest))
}

/// Parses `0x1f`, `0x.8`, `0x1p-3`. Digits beyond 61 bits only set a sticky bit, which rounds to the same
/// double.
fn hexadecimal(text: &str) -> Option<(f64, &str)> {
    const MOST_DIGITS: usize = 15;
    let digits = text
        .strip_prefix("0x")
        .or_else(|| text.strip_prefix("0X"))?;
    let (whole, fraction, after) = split_point(digits, u8::is_ascii_hexdigit)?;
    let (two_to, rest) = exponent(after, ['p', 'P']);
    let all = { whole.chars().chain(fraction.chars()) }.filter_map(|digit| digit.to_digit(16));
    let mut mantissa = 0u64;
    let mut significant = 0;
    let mut beyond = 0i64;
    for digit in all {
        if significant == MOST_DIGITS {
            beyond += 4;
            mantissa |= u64::from(digit != 0);
        } else {
            mantissa = mantissa << 4 | u64::from(digit);
            significant += usize::from(mantissa != 0);
        }
    }
    let power = { two_to.saturating_add(beyond) }.saturating_sub(4 * fraction.len() as i64);
    // Exponents beyond these bounds are far outside the range of a double and change nothing.
    let number = libm::ldexp(mantissa as f64, power.clamp(-5000, 5000) as i32);
    Some((number, rest))
}

fn not_finite(text: &str) -> Option<(f64, &str)> {
    let begins = |word: &str| {
        let begin = text.get(..word.len())?;
        begin
            .eq_ignore_ascii_case(word)
            .then(|| &text[word.len()..])
    };
    let infinity = begins("infinity").or_else(|| begins("inf"));
    let nan = || begins("nan").map(|rest| (f64::NAN, after_brackets(rest)));
    infinity.map(|rest| (f64::INFINITY, rest)).or_else(nan)
}

/// Skips the `(...)` that may follow `nan`.
fn after_brackets(text: &str) -> &str {
    let Some(inside) = text.strip_prefix('(') else {
        return text;
    };
    let (_, rest) = split_digits(inside, |byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    rest.strip_prefix(')').unwrap_or(text)
}

/// C's `%.*g`: `digits` significant digits (at least 1) without trailing zeros; exponent notation below 10^-4
/// or above the digits. For finite numbers.
pub(crate) fn general(number: f64, digits: usize) -> String {
    let most = digits.max(1) - 1;
    let scientific = format!("{number:.most$e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    let without_zeros = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..=most as i32).contains(&power) {
        let decimals = (most as i32 - power) as usize;
        return without_zeros(&format!("{number:.decimals$}"));
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(mantissa), power.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line is the output of the shell's `printf '%.3g'` or `'%.6g'`.
    #[test]
    fn doubles_as_printf_prints_them() {
        for (number, digits, text) in [
            (0.0, 3, "0"),
            (5.0, 3, "5"),
            (1.5, 3, "1.5"),
            (12.345, 3, "12.3"),
            (0.125, 2, "0.12"), // half way: to even
            (999.5, 3, "1e+03"),
            (999.4, 3, "999"),
            (4294.967, 3, "4.29e+03"),
            (4.294_967e12, 3, "4.29e+12"),
            (0.000_123_456_7, 6, "0.000123457"),
            (0.000_012_345_67, 6, "1.23457e-05"),
            (99.999_999_9, 6, "100"),
            (-2.5, 6, "-2.5"),
            (1e100, 6, "1e+100"),
        ] {
            assert_eq!(general(number, digits), text, "{number}");
        }
    }

    #[test]
    fn doubles_as_strtod_reads_them() {
        for (text, number, rest) in [
            ("6.55mbit", 6.55, "mbit"),
            ("+5", 5.0, ""),
            ("-.5ms", -0.5, "ms"),
            ("5.", 5.0, ""),
            ("1e3kbit", 1000.0, "kbit"),
            ("1e", 1.0, "e"),
            ("1e+", 1.0, "e+"),
            ("1.2.3", 1.2, ".3"),
            ("1e400", f64::INFINITY, ""),
            ("infinityms", f64::INFINITY, "ms"),
            ("-Inf", f64::NEG_INFINITY, ""),
            ("0x10ms", 16.0, "ms"),
            // A hexadecimal digit, not a unit.
            ("0x100b", 4107.0, ""),
            ("0x100kb", 256.0, "kb"),
            ("0x", 0.0, "x"),
            ("0x.8", 0.5, ""),
            ("0x1p-3s", 0.125, "s"),
            ("0x1p", 1.0, "p"),
            ("0x1fffffffffffff8000000000000000", 2f64.powi(117), ""),
            ("0x1fffffffffffff", 9_007_199_254_740_991.0, ""),
            ("0x100000000000008000", 2f64.powi(68), ""), // half way: to even
            ("0x100000000000008001", 2f64.powi(68) + 2f64.powi(16), ""),
            ("0x0.000000000000000000001", 2f64.powi(-84), ""),
            ("0x1p99999999999999999999", f64::INFINITY, ""),
        ] {
            assert_eq!(strtod(text), Some((number, rest)), "{text}");
        }
        let (nan, rest) = strtod("nan(x_1)bps").unwrap();
        assert!(nan.is_nan() && rest == "bps");
        assert_eq!(strtod("nan(x").unwrap().1, "(x");
        for text in [
            "", ".", "-", "--5", "+-5", "e5", "ms", "\u{664}", "\u{e9}ms",
        ] {
            assert_eq!(strtod(text), None, "{text}");
        }
    }

    #[test]
    fn whole_numbers_as_strtol_reads_them() {
        use Base::*;
        for (text, base, number) in [
            ("0100", ByPrefix, Some(64)),
            ("0100", Ten, Some(100)),
            ("0100", Sixteen, Some(256)),
            ("09", ByPrefix, None),
            ("09", Ten, Some(9)),
            ("0x1F", ByPrefix, Some(31)),
            ("0x1F", Sixteen, Some(31)),
            ("0x1F", Ten, None),
            ("ffff", Sixteen, Some(65_535)),
            ("ffff", ByPrefix, None),
            ("+5", ByPrefix, Some(5)),
            ("-5", Ten, Some(-5)),
            ("0", ByPrefix, Some(0)),
            ("-0", ByPrefix, Some(0)),
            ("0b101", ByPrefix, None),
            ("1e3", ByPrefix, None),
            ("0x", ByPrefix, None),
            ("", Ten, None),
            ("+", Ten, None),
            ("5 ", Ten, None),
            ("\u{664}", Ten, None),
        ] {
            assert_eq!(strtol(text, base), number, "{text}");
        }
        assert_eq!(strtol(&"9".repeat(99), Ten), Some(i128::MAX));
        assert_eq!(
            strtol(&format!("-{}", "9".repeat(99)), Ten),
            Some(-i128::MAX)
        );
    }
}
