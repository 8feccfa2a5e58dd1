//! Disciplines as `tc -d qdisc show` prints them, in text and as `tc -j` does, without what they
//! have counted.

use super::Qdisc;
use serde::{Serialize, Serializer};

/// What Ethernet puts before a packet, which the kernel counts to a device's frames
/// (`psched_mtu`).
pub(super) const LINK_HEADER_BYTES: u32 = 14;

/// What the kernel takes from the device where a discipline's words leave it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    /// The longest packet, without the link's header.
    pub mtu_bytes: u32,
}

impl Device {
    /// The longest frame (`psched_mtu`).
    pub(super) fn frame_bytes(self) -> u32 {
        self.mtu_bytes.saturating_add(LINK_HEADER_BYTES)
    }
}

/// A discipline's options, as text and as JSON.
///
/// A discipline prints itself as its `print_opt` in iproute2 does, option by option
/// ([`Options::show`] is `print_uint(PRINT_ANY, ...)` and its like), blanks included.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// What follows its place in the tree.
    pub text: String,
    /// The same as `tc -j` has it.
    pub json: Fields,
}

/// An object of JSON whose keys stay in their order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fields(pub Vec<(&'static str, Field)>);

/// A value in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Field {
    /// A whole number.
    Number(i64),
    /// Any other, or one that tc prints with its fraction.
    Real(f64),
    /// An option that is there or not.
    Flag(bool),
    /// One whose word says all (`print_null`).
    Nothing,
    /// What tc prints as text in JSON, too.
    Text(String),
    /// Several.
    Numbers(Vec<u32>),
    /// An object inside.
    Fields(Fields),
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl From<u32> for Field {
    fn from(number: u32) -> Field {
        Field::Number(number.into())
    }
}

impl From<u64> for Field {
    fn from(number: u64) -> Field {
        Field::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<String> for Field {
    fn from(text: String) -> Field {
        Field::Text(text)
    }
}

impl Options {
    /// Adds an option in both forms.
    pub(super) fn show(mut self, key: &'static str, value: impl Into<Field>, text: &str) -> Self {
        self.text.push_str(text);
        self.json.0.push((key, value.into()));
        self
    }

    /// Adds one if `is_on`: its word, and `true`.
    pub(super) fn flag(self, word: &'static str, is_on: bool) -> Self {
        match is_on {
            true => self.show(word, Field::Flag(true), &format!("{word} ")),
            false => self,
        }
    }

    /// Adds to the text what JSON has elsewhere, or not.
    pub(super) fn text(mut self, text: &str) -> Self {
        self.text.push_str(text);
        self
    }
}

/// A discipline in its tree, as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shown {
    /// What tc calls it.
    pub kind: &'static str,
    /// Its handle, such as `1:`.
    pub handle: String,
    /// The class it is in, such as `1:1`; none for the root.
    pub parent: Option<String>,
    /// Whether every packet that the root takes goes through it, so that what the one counts the
    /// other does.
    pub has_every_packet: bool,
    /// Its options as text.
    pub text: String,
    /// Its options as JSON.
    pub options: Fields,
}

impl Qdisc {
    /// It and what is inside it, in the order and with the handles of [`Qdisc::lines`].
    ///
    /// Those that the kernel puts in by itself, such as the bands of a bare prio, are left out, as
    /// tc does.
    pub fn shown(&self, device: Device, handle: u16) -> Vec<Shown> {
        let placed = self.placed(handle).into_iter().map(|placed| {
            let Options { text, json } = placed.qdisc.options(device);
            Shown {
                kind: placed.qdisc.discipline().name,
                handle: format!("{:x}:", placed.handle),
                parent: placed.parent,
                has_every_packet: placed.has_every_packet,
                text,
                options: json,
            }
        });
        placed.collect()
    }

    /// The same as a list in JSON.
    pub fn shown_json(&self, device: Device, handle: u16) -> String {
        // As for Qdisc::to_json.
        serde_json::to_string(&self.shown(device, handle)).unwrap_or_default()
    }
}
