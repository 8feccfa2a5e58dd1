//! The event core: time, the two pending-event sets, packets, randomness and statistics.

pub mod build;
pub mod delays;
pub mod digest;
pub mod histogram;
pub mod moments;
pub mod packet;
pub mod random;
pub mod rate;
pub mod records;
pub mod ring;
pub mod rows;
pub mod samples;
pub mod time;
pub mod timer;
pub mod tournament;
pub mod wheel;
pub mod world;
