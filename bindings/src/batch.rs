//! Batches of runs for Python: the calling thread checks signals and progress; the workers do not use Python.

use crate::controllers::AvailableControllers;
use crate::errors;
use crate::python_controllers::Class;
use dumbbell_engine::EngineError;
use dumbbell_engine::batch::{Batch, Completed as EngineCompleted, OpenOutput, Progress};
use dumbbell_engine::capture::Output;
use dumbbell_engine::net::plan::FastPaths;
use dumbbell_engine::run::{Monitor, check_simulator};
use dumbbell_engine::spec::Experiment;
use dumbbell_engine::tables::{Tables, Values};
use numpy::IntoPyArray;
use pyo3::exceptions::{PyRuntimeError, PyStopIteration};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator};
use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Interval between two checks for signals.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Buffer size of capture files.
const WRITTEN_AT_ONCE: usize = 1 << 20;
/// Number of parsed descriptions cached, because replications share one.
const READ_KEPT: usize = 64;

/// Asks a batch to stop; may be set from any thread or a signal handler.
#[pyclass(frozen, module = "dumbbell._engine")]
#[derive(Default)]
struct Cancel {
    flag: Arc<AtomicBool>,
}

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Cancel {
        Cancel::default()
    }

    fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}

/// Progress of a batch: the engine's numbers.
#[pyclass(frozen, name = "Progress", module = "dumbbell._engine")]
struct BatchProgress(Progress);

#[pymethods]
impl BatchProgress {
    #[getter]
    fn started(&self) -> usize {
        self.0.started
    }

    #[getter]
    fn finished(&self) -> usize {
        self.0.finished
    }

    #[getter]
    fn running(&self) -> usize {
        self.0.running
    }

    #[getter]
    fn virtual_fraction(&self) -> f64 {
        self.0.virtual_fraction
    }

    #[getter]
    fn events(&self) -> u64 {
        self.0.events
    }
}

/// Why a run gave no tables.
#[pyclass(frozen, eq, eq_int, hash, module = "dumbbell._engine")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(
    non_camel_case_types,
    clippy::upper_case_acronyms,
    reason = "constants of a Python enum"
)]
enum RunFailure {
    CANCELLED,
    STANDSTILL,
    TOO_MANY_EVENTS,
    OUT_OF_MEMORY,
    CAPTURE,
    CONTROLLER,
    REFUSED,
    INTERNAL,
}

impl From<&EngineError> for RunFailure {
    fn from(error: &EngineError) -> RunFailure {
        match error {
            EngineError::Cancelled => RunFailure::CANCELLED,
            EngineError::Standstill { .. } => RunFailure::STANDSTILL,
            EngineError::TooManyEvents { .. } => RunFailure::TOO_MANY_EVENTS,
            EngineError::OutOfMemory { .. } => RunFailure::OUT_OF_MEMORY,
            EngineError::Capture(_) => RunFailure::CAPTURE,
            EngineError::Controller(_) => RunFailure::CONTROLLER,
            EngineError::Spec(_) => RunFailure::REFUSED,
            EngineError::Internal(_) => RunFailure::INTERNAL,
        }
    }
}

/// A run that has ended.
#[pyclass(module = "dumbbell._engine")]
pub struct Completed {
    #[pyo3(get)]
    index: usize,
    #[pyo3(get)]
    replication: u64,
    #[pyo3(get)]
    error: Option<String>,
    #[pyo3(get)]
    failure: Option<RunFailure>,
    #[pyo3(get)]
    digest: String,
    #[pyo3(get)]
    events: u64,
    #[pyo3(get)]
    memory_bytes: u64,
    tables: Option<Tables>,
    /// Keeps the tables' memory on the batch's account until they are taken.
    monitor: Option<Arc<Monitor>>,
}

