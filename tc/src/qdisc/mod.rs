//! Queue disciplines: the words after `tc qdisc add dev X root`.
//!
//! [`parse`] reads the text; `Display` of [`Qdisc`] writes it back. [`Qdisc::to_json`] and
//! [`Qdisc::from_json`] convert to and from the canonical JSON, which has every default filled in.
//! [`Qdisc::shown`] is the output of `tc -d qdisc show`. [`disciplines`] is the table from which
//! documentation is made.
//!
//! Words are read as iproute2 6.1 reads them: in any order; the last of a repeated word counts where tc
//! accepts repetition ([`Discipline::once`]); abbreviated where tc accepts prefixes
//! ([`Discipline::abbreviated`]); numbers as C reads them. A value that tc accepts but would change is
//! refused with a [`Reason`](crate::Reason). A value that is easily misread comes with a [`Notice`].
//!
//! A discipline with children is written as several lines, each without the leading `tc`: see [`parse`] and
//! [`Qdisc::lines`].
//!
//! To add a discipline, write one file here with a type that implements `Grammar`, and add one line to the
//! list given to the macro `qdiscs` below.

mod bfifo;
mod branch;
pub mod cake;
mod chain;
mod change;
mod choke;
mod classes;
mod codel;
mod discipline;
mod drr;
pub mod dualpi2;
mod egress;
mod error;
mod ets;
pub mod filter;
mod fq;
mod fq_codel;
mod fq_pie;
mod hfsc;
mod htb;
mod lines;
mod netem;
mod noqueue;
mod one_queue;
mod pfifo;
mod pfifo_fast;
mod pie;
mod police;
mod prio;
pub mod red;
pub mod script;
mod sfb;
mod sfq;
mod shown;
mod statement;
mod tbf;
mod words;

pub use bfifo::Bfifo;
pub use cake::Cake;
pub use choke::Choke;
pub use codel::Codel;
pub use discipline::{Bounds, COMPUTED, Discipline, Parameter, REQUIRED, Value};
pub use drr::{Drr, DrrClass};
pub use dualpi2::Dualpi2;
pub use error::QdiscError;
pub use ets::Ets;
pub use filter::Filter;
pub use fq::Fq;
pub use fq_codel::{FqCodel, Selector};
pub use fq_pie::FqPie;
pub use hfsc::{Hfsc, HfscClass, ServiceCurve};
pub use htb::{Htb, HtbClass};
pub use lines::Attachment;
pub use netem::{ALL_PPB, Distribution, Loss, Netem, Slot, SlotDelay};
pub use noqueue::Noqueue;
pub use pfifo::Pfifo;
pub use pfifo_fast::PfifoFast;
pub use pie::Pie;
pub use police::{POLICE, Police, parse_police, parse_police_noting, police_table_json};
pub use prio::{PRIOMAP, Prio};
pub use red::Red;
pub use sfb::Sfb;
pub use sfq::{Sfq, SfqRed};
pub use shown::{Device, Field, Fields, Options, Shown};
pub use tbf::Tbf;

use crate::nearest::nearest;
use crate::notice::Notice;
use crate::units::shortened;
use branch::Branch;
use serde::{Deserialize, Serialize};
use std::fmt;
use words::Words;

/// Largest size of the text or JSON of one discipline with its children.
pub const MAX_TEXT_BYTES: usize = 16_384;

/// Largest nesting depth of disciplines, the root included; the kernel's own limit (`check_loop` in
/// `sch_api.c`).
pub const MAX_DEPTH: usize = 8;

/// What the file of a discipline provides.
trait Grammar: Sized + fmt::Display {
    /// Its row of the table.
    const DISCIPLINE: Discipline;

    /// Whether it is a plain FIFO: it sends whenever it is asked, and holds nothing without a transmitter
    /// behind it.
    const IS_PLAIN_FIFO: bool = false;

    /// For a discipline with added classes: the table row of a class.
    const CLASS: Option<&'static Discipline> = None;

