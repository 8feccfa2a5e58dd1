//! Hosts, links and routes.

pub mod chains;
pub mod folded;
pub mod link;
pub mod link_statistics;
pub mod policer;
pub mod propagation;
pub mod route;
