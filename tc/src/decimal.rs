//! Exact decimal numbers.
//!
//! tc reads numbers with C's `strtod`, multiplies doubles and truncates, so `2.01ms` is 2009999 ns in tc.
//! Here a number stays `digits * 10^exponent` until it is multiplied by its unit, so `2.01ms` is 2010000 ns.

/// Largest accepted number of significant digits. 24 digits times the largest unit (2^43) fit u128; no
/// quantity needs more than the 20 digits of u64.
const MAX_SIGNIFICANT_DIGITS: usize = 24;

/// A non-negative decimal number, `digits * 10^exponent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: u128,
    exponent: i32,
}

/// Why no number could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberError {
    /// The text does not begin with a decimal number.
    NotANumber,
    /// It begins with a minus sign.
    Negative,
    /// It has more than [`MAX_SIGNIFICANT_DIGITS`].
    TooManyDigits,
}

/// A product, truncated to an integer as in tc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Product {
    pub(crate) whole: u64,
    /// Whether a fraction was cut off.
    pub(crate) truncated: bool,
}

impl Decimal {
    /// Splits `text` after its leading number: `6.55mbit` is (6.55, `mbit`).
    ///
    /// Accepted, as by `strtod`: digits, one point (`.5` and `5.` too), a leading `+`, an exponent (`1e6`).
    /// Refused, unlike `strtod`: hexadecimal, `inf`, `nan`, leading blanks, a minus sign.
    pub(crate) fn split_from(text: &str) -> Result<(Decimal, &str), NumberError> {
        match text.strip_prefix('-') {
            // "-5ms" is a negative time; "-" and "--5" are no numbers at all.
            Some(rest) => Err(split_unsigned(rest).map_or_else(|e| e, |_| NumberError::Negative)),
            None => split_unsigned(text.strip_prefix('+').unwrap_or(text)),
        }
    }

    fn from_parts(whole: &str, fraction: &str, ten_to: i32) -> Result<Decimal, NumberError> {
        let all = format!("{whole}{fraction}");
        let significant = all.trim_start_matches('0').trim_end_matches('0');
        if significant.is_empty() {
            return Ok(Decimal {
                digits: 0,
                exponent: 0,
            });
        }
        if significant.len() > MAX_SIGNIFICANT_DIGITS {
            return Err(NumberError::TooManyDigits);
        }
        let trailing_zeros = all.len() - all.trim_end_matches('0').len();
        let shift = i32::try_from(trailing_zeros).unwrap_or(i32::MAX);
        let fraction_len = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
        Ok(Decimal {
            digits: significant.parse().map_err(|_| NumberError::NotANumber)?,
            exponent: ten_to.saturating_add(shift).saturating_sub(fraction_len),
        })
    }

    pub(crate) fn is_zero(self) -> bool {
        self.digits == 0
    }

    /// The number times `scale`, truncated; `None` above `u64::MAX`.
    pub(crate) fn times(self, scale: u64) -> Option<Product> {
        let product = self.digits.checked_mul(u128::from(scale))?;
        if product == 0 {
            return Some(Product {
                whole: 0,
                truncated: false,
            });
        }
        let power = 10u128.checked_pow(self.exponent.unsigned_abs());
        let (whole, truncated) = match (self.exponent >= 0, power) {
            (true, power) => (product.checked_mul(power?)?, false),
            (false, Some(power)) => (product / power, product % power != 0),
            // 10^39 exceeds every product.
            (false, None) => (0, true),
        };
        Some(Product {
            whole: u64::try_from(whole).ok()?,
            truncated,
        })
    }
}

fn split_unsigned(text: &str) -> Result<(Decimal, &str), NumberError> {
    let (whole, after_whole) = split_digits(text);
    let (fraction, after_fraction) = match after_whole.strip_prefix('.') {
        Some(rest) => split_digits(rest),
        None => ("", after_whole),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(NumberError::NotANumber);
    }
    // strtod reads "0x10" as 16. Reading it as 0 with the unit "x10" would give a confusing message.
    if whole == "0" && after_whole.starts_with(['x', 'X']) {
        return Err(NumberError::NotANumber);
    }
    let (ten_to, rest) = split_exponent(after_fraction);
    Ok((Decimal::from_parts(whole, fraction, ten_to)?, rest))
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at(end)
}

/// The exponent at the start of `text` (0 if none; out-of-range values saturate), and the rest.
fn split_exponent(text: &str) -> (i32, &str) {
    let Some(after_e) = text.strip_prefix(['e', 'E']) else {
        return (0, text);
    };
    let negative = after_e.starts_with('-');
    let (digits, rest) = split_digits(after_e.strip_prefix(['-', '+']).unwrap_or(after_e));
    if digits.is_empty() {
        return (0, text);
    }
    let size = digits.parse().unwrap_or(i32::MAX);
    (if negative { -size } else { size }, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str, scale: u64) -> Option<u64> {
        let (number, rest) = Decimal::split_from(text).expect(text);
        assert_eq!(rest, "", "{text}");
        number.times(scale).map(|product| product.whole)
    }

    #[test]
    fn numbers_are_read_exactly() {
        assert_eq!(whole("6.55", 1_000_000), Some(6_550_000));
        assert_eq!(whole("2.01", 1_000_000), Some(2_010_000)); // a double gives 2009999
        assert_eq!(whole(".5", 8), Some(4));
        assert_eq!(whole("5.", 8), Some(40));
        assert_eq!(whole("+5", 1), Some(5));
        assert_eq!(whole("1e3", 8), Some(8000));
        assert_eq!(whole("1500E-3", 1000), Some(1500));
        assert_eq!(whole("0.000", 1000), Some(0));
        assert_eq!(whole("18446744073709551615", 1), Some(u64::MAX));
        assert_eq!(whole("18446744073709551616", 1), None);
        assert_eq!(whole("1e2147483648", 1), None);
        assert_eq!(whole("0e2147483648", 1), Some(0));
    }

    #[test]
    fn what_is_cut_off_is_said() {
        let times = |text: &str, scale| Decimal::split_from(text).unwrap().0.times(scale);
        let product = |whole, truncated| Some(Product { whole, truncated });
        assert_eq!(times("1.1", 1024), product(1126, true));
        assert_eq!(times("1.5", 1024), product(1536, false));
        assert_eq!(times("1e-40", 1024), product(0, true));
        assert_eq!(times("1e-2147483648", 1024), product(0, true));
    }

    #[test]
    fn the_rest_is_the_unit() {
        let rest = |text| Decimal::split_from(text).map(|(_, rest)| rest);
        assert_eq!(rest("6.55mbit"), Ok("mbit"));
        assert_eq!(rest("1e"), Ok("e"));
        assert_eq!(rest("1.2.3"), Ok(".3"));
        assert_eq!(rest("5µs"), Ok("µs"));
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        for text in [
            "", ".", "-", "+", "nan", "inf", "mbit", "0x10", " 5", "--5", "e5",
        ] {
            assert_eq!(
                Decimal::split_from(text).unwrap_err(),
                NumberError::NotANumber,
                "{text}"
            );
        }
        assert_eq!(
            Decimal::split_from("-5ms").unwrap_err(),
            NumberError::Negative
        );
        let long = "1".repeat(MAX_SIGNIFICANT_DIGITS + 1);
        assert_eq!(
            Decimal::split_from(&long).unwrap_err(),
            NumberError::TooManyDigits
        );
    }
}