    /// Example: the text typed, and the output of `tc -d qdisc show` as text and as JSON. Disciplines without
    /// one here have some in `tests/shown.rs`.
    #[cfg_attr(not(test), expect(dead_code, reason = "an example for tests"))]
    const SHOWN: Option<(&'static str, &'static str, &'static str)> = None;

    /// Parses the words after its name; parameters not given get tc's defaults.
    fn parse(words: &mut Words) -> Result<Self, QdiscError>;

    /// Checks that every value is one that [`Grammar::parse`] can produce. Children are checked separately.
    fn check(&self) -> Result<(), QdiscError>;

    /// Its options as `tc -d qdisc show` prints them (`print_opt` in iproute2).
    fn options(&self, device: Device) -> Options;

    /// See [`Qdisc::shaped_bps`].
    fn shaped_bps(&self) -> u64 {
        0
    }

    /// The disciplines in its classes, in the order of the classes.
    fn branches(&self) -> Vec<Branch<'_>> {
        Vec::new()
    }

    /// The class that `minor` refers to, if a discipline can be attached there.
    fn class(&self, _minor: u16) -> Option<u16> {
        None
    }

    /// Where the discipline of a class is attached.
    fn slot(&mut self, _minor: u16) -> Option<&mut Option<Box<Qdisc>>> {
        None
    }

    /// The words after `class add dev X` for each class that needs a line of its own.
    fn class_lines(&self, _handle: u16) -> Vec<String> {
        Vec::new()
    }

    /// Adds a class; `words` are those after the discipline's name. Returns notices about them.
    fn add_class(
        &mut self,
        _minor: u16,
        _parent: u16,
        _words: &str,
    ) -> Result<Vec<Notice>, QdiscError> {
        Err(QdiscError::BadLine {
            value: "class".to_owned(),
            reason: format!("{} has no classes to add", Self::DISCIPLINE.name),
            why: None,
            allowed: "class lines for drr, hfsc and htb".to_owned(),
            hint: None,
        })
    }

    /// Its filters, in the order in which they are evaluated.
    fn filters(&self) -> &[Filter] {
        &[]
    }

    /// Its filters, if it accepts filters.
    fn filters_mut(&mut self) -> Option<&mut Vec<Filter>> {
        None
    }
}

