//! `u32`: bits of a packet's headers (tc-u32(8)).

use super::condition::{Condition, Field, Wanted};
use super::{Refused, unsigned};
use crate::c_numbers::{Base, strtol};
use crate::units::shortened;
use std::iter::Peekable;
use std::net::Ipv4Addr;

/// After `match ip`: a word, how many bits follow, where they are.
const FIELDS: &[(&str, Size, i64)] = &[
    ("dsfield", Size::Byte, 1),
    ("tos", Size::Byte, 1),
    ("precedence", Size::Byte, 1),
    ("ihl", Size::Byte, 0),
    ("protocol", Size::Byte, 9),
    ("src", Size::Address, 12),
    ("dst", Size::Address, 16),
    ("sport", Size::Half, 20),
    ("dport", Size::Half, 22),
    ("icmp_type", Size::Byte, 20),
    ("icmp_code", Size::Byte, 21),
];
/// After `match ip`, and not here: of fragments, which are not told apart.
const OTHER_FIELDS: &[&str] = &["nofrag", "firstfrag", "df", "mf"];
const RAW: &[(&str, Size)] = &[("u8", Size::Byte), ("u16", Size::Half), ("u32", Size::Word)];
/// Of a word in the header: where it begins, which field, which bits of it.
const PLACES: &[(i64, Field, u32)] = &[
    (0, Field::VersionAndLength, 24),
    (0, Field::Tos, 16),
    (8, Field::Protocol, 16),
    (12, Field::Source, 0),
    (16, Field::Destination, 0),
    (20, Field::SourcePort, 16),
    (20, Field::DestinationPort, 0),
];
/// Words of tc for a prefix of no bits.
pub(super) const EVERY_ADDRESS: [&str; 3] = ["any", "all", "default"];
/// Bytes that every packet has.
const LEAST_BYTES: i64 = 28;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    Byte,
    Half,
    Word,
    Address,
}

impl Size {
    fn bytes(self) -> i64 {
        match self {
            Size::Byte => 1,
            Size::Half => 2,
            Size::Word | Size::Address => 4,
        }
    }

    fn most(self) -> u64 {
        (1 << (8 * self.bytes())) - 1
    }
}

/// Why a word is none that is read here.
pub(super) fn refused(word: &str) -> Refused {
    let said = shortened(word);
    match word {
        "police" => Refused::not_modelled(
            "police in a filter; a link has a policer of its own, the key `police`",
        ),
        "ht" | "link" | "divisor" | "hashkey" | "offset" | "order" | "sample" | "mark"
        | "indev" | "skip_sw" | "skip_hw" => Refused::not_modelled(format!(
            "u32 {said:?} is not implemented; write each match in a line of its own"
        )),
        _ => Refused::wrong(format!("u32 has no {said:?}"))
            .with_hint(word, &["match", "flowid", "classid"]),
    }
}

/// The words after `match`.
pub(super) fn read_match<'a>(
    rest: &mut Peekable<impl Iterator<Item = &'a str>>,
) -> Result<Vec<Condition>, Refused> {
    let layer = rest.next().unwrap_or_default();
    if let Some((_, size)) = RAW.iter().find(|(name, _)| *name == layer) {
        return read_value(*size, 0, rest);
    }
    let said = shortened(layer);
    match layer {
        "ip" => {}
        "ip6" | "tcp" | "udp" | "icmp" | "mark" => {
            return Err(Refused::not_modelled(format!(
                "u32 match {said:?}; write match ip (sport and dport are there, too) or u8, u16, u32"
            )));
        }
        _ => {
            let refused = Refused::wrong(format!("u32 match {said:?} is no header"));
            return Err(refused.with_hint(layer, &["ip", "u8", "u16", "u32"]));
        }
    }
    let name = rest.next().unwrap_or_default();
    if let Some((_, size, offset)) = FIELDS.iter().find(|(known, ..)| *known == name) {
        return read_value(*size, *offset, rest);
    }
    let known: Vec<&str> = FIELDS.iter().map(|(name, ..)| *name).collect();
    let said = shortened(name);
    if OTHER_FIELDS.contains(&name) {
        let said = format!("u32 match ip {said:?}; there are {}", known.join(", "));
        return Err(Refused::not_modelled(said));
    }
    let refused = Refused::wrong(format!("u32 match ip has no {said:?}"));
    Err(refused.with_hint(name, &known))
}

/// A value, its mask, and perhaps where they are.
fn read_value<'a>(
    size: Size,
    offset: i64,
    rest: &mut Peekable<impl Iterator<Item = &'a str>>,
) -> Result<Vec<Condition>, Refused> {
    let text = rest.next().unwrap_or_default();
    let (value, mask) = match size {
        Size::Address => prefix(text)?,
        _ => {
            let value = unsigned(text, Base::ByPrefix, size.most())?;
            let mask = unsigned(rest.next().unwrap_or_default(), Base::Sixteen, size.most())?;
            (value as u32, mask as u32)
        }
    };
    let mut offset = offset;
    if rest.next_if_eq(&"at").is_some() {
        let text = rest.next().unwrap_or_default();
        if text.starts_with("nexthdr") {
            let said = "u32 at nexthdr; headers here have 20 bytes, so that it is at 20";
            return Err(Refused::not_modelled(said));
        }
        let number = strtol(text, Base::ByPrefix).and_then(|number| i32::try_from(number).ok());
        let not_a_number = || Refused::wrong(format!("at {:?} is no offset", shortened(text)));
        offset = i64::from(number.ok_or_else(not_a_number)?);
    }
    in_words(size, offset, value, mask)
}

