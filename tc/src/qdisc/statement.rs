//! One tc command line, up to the words of what it adds.

use super::chain::{bad_filter, is_tc};
use super::{QdiscError, filter};
use crate::c_numbers::{Base, strtol};
use crate::nearest::nearest;
use crate::units::shortened;

/// The words a line may begin with.
pub(super) const OBJECTS: &[&str] = &["qdisc", "class", "filter"];
const VERBS: &[&str] = &["add", "replace", "change", "del", "show"];

const LINE_USAGE: &str = "[tc] [qdisc|class|filter add|replace|change|del] [dev X] root | parent H:C \
                          [handle H:] [classid H:C] and what is attached there, H and C in \
                          hexadecimal; one line for each, the root's first";

/// The error for a line.
pub(super) fn bad(line: &str, reason: impl Into<String>) -> QdiscError {
    bad_with_hint(line, reason, None)
}

pub(super) fn bad_with_hint(
    line: &str,
    reason: impl Into<String>,
    hint: Option<String>,
) -> QdiscError {
    QdiscError::BadLine {
        value: shortened(line),
        reason: reason.into(),
        why: None,
        allowed: LINE_USAGE.to_owned(),
        hint,
    }
}

/// A handle and a class within it: `1:10`, hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClassId {
    pub(super) major: u16,
    pub(super) minor: u16,
}

impl ClassId {
    /// Parses a handle, with or without its colon.
    fn of_discipline(text: &str) -> Option<ClassId> {
        match text.contains(':') {
            true => ClassId::read(text),
            false => ClassId::read(&format!("{text}:")),
        }
    }

    /// Parses the handle of a discipline and the number of a class.
    pub(super) fn read(text: &str) -> Option<ClassId> {
        let (major, minor) = text.split_once(':')?;
        let minor = if minor.is_empty() { 0 } else { hex(minor)? };
        let major = hex(major).filter(|major| *major > 0)?;
        Some(ClassId { major, minor })
    }

    /// Parses a class. The major number is 0 if it is missing; the kernel then uses the parent's.
    fn of_class(text: &str) -> Option<ClassId> {
        let minor = |digits| hex(digits).map(|minor| ClassId { major: 0, minor });
        match text.strip_prefix(':') {
            Some(digits) => minor(digits),
            None if !text.contains(':') => minor(text),
            None => ClassId::read(text),
        }
    }
}

/// The parent of filters at the egress hook of `clsact`.
const EGRESS: ClassId = ClassId {
    major: 0xffff,
    minor: 0xfff3,
};

/// Parses the number of a handle or class.
fn hex(digits: &str) -> Option<u16> {
    u16::try_from(strtol(digits, Base::Sixteen)?).ok()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Add,
    /// Adds, or changes what earlier lines have added.
    Replace,
    /// Changes parameters of what earlier lines have added.
    Change,
    /// Deletes what earlier lines have added.
    Delete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Object {
    Qdisc,
    Class,
    Filter,
}

/// One parsed line.
pub(super) struct Statement<'a> {
    pub(super) line: &'a str,
    pub(super) object: Object,
    pub(super) verb: Verb,
    pub(super) device: Option<&'a str>,
    /// None for the root.
    pub(super) parent: Option<ClassId>,
    pub(super) handle: Option<ClassId>,
    pub(super) class: Option<ClassId>,
    /// Whether it is a filter of the egress hook.
    pub(super) is_egress: bool,
    /// Filters only.
    pub(super) priority: Option<u16>,
    /// Filters only.
    pub(super) heading: filter::Heading<'a>,
    /// Why no simulated packet can match a filter, if so.
    pub(super) of_others: Option<&'static str>,
    /// The kind of what is added, with its parameters.
    pub(super) words: &'a str,
}

