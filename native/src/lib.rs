//! Congestion controllers in C, loaded from shared objects.
//!
//! Loaded code runs with all privileges of this process; the caller must have permission to load
//! it. `dumbbell_cc.h` is the interface; `docs/controllers.md` explains how to write a controller.
#![allow(
    unsafe_code,
    reason = "the one place where other people's code is called"
)]

mod abi;
mod module;
#[cfg(unix)]
mod object;
#[cfg(not(unix))]
#[path = "no_object.rs"]
mod object;

use dumbbell_spec::tcp::Controller;
use dumbbell_tcp::cca::external::{Module, ModuleLoader};
use module::Loaded;
pub use module::{Facts, ParameterFacts};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Shared objects by the SHA-256 of their sources, as in experiment descriptions.
#[derive(Debug, Clone, Default)]
pub struct Objects(pub HashMap<String, PathBuf>);

impl ModuleLoader for Objects {
    /// Loads a separate copy each time, so that no two runs share a static variable.
    fn load(&self, described: &Controller) -> Result<Module, String> {
        let Some(path) = self.0.get(&described.sha256) else {
            return Err(format!(
                "a controller that is there: no shared object was given for SHA-256 {}",
                described.sha256
            ));
        };
        let loaded = Loaded::open(path)?;
        loaded.set(&described.parameters)?;
        Ok(Module(Arc::new(loaded)))
    }
}

/// Facts declared by a shared object. Loading it runs its initialisation code.
///
/// # Errors
/// It cannot be loaded or is not a controller of a supported version.
pub fn facts(path: &Path) -> Result<Facts, String> {
    Ok(Loaded::open(path)?.facts())
}
