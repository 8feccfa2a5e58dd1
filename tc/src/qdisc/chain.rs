//! Several tc command lines that build one discipline with children.

use super::change::changed;
use super::one_queue::{self, OneQueue};
use super::{Filter, Qdisc, QdiscError, filter, parse_one};
use crate::c_numbers::{Base, strtol};
use crate::nearest::nearest;
use crate::notice::Notice;
use crate::units::shortened;
use std::borrow::Cow;

/// The words a line may begin with.
const OBJECTS: &[&str] = &["qdisc", "class", "filter"];
const VERBS: &[&str] = &["add", "replace", "change", "del"];

const LINE_USAGE: &str = "[tc] [qdisc|class|filter add|replace|change] [dev X] root | parent H:C \
                          [handle H:] [classid H:C] and what is attached there, H and C in \
                          hexadecimal; one line for each, the root's first";

const FILTER_USAGE: &str = "filter add [parent H:] [protocol ip|all] [prio N] [handle MARK fw] | \
                            matchall | u32 match ... | flower ... and flowid H:C";

/// Whether the text is a sequence of tc lines with parents, rather than the words of one discipline (which
/// may also be on several lines).
pub(super) fn is_chain(text: &str) -> bool {
    lines(&without_continuations(text)).any(|line| {
        let word = line.split_ascii_whitespace().next().unwrap_or_default();
        ["sudo", "root", "parent", "dev"].contains(&word) || is_tc(word) || OBJECTS.contains(&word)
    })
}

/// `tc`, or a path to it.
pub(super) fn is_tc(word: &str) -> bool {
    word == "tc" || word.ends_with("/tc")
}

/// Joins lines that end with a backslash.
pub(super) fn without_continuations(text: &str) -> Cow<'_, str> {
    match text.contains('\\') {
        true => Cow::Owned(text.replace("\\\r\n", " ").replace("\\\n", " ")),
        false => Cow::Borrowed(text),
    }
}

/// The non-empty lines, without the redirections and the alternatives that a shell script adds.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.split(['\n', ';']).flat_map(|line| line.split("&&"));
    let lines = lines.map(|line| {
        let line = line.split("||").next().unwrap_or_default();
        let ends = ["2>", "&>", ">", " #"]
            .iter()
            .filter_map(|end| line.find(end));
        line[..ends.min().unwrap_or(line.len())].trim_ascii()
    });
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Parses the lines.
pub(super) fn parse(text: &str) -> Result<(Qdisc, Vec<Notice>), QdiscError> {
    let text = without_continuations(text);
    let mut tree = Tree::default();
    for line in lines(&text) {
        let statement = Statement::read(line)?;
        tree.add(statement)?;
    }
    let notices = std::mem::take(&mut tree.notices);
    let qdisc = tree.into_qdisc()?;
    qdisc.check()?;
    Ok((qdisc, notices))
}

/// The error for a line.
fn bad(line: &str, reason: impl Into<String>) -> QdiscError {
    bad_with_hint(line, reason, None)
}

fn bad_with_hint(line: &str, reason: impl Into<String>, hint: Option<String>) -> QdiscError {
    QdiscError::BadLine {
        value: shortened(line),
        reason: reason.into(),
        why: None,
        allowed: LINE_USAGE.to_owned(),
        hint,
    }
}

/// The error for the words of a filter.
pub(super) fn bad_filter(line: &str, refused: filter::Refused) -> QdiscError {
    let filter::Refused { said, why, hint } = refused;
    QdiscError::BadLine {
        value: shortened(line),
        reason: said,
        why,
        allowed: FILTER_USAGE.to_owned(),
        hint,
    }
}

/// A handle and a class within it: `1:10`, hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ClassId {
    major: u16,
    minor: u16,
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
    fn read(text: &str) -> Option<ClassId> {
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

/// Parses the number of a handle or class.
fn hex(digits: &str) -> Option<u16> {
    u16::try_from(strtol(digits, Base::Sixteen)?).ok()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Add,
    /// Changes parameters of what earlier lines have added.
    Change,
    /// Deletes what earlier lines have added.
    Delete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Object {
    Qdisc,
    Class,
    Filter,
}

/// One parsed line.
struct Statement<'a> {
    line: &'a str,
    object: Object,
    verb: Verb,
    device: Option<&'a str>,
    /// None for the root.
    parent: Option<ClassId>,
    handle: Option<ClassId>,
    class: Option<ClassId>,
    /// Filters only.
    priority: Option<u16>,
    /// Filters only.
    heading: filter::Heading<'a>,
    /// Why no simulated packet can match a filter, if so.
    of_others: Option<&'static str>,
    /// The kind of what is added, with its parameters.
    words: &'a str,
}

impl<'a> Statement<'a> {
    fn read(line: &'a str) -> Result<Statement<'a>, QdiscError> {
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
        // A filter without a parent belongs to the root.
        if !is_placed && object != Object::Filter {
            return Err(bad(line, "it has neither root nor parent"));
        }
        if is_placed && object == Object::Filter && statement.parent.is_none() {
            return Err(bad(line, "the parent of a filter is a handle H:, not root"));
        }
        Ok(statement)
    }
}

/// Reads words from the front of a line.
struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn next(&mut self) -> &'a str {
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
            (_, "add" | "replace") => Ok((object, Verb::Add)),
            (Object::Qdisc, "del" | "delete") => Ok((object, Verb::Delete)),
            (Object::Qdisc, "change") => Ok((object, Verb::Change)),
            (_, verb) => {
                let hint = nearest(verb, VERBS.iter().copied()).map(str::to_owned);
                let reason = format!("{:?} is not add, replace or change", shortened(verb));
                Err(bad_with_hint(line, reason, hint))
            }
        }
    }
}

