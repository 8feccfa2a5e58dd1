//! The table of disciplines as data: source of error messages, documentation and tests.

use super::QdiscError;
use crate::reason::Reason;
use crate::units::shortened;
use serde::Serialize;

/// [`Parameter::default_source`] of a required parameter. If another parameter can replace it, the text is
/// `required, or OTHER`, and that of the other begins with `in place of`.
pub const REQUIRED: &str = "required";

/// Prefix of [`Parameter::default_source`] for a default derived from other parameters.
/// [`Parameter::default`] is then the value in [`Discipline::example`].
pub const COMPUTED: &str = "computed";

/// A queue discipline of tc and what is implemented of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Discipline {
    /// Its name after `root`, and `kind` in JSON.
    pub name: &'static str,
    /// A one-sentence summary.
    pub summary: &'static str,
    /// Source of its words and defaults.
    pub source: &'static str,
    /// Its parameters, which may be given in any order.
    pub parameters: &'static [Parameter],
    /// Words of tc that are not implemented here.
    pub not_implemented: &'static [&'static str],
    /// Parameters that tc accepts only once. Of others the last one given counts.
    pub once: &'static [&'static str],
    /// Words that tc accepts abbreviated, in the order in which it tries them.
    pub abbreviated: &'static [&'static str],
}

/// A parameter of a discipline.
///
/// A flag has no argument; its aliases switch it off (`ecn`, `noecn`). Each further argument of a word is a
/// row of its own, whose name is what precedes it (`delay TIME`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// The word as typed.
    pub name: &'static str,
    /// Other words of tc for the same parameter.
    pub aliases: &'static [&'static str],
    /// Its argument as tc's usage names it: `PACKETS`, `SIZE`, `TIME`, `RATE`; empty for a flag.
    pub argument: &'static str,
    /// Its key in the JSON, with the unit.
    pub key: &'static str,
    /// The unit of the number in the JSON, or another type (`flag`, `word`).
    pub unit: &'static str,
    /// Its value in the JSON when not given. For a required parameter, a number for examples if it is not 0.
    pub default: Value,
    /// Where the default comes from.
    pub default_source: &'static str,
    /// The values that it accepts.
    pub range: &'static str,
    /// Bounds of that range, for a number.
    pub bounds: Bounds,
    /// What it does to packets.
    pub effect: &'static str,
}

/// The smallest and the largest accepted number, both inclusive, in the unit of the JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Bounds {
    /// `None` if the parameter is not a number.
    pub least: Option<i64>,
    /// `None` if other parameters determine it, or nothing does.
    pub most: Option<i64>,
}

impl Bounds {
    /// For a flag, a word or a class.
    pub const NONE: Self = Self {
        least: None,
        most: None,
    };

    pub(crate) const fn at_least(least: i64) -> Self {
        Self {
            least: Some(least),
            most: None,
        }
    }

    pub(crate) const fn within(least: i64, most: i64) -> Self {
        Self {
            least: Some(least),
            most: Some(most),
        }
    }
}

