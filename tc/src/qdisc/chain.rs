//! Several tc command lines that build one discipline with children.

use super::change::changed;
use super::classes;
use super::egress::Edits;
use super::one_queue::{self, OneQueue};
use super::statement::{ClassId, Cursor, OBJECTS, Object, Statement, Verb, bad};
use super::{Filter, Qdisc, QdiscError, filter, parse_one};
use crate::notice::Notice;
use crate::units::shortened;
use std::borrow::Cow;

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

/// Whether a line only prints what is there.
fn only_shows(line: &str) -> bool {
    let words = line.split_ascii_whitespace();
    let mut words =
        words.skip_while(|word| *word == "sudo" || is_tc(word) || word.starts_with('-'));
    let is_object = words.next().is_some_and(|word| OBJECTS.contains(&word));
    is_object && matches!(words.next(), Some("show" | "list" | "ls"))
}

/// Parses the lines.
pub(super) fn parse(text: &str) -> Result<(Qdisc, Vec<Notice>), QdiscError> {
    let text = without_continuations(text);
    let mut tree = Tree::default();
    for line in lines(&text).filter(|line| !only_shows(line)) {
        let statement = Statement::read(line)?;
        tree.add(statement)?;
    }
    let notices = std::mem::take(&mut tree.notices);
    let qdisc = tree.into_qdisc()?;
    qdisc.check()?;
    Ok((qdisc, notices))
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

/// Whether the kernel has it as the root and nowhere else.
fn is_root_alone(kind: &str) -> bool {
    kind == "noqueue" || one_queue::find(kind).is_some()
}

/// The words of a class after its kind.
fn class_words<'a>(statement: &Statement<'a>, name: &str) -> Result<&'a str, QdiscError> {
    let mut cursor = Cursor {
        rest: statement.words,
    };
    let kind = cursor.next();
    match kind == name {
        true => Ok(cursor.rest),
        false => {
            let said = format!("a class of {name} cannot be of kind {:?}", shortened(kind));
            Err(bad(statement.line, said))
        }
    }
}

