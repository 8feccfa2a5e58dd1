//! Controllers outside the simulator: C controllers from shared objects, and Python classes.

use crate::python_controllers::{self, Class};
use dumbbell_engine::cca::external::{Module, ModuleLoader};
use dumbbell_engine::spec::tcp::Controller;
use dumbbell_native::{Facts, Objects};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The controllers that runs may name.
pub struct AvailableControllers {
    objects: Objects,
    /// By SHA-256 of the source and class name.
    classes: HashMap<(String, String), Arc<Class>>,
}

impl AvailableControllers {
    /// From shared objects by the SHA-256 of their sources, and classes.
    pub fn new(
        objects: HashMap<String, PathBuf>,
        classes: HashMap<(String, String), Class>,
    ) -> AvailableControllers {
        let classes = classes.into_iter();
        AvailableControllers {
            objects: Objects(objects),
            classes: classes.map(|(key, class)| (key, Arc::new(class))).collect(),
        }
    }
}

impl ModuleLoader for AvailableControllers {
    fn load(&self, described: &Controller) -> Result<Module, String> {
        let Some(name) = &described.class_name else {
            return self.objects.load(described);
        };
        let class = self.classes.get(&(described.sha256.clone(), name.clone()));
        let class = class.ok_or_else(|| {
            let sha256 = &described.sha256;
            format!("a class that was given: none is {name}, of SHA-256 {sha256}")
        })?;
        Ok(python_controllers::module(class, &described.parameters))
    }
}

/// Name, whether it requests pacing, owns recovery, needs the simulator; for each parameter name, minimum,
/// maximum and default.
type FactsTuple = (String, bool, bool, bool, Vec<(String, i64, i64, i64)>);

#[pyfunction]
fn controller_facts(path: PathBuf) -> PyResult<FactsTuple> {
    let Facts {
        name,
        wants_pacing,
        owns_recovery,
        needs_simulator,
        parameters,
    } = dumbbell_native::facts(&path).map_err(PyValueError::new_err)?;
    let parameters = parameters.into_iter();
    let parameters = parameters.map(|each| (each.name, each.least, each.most, each.value));
    Ok((
        name,
        wants_pacing,
        owns_recovery,
        needs_simulator,
        parameters.collect(),
    ))
}

/// Adds the entry to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(controller_facts, module)?)
}
