//! How a source is written: its keys, their units and meaning. Python's models and checks, the way
//! back from a resolved description, the laboratory's files, the page of keys and the runs whose
//! digests are kept are all made from this.

use super::Carrier;
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

/// A key of a source.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Key {
    /// As a person writes it.
    pub name: &'static str,
    /// As the resolved description has it.
    pub resolved: &'static str,
    /// What stands there.
    pub value: Value,
    /// Whether it may be left out.
    pub presence: Presence,
    /// What it says.
    pub meaning: &'static str,
}

/// What a key holds, as it is written and as it is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    /// A law of times; resolved in seconds.
    GapLaw,
    /// A law of sizes; resolved in bytes.
    SizeLaw,
    /// A time, the mean of an exponential law.
    ExponentialGap,
    /// A time, the value of a constant law.
    ConstantGap,
    /// Whether sizes are payload or on the wire; by default on the wire over UDP.
    SizeAt,
    /// A whole number of at least 1.
    Count,
    /// A size; resolved in bytes.
    Size,
    /// A time; resolved in nanoseconds.
    Time,
    /// A list of times; resolved in nanoseconds.
    Times,
    /// A list of sizes; resolved in bytes.
    Sizes,
}

/// Whether a key may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// It may not, or its kind of value has a default.
    Always,
    /// It may; the resolved description then has null.
    OrNull,
    /// It may; the resolved description then has no such key.
    OrAbsent,
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

impl Key {
    /// One that has to be given, or has the default of its kind of value; of the same name when
    /// resolved.
    pub const fn new(name: &'static str, value: Value, meaning: &'static str) -> Key {
        Key {
            name,
            resolved: name,
            value,
            presence: Presence::Always,
            meaning,
        }
    }

    /// Of another name when resolved.
    pub const fn resolved_as(self, resolved: &'static str) -> Key {
        Key { resolved, ..self }
    }

    /// One that may be left out.
    pub const fn or(self, presence: Presence) -> Key {
        Key { presence, ..self }
    }
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
