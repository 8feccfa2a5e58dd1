//! The language of tc(8): its units and the queue disciplines one attaches with it.
//!
//! - [`units`]: sizes, rates and times as tc reads them, and text that reads back to the same
//!   number.
//! - [`qdisc`]: what follows `tc qdisc add dev X root`, as a typed [`Qdisc`] with a canonical
//!   JSON form, and back to the text one types to tc.
//!
//! ```
//! use dumbbell_tc::{parse_qdisc, parse_rate_bps, parse_size_bytes};
//!
//! assert_eq!(parse_size_bytes("10kb")?, 10_240); // powers of 1024 for sizes
//! assert_eq!(parse_rate_bps("10kbit")?, 10_000); // powers of 1000 for rates
//! let queue = parse_qdisc("bfifo limit 50kb")?;
//! assert_eq!(queue.to_json(), r#"{"kind":"bfifo","limit_bytes":51200}"#);
//! assert_eq!(queue.to_string(), "bfifo limit 50kb");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! No function here panics, reads a file or a clock, or keeps state; every text is bounded in
//! length ([`units::MAX_VALUE_BYTES`], [`qdisc::MAX_TEXT_BYTES`]).
//!
//! What tc reads and prints was taken from iproute2's `lib/utils_math.c` (`get_rate64`,
//! `get_size64`), `lib/utils.c` (`get_time64`), `lib/json_print.c`, `lib/json_print_math.c`,
//! `tc/q_fifo.c`, `tc/q_tbf.c` and `tc/q_netem.c`, and checked against the program itself
//! (`tests/installed_tc.rs`).

mod decimal;
mod nearest;
pub mod qdisc;
pub mod units;

pub use qdisc::{
    Discipline, Parameter, Police, Qdisc, QdiscError, Value, disciplines, disciplines_json,
    parse as parse_qdisc, parse_police,
};
pub use units::{
    UnitError, format_rate, format_size, format_time, parse_rate_bps, parse_size_bytes,
    parse_time_ns,
};