/// Whether the kernel has it as the root and nowhere else.
fn is_root_alone(kind: &str) -> bool {
    kind == "noqueue" || one_queue::find(kind).is_some()
}

/// The disciplines parsed so far.
#[derive(Default)]
struct Tree<'a> {
    device: Option<&'a str>,
    nodes: Vec<Node>,
    /// Notices about the lines.
    notices: Vec<Notice>,
}

struct Node {
    /// 0 if the line gave no handle: nothing can be attached below it.
    major: u16,
    /// The node and class it is attached to.
    parent: Option<(usize, u16)>,
    qdisc: Qdisc,
    /// Of one that is what is put into it.
    one_queue: Option<OneQueue>,
}

impl Node {
    fn name(&self) -> &'static str {
        match self.one_queue {
            Some(one) => one.name,
            None => self.qdisc.discipline().name,
        }
    }
}

impl<'a> Tree<'a> {
    fn add(&mut self, statement: Statement<'a>) -> Result<(), QdiscError> {
        let line = statement.line;
        if let (Some(first), Some(device)) = (self.device, statement.device)
            && first != device
        {
            let device = shortened(device);
            return Err(bad(
                line,
                format!("{device:?} is not the device of the lines before"),
            ));
        }
        self.device = self.device.or(statement.device);
        match statement.object {
            Object::Qdisc => match statement.verb {
                Verb::Add => self.add_qdisc(statement),
                Verb::Change => self.change(&statement),
                Verb::Delete => self.delete(&statement),
            },
            Object::Class => self.add_class(statement),
            Object::Filter => self.add_filter(statement),
        }
    }

    fn add_class(&mut self, statement: Statement<'a>) -> Result<(), QdiscError> {
        let line = statement.line;
        let (Some(parent), Some(mut class)) = (statement.parent, statement.class) else {
            return Err(bad(
                line,
                "a class has a parent H: or H:C and a classid H:C",
            ));
        };
        if class.major == 0 {
            class.major = parent.major;
        }
        if parent.major != class.major {
            return Err(bad(
                line,
                "a class and its parent must belong to the same discipline",
            ));
        }
        let index = self.find(line, parent.major)?;
        let name = self.nodes[index].name();
        let qdisc = &mut self.nodes[index].qdisc;
        let mut cursor = Cursor {
            rest: statement.words,
        };
        let kind = cursor.next();
        if kind != name {
            let kind = shortened(kind);
            return Err(bad(
                line,
                format!("a class of {name} cannot be of kind {kind:?}"),
            ));
        }
        let notices = qdisc.add_class(class.minor, parent.minor, cursor.rest)?;
        self.notices.extend(notices);
        Ok(())
    }

    fn add_filter(&mut self, statement: Statement<'a>) -> Result<(), QdiscError> {
        let line = statement.line;
        let index = match statement.parent {
            Some(parent) if parent.minor == 0 => self.find(line, parent.major)?,
            Some(_) => return Err(bad(line, "the parent of a filter is a discipline H:")),
            None if self.nodes.is_empty() => {
                return Err(bad(line, "there is no discipline to attach the filter to"));
            }
            None => 0,
        };
        if let Some(why) = statement
            .of_others
            .or_else(|| filter::of_others(statement.words))
        {
            self.notices.push(Notice::MatchesNothing {
                value: shortened(statement.words),
                means: "no packet".to_owned(),
                why,
                instead: "u32 match ip dport 10000 0xffff".to_owned(),
            });
            return Ok(());
        }
        let words = filter::basic::in_u32(statement.words);
        let words = words.map_err(|refused| bad_filter(line, refused))?;
        let read = Filter::read(&words, statement.heading);
        let (filter, (major, _)) = read.map_err(|refused| bad_filter(line, refused))?;
        if major != 0 && major != self.nodes[index].major {
            return Err(bad(line, "its flowid names a class of another discipline"));
        }
        let name = self.nodes[index].name();
        let qdisc = &mut self.nodes[index].qdisc;
        if major == 0 && !filter::MINORS_ALONE.contains(&name) {
            let said = format!("a flowid of {name} needs the handle of its discipline: H:C");
            return Err(bad_filter(line, filter::Refused::not_modelled(said)));
        }
        let Some(filters) = qdisc.filters_mut() else {
            return Err(bad(line, format!("{name} takes no filters")));
        };
        if filter.kind == filter::Kind::Fw {
            self.notices.push(Notice::MatchesNothing {
                value: filter.matched_words(),
                means: "no packet".to_owned(),
                why: "simulated packets have no firewall mark",
                instead: "u32 match ip dport 10000 0xffff".to_owned(),
            });
        }
        let inserted = filter::insert(filters, filter, statement.priority);
        inserted.map_err(|refused| bad_filter(line, refused))
    }

