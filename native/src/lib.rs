//! Congestion controllers in C, loaded from shared objects.
//!
//! What is loaded runs with all that this process may do: whoever calls has been told that it is
//! wanted. `dumbbell_cc.h` is the interface; `docs/controllers.md` says how to write one.
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

/// Shared objects by the SHA-256 of their sources, as descriptions name them.
#[derive(Debug, Clone, Default)]
pub struct Objects(pub HashMap<String, PathBuf>);

impl ModuleLoader for Objects {
    /// Each time from a copy of its own, so that no two runs share a static variable.
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

/// What a shared object says of itself. Runs what it does when it is loaded.
///
/// # Errors
/// It cannot be loaded or is no controller of this version.
pub fn facts(path: &Path) -> Result<Facts, String> {
    Ok(Loaded::open(path)?.facts())
}
