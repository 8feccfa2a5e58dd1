//! The language, as packetdrill's users write it.
//!
//! | part | file |
//! | --- | --- |
//! | words, numbers, quoted text, comments | `lexer` |
//! | what a script says | `script` |
//! | options, times, events | `events` |
//! | packets | `packets` |
//! | system calls and their arguments | `calls` |
//! | `%{ assert ... }%` | `conditions` |
//!
//! Nothing here knows what TCP would do, and nothing is ever executed: shell lines stay text, and
//! of Python only comparisons are read.

mod calls;
pub mod conditions;
mod cursor;
mod events;
pub mod lexer;
mod packets;
pub mod script;

pub use events::parse;

use thiserror::Error;

/// A place in a script, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    /// Line.
    pub line: u32,
    /// Character in the line.
    pub column: u32,
}

/// What is wrong with a text that is no script.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SyntaxErrorKind {
    /// Something else stands where only this can.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What can stand there.
        expected: &'static str,
        /// What does, shortened.
        found: String,
    },
    /// A quote, comment or assertion has no end.
    #[error("{0} has no end")]
    Unended(&'static str),
    /// A number is too small or too large.
    #[error("{value} is out of range; {allowed}")]
    OutOfRange {
        /// As written.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The numbers of a segment do not fit together.
    #[error("{start}:{end}({payload}) does not fit: {start} + {payload} is not {end}")]
    Inconsistent {
        /// First sequence number.
        start: u64,
        /// One past the last.
        end: u64,
        /// Bytes.
        payload: u64,
    },
    /// A time with a range stands before something that happens at one time.
    #[error("a range of times and * are only for packets that are sent")]
    RangeOfTimes,
    /// The second time of a range is before the first.
    #[error("a range of times that ends before it begins")]
    BackwardRange,
    /// More than is read.
    #[error("more than {most} {what}")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// How much there may be.
        most: usize,
    },
}

/// A text that is no script.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}:{}: {mistake}", place.line, place.column)]
pub struct SyntaxError {
    /// Where.
    pub place: Place,
    /// What.
    pub mistake: SyntaxErrorKind,
}

impl SyntaxError {
    fn new(place: Place, mistake: SyntaxErrorKind) -> SyntaxError {
        SyntaxError { place, mistake }
    }
}
