//! Filters of the egress hook of `clsact` that set the priority of packets (tc-skbedit(8)), which the root then
//! reads as a class.
//!
//! | clause | here |
//! | --- | --- |
//! | `filter add dev X egress ... action skbedit priority H:C`, H the root's handle | a filter of the root before its own, with `flowid H:C` |
//! | `action skbedit priority N` before `prio` and `ets` | a filter after its own, to the band that its `priomap` has for N |
//! | N before `drr`, `htb` and `hfsc` | no effect, as in Linux; refused |
//! | before a discipline without classes | refused |
//! | `queue_mapping`, `mark`, `ptype`, `inheritdsfield` | refused |

use super::chain::bad_filter;
use super::statement::{ClassId, Statement, bad};
use super::{Filter, Qdisc, QdiscError, filter};
use crate::c_numbers::{Base, strtol};
use crate::units::shortened;

/// The priority that a filter gives to a packet.
#[derive(Debug, Clone, Copy)]
enum Priority {
    Class(ClassId),
    Number(u32),
}

/// A filter that sets a priority, and its line.
#[derive(Debug)]
struct Edit {
    line: String,
    filter: Filter,
    priority: Priority,
}

/// The filters of the hook, in the order in which they are evaluated.
#[derive(Debug, Default)]
pub(super) struct Edits {
    edits: Vec<Edit>,
}

/// Whether the words of a filter set a packet's priority.
pub(super) fn sets_priority(words: &[&str]) -> bool {
    words.windows(2).any(|pair| pair == ["action", "skbedit"])
}

impl Edits {
    /// Adds the filter of a line.
    pub(super) fn add(&mut self, statement: &Statement<'_>) -> Result<(), QdiscError> {
        let line = statement.line;
        if statement
            .of_others
            .or_else(|| filter::of_others(statement.words))
            .is_some()
        {
            return Ok(());
        }
        let words = filter::basic::in_u32(statement.words);
        let words = words.map_err(|refused| bad_filter(line, refused))?;
        let (matched, action) = words.split_once(" action ").unwrap_or((&words, ""));
        let action: Vec<&str> = action.split_ascii_whitespace().collect();
        let priority = match action[..] {
            ["skbedit", "priority", text]
            | ["skbedit", "priority", text, "pipe" | "ok" | "pass"] => text,
            _ => {
                let action = shortened(&action.join(" "));
                return Err(bad(
                    line,
                    format!("action {action:?} is not \"skbedit priority N|H:C\""),
                ));
            }
        };
        let number =
            || strtol(priority, Base::ByPrefix).and_then(|number| u32::try_from(number).ok());
        let priority = match ClassId::read(priority) {
            Some(class) if priority.contains(':') => Priority::Class(class),
            _ => number().map(Priority::Number).ok_or_else(|| {
                let said = format!(
                    "priority {:?} is neither a number nor a class H:C",
                    shortened(priority)
                );
                bad(line, said)
            })?,
        };
        let read = Filter::read(&format!("{matched} flowid 1:1"), statement.heading);
        let (filter, _) = read.map_err(|refused| bad_filter(line, refused))?;
        let mut filters: Vec<Filter> = self.edits.iter().map(|edit| edit.filter.clone()).collect();
        filter::insert(&mut filters, filter.clone(), statement.priority)
            .map_err(|refused| bad_filter(line, refused))?;
        // The place at which it was inserted.
        let same = filters.iter().zip(&self.edits);
        let place = same.take_while(|(one, edit)| **one == edit.filter).count();
        let edit = Edit {
            line: line.to_owned(),
            filter: filters.swap_remove(place),
            priority,
        };
        self.edits.insert(place, edit);
        Ok(())
    }

    /// Adds the filters to a root with this handle.
    pub(super) fn apply(&self, major: u16, root: &mut Qdisc) -> Result<(), QdiscError> {
        let mut before = Vec::new();
        let mut after = Vec::new();
        for edit in &self.edits {
            let name = root.discipline().name;
            let (minor, list) = match edit.priority {
                Priority::Class(class) => {
                    if class.major != major {
                        let said =
                            format!("the root has the handle {major:x}:, not {:x}:", class.major);
                        return Err(bad(&edit.line, said));
                    }
                    if root.class(class.minor).is_none() {
                        let said =
                            format!("{name} has no class {:x}:{:x}", class.major, class.minor);
                        return Err(bad(&edit.line, said));
                    }
                    (class.minor, &mut before)
                }
                Priority::Number(number) => {
                    let Some(band) = band_of(root, number) else {
                        let said = format!(
                            "{name} has no bands by priority; write the priority as a class H:C, or use prio or ets"
                        );
                        return Err(bad(&edit.line, said));
                    };
                    (u16::from(band) + 1, &mut after)
                }
            };
            list.push(Filter {
                minor,
                ..edit.filter.clone()
            });
        }
        let Some(edit) = self.edits.first() else {
            return Ok(());
        };
        let Some(filters) = root.filters_mut() else {
            return Err(bad(&edit.line, "the root has no classes"));
        };
        let own = std::mem::take(filters);
        *filters = filter::in_sequence([before, own, after]);
        Ok(())
    }
}

/// The band of a priority in the `priomap` of a root.
fn band_of(root: &Qdisc, priority: u32) -> Option<u8> {
    let map = match root {
        Qdisc::Prio(prio) => &prio.priomap,
        Qdisc::Ets(ets) => &ets.priomap,
        _ => return None,
    };
    Some(map[priority as usize % map.len()])
}
