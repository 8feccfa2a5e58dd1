//! A key of the description: its name, its kind of value, and its resolved form.

use crate::link::{Change, LinkEnd};
use crate::sender::{COUNT, Flow, Probe};
use crate::validate::{KERNEL_NAME, instant, is_kernel_name, require};
use crate::{Ecn, Experiment, Guest, LONGEST_NS, ProbeKind, Source, SpecError, Transport, tcp};
use serde::Serialize;

/// Highest rate of a link, bit/s: a byte must take at least about a picosecond.
const FASTEST_BPS: u64 = 4_000_000_000_000;
/// Longest time that a device gathers frames (GRO), nanoseconds.
const LONGEST_GRO_NS: u64 = 1_000_000_000;
/// Largest link overhead per packet, bytes.
const LARGEST_OVERHEAD_BYTES: u64 = 1000;

/// A key of a table.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Key {
    /// Name in the experiment file.
    pub name: &'static str,
    /// Name in the resolved description.
    pub resolved: &'static str,
    /// Kind of value.
    pub value: Value,
    /// Whether it may be omitted.
    pub presence: Presence,
    /// Its meaning, for documentation.
    pub meaning: &'static str,
}

/// The kind of value of a key, in the file and resolved.
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
    /// Whether sizes are payload or on the wire; default over UDP: on the wire.
    SizeAt,
    /// An integer of at least 1.
    Count,
    /// A size; resolved in bytes.
    Size,
    /// A time; resolved in nanoseconds.
    Time,
    /// A time above 0; resolved in nanoseconds.
    PositiveTime,
    /// A time above 0 that ends an interval; that it is later than the start is checked elsewhere. Resolved
    /// in nanoseconds.
    EndTime,
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
    /// A list of these words, each at most once.
    WordList(&'static [&'static str]),
    /// An integer.
    Whole(Whole),
    /// A size within bounds; resolved in bytes.
    Bytes(Within),
    /// A rate within bounds; resolved in bit/s.
    RateWithin(Within),
    /// A time within bounds; resolved in nanoseconds.
    TimeWithin(Within),
    /// A rate, or `inf`; resolved in bit/s, 0 for `inf`.
    Rate,
    /// A size, or the name of a link type; resolved in bytes.
    Overhead,
    /// A probability.
    Probability,
    /// A number above 0 and at most 1.
    Share,
    /// A policer in tc syntax, or `none`; resolved as in the crate `tc`, or null.
    Police,
    /// A discipline in tc syntax; resolved as in the crate `tc`.
    Qdisc,
    /// A time, or `off`; resolved in nanoseconds.
    Gro,
    /// A trace: a file, or a table by its kind.
    Trace,
    /// Changes of a link, each with its instant.
    Changes,
    /// Window changes, each with its instant.
    CwndChanges,
    /// The name of a host, a flow or a probe, with examples.
    Name(&'static [&'static str]),
    /// The name of an experiment, which is used in file names.
    Title,
    /// The name of a kernel.
    KernelName,
    /// Names of queues.
    QueueNames,
    /// A seed of random numbers.
    Seed,
    /// A differentiated services code point, as a number or by its name.
    CodePoint,
    /// One of these numbers.
    Numbers(Numbers),
    /// A value with a type and checks of its own; resolved unchanged.
    Own,
}

/// Bounds of an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Whole {
    /// The minimum.
    pub least: u64,
    /// The maximum.
    pub most: u64,
    /// What it counts.
    pub unit: &'static str,
    /// An example.
    pub example: u64,
}

/// A set of allowed numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Numbers {
    /// The numbers.
    pub allowed: &'static [u64],
    /// The numbers in words.
    pub words: &'static str,
    /// What they count.
    pub unit: &'static str,
}

/// Bounds of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Within {
    /// The minimum, resolved.
    pub least: u64,
    /// The maximum, resolved.
    pub most: u64,
    /// Both in words.
    pub range: &'static str,
    /// Examples.
    pub examples: &'static [&'static str],
}

/// Whether a key may be omitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// Required, or its kind of value has a default.
    Always,
    /// Optional; null in the resolved description.
    OrNull,
    /// Optional; absent from the resolved description.
    OrAbsent,
    /// Optional; 0 in the resolved description.
    OrZero,
    /// Optional; the default, which is a valid value of the key, in the resolved description.
    OrDefault,
    /// Optional; the value of the flow's profile in the resolved description.
    ByProfile,
    /// Optional; a value derived from other keys in the resolved description.
    ByOthers,
}

