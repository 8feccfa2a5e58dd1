//! A network while it runs; and the parts of `dumbbell_core`, on which all of this stands.

pub mod build;
pub mod headers;
pub mod world;

pub use dumbbell_core::{
    crossing, datagram, delays, drop, histogram, link_statistics, moments, packet, prefetch,
    random, rate, ring, row, rows, table, tcp_sample, time, timer, tournament, wheel,
};
