//! Errors of a run, worded so that the author of the experiment can fix them.

use crate::spec::SpecError;
use thiserror::Error;

/// Why a run gave no result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EngineError {
    /// The description cannot be run.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The caller asked the run to stop.
    #[error("the run was cancelled")]
    Cancelled,
    /// Events at one instant without end.
    #[error(
        "stopped: {events} events at the same instant ({at_ns} ns), so its virtual time would not \
         go on; give the links on the way of its traffic a rate or a delay"
    )]
    Standstill {
        /// The instant.
        at_ns: u64,
        /// Events done at it.
        events: u64,
    },
    /// The run takes far more events than estimated.
    #[error(
        "stopped at {at_ns} ns: {events} events, and {expected} were estimated for the whole run, as its \
         traffic differs much from its means (heavy tails, very short round trips), or pie's timer \
         found a delay of minutes; shorten it, or lower its rates or sizes"
    )]
    TooManyEvents {
        /// Virtual time reached.
        at_ns: u64,
        /// Events done.
        events: u64,
        /// Events estimated.
        expected: u64,
    },
    /// The run does not fit in memory.
    #[error(
        "stopped at {at_ns} ns: it needs {} MB of memory, and {} MB are there for it; shorten it, \
         sample or ping less often, or leave record_packets off",
        needed_bytes.div_ceil(1_000_000), budget_bytes / 1_000_000
    )]
    OutOfMemory {
        /// Virtual time reached.
        at_ns: u64,
        /// Memory needed with its tables, bytes.
        needed_bytes: u64,
        /// Memory allowed, bytes.
        budget_bytes: u64,
    },
    /// The capture could not be written.
    #[error("writing the capture: {0}")]
    Capture(String),
    /// A controller loaded from a module failed.
    #[error("{0}")]
    Controller(String),
    /// A bug in the simulator.
    #[error("the simulator failed: {0}")]
    Internal(String),
}
