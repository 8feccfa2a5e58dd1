//! A network while it runs; and the parts of `dumbbell_core`, on which all of this stands.

pub mod build;
pub mod headers;
pub mod world;

pub use dumbbell_core::{
    chunked_vec, crossing, datagram, delays, drop, histogram, link_statistics, moments, packet,
    prefetch, random, rate, ring, slice_queue, table, tcp_sample, time, timer, tournament, wheel,
};
