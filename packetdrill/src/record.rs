//! Evaluates packetdrill's record of a script's assertions without Python.
//!
//! packetdrill itself compares packets while a script runs. For `%{ ... }%` it writes a Python
//! program: the fields of `tcp_info` as assignments, followed by the script's text with its line
//! number. This module parses that program as [`crate::language::conditions`] parses a script; it
//! is never executed.

use crate::language::conditions::{self, Statement};
use crate::language::script::Action;
use crate::language::{Place, SyntaxError};
use crate::plan::fields::constant;
use crate::verdict::{Difference, Failure, Missing, Verdict};
use std::collections::BTreeMap;

/// Begins the script's own text; the preceding line names its file.
const FILE: &str = "_file = '";
const LINE: &str = "_line = ";
/// Begins the fields; packetdrill's preamble precedes it.
const PREAMBLE_END: &str = "sys.excepthook = excepthook";

/// Evaluates the record `text`; the verdict reports the first assertion that fails.
pub fn judge(text: &str) -> Result<Verdict, SyntaxError> {
    let body = text.split_once(PREAMBLE_END).map_or(text, |(_, body)| body);
    let mut values: BTreeMap<String, f64> = BTreeMap::new();
    let mut lines = body.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.starts_with(FILE) {
            if let Some((name, value)) = field(line) {
                values.insert(name.to_owned(), value);
            }
            continue;
        }
        let number = lines.next().and_then(|line| line.strip_prefix(LINE));
        let place = Place {
            line: number.and_then(|number| number.parse().ok()).unwrap_or(0),
            column: 1,
        };
        // Up to the fields of the next snippet, which begin with the names of TCP states.
        let mut snippet = String::new();
        while let Some(line) = lines.next_if(|line| !begins_fields(line)) {
            snippet += line;
            snippet.push('\n');
        }
        let Action::Assert(statements) = conditions::read(&snippet, place)? else {
            let name = "Python other than assertions".to_owned();
            return Ok(Verdict::Unsupported(Missing::new(place, name)));
        };
        for statement in &statements {
            if let Some(difference) = differs(statement, &mut values) {
                return Ok(Verdict::Failed(Failure {
                    line: place.line,
                    column: place.column,
                    difference,
                }));
            }
        }
    }
    Ok(Verdict::Passed)
}

fn begins_fields(line: &str) -> bool {
    line.starts_with(FILE) || line.starts_with("TCP_ESTABLISHED = ")
}

/// `name = 12`
fn field(line: &str) -> Option<(&str, f64)> {
    let (name, value) = line.split_once(" = ")?;
    Some((name, value.parse::<u64>().ok()? as f64))
}

fn differs(statement: &Statement, values: &mut BTreeMap<String, f64>) -> Option<Difference> {
    let value_of = |name: &str| values.get(name).copied().or_else(|| constant(name));
    let value = statement.formula().value(&value_of).unwrap_or(f64::NAN);
    match statement {
        Statement::Assign(name, _) => {
            values.insert(name.clone(), value);
            None
        }
        Statement::Assert(_) if value != 0.0 && value.is_finite() => None,
        Statement::Assert(condition) => {
            let names = condition.formula.names().into_iter();
            let fields = names.filter(|name| constant(name).is_none());
            Some(Difference::Assertion {
                expected: condition.source.clone(),
                found: fields
                    .map(|name| (name.to_owned(), value_of(name).unwrap_or(f64::NAN)))
                    .collect(),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = "import sys\ndef excepthook(etype, value, tb):\n  pass\n\n\
        sys.excepthook = excepthook\n\n\
        TCP_ESTABLISHED = 1\ntcpi_snd_cwnd = 10\ntcpi_unacked = 3\n\n\
        _file = 'a.pkt'\n_line = 12\n assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd\nbefore = tcpi_unacked \n\n\
        TCP_ESTABLISHED = 1\ntcpi_snd_cwnd = 11\ntcpi_unacked = 4\n\n\
        _file = 'a.pkt'\n_line = 15\n assert (tcpi_unacked ==\n before + 1)\nassert CWND == 12\n\n";

    #[test]
    fn the_first_that_does_not_hold_is_told() {
        let good = RECORD.replace("CWND == 12", "tcpi_snd_cwnd == 11");
        assert_eq!(judge(&good).unwrap(), Verdict::Passed);
        let bad = RECORD.replace("CWND", "tcpi_snd_cwnd");
        let Verdict::Failed(failure) = judge(&bad).unwrap() else {
            panic!("it passes");
        };
        assert_eq!(failure.line, 15);
        assert_eq!(
            failure.difference,
            Difference::Assertion {
                expected: "tcpi_snd_cwnd == 12".into(),
                found: vec![("tcpi_snd_cwnd".into(), 11.0)],
            }
        );
        let unknown = judge(RECORD).unwrap();
        assert!(matches!(unknown, Verdict::Failed(_)), "{unknown:?}");
    }

    #[test]
    fn other_python_is_not_judged() {
        let other = RECORD.replace("assert CWND == 12", "import os");
        assert!(matches!(judge(&other), Ok(Verdict::Unsupported(_))));
    }
}
