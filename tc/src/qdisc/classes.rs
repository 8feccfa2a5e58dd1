//! Classes of `drr`, `hfsc` and `htb`, which are added by lines of their own.

use super::{Branch, MAX_DEPTH, Qdisc, QdiscError};
use std::fmt;

/// A class that is added by a line.
pub(super) trait Class: fmt::Display {
    /// Its kind, for error messages.
    const NAME: &'static str;

    /// Its number in the tree, at least 1.
    fn minor(&self) -> u16;

    /// Its parent class; 0 for the discipline itself.
    fn parent_minor(&self) -> u16;

    /// The discipline attached to it.
    fn child(&self) -> Option<&Qdisc>;

    /// Where a discipline is attached.
    fn child_mut(&mut self) -> &mut Option<Box<Qdisc>>;
}

pub(super) fn find<C: Class>(classes: &[C], minor: u16) -> Option<&C> {
    classes.iter().find(|class| class.minor() == minor)
}

/// Whether a class exists and has no child classes.
pub(super) fn is_leaf<C: Class>(classes: &[C], minor: u16) -> bool {
    let mut others = classes.iter();
    find(classes, minor).is_some() && !others.any(|other| other.parent_minor() == minor)
}

/// See `Grammar::branches`.
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

/// See `Grammar::slot`.
pub(super) fn slot<C: Class>(classes: &mut [C], minor: u16) -> Option<&mut Option<Box<Qdisc>>> {
    let mut classes = classes.iter_mut();
    let class = classes.find(|class| class.minor() == minor)?;
    Some(class.child_mut())
}

/// See `Grammar::class_lines`.
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

/// Checks that every class has a unique number and that its parent precedes it and may have children.
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
            let allowed = "the discipline itself, or a class of an earlier line".to_owned();
            return Err(refused("parent", above, allowed));
        };
        if parent.child().is_some() {
            let allowed = "a discipline only in a leaf class".to_owned();
            return Err(refused("parent", above, allowed));
        }
        above = parent.parent_minor();
        depth += 1;
    }
    if depth > MAX_DEPTH {
        let allowed = format!("at most {MAX_DEPTH} levels of classes");
        return Err(refused("classid", minor, allowed));
    }
    Ok(())
}
