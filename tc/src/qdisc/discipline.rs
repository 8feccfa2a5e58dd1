//! The table of disciplines as data: errors, documentation and tests are made from it.

use super::QdiscError;
use crate::reason::Reason;
use crate::units::shortened;
use serde::Serialize;

/// The [`Parameter::default_source`] of one that must be given. One that may be replaced by
/// another says `required, or OTHER`, and the other `in place of` it.
pub const REQUIRED: &str = "required";

/// How the [`Parameter::default_source`] of one begins whose default follows from others. Its
/// [`Parameter::default`] is that of [`Discipline::example`].
pub const COMPUTED: &str = "computed";

/// A queue discipline as tc names it, and what is implemented of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Discipline {
    /// The word after `root`, and `kind` in JSON.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// Where its words and defaults were taken from.
    pub source: &'static str,
    /// What may follow its name, in any order.
    pub parameters: &'static [Parameter],
    /// Words tc has for it that are not implemented here.
    pub not_implemented: &'static [&'static str],
    /// Names of parameters that tc takes once; of others the last stands.
    pub once: &'static [&'static str],
    /// Words that tc knows by their beginning too, in the order in which it tries them.
    pub abbreviated: &'static [&'static str],
}

/// A parameter of a discipline.
///
/// A flag is one without argument; its aliases switch it off (`ecn`, `noecn`). A further argument of
/// a word is a row of its own, whose name is what stands before it (`delay TIME`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// The word as typed.
    pub name: &'static str,
    /// Other words tc has for the same.
    pub aliases: &'static [&'static str],
    /// What follows the word, as tc's usage names it: `PACKETS`, `SIZE`, `TIME`, `RATE`; empty
    /// for a flag.
    pub argument: &'static str,
    /// Its key in the JSON, with the unit.
    pub key: &'static str,
    /// The unit of the number in the JSON; what else there is (`flag`, `word`) if it is none.
    pub unit: &'static str,
    /// Its value in the JSON when it is not said. Of one that is required, a number for examples
    /// if it is not 0.
    pub default: Value,
    /// Where the default comes from.
    pub default_source: &'static str,
    /// What values it takes.
    pub range: &'static str,
    /// Of a number, the ends of that range.
    pub bounds: Bounds,
    /// What it does to packets.
    pub effect: &'static str,
}

/// The least and the greatest number that a parameter takes, both included, in the unit of the JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Bounds {
    /// `None` of what is no number.
    pub least: Option<i64>,
    /// `None` where other parameters decide it, or nothing does.
    pub most: Option<i64>,
}

impl Bounds {
    /// Of a flag, a word or a class.
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

/// A value as it stands in the JSON of a discipline.
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
    /// `null`: nothing there.
    Nothing,
}

impl Value {
    /// The number; 0 where it is none.
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
                Some(_) => continue, // said with the other
                None if parameter.is_required() => format!(" {}", self.usage_of(parameter)),
                None => format!(" [ {} ]", self.usage_of(parameter)),
            };
            usage.push_str(&text);
        }
        usage
    }

    /// The parameters that begin with a word of their own.
    pub(super) fn words(&self) -> impl Iterator<Item = &'static Parameter> {
        self.parameters.iter().filter(|each| !each.is_further())
    }

    /// As tc's usage, with what may follow its argument: `delay TIME [ JITTER [ CORRELATION ] ]`.
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

    /// The shortest text that is accepted: its name and what is required.
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

    /// The [`Discipline::example`] with room for few packets, where it has a limit in packets: what tests
    /// run that draw every discipline of the table.
    pub fn short_example(&self) -> String {
        let has_limit = { self.parameters.iter() }.any(|each| each.key == "limit_packets");
        self.example() + if has_limit { " limit 5" } else { "" }
    }

    /// The parameter that excludes this one and takes its place, if there is one.
    pub(super) fn alternative_to(&self, parameter: &Parameter) -> Option<&'static Parameter> {
        let source = parameter.default_source;
        let name = source
            .strip_prefix(REQUIRED)
            .and_then(|rest| rest.strip_prefix(", or "))
            .or_else(|| source.strip_prefix("in place of "))?;
        self.parameters.iter().find(|other| other.name == name)
    }

    /// Refuses the first value that its parameter does not take.
    pub(super) fn require_all<'a, T: ToString>(
        &self,
        values: impl IntoIterator<Item = (bool, &'a Parameter, T)>,
    ) -> Result<(), QdiscError> {
        match values.into_iter().find(|(is_fine, ..)| !is_fine) {
            Some((_, parameter, value)) => Err(self.out_of_range(parameter, value)),
            None => Ok(()),
        }
    }

    /// The error for a value `parameter` does not take.
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
    /// The error for a value that tc takes and that would be another.
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
    /// One without argument that is off when it is not said.
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

    /// As tc's usage: `limit PACKETS`, or `ecn | noecn` for a flag.
    pub fn usage(&self) -> String {
        if self.is_flag() {
            let words = std::iter::once(self.name).chain(self.aliases.iter().copied());
            return words.collect::<Vec<_>>().join(" | ");
        }
        format!("{} {}", self.name, self.argument)
    }

    /// Whether the value follows from others when it is not said.
    pub fn is_computed(&self) -> bool {
        self.default_source.starts_with(COMPUTED)
    }

    /// Whether the word alone says everything.
    pub fn is_flag(&self) -> bool {
        self.argument.is_empty()
    }

    /// Whether it has no word of its own, and may follow another argument.
    pub fn is_further(&self) -> bool {
        self.name.contains(' ')
    }

    /// Whether the flag is set by this word, its name or an alias.
    pub(super) fn is_set_by(&self, word: &str) -> bool {
        word == self.name
    }

    /// Whether it, or what may stand in its place, must be given.
    pub fn is_required(&self) -> bool {
        self.default_source.starts_with(REQUIRED)
    }
}
