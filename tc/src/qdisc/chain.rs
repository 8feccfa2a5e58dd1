//! Several lines that make one discipline with children, as typed to tc one after the other.

use super::{Filter, Qdisc, QdiscError, filter, parse_one};
use crate::nearest::nearest;
use crate::notice::Notice;
use crate::units::shortened;

/// What a line may begin with.
const OBJECTS: &[&str] = &["qdisc", "class", "filter"];
const VERBS: &[&str] = &["add", "replace"];

const LINE_USAGE: &str = "[tc] [qdisc|class|filter add|replace] [dev X] root | parent H:C \
                          [handle H:] [classid H:C] and what is attached there, H and C in \
                          hexadecimal; one line for each, the root's first";

/// Whether the text is lines with places, rather than one discipline's words (which may be on
/// several lines, too).
pub(super) fn is_chain(text: &str) -> bool {
    lines(text).any(|line| {
        let word = line.split_ascii_whitespace().next().unwrap_or_default();
        ["sudo", "tc", "root", "parent", "dev"].contains(&word) || OBJECTS.contains(&word)
    })
}

/// The lines that say something.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.split(['\n', ';']).map(str::trim_ascii);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Reads the lines.
pub(super) fn parse(text: &str) -> Result<(Qdisc, Vec<Notice>), QdiscError> {
    let mut tree = Tree::default();
    for line in lines(text) {
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
        allowed: LINE_USAGE.to_owned(),
        hint,
    }
}

/// A handle and a class in it, `1:10` in hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ClassId {
    major: u16,
    minor: u16,
}

impl ClassId {
    fn read(text: &str) -> Option<ClassId> {
        let (major, minor) = text.split_once(':')?;
        let number = |digits: &str| {
            let is_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_hex.then(|| u16::from_str_radix(digits, 16).ok())?
        };
        let minor = if minor.is_empty() { 0 } else { number(minor)? };
        let major = number(major).filter(|major| *major > 0)?;
        Some(ClassId { major, minor })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Object {
    Qdisc,
    Class,
    Filter,
}

/// One line, taken apart.
struct Statement<'a> {
    line: &'a str,
    object: Object,
    device: Option<&'a str>,
    /// None for the root.
    parent: Option<ClassId>,
    handle: Option<ClassId>,
    class: Option<ClassId>,
    /// Of a filter.
    priority: Option<u16>,
    /// What is attached, with its parameters.
    words: &'a str,
}

impl<'a> Statement<'a> {
    fn read(line: &'a str) -> Result<Statement<'a>, QdiscError> {
        let mut cursor = Cursor { rest: line };
        cursor.skip("sudo");
        cursor.skip("tc");
        let object = cursor.object(line)?;
        let mut statement = Statement {
            line,
            object,
            device: None,
            parent: None,
            handle: None,
            class: None,
            priority: None,
            words: "",
        };
        let mut is_placed = false;
        loop {
            let before = cursor.rest;
            let word = cursor.next();
            let mut id = |name: &str| {
                let text = cursor.next();
                ClassId::read(text).ok_or_else(|| {
                    bad(
                        line,
                        format!("{name} {:?} is no H: or H:C", shortened(text)),
                    )
                })
            };
            match word {
                "dev" => statement.device = Some(cursor.next()),
                "root" | "parent" if is_placed => {
                    return Err(bad(line, "it says twice where it belongs"));
                }
                "root" => is_placed = true,
                "parent" => {
                    is_placed = true;
                    statement.parent = Some(id("parent")?);
                }
                "handle" => statement.handle = Some(id("handle")?),
                "classid" => statement.class = Some(id("classid")?),
                "protocol" if object == Object::Filter => {
                    let protocol = cursor.next();
                    if !["ip", "all"].contains(&protocol) {
                        let protocol = shortened(protocol);
                        return Err(bad(line, format!("protocol {protocol:?} is not ip or all")));
                    }
                }
                "prio" | "pref" if object == Object::Filter => {
                    let text = cursor.next();
                    let number = text.parse().ok().filter(|number| *number > 0);
                    if number.is_none() {
                        let text = shortened(text);
                        return Err(bad(line, format!("prio {text:?} is not from 1 to 65535")));
                    }
                    statement.priority = number;
                }
                _ => {
                    statement.words = before.trim_ascii();
                    break;
                }
            }
        }
        if !is_placed {
            return Err(bad(line, "it says neither root nor parent"));
        }
        if statement.handle.is_some_and(|handle| handle.minor != 0) {
            return Err(bad(line, "the handle of a discipline ends with its colon"));
        }
        Ok(statement)
    }
}

/// Words taken from the front of a line.
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

    fn skip(&mut self, word: &str) -> bool {
        let mut ahead = Cursor { rest: self.rest };
        let found = ahead.next() == word;
        if found {
            self.rest = ahead.rest;
        }
        found
    }