/// A value in the JSON of a discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A number in the parameter's unit.
    Number(u64),
    /// Whether a flag is set.
    Flag(bool),
    /// One of several words.
    Word(&'static str),
    /// A list.
    Numbers(&'static [u64]),
    /// `null`: not present.
    Nothing,
}

impl Value {
    /// The number; 0 if it is not a number.
    pub(super) const fn number(self) -> u64 {
        match self {
            Value::Number(number) => number,
            _ => 0,
        }
    }
}

impl Discipline {
    /// As tc's usage: `netem [ limit PACKETS ] [ delay TIME ] [ rate RATE ]`.
    pub fn usage(&self) -> String {
        let mut usage = self.name.to_owned();
        for parameter in self.words() {
            let alternative = self.alternative_to(parameter);
            let text = match alternative {
                Some(other) if parameter.is_required() => {
                    format!(
                        " {{ {} | {} }}",
                        self.usage_of(parameter),
                        self.usage_of(other)
                    )
                }
                Some(_) => continue, // shown with its alternative
                None if parameter.is_required() => format!(" {}", self.usage_of(parameter)),
                None => format!(" [ {} ]", self.usage_of(parameter)),
            };
            usage.push_str(&text);
        }
        usage
    }

    /// The parameters that have a word of their own.
    pub(super) fn words(&self) -> impl Iterator<Item = &'static Parameter> {
        self.parameters.iter().filter(|each| !each.is_further())
    }

    /// Usage of one parameter with its further arguments: `delay TIME [ JITTER [ CORRELATION ] ]`.
    pub fn usage_of(&self, parameter: &Parameter) -> String {
        let usage = parameter.usage();
        let further = |each: &&Parameter| each.is_further() && each.name == usage;
        match self.parameters.iter().find(further) {
            Some(further) => {
                let rest = self.usage_of(further);
                format!("{usage} [{} ]", &rest[usage.len()..])
            }
            None => usage,
        }
    }

    /// The shortest accepted text: the name and the required parameters.
    pub fn example(&self) -> String {
        let required = self.parameters.iter().filter(|each| each.is_required());
        let words = required.map(|each| {
            let value = match (each.default, each.argument) {
                (Value::Number(number @ 1..), _) => number.to_string(),
                (_, "RATE") => "1mbit".to_owned(),
                (_, "SIZE") => "10kb".to_owned(),
                (_, "TIME") => "1ms".to_owned(),
                _ => "1".to_owned(),
            };
            format!(" {} {value}", each.name)
        });
        self.name.to_owned() + &words.collect::<String>()
    }

    /// The [`Discipline::example`] with a small limit in packets, where there is one. Tests that draw every
    /// discipline run it.
    pub fn short_example(&self) -> String {
        let has_limit = { self.parameters.iter() }.any(|each| each.key == "limit_packets");
        self.example() + if has_limit { " limit 5" } else { "" }
    }

    /// The parameter that can be given instead of this one, if any.
    pub(super) fn alternative_to(&self, parameter: &Parameter) -> Option<&'static Parameter> {
        let source = parameter.default_source;
        let name = source
            .strip_prefix(REQUIRED)
            .and_then(|rest| rest.strip_prefix(", or "))
            .or_else(|| source.strip_prefix("in place of "))?;
        self.parameters.iter().find(|other| other.name == name)
    }

    /// Refuses the first value that is out of its parameter's range.
    pub(super) fn require_all<'a, T: ToString>(
        &self,
        values: impl IntoIterator<Item = (bool, &'a Parameter, T)>,
    ) -> Result<(), QdiscError> {
        match values.into_iter().find(|(is_fine, ..)| !is_fine) {
            Some((_, parameter, value)) => Err(self.out_of_range(parameter, value)),
            None => Ok(()),
        }
    }

    /// The error for a value outside a parameter's range.
    pub(super) fn out_of_range(&self, parameter: &Parameter, value: impl ToString) -> QdiscError {
        QdiscError::OutOfRange {
            discipline: self.name,
            parameter: parameter.name,
            value: shortened(&value.to_string()),
            allowed: parameter.range.to_owned(),
            hint: None,
        }
    }
}

impl Discipline {
    /// The error for a value that tc accepts but would change.
    pub(super) fn not_taken(
        &self,
        parameter: &Parameter,
        value: impl ToString,
        reason: Reason,
    ) -> QdiscError {
        QdiscError::NotTaken {
            discipline: self.name,
            parameter: parameter.name,
            value: shortened(&value.to_string()),
            reason,
            allowed: parameter.range.to_owned(),
            hint: None,
        }
    }
}

impl Parameter {
    /// A flag that is off by default.
    pub(super) const fn flag(
        name: &'static str,
        default_source: &'static str,
        aliases: &'static [&'static str],
        effect: &'static str,
    ) -> Parameter {
        Parameter {
            name,
            aliases,
            argument: "",
            key: name,
            unit: "flag",
            default: Value::Flag(false),
            default_source,
            range: "a word without value",
            bounds: Bounds::NONE,
            effect,
        }
    }

    /// Usage of one parameter: `limit PACKETS`, or `ecn | noecn` for a flag.
    pub fn usage(&self) -> String {
        if self.is_flag() {
            let words = std::iter::once(self.name).chain(self.aliases.iter().copied());
            return words.collect::<Vec<_>>().join(" | ");
        }
        format!("{} {}", self.name, self.argument)
    }

    /// Whether the default is derived from other parameters.
    pub fn is_computed(&self) -> bool {
        self.default_source.starts_with(COMPUTED)
    }

    /// Whether it is a flag, without argument.
    pub fn is_flag(&self) -> bool {
        self.argument.is_empty()
    }

    /// Whether it is a further argument of another word.
    pub fn is_further(&self) -> bool {
        self.name.contains(' ')
    }

    /// Whether this word, its name or an alias, sets the flag.
    pub(super) fn is_set_by(&self, word: &str) -> bool {
        word == self.name
    }

    /// Whether it or its alternative must be given.
    pub fn is_required(&self) -> bool {
        self.default_source.starts_with(REQUIRED)
    }
}
