//! Errors in a resolved description.

use thiserror::Error;

/// A value that is not allowed, worded so that the author of the experiment can fix it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path}: {value} is not allowed here; {allowed}")]
pub struct SpecError {
    /// Path in the resolved description, for example `links[0].forward.rate_bps`.
    pub path: String,
    /// The value found there.
    pub value: String,
    /// The values that are allowed.
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
