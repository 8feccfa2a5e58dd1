//! A packet-level simulator of queues at a bottleneck link.
//!
//! The crate is pure: it reads no clock, no file and no global state, and (without the
//! feature `batch`) starts no thread. A run is a function of its resolved description, its
//! seed and its replication number, and gives the same bytes everywhere.
//!
//! ```
//! let resolved = r#"{"schema":1,"name":"two hosts","seed":1,"duration_ns":1000000000,
//!   "warm_up_ns":0,"sample_interval_ns":0,"timer_hz":1000,"hosts":[{"name":"a"},{"name":"b"}],
//!   "links":[{"a":"a","b":"b",
//!     "forward":{"rate_bps":1000000,"delay_ns":0,"mtu_bytes":1500,"overhead_bytes":14,"loss":0.0,"loss_every_pkts":0,
//!       "qdisc":{"kind":"pfifo","limit_packets":1000},"changes":[],"record_packets":false},
//!     "reverse":{"rate_bps":0,"delay_ns":0,"mtu_bytes":1500,"overhead_bytes":14,"loss":0.0,"loss_every_pkts":0,
//!       "qdisc":{"kind":"pfifo","limit_packets":1000},"changes":[],"record_packets":false}}],
//!   "flows":[],"probes":[{"name":"ping","kind":"ping","from":"a","to":"b","interval_ns":200000000,
//!     "count":0,"payload_bytes":56,"start_ns":0,"start_jitter_ns":0,"dscp":0}]}"#;
//! let run = dumbbell_engine::run::simulate_one(resolved, 0).unwrap();
//! assert_eq!(run.tables.column_i64("probes", "rtt_ns")[0], 784_000); // 98 bytes at 1 Mbit/s
//! ```

#[cfg(feature = "batch")]
pub mod batch;
pub mod capture;
pub mod error;
pub mod net;
pub mod observe;
pub mod run;
pub mod sim;
pub mod tables;
pub mod traffic;

pub use dumbbell_qdisc as qdisc;
pub use dumbbell_spec as spec;
pub use dumbbell_tcp as tcp;
pub use dumbbell_tcp::cca;
pub use error::EngineError;
