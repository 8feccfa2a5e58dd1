//! What tc text means and may not be meant: nothing is wrong with it, but its writer should know.

use serde::Serialize;
use std::fmt;

/// Something that was read as tc reads it, and that many mean otherwise.
///
/// As JSON: an object with `kind` and the parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Notice {
    /// A rate in `bps`, which is bytes per second.
    BytesPerSecond {
        /// As typed: `10Mbps`.
        value: String,
        /// What it is: `80mbit`.
        means: String,
        /// The same number of bits: `10Mbit`.
        instead: String,
    },
    /// A time without unit, which is microseconds.
    Microseconds {
        /// As typed: `5`.
        value: String,
        /// What it is: `5us`.
        means: String,
        /// The same number of milliseconds: `5ms`.
        instead: String,
    },
    /// A count of packets with a unit of size, which multiplies it.
    PacketsWithUnit {
        /// As typed: `100kb`.
        value: String,
        /// What it is: `102400`.
        means: String,
        /// The number alone: `100`.
        instead: String,
    },
    /// A filter by what no packet has: the mark of a firewall, an address of Ethernet, IPv6.
    MatchesNothing {
        /// As typed: `handle 0x6 fw`.
        value: String,
        /// What it is: `a match of no packet`.
        means: String,
        /// Why it is none.
        #[serde(skip)]
        why: &'static str,
        /// One by a port.
        instead: String,
    },
    /// A filter that no flow and no probe of the experiment has packets for.
    MatchesNoFlow {
        /// As it is written: `u32 match ip dport 80 0xffff`.
        value: String,
        /// What it is: `a match of no packet`.
        means: String,
        /// The key of a flow that it would match, or a match of the first flow.
        instead: String,
    },
}

impl Notice {
    /// As a list in JSON: of each its `kind`, `value`, `means`, `instead` and, as `text`, the
    /// sentence that says it.
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
        // As for Qdisc::to_json.
        serde_json::to_string(&notices.iter().map(said).collect::<Vec<_>>()).unwrap_or_default()
    }

    /// What was typed.
    pub fn value(&self) -> &str {
        match self {
            Notice::BytesPerSecond { value, .. }
            | Notice::Microseconds { value, .. }
            | Notice::PacketsWithUnit { value, .. }
            | Notice::MatchesNothing { value, .. }
            | Notice::MatchesNoFlow { value, .. } => value,
        }
    }

    /// What it means, as one would type it without surprise.
    pub fn means(&self) -> &str {
        match self {
            Notice::BytesPerSecond { means, .. }
            | Notice::Microseconds { means, .. }
            | Notice::PacketsWithUnit { means, .. }
            | Notice::MatchesNothing { means, .. }
            | Notice::MatchesNoFlow { means, .. } => means,
        }
    }

    /// What is to be typed if the other was meant.
    pub fn instead(&self) -> &str {
        match self {
            Notice::BytesPerSecond { instead, .. }
            | Notice::Microseconds { instead, .. }
            | Notice::PacketsWithUnit { instead, .. }
            | Notice::MatchesNothing { instead, .. }
            | Notice::MatchesNoFlow { instead, .. } => instead,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (why, other) = match self {
            Notice::BytesPerSecond { .. } => ("bps is bytes per second to tc", "bits"),
            Notice::Microseconds { .. } => ("no unit is microseconds to tc", "milliseconds"),
            Notice::PacketsWithUnit { .. } => ("tc multiplies packets by a unit, too", "packets"),
            Notice::MatchesNothing { why, .. } => (*why, "a flow by its port"),
            Notice::MatchesNoFlow { instead, .. } => {
                let other = match instead.starts_with("port") {
                    true => "a flow of that port",
                    false => "the first flow",
                };
                ("no flow and no probe has such packets", other)
            }
        };
        let (value, means, instead) = (self.value(), self.means(), self.instead());
        write!(
            f,
            "{value:?} is {means}: {why}; for {other} write {instead:?}"
        )
    }
}
