//! A running network, and re-exports of the parts of `dumbbell_core` that it uses.

pub mod build;
pub mod headers;
pub mod world;

pub use dumbbell_core::{
    acknowledgement, chunked_vec, crossing, datagram, delays, drop, histogram, link_statistics,
    moments, own_samples, packet, prefetch, random, rate, ring, slice_queue, table, tcp_sample,
    time, timer, tournament, wheel,
};