/// Declares the enum of all disciplines and the methods that dispatch to them.
macro_rules! qdiscs {
    ($($kind:ident;)+) => {
        /// A queue discipline with all its parameters.
        ///
        /// As JSON: an object with `kind` and every parameter, units in the keys.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum Qdisc {
            $(#[doc = concat!("See [`", stringify!($kind), "`].")] $kind($kind),)+
        }

        static DISCIPLINES: &[Discipline] = &[$($kind::DISCIPLINE),+];

        /// [`Grammar::SHOWN`] of each discipline.
        #[cfg(test)]
        const SHOWN: &[Option<(&str, &str, &str)>] = &[$($kind::SHOWN),+];

        /// [`Grammar::IS_PLAIN_FIFO`] of each discipline.
        const ARE_PLAIN_FIFOS: &[bool] = &[$($kind::IS_PLAIN_FIFO),+];

        /// [`Grammar::CLASS`] of each discipline.
        const CLASSES: &[Option<&Discipline>] = &[$($kind::CLASS),+];

        /// Parses the words after `discipline`'s name.
        fn parse_words(
            discipline: &'static Discipline,
            words: &mut Words,
        ) -> Result<Qdisc, QdiscError> {
            $(if discipline.name == $kind::DISCIPLINE.name {
                return $kind::parse(words).map(Qdisc::$kind);
            })+
            Err(unknown_discipline(discipline.name))
        }

        impl Qdisc {
            /// Its row in the table of [`disciplines`].
            pub fn discipline(&self) -> &'static Discipline {
                match self {
                    $(Qdisc::$kind(_) => const { &$kind::DISCIPLINE },)+
                }
            }

            /// Whether it is a plain FIFO: it sends whenever it is asked, and holds nothing without a
            /// transmitter behind it.
            pub fn is_plain_fifo(&self) -> bool {
                match self {
                    $(Qdisc::$kind(_) => $kind::IS_PLAIN_FIFO,)+
                }
            }

            /// Long-term rate of departures however fast the transmitter is, bit/s; 0 if some packets are not
            /// limited to a rate.
            ///
            /// The rate of token buckets (tc-tbf(8)) and of `netem rate` (tc-netem(8)); for htb the ceilings
            /// of its classes (tc-htb(8)); for prio the sum over its children. The `maxrate` of fq limits
            /// each flow and does not count.
            pub fn shaped_bps(&self) -> u64 {
                match self {
                    $(Qdisc::$kind(discipline) => discipline.shaped_bps(),)+
                }
            }

            fn check_alone(&self) -> Result<(), QdiscError> {
                match self {
                    $(Qdisc::$kind(discipline) => discipline.check(),)+
                }
            }

            fn options(&self, device: Device) -> Options {
                match self {
                    $(Qdisc::$kind(discipline) => discipline.options(device),)+
                }
            }

            fn branches(&self) -> Vec<Branch<'_>> {
                match self {
                    $(Qdisc::$kind(discipline) => discipline.branches(),)+
                }
            }

            fn class(&self, minor: u16) -> Option<u16> {
                match self {
                    $(Qdisc::$kind(discipline) => discipline.class(minor),)+
                }
            }

            fn slot(&mut self, minor: u16) -> Option<&mut Option<Box<Qdisc>>> {
                match self {
                    $(Qdisc::$kind(discipline) => discipline.slot(minor),)+
                }
            }

            fn class_lines(&self, handle: u16) -> Vec<String> {
                match self {
                    $(Qdisc::$kind(discipline) => discipline.class_lines(handle),)+
                }
            }

            fn add_class(
                &mut self,
                minor: u16,
                parent_minor: u16,
                words: &str,
            ) -> Result<Vec<Notice>, QdiscError> {
                match self {
                    $(Qdisc::$kind(discipline) => {
                        discipline.add_class(minor, parent_minor, words)
                    })+
                }
            }

            fn filters(&self) -> &[Filter] {
                match self {
                    $(Qdisc::$kind(discipline) => discipline.filters(),)+
                }
            }

            fn filters_mut(&mut self) -> Option<&mut Vec<Filter>> {
                match self {
                    $(Qdisc::$kind(discipline) => discipline.filters_mut(),)+
                }
            }

            /// Its name and parameters, without classes and children.
            fn words(&self) -> String {
                match self {
                    $(Qdisc::$kind(discipline) => discipline.to_string(),)+
                }
            }
        }
    };
}

qdiscs! {
    Pfifo;
    PfifoFast;
    Bfifo;
    Prio;
    Ets;
    Tbf;
    Htb;
    Hfsc;
    Drr;
    Netem;
    Codel;
    Fq;
    FqCodel;
    Cake;
    Pie;
    Dualpi2;
    FqPie;
    Red;
    Choke;
    Sfb;
    Sfq;
    Noqueue;
}

/// Formats tc text that [`parse`] reads back. A discipline with children takes several lines.
impl fmt::Display for Qdisc {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let lines = self.lines(&Attachment::default());
        match lines.as_slice() {
            [_] => f.write_str(&self.words()),
            several => f.write_str(&several.join("\n")),
        }
    }
}

/// Disciplines of tc that are not implemented; the error then differs from that for unknown ones.
const NOT_IMPLEMENTED: &[&str] = &[
    "blackhole",
    "cbs",
    "etf",
    "gred",
    "hhf",
    "mqprio",
    "pfifo_head_drop",
    "plug",
    "qfq",
    "skbprio",
    "taprio",
];

/// Disciplines removed from Linux, and their replacements.
const REMOVED: &[(&str, &str)] = &[("cbq", "htb"), ("dsmark", "prio with filters by dsfield")];

