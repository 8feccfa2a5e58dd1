//! What a filter wants of a packet's headers.

use serde::{Deserialize, Serialize};

/// What filters look at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Header {
    /// DSCP and ECN.
    pub tos: u8,
    /// 1 ICMP, 6 TCP, 17 UDP.
    pub protocol: u8,
    /// The address that it comes from.
    pub source: u32,
    /// The address that it goes to.
    pub destination: u32,
    /// Of ICMP type and code, as they lie where the others have the port.
    pub source_port: u16,
    /// Of ICMP 0, in place of the checksum.
    pub destination_port: u16,
    /// Of a datagram in fragments.
    pub fragment: Fragment,
}

/// Whether the ports are in a packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Fragment {
    /// It is no fragment.
    #[default]
    None,
    /// The first, with the header of UDP.
    First,
    /// A later one, without.
    Later,
}

/// A part of the headers; in the order of this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// Version (4) and length (5 words) of the IP header, a byte.
    VersionAndLength,
    /// DSCP and ECN, a byte.
    Tos,
    /// The protocol, a byte.
    Protocol,
    /// The source address.
    Source,
    /// The destination address.
    Destination,
    /// The source port; of ICMP type and code.
    SourcePort,
    /// The destination port.
    DestinationPort,
    /// The mark that a firewall puts on a packet; it is 0 here.
    Mark,
}

/// Version 4, a header of 5 words.
const VERSION_AND_LENGTH: u8 = 0x45;
/// `net.ipv4.ip_local_port_range`: of these Linux gives a sender which it likes.
const LOCAL_PORTS: std::ops::RangeInclusive<u32> = 32_768..=60_999;

impl Field {
    /// All bits that it has.
    pub(super) fn bits(self) -> u32 {
        match self {
            Field::VersionAndLength | Field::Tos | Field::Protocol => 0xff,
            Field::SourcePort | Field::DestinationPort => 0xffff,
            Field::Source | Field::Destination | Field::Mark => u32::MAX,
        }
    }

    /// Its name in a sentence.
    pub(super) fn name(self) -> &'static str {
        match self {
            Field::VersionAndLength => "first byte of the header",
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

/// What a field must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Wanted {
    /// So in the bits of the mask.
    Masked {
        /// Only bits of the mask.
        value: u32,
        /// At least a bit.
        mask: u32,
    },
    /// From the first number to the last, which is larger.
    Range {
        /// The least.
        first: u32,
        /// The most.
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

    /// Which bits it looks at; none of a range.
    pub(super) fn mask(self) -> Option<u32> {
        match self {
            Wanted::Masked { mask, .. } => Some(mask),
            Wanted::Range { .. } => None,
        }
    }
}

/// One field and what it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Which.
    pub field: Field,
    /// What.
    pub wanted: Wanted,
}

/// Where a kind of filter looks for ports.
#[derive(Clone, Copy)]
pub(super) struct Looks {
    /// u32 looks at bytes, flower takes no fragment apart: it has port 0 of each.
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

    /// Both of one field; none where they contradict each other.
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

    /// Whether ports that Linux gives senders as it likes are told apart.
    fn parts_local_ports(self) -> bool {
        self.field.is_port() && {
            let mut all = LOCAL_PORTS.map(|port| self.wanted.is(port));
            let first = all.next();
            all.any(|each| Some(each) != first)
        }
    }
}

/// Whether it is what can be read; or what is allowed.
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
        false => Err("values that the field and the mask have"),
    }
}

/// The field by which ports are told apart that Linux gives senders as it likes.
pub(super) fn of_local_ports(conditions: &[Condition]) -> Option<Field> {
    let found = { conditions.iter() }.find(|condition| condition.parts_local_ports());
    found.map(|condition| condition.field)
}
