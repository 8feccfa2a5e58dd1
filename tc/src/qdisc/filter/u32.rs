//! `u32`: matches bits of the headers (tc-u32(8)).

use super::condition::{Condition, Field, Wanted};
use super::{Refused, unsigned};
use crate::c_numbers::{Base, strtol};
use crate::units::shortened;
use std::iter::Peekable;
use std::net::Ipv4Addr;

/// Keywords after `match ip`: name, size in bits, offset.
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
/// Keywords after `match ip` that are not implemented, on fragments.
const OTHER_FIELDS: &[&str] = &["nofrag", "firstfrag", "df", "mf"];
const RAW: &[(&str, Size)] = &[("u8", Size::Byte), ("u16", Size::Half), ("u32", Size::Word)];
/// Header words: offset, field, bits of the field.
const PLACES: &[(i64, Field, u32)] = &[
    (0, Field::VersionAndLength, 24),
    (0, Field::Tos, 16),
    (8, Field::Protocol, 16),
    (12, Field::Source, 0),
    (16, Field::Destination, 0),
    (20, Field::SourcePort, 16),
    (20, Field::DestinationPort, 0),
];
/// tc's keywords for a prefix of length 0.
pub(super) const EVERY_ADDRESS: [&str; 3] = ["any", "all", "default"];
/// Header bytes that every packet has.
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

/// The refusal of an unknown keyword.
pub(super) fn refused(word: &str) -> Refused {
    let said = shortened(word);
    match word {
        "police" => Refused::not_modelled(
            "police in a filter is not implemented; use the link's key `police`",
        ),
        "ht" | "link" | "divisor" | "hashkey" | "offset" | "order" | "sample" | "mark"
        | "indev" | "skip_sw" | "skip_hw" => Refused::not_modelled(format!(
            "u32 {said:?} is not implemented; write each match in a line of its own"
        )),
        _ => Refused::wrong(format!("u32 has no {said:?}"))
            .with_hint(word, &["match", "flowid", "classid"]),
    }
}

/// Parses the words after `match`.
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
                "u32 match {said:?}; use match ip (also for sport and dport) or u8, u16, u32"
            )));
        }
        _ => {
            let refused = Refused::wrong(format!("u32 match {said:?} is not a header"));
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
        let said = format!("u32 match ip {said:?}; implemented: {}", known.join(", "));
        return Err(Refused::not_modelled(said));
    }
    let refused = Refused::wrong(format!("u32 match ip has no {said:?}"));
    Err(refused.with_hint(name, &known))
}

/// Parses a value, its mask, and optionally an offset.
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
            let said = "u32 at nexthdr; IP headers have 20 bytes here, so use offset 20";
            return Err(Refused::not_modelled(said));
        }
        let number = strtol(text, Base::ByPrefix).and_then(|number| i32::try_from(number).ok());
        let not_a_number = || Refused::wrong(format!("at {:?} is not an offset", shortened(text)));
        offset = i64::from(number.ok_or_else(not_a_number)?);
    }
    in_words(size, offset, value, mask)
}

/// Splits a value of several bytes into fields.
fn in_words(size: Size, offset: i64, value: u32, mask: u32) -> Result<Vec<Condition>, Refused> {
    let within = offset & 3;
    if within & (size.bytes() - 1) != 0 {
        let said = format!("at {offset} is not a multiple of {} bytes", size.bytes());
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

/// Parses an address and mask: `10.10.1.0/24`, `10.10.1.2`, `any`.
pub(super) fn prefix(text: &str) -> Result<(u32, u32), Refused> {
    if EVERY_ADDRESS.contains(&text) {
        return Ok((0, 0));
    }
    let no_address = || {
        let said = format!("{:?} is not an address or prefix", shortened(text));
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

/// Parses a prefix length or mask.
fn mask_of(text: &str) -> Option<u32> {
    if let Some(length) = strtol(text, Base::ByPrefix) {
        let length = u32::try_from(length).ok().filter(|length| *length <= 32)?;
        return Some(u32::MAX.checked_shl(32 - length).unwrap_or(0));
    }
    let mask = u32::from(text.parse::<Ipv4Addr>().ok()?);
    (mask.leading_ones() + mask.trailing_zeros() >= 32).then_some(mask)
}

/// Formats an address with its prefix length, if the mask is that of a prefix.
pub(super) fn as_prefix(value: u32, mask: u32) -> Option<String> {
    let is_prefix = mask.leading_ones() == mask.count_ones();
    is_prefix.then(|| format!("{}/{}", Ipv4Addr::from(value), mask.count_ones()))
}

/// Formats conditions as tc text.
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

/// Whether the conditions can be expressed.
pub(super) fn check(conditions: &[Condition]) -> bool {
    { conditions.iter() }.all(|each| each.field != Field::Mark && each.wanted.mask().is_some())
}
