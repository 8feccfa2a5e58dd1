//! The syntax of a source: its keys, their units and meaning. Python's models and checks, the conversion from
//! a resolved description, the laboratory's files, the reference of keys and the runs with stored digests are
//! generated from it.

use super::Carrier;
use crate::key::{Key, Presence, Value};
use serde::Serialize;

/// The syntax of a source.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Form {
    /// A one-sentence summary.
    pub summary: &'static str,
    /// The transports it can use.
    pub carrier: Carrier,
    /// What it sends.
    pub sends: Sends,
    /// Its keys besides `kind`, in the order of a file.
    pub keys: &'static [Key],
    /// The testbed program that sends it.
    pub testbed: Testbed,
    /// An example in TOML. A run with it is among those with stored digests.
    pub example: &'static str,
}

/// What a source hands to its transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sends {
    /// Packets of its own sizes, at its own times.
    Packets,
    /// An endless byte stream.
    Bytes,
    /// Finite transfers, each a row of the table `transfers`.
    Transfers,
}

/// The testbed program that sends a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "program", content = "why", rename_all = "lowercase")]
pub enum Testbed {
    /// ITGSend, if it has an option for the laws of `gap` and `size`.
    ItgSend,
    /// iperf3.
    Iperf3,
    /// None, for this reason.
    Nothing(&'static str),
}

/// `size` of sources that send packets.
pub(super) const SIZE: Key = Key::new(
    "size",
    Value::SizeLaw,
    "Size of a packet, drawn for each packet.",
);

/// `size` of sources that make transfers.
pub(super) const TRANSFER_SIZE: Key = Key::new(
    "size",
    Value::SizeLaw,
    "Payload of a transfer, drawn for each transfer.",
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

/// Meaning of `gap` if either it or `rate` is given.
pub(super) const MEAN_GAP: &str = "Mean time between packets. Either this or `rate`.";