    /// Deletes the root, as scripts do at their beginning, whether or not it exists.
    fn delete(&mut self, statement: &Statement<'a>) -> Result<(), QdiscError> {
        if statement.parent.is_some() {
            let said = "only root can be deleted here; leave out the other lines";
            return Err(bad(statement.line, said));
        }
        self.nodes.clear();
        Ok(())
    }

    /// Changes parameters of an existing discipline, as a later line of a script does before the run.
    fn change(&mut self, statement: &Statement<'a>) -> Result<(), QdiscError> {
        let line = statement.line;
        let index = match statement.parent {
            None => self.nodes.iter().position(|node| node.parent.is_none()),
            Some(class) => {
                let place = (self.find(line, class.major)?, class.minor);
                { self.nodes.iter() }.position(|node| node.parent == Some(place))
            }
        };
        let Some(index) = index else {
            return Err(bad(line, "there is no discipline to change"));
        };
        let name = self.nodes[index].name();
        let Node {
            qdisc,
            major,
            one_queue,
            ..
        } = &mut self.nodes[index];
        if one_queue.is_some() {
            return Err(bad(line, format!("{name} has nothing to change")));
        }
        if statement
            .handle
            .is_some_and(|handle| handle.major != *major)
        {
            return Err(bad(line, format!("the existing handle is {major:x}:")));
        }
        let (changed, notices) = changed(qdisc, statement.words)
            .map_err(|refused| refused.unwrap_or_else(|said| bad(line, said)))?;
        *qdisc = changed;
        self.notices.extend(notices);
        Ok(())
    }

    fn add_qdisc(&mut self, statement: Statement<'a>) -> Result<(), QdiscError> {
        let line = statement.line;
        if statement.class.is_some() {
            return Err(bad(line, "a discipline has a handle, not a classid"));
        }
        let major = statement.handle.map_or(0, |handle| handle.major);
        if major > 0 && self.nodes.iter().any(|node| node.major == major) {
            return Err(bad(line, format!("handle {major:x}: exists already")));
        }
        let parent = match statement.parent {
            None if self.nodes.is_empty() => None,
            None => return Err(bad(line, "there is a root already")),
            Some(class) => Some(self.place(line, class)?),
        };
        let (qdisc, notices) = parse_one(statement.words)?;
        let kind = statement.words.split_ascii_whitespace().next();
        let one_queue = kind.and_then(one_queue::find);
        if let (Some(name), Some(_)) = (kind.filter(|kind| is_root_alone(kind)), parent) {
            return Err(bad(line, format!("{name} is the root or nothing")));
        }
        self.notices.extend(notices);
        self.nodes.push(Node {
            major,
            parent,
            qdisc,
            one_queue,
        });
        Ok(())
    }

    /// The node that has this class, which must not have a discipline yet.
    fn place(&self, line: &str, class: ClassId) -> Result<(usize, u16), QdiscError> {
        let ClassId { major, minor } = class;
        let index = self.find(line, major)?;
        let node = &self.nodes[index];
        let found = match node.one_queue {
            Some(one) => one.class(minor),
            None => { node.qdisc.class(minor) }.ok_or_else(|| {
                let name = node.name();
                format!("{name} {major:x}: has no class {major:x}:{minor:x}")
            }),
        };
        let minor = found.map_err(|reason| bad(line, reason))?;
        let place = (index, minor);
        if self.nodes.iter().any(|node| node.parent == Some(place)) {
            let reason = format!("class {major:x}:{minor:x} has a discipline already");
            return Err(bad(line, reason));
        }
        Ok(place)
    }

    fn find(&self, line: &str, major: u16) -> Result<usize, QdiscError> {
        let found = self.nodes.iter().position(|node| node.major == major);
        found.ok_or_else(|| {
            let handles: Vec<String> = { self.nodes.iter() }
                .filter(|node| node.major > 0)
                .map(|node| format!("{:x}:", node.major))
                .collect();
            let known = if handles.is_empty() {
                "the lines before give no handle".to_owned()
            } else {
                format!("the lines before have {}", handles.join(", "))
            };
            bad(
                line,
                format!("no discipline has the handle {major:x}: ({known})"),
            )
        })
    }

    /// Attaches every discipline to its parent.
    fn into_qdisc(mut self) -> Result<Qdisc, QdiscError> {
        while let Some(node) = self.nodes.pop() {
            let Some((parent, minor)) = node.parent else {
                return Ok(node.qdisc);
            };
            // Children follow their parents in the list, so the parent still exists.
            if self.nodes[parent].one_queue.is_some() {
                self.nodes[parent].qdisc = node.qdisc;
            } else if let Some(slot) = self.nodes[parent].qdisc.slot(minor) {
                *slot = Some(Box::new(node.qdisc));
            }
        }
        Err(bad("", "there is no root"))
    }
}
