//! A packet-level simulator of queues at a bottleneck link.
//!
//! [`run::simulate_one`] takes a resolved description (JSON), a replication number, and returns the
//! tables of what happened. The crate is pure: it reads no clock, no file and no global state, and
//! starts no thread unless the feature `batch` is on. A run is a function of its description, its
//! seed and its replication number, and gives the same bytes everywhere.
//!
//! # A run
//!
//! 1. [`spec`] parses the description and checks it by itself. [`run`] then checks what only the
//!    whole network shows: that every loop of packets takes time ([`run::check_passing_time`]), and
//!    that the run is not too large ([`run::Estimate`]).
//! 2. `net::plan` gives each direction of each link a role. The ordinary role makes one event of an
//!    arrival and one of a departure. The others give the same tables with fewer events, where
//!    something is known beforehand: a pipe knows at the arrival when a packet will leave.
//! 3. The world (`sim::world`) holds the links, the flows and the pending events. Its loop takes the
//!    earliest event, lets one component react, and notes when that component wants to be called
//!    next. Events at one instant are ordered by class (changes of links, departures, arrivals,
//!    sources, samples), then by the order of the description, so a tie is never left to chance.
//! 4. [`tables`] turns counters, histograms and records into columns. Their digest (SHA-256) names
//!    the result.
//!
//! # A packet
//!
//! A source ([`spec::source`]) or a TCP sender ([`tcp`]) makes it; [`traffic`] knows the
//! conversation that it belongs to. It enters a link of [`net`]: its discipline ([`qdisc`]) accepts
//! it, marks it or drops it; the transmitter takes `bytes / rate`; the delay brings it to the next
//! host, which forwards it, or hands it to its conversation. It has 32 bytes and is copied from ring
//! to ring. What TCP adds stays in the segment store of its flow, which only the receiver reads.
//!
//! # Modules
//!
//! Each imports only those above it; `tests/floors.rs` checks that.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`net`] | links: queue, transmitter, loss, delay; the plan; the fast paths |
//! | [`traffic`] | what hosts do: datagrams, echoes, TCP flows and their applications |
//! | [`capture`], [`observe`] | what is written while a run goes: pcap, samples, records |
//! | `sim::world` | the components together, and the loop |
//! | [`tables`] | the columns |
//! | [`run`] | checks, the estimate, limits, one run in one piece or in many |
//! | `batch` | many runs on many threads |
//!
//! The disciplines, TCP and the descriptions are crates of their own and know nothing of the world.
//!
//! # To rely on
//!
//! - *Time* is a `u64` of picoseconds. A transmission time is exact over a run: the remainder of each
//!   division goes to the next packet.
//! - *Random draws* come from a stream for each (seed, replication, component), so an unrelated flow
//!   changes nobody's draws.
//! - *Conservation*: what a link accepted it delivered, lost, or still holds. Tests add it up for
//!   random networks.
//! - *Fast paths* give the digest of the ordinary path, for every network that a test can draw.
//!
//! `docs/architecture.md` has the same at length, with the other crates and the Python side.
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
