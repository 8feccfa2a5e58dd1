//! The simulator for a web page: a resolved description, changes to it by path, and runs that the
//! page observes while they are in progress.
//!
//! The page stores descriptions that were resolved when it was generated, so nothing is resolved
//! again. A change sets a value in resolved units (`links[1].forward.rate_bps`), or tc text, which
//! the crate `dumbbell-tc` parses. [`toml_writer`] writes the result as a file for `dumbbell run`.
//!
//! Compiled for `wasm32-unknown-unknown`, the crate is the module described in `interface`. Times
//! of a run are virtual. The crate has no clock, so the caller decides how long each part of a run
//! may take.

pub mod capacity;
pub mod changes;
mod interface;
pub mod laboratory;
mod laws;
pub mod numbers;
pub mod path;
pub mod problem;
pub mod request;
pub mod rule;
pub mod tc_lines;
pub mod toml_writer;
