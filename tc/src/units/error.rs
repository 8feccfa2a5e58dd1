//! Why a size, rate or time was refused.

use crate::reason::Reason;

/// Why a size, rate or time was refused. Every variant carries the same parts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields are the same everywhere: see the accessors
pub enum UnitError {
    /// The text is empty.
    #[error("a {quantity} is missing; allowed: {allowed}")]
    Empty {
        quantity: &'static str,
        value: String,
        allowed: String,
        hint: Option<String>,
    },
    /// More than [`MAX_VALUE_BYTES`](super::MAX_VALUE_BYTES) bytes, or more digits than any quantity has.
    #[error("{quantity} {value:?} is too long; allowed: {allowed}")]
    TooLong {
        quantity: &'static str,
        value: String,
        allowed: String,
        hint: Option<String>,
    },
    /// It does not start with a finite decimal number.
    #[error("{quantity} {value:?} is not a number with a unit; allowed: {allowed}{}", did_you_mean(.hint))]
    NotANumber {
        quantity: &'static str,
        value: String,
        allowed: String,
        hint: Option<String>,
    },
    /// It is below zero.
    #[error("{quantity} {value:?} is negative; allowed: {allowed}")]
    Negative {
        quantity: &'static str,
        value: String,
        allowed: String,
        hint: Option<String>,
    },
    /// A bare number where the unit is required.
    #[error("{quantity} {value:?} has no unit; allowed: {allowed}{}", did_you_mean(.hint))]
    UnitMissing {
        quantity: &'static str,
        value: String,
        allowed: String,
        hint: Option<String>,
    },
    /// The text after the number is not a unit of this quantity.
    #[error("{quantity} {value:?}: no such unit; allowed: {allowed}{}", did_you_mean(.hint))]
    UnknownUnit {
        quantity: &'static str,
        value: String,
        allowed: String,
        hint: Option<String>,
    },
    /// tc accepts it, but would use another value.
    #[error("{quantity} {value:?}: {reason}; allowed: {allowed}{}", did_you_mean(.hint))]
    NotTaken {
        quantity: &'static str,
        value: String,
        reason: Reason,
        allowed: String,
        hint: Option<String>,
    },
    /// Zero where it has no meaning, a fraction that would become zero, or overflow.
    #[error("{quantity} {value:?} is out of range; allowed: {allowed}")]
    OutOfRange {
        quantity: &'static str,
        value: String,
        allowed: String,
        hint: Option<String>,
    },
}

/// A part common to all variants.
macro_rules! part {
    ($error:expr, $part:ident) => {
        match $error {
            UnitError::Empty { $part, .. }
            | UnitError::TooLong { $part, .. }
            | UnitError::NotANumber { $part, .. }
            | UnitError::Negative { $part, .. }
            | UnitError::UnitMissing { $part, .. }
            | UnitError::UnknownUnit { $part, .. }
            | UnitError::NotTaken { $part, .. }
            | UnitError::OutOfRange { $part, .. } => $part,
        }
    };
}

impl UnitError {
    /// The quantity: `size`, `rate` or `time`.
    pub fn quantity(&self) -> &'static str {
        part!(self, quantity)
    }

    /// The refused text, shortened if long.
    pub fn value(&self) -> &str {
        part!(self, value)
    }

    /// What is allowed instead, in words.
    pub fn allowed(&self) -> &str {
        part!(self, allowed)
    }

    /// Why it is refused although tc accepts it.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            UnitError::NotTaken { reason, .. } => Some(*reason),
            _ => None,
        }
    }

    /// The probably intended text, ready to be typed.
    pub fn hint(&self) -> Option<&str> {
        part!(self, hint).as_deref()
    }
}

/// The end of a message that has a hint.
pub(crate) fn did_you_mean(hint: &Option<String>) -> String {
    match hint {
        Some(hint) => format!("; did you mean {hint:?}?"),
        None => String::new(),
    }
}

/// `text`, shortened if it is too long for a message.
pub(crate) fn shortened(text: &str) -> String {
    const SHOWN_CHARS: usize = 60;
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
