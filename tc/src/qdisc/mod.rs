//! Queue disciplines: what follows `tc qdisc add dev X root`.
//!
//! [`parse`] reads the text, [`Qdisc`]'s `Display` writes it back, [`Qdisc::to_json`] and
//! [`Qdisc::from_json`] convert to and from the canonical JSON in which every default is filled
//! in. [`disciplines`] is the table of what there is, from which documentation is made.
//!
//! Parameters may come in any order, each once. Words are matched whole and in lower case; the
//! abbreviations tc lets pass (`lim`, `del`) are answered with the whole word as a hint.
//!
//! A further discipline is one file here, with a type that implements `Grammar`, and one line in
//! the list given to the macro `qdiscs` below.

mod bfifo;
mod discipline;
mod error;
mod netem;
mod pfifo;
mod words;

pub use bfifo::Bfifo;
pub use discipline::{Discipline, Parameter};
pub use error::QdiscError;
pub use netem::Netem;
pub use pfifo::Pfifo;

use crate::nearest::nearest;
use crate::units::shortened;
use serde::{Deserialize, Serialize};
use std::fmt;
use words::Words;

/// The longest text or JSON read as one discipline.
pub const MAX_TEXT_BYTES: usize = 4096;

/// What a discipline's file provides.
trait Grammar: Sized + fmt::Display {
    /// Its line in the table.
    const DISCIPLINE: Discipline;

    /// Reads the words after its name; tc's defaults for what is not said.
    fn parse(words: &mut Words) -> Result<Self, QdiscError>;

    /// Whether every value is one that [`Grammar::parse`] can produce.
    fn check(&self) -> Result<(), QdiscError>;
}

/// The enum of all disciplines and what must go through each of them.
macro_rules! qdiscs {
    ($($kind:ident),+ $(,)?) => {
        /// A queue discipline with all its parameters.
        ///
        /// As JSON: an object with `kind` and every parameter, units in the keys.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum Qdisc {
            $(#[doc = concat!("See [`", stringify!($kind), "`].")] $kind($kind),)+
        }

        static DISCIPLINES: &[Discipline] = &[$($kind::DISCIPLINE),+];

        /// Reads the words after `discipline`'s name.
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
            /// Its line in the table of [`disciplines`].
            pub fn discipline(&self) -> &'static Discipline {
                match self {
                    $(Qdisc::$kind(_) => const { &$kind::DISCIPLINE },)+
                }
            }

            /// Whether every value is one that tc text can express.
            ///
            /// # Errors
            /// [`QdiscError::OutOfRange`] for the first that is not.
            pub fn check(&self) -> Result<(), QdiscError> {
                match self {
                    $(Qdisc::$kind(discipline) => discipline.check(),)+
                }
            }
        }

        /// As one would type it to tc; [`parse`] reads it back.
        impl fmt::Display for Qdisc {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                match self {
                    $(Qdisc::$kind(discipline) => discipline.fmt(f),)+
                }
            }
        }
    };
}

qdiscs![
    Pfifo, //
    Bfifo, Netem,
];

/// Disciplines of tc that are not here, so that the answer is "not yet" and not "unknown".
const NOT_IMPLEMENTED: &[&str] = &[
    "blackhole",
    "cake",
    "cbs",
    "choke",
    "codel",
    "drr",
    "dualpi2",
    "etf",
    "ets",
    "fq",
    "fq_codel",
    "fq_pie",
    "gred",
    "hfsc",
    "hhf",
    "htb",
    "mq",
    "mqprio",
    "multiq",
    "noqueue",
    "pfifo_fast",
    "pfifo_head_drop",
    "pie",
    "plug",
    "prio",
    "qfq",
    "red",
    "sfb",
    "sfq",
    "skbprio",
    "taprio",
    "tbf",
];

/// Every discipline there is, with its parameters, their units, defaults and effects.
pub fn disciplines() -> &'static [Discipline] {
    DISCIPLINES
}

