//! `flower`: matches fields of the headers (tc-flower(8)).

use super::condition::{Condition, Field, Wanted};
use super::u32::{EVERY_ADDRESS, as_prefix, prefix};
use super::{Conditions, Protocol, Refused, unsigned};
use crate::c_numbers::Base;
use crate::units::shortened;

const WORDS: &[&str] = &[
    "ip_proto", "src_ip", "dst_ip", "src_port", "dst_port", "ip_tos", "flowid", "classid",
];
/// Words of tc that are not implemented.
const OTHER_WORDS: &[&str] = &[
    "eth_type",
    "src_mac",
    "dst_mac",
    "vlan_id",
    "vlan_prio",
    "vlan_ethtype",
    "ip_ttl",
    "tcp_flags",
    "ip_flags",
    "type",
    "code",
    "indev",
    "skip_sw",
    "skip_hw",
    "ct_state",
    "ct_mark",
    "enc_key_id",
    "num_of_vlans",
    "hw_tc",
    "verbose",
];
const PROTOCOLS: &[(&str, u8)] = &[("icmp", 1), ("tcp", 6), ("udp", 17), ("sctp", 132)];
/// Protocols with ports.
const WITH_PORTS: [u8; 3] = [6, 17, 132];

/// Parses the words of one filter.
pub(super) struct Reader {
    protocol: Protocol,
    ip_proto: Option<u8>,
}

impl Reader {
    pub(super) fn new(protocol: Protocol) -> Reader {
        Reader {
            protocol,
            ip_proto: None,
        }
    }

    /// Parses a keyword and its value.
    pub(super) fn read(
        &mut self,
        word: &str,
        value: Option<&str>,
        conditions: &mut Conditions,
    ) -> Result<(), Refused> {
        let said = shortened(word);
        if OTHER_WORDS.contains(&word) {
            let said = format!("flower {said:?}; implemented: {}", WORDS.join(", "));
            return Err(Refused::not_modelled(said));
        }
        if !WORDS.contains(&word) {
            return Err(Refused::wrong(format!("flower has no {said:?}")).with_hint(word, WORDS));
        }
        if self.protocol != Protocol::Ip {
            let said = format!("flower {word} needs protocol ip before the kind of filter");
            // tc does not require it for ip_tos alone.
            return Err(match word {
                "ip_tos" => Refused::not_modelled(said),
                _ => Refused::wrong(said),
            });
        }
        let value = value.ok_or_else(|| Refused::wrong(format!("flower {word} has no value")))?;
        let condition = match word {
            "ip_proto" => {
                let number = ip_proto(value)?;
                self.ip_proto = Some(number);
                Condition::masked(Field::Protocol, u32::from(number), 0xff)
            }
            "src_ip" => address(Field::Source, value)?,
            "dst_ip" => address(Field::Destination, value)?,
            "src_port" => self.ports(word, Field::SourcePort, value)?,
            "dst_port" => self.ports(word, Field::DestinationPort, value)?,
            _ => tos(value)?,
        };
        // tc sends both values of a repeated keyword, and the kernel uses the last.
        conditions.found.retain(|old| old.field != condition.field);
        conditions.add(condition)
    }

    fn ports(&self, word: &str, field: Field, text: &str) -> Result<Condition, Refused> {
        if !self
            .ip_proto
            .is_some_and(|number| WITH_PORTS.contains(&number))
        {
            let said = format!("flower {word} needs ip_proto tcp, udp or sctp before it");
            return Err(Refused::wrong(said));
        }
        let number = |text| unsigned(text, Base::Ten, 0xffff).map(|port| port as u32);
        let Some((first, last)) = text.split_once('-') else {
            return match number(text)? {
                0 => Err(Refused::wrong(format!(
                    "flower {word} is not a port from 1 to 65535"
                ))),
                port => Ok(Condition::masked(field, port, 0xffff)),
            };
        };
        let (first, last) = (number(first)?, number(last)?);
        if first == 0 || last <= first {
            let said =
                format!("flower {word} {text:?}: the second port must be larger than the first");
            return Err(Refused::not_modelled(said));
        }
        Ok(Condition {
            field,
            wanted: Wanted::Range { first, last },
        })
    }
}