impl From<EngineCompleted> for Completed {
    fn from(done: EngineCompleted) -> Completed {
        let mut completed = Completed {
            index: done.index,
            replication: done.replication,
            error: None,
            failure: None,
            digest: String::new(),
            events: 0,
            memory_bytes: 0,
            tables: Some(Tables::default()),
            monitor: Some(done.monitor),
        };
        match done.result {
            Ok(output) => {
                completed.digest = output.digest;
                completed.events = output.events;
                completed.memory_bytes = output.memory_bytes;
                completed.tables = Some(output.tables);
            }
            Err(error) => {
                completed.failure = Some(RunFailure::from(&error));
                completed.error = Some(error.to_string());
            }
        }
        completed
    }
}

#[pymethods]
impl Completed {
    /// The columns, passed without a copy; a second call fails.
    fn take_tables<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tables = self.tables.take();
        let tables =
            tables.ok_or_else(|| PyRuntimeError::new_err("the tables were taken before"))?;
        self.monitor = None;
        let all = PyDict::new(py);
        for table in tables.0 {
            let columns = PyDict::new(py);
            for column in table.columns {
                match column.values {
                    Values::I64(values) => {
                        columns.set_item(column.name, values.into_pyarray(py))?
                    }
                    Values::I32(values) => {
                        columns.set_item(column.name, values.into_pyarray(py))?
                    }
                    Values::I8(values) => columns.set_item(column.name, values.into_pyarray(py))?,
                    Values::F64(values) => {
                        columns.set_item(column.name, values.into_pyarray(py))?
                    }
                }
            }
            all.set_item(table.name, columns)?;
        }
        Ok(all)
    }
}

/// Description, replication, and the file of a capture, if any.
#[derive(FromPyObject)]
enum Job {
    Plain(String, u64),
    Captured(String, u64, Option<PathBuf>),
}

/// Runs in order of completion.
#[pyclass(frozen, module = "dumbbell._engine")]
struct RunStream {
    jobs: Py<PyIterator>,
    cancel: Arc<AtomicBool>,
    state: Mutex<State>,
}

struct State {
    batch: Batch,
    read: HashMap<String, Arc<Experiment>>,
    exhausted: bool,
    /// Memory limit requested by the caller; `u64::MAX` for none.
    most_memory_bytes: u64,
}

impl RunStream {
    /// Submits work, reading jobs on the calling thread.
    fn feed(&self, py: Python<'_>) -> PyResult<()> {
        loop {
            let wants = {
                let state = self.lock()?;
                !state.exhausted && state.batch.wants_more() && !self.is_cancelled()
            };
            if !wants {
                return Ok(());
            }
            // The iterator is the caller's code: the state must not be locked while it runs.
            let mut jobs = self.jobs.bind(py).clone();
            let Some(job) = jobs.next() else {
                self.lock()?.exhausted = true;
                return Ok(());
            };
            let (text, replication, capture) = match job?.extract()? {
                Job::Plain(text, replication) => (text, replication, None),
                Job::Captured(text, replication, capture) => (text, replication, capture),
            };
            let mut state = self.lock()?;
            let experiment = state.read(&text)?;
            let output = capture.map(|path| -> OpenOutput { Box::new(|| created(path)) });
            state.batch.submit(experiment, replication, output);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    fn lock(&self) -> PyResult<std::sync::MutexGuard<'_, State>> {
        let busy = |_| PyRuntimeError::new_err("this stream failed or is used by another thread");
        self.state.try_lock().map_err(busy)
    }

    fn wait(&self, py: Python<'_>, timeout: Duration) -> PyResult<Option<EngineCompleted>> {
        let mut state = self.lock()?;
        if self.is_cancelled() {
            state.batch.cancel();
        }
        let batch = &mut state.batch;
        Ok(py.detach(|| batch.wait(timeout)))
    }

    fn is_done(&self) -> PyResult<bool> {
        let state = self.lock()?;
        Ok(state.batch.running() == 0 && (state.exhausted || self.is_cancelled()))
    }
}

impl State {
    fn read(&mut self, text: &str) -> PyResult<Arc<Experiment>> {
        if let Some(experiment) = self.read.get(text) {
            return Ok(Arc::clone(experiment));
        }
        let experiment = Experiment::from_json(text).map_err(|error| errors::from_spec(&error))?;
        check_simulator(&experiment).map_err(|error| errors::from_spec(&error))?;
        let experiment = Arc::new(experiment);
        if self.read.len() >= READ_KEPT {
            self.read.clear();
        }
        self.read.insert(text.to_owned(), Arc::clone(&experiment));
        Ok(experiment)
    }
}

/// A new file for a capture; the engine flushes it at its end.
fn created(path: PathBuf) -> Result<Output, String> {
    let file = File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(Box::new(BufWriter::with_capacity(WRITTEN_AT_ONCE, file)))
}

#[pymethods]
impl RunStream {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Completed> {
        loop {
            if let Some(completed) = self.poll(py, LOOK_EVERY.as_secs_f64())? {
                return Ok(completed);
            }
            if self.is_done()? {
                return Err(PyStopIteration::new_err(()));
            }
        }
    }

