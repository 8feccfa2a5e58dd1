//! Runs that Python advances step by step, setting the windows or rates of some flows.

use crate::batch::Completed;
use crate::errors;
use dumbbell_engine::batch::Completed as EngineCompleted;
use dumbbell_engine::cca::external::NoModules;
use dumbbell_engine::run::{AgentRun as EngineRun, Control, Interval as EngineInterval, Monitor};
use dumbbell_engine::run::{FASTEST_BYTES_PER_S, LARGEST_CWND_PKTS, check_simulator};
use dumbbell_engine::spec::Experiment;
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard};

/// Events between two checks for signals: about a tenth of a second.
const EVENTS_BETWEEN_SIGNALS: u64 = 1 << 18;
const NS_PER_S: f64 = 1e9;
const BITS_PER_BYTE: f64 = 8.0;

/// Measurements of a flow in a monitor interval.
#[pyclass(frozen, module = "dumbbell._engine")]
struct Interval(EngineInterval);

impl Interval {
    /// Payload rate of full packets.
    fn rate_bps(&self, pkts: u64) -> f64 {
        if self.0.duration_ns == 0 {
            return 0.0;
        }
        let bits = pkts as f64 * f64::from(self.0.mss_bytes) * BITS_PER_BYTE;
        bits / (self.0.duration_ns as f64 / NS_PER_S)
    }
}

#[pymethods]
impl Interval {
    #[getter]
    fn duration_s(&self) -> f64 {
        self.0.duration_ns as f64 / NS_PER_S
    }

    #[getter]
    fn sent_pkts(&self) -> u64 {
        self.0.sent_pkts
    }

    #[getter]
    fn delivered_pkts(&self) -> u64 {
        self.0.delivered_pkts
    }

    #[getter]
    fn lost_pkts(&self) -> u64 {
        self.0.lost_pkts
    }

    #[getter]
    fn send_rate_bps(&self) -> f64 {
        self.rate_bps(self.0.sent_pkts)
    }

    #[getter]
    fn delivery_rate_bps(&self) -> f64 {
        self.rate_bps(self.0.delivered_pkts)
    }

    #[getter]
    fn loss(&self) -> f64 {
        match self.0.delivered_pkts + self.0.lost_pkts {
            0 => 0.0,
            known => self.0.lost_pkts as f64 / known as f64,
        }
    }

    #[getter]
    fn rtt_s(&self) -> Option<f64> {
        let smoothed = self.0.srtt_ns.map(|srtt_ns| srtt_ns as f64);
        self.0.mean_rtt_ns.or(smoothed).map(|ns| ns / NS_PER_S)
    }

    #[getter]
    fn rtt_gradient(&self) -> f64 {
        self.0.rtt_gradient.unwrap_or(0.0)
    }

    #[getter]
    fn srtt_s(&self) -> Option<f64> {
        self.0.srtt_ns.map(|ns| ns as f64 / NS_PER_S)
    }

    #[getter]
    fn min_rtt_s(&self) -> Option<f64> {
        self.0.min_rtt_ns.map(|ns| ns as f64 / NS_PER_S)
    }

    #[getter]
    fn in_flight_pkts(&self) -> u32 {
        self.0.in_flight_pkts
    }

    #[getter]
    fn cwnd_pkts(&self) -> u32 {
        self.0.cwnd_pkts
    }

    #[getter]
    fn pacing_rate_bps(&self) -> f64 {
        self.0.pacing_rate_bytes_per_s as f64 * BITS_PER_BYTE
    }

    #[getter]
    fn mss_bytes(&self) -> u32 {
        self.0.mss_bytes
    }
}

/// A run in progress.
#[pyclass(frozen, module = "dumbbell._engine")]
struct AgentRun {
    run: Mutex<Option<EngineRun<Arc<Monitor>>>>,
    monitor: Arc<Monitor>,
    replication: u64,
    agents: usize,
}

impl AgentRun {
    fn locked(&self) -> PyResult<MutexGuard<'_, Option<EngineRun<Arc<Monitor>>>>> {
        let busy = |_| PyRuntimeError::new_err("this run failed or is used by another thread");
        self.run.try_lock().map_err(busy)
    }

    fn with<T>(&self, work: impl FnOnce(&mut EngineRun<Arc<Monitor>>) -> T) -> PyResult<T> {
        let mut run = self.locked()?;
        let over = || PyRuntimeError::new_err("the run has been finished");
        Ok(work(run.as_mut().ok_or_else(over)?))
    }

    fn of<T>(
        &self,
        agent: usize,
        work: impl FnOnce(&mut EngineRun<Arc<Monitor>>) -> T,
    ) -> PyResult<T> {
        if agent >= self.agents {
            let text = format!("agent {agent}: there are {}", self.agents);
            return Err(PyIndexError::new_err(text));
        }
        self.with(work)
    }
}

