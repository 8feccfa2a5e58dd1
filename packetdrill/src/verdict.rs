//! What came of a script.

use crate::language::Place;
use serde::Serialize;

/// Passed, failed or unsupported.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
pub enum Verdict {
    /// Everything was as the script has it.
    Passed,
    /// Something was not.
    Failed(Failure),
    /// It needs what the engine does not model; it was not run.
    Unsupported(Missing),
}

/// What a script needs and the engine does not model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// Line of the first.
    pub line: u32,
    /// Its column.
    pub column: u32,
    /// Each, by name, once.
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

/// Where a script and the engine part.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failure {
    /// Line of the script.
    pub line: u32,
    /// Its column.
    pub column: u32,
    /// What differs.
    pub difference: Difference,
}

/// What differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Difference {
    /// A segment. Both in tcpdump's style.
    Packet {
        /// None: nothing was to be sent.
        expected: Option<String>,
        /// None: nothing was sent.
        found: Option<String>,
    },
    /// What a call returned, or that it waited.
    Call {
        /// Its name.
        name: String,
        /// As the script has it.
        expected: String,
        /// What happened.
        found: String,
    },
    /// An assertion, with the fields in it.
    Assertion {
        /// As written.
        expected: String,
        /// Each field and its value.
        found: Vec<(String, f64)>,
    },
}
