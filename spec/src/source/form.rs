//! How a source is written: its keys, their units and meaning. Python's models and checks, the way
//! back from a resolved description, the laboratory's files, the page of keys and the runs whose
//! digests are kept are all made from this.

use super::Carrier;
use crate::key::{Key, Presence, Value};
use serde::Serialize;

/// A source as a person writes it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Form {
    /// What it is, in one sentence.
    pub summary: &'static str,
    /// What can carry it.
    pub carrier: Carrier,
    /// What it gives to it.
    pub sends: Sends,
    /// Its keys beside `kind`, in the order in which a file has them.
    pub keys: &'static [Key],
    /// What sends it on a testbed.
    pub testbed: Testbed,
    /// One of them, in TOML. A run with it is among those whose digests are kept.
    pub example: &'static str,
}

/// What a source gives to what carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sends {
    /// Packets of their own sizes, at their own times.
    Packets,
    /// A stream of bytes without an end.
    Bytes,
    /// Transfers that end, each a row of the table `transfers`.
    Transfers,
}

/// What sends a source on a testbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "program", content = "why", rename_all = "lowercase")]
pub enum Testbed {
    /// ITGSend, where it has an option for the laws of `gap` and `size`.
    ItgSend,
    /// iperf3.
    Iperf3,
    /// No line is written, for this reason.
    Nothing(&'static str),
}

/// `size`, of the sources that send packets.
pub(super) const SIZE: Key = Key::new(
    "size",
    Value::SizeLaw,
    "Size of a packet, drawn anew for each.",
);

/// `size`, of those that make transfers.
pub(super) const TRANSFER_SIZE: Key = Key::new(
    "size",
    Value::SizeLaw,
    "Payload of a transfer, drawn anew for each.",
);

/// `size_at`.
pub(super) const SIZE_AT: Key = Key::new(
    "size_at",
    Value::SizeAt,
    "`wire`: the size drawn, rounded to whole bytes, is the packet's size at every queue, as in \
     queueing theory. `payload`: it is UDP payload; headers (28 bytes), IP fragments and each \
     link's overhead are added.",
);

/// `transfers`.
pub(super) const TRANSFERS: Key = Key::new(
    "transfers",
    Value::Count,
    "Number of transfers after which the flow is silent; as many as there is time for when left out. Fewer are \
     begun where the run, or the flow, ends before.",
)
.or(Presence::OrAbsent);

/// What `gap` means where either it or `rate` is given.
pub(super) const MEAN_GAP: &str = "Time between packets on average. Either this or `rate`.";