/// A value of some bytes, field by field.
fn in_words(size: Size, offset: i64, value: u32, mask: u32) -> Result<Vec<Condition>, Refused> {
    let within = offset & 3;
    if within & (size.bytes() - 1) != 0 {
        let said = format!("at {offset} is no multiple of {} bytes", size.bytes());
        return Err(Refused::not_modelled(said));
    }
    let word = offset - within;
    let shift = (4 - within - size.bytes()) * 8;
    let (value, mut mask) = (value << shift, mask << shift);
    if mask == 0 && (0..LEAST_BYTES).contains(&word) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for (_, field, shift) in PLACES.iter().filter(|(at, ..)| *at == word) {
        let bits = field.bits() << shift;
        if mask & bits != 0 {
            found.push(Condition::masked(*field, value >> shift, mask >> shift));
        }
        mask &= !bits;
    }
    if mask != 0 || found.is_empty() {
        return Err(Refused::not_modelled(format!(
            "u32 looks at byte {offset} of the header; packets here have DSCP and ECN (byte 1), \
             protocol (9), addresses (12, 16) and ports (20, 22)"
        )));
    }
    Ok(found)
}

/// An address and its mask: `10.10.1.0/24`, `10.10.1.2`, `any`.
pub(super) fn prefix(text: &str) -> Result<(u32, u32), Refused> {
    if EVERY_ADDRESS.contains(&text) {
        return Ok((0, 0));
    }
    let no_address = || {
        let said = format!("{:?} is no address or prefix", shortened(text));
        Refused::wrong(said)
    };
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length)),
        None => (text, None),
    };
    let mut bytes = [0; 4];
    let parts: Vec<&str> = address.split('.').collect();
    if parts.len() > bytes.len() {
        return Err(no_address());
    }
    for (byte, part) in bytes.iter_mut().zip(parts) {
        let number = strtol(part, Base::ByPrefix);
        *byte = { number.and_then(|number| u8::try_from(number).ok()) }.ok_or_else(no_address)?;
    }
    let mask = match length {
        None => u32::MAX,
        Some(length) => mask_of(length).ok_or_else(no_address)?,
    };
    Ok((u32::from_be_bytes(bytes) & mask, mask))
}

/// A prefix's length, or its mask.
fn mask_of(text: &str) -> Option<u32> {
    if let Some(length) = strtol(text, Base::ByPrefix) {
        let length = u32::try_from(length).ok().filter(|length| *length <= 32)?;
        return Some(u32::MAX.checked_shl(32 - length).unwrap_or(0));
    }
    let mask = u32::from(text.parse::<Ipv4Addr>().ok()?);
    (mask.leading_ones() + mask.trailing_zeros() >= 32).then_some(mask)
}

/// An address with the length of its mask, if it is one of a prefix.
pub(super) fn as_prefix(value: u32, mask: u32) -> Option<String> {
    let is_prefix = mask.leading_ones() == mask.count_ones();
    is_prefix.then(|| format!("{}/{}", Ipv4Addr::from(value), mask.count_ones()))
}

/// As one would type them.
pub(super) fn words(conditions: &[Condition]) -> String {
    if conditions.is_empty() {
        return "match u32 0 0".to_owned();
    }
    let words = conditions.iter().map(|condition| {
        let Wanted::Masked { value, mask } = condition.wanted else {
            return String::new();
        };
        match condition.field {
            Field::VersionAndLength => format!("match u8 {value:#04x} {mask:#04x} at 0"),
            Field::Tos => format!("match ip dsfield {value:#04x} {mask:#04x}"),
            Field::Protocol => format!("match ip protocol {value} {mask:#04x}"),
            Field::Source | Field::Destination => {
                let (name, offset) = match condition.field {
                    Field::Source => ("src", 12),
                    _ => ("dst", 16),
                };
                match as_prefix(value, mask) {
                    Some(prefix) => format!("match ip {name} {prefix}"),
                    None => format!("match u32 {value:#010x} {mask:#010x} at {offset}"),
                }
            }
            Field::SourcePort => format!("match ip sport {value} {mask:#06x}"),
            Field::DestinationPort => format!("match ip dport {value} {mask:#06x}"),
            Field::Mark => String::new(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Whether there are words for them.
pub(super) fn check(conditions: &[Condition]) -> bool {
    { conditions.iter() }.all(|each| each.field != Field::Mark && each.wanted.mask().is_some())
}
