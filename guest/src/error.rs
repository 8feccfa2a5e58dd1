//! What can go wrong inside the kernel.

use std::io;

/// Why a run gave no result. Its text is what the person at the host reads.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The job, or the description in it, cannot be read.
    #[error("the job cannot be read: {0}")]
    Job(String),
    /// The kernel refused something.
    #[error("{what}: {source}")]
    System {
        /// What was asked of it.
        what: String,
        /// What it said.
        source: io::Error,
    },
    /// A set-up line was refused.
    #[error("{tool} refused `{line}` at host {host}: {said}")]
    SetUp {
        /// `ip` or `tc`.
        tool: String,
        /// Index of the host.
        host: usize,
        /// Which line; empty when the program did not say.
        line: String,
        /// What it printed.
        said: String,
    },
    /// A program of the description failed.
    #[error("program {name} ({kind}): {how}; {said}")]
    Program {
        /// In the description.
        name: String,
        /// Which program.
        kind: String,
        /// What it did.
        how: String,
        /// What it printed last.
        said: String,
    },
    /// Something that should not happen.
    #[error("{0}")]
    Internal(String),
}

/// Says what was being done when the kernel refused it.
pub trait ErrorContext<T> {
    /// Adds the words.
    fn context(self, what: impl FnOnce() -> String) -> Result<T, GuestError>;
}

impl<T> ErrorContext<T> for io::Result<T> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, GuestError> {
        self.map_err(|source| GuestError::System {
            what: what(),
            source,
        })
    }
}
