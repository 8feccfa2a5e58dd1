//! What hosts do: connections, echoes, and what is counted of them. When a source sends, and how
//! much, is in `spec::source`.

pub mod connection;
pub mod connection_table;
pub mod conversation;
pub mod counters;
pub mod ping;
pub mod segment_store;
pub mod tcp_flow;