impl Key {
    /// A required key, or one whose kind of value has a default; resolved under the same name.
    pub const fn new(name: &'static str, value: Value, meaning: &'static str) -> Key {
        Key {
            name,
            resolved: name,
            value,
            presence: Presence::Always,
            meaning,
        }
    }

    /// A key with another name when resolved.
    pub const fn resolved_as(self, resolved: &'static str) -> Key {
        Key { resolved, ..self }
    }

    /// A key that may be omitted.
    pub const fn or(self, presence: Presence) -> Key {
        Key { presence, ..self }
    }

    /// Its path when resolved, in the table at `path`.
    fn path(&self, path: &str) -> String {
        match path {
            "" => self.resolved.to_owned(),
            path => format!("{path}.{}", self.resolved),
        }
    }

    /// Refuses a resolved number outside the key's range; `path` is that of its table.
    fn check_range(&self, path: &str, number: u64) -> Result<(), SpecError> {
        let path = self.path(path);
        let may_be_0 = self.presence == Presence::OrZero;
        match self.value {
            Value::Time | Value::EndTime => instant(&path, number),
            Value::PositiveTime => {
                let allowed = "more than 0 and at most 200 days, in nanoseconds";
                require((1..=LONGEST_NS).contains(&number), &path, number, allowed)
            }
            Value::CodePoint => require(number < 64, &path, number, "0 to 63"),
            Value::Numbers(of) => require(of.allowed.contains(&number), &path, number, of.words),
            Value::Whole(of) => {
                let range = format!("{} to {} {}", of.least, of.most, of.unit);
                let allowed = match may_be_0 {
                    true => format!("0, or {range}"),
                    false => range,
                };
                let in_range = (of.least..=of.most).contains(&number) || may_be_0 && number == 0;
                require(in_range, &path, number, allowed.trim_end())
            }
            Value::Bytes(of) => {
                let in_range = (of.least..=of.most).contains(&number) || may_be_0 && number == 0;
                let allowed = match may_be_0 {
                    true => format!("0, or from {}", of.range),
                    false => of.range.to_owned(),
                };
                require(in_range, &path, number, &allowed)
            }
            Value::Rate => require(number <= FASTEST_BPS, &path, number, "at most 4 Tbit/s"),
            Value::Overhead => {
                let in_range = number <= LARGEST_OVERHEAD_BYTES;
                require(in_range, &path, number, "at most 1000 bytes")
            }
            Value::Gro => {
                let allowed = "at most 1 s, in nanoseconds";
                require(number <= LONGEST_GRO_NS, &path, number, allowed)
            }
            _ => Ok(()),
        }
    }
}

/// The check of a key's resolved value.
pub(crate) trait Held {
    /// Refuses a value outside the key's range; `path` is that of its table.
    fn check(&self, _key: &Key, _path: &str) -> Result<(), SpecError> {
        Ok(())
    }
}

impl Held for u64 {
    fn check(&self, key: &Key, path: &str) -> Result<(), SpecError> {
        key.check_range(path, *self)
    }
}

impl Held for u32 {
    fn check(&self, key: &Key, path: &str) -> Result<(), SpecError> {
        key.check_range(path, u64::from(*self))
    }
}

impl Held for u16 {
    fn check(&self, key: &Key, path: &str) -> Result<(), SpecError> {
        key.check_range(path, u64::from(*self))
    }
}

impl Held for u8 {
    fn check(&self, key: &Key, path: &str) -> Result<(), SpecError> {
        key.check_range(path, u64::from(*self))
    }
}

impl Held for String {
    fn check(&self, key: &Key, path: &str) -> Result<(), SpecError> {
        let holds = key.value != Value::KernelName || is_kernel_name(self);
        require(holds, &key.path(path), self, KERNEL_NAME)
    }
}

impl Held for f64 {
    fn check(&self, key: &Key, path: &str) -> Result<(), SpecError> {
        let in_range = (0.0..=1.0).contains(self);
        require(in_range, &key.path(path), self, "a probability from 0 to 1")
    }
}

impl<T: Held> Held for Option<T> {
    fn check(&self, key: &Key, path: &str) -> Result<(), SpecError> {
        self.iter().try_for_each(|value| value.check(key, path))
    }
}

/// Values whose type is check enough, or whose check is elsewhere.
macro_rules! held_by_type {
    ($($type:ty),+) => { $(impl Held for $type {})+ };
}

