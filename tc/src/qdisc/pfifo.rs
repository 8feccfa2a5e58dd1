//! `pfifo`: first in, first out, limited in packets (tc-pfifo(8), iproute2 `tc/q_fifo.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `limit PACKETS` | yes |
//! | no `limit`: the interface's txqueuelen | 1000, Linux's default for Ethernet and veth |
//! | `limit 0` (the kernel then drops every packet) | refused |
//! | a limit is read as a size: `1.5` is 1, `100kb` is 102400 packets | yes, with a notice if there is a unit |
//! | `1000p`, which tc prints and does not read | refused |

use super::words::Words;
use super::{Bounds, Device, Discipline, Grammar, Options, Parameter, QdiscError, Value};
use serde::{Deserialize, Serialize};
use std::fmt;

/// txqueuelen of an Ethernet device (`DEFAULT_TX_QUEUE_LEN` in the kernel, 1000 since 2.4).
pub(super) const DEFAULT_TXQUEUELEN_PACKETS: u32 = 1000;

/// A FIFO limited in packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pfifo {
    /// Limit in packets; at least 1.
    pub limit_packets: u32,
}

pub(super) const LIMIT: Parameter = Parameter {
    name: "limit",
    aliases: &[],
    argument: "PACKETS",
    key: "limit_packets",
    unit: "packets",
    default: Value::Number(DEFAULT_TXQUEUELEN_PACKETS as u64),
    default_source: "the interface's txqueuelen, 1000 for Ethernet and veth",
    range: "1 to 4294967295 packets",
    bounds: Bounds::within(1, 4_294_967_295),
    effect: "A packet that arrives when this many are queued is dropped.",
};

impl Grammar for Pfifo {
    const DISCIPLINE: Discipline = Discipline {
        name: "pfifo",
        summary: "FIFO with a limit in packets; a packet that arrives when it is reached is dropped.",
        source: "tc-pfifo(8); iproute2 tc/q_fifo.c; Linux net/sched/sch_fifo.c",
        parameters: &[LIMIT],
        not_implemented: &[],
        once: &[],
        abbreviated: &[],
    };

    const IS_PLAIN_FIFO: bool = true;

    fn parse(words: &mut Words) -> Result<Pfifo, QdiscError> {
        let mut limit_packets = DEFAULT_TXQUEUELEN_PACKETS;
        while let Some(parameter) = words.parameter()? {
            match parameter.name {
                "limit" => limit_packets = words.packets(parameter)?,
                other => return Err(words.unknown(other)),
            }
        }
        Ok(Pfifo { limit_packets })
    }

    fn check(&self) -> Result<(), QdiscError> {
        if self.limit_packets == 0 {
            return Err(Pfifo::DISCIPLINE.out_of_range(&LIMIT, 0));
        }
        Ok(())
    }

    fn options(&self, _: Device) -> Options {
        let limit = self.limit_packets;
        Options::default().show("limit", limit, &format!("limit {limit}p"))
    }
}

impl fmt::Display for Pfifo {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "pfifo limit {}", self.limit_packets)
    }
}
