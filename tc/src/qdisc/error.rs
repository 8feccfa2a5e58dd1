//! Why tc text was refused.

use crate::reason::Reason;
use crate::units::{UnitError, did_you_mean};

/// Why tc text, or the JSON of a discipline, was refused. Every variant has the refused value, what is
/// allowed, and sometimes a hint: see the accessors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields are the same everywhere: see the accessors
pub enum QdiscError {
    /// The text is empty.
    #[error("a queue discipline is missing; allowed: {allowed}")]
    Empty {
        value: String,
        allowed: String,
        hint: Option<String>,
    },
    /// More than [`MAX_TEXT_BYTES`](super::MAX_TEXT_BYTES) bytes.
    #[error("{value:?} is too long for a queue discipline; allowed: {allowed}")]
    TooLong {
        value: String,
        allowed: String,
        hint: Option<String>,
    },
    /// The first word is not a discipline of tc.
    #[error("no queue discipline is called {value:?}; allowed: {allowed}{}", did_you_mean(.hint))]
    UnknownDiscipline {
        value: String,
        allowed: String,
        hint: Option<String>,
    },
    /// The first word is a discipline of tc that is not implemented here.
    #[error("queue discipline {value:?} is not implemented yet; implemented: {allowed}")]
    DisciplineNotImplemented {
        value: String,
        allowed: String,
        hint: Option<String>,
    },
    /// The first word is a discipline that was removed from Linux.
    #[error("queue discipline {value:?} is no longer in Linux; use {instead}; allowed: {allowed}")]
    RemovedDiscipline {
        value: String,
        instead: &'static str,
        allowed: String,
        hint: Option<String>,
    },
    /// A word that the discipline does not have.
    #[error("{discipline} has no parameter {value:?}; allowed: {allowed}{}", did_you_mean(.hint))]
    UnknownWord {
        discipline: &'static str,
        value: String,
        allowed: String,
        hint: Option<String>,
    },
    /// A word that tc has for this discipline and that is not implemented here.
    #[error("{discipline} {value:?} is not implemented yet; implemented: {allowed}")]
    WordNotImplemented {
        discipline: &'static str,
        value: String,
        allowed: String,
        hint: Option<String>,
    },
    /// The text ends after a word that needs a value.
    #[error("{discipline} {value:?} has no value; allowed: {allowed}")]
    MissingValue {
        discipline: &'static str,
        value: String,
        allowed: String,
        hint: Option<String>,
    },
    /// A required parameter is missing.
    #[error("{discipline}: {value} is required{when}; allowed: {allowed}")]
    Missing {
        discipline: &'static str,
        value: String,
        when: &'static str,
        allowed: String,
        hint: Option<String>,
    },
    /// Two parameters that exclude each other.
    #[error("{discipline} takes either {other} or {value}, not both; allowed: {allowed}")]
    Conflict {
        discipline: &'static str,
        value: String,
        other: &'static str,
        allowed: String,
        hint: Option<String>,
    },
    /// A line that does not fit the lines before it, or is not a line of tc.
    #[error("line {value:?}: {reason}; allowed: {allowed}{}", did_you_mean(.hint))]
    BadLine {
        value: String,
        reason: String,
        /// The reason, if tc accepts the line.
        why: Option<Reason>,
        allowed: String,
        hint: Option<String>,
    },
    /// A parameter that tc accepts once is given twice.
    #[error("{discipline} {value:?} is given twice; allowed: {allowed}")]
    Repeated {
        discipline: &'static str,
        value: String,
        allowed: String,
        hint: Option<String>,
    },
    /// A parameter's value is not a size, rate or time.
    #[error("{discipline} {parameter}: {source}")]
    BadUnit {
        discipline: &'static str,
        parameter: &'static str,
        source: Box<UnitError>,
    },
    /// A parameter's value is not a whole number.
    #[error("{discipline} {parameter}: {value:?} is not a count; allowed: {allowed}{}", did_you_mean(.hint))]
    NotACount {
        discipline: &'static str,
        parameter: &'static str,
        value: String,
        allowed: String,
        hint: Option<String>,
    },
    /// A parameter's value is outside what the kernel can store or what makes sense.
    #[error("{discipline} {parameter}: {value:?} is out of range; allowed: {allowed}")]
    OutOfRange {
        discipline: &'static str,
        parameter: &'static str,
        value: String,
        allowed: String,
        hint: Option<String>,
    },
    /// tc accepts a parameter's value but would change it.
    #[error("{discipline} {parameter}: {value:?}: {reason}; allowed: {allowed}{}", did_you_mean(.hint))]
    NotTaken {
        discipline: &'static str,
        parameter: &'static str,
        value: String,
        reason: Reason,
        allowed: String,
        hint: Option<String>,
    },
    /// JSON that is not one discipline with all its keys.
    #[error("not the JSON of a queue discipline: {reason}; allowed: {allowed}")]
    BadJson {
        value: String,
        reason: String,
        allowed: String,
        hint: Option<String>,
    },
}

/// A part common to all variants; [`QdiscError::BadUnit`] takes it from its [`UnitError`].
macro_rules! part {
    ($error:expr, $part:ident, $of_unit:expr, $of_other:expr) => {
        match $error {
            QdiscError::BadUnit { source, .. } => $of_unit(source),
            QdiscError::Empty { $part, .. }
            | QdiscError::TooLong { $part, .. }
            | QdiscError::UnknownDiscipline { $part, .. }
            | QdiscError::DisciplineNotImplemented { $part, .. }
            | QdiscError::RemovedDiscipline { $part, .. }
            | QdiscError::UnknownWord { $part, .. }
            | QdiscError::WordNotImplemented { $part, .. }
            | QdiscError::MissingValue { $part, .. }
            | QdiscError::Missing { $part, .. }
            | QdiscError::Conflict { $part, .. }
            | QdiscError::BadLine { $part, .. }
            | QdiscError::Repeated { $part, .. }
            | QdiscError::NotACount { $part, .. }
            | QdiscError::OutOfRange { $part, .. }
            | QdiscError::NotTaken { $part, .. }
            | QdiscError::BadJson { $part, .. } => $of_other($part),
        }
    };
}

impl QdiscError {
    /// The same error with other words for what is allowed, for a value that depends on others.
    pub(super) fn with_allowed(mut self, words: String) -> Self {
        if let QdiscError::NotTaken { allowed, .. } = &mut self {
            *allowed = words;
        }
        self
    }

    /// The word or value refused, shortened if long.
    pub fn value(&self) -> &str {
        part!(self, value, UnitError::value, String::as_str)
    }

    /// What is allowed instead, in words.
    pub fn allowed(&self) -> &str {
        part!(self, allowed, UnitError::allowed, String::as_str)
    }

    /// Why it is refused although tc accepts it.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            QdiscError::NotTaken { reason, .. } => Some(*reason),
            QdiscError::BadLine { why, .. } => *why,
            QdiscError::BadUnit { source, .. } => source.reason(),
            _ => None,
        }
    }

    /// The probably intended text, ready to be typed.
    pub fn hint(&self) -> Option<&str> {
        part!(self, hint, UnitError::hint, Option::as_deref)
    }
}
