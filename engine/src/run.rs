//! One run: from a resolved description to its tables.

use crate::capture::{Capture, Output};
use crate::error::EngineError;
use crate::sim::time::Time;
use crate::sim::world::World;
use crate::spec::Experiment;
use crate::tables::Tables;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

mod estimate;

pub use estimate::Estimate;

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
    let mut world = World::new(experiment, replication);
    world.capture = Capture::new(experiment, output)?;
    while steps(&mut world, EVENTS_BETWEEN_LOOKS) {
        report(&world, monitor);
        if let Some(error) = world.capture.as_mut().and_then(|capture| capture.failure()) {
            return Err(error);
        }
        if monitor.cancel.load(Ordering::Relaxed) {
            return Err(EngineError::Cancelled);
        }
    }
    world.finish();
    report(&world, monitor);
    world.check_conservation().map_err(EngineError::Internal)?;
    let mut tables = Tables::of(&world);
    if let Some(capture) = &mut world.capture {
        capture.finish(world.end)?;
        tables.0.extend(capture.table());
    }
    Ok(RunOutput {
        digest: tables.digest(),
        tables,
        events: world.events,
    })
}

/// Returns whether there is more to do.
fn steps(world: &mut World, count: u64) -> bool {
    for _ in 0..count {
        if !world.step() {
            return false;
        }
    }
    true
}

fn report(world: &World, monitor: &Monitor) {
    let Time(now_ps) = world.now;
    monitor.now_ps.store(now_ps, Ordering::Relaxed);
    monitor.events.store(world.events, Ordering::Relaxed);
}
