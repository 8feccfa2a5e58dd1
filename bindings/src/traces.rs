//! Traces of links: parsing of files, and derived properties.

use crate::errors;
use dumbbell_engine::sim::random::Stream;
use dumbbell_engine::sim::time::Time;
use dumbbell_engine::spec::LinkEnd;
use dumbbell_engine::spec::trace::capacity::bits_between;
use dumbbell_engine::spec::trace::read::Reader;
use dumbbell_engine::spec::trace::{Service, Step};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Parses a trace from the blocks of a file. Returns its resolved description in JSON.
#[pyfunction]
fn read_trace(pieces: &Bound<'_, PyAny>) -> PyResult<String> {
    let mut reader = Reader::default();
    for piece in pieces.try_iter()? {
        let piece = piece?;
        let piece = piece.cast::<PyBytes>()?;
        let read = reader.push(piece.as_bytes());
        read.map_err(|error| errors::from_spec(&error))?;
    }
    let trace = reader.finish().map_err(|error| errors::from_spec(&error))?;
    Ok(serde_json::to_string(&trace).expect("a trace is JSON"))
}

/// The service of a resolved link direction in a run.
fn service_of(end_json: &str, run: (u64, u64, &str, u64)) -> PyResult<Option<(Service, Step)>> {
    let (seed, replication, queue, end_ns) = run;
    let end: LinkEnd = serde_json::from_str(end_json)
        .map_err(|error| errors::spec_invalid("link", end_json, &error.to_string(), None))?;
    let own = end.own_values();
    let stream = Stream::new(seed, replication, &format!("link/{queue}/trace"));
    let trace = end.trace.as_ref();
    if let Some(trace) = trace {
        trace
            .check("trace")
            .map_err(|error| errors::from_spec(&error))?;
    }
    Ok(trace.map(|trace| (trace.service(&own, end_ns, stream), own)))
}

/// Bits that a link with a trace can send between consecutive edges, which are in nanoseconds.
#[pyfunction]
fn trace_bits<'py>(
    py: Python<'py>,
    end_json: &str,
    run: (u64, u64, String, u64),
    edges_ns: Vec<u64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let found = service_of(end_json, (run.0, run.1, &run.2, run.3))?;
    let edges: Vec<_> = edges_ns.into_iter().map(Time::from_ns).collect();
    let bits = match found {
        Some((service, own)) => bits_between(service, &own, &edges),
        None => Vec::new(),
    };
    Ok(PyArray1::from_vec(py, bits))
}

/// A step: time, ns; rate, bit/s; delay, ns; loss.
type StepTuple = (u64, Option<u64>, Option<u64>, Option<f64>);

/// The steps of a link with a trace, at most this number; None for opportunities.
#[pyfunction]
fn trace_steps(
    end_json: &str,
    run: (u64, u64, String, u64),
    most: usize,
) -> PyResult<Option<Vec<StepTuple>>> {
    let found = service_of(end_json, (run.0, run.1, &run.2, run.3))?;
    let Some((Service::Steps(steps), _)) = found else {
        return Ok(None);
    };
    let said = steps.take(most).map(|step| {
        let delay_ns = step.delay.map(Time::as_ns);
        (step.at.as_ns(), step.rate_bps, delay_ns, step.loss)
    });
    Ok(Some(said.collect()))
}

/// Adds this part to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(read_trace, module)?)?;
    module.add_function(wrap_pyfunction!(trace_bits, module)?)?;
    module.add_function(wrap_pyfunction!(trace_steps, module)?)
}
