//! What can go wrong, said so that the person who wrote the experiment can mend it.

use crate::spec::SpecError;
use thiserror::Error;

/// Why a run did not give a result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EngineError {
    /// The description cannot be run.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Somebody asked for the run to stop.
    #[error("the run was cancelled")]
    Cancelled,
    /// Events without an end in one instant.
    #[error(
        "stopped: {events} events at the same instant ({at_ns} ns), so its virtual time would not \
         go on; give the links on the way of its traffic a rate or a delay"
    )]
    Standstill {
        /// The instant.
        at_ns: u64,
        /// Events done in it.
        events: u64,
    },
    /// The run takes much longer than was foreseen.
    #[error(
        "stopped at {at_ns} ns: {events} events, and {expected} were foreseen for all of it, as its \
         traffic differs much from its means (heavy tails, very short round trips), or pie's timer \
         found a delay of minutes; shorten it, or lower its rates or sizes"
    )]
    TooManyEvents {
        /// How far it was.
        at_ns: u64,
        /// Events done.
        events: u64,
        /// Events foreseen.
        expected: u64,
    },
    /// The run does not fit in memory.
    #[error(
        "stopped at {at_ns} ns: it needs {} MB of memory, and {} MB are there for it; shorten it, \
         sample or ping less often, or leave record_packets off",
        needed_bytes.div_ceil(1_000_000), budget_bytes / 1_000_000
    )]
    OutOfMemory {
        /// How far it was.
        at_ns: u64,
        /// What it would use with its tables, bytes.
        needed_bytes: u64,
        /// What it may use.
        budget_bytes: u64,
    },
    /// What passed a queue could not be written down.
    #[error("writing the capture: {0}")]
    Capture(String),
    /// A controller that is not of the simulator can do nothing any more.
    #[error("{0}")]
    Controller(String),
    /// A fault of the simulator itself.
    #[error("the simulator failed: {0}")]
    Internal(String),
}