    /// `qdisc add` and the like; a qdisc where nothing is said.
    fn object(&mut self, line: &str) -> Result<Object, QdiscError> {
        let objects = [Object::Qdisc, Object::Class, Object::Filter];
        let named = OBJECTS.iter().zip(objects);
        let Some((_, object)) = { named }.find(|(name, _)| self.skip(name)) else {
            return Ok(Object::Qdisc);
        };
        let verb = self.next();
        if VERBS.contains(&verb) {
            return Ok(object);
        }
        let hint = nearest(verb, VERBS.iter().copied()).map(str::to_owned);
        let reason = format!("{:?} is neither add nor replace", shortened(verb));
        Err(bad_with_hint(line, reason, hint))
    }
}

/// The disciplines read so far.
#[derive(Default)]
struct Tree<'a> {
    device: Option<&'a str>,
    nodes: Vec<Node>,
    /// What is to be known of the lines.
    notices: Vec<Notice>,
}

struct Node {
    /// 0 where the line gave none: nothing can be put into it.
    major: u16,
    /// Which node it is in, and in which class.
    parent: Option<(usize, u16)>,
    qdisc: Qdisc,
}

impl<'a> Tree<'a> {
    fn add(&mut self, statement: Statement<'a>) -> Result<(), QdiscError> {
        let line = statement.line;
        if let (Some(first), Some(device)) = (self.device, statement.device)
            && first != device
        {
            let device = shortened(device);
            return Err(bad(line, format!("{device:?} is another device")));
        }
        self.device = self.device.or(statement.device);
        match statement.object {
            Object::Qdisc => self.add_qdisc(statement),
            Object::Class => self.add_class(statement),
            Object::Filter => self.add_filter(statement),
        }
    }

    fn add_class(&mut self, statement: Statement<'a>) -> Result<(), QdiscError> {
        let line = statement.line;
        let (Some(parent), Some(class)) = (statement.parent, statement.class) else {
            return Err(bad(
                line,
                "a class has a parent H: or H:C and a classid H:C",
            ));
        };
        if parent.major != class.major {
            return Err(bad(line, "a class and its parent are of one discipline"));
        }
        let index = self.find(line, parent.major)?;
        let qdisc = &mut self.nodes[index].qdisc;
        let mut cursor = Cursor {
            rest: statement.words,
        };
        let (name, kind) = (qdisc.discipline().name, cursor.next());
        if kind != name {
            let kind = shortened(kind);
            return Err(bad(line, format!("the class of a {name} is no {kind:?}")));
        }
        let notices = qdisc.add_class(class.minor, parent.minor, cursor.rest)?;
        self.notices.extend(notices);
        Ok(())
    }

    fn add_filter(&mut self, statement: Statement<'a>) -> Result<(), QdiscError> {
        let line = statement.line;
        let parent = statement.parent.filter(|parent| parent.minor == 0);
        let Some(parent) = parent else {
            return Err(bad(line, "a filter has a discipline H: as parent"));
        };
        let index = self.find(line, parent.major)?;
        let (filter, (major, _)) =
            Filter::read(statement.words).map_err(|reason| bad(line, reason))?;
        if major != 0 && major != parent.major {
            return Err(bad(line, "its flowid is a class of another discipline"));
        }
        let qdisc = &mut self.nodes[index].qdisc;
        let name = qdisc.discipline().name;
        let Some(filters) = qdisc.filters_mut() else {
            return Err(bad(line, format!("{name} takes no filters")));
        };
        filter::insert(filters, filter, statement.priority);
        Ok(())
    }

    fn add_qdisc(&mut self, statement: Statement<'a>) -> Result<(), QdiscError> {
        let line = statement.line;
        if statement.class.is_some() {
            return Err(bad(line, "a discipline has a handle, not a classid"));
        }
        let major = statement.handle.map_or(0, |handle| handle.major);
        if major > 0 && self.nodes.iter().any(|node| node.major == major) {
            return Err(bad(line, format!("handle {major:x}: is there already")));
        }
        let parent = match statement.parent {
            None if self.nodes.is_empty() => None,
            None => return Err(bad(line, "there is a root already")),
            Some(class) => Some(self.place(line, class)?),
        };
        let (qdisc, notices) = parse_one(statement.words)?;
        self.notices.extend(notices);
        self.nodes.push(Node {
            major,
            parent,
            qdisc,
        });
        Ok(())
    }

    /// The node that has this class, free for a discipline.
    fn place(&self, line: &str, class: ClassId) -> Result<(usize, u16), QdiscError> {
        let ClassId { major, minor } = class;
        let index = self.find(line, major)?;
        let qdisc = &self.nodes[index].qdisc;
        let Some(minor) = qdisc.class(minor) else {
            let name = qdisc.discipline().name;
            let reason = format!("{name} {major:x}: has no class {major:x}:{minor:x}");
            return Err(bad(line, reason));
        };
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
                "no handle was given in the lines before".to_owned()
            } else {
                format!("the lines before have {}", handles.join(", "))
            };
            bad(line, format!("nothing has the handle {major:x}: ({known})"))
        })
    }

    /// Puts every discipline into its parent.
    fn into_qdisc(mut self) -> Result<Qdisc, QdiscError> {
        while let Some(node) = self.nodes.pop() {
            let Some((parent, minor)) = node.parent else {
                return Ok(node.qdisc);
            };
            // Children come after their parents, so the parent is still there.
            if let Some(slot) = self.nodes[parent].qdisc.slot(minor) {
                *slot = Some(Box::new(node.qdisc));
            }
        }
        Err(bad("", "there is no root"))
    }
}
