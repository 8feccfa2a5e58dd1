//! Conditions on the headers of a packet.

use serde::{Deserialize, Serialize};

/// The header fields that filters use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Header {
    /// DSCP and ECN.
    pub tos: u8,
    /// 1 ICMP, 6 TCP, 17 UDP.
    pub protocol: u8,
    /// Source address.
    pub source: u32,
    /// Destination address.
    pub destination: u32,
    /// Source port; for ICMP the type and code, which are at its place.
    pub source_port: u16,
    /// Destination port; for ICMP 0, in place of the checksum.
    pub destination_port: u16,
    /// Whether the packet is a fragment.
    pub fragment: Fragment,
}

/// Whether a packet has a transport header with ports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Fragment {
    /// Not a fragment.
    #[default]
    None,
    /// The first fragment, with the UDP header.
    First,
    /// A later fragment, without it.
    Later,
}

/// A header field; filters order conditions as in this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// Version (4) and header length (5 words) of the IP header, one byte.
    VersionAndLength,
    /// TOS byte: DSCP and ECN.
    Tos,
    /// The protocol, one byte.
    Protocol,
    /// The source address.
    Source,
    /// The destination address.
    Destination,
    /// The source port; for ICMP the type and code.
    SourcePort,
    /// The destination port.
    DestinationPort,
    /// The firewall mark; always 0 here.
    Mark,
}

/// IP version 4, header of 5 words.
const VERSION_AND_LENGTH: u8 = 0x45;
/// `net.ipv4.ip_local_port_range`: the ephemeral ports, which Linux chooses freely.
const LOCAL_PORTS: std::ops::RangeInclusive<u32> = 32_768..=60_999;

impl Field {
    /// The mask of all its bits.
    pub(super) fn bits(self) -> u32 {
        match self {
            Field::VersionAndLength | Field::Tos | Field::Protocol => 0xff,
            Field::SourcePort | Field::DestinationPort => 0xffff,
            Field::Source | Field::Destination | Field::Mark => u32::MAX,
        }
    }

    /// Its name in a message.
    pub(super) fn name(self) -> &'static str {
        match self {
            Field::VersionAndLength => "first byte of the IP header",
            Field::Tos => "DSCP or ECN",
            Field::Protocol => "protocol",
            Field::Source => "source address",
            Field::Destination => "destination address",
            Field::SourcePort => "source port",
            Field::DestinationPort => "destination port",
            Field::Mark => "mark",
        }
    }

    pub(super) fn is_port(self) -> bool {
        matches!(self, Field::SourcePort | Field::DestinationPort)
    }

    fn of(self, header: &Header) -> u32 {
        match self {
            Field::VersionAndLength => u32::from(VERSION_AND_LENGTH),
            Field::Tos => u32::from(header.tos),
            Field::Protocol => u32::from(header.protocol),
            Field::Source => header.source,
            Field::Destination => header.destination,
            Field::SourcePort => u32::from(header.source_port),
            Field::DestinationPort => u32::from(header.destination_port),
            Field::Mark => 0,
        }
    }
}

/// The required value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Wanted {
    /// Equal under a mask.
    Masked {
        /// The value; only bits of the mask.
        value: u32,
        /// The mask; at least one bit.
        mask: u32,
    },
    /// Within a range, both ends included.
    Range {
        /// The first value.
        first: u32,
        /// The last value, larger than the first.
        last: u32,
    },
}

impl Wanted {
    fn is(self, number: u32) -> bool {
        match self {
            Wanted::Masked { value, mask } => number & mask == value,
            Wanted::Range { first, last } => (first..=last).contains(&number),
        }
    }

    /// The mask; None for a range.
    pub(super) fn mask(self) -> Option<u32> {
        match self {
            Wanted::Masked { mask, .. } => Some(mask),
            Wanted::Range { .. } => None,
        }
    }
}

/// A field and its required value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The field.
    pub field: Field,
    /// Its required value.
    pub wanted: Wanted,
}

/// How a filter kind treats fragments.
#[derive(Clone, Copy)]
pub(super) struct Looks {
    /// u32 compares bytes, so it sees ports of first fragments. flower sees port 0 in every fragment.
    pub(super) into_first_fragments: bool,
}

impl Condition {
    pub(super) fn masked(field: Field, value: u32, mask: u32) -> Condition {
        let mask = mask & field.bits();
        let value = value & mask;
        Condition {
            field,
            wanted: Wanted::Masked { value, mask },
        }
    }

    pub(super) fn is_always(self) -> bool {
        self.wanted.mask() == Some(0)
    }

    pub(super) fn holds(self, header: &Header, looks: Looks) -> bool {
        let has_ports = match header.fragment {
            Fragment::None => true,
            Fragment::First => looks.into_first_fragments,
            Fragment::Later => false,
        };
        let number = match self.field.is_port() && !has_ports {
            true => 0,
            false => self.field.of(header),
        };
        self.wanted.is(number)
    }

    /// The conjunction of two conditions on one field; None if they contradict each other.
    pub(super) fn and(self, other: Condition) -> Option<Condition> {
        match (self.wanted, other.wanted) {
            (
                Wanted::Masked {
                    value: one,
                    mask: of_one,
                },
                Wanted::Masked {
                    value: two,
                    mask: of_two,
                },
            ) => {
                let agree = (one ^ two) & of_one & of_two == 0;
                agree.then(|| Condition::masked(self.field, one | two, of_one | of_two))
            }
            _ => (self == other).then_some(self),
        }
    }

    /// Whether it distinguishes ephemeral ports from each other.
    fn parts_local_ports(self) -> bool {
        self.field.is_port() && {
            let mut all = LOCAL_PORTS.map(|port| self.wanted.is(port));
            let first = all.next();
            all.any(|each| Some(each) != first)
        }
    }
}

/// Checks conditions; the error says what is allowed.
pub(super) fn check(conditions: &[Condition]) -> Result<(), &'static str> {
    if !conditions.is_sorted_by(|one, other| one.field < other.field) {
        return Err("each field once, in order");
    }
    let fits = |condition: &Condition| match condition.wanted {
        Wanted::Masked { value, mask } => {
            mask != 0 && mask & !condition.field.bits() == 0 && value & !mask == 0
        }
        Wanted::Range { first, last } => {
            condition.field.is_port() && 0 < first && first < last && last <= 0xffff
        }
    };
    match conditions.iter().all(fits) {
        true => Ok(()),
        false => Err("values within the field and the mask"),
    }
}

/// The port field that distinguishes ephemeral ports from each other, if any.
pub(super) fn of_local_ports(conditions: &[Condition]) -> Option<Field> {
    let found = { conditions.iter() }.find(|condition| condition.parts_local_ports());
    found.map(|condition| condition.field)
}
