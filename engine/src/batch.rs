//! Many runs on many threads.
//!
//! Runs share nothing, so their results do not depend on how many threads there are or which
//! finishes first. The caller feeds work in and takes results out from one thread; workers
//! never see anything but a description and a channel.

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

/// Opens what a capture is written to, or says why it cannot be.
pub type OpenOutput = Box<dyn FnOnce() -> Result<Output, String> + Send>;

/// A run that has come to its end, one way or the other.
#[derive(Debug)]
pub struct Completed {
    /// Where it stood among those submitted.
    pub index: usize,
    /// Which replication.
    pub replication: u64,
    /// What came of it.
    pub result: Result<RunOutput, EngineError>,
    /// Keeps what its tables take on the account of the batch until it goes.
    pub monitor: Arc<Monitor>,
}

/// How far the batch is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Progress {
    /// Submitted.
    pub started: usize,
    /// Ended.
    pub finished: usize,
    /// Not ended yet.
    pub running: usize,
    /// Sum over running ones of the share of virtual time done.
    pub virtual_fraction: f64,
    /// Events done by running and ended ones.
    pub events: u64,
}

struct RunningJob {
    monitor: Arc<Monitor>,
    duration_ps: u64,
}

/// A pool of threads with its results.
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
    /// A pool of `threads` threads, 0 for one a core, whose runs share a limit of memory.
    pub fn new(threads: usize, memory_bytes: u64) -> Result<Batch, EngineError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| EngineError::Internal(error.to_string()))?;
        let (sender, receiver) = channel();
        let threads = pool.current_num_threads();
        // While each thread has a run in hand, as many may be over and not taken yet.
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

    /// The same with fast paths or without, which changes no result.
    #[must_use]
    pub fn with_fast_paths(mut self, fast_paths: FastPaths) -> Batch {
        self.fast_paths = fast_paths;
        self
    }

    /// The same, with modules of controllers that are not of the simulator.
    #[must_use]
    pub fn with_modules(mut self, modules: Arc<dyn ModuleLoader>) -> Batch {
        self.modules = modules;
        self
    }

    /// The memory of its runs.
    pub fn memory(&self) -> &Budget {
        &self.memory
    }

    /// Whether another run would find a thread soon. Descriptions are read as they are needed.
    pub fn wants_more(&self) -> bool {
        self.running.len() < 2 * self.threads
    }

    /// How many have been submitted and not ended.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Starts a run. Its capture is written to what `output` gives when the run begins, on its
    /// own thread, if there is a capture to write.
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
            // The receiver is gone only when nobody wants the result any more.
            let _ = sender.send(Completed {
                index,
                replication,
                result,
                monitor,
            });
        });
    }

    /// The next run to end, waiting at most so long; None when none did.
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

    /// Asks every running one to stop; they end as cancelled.
    pub fn cancel(&self) {
        for running in self.running.values() {
            running.monitor.cancel.store(true, Ordering::Relaxed);
        }
    }

    /// How far the batch is.
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
    /// Threads must not go on computing for nobody.
    fn drop(&mut self) {
        self.cancel();
    }
}
