//! Controllers in C for Python: what a shared object says of itself.

use dumbbell_native::Facts;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Its name, whether it asks for pacing, whether it owns recovery, and of each parameter name,
/// least, most and usual value.
type Said = (String, bool, bool, Vec<(String, i64, i64, i64)>);

#[pyfunction]
fn controller_facts(path: PathBuf) -> PyResult<Said> {
    let Facts {
        name,
        wants_pacing,
        owns_recovery,
        parameters,
    } = dumbbell_native::facts(&path).map_err(PyValueError::new_err)?;
    let parameters = parameters.into_iter();
    let parameters = parameters.map(|each| (each.name, each.least, each.most, each.value));
    Ok((name, wants_pacing, owns_recovery, parameters.collect()))
}

/// Adds the entry to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(controller_facts, module)?)
}