    /// The next run to end within `timeout_s` seconds, else None.
    fn poll(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Option<Completed>> {
        let until = Instant::now() + Duration::from_secs_f64(timeout_s.clamp(0.0, 3600.0));
        loop {
            self.feed(py)?;
            let left = until
                .saturating_duration_since(Instant::now())
                .min(LOOK_EVERY);
            if let Some(completed) = self.wait(py, left)? {
                return Ok(Some(completed.into()));
            }
            py.check_signals()?;
            if self.is_done()? || Instant::now() >= until {
                return Ok(None);
            }
        }
    }

    /// Sets the memory left, bytes, in addition to what runs use already.
    fn set_memory_left(&self, left_bytes: u64) -> PyResult<()> {
        let state = self.lock()?;
        let memory = state.batch.memory();
        let limit_bytes = memory.in_use_bytes().saturating_add(left_bytes);
        memory.set_limit(limit_bytes.min(state.most_memory_bytes));
        Ok(())
    }

    #[getter]
    fn done(&self) -> PyResult<bool> {
        self.is_done()
    }

    fn progress(&self) -> PyResult<BatchProgress> {
        Ok(BatchProgress(self.lock()?.batch.progress()))
    }
}

#[pyfunction]
#[pyo3(signature = (jobs, *, threads = 0, cancel = None, memory_bytes = None, fast_paths = true, controllers = None, classes = None))]
fn simulate(
    jobs: &Bound<'_, PyAny>,
    threads: usize,
    cancel: Option<PyRef<'_, Cancel>>,
    memory_bytes: Option<u64>,
    fast_paths: bool,
    controllers: Option<HashMap<String, PathBuf>>,
    classes: Option<HashMap<(String, String), Class>>,
) -> PyResult<RunStream> {
    let memory_bytes = memory_bytes.unwrap_or(u64::MAX);
    let batch = Batch::new(threads, memory_bytes).map_err(errors::from_engine)?;
    let given =
        AvailableControllers::new(controllers.unwrap_or_default(), classes.unwrap_or_default());
    let cancel = cancel.map_or_else(Default::default, |cancel| Arc::clone(&cancel.flag));
    let fast_paths = match fast_paths {
        true => FastPaths::On,
        false => FastPaths::Off,
    };
    Ok(RunStream {
        jobs: jobs.try_iter()?.unbind(),
        cancel,
        state: Mutex::new(State {
            batch: batch
                .with_fast_paths(fast_paths)
                .with_modules(Arc::new(given)),
            read: HashMap::new(),
            exhausted: false,
            most_memory_bytes: memory_bytes,
        }),
    })
}

/// Adds the classes and the entry to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Cancel>()?;
    module.add_class::<BatchProgress>()?;
    module.add_class::<RunFailure>()?;
    module.add_class::<Completed>()?;
    module.add_class::<RunStream>()?;
    module.add_function(wrap_pyfunction!(simulate, module)?)
}