impl<'a> Statement<'a> {
    pub(super) fn read(line: &'a str) -> Result<Statement<'a>, QdiscError> {
        let mut cursor = Cursor { rest: line };
        cursor.skip(|word| word == "sudo");
        cursor.skip(is_tc);
        let (object, verb) = cursor.object(line)?;
        let mut statement = Statement {
            line,
            object,
            verb,
            device: None,
            parent: None,
            handle: None,
            class: None,
            is_egress: false,
            priority: None,
            heading: filter::Heading::default(),
            of_others: None,
            words: "",
        };
        let mut is_placed = false;
        loop {
            let before = cursor.rest;
            let word = cursor.next();
            let mut id = |name: &str, read: fn(&str) -> Option<ClassId>| {
                let text = cursor.next();
                read(text).ok_or_else(|| {
                    bad(
                        line,
                        format!(
                            "{name} {:?} is not a handle H: or class H:C",
                            shortened(text)
                        ),
                    )
                })
            };
            match word {
                "dev" => statement.device = Some(cursor.next()),
                "root" | "parent" if is_placed => {
                    return Err(bad(line, "it has two parents"));
                }
                "root" => is_placed = true,
                "parent" => {
                    is_placed = true;
                    statement.parent = Some(id("parent", ClassId::read)?);
                }
                "handle" if object == Object::Filter => {
                    statement.heading.handle = Some(cursor.next());
                }
                "handle" => statement.handle = Some(id("handle", ClassId::of_discipline)?),
                "classid" => statement.class = Some(id("classid", ClassId::of_class)?),
                "protocol" if object == Object::Filter => {
                    let name = cursor.next();
                    match filter::Protocol::read(name)
                        .map_err(|refused| bad_filter(line, refused))?
                    {
                        Some(protocol) => statement.heading.protocol = Some(protocol),
                        None => statement.of_others = Some("every simulated packet is IPv4"),
                    }
                }
                "prio" | "pref" if object == Object::Filter => {
                    let text = cursor.next();
                    let number = strtol(text, Base::ByPrefix);
                    let number = number.and_then(|number| u16::try_from(number).ok());
                    let Some(number) = number else {
                        let text = shortened(text);
                        return Err(bad(line, format!("prio {text:?} is not from 0 to 65535")));
                    };
                    // The kernel treats 0 as not given.
                    statement.priority = Some(number).filter(|number| *number > 0);
                }
                "ingress" | "clsact" if verb == Verb::Delete => is_placed = true,
                "egress" if !is_placed && (object, verb) == (Object::Filter, Verb::Add) => {
                    statement.is_egress = true;
                }
                "ingress" | "clsact" | "egress" if !is_placed => {
                    let word = shortened(word);
                    let said = format!(
                        "{word:?} belongs into the script of a link's `forward` or `reverse`, where it \
                         applies to arriving packets"
                    );
                    return Err(bad(line, said));
                }
                _ => {
                    statement.words = before.trim_ascii();
                    break;
                }
            }
        }
        if statement.handle.is_some_and(|handle| handle.minor != 0) {
            return Err(bad(
                line,
                "the handle of a discipline has no minor number: write H:",
            ));
        }
        if statement.parent == Some(EGRESS) && object == Object::Filter {
            statement.parent = None;
            statement.is_egress = true;
            is_placed = false;
        }
        // A filter without a parent belongs to the root, and a class that is there has one.
        let needs_place = match object {
            Object::Qdisc => true,
            Object::Class => verb == Verb::Add,
            Object::Filter => false,
        };
        if !is_placed && needs_place {
            return Err(bad(line, "it has neither root nor parent"));
        }
        if is_placed && object == Object::Filter && statement.parent.is_none() {
            return Err(bad(line, "the parent of a filter is a handle H:, not root"));
        }
        Ok(statement)
    }
}

/// Reads words from the front of a line.
pub(super) struct Cursor<'a> {
    pub(super) rest: &'a str,
}

impl<'a> Cursor<'a> {
    pub(super) fn next(&mut self) -> &'a str {
        let rest = self.rest.trim_ascii_start();
        let end = rest
            .find(|c: char| c.is_ascii_whitespace())
            .unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        word
    }

    fn skip(&mut self, is_it: impl Fn(&str) -> bool) -> bool {
        let mut ahead = Cursor { rest: self.rest };
        let found = is_it(ahead.next());
        if found {
            self.rest = ahead.rest;
        }
        found
    }

    /// Parses `qdisc add` and the like; without these words, `qdisc add` is assumed.
    fn object(&mut self, line: &str) -> Result<(Object, Verb), QdiscError> {
        let objects = [Object::Qdisc, Object::Class, Object::Filter];
        let named = OBJECTS.iter().zip(objects);
        let Some((_, object)) = { named }.find(|(name, _)| self.skip(|word| word == **name)) else {
            return Ok((Object::Qdisc, Verb::Add));
        };
        match (object, self.next()) {
            (_, "add") | (Object::Filter, "replace") => Ok((object, Verb::Add)),
            (_, "replace") => Ok((object, Verb::Replace)),
            (_, "del" | "delete") => Ok((object, Verb::Delete)),
            (Object::Qdisc | Object::Class, "change") => Ok((object, Verb::Change)),
            (Object::Filter, "change") => {
                let said = "the kernel changes a filter by its handle; delete it by its prio and add it again";
                Err(bad(line, said))
            }
            (_, verb) => {
                let hint = nearest(verb, VERBS.iter().copied()).map(str::to_owned);
                let reason = format!("{:?} is not add, replace, change or del", shortened(verb));
                Err(bad_with_hint(line, reason, hint))
            }
        }
    }
}