/// The disciplines parsed so far.
#[derive(Default)]
struct Tree<'a> {
    device: Option<&'a str>,
    nodes: Vec<Node>,
    /// Filters of the egress hook.
    edits: Edits,
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
                Verb::Replace => self.replace(statement),
                Verb::Change => self.change(&statement),
                Verb::Delete => self.delete(&statement),
            },
            Object::Class => self.add_class(statement),
            Object::Filter if statement.verb == Verb::Delete => self.delete_filters(&statement),
            Object::Filter if statement.is_egress => self.edits.add(&statement),
            Object::Filter => self.add_filter(statement),
        }
    }

    fn add_class(&mut self, statement: Statement<'a>) -> Result<(), QdiscError> {
        let line = statement.line;
        let known = statement.class.filter(|_| statement.verb != Verb::Add);
        if let Some(class) = known
            && let Ok(index) = self.find(line, class.major)
            && classes::has(&self.nodes[index].qdisc, class.minor)
        {
            return self.change_class(&statement, index, class.minor);
        }
        if matches!(statement.verb, Verb::Change | Verb::Delete) {
            return Err(bad(
                line,
                "no line before it adds the class; write classid H:C",
            ));
        }
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
        let words = class_words(&statement, name)?;
        let notices = qdisc.add_class(class.minor, parent.minor, words)?;
        self.notices.extend(notices);
        Ok(())
    }

    /// Changes or deletes a class that is there.
    fn change_class(
        &mut self,
        statement: &Statement<'a>,
        index: usize,
        minor: u16,
    ) -> Result<(), QdiscError> {
        let line = statement.line;
        let name = self.nodes[index].name();
        if statement.verb == Verb::Delete {
            let removed = classes::remove(&mut self.nodes[index].qdisc, minor);
            removed.map_err(|said| bad(line, said))?;
            if let Some(child) = self.child_of((index, minor)) {
                self.remove(child);
            }
            return Ok(());
        }
        let words = class_words(statement, name)?;
        let notices = classes::change(&mut self.nodes[index].qdisc, minor, words)
            .map_err(|refused| refused.unwrap_or_else(|said| bad(line, said)))?;
        self.notices.extend(notices);
        Ok(())
    }

    /// The node in a class of a node.
    fn child_of(&self, place: (usize, u16)) -> Option<usize> {
        { self.nodes.iter() }.position(|node| node.parent == Some(place))
    }

    /// Removes a node and those below it.
    fn remove(&mut self, index: usize) {
        let below = |node: &Node| node.parent.is_some_and(|(parent, _)| parent == index);
        while let Some(child) = self.nodes.iter().position(below) {
            self.remove(child);
        }
        self.nodes.remove(index);
        for node in &mut self.nodes {
            if let Some((parent, _)) = &mut node.parent {
                *parent -= usize::from(*parent > index);
            }
        }
    }

    /// Deletes the filters of a discipline, or those of a priority.
    fn delete_filters(&mut self, statement: &Statement<'a>) -> Result<(), QdiscError> {
        let line = statement.line;
        if statement.heading.handle.is_some() {
            return Err(bad(line, "filters are deleted by prio here, not by handle"));
        }
        let index = match statement.parent {
            Some(parent) => self.find(line, parent.major)?,
            None if self.nodes.is_empty() => return Ok(()),
            None => 0,
        };
        let Some(filters) = self.nodes[index].qdisc.filters_mut() else {
            return Ok(());
        };
        let before = filters.len();
        filters.retain(|filter| {
            statement
                .priority
                .is_some_and(|prio| prio != filter.priority)
        });
        match statement.priority {
            Some(prio) if filters.len() == before => {
                Err(bad(line, format!("no filter has prio {prio}")))
            }
            _ => Ok(()),
        }
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

    /// Deletes the root, as scripts do at their beginning, whether or not it exists, or what is in a class.
    fn delete(&mut self, statement: &Statement<'a>) -> Result<(), QdiscError> {
        let Some(class) = statement.parent else {
            self.nodes.clear();
            return Ok(());
        };
        let index = self.find(statement.line, class.major)?;
        let Some(child) = self.child_of((index, class.minor)) else {
            return Err(bad(statement.line, "there is no discipline to delete"));
        };
        self.remove(child);
        Ok(())
    }

    /// The discipline at the place that a line names.
    fn existing(&self, statement: &Statement<'a>) -> Result<Option<usize>, QdiscError> {
        Ok(match statement.parent {
            None => self.nodes.iter().position(|node| node.parent.is_none()),
            Some(class) => self.child_of((self.find(statement.line, class.major)?, class.minor)),
        })
    }

    /// Adds a discipline where there is none or one of another kind or handle; else changes it (tc(8)).
    fn replace(&mut self, statement: Statement<'a>) -> Result<(), QdiscError> {
        let Some(index) = self.existing(&statement)? else {
            return self.add_qdisc(statement);
        };
        let kind = statement.words.split_ascii_whitespace().next();
        let node = &self.nodes[index];
        let is_it = statement
            .handle
            .is_none_or(|handle| handle.major == node.major);
        if is_it && kind == Some(node.name()) {
            return self.change(&statement);
        }
        self.remove(index);
        self.add_qdisc(statement)
    }

    /// Changes parameters of an existing discipline, as a later line of a script does before the run.
    fn change(&mut self, statement: &Statement<'a>) -> Result<(), QdiscError> {
        let line = statement.line;
        let Some(index) = self.existing(statement)? else {
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
        let loses_its_child = matches!(qdisc, Qdisc::Sfb(_)); // `sfb_change`
        if let Some(child) = self.child_of((index, 1)).filter(|_| loses_its_child) {
            self.remove(child);
        }
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
                let mut root = node.qdisc;
                self.edits.apply(node.major, &mut root)?;
                return Ok(root);
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
