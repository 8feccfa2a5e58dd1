//! Links.

pub mod chains;
pub mod folded;
pub mod gro;
pub mod gso;
pub mod link;
pub mod long_queues;
pub mod merge;
pub mod pending;
pub mod pipe;
pub mod plan;
pub mod policer;
pub mod propagation;
pub mod queued;
pub mod shaped;
pub mod transmitter;
pub mod turn;