/// Reads what follows `tc qdisc add dev X root`, such as `netem rate 1mbit`.
///
/// # Errors
/// [`QdiscError`], for text above [`MAX_TEXT_BYTES`], an unknown discipline or word, one that
/// is not implemented, a missing or repeated value, or one out of range.
pub fn parse(text: &str) -> Result<Qdisc, QdiscError> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(QdiscError::TooLong {
            value: shortened(text),
            allowed: format!("at most {MAX_TEXT_BYTES} bytes"),
            hint: None,
        });
    }
    let mut words = text.split_ascii_whitespace();
    let Some(name) = words.next() else {
        return Err(QdiscError::Empty {
            value: String::new(),
            allowed: usages(),
            hint: None,
        });
    };
    let Some(discipline) = find(name) else {
        return Err(match after_root(text) {
            Some(rest) => QdiscError::UnknownDiscipline {
                value: shortened(text.trim_ascii()),
                allowed: format!("only what follows root: {}", usages()),
                hint: Some(shortened(rest)),
            },
            None => unknown_discipline(name),
        });
    };
    parse_words(discipline, &mut Words::new(discipline, words))
}

impl std::str::FromStr for Qdisc {
    type Err = QdiscError;

    fn from_str(text: &str) -> Result<Qdisc, QdiscError> {
        parse(text)
    }
}

impl Qdisc {
    /// The canonical JSON: no blanks, `kind` first, every parameter, units in the keys.
    pub fn to_json(&self) -> String {
        // Only a map with keys that are no strings, or a failing Serialize, could be an error.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the JSON that [`Qdisc::to_json`] writes, in any order of keys.
    ///
    /// # Errors
    /// [`QdiscError::BadJson`] for missing, unknown or repeated keys and wrong types;
    /// [`QdiscError::OutOfRange`] for values that tc text cannot express.
    pub fn from_json(json: &str) -> Result<Qdisc, QdiscError> {
        let bad_json = |reason: String| QdiscError::BadJson {
            value: shortened(json),
            reason,
            allowed: keys(),
            hint: None,
        };
        if json.len() > MAX_TEXT_BYTES {
            return Err(bad_json(format!("above {MAX_TEXT_BYTES} bytes")));
        }
        let qdisc: Qdisc = serde_json::from_str(json).map_err(|error| {
            // serde repeats the text as it is; a message must not drive a terminal.
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
            allowed: usages(),
            hint: None,
        };
    }
    let names = DISCIPLINES.iter().map(|discipline| discipline.name);
    let hint = nearest(name, names).map(str::to_owned);
    QdiscError::UnknownDiscipline {
        value,
        allowed: usages(),
        hint,
    }
}

/// The discipline in a whole command pasted from a shell, `tc qdisc add dev eth1 root ...`.
fn after_root(text: &str) -> Option<&str> {
    let (before, after) = text.split_once(" root ")?;
    let command = before.trim_ascii_start();
    let command = command.strip_prefix("sudo ").unwrap_or(command);
    let is_tc = command.starts_with("tc ") || command.starts_with("qdisc ");
    let rest = after.trim_ascii();
    let known = find(rest.split_ascii_whitespace().next()?).is_some();
    (is_tc && known).then_some(rest)
}

/// All usages, for errors.
fn usages() -> String {
    let usages: Vec<String> = DISCIPLINES.iter().map(Discipline::usage).collect();
    usages.join("; ")
}

/// The keys of every discipline's JSON, for errors.
fn keys() -> String {
    let of_one = |discipline: &Discipline| {
        let keys: Vec<&str> = discipline
            .parameters
            .iter()
            .map(|parameter| parameter.key)
            .collect();
        format!("kind {} with {}", discipline.name, keys.join(", "))
    };
    let all: Vec<String> = DISCIPLINES.iter().map(of_one).collect();
    all.join("; ")
}

#[cfg(test)]
mod tests;
