//! `bfifo`: first in, first out, limited in bytes (tc-bfifo(8), iproute2 `tc/q_fifo.c`).
//!
//! | clause | here |
//! | --- | --- |
//! | `limit SIZE`; bytes with the link layer's header | yes |
//! | no `limit`: txqueuelen times (the device's MTU plus link header) | 1514000, see below |
//! | `limit 0` (the kernel then drops every packet) | refused |
//!
//! The manual says that the default is txqueuelen times the MTU. The kernel multiplies by `psched_mtu`, the
//! MTU **plus** the link-layer header (`fifo_init` in `sch_fifo.c`): 1000 packets times (1500 + 14) bytes of
//! Ethernet are 1514000. The text is parsed without knowledge of its link, so links with another MTU have
//! this default too. Write the limit where it matters.

use super::pfifo::DEFAULT_TXQUEUELEN_PACKETS;
use super::words::Words;
use super::{Bounds, Device, Discipline, Grammar, Options, Parameter, QdiscError, Value};
use crate::reason::Reason;
use crate::units::{format_size, shown};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Longest Ethernet frame without its frame check sequence: `psched_mtu` of an Ethernet device.
const ETHERNET_FRAME_BYTES: u32 = 1500 + 14;

const DEFAULT_LIMIT_BYTES: u32 = DEFAULT_TXQUEUELEN_PACKETS * ETHERNET_FRAME_BYTES;

/// A FIFO limited in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bfifo {
    /// Largest backlog in bytes on the wire; at least 1.
    pub limit_bytes: u32,
}

const LIMIT: Parameter = Parameter {
    name: "limit",
    aliases: &[],
    argument: "SIZE",
    key: "limit_bytes",
    unit: "bytes",
    default: Value::Number(DEFAULT_LIMIT_BYTES as u64),
    default_source: "txqueuelen times MTU and link header: 1000 x (1500 + 14) for Ethernet",
    range: "1 to 4294967295 bytes",
    bounds: Bounds::within(1, 4_294_967_295),
    effect: "A packet that would bring the waiting bytes, link headers counted, above this is \
             dropped; a smaller one after it may still fit.",
};

impl Grammar for Bfifo {
    const DISCIPLINE: Discipline = Discipline {
        name: "bfifo",
        summary: "FIFO with a limit in bytes; a packet that would exceed it is dropped.",
        source: "tc-bfifo(8); iproute2 tc/q_fifo.c; Linux net/sched/sch_fifo.c",
        parameters: &[LIMIT],
        not_implemented: &[],
        once: &[],
        abbreviated: &[],
    };

    const IS_PLAIN_FIFO: bool = true;

    fn parse(words: &mut Words) -> Result<Bfifo, QdiscError> {
        let mut limit_bytes = DEFAULT_LIMIT_BYTES;
        while let Some(parameter) = words.parameter()? {
            match parameter.name {
                "limit" => limit_bytes = words.size_bytes(parameter, Reason::DropsAll)?,
                other => return Err(words.unknown(other)),
            }
        }
        Ok(Bfifo { limit_bytes })
    }

    fn check(&self) -> Result<(), QdiscError> {
        if self.limit_bytes == 0 {
            return Err(Bfifo::DISCIPLINE.out_of_range(&LIMIT, 0));
        }
        Ok(())
    }

    fn options(&self, _: Device) -> Options {
        let limit = self.limit_bytes;
        let text = format!("limit {}", shown::size(limit.into()));
        Options::default().show("limit", limit, &text)
    }
}

impl fmt::Display for Bfifo {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let limit = format_size(u64::from(self.limit_bytes));
        write!(f, "bfifo limit {limit}")
    }
}
