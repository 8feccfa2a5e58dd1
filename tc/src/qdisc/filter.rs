//! Filters: which packets go to which class (tc(8), tc-u32(8), tc-matchall(8), tc-flower(8)).
//!
//! | clause | here |
//! | --- | --- |
//! | `matchall flowid H:C` | yes |
//! | `protocol ip u32 match ip dsfield|tos VALUE MASK flowid H:C` | yes |
//! | `flower ip_tos VALUE[/MASK] classid H:C` | yes, as the same match |
//! | `prio` (or `pref`): the lowest first; without it each new filter comes before those there | yes |
//! | several filters of one `prio`: in the order given, all matches of one kind | yes |
//! | filters at a class, actions, other matches | no |

use super::QdiscError;
use crate::units::shortened;
use serde::{Deserialize, Serialize};

/// What Linux numbers the first filter that says no `prio` (`tcf_auto_prio`); the next gets one
/// less than the lowest.
const FIRST_PRIORITY: u16 = 0xC000;

/// A filter of a classful discipline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// Filters are asked in ascending order of this, at least 1.
    pub priority: u16,
    /// The bits of the IP header's TOS byte (DSCP and ECN) to look for.
    pub tos: u8,
    /// Which bits must be so; 0 matches every packet.
    pub mask: u8,
    /// The class that the packets go to.
    pub minor: u16,
}

impl Filter {
    /// Whether a packet with this TOS byte goes to the class.
    pub fn matches(&self, tos: u8) -> bool {
        tos & self.mask == self.tos
    }

    /// What follows `filter add dev X parent H:`, with `handle` before the class.
    pub(super) fn words(&self, handle: u16) -> String {
        let Filter {
            priority,
            tos,
            mask,
            minor,
        } = self;
        let matched = match mask {
            0 => "matchall".to_owned(),
            _ => format!("u32 match ip dsfield {tos:#04x} {mask:#04x}"),
        };
        format!("protocol ip prio {priority} {matched} flowid {handle:x}:{minor:x}")
    }

    /// Reads the words from the kind on. The class is `(major, minor)`.
    pub(super) fn read(words: &str) -> Result<(Filter, (u16, u16)), String> {
        let mut rest = words.split_ascii_whitespace();
        let kind = rest.next().unwrap_or_default();
        let mut tos_and_mask = None;
        let mut class = None;
        while let Some(word) = rest.next() {
            match (kind, word) {
                (_, "flowid" | "classid") => class = Some(class_id(rest.next())?),
                ("u32", "match") => tos_and_mask = Some(u32_match(&mut rest)?),
                ("flower", "ip_tos") => tos_and_mask = Some(flower_tos(rest.next())?),
                ("u32" | "matchall" | "flower", _) => {
                    return Err(format!("{kind} {:?} is not implemented", shortened(word)));
                }
                _ => break,
            }
        }
        let (tos, mask) = match (kind, tos_and_mask) {
            ("matchall", _) => (0, 0),
            ("u32" | "flower", Some(found)) => found,
            ("u32" | "flower", None) => return Err(format!("{kind} says nothing to match")),
            _ => return Err(format!("filter {:?} is not implemented", shortened(kind))),
        };
        let class = class.ok_or("it says no flowid")?;
        let filter = Filter {
            priority: 0,
            tos: tos & mask,
            mask,
            minor: class.1,
        };
        Ok((filter, class))
    }
}

/// Puts a filter in its place among the others, in the order in which they are asked.
pub(super) fn insert(filters: &mut Vec<Filter>, mut filter: Filter, priority: Option<u16>) {
    let lowest = filters.first().map(|first| first.priority);
    let automatic = lowest.map_or(FIRST_PRIORITY, |lowest| lowest.saturating_sub(1).max(1));
    filter.priority = priority.unwrap_or(automatic);
    let place = filters.partition_point(|other| other.priority <= filter.priority);
    filters.insert(place, filter);
}

/// Whether the filters can be there together.
pub(super) fn check(discipline: &'static str, filters: &[Filter]) -> Result<(), QdiscError> {
    let refused = |value: u16, allowed: &str| QdiscError::OutOfRange {
        discipline,
        parameter: "filter",
        value: value.to_string(),
        allowed: allowed.to_owned(),
        hint: None,
    };
    for filter in filters {
        if filter.priority == 0 {
            return Err(refused(0, "prio 1 to 65535"));
        }
        if filter.tos & !filter.mask != 0 {
            let allowed = "only bits that the mask has";
            return Err(refused(u16::from(filter.tos), allowed));
        }
    }
    for pair in filters.windows(2) {
        let [first, second] = pair else { continue };
        if first.priority > second.priority {
            return Err(refused(
                second.priority,
                "filters in ascending order of prio",
            ));
        }
        if first.priority == second.priority && first.mask.min(second.mask) == 0 {
            let allowed = "a prio of its own for matchall";
            return Err(refused(second.priority, allowed));
        }
    }
    Ok(())
}

fn class_id(text: Option<&str>) -> Result<(u16, u16), String> {
    let text = text.unwrap_or_default();
    let hex = |digits: &str| {
        let is_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex.then(|| u16::from_str_radix(digits, 16).ok())?
    };
    let parts = text.split_once(':').and_then(|(major, minor)| {
        // `:C` is a class of the discipline that the filter belongs to.
        let major = if major.is_empty() { 0 } else { hex(major)? };
        Some((major, hex(minor)?))
    });
    parts.ok_or_else(|| format!("flowid {:?} is no H:C", shortened(text)))
}

fn u32_match<'a>(rest: &mut impl Iterator<Item = &'a str>) -> Result<(u8, u8), String> {
    let mut word = || rest.next().unwrap_or_default();
    let (protocol, field) = (word(), word());
    if protocol != "ip" || !["dsfield", "tos"].contains(&field) {
        let what = shortened(&format!("{protocol} {field}"));
        return Err(format!(
            "u32 match {what:?} is not implemented, only ip dsfield"
        ));
    }
    Ok((byte(word())?, byte(word())?))
}

fn flower_tos(text: Option<&str>) -> Result<(u8, u8), String> {
    let text = text.unwrap_or_default();
    match text.split_once('/') {
        Some((value, mask)) => Ok((hex_byte(value)?, hex_byte(mask)?)),
        None => Ok((hex_byte(text)?, 0xff)),
    }
}

/// A byte as u32 takes it, `0x10` or `16`.
fn byte(text: &str) -> Result<u8, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            u8::from_str_radix(digits, 16).ok()
        }
        Some(_) => None,
        None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        None => None,
    };
    number.ok_or_else(|| format!("{:?} is no byte, 0x00 to 0xff", shortened(text)))
}

/// A byte as flower takes it: hexadecimal, with or without `0x`.
fn hex_byte(text: &str) -> Result<u8, String> {
    byte(&format!("0x{}", text.strip_prefix("0x").unwrap_or(text)))
}