#[pymethods]
impl AgentRun {
    #[new]
    #[pyo3(signature = (resolved_json, replication, flows, *, paced))]
    fn new(
        resolved_json: &str,
        replication: u64,
        flows: Vec<usize>,
        paced: bool,
    ) -> PyResult<AgentRun> {
        let experiment = Experiment::from_json(resolved_json);
        let experiment = experiment.map_err(|error| errors::from_spec(&error))?;
        check_simulator(&experiment).map_err(|error| errors::from_spec(&error))?;
        let monitor = Arc::new(Monitor::default());
        let control = match paced {
            true => Control::Rate,
            false => Control::Window,
        };
        let own = Arc::clone(&monitor);
        let run = EngineRun::new(&experiment, replication, own, &NoModules, &flows, control);
        Ok(AgentRun {
            run: Mutex::new(Some(run.map_err(errors::from_engine)?)),
            monitor,
            replication,
            agents: flows.len(),
        })
    }

    /// Processes events up to and including an instant. Returns whether more are left.
    fn advance_through(&self, py: Python<'_>, until_ns: u64) -> PyResult<bool> {
        loop {
            let advance = || {
                self.with(|run| {
                    let is_done = run.advance_through(until_ns, EVENTS_BETWEEN_SIGNALS);
                    (is_done, !run.is_at_end())
                })
            };
            let (is_done, goes_on) = py.detach(advance)?;
            if is_done.map_err(errors::from_engine)? {
                return Ok(goes_on);
            }
            py.check_signals()?;
        }
    }

    /// Whether an agent's flow has made its first connection.
    fn has_begun(&self, agent: usize) -> PyResult<bool> {
        self.of(agent, |run| run.has_begun(agent))
    }

    /// Whether an agent's flow has nothing more to send.
    fn is_over(&self, agent: usize) -> PyResult<bool> {
        self.of(agent, |run| run.is_over(agent))
    }

    /// Sets the window of an agent from its next acknowledgement on.
    fn set_cwnd(&self, agent: usize, cwnd_pkts: u32) -> PyResult<()> {
        if !(1..=LARGEST_CWND_PKTS).contains(&cwnd_pkts) {
            let text = format!("cwnd_pkts {cwnd_pkts}: 1 to {LARGEST_CWND_PKTS} is allowed");
            return Err(PyValueError::new_err(text));
        }
        self.of(agent, |run| run.set_cwnd(agent, cwnd_pkts))
    }

    /// Sets the pacing rate of an agent from its next acknowledgement on.
    fn set_pacing_rate(&self, agent: usize, bytes_per_s: u64) -> PyResult<()> {
        if !(1..=FASTEST_BYTES_PER_S).contains(&bytes_per_s) {
            let text = format!("{bytes_per_s} bytes/s: 1 to {FASTEST_BYTES_PER_S} is allowed");
            return Err(PyValueError::new_err(text));
        }
        self.of(agent, |run| run.set_pacing_rate(agent, bytes_per_s))
    }

    /// Measurements of an agent's flow since the last call.
    fn interval(&self, agent: usize) -> PyResult<Interval> {
        Ok(Interval(self.of(agent, |run| run.interval(agent))?))
    }

    /// Runs to the end and returns the tables.
    fn finish(&self, py: Python<'_>) -> PyResult<Completed> {
        let run = self.locked()?.take();
        let over = || PyRuntimeError::new_err("the run has been finished");
        let mut run = run.ok_or_else(over)?;
        let result = loop {
            match py.detach(|| run.advance(EVENTS_BETWEEN_SIGNALS)) {
                Ok(true) => py.check_signals()?,
                Ok(false) => break py.detach(|| run.finish()),
                Err(error) => break Err(error),
            }
        };
        Ok(Completed::from(EngineCompleted {
            index: 0,
            replication: self.replication,
            result,
            monitor: Arc::clone(&self.monitor),
        }))
    }
}

/// Adds the classes to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("FASTEST_BYTES_PER_S", FASTEST_BYTES_PER_S)?;
    module.add("LARGEST_CWND_PKTS", LARGEST_CWND_PKTS)?;
    module.add_class::<Interval>()?;
    module.add_class::<AgentRun>()
}
