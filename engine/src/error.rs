//! What can go wrong, said so that the person who wrote the experiment can mend it.

use thiserror::Error;

/// Why a run did not give a result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EngineError {
    /// The description cannot be run.
    #[error("{path}: {value} is not allowed here; {allowed}")]
    Spec {
        /// Where in the resolved description, for example `links[0].forward.rate_bps`.
        path: String,
        /// What was found there.
        value: String,
        /// What would have been accepted.
        allowed: String,
        /// The nearest accepted word.
        hint: Option<String>,
    },
    /// Somebody asked for the run to stop.
    #[error("the run was cancelled")]
    Cancelled,
    /// What passed a queue could not be written down.
    #[error("writing the capture: {0}")]
    Capture(String),
    /// A fault of the simulator itself.
    #[error("the simulator failed: {0}")]
    Internal(String),
}

impl EngineError {
    /// An error about one place of the description.
    pub fn spec(path: impl Into<String>, value: impl ToString, allowed: impl Into<String>) -> Self {
        EngineError::Spec {
            path: path.into(),
            value: value.to_string(),
            allowed: allowed.into(),
            hint: None,
        }
    }
}
