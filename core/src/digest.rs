//! A fingerprint of the tables of a run: SHA-256 over the canonical bytes of their columns.
//!
//! A column contributes its type, the names of its table and itself, its length and its values in
//! little-endian order. Every variable part is preceded by its length, so different lists of columns give
//! different bytes. The digest depends on the order in which columns are added. Floating-point values that
//! compare or print alike hash alike: -0 counts as 0 and every NaN as the quiet NaN 0x7ff8000000000000.

use sha2::{Digest as _, Sha256};
use std::sync::atomic::{AtomicBool, Ordering};

/// Domain separator for SHA-256. Raise the number when the bytes of the same tables change.
const DOMAIN: &[u8] = b"dumbbell tables 1\0";
/// Values are passed to the hash in blocks of this size, because a call per value would cost more than the
/// hashing.
const PIECE: usize = 4096;

/// A hash in progress.
#[derive(Debug, Clone)]
pub struct Digest<'a> {
    hash: Sha256,
    /// The block being filled.
    piece: Vec<u8>,
    stop: Option<&'a AtomicBool>,
}

impl Default for Digest<'_> {
    fn default() -> Self {
        Digest::new()
    }
}

/// The canonical bits of a number.
fn canonical_bits(value: f64) -> u64 {
    if value.is_nan() {
        return 0x7ff8_0000_0000_0000;
    }
    // Adding 0 turns -0 into 0 and leaves every other number alone.
    (value + 0.0).to_bits()
}

impl<'a> Digest<'a> {
    /// The hash of no columns.
    pub fn new() -> Digest<'a> {
        let hash = Sha256::new_with_prefix(DOMAIN);
        Digest {
            hash,
            piece: Vec::with_capacity(PIECE),
            stop: None,
        }
    }

    /// The hash of no columns. Once `stop` is set, hashing ends and the result is meaningless.
    pub fn until(stop: &'a AtomicBool) -> Digest<'a> {
        Digest {
            stop: Some(stop),
            ..Digest::new()
        }
    }

    /// Adds a column of counts, bytes or nanoseconds.
    pub fn column_i64(&mut self, table: &str, name: &str, values: &[i64]) {
        self.column("i64", table, name, values, |value| value.to_le_bytes());
    }

    /// Adds a column of floating-point numbers.
    pub fn column_f64(&mut self, table: &str, name: &str, values: &[f64]) {
        let bytes = |value: f64| canonical_bits(value).to_le_bytes();
        self.column("f64", table, name, values, bytes);
    }

    /// Adds a column of indices.
    pub fn column_i32(&mut self, table: &str, name: &str, values: &[i32]) {
        self.column("i32", table, name, values, |value| value.to_le_bytes());
    }

    /// Adds a column of small codes.
    pub fn column_i8(&mut self, table: &str, name: &str, values: &[i8]) {
        self.column("i8", table, name, values, |value| value.to_le_bytes());
    }

    /// The hash of everything added, 64 hexadecimal digits.
    pub fn finish(self) -> String {
        let bytes = self.hash.finalize();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn text(&mut self, text: &str) {
        self.hash.update((text.len() as u64).to_le_bytes());
        self.hash.update(text.as_bytes());
    }

    fn column<T: Copy, const N: usize>(
        &mut self,
        kind: &str,
        table: &str,
        name: &str,
        values: &[T],
        bytes: impl Fn(T) -> [u8; N],
    ) {
        self.text(kind);
        self.text(table);
        self.text(name);
        self.hash.update((values.len() as u64).to_le_bytes());
        for some in values.chunks(PIECE / N) {
            if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return;
            }
            self.piece.clear();
            self.piece
                .extend(some.iter().flat_map(|&value| bytes(value)));
            self.hash.update(&self.piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(add: impl FnOnce(&mut Digest)) -> String {
        let mut digest = Digest::new();
        add(&mut digest);
        digest.finish()
    }

    #[test]
    fn bytes_are_as_documented() {
        let values: Vec<i32> = (0..3000).map(|i| i * 77_777 - 100_000_000).collect();
        let mut bytes = b"dumbbell tables 1\0".to_vec();
        for text in ["i32", "flows", "flow"] {
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        bytes.extend(3000u64.to_le_bytes());
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        let expected = Sha256::digest(&bytes);
        let expected: String = expected.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(of(|d| d.column_i32("flows", "flow", &values)), expected);
    }

    #[test]
    fn zeros_and_nans_have_one_form() {
        let hash = |value: f64| of(|d| d.column_f64("t", "c", &[value]));
        assert_eq!(hash(0.0), hash(-0.0));
        assert_eq!(hash(f64::NAN), hash(-f64::NAN));
        assert_eq!(hash(f64::NAN), hash(f64::from_bits(0x7ff0_0000_0000_0001)));
        assert_ne!(hash(f64::INFINITY), hash(f64::NAN));
        assert_ne!(hash(f64::from_bits(1)), hash(0.0));
        assert_ne!(hash(1.0), hash(-1.0));
    }

    #[test]
    fn names_types_lengths_and_order_count() {
        let all = [
            of(|_| ()),
            of(|d| d.column_i64("ab", "c", &[])),
            of(|d| d.column_i64("a", "bc", &[])),
            of(|d| d.column_i64("ab", "c", &[0])),
            of(|d| d.column_f64("ab", "c", &[0.0])),
            of(|d| d.column_i32("ab", "c", &[0])),
            of(|d| d.column_i32("ab", "c", &[0, 0])),
            of(|d| d.column_i8("ab", "c", &[0; 8])),
            of(|d| {
                d.column_i8("ab", "c", &[1]);
                d.column_i8("ab", "d", &[2]);
            }),
            of(|d| {
                d.column_i8("ab", "d", &[2]);
                d.column_i8("ab", "c", &[1]);
            }),
        ];
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn is_64_hexadecimal_digits_and_stays_what_it_is() {
        let found = of(|d| d.column_i8("t", "c", &[-1, 2]));
        assert_eq!(found.len(), 64);
        let mut bytes = b"dumbbell tables 1\0".to_vec();
        for text in ["i8", "t", "c"] {
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        bytes.extend([2, 0, 0, 0, 0, 0, 0, 0, 0xff, 2]);
        let expected = Sha256::digest(&bytes);
        let expected: String = expected.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, expected);
    }
}