fn ip_proto(text: &str) -> Result<u8, Refused> {
    if let Some((_, number)) = PROTOCOLS.iter().find(|(name, _)| *name == text) {
        return Ok(*number);
    }
    if text == "icmpv6" {
        let said = "flower ip_proto \"icmpv6\": every simulated packet is IPv4";
        return Err(Refused::not_modelled(said));
    }
    unsigned(text, Base::Sixteen, 0xff).map(|number| number as u8)
}

fn address(field: Field, text: &str) -> Result<Condition, Refused> {
    if EVERY_ADDRESS.contains(&text) {
        // The kernel refuses what tc sends for it.
        let said = format!("flower does not take {text:?} as an address; leave the word out");
        return Err(Refused::wrong(said));
    }
    let (value, mask) = prefix(text)?;
    Ok(Condition::masked(field, value, mask))
}

fn tos(text: &str) -> Result<Condition, Refused> {
    // Decimal, else hexadecimal.
    let byte = |text| {
        let decimal = unsigned(text, Base::Ten, 0xff);
        decimal.or_else(|_| unsigned(text, Base::Sixteen, 0xff))
    };
    let (value, mask) = match text.split_once('/') {
        Some((value, mask)) => (byte(value)?, byte(mask)?),
        None => (byte(text)?, 0xff),
    };
    Ok(Condition::masked(Field::Tos, value as u32, mask as u32))
}

/// Formats conditions as tc text.
pub(super) fn words(conditions: &[Condition]) -> String {
    let words = conditions.iter().map(|condition| {
        let name = match condition.field {
            Field::Protocol => "ip_proto",
            Field::Source => "src_ip",
            Field::Destination => "dst_ip",
            Field::SourcePort => "src_port",
            Field::DestinationPort => "dst_port",
            Field::Tos | Field::VersionAndLength | Field::Mark => "ip_tos",
        };
        match condition.wanted {
            Wanted::Range { first, last } => format!("{name} {first}-{last}"),
            Wanted::Masked { value, mask } => match condition.field {
                Field::Protocol => match PROTOCOLS.iter().find(|known| u32::from(known.1) == value)
                {
                    Some((protocol, _)) => format!("{name} {protocol}"),
                    None => format!("{name} {value:#x}"),
                },
                Field::Source | Field::Destination => {
                    let prefix = as_prefix(value, mask).unwrap_or_default();
                    format!("{name} {prefix}")
                }
                Field::SourcePort | Field::DestinationPort => format!("{name} {value}"),
                _ => format!("{name} {value:#04x}/{mask:#04x}"),
            },
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Whether the conditions can be expressed.
pub(super) fn check(protocol: Protocol, conditions: &[Condition]) -> bool {
    let whole = |condition: &Condition| condition.wanted.mask() == Some(condition.field.bits());
    let with_ports = conditions.iter().any(|each| {
        let is_one = |number: &u8| {
            each.wanted
                == (Wanted::Masked {
                    value: u32::from(*number),
                    mask: 0xff,
                })
        };
        each.field == Field::Protocol && WITH_PORTS.iter().any(is_one)
    });
    let fits = |condition: &Condition| match (condition.field, condition.wanted) {
        (Field::Tos, _) => true,
        (Field::Protocol, _) => whole(condition),
        (Field::Source | Field::Destination, Wanted::Masked { value, mask }) => {
            as_prefix(value, mask).is_some()
        }
        (Field::SourcePort | Field::DestinationPort, Wanted::Range { .. }) => with_ports,
        (Field::SourcePort | Field::DestinationPort, Wanted::Masked { value, .. }) => {
            with_ports && whole(condition) && value > 0
        }
        _ => false,
    };
    conditions.is_empty() || protocol == Protocol::Ip && conditions.iter().all(fits)
}
