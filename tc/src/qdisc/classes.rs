//! Classes of `drr`, `hfsc` and `htb`, which are added, changed and deleted by lines of their own.

use super::{Branch, Grammar, MAX_DEPTH, Qdisc, QdiscError};
use crate::notice::Notice;
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

/// Whether a discipline has a class of this number that a line added.
pub(super) fn has(qdisc: &Qdisc, minor: u16) -> bool {
    match qdisc {
        Qdisc::Htb(htb) => find(&htb.classes, minor).is_some(),
        Qdisc::Hfsc(hfsc) => find(&hfsc.classes, minor).is_some(),
        Qdisc::Drr(drr) => find(&drr.classes, minor).is_some(),
        _ => false,
    }
}

/// Changes the parameters of a class (`tc class change`): those of `htb` not given get their defaults, the
/// quantum of `drr` keeps its value. Returns notices about the words, or why it is not changed.
pub(super) fn change(
    qdisc: &mut Qdisc,
    minor: u16,
    words: &str,
) -> Result<Vec<Notice>, Result<QdiscError, String>> {
    match qdisc {
        Qdisc::Htb(htb) => {
            let mut alone = htb.clone();
            alone.classes.clear();
            let notices = alone.add_class(minor, 0, words).map_err(Ok)?;
            exchange(&mut htb.classes, alone.classes, |new, old| {
                new.parent_minor = old.parent_minor;
            });
            Ok(notices)
        }
        Qdisc::Drr(_) if words.trim().is_empty() => Ok(Vec::new()),
        Qdisc::Drr(drr) => {
            let mut alone = drr.clone();
            alone.classes.clear();
            let notices = alone.add_class(minor, 0, words).map_err(Ok)?;
            exchange(&mut drr.classes, alone.classes, |_, _| {});
            Ok(notices)
        }
        other => Err(Err(format!(
            "change of a class of {} is not implemented; give the values where it is added",
            other.discipline().name
        ))),
    }
}

/// Puts a class in the place of the one of its number, with that one's discipline.
fn exchange<C: Class>(classes: &mut [C], new: Vec<C>, keep: impl Fn(&mut C, &C)) {
    for mut new in new {
        let mut classes = classes.iter_mut();
        if let Some(old) = classes.find(|class| class.minor() == new.minor()) {
            keep(&mut new, old);
            *new.child_mut() = old.child_mut().take();
            *old = new;
        }
    }
}

/// Deletes a class (`tc class del`).
///
/// # Errors
/// Why the kernel refuses it: it has classes below it, or a filter leads to it.
pub(super) fn remove(qdisc: &mut Qdisc, minor: u16) -> Result<(), String> {
    let is_filtered = |filter: &super::Filter| filter.minor == minor;
    if qdisc.filters().iter().any(is_filtered) {
        return Err("a filter leads to the class; delete the filter first".to_owned());
    }
    match qdisc {
        Qdisc::Htb(htb) => remove_from(&mut htb.classes, minor),
        Qdisc::Hfsc(hfsc) => remove_from(&mut hfsc.classes, minor),
        Qdisc::Drr(drr) => remove_from(&mut drr.classes, minor),
        _ => Ok(()),
    }
}

fn remove_from<C: Class>(classes: &mut Vec<C>, minor: u16) -> Result<(), String> {
    if classes.iter().any(|class| class.parent_minor() == minor) {
        return Err("the class has classes below it; delete those first".to_owned());
    }
    classes.retain(|class| class.minor() != minor);
    Ok(())
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
