//! Disciplines as `tc -d qdisc show` prints them, as text and as JSON (`tc -j`), without statistics.

use super::Qdisc;
use serde::{Serialize, Serializer};

/// Length of the Ethernet header, which the kernel includes in a device's frame size (`psched_mtu`).
pub(super) const LINK_HEADER_BYTES: u32 = 14;

/// Properties of the device from which the kernel derives defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    /// The longest packet, without the link header.
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
/// A discipline prints itself as its `print_opt` in iproute2 does, option by option ([`Options::show`]
/// corresponds to `print_uint(PRINT_ANY, ...)` and the like), including blanks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// The text after its parent and handle.
    pub text: String,
    /// The JSON of `tc -j`.
    pub json: Fields,
}

/// A JSON object whose keys keep their order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fields(pub Vec<(&'static str, Field)>);

/// A value in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Field {
    /// An integer.
    Number(i64),
    /// Another number, or one that tc prints with a fraction.
    Real(f64),
    /// An option that is present or absent.
    Flag(bool),
    /// A keyword without value (`print_null`).
    Nothing,
    /// A value that tc prints as text in JSON too.
    Text(String),
    /// A list.
    Numbers(Vec<u32>),
    /// A nested object.
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

    /// Adds a flag if `is_on`: its keyword, and `true`.
    pub(super) fn flag(self, word: &'static str, is_on: bool) -> Self {
        match is_on {
            true => self.show(word, Field::Flag(true), &format!("{word} ")),
            false => self,
        }
    }

    /// Adds text that has no counterpart in JSON at this place.
    pub(super) fn text(mut self, text: &str) -> Self {
        self.text.push_str(text);
        self
    }
}

/// A discipline at its place in the tree, as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shown {
    /// Its name in tc.
    pub kind: &'static str,
    /// Its handle, such as `1:`.
    pub handle: String,
    /// The parent class, such as `1:1`; None for the root.
    pub parent: Option<String>,
    /// Whether every packet accepted by the root passes through it, so that both have the same counters.
    pub has_every_packet: bool,
    /// Its options as text.
    pub text: String,
    /// Its options as JSON.
    pub options: Fields,
}

impl Qdisc {
    /// The discipline and its descendants, in the order and with the handles of [`Qdisc::lines`].
    ///
    /// Disciplines that the kernel attaches by itself, such as the bands of a bare prio, are left out, as in
    /// tc.
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

    /// The same as a JSON list.
    pub fn shown_json(&self, device: Device, handle: u16) -> String {
        // Serialization cannot fail: see Qdisc::to_json.
        serde_json::to_string(&self.shown(device, handle)).unwrap_or_default()
    }
}
