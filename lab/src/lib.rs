//! The simulator for a page: a resolved description, changes to it by path, and runs that are
//! watched while they go.
//!
//! A page holds descriptions that were resolved when it was made, so nothing is resolved twice: a
//! change puts a value in resolved units in its place (`links[1].forward.rate_bps`), or tc text that
//! the crate `dumbbell-tc` reads. [`toml_writer`] turns the result into a file that `dumbbell run` takes.
//!
//! Compiled for `wasm32-unknown-unknown` it is the module that `interface` describes. Times of a run
//! are virtual; the crate knows no clock, so how long a piece of a run may be is its caller's to say.

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