/// All disciplines, with parameters, units, defaults and effects.
pub fn disciplines() -> &'static [Discipline] {
    DISCIPLINES
}

/// The table of [`disciplines`] as JSON, each with its `usage`, the shortest accepted text as `example`, a
/// `short_example` with a small limit, and `is_plain_fifo` ([`Qdisc::is_plain_fifo`]).
pub fn disciplines_json() -> String {
    #[derive(Serialize)]
    struct Described {
        #[serde(flatten)]
        discipline: &'static Discipline,
        usage: String,
        example: String,
        short_example: String,
        is_plain_fifo: bool,
        /// For a discipline with added classes: the table of a class.
        class: Option<&'static Discipline>,
    }
    let described: Vec<Described> = { DISCIPLINES.iter().zip(ARE_PLAIN_FIFOS).zip(CLASSES) }
        .map(|((discipline, is_plain_fifo), class)| Described {
            discipline,
            usage: discipline.usage(),
            example: discipline.example(),
            short_example: discipline.short_example(),
            is_plain_fifo: *is_plain_fifo,
            class: *class,
        })
        .collect();
    // Serialization cannot fail: see Qdisc::to_json.
    serde_json::to_string(&described).unwrap_or_default()
}

/// Parses the words after `tc qdisc add dev X root`, such as `netem rate 1mbit`; or several tc command lines,
/// separated by line ends or `;`:
/// ```text
/// [tc] [qdisc|class|filter add|replace] [dev X] root|parent H [handle H] [classid H] KIND ...
/// ```
///
/// # Errors
/// [`QdiscError`], for text above [`MAX_TEXT_BYTES`], an unknown discipline or word, one that
/// is not implemented, a missing or repeated value, or one out of range.
pub fn parse(text: &str) -> Result<Qdisc, QdiscError> {
    parse_noting(text).map(|(qdisc, _)| qdisc)
}

/// As [`parse`], with notices about the text.
///
/// # Errors
/// The errors of [`parse`].
pub fn parse_noting(text: &str) -> Result<(Qdisc, Vec<Notice>), QdiscError> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(QdiscError::TooLong {
            value: shortened(text),
            allowed: format!("at most {MAX_TEXT_BYTES} bytes"),
            hint: None,
        });
    }
    if chain::is_chain(text) {
        return chain::parse(text);
    }
    parse_one(text)
}

/// Parses the name and parameters of one discipline.
fn parse_one(text: &str) -> Result<(Qdisc, Vec<Notice>), QdiscError> {
    let mut words = text.split_ascii_whitespace();
    let Some(name) = words.next() else {
        return Err(QdiscError::Empty {
            value: String::new(),
            allowed: kinds(),
            hint: None,
        });
    };
    if let Some(one) = one_queue::find(name) {
        return one.parse_alone(words.next());
    }
    let discipline = find(name).ok_or_else(|| unknown_discipline(name))?;
    let mut words = Words::new(discipline, words);
    let qdisc = parse_words(discipline, &mut words)?;
    Ok((qdisc, words.into_notices()))
}

impl std::str::FromStr for Qdisc {
    type Err = QdiscError;

    fn from_str(text: &str) -> Result<Qdisc, QdiscError> {
        parse(text)
    }
}

impl Qdisc {
    /// Checks that every value, also of children, can be expressed as tc text.
    /// # Errors
    /// [`QdiscError::OutOfRange`] for the first that cannot.
    pub fn check(&self) -> Result<(), QdiscError> {
        self.check_to_depth(MAX_DEPTH)
    }

    fn check_to_depth(&self, depth: usize) -> Result<(), QdiscError> {
        if depth == 0 {
            return Err(QdiscError::OutOfRange {
                discipline: self.discipline().name,
                parameter: "parent",
                value: (MAX_DEPTH + 1).to_string(),
                allowed: format!("at most {MAX_DEPTH} levels of disciplines"),
                hint: None,
            });
        }
        if depth < MAX_DEPTH && matches!(self, Qdisc::Noqueue(_)) {
            return Err(QdiscError::OutOfRange {
                discipline: "noqueue",
                parameter: "parent",
                value: "a class".to_owned(),
                allowed: "root".to_owned(),
                hint: None,
            });
        }
        self.check_alone()?;
        let mut branches = self.branches().into_iter();
        branches.try_for_each(|branch| branch.child.check_to_depth(depth - 1))
    }

