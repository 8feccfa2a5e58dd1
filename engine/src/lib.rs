//! A packet-level simulator of queues at a bottleneck link.
//!
//! [`run::simulate_one`] takes a resolved description (JSON), a replication number, and returns the
//! tables of what happened. The crate is pure: it reads no clock, no file and no global state, and
//! starts no thread unless the feature `batch` is on. A run is a function of its description, its
//! seed and its replication number, and gives the same bytes everywhere.
//!
//! # A run
//!
//! 1. [`spec`] parses the description and checks it by itself. [`run`] then checks properties of the whole
//!    network: every loop of packets takes time ([`run::check_passing_time`]), and the run is not too large
//!    ([`run::Estimate`]).
//! 2. `net::plan` assigns a role to each direction of each link. The ordinary role has one event for each
//!    arrival and one for each departure. The other roles give the same tables with fewer events, where
//!    departures are known in advance: a pipe computes the departure of a packet at its arrival.
//! 3. The world (`sim::world`) holds the links, the flows and the pending events. Its loop takes the earliest
//!    event, calls the component that it belongs to, and schedules the component's next event. Events at one
//!    instant are ordered by class (link changes, departures, arrivals, sources, samples), then by the order
//!    of the description, so that ties are deterministic.
//! 4. [`tables`] turns counters, histograms and records into columns. Their digest (SHA-256) names
//!    the result.
//!
//! # A packet
//!
//! A source ([`spec::source`]) or a TCP sender ([`tcp`]) creates a packet for its conversation ([`traffic`]).
//! The packet enters a link of [`net`]: the discipline ([`qdisc`]) accepts, marks or drops it; the
//! transmitter takes `bytes / rate`; after the propagation delay the next host forwards it or hands it to its
//! conversation. A packet has 32 bytes and is copied from ring to ring. The TCP header is stored in the
//! segment store of the flow; only the receiver reads it.
//!
//! # Modules
//!
//! A module imports only modules above it; `tests/floors.rs` checks this.
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
//! # Guarantees
//!
//! - *Time* is a `u64` of picoseconds. A transmission time is exact over a run: the remainder of each
//!   division goes to the next packet.
//! - *Random draws* come from a stream for each (seed, replication, component), so adding an unrelated flow
//!   does not change the draws of others.
//! - *Conservation*: what a link accepted has been delivered or lost, or is still there. Tests verify it for
//!   random networks.
//! - *Fast paths* give the same digest as the ordinary path, for every network that a test can draw.
//!
//! `docs/architecture.md` describes the same in more detail, with the other crates and the Python side.
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
