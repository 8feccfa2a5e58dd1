//! As much as TCP accepts, from start to stop, optionally with a small first write.

use super::{
    Carrier, FirstWrite, FlowStreams, Form, Key, LARGEST_TRANSFER_BYTES, Parameters, Presence,
    Sends, Supply, Testbed, TransferSize, Transfers, Value, Written,
};
use crate::SpecError;
use crate::validate::{instant, require};
use dumbbell_core::time::Time;
use serde::{Deserialize, Serialize};

/// Range of `write_size`: with smaller writes, filling a buffer of four megabytes would take very many.
const WRITE_BYTES: std::ops::RangeInclusive<u64> = 100..=1 << 18;

/// The first two are given together: a program that sends a short message before its data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Greedy {
    /// Bytes written when the connection opens; None for no such write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_write_bytes: Option<u64>,
    /// Time from the flow's start to the other writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest_after_ns: Option<u64>,
    /// Size of each write, by a program that leaves Nagle's algorithm on; None for writes as large as the
    /// buffer accepts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_size_bytes: Option<u64>,
}

impl Written for Greedy {
    const FORM: Form = Form {
        summary: "As much as TCP accepts (bulk transfer).",
        carrier: Carrier::Tcp,
        sends: Sends::Bytes,
        keys: &[
            Key::new(
                "first_write",
                Value::Size,
                "Written by itself when the connection is made, as iperf3 writes a cookie of 37 bytes: \
                 the window then is not used, and the first round trip has one small segment. Needs \
                 `rest_after`; left out, there is no such write.",
            )
            .resolved_as("first_write_bytes")
            .or(Presence::OrAbsent),
            Key::new(
                "rest_after",
                Value::Time,
                "Time from the flow's start to the other writes, if there is a `first_write`.",
            )
            .resolved_as("rest_after_ns")
            .or(Presence::OrAbsent),
            Key::new(
                "write_size",
                Value::Size,
                "What each write has, from 100 B to 256 KiB, as iperf3's `-l`, by a program that leaves \
                 Nagle's algorithm on; left out, each has what there is room for, with `TCP_NODELAY`.",
            )
            .resolved_as("write_size_bytes")
            .or(Presence::OrAbsent),
        ],
        testbed: Testbed::Iperf3,
        example: r#"{ kind = "greedy" }"#,
    };
}

impl Parameters for Greedy {
    fn check(&self, path: &str) -> Result<(), SpecError> {
        let path_of = |key: &str| format!("{path}.{key}");
        if let Some(bytes) = self.write_size_bytes {
            let allowed = "from 100 bytes to 262144";
            let in_range = WRITE_BYTES.contains(&bytes);
            require(in_range, &path_of("write_size_bytes"), bytes, allowed)?;
        }
        match (self.first_write_bytes, self.rest_after_ns) {
            (None, None) => Ok(()),
            (Some(bytes), Some(rest_after_ns)) => {
                let in_range = (1..=LARGEST_TRANSFER_BYTES).contains(&bytes);
                let allowed = "from 1 byte to 1 PB";
                require(in_range, &path_of("first_write_bytes"), bytes, allowed)?;
                instant(&path_of("rest_after_ns"), rest_after_ns)
            }
            (Some(_), None) => {
                let allowed = "a time: the first write precedes the others";
                Err(SpecError::new(path_of("rest_after_ns"), "nothing", allowed))
            }
            (None, Some(rest_after_ns)) => {
                let allowed = "nothing without a first write";
                Err(SpecError::new(
                    path_of("rest_after_ns"),
                    rest_after_ns,
                    allowed,
                ))
            }
        }
    }

    fn supply(&self, streams: FlowStreams) -> Supply {
        let first_write = self.first_write_bytes.map(|bytes| FirstWrite {
            bytes,
            rest_after: Time::from_ns(self.rest_after_ns.unwrap_or(0)),
        });
        Supply::Transfers(Box::new(Transfers {
            first_write,
            write_bytes: self.write_size_bytes,
            ..Transfers::one(TransferSize::Unlimited, streams)
        }))
    }
}
