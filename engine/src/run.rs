//! One run: from a resolved description to its tables.

use crate::capture::Output;
use crate::cca::external::{ModuleLoader, NoModules};
use crate::error::EngineError;
use crate::net::plan::FastPaths;
use crate::spec::Experiment;
use crate::tables::Tables;
use std::sync::atomic::{AtomicBool, AtomicU64};

mod agents;
mod check;
mod estimate;
mod incremental;
mod memory;
mod watch;

pub use agents::{AgentRun, Control, FASTEST_BYTES_PER_S, Interval, LARGEST_CWND_PKTS};
pub use check::{check_passing_time, check_simulator, unmatched_filters};
pub use estimate::Estimate;
pub use incremental::IncrementalRun;
pub use memory::{Account, Budget, OverBudget};

/// The output of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutput {
    /// The tables.
    pub tables: Tables,
    /// Digest of the tables.
    pub digest: String,
    /// Number of events.
    pub events: u64,
    /// Peak accounted memory, its tables included, in bytes.
    pub memory_bytes: u64,
    /// The estimate made before the run.
    pub expected: Estimate,
}

/// Lets another thread watch and stop a running simulation.
#[derive(Debug, Default)]
pub struct Monitor {
    /// Set to stop the run.
    pub cancel: AtomicBool,
    /// Virtual time of the run, picoseconds.
    pub now_ps: AtomicU64,
    /// Number of events so far.
    pub events: AtomicU64,
    /// The memory account of the run.
    pub memory: Account,
}

/// Runs one replication of a resolved description.
pub fn simulate_one(resolved_json: &str, replication: u64) -> Result<RunOutput, EngineError> {
    let experiment = Experiment::from_json(resolved_json)?;
    run(&experiment, replication, &Monitor::default())
}

/// Runs one replication of a checked description, if it can be simulated.
pub fn run(
    experiment: &Experiment,
    replication: u64,
    monitor: &Monitor,
) -> Result<RunOutput, EngineError> {
    run_captured(
        experiment,
        replication,
        monitor,
        None,
        FastPaths::On,
        &NoModules,
    )
}

/// As `run`, with an output for the capture if the description asks for one, with fast paths on or off, and
/// with modules of controllers that the simulator does not have.
pub fn run_captured(
    experiment: &Experiment,
    replication: u64,
    monitor: &Monitor,
    output: Option<Output>,
    fast_paths: FastPaths,
    modules: &dyn ModuleLoader,
) -> Result<RunOutput, EngineError> {
    let mut run = IncrementalRun::captured(
        experiment,
        replication,
        monitor,
        output,
        fast_paths,
        modules,
    )?;
    run.advance(u64::MAX)?;
    run.finish()
}
