//! Building blocks of a packet simulation: time and rates, packets, random streams, event queues, statistics,
//! and tables.
//!
//! Nothing here depends on what is simulated. The guest of the kernel in virtual time uses the same code, so
//! its measurements have the same meaning.

pub mod acknowledgement;
pub mod cake_samples;
pub mod chunked_vec;
pub mod crossing;
pub mod datagram;
pub mod delays;
pub mod digest;
pub mod drop;
pub mod histogram;
pub mod link_statistics;
pub mod moments;
pub mod own_samples;
pub mod packet;
pub mod prefetch;
pub mod random;
pub mod rate;
pub mod ring;
pub mod slice_queue;
pub mod table;
pub mod tcp_sample;
pub mod time;
pub mod timer;
pub mod tournament;
pub mod wheel;
