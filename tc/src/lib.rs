//! The language of tc(8): its units and queue disciplines.
//!
//! - [`units`]: parses sizes, rates and times as tc does, and formats them so that they parse to the same
//!   number.
//! - [`qdisc`]: parses what follows `tc qdisc add dev X root` into a typed [`Qdisc`] with a canonical JSON
//!   form, and formats it as tc text.
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
//! No function here panics, reads a file or a clock, or keeps state. The length of every text is bounded
//! ([`units::MAX_VALUE_BYTES`], [`qdisc::MAX_TEXT_BYTES`]).
//!
//! The behaviour of tc is that of iproute2 6.1: `lib/utils_math.c` (`get_rate64`, `get_size`), `lib/utils.c`
//! (`get_time`, `get_unsigned`), `tc/tc_util.c`, `tc/tc_core.c`, `lib/json_print.c`, `lib/json_print_math.c`
//! and `tc/q_*.c`. It is checked against the program (`tests/installed_tc.rs`) and the kernel
//! (`tests/kernel_backend/test_tc_strings.py` of the repository).

mod c_numbers;
mod decimal;
mod nearest;
mod notice;
pub mod qdisc;
mod reason;
pub mod units;

pub use notice::Notice;
pub use qdisc::{
    Discipline, Parameter, Police, Qdisc, QdiscError, Value, disciplines, disciplines_json,
    parse as parse_qdisc, parse_noting as parse_qdisc_noting, parse_police, parse_police_noting,
    police_table_json, script,
};
pub use reason::Reason;
pub use units::{
    UnitError, format_rate, format_size, format_time, parse_rate_bps, parse_size_bytes,
    parse_time_ns, rate_notice,
};
