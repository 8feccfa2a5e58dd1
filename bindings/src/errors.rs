//! Rust errors as Python exceptions with the same fields.

use dumbbell_engine::EngineError;
use dumbbell_engine::spec::SpecError;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::{create_exception, intern};

create_exception!(dumbbell._engine, UnitError, PyValueError);
create_exception!(dumbbell._engine, QdiscError, PyValueError);
create_exception!(dumbbell._engine, SpecInvalid, PyValueError);

fn with_parts(error: PyErr, path: &str, value: &str, allowed: &str, hint: Option<&str>) -> PyErr {
    Python::attach(|py| {
        let instance = error.value(py);
        let set = || -> PyResult<()> {
            instance.setattr(intern!(py, "path"), path)?;
            instance.setattr(intern!(py, "value"), value)?;
            instance.setattr(intern!(py, "allowed"), allowed)?;
            instance.setattr(intern!(py, "hint"), hint)
        };
        set().err().unwrap_or(error.clone_ref(py))
    })
}

/// For a description.
pub fn spec_invalid(path: &str, value: &str, allowed: &str, hint: Option<&str>) -> PyErr {
    let message = format!("{path}: {value} is not allowed here; {allowed}");
    with_parts(SpecInvalid::new_err(message), path, value, allowed, hint)
}

/// The fields of an error about a text besides its message.
pub struct Parts<'a> {
    /// The refused value.
    pub value: &'a str,
    /// The allowed values.
    pub allowed: &'a str,
    /// The probably intended value.
    pub hint: Option<&'a str>,
    /// The reason, if tc accepts the value.
    pub reason: Option<String>,
}

/// For a unit.
pub fn unit(message: String, parts: Parts) -> PyErr {
    about_text(UnitError::new_err(message), parts)
}

/// For tc text.
pub fn qdisc(message: String, parts: Parts) -> PyErr {
    about_text(QdiscError::new_err(message), parts)
}

fn about_text(error: PyErr, parts: Parts) -> PyErr {
    let error = with_parts(error, "", parts.value, parts.allowed, parts.hint);
    Python::attach(|py| {
        let set = error.value(py).setattr(intern!(py, "reason"), parts.reason);
        set.err().unwrap_or(error.clone_ref(py))
    })
}

/// For a place in a description.
pub fn from_spec(error: &SpecError) -> PyErr {
    spec_invalid(&error.path, &error.value, &error.allowed, None)
}

/// For a run.
pub fn from_engine(error: EngineError) -> PyErr {
    match &error {
        EngineError::Spec(error) => from_spec(error),
        other => PyRuntimeError::new_err(other.to_string()),
    }
}

/// Adds the exceptions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("UnitError", py.get_type::<UnitError>())?;
    module.add("QdiscError", py.get_type::<QdiscError>())?;
    module.add("SpecInvalid", py.get_type::<SpecInvalid>())
}
