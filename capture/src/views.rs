//! Views: groups of interfaces whose packets are seen at one place.
//!
//! In most captures a view is one interface. A capture of a simulated or virtual queue has several
//! interfaces for each queue, named `a->b before`, `a->b after` and `a->b arrived`: a packet that
//! passes the queue is in all of them. The view at host a before (or after) the queue towards b
//! consists of `a->b before` (or `after`) and `b->a arrived`.

use crate::Interface;
use std::collections::HashMap;

/// Maximum number of views; packets of further interfaces are not counted.
pub const MOST_VIEWS: usize = 1024;

/// Position of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Before a queue.
    Before,
    /// After a queue.
    After,
    /// Not stated.
    Unknown,
}

impl Place {
    /// Value in the column `place`.
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
    /// Name of the queue or of the interface; empty if the file gives none.
    pub name: String,
    /// Position relative to the queue.
    pub place: Place,
    /// Whether an interface captures at this place, rather than only packets arriving from
    /// elsewhere.
    pub is_there: bool,
}

/// The views of a file, in the order in which its interfaces appear.
#[derive(Debug, Default)]
pub struct Views {
    /// In order of appearance.
    pub all: Vec<View>,
    by_name: HashMap<(String, Place), usize>,
    /// The views of each interface: one, or two for an interface of arrivals.
    of_interface: Vec<[Option<usize>; 2]>,
}

impl Views {
    /// Adds interfaces that have appeared.
    pub fn update(&mut self, interfaces: &[Interface]) {
        let known = self.of_interface.len();
        for (index, interface) in interfaces.iter().enumerate().skip(known) {
            let views = self.of_new(index, &interface.name);
            self.of_interface.push(views);
        }
    }

    /// The views that contain packets of an interface; none for interfaces beyond `MOST_VIEWS`.
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
        // Two interfaces with the same name are two views, for example of two hosts with merged
        // captures.
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

/// The reverse direction of a queue: `b->a#2` for `a->b#2`.
fn reversed(queue: &str) -> Option<String> {
    let (from, rest) = queue.split_once("->")?;
    match rest.split_once('#') {
        Some((to, number)) => Some(format!("{to}->{from}#{number}")),
        None => Some(format!("{rest}->{from}")),
    }
}
