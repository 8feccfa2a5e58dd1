//! What is kept of a run while it goes, besides the statistics of its parts: samples, and a row for
//! each packet. What goes to capture files is in `capture`.

pub mod activity;
pub mod records;
pub mod samples;
