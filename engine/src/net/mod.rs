//! Links.

pub mod chains;
pub mod folded;
pub mod link;
pub mod policer;
pub mod propagation;
