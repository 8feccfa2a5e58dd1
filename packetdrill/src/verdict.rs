//! The result of a script.

use crate::language::Place;
use serde::Serialize;

/// Passed, failed or unsupported.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
pub enum Verdict {
    /// Everything matched the script.
    Passed,
    /// Something differed from the script.
    Failed(Failure),
    /// It needs a feature that the engine does not model; it was not run.
    Unsupported(Missing),
}

/// The features that a script needs and the engine does not model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// Line of the first one.
    pub line: u32,
    /// Column of the first one.
    pub column: u32,
    /// Each feature by name, once.
    pub missing: Vec<String>,
}

impl Missing {
    pub(crate) fn new(place: Place, name: String) -> Missing {
        Missing {
            line: place.line,
            column: place.column,
            missing: vec![name],
        }
    }

    pub(crate) fn with(mut self, other: Missing) -> Missing {
        for name in other.missing {
            if !self.missing.contains(&name) {
                self.missing.push(name);
            }
        }
        self
    }
}

/// The point at which engine and script differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failure {
    /// Line of the script.
    pub line: u32,
    /// Column of the script.
    pub column: u32,
    /// The difference.
    pub difference: Difference,
}

/// A difference between engine and script.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Difference {
    /// A segment; both in tcpdump's format.
    Packet {
        /// None: no packet was expected.
        expected: Option<String>,
        /// None: no packet was sent.
        found: Option<String>,
    },
    /// The result of a call, or that it blocked.
    Call {
        /// Name of the call.
        name: String,
        /// The result in the script.
        expected: String,
        /// The actual result.
        found: String,
    },
    /// An assertion, with the fields that it uses.
    Assertion {
        /// Source text.
        expected: String,
        /// Each field and its value.
        found: Vec<(String, f64)>,
    },
}
