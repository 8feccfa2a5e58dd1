//! `basic`: matches on kernel metadata of a packet (tc-basic(8), tc-ematch(8)).
//!
//! | clause | here |
//! | --- | --- |
//! | `match 'meta(priority eq N)'`, N a priority derived from the TOS byte: 0, 2, 4 or 6 | yes, as a match on that byte |
//! | other priorities, other matches, `and`, `or`, `not` | no |

use super::Refused;
use crate::units::shortened;
use std::borrow::Cow;

/// Priorities and the TOS bits 0x18 they are derived from (`ip_tos2prio`).
const PRIORITIES: &[(&str, &str)] = &[("0", "0x00"), ("2", "0x08"), ("6", "0x10"), ("4", "0x18")];

/// Translates the filter to u32; returns other filters unchanged.
pub(in super::super) fn in_u32(words: &str) -> Result<Cow<'_, str>, Refused> {
    let Some(rest) = words.strip_prefix("basic ") else {
        return Ok(Cow::Borrowed(words));
    };
    let end = [" flowid ", " classid "]
        .iter()
        .filter_map(|word| rest.find(word));
    let (matched, to) = rest.split_at(end.min().unwrap_or(rest.len()));
    let bare: String = { matched.chars() }
        .filter(|c| !matches!(c, '\'' | '"') && !c.is_ascii_whitespace())
        .collect();
    let priority = bare.strip_prefix("matchmeta(priorityeq");
    let priority = priority.and_then(|rest| rest.strip_suffix(')'));
    let found = PRIORITIES.iter().find(|(name, _)| Some(*name) == priority);
    let Some((_, tos)) = found else {
        let said = shortened(matched.trim());
        return Err(Refused::not_modelled(format!(
            "basic {said:?} is not implemented; there is match 'meta(priority eq N)' with N 0, 2, 4 or 6, \
             and u32 and flower look at addresses, ports, protocol and DSCP"
        )));
    };
    Ok(Cow::Owned(format!("u32 match ip tos {tos} 0x18{to}")))
}
