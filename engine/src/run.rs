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

/// What came of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutput {
    /// What happened.
    pub tables: Tables,
    /// Hash of the tables.
    pub digest: String,
    /// How many events it took.
    pub events: u64,
    /// Peak accounted memory, its tables included, in bytes.
    pub memory_bytes: u64,
    /// What was foreseen.
    pub expected: Estimate,
}

/// How a running simulation is watched and stopped from outside.
#[derive(Debug, Default)]
pub struct Monitor {
    /// Set to stop it.
    pub cancel: AtomicBool,
    /// Its virtual time, picoseconds.
    pub now_ps: AtomicU64,
    /// Its events so far.
    pub events: AtomicU64,
    /// The memory it may use, and uses.
    pub memory: Account,
}

/// Runs one replication of a resolved description.
pub fn simulate_one(resolved_json: &str, replication: u64) -> Result<RunOutput, EngineError> {
    let experiment = Experiment::from_json(resolved_json)?;
    run(&experiment, replication, &Monitor::default())
}

/// Runs one replication of a checked description, if it is one that can be simulated.
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

/// As `run`, with somewhere to write the capture, where the description asks for one; with fast paths or
/// without; and with modules of controllers that are not of the simulator.
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
