//! The Python module `dumbbell._engine`, a thin layer: texts and numbers in, columns out.

mod agents;
mod batch;
mod captures;
mod controllers;
mod errors;
mod packet_scripts;
mod python_controllers;
mod text;
mod traces;

use dumbbell_engine::net::plan::{FastPaths, explained};
use dumbbell_engine::run::{self, Estimate as EngineEstimate, check_passing_time, check_simulator};
use dumbbell_engine::sim::random::Stream;
use dumbbell_engine::spec::Experiment;
use dumbbell_engine::spec::law::Law;
use dumbbell_tc::Notice;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

/// Estimated cost of a run.
#[pyclass(frozen, get_all, module = "dumbbell._engine")]
struct Estimate {
    events: u64,
    memory_bytes: u64,
    cpu_ns: u64,
}

#[pyfunction]
#[pyo3(signature = (resolved_json, *, simulated = true))]
fn check(resolved_json: &str, simulated: bool) -> PyResult<Estimate> {
    let experiment = Experiment::from_json(resolved_json);
    let experiment = experiment.map_err(|error| errors::from_spec(&error))?;
    let checked = if simulated {
        check_simulator(&experiment)
    } else {
        check_passing_time(&experiment)
    };
    checked.map_err(|error| errors::from_spec(&error))?;
    let EngineEstimate {
        events,
        memory_bytes,
        cpu_ns,
    } = EngineEstimate::of(&experiment);
    Ok(Estimate {
        events,
        memory_bytes,
        cpu_ns,
    })
}

/// Filters that match no packet of any flow or probe: for each the path of its discipline, and a JSON list of
/// one notice.
#[pyfunction]
fn unmatched_filters(resolved_json: &str) -> PyResult<Vec<(String, String)>> {
    let experiment = Experiment::from_json(resolved_json);
    let experiment = experiment.map_err(|error| errors::from_spec(&error))?;
    let found = run::unmatched_filters(&experiment).into_iter();
    let said = found.map(|(path, notice)| (path, Notice::list_json(&[notice])));
    Ok(said.collect())
}

#[pyfunction]
fn explain(resolved_json: &str) -> PyResult<String> {
    let experiment = Experiment::from_json(resolved_json);
    let experiment = experiment.map_err(|error| errors::from_spec(&error))?;
    check_simulator(&experiment).map_err(|error| errors::from_spec(&error))?;
    let explained = explained(&experiment, FastPaths::On);
    Ok(serde_json::to_string(&explained).expect("a plan is JSON"))
}

#[pyfunction]
fn golden_stream<'py>(
    py: Python<'py>,
    seed: u64,
    replication: u64,
    component: &str,
    law_json: &str,
    n: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let law: Law = serde_json::from_str(law_json)
        .map_err(|error| errors::spec_invalid("law", law_json, &error.to_string(), None))?;
    law.validate()
        .map_err(|error| errors::spec_invalid(error.field, &error.value, error.allowed, None))?;
    let mut stream = Stream::new(seed, replication, component);
    let draws: Vec<f64> = (0..n).map(|_| law.draw(&mut stream)).collect();
    Ok(draws.into_pyarray(py))
}

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::register(module)?;
    text::register(module)?;
    traces::register(module)?;
    agents::register(module)?;
    batch::register(module)?;
    captures::register(module)?;
    controllers::register(module)?;
    packet_scripts::register(module)?;
    python_controllers::register(module)?;
    module.add_class::<Estimate>()?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(explain, module)?)?;
    module.add_function(wrap_pyfunction!(unmatched_filters, module)?)?;
    module.add_function(wrap_pyfunction!(golden_stream, module)?)
}
