//! Samples, and a row for each packet: what is recorded during a run besides statistics. Capture files are in
//! `capture`.

pub mod activity;
pub mod records;
pub mod samples;
