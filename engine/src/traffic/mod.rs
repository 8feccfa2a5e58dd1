//! The host side of traffic: connections, echoes and their counters. When and how much a source sends is
//! decided in `spec::source`.

pub mod connection;
pub mod connection_table;
pub mod conversation;
pub mod counters;
pub mod ping;
pub mod segment_store;
pub mod tcp_flow;
