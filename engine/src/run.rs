//! One run: from a resolved description to its tables.

use crate::capture::{Capture, Output};
use crate::error::EngineError;
use crate::sim::world::World;
use crate::spec::Experiment;
use crate::tables::Tables;
use std::sync::atomic::{AtomicBool, AtomicU64};
use watch::{Bounds, Watch};

mod estimate;
mod memory;
mod watch;

pub use estimate::Estimate;
pub use memory::{Account, Budget, OverBudget};

/// Events between two looks at whether to stop: about a tenth of a millisecond.
const EVENTS_BETWEEN_LOOKS: u64 = 4096;

/// What came of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutput {
    /// What happened.
    pub tables: Tables,
    /// Hash of the tables.
    pub digest: String,
    /// How many events it took.
    pub events: u64,
    /// The most that it counted of what it takes, its tables included, bytes.
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
    run_captured(experiment, replication, monitor, None)
}

/// As `run`, with somewhere to write the capture, where the description asks for one.
pub fn run_captured(
    experiment: &Experiment,
    replication: u64,
    monitor: &Monitor,
    output: Option<Output>,
) -> Result<RunOutput, EngineError> {
    experiment.check_simulator()?;
    let expected = Estimate::of(experiment);
    let mut watch = Watch::new(monitor, Bounds::of(expected));
    watch.check_cancel()?;
    let mut world = World::new(experiment, replication);
    world.capture = Capture::new(experiment, output)?;
    drive(&mut world, &mut watch)?;
    world.finish();
    watch.count_memory(&world)?;
    world.check_conservation().map_err(EngineError::Internal)?;
    let mut tables = Tables::until(&world, &monitor.cancel);
    if let Some(capture) = &mut world.capture {
        capture.finish(world.end)?;
        tables.0.extend(capture.table());
    }
    let events = world.events;
    drop(world);
    // From here on there are only the tables, until somebody takes them.
    let _ = monitor.memory.set(tables.memory_bytes());
    let digest = tables.digest_until(&monitor.cancel);
    watch.check_cancel()?;
    Ok(RunOutput {
        digest,
        tables,
        events,
        memory_bytes: watch.most_memory_bytes(),
        expected,
    })
}

/// Does what happens until the end of the run.
fn drive(world: &mut World, watch: &mut Watch) -> Result<(), EngineError> {
    loop {
        let is_going = steps(world, EVENTS_BETWEEN_LOOKS);
        watch.look(world)?;
        if let Some(error) = { world.capture.as_mut() }.and_then(|capture| capture.failure()) {
            return Err(error);
        }
        if !is_going {
            return Ok(());
        }
    }
}

/// Does at least so many events. Returns whether there is more to do.
fn steps(world: &mut World, count: u64) -> bool {
    let until = world.events + count;
    while world.events < until {
        if !world.step() {
            return false;
        }
    }
    true
}
