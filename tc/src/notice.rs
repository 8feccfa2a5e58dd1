//! Warnings about valid tc text that probably means something else than its author intends.

use serde::Serialize;
use std::fmt;

/// Text that was read as tc reads it and is often misread by people.
///
/// As JSON: an object with `kind` and the fields of the variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Notice {
    /// A rate in `bps`, which means bytes per second.
    BytesPerSecond {
        /// As typed: `10Mbps`.
        value: String,
        /// Equivalent text: `80mbit`.
        means: String,
        /// The same number in bits: `10Mbit`.
        instead: String,
    },
    /// A time without unit, which means microseconds.
    Microseconds {
        /// As typed: `5`.
        value: String,
        /// Equivalent text: `5us`.
        means: String,
        /// The same number in milliseconds: `5ms`.
        instead: String,
    },
    /// A number of packets with a size unit, which multiplies it.
    PacketsWithUnit {
        /// As typed: `100kb`.
        value: String,
        /// Equivalent text: `102400`.
        means: String,
        /// The number alone: `100`.
        instead: String,
    },
    /// A filter on a property that no simulated packet has: a firewall mark, an Ethernet address, IPv6.
    MatchesNothing {
        /// As typed: `handle 0x6 fw`.
        value: String,
        /// What it matches: `no packet`.
        means: String,
        /// Why it matches nothing.
        #[serde(skip)]
        why: &'static str,
        /// A filter by port.
        instead: String,
    },
    /// A discipline with a queue for each of several that a device has in hardware.
    OneQueue {
        /// As typed: `mq`.
        value: String,
        /// What it is: `what is in its class 1`.
        means: String,
        /// What that is where no line says it.
        #[serde(skip)]
        without: &'static str,
        /// Lines that put another there.
        instead: String,
    },
    /// A filter that matches no flow and no probe of the experiment.
    MatchesNoFlow {
        /// As written: `u32 match ip dport 80 0xffff`.
        value: String,
        /// What it matches: `no packet`.
        means: String,
        /// The flow key that would make a flow match, or a filter that matches the first flow.
        instead: String,
    },
}

impl Notice {
    /// A JSON list: for each notice its `kind`, `value`, `means`, `instead`, and the full sentence as `text`.
    pub fn list_json(notices: &[Notice]) -> String {
        #[derive(Serialize)]
        struct Said<'a> {
            #[serde(flatten)]
            notice: &'a Notice,
            text: String,
        }
        let said = |notice| Said {
            notice,
            text: notice.to_string(),
        };
        // Serialization cannot fail: see Qdisc::to_json.
        serde_json::to_string(&notices.iter().map(said).collect::<Vec<_>>()).unwrap_or_default()
    }

    /// The text as typed.
    pub fn value(&self) -> &str {
        match self {
            Notice::BytesPerSecond { value, .. }
            | Notice::Microseconds { value, .. }
            | Notice::PacketsWithUnit { value, .. }
            | Notice::MatchesNothing { value, .. }
            | Notice::OneQueue { value, .. }
            | Notice::MatchesNoFlow { value, .. } => value,
        }
    }

    /// The meaning, as unambiguous tc text.
    pub fn means(&self) -> &str {
        match self {
            Notice::BytesPerSecond { means, .. }
            | Notice::Microseconds { means, .. }
            | Notice::PacketsWithUnit { means, .. }
            | Notice::MatchesNothing { means, .. }
            | Notice::OneQueue { means, .. }
            | Notice::MatchesNoFlow { means, .. } => means,
        }
    }

    /// What to type if the other meaning was intended.
    pub fn instead(&self) -> &str {
        match self {
            Notice::BytesPerSecond { instead, .. }
            | Notice::Microseconds { instead, .. }
            | Notice::PacketsWithUnit { instead, .. }
            | Notice::MatchesNothing { instead, .. }
            | Notice::OneQueue { instead, .. }
            | Notice::MatchesNoFlow { instead, .. } => instead,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (why, other) = match self {
            Notice::BytesPerSecond { .. } => ("in tc, bps means bytes per second", "bits"),
            Notice::Microseconds { .. } => (
                "tc reads a time without unit in microseconds",
                "milliseconds",
            ),
            Notice::PacketsWithUnit { .. } => {
                ("tc multiplies a number of packets by its unit", "packets")
            }
            Notice::MatchesNothing { why, .. } => (*why, "a flow by its port"),
            Notice::OneQueue { without, .. } => {
                return write!(
                    f,
                    "{:?} is {}, as a link has one queue: {without} where no line says another, such as {:?}",
                    self.value(),
                    self.means(),
                    self.instead()
                );
            }
            Notice::MatchesNoFlow { instead, .. } => {
                let other = match instead.starts_with("port") {
                    true => "a flow to that port",
                    false => "the first flow",
                };
                ("no flow or probe sends such packets", other)
            }
        };
        let verb = match self {
            Notice::MatchesNothing { .. } | Notice::MatchesNoFlow { .. } => "matches",
            _ => "is",
        };
        let (value, means, instead) = (self.value(), self.means(), self.instead());
        write!(
            f,
            "{value:?} {verb} {means}: {why}; for {other} write {instead:?}"
        )
    }
}
