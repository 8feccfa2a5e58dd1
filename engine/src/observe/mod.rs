//! Samples and per-packet records. Capture files are in `capture`.

pub mod activity;
pub mod records;
pub mod samples;
