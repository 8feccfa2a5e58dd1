//! Which packets of a file are seen together.
//!
//! Of most captures those of one interface. A capture of a simulated or virtual queue has several
//! for each queue, named `a->b before`, `a->b after` and `a->b arrived`: a packet that passes is
//! in all of them. What somebody sees at host a before (or after) the queue towards b is
//! `a->b before` (or `after`) and `b->a arrived`.

use crate::Interface;
use std::collections::HashMap;

/// Views that are told apart: of further interfaces nothing is counted.
pub const MOST_VIEWS: usize = 1024;

/// Where a view stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Before a queue.
    Before,
    /// After it.
    After,
    /// Not said.
    Unknown,
}

impl Place {
    /// As in the column `place`.
    pub fn code(self) -> i8 {
        match self {
            Place::Before => 0,
            Place::After => 1,
            Place::Unknown => -1,
        }
    }
}

/// A place at which packets are seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Name of the queue, or of the interface; empty where the file gives none.
    pub name: String,
    /// Where.
    pub place: Place,
    /// Whether an interface is just there, and not only what comes to it from elsewhere.
    pub is_there: bool,
}

/// The views of a file, as its interfaces appear.
#[derive(Debug, Default)]
pub struct Views {
    /// In the order in which they appeared.
    pub all: Vec<View>,
    by_name: HashMap<(String, Place), usize>,
    /// The views of each interface: one, or two of what arrives.
    of_interface: Vec<[Option<usize>; 2]>,
}

impl Views {
    /// Takes notice of interfaces that have appeared.
    pub fn update(&mut self, interfaces: &[Interface]) {
        let known = self.of_interface.len();
        for (index, interface) in interfaces.iter().enumerate().skip(known) {
            let views = self.of_new(index, &interface.name);
            self.of_interface.push(views);
        }
    }

    /// The views in which a packet of an interface is; none of interfaces beyond `MOST_VIEWS`.
    pub fn of(&self, interface: usize) -> impl Iterator<Item = usize> {
        let views = self.of_interface.get(interface);
        views.into_iter().flatten().flatten().copied()
    }

    fn of_new(&mut self, index: usize, name: &str) -> [Option<usize>; 2] {
        if let Some((queue, place)) = name.rsplit_once(' ')
            && let Some(other) = reversed(queue)
        {
            match place {
                "before" => return [self.view(queue, Place::Before, true), None],
                "after" => return [self.view(queue, Place::After, true), None],
                "arrived" => {
                    return [Place::Before, Place::After]
                        .map(|place| self.view(&other, place, false));
                }
                _ => {}
            }
        }
        // Two interfaces of one name are two views, as of two hosts whose captures were merged.
        let is_taken = |name: &str| {
            let key = (name.to_owned(), Place::Unknown);
            self.by_name.contains_key(&key)
        };
        let name = match name {
            "" if index > 0 => format!("interface {index}"),
            name if is_taken(name) => format!("{name} (interface {index})"),
            name => name.to_owned(),
        };
        [self.view(&name, Place::Unknown, true), None]
    }

    fn view(&mut self, name: &str, place: Place, is_there: bool) -> Option<usize> {
        let key = (name.to_owned(), place);
        let index = match self.by_name.get(&key) {
            Some(index) => *index,
            None if self.all.len() == MOST_VIEWS => return None,
            None => {
                self.by_name.insert(key, self.all.len());
                self.all.push(View {
                    name: name.to_owned(),
                    place,
                    is_there: false,
                });
                self.all.len() - 1
            }
        };
        self.all[index].is_there |= is_there;
        Some(index)
    }
}

/// The other direction of a queue: `b->a#2` of `a->b#2`.
fn reversed(queue: &str) -> Option<String> {
    let (from, rest) = queue.split_once("->")?;
    match rest.split_once('#') {
        Some((to, number)) => Some(format!("{to}->{from}#{number}")),
        None => Some(format!("{rest}->{from}")),
    }
}