held_by_type!(
    bool,
    Ecn,
    Guest,
    ProbeKind,
    Source,
    Transport,
    Vec<String>,
    tcp::Ecn,
    tcp::EcnOptionUse,
    tcp::Pacing,
    tcp::Prr,
    tcp::Tcp,
    Vec<tcp::CwndChange>,
    Vec<Change>,
    dumbbell_tc::Police,
    dumbbell_tc::Qdisc
);

/// Declares a table of the description: its resolved type and its keys. An entry is a field with its default,
/// if it may be omitted; the name in the file, the kind of value, whether it may be omitted, and its meaning.
/// Fields that are not keys, or are tables, may precede and follow them.
macro_rules! table {
    (
        $(#[$of_table:meta])* $table:ident {
            $(
                $(#[$attribute:meta])*
                $field:ident: $type:ty $(= $default:expr)?;
                $name:literal, $value:expr, $presence:ident, $meaning:literal;
            )+
        }
        $(before { $($(#[$of_first:meta])* $first:ident: $first_type:ty;)+ })?
        $(after { $($(#[$of_last:meta])* $last:ident: $last_type:ty;)+ })?
    ) => {
        $(#[$of_table])*
        #[derive(Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $table {
            $($($(#[$of_first])* pub $first: $first_type,)+)?
            $(#[doc = $meaning] $(#[$attribute])* pub $field: $type,)+
            $($($(#[$of_last])* pub $last: $last_type,)+)?
        }

        impl $table {
            /// The keys, in the order of a file.
            pub const KEYS: &[$crate::key::Key] = &[$(
                $crate::key::Key::new($name, $value, $meaning)
                    .resolved_as(stringify!($field))
                    .or($crate::key::Presence::$presence),
            )+];

            /// The resolved default of each key; null for a required one.
            pub fn defaults() -> Vec<serde_json::Value> {
                vec![$($crate::key::default_of!($type $(, $default)?),)+]
            }

            /// Refuses numbers out of range; `path` is that of the table.
            pub(crate) fn check_ranges(&self, path: &str) -> Result<(), $crate::SpecError> {
                let mut keys = Self::KEYS.iter();
                $(
                    let key = keys.next().expect("a key for each field");
                    $crate::key::Held::check(&self.$field, key, path)?;
                )+
                Ok(())
            }
        }
    };
}

/// A default in JSON.
macro_rules! default_of {
    ($type:ty) => {
        serde_json::Value::Null
    };
    ($type:ty, $default:expr) => {{
        let value: $type = $default;
        serde_json::json!(value)
    }};
}

pub(crate) use {default_of, table};

/// A size within bounds.
pub(crate) const fn size(
    least: u64,
    most: u64,
    range: &'static str,
    examples: &'static [&'static str],
) -> Value {
    Value::Bytes(Within {
        least,
        most,
        range,
        examples,
    })
}

/// An integer within bounds.
pub(crate) const fn whole(least: u64, most: u64, unit: &'static str, example: u64) -> Value {
    Value::Whole(Whole {
        least,
        most,
        unit,
        example,
    })
}

/// A key and its default, as exported to Python.
#[derive(Serialize)]
pub(crate) struct Listed<K> {
    /// The key.
    #[serde(flatten)]
    pub key: K,
    /// Resolved.
    pub default: serde_json::Value,
}

/// Pairs keys with their defaults.
pub(crate) fn listed<K: Copy>(keys: &[K], defaults: Vec<serde_json::Value>) -> Vec<Listed<K>> {
    let pairs = keys.iter().zip(defaults);
    pairs
        .map(|(&key, default)| Listed { key, default })
        .collect()
}

/// All tables except those of TCP and sources, as exported to Python: JSON, lists of keys by table name.
pub fn tables_json() -> String {
    let link = listed(LinkEnd::KEYS, LinkEnd::defaults());
    let change = listed(Change::KEYS, Change::defaults());
    let experiment = listed(Experiment::KEYS, Experiment::defaults());
    let probe = listed(Probe::KEYS, Probe::defaults());
    let mut flow = listed(Flow::KEYS, Flow::defaults());
    flow.insert(1, listed(&[COUNT], vec![serde_json::Value::Null]).remove(0));
    serde_json::json!({
        "experiment": experiment,
        "link": link,
        "change": change,
        "flow": flow,
        "probe": probe,
        "home": crate::home::keys(),
    })
    .to_string()
}
