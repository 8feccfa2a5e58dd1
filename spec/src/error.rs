//! A place of the description that cannot be run.

use thiserror::Error;

/// What is not allowed, said so that the person who wrote the experiment can mend it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path}: {value} is not allowed here; {allowed}")]
pub struct SpecError {
    /// Where in the resolved description, for example `links[0].forward.rate_bps`.
    pub path: String,
    /// What was found there.
    pub value: String,
    /// What would have been accepted.
    pub allowed: String,
}

impl SpecError {
    /// An error about one place of the description.
    pub fn new(path: impl Into<String>, value: impl ToString, allowed: impl Into<String>) -> Self {
        SpecError {
            path: path.into(),
            value: value.to_string(),
            allowed: allowed.into(),
        }
    }
}
