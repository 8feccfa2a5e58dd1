//! Classes that are added by lines of their own, of `drr`, `hfsc` and `htb`.

use super::{Branch, MAX_DEPTH, Qdisc, QdiscError};
use std::fmt;

/// Such a class.
pub(super) trait Class: fmt::Display {
    /// Its kind, in errors.
    const NAME: &'static str;

    /// Its number in the tree, at least 1.
    fn minor(&self) -> u16;

    /// The class above; 0 for the discipline itself.
    fn parent_minor(&self) -> u16;

    /// What queues in it.
    fn child(&self) -> Option<&Qdisc>;

    /// The place for that.
    fn child_mut(&mut self) -> &mut Option<Box<Qdisc>>;
}

pub(super) fn find<C: Class>(classes: &[C], minor: u16) -> Option<&C> {
    classes.iter().find(|class| class.minor() == minor)
}

/// Whether a class is there and has none below it.
pub(super) fn is_leaf<C: Class>(classes: &[C], minor: u16) -> bool {
    let mut others = classes.iter();
    find(classes, minor).is_some() && !others.any(|other| other.parent_minor() == minor)
}

/// As `Grammar::branches`.
pub(super) fn branches<C: Class>(classes: &[C]) -> Vec<Branch<'_>> {
    let branches = classes.iter().filter_map(|class| {
        Some(Branch {
            minor: class.minor(),
            child: class.child()?,
            takes_every_packet: false,
        })
    });
    branches.collect()
}

/// As `Grammar::slot`.
pub(super) fn slot<C: Class>(classes: &mut [C], minor: u16) -> Option<&mut Option<Box<Qdisc>>> {
    let mut classes = classes.iter_mut();
    let class = classes.find(|class| class.minor() == minor)?;
    Some(class.child_mut())
}

/// As `Grammar::class_lines`.
pub(super) fn lines<C: Class>(classes: &[C], handle: u16) -> Vec<String> {
    let line = |class: &C| {
        let parent = match class.parent_minor() {
            0 => format!("{handle:x}:"),
            minor => format!("{handle:x}:{minor:x}"),
        };
        let minor = class.minor();
        format!("parent {parent} classid {handle:x}:{minor:x} {class}")
    };
    classes.iter().map(line).collect()
}

/// Whether each has a number of its own and a parent before it that may be one.
pub(super) fn check_places<C: Class>(classes: &[C]) -> Result<(), QdiscError> {
    (0..classes.len()).try_for_each(|index| check_place(classes, index))
}

fn check_place<C: Class>(classes: &[C], index: usize) -> Result<(), QdiscError> {
    let (before, class) = (&classes[..index], &classes[index]);
    let refused = |what: &'static str, value: u16, allowed: String| QdiscError::OutOfRange {
        discipline: C::NAME,
        parameter: what,
        value: format!("{value:x}"),
        allowed,
        hint: None,
    };
    let minor = class.minor();
    if minor == 0 || find(before, minor).is_some() {
        let allowed = "1 to ffff, each once".to_owned();
        return Err(refused("classid", minor, allowed));
    }
    let mut depth = 1;
    let mut above = class.parent_minor();
    while above != 0 {
        let Some(parent) = find(before, above) else {
            let allowed = "the discipline itself, or a class of a line before".to_owned();
            return Err(refused("parent", above, allowed));
        };
        if parent.child().is_some() {
            let allowed = "no discipline in a class that has classes".to_owned();
            return Err(refused("parent", above, allowed));
        }
        above = parent.parent_minor();
        depth += 1;
    }
    if depth > MAX_DEPTH {
        let allowed = format!("at most {MAX_DEPTH} classes above each other");
        return Err(refused("classid", minor, allowed));
    }
    Ok(())
}