    /// Its children, without their children.
    pub fn children(&self) -> impl Iterator<Item = &Qdisc> {
        self.branches().into_iter().map(|branch| branch.child)
    }

    /// All filters, its own and those of its descendants.
    pub fn every_filter(&self) -> Vec<&Filter> {
        let inside = self.children().flat_map(Qdisc::every_filter);
        self.filters().iter().chain(inside).collect()
    }

    /// Whether any filter in the tree uses more than the TOS byte (DSCP and ECN).
    pub fn looks_past_tos(&self) -> bool {
        self.every_filter().into_iter().any(Filter::looks_past_tos)
    }

    /// The canonical JSON: no blanks, `kind` first, every parameter, units in the keys.
    pub fn to_json(&self) -> String {
        // Serialization could fail only for a map with keys that are not strings.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses the JSON that [`Qdisc::to_json`] writes; keys may be in any order.
    /// # Errors
    /// [`QdiscError::BadJson`] for missing, unknown or repeated keys and wrong types;
    /// [`QdiscError::OutOfRange`] for values that tc text cannot express.
    pub fn from_json(json: &str) -> Result<Qdisc, QdiscError> {
        let bad_json = |reason: String| QdiscError::BadJson {
            value: shortened(json),
            reason,
            allowed: keys(json),
            hint: None,
        };
        if json.len() > MAX_TEXT_BYTES {
            return Err(bad_json(format!("above {MAX_TEXT_BYTES} bytes")));
        }
        let qdisc: Qdisc = serde_json::from_str(json).map_err(|error| {
            // serde quotes the input unchanged; control characters must not reach a terminal.
            let reason = error.to_string().replace(char::is_control, "\u{fffd}");
            bad_json(shortened(&reason))
        })?;
        qdisc.check()?;
        Ok(qdisc)
    }
}

fn find(name: &str) -> Option<&'static Discipline> {
    DISCIPLINES
        .iter()
        .find(|discipline| discipline.name == name)
}

fn unknown_discipline(name: &str) -> QdiscError {
    let value = shortened(name);
    if NOT_IMPLEMENTED.contains(&name) {
        return QdiscError::DisciplineNotImplemented {
            value,
            allowed: kinds(),
            hint: None,
        };
    }
    let names = DISCIPLINES.iter().map(|discipline| discipline.name);
    let hint = nearest(name, names).map(str::to_owned);
    if let Some((_, instead)) = REMOVED.iter().find(|(removed, _)| *removed == name) {
        return QdiscError::RemovedDiscipline {
            value,
            instead,
            allowed: kinds(),
            hint: None,
        };
    }
    QdiscError::UnknownDiscipline {
        value,
        allowed: kinds(),
        hint,
    }
}

/// The names of all disciplines, for errors.
fn kinds() -> String {
    let names: Vec<&str> = DISCIPLINES.iter().map(|each| each.name).collect();
    names.join(", ")
}

/// The keys of the JSON's kind, or the kinds, for errors.
fn keys(json: &str) -> String {
    let value: Option<serde_json::Value> = serde_json::from_str(json).ok();
    let kind = value.as_ref().and_then(|value| value.get("kind")?.as_str());
    let Some(discipline) = kind.and_then(find) else {
        return format!("an object with kind one of {}", kinds());
    };
    let parameters = discipline.parameters.iter();
    let keys: Vec<&str> = parameters
        .filter(|parameter| !parameter.default_source.starts_with("in place of"))
        .map(|parameter| parameter.key)
        .collect();
    format!("kind {} with {}", discipline.name, keys.join(", "))
}

#[cfg(test)]
mod tests;
