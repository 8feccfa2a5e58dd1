//! A trace as text: entries separated by spaces, compact enough for ten million lines.
//!
//! A number may end with `k`, `m` or `g`: thousands, millions and billions of its unit. The largest suffix
//! that divides the number is used, so the same trace always has the same text and digest.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt::Write as _;
use std::sync::Arc;

/// Largest text of a trace, bytes.
pub const LONGEST_TEXT: usize = 128 << 20;

/// The text of a trace; cloning it copies a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceText(Arc<str>);

impl TraceText {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for TraceText {
    fn from(text: String) -> TraceText {
        TraceText(text.into())
    }
}

impl Serialize for TraceText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for TraceText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TraceText, D::Error> {
        String::deserialize(deserializer).map(TraceText::from)
    }
}

/// Iterates over the entries of a text.
#[derive(Debug, Clone)]
pub(super) struct Entries {
    text: TraceText,
    at: usize,
}

impl Entries {
    pub(super) fn of(text: &TraceText) -> Entries {
        Entries {
            text: text.clone(),
            at: 0,
        }
    }

    pub(super) fn begin_again(&mut self) {
        self.at = 0;
    }

    /// The next entry; None at the end.
    pub(super) fn next(&mut self) -> Option<&str> {
        let rest = &self.text.0[self.at..];
        if rest.is_empty() {
            return None;
        }
        let length = rest.find(' ').unwrap_or(rest.len());
        self.at = (self.at + length + 1).min(self.text.0.len());
        Some(&rest[..length])
    }
}

/// Parses a number at the start of an entry. Returns the number and the rest.
pub(super) fn number(entry: &str) -> Option<(u64, &str)> {
    let digits = entry.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = match digits {
        1..=19 => entry[..digits].parse().ok()?,
        _ => return None,
    };
    let rest = &entry[digits..];
    let (unit, rest) = match rest.as_bytes().first() {
        Some(b'k') => (1000, &rest[1..]),
        Some(b'm') => (1_000_000, &rest[1..]),
        Some(b'g') => (1_000_000_000, &rest[1..]),
        _ => (1, rest),
    };
    Some((number.checked_mul(unit)?, rest))
}

/// Writes a number as `number` reads it.
pub(super) fn write_number(text: &mut String, number: u64) {
    let units = [(1_000_000_000, "g"), (1_000_000, "m"), (1000, "k")];
    let found = units
        .iter()
        .find(|(unit, _)| number > 0 && number.is_multiple_of(*unit));
    let (unit, word) = found.copied().unwrap_or((1, ""));
    let _ = write!(text, "{}{word}", number / unit);
}
