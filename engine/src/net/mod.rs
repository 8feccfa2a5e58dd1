//! Links.

pub mod chains;
pub mod folded;
pub mod link;
pub mod pipe;
pub mod policer;
pub mod propagation;
