//! Many runs on many threads.
//!
//! Runs share no state, so their results do not depend on the number of threads or on the order in which runs
//! finish. One thread submits work and collects results; workers see only a description and a channel.

use crate::capture::Output;
use crate::cca::external::{ModuleLoader, NoModules};
use crate::error::EngineError;
use crate::net::plan::FastPaths;
use crate::run::{self, Account, Budget, Monitor, RunOutput};
use crate::spec::Experiment;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Opens the output of a capture, or returns why it cannot be opened.
pub type OpenOutput = Box<dyn FnOnce() -> Result<Output, String> + Send>;

/// A run that has ended, with a result or an error.
#[derive(Debug)]
pub struct Completed {
    /// Index among the submitted runs.
    pub index: usize,
    /// Number of the replication.
    pub replication: u64,
    /// The outcome.
    pub result: Result<RunOutput, EngineError>,
    /// Holds the run's memory on the account of the batch until dropped.
    pub monitor: Arc<Monitor>,
}

/// Progress of the batch.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Progress {
    /// Runs submitted.
    pub started: usize,
    /// Runs ended.
    pub finished: usize,
    /// Runs not ended yet.
    pub running: usize,
    /// Sum over unfinished runs of the fraction of virtual time done.
    pub virtual_fraction: f64,
    /// Events of finished and unfinished runs.
    pub events: u64,
}

struct RunningJob {
    monitor: Arc<Monitor>,
    duration_ps: u64,
}

/// A thread pool that runs simulations and returns their results.
pub struct Batch {
    pool: rayon::ThreadPool,
    threads: usize,
    sender: Sender<Completed>,
    receiver: Receiver<Completed>,
    running: HashMap<usize, RunningJob>,
    finished: usize,
    started: usize,
    events: u64,
    memory: Arc<Budget>,
    fast_paths: FastPaths,
    modules: Arc<dyn ModuleLoader>,
}

impl Batch {
    /// A pool of `threads` threads (0: one per core) whose runs share a memory limit.
    pub fn new(threads: usize, memory_bytes: u64) -> Result<Batch, EngineError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| EngineError::Internal(error.to_string()))?;
        let (sender, receiver) = channel();
        let threads = pool.current_num_threads();
        // Each thread may have one run in progress and one finished run not collected yet.
        let runs = 2 * threads as u64;
        Ok(Batch {
            threads,
            memory: Arc::new(Budget::new(memory_bytes, runs)),
            pool,
            sender,
            receiver,
            running: HashMap::new(),
            finished: 0,
            started: 0,
            events: 0,
            fast_paths: FastPaths::On,
            modules: Arc::new(NoModules),
        })
    }

    /// Turns fast paths on or off; results are the same.
    #[must_use]
    pub fn with_fast_paths(mut self, fast_paths: FastPaths) -> Batch {
        self.fast_paths = fast_paths;
        self
    }

    /// Adds modules of controllers that the simulator does not have.
    #[must_use]
    pub fn with_modules(mut self, modules: Arc<dyn ModuleLoader>) -> Batch {
        self.modules = modules;
        self
    }

    /// The memory budget of its runs.
    pub fn memory(&self) -> &Budget {
        &self.memory
    }

    /// Whether another run would soon find a free thread. The caller then reads the next description.
    pub fn wants_more(&self) -> bool {
        self.running.len() < 2 * self.threads
    }

    /// Number of runs submitted and not ended.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Starts a run. `output` opens the file of its capture, if it has one, on the run's own thread.
    pub fn submit(
        &mut self,
        experiment: Arc<Experiment>,
        replication: u64,
        output: Option<OpenOutput>,
    ) {
        let monitor = Arc::new(Monitor {
            memory: Account::of(Arc::clone(&self.memory)),
            ..Monitor::default()
        });
        let index = self.started;
        self.started += 1;
        let running = RunningJob {
            monitor: Arc::clone(&monitor),
            duration_ps: experiment.duration_ns * 1000,
        };
        self.running.insert(index, running);
        let sender = self.sender.clone();
        let fast_paths = self.fast_paths;
        let modules = Arc::clone(&self.modules);
        self.pool.spawn(move || {
            let work = || {
                let output = output.map(|open| open()).transpose();
                let output = output.map_err(EngineError::Capture)?;
                run::run_captured(
                    &experiment,
                    replication,
                    &monitor,
                    output,
                    fast_paths,
                    &*modules,
                )
            };
            let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
                Err(EngineError::Internal(
                    text.unwrap_or_else(|| "a panic".to_owned()),
                ))
            });
            // The receiver is dropped only when no caller needs the result.
            let _ = sender.send(Completed {
                index,
                replication,
                result,
                monitor,
            });
        });
    }

    /// Waits at most `timeout` for the next run to end.
    pub fn wait(&mut self, timeout: Duration) -> Option<Completed> {
        match self.receiver.recv_timeout(timeout) {
            Ok(completed) => {
                self.running.remove(&completed.index);
                self.finished += 1;
                if let Ok(output) = &completed.result {
                    self.events += output.events;
                }
                Some(completed)
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Asks all unfinished runs to stop; they end as cancelled.
    pub fn cancel(&self) {
        for running in self.running.values() {
            running.monitor.cancel.store(true, Ordering::Relaxed);
        }
    }

    /// The progress of the batch.
    pub fn progress(&self) -> Progress {
        let mut progress = Progress {
            started: self.started,
            finished: self.finished,
            running: self.running.len(),
            virtual_fraction: 0.0,
            events: self.events,
        };
        for running in self.running.values() {
            let now = running.monitor.now_ps.load(Ordering::Relaxed);
            progress.virtual_fraction += now as f64 / running.duration_ps as f64;
            progress.events += running.monitor.events.load(Ordering::Relaxed);
        }
        progress
    }
}

impl Drop for Batch {
    /// Stops the threads: no caller can collect their results.
    fn drop(&mut self) {
        self.cancel();
    }
}
