//! A key of the description: how it is written, what stands there, what it is when resolved.

use crate::SpecError;
use crate::validate::{instant, require};
use serde::Serialize;

/// A key of a table.
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
    /// True or false.
    Flag,
    /// True, false, or this word.
    FlagOr(&'static str),
    /// One of these words.
    Words(&'static [&'static str]),
    /// A whole number.
    Whole(Whole),
    /// A size within bounds; resolved in bytes.
    Bytes(Bytes),
    /// Windows by hand, each with its instant.
    CwndChanges,
    /// What has a type and checks of its own; resolved as it is written.
    Own,
}

/// Bounds of a whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Whole {
    /// The least.
    pub least: u64,
    /// The most.
    pub most: u64,
    /// What it counts.
    pub unit: &'static str,
    /// One that might be written.
    pub example: u64,
}

/// Bounds of a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Bytes {
    /// The least, bytes.
    pub least: u64,
    /// The most, bytes.
    pub most: u64,
    /// Both in words.
    pub range: &'static str,
    /// One that might be written.
    pub example: &'static str,
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
    /// It may; the resolved description then has 0.
    OrZero,
    /// It may; the resolved description then has the default, which the key's own value is too.
    OrDefault,
    /// It may; the resolved description then has what the flow's profile says.
    ByProfile,
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

    /// Refuses a number, as resolved, out of the key's range; `path` is that of its table.
    pub(crate) fn check_range(&self, path: &str, number: u64) -> Result<(), SpecError> {
        let path = format!("{path}.{}", self.resolved);
        match self.value {
            Value::Time => instant(&path, number),
            Value::Whole(of) => {
                let allowed = format!("{} to {} {}", of.least, of.most, of.unit);
                let in_range = (of.least..=of.most).contains(&number);
                require(in_range, &path, number, &allowed)
            }
            Value::Bytes(of) => {
                let may_be_0 = self.presence == Presence::OrZero;
                let in_range = (of.least..=of.most).contains(&number) || may_be_0 && number == 0;
                let allowed = match may_be_0 {
                    true => format!("0, or from {}", of.range),
                    false => of.range.to_owned(),
                };
                require(in_range, &path, number, &allowed)
            }
            _ => Ok(()),
        }
    }
}
