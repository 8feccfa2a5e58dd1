//! The table of disciplines as data: errors, documentation and tests are made from it.

use super::QdiscError;
use crate::units::shortened;
use serde::Serialize;

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
}

/// A parameter of a discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Parameter {
    /// The word as typed.
    pub name: &'static str,
    /// Other words tc has for the same.
    pub aliases: &'static [&'static str],
    /// What follows the word, as tc's usage names it: `PACKETS`, `SIZE`, `TIME`, `RATE`.
    pub argument: &'static str,
    /// Its key in the JSON, with the unit.
    pub key: &'static str,
    /// The unit of the number in the JSON.
    pub unit: &'static str,
    /// Its value in the JSON when it is not said.
    pub default: u64,
    /// Where the default comes from.
    pub default_source: &'static str,
    /// What values it takes.
    pub range: &'static str,
    /// What it does to packets.
    pub effect: &'static str,
}

impl Discipline {
    /// As tc's usage: `netem [ limit PACKETS ] [ delay TIME ] [ rate RATE ]`.
    pub fn usage(&self) -> String {
        let mut usage = self.name.to_owned();
        for parameter in self.parameters {
            usage.push_str(&format!(" [ {} ]", parameter.usage()));
        }
        usage
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

impl Parameter {
    /// As tc's usage: `limit PACKETS`.
    pub fn usage(&self) -> String {
        format!("{} {}", self.name, self.argument)
    }
}
