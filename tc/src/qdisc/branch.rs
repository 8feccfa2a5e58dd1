//! What is below a discipline with classes.

use super::Qdisc;

/// A discipline in a class of another.
pub(super) struct Branch<'a> {
    pub(super) minor: u16,
    pub(super) child: &'a Qdisc,
    /// Whether every packet goes into this class, the only one.
    pub(super) takes_every_packet: bool,
}

impl<'a> Branch<'a> {
    /// The branches of a discipline with one class.
    pub(super) fn only(child: Option<&'a Qdisc>) -> Vec<Branch<'a>> {
        let branch = |child| Branch {
            minor: 1,
            child,
            takes_every_packet: true,
        };
        child.map(branch).into_iter().collect()
    }
}
