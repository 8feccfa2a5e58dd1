//! Errors inside the kernel.

use std::io;

/// Why a run gave no result; the user reads the text.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The job, or the description in it, cannot be read.
    #[error("the job cannot be read: {0}")]
    Job(String),
    /// A system call failed.
    #[error("{what}: {source}")]
    System {
        /// The operation.
        what: String,
        /// The error of the system call.
        source: io::Error,
    },
    /// A set-up line was refused by `tc`.
    #[error("{tool} refused `{line}` at host {host}: {said}")]
    SetUp {
        /// `tc`.
        tool: String,
        /// Index of the host.
        host: usize,
        /// The line; empty if unknown.
        line: String,
        /// The program's output.
        said: String,
    },
    /// A program of the description failed.
    #[error("program {name} ({kind}): {how}; {said}")]
    Program {
        /// Name in the description.
        name: String,
        /// Kind of the program.
        kind: String,
        /// How it failed.
        how: String,
        /// Its last output.
        said: String,
    },
    /// A bug.
    #[error("{0}")]
    Internal(String),
}

/// Adds context to errors.
pub trait ErrorContext<T> {
    /// Describes the failed operation.
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
