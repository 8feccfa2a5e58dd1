//! The packetdrill script language.
//!
//! | part | file |
//! | --- | --- |
//! | words, numbers, quoted text, comments | `lexer` |
//! | the elements of a script | `script` |
//! | options, times, events | `events` |
//! | packets | `packets` |
//! | system calls and their arguments | `calls` |
//! | `%{ assert ... }%` | `conditions` |
//!
//! These modules do not know TCP and execute nothing: shell lines are kept as text, and of Python
//! only comparisons are parsed.

mod calls;
pub mod conditions;
mod cursor;
mod events;
pub mod lexer;
mod packets;
pub mod script;

pub use events::parse;

use thiserror::Error;

/// A place in a script; line and column are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    /// Line number.
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}

/// A syntax error.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SyntaxErrorKind {
    /// An unexpected token.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// The tokens allowed there.
        expected: &'static str,
        /// The token found, shortened.
        found: String,
    },
    /// A quote, comment or assertion is not terminated.
    #[error("{0} has no end")]
    Unended(&'static str),
    /// A number is out of range.
    #[error("{value} is out of range; {allowed}")]
    OutOfRange {
        /// Source text of the number.
        value: String,
        /// The range allowed.
        allowed: &'static str,
    },
    /// The sequence numbers of a segment do not match its length.
    #[error("{start}:{end}({payload}) does not fit: {start} + {payload} is not {end}")]
    Inconsistent {
        /// First sequence number.
        start: u64,
        /// One past the last.
        end: u64,
        /// Payload, bytes.
        payload: u64,
    },
    /// A time range precedes an event that happens at one time.
    #[error("a range of times and * are only for packets that are sent")]
    RangeOfTimes,
    /// A time range ends before it begins.
    #[error("a range of times that ends before it begins")]
    BackwardRange,
    /// A limit of the parser is exceeded.
    #[error("more than {most} {what}")]
    TooMuch {
        /// What is limited.
        what: &'static str,
        /// The limit.
        most: usize,
    },
}

/// A syntax error and its position.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}:{}: {mistake}", place.line, place.column)]
pub struct SyntaxError {
    /// Position of the error.
    pub place: Place,
    /// The error.
    pub mistake: SyntaxErrorKind,
}

impl SyntaxError {
    fn new(place: Place, mistake: SyntaxErrorKind) -> SyntaxError {
        SyntaxError { place, mistake }
    }
}
