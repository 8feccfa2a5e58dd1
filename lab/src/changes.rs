//! Changes to a resolved description by path.
//!
//! Values are in resolved units, with two exceptions: a `qdisc` or `police` may be tc text, and
//! `flows[NAME].count` is the number of equal flows, named `NAME-1`, `NAME-2` and so on as in a file with
//! `count`. A path into `flows[NAME]` applies to all of them.

use crate::path::{Step, steps};
use crate::problem::{Problem, shown};
use dumbbell_engine::run::check_simulator;
use dumbbell_engine::spec::Experiment;
use dumbbell_tc as tc;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Limit of `count` of a flow, as in a file.
const MOST_EQUAL_FLOWS: u64 = 10_000;
/// Limit of all flows together after a change of `count`: more take seconds to describe.
const MOST_FLOWS: usize = 10_000;
/// Keys omitted from a resolved description if their list is empty.
const LEFT_OUT_WHEN_EMPTY: &[&str] = &["cwnd_changes"];
/// Largest number of changes at once.
const MOST_CHANGES: usize = 1000;

/// A new value at a path.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Path in the description.
    pub path: String,
    /// The new value.
    pub value: Value,
}

impl Change {
    /// Notices about its tc text (`10Mbps`).
    pub fn notices(&self) -> Vec<String> {
        let Value::String(text) = &self.value else {
            return Vec::new();
        };
        let notices = match self.path.rsplit('.').next() {
            Some("qdisc") => tc::parse_qdisc_noting(text).map(|(_, notices)| notices),
            Some("police") => tc::parse_police_noting(text).map(|(_, notices)| notices),
            _ => return Vec::new(),
        };
        notices
            .unwrap_or_default()
            .iter()
            .map(ToString::to_string)
            .collect()
    }
}

/// A description as JSON and checked.
#[derive(Debug, Clone)]
pub struct ChangedExperiment {
    /// Its JSON form.
    pub resolved: Value,
    /// As the engine runs it.
    pub experiment: Experiment,
}

/// Applies changes to a description, in order.
///
/// # Errors
/// A path does not exist, or a value is not allowed there; the problem has the path of the change that caused
/// it.
pub fn changed(base: &Value, changes: &[Change]) -> Result<ChangedExperiment, Problem> {
    if changes.len() > MOST_CHANGES {
        let allowed = format!("at most {MOST_CHANGES} changes");
        return Err(Problem::new("", changes.len(), allowed));
    }
    let mut resolved = base.clone();
    for change in changes {
        apply(&mut resolved, change)?;
    }
    match checked(&resolved) {
        Ok(experiment) => Ok(ChangedExperiment {
            resolved,
            experiment,
        }),
        // The engine cannot say where a value of a wrong type is.
        Err(problem) if problem.path.is_empty() => Err(blamed(base, changes, problem)),
        Err(problem) => Err(problem),
    }
}

fn checked(resolved: &Value) -> Result<Experiment, Problem> {
    let experiment = Experiment::from_json(&resolved.to_string())?;
    check_simulator(&experiment)?;
    Ok(experiment)
}

/// Finds the first change after which the problem occurs.
fn blamed(base: &Value, changes: &[Change], problem: Problem) -> Problem {
    let mut resolved = base.clone();
    for change in changes {
        let is_applied = apply(&mut resolved, change).is_ok();
        if !is_applied || checked(&resolved).is_err() {
            let allowed = format!("another value: {}", problem.value);
            return Problem::new(&change.path, shown(&change.value), allowed);
        }
    }
    problem
}

fn apply(resolved: &mut Value, change: &Change) -> Result<(), Problem> {
    let path = steps(&change.path)?;
    match path.as_slice() {
        [Step::Key(list), Step::Named(name), Step::Key(key)]
            if list == "flows" && key == "count" =>
        {
            set_count(resolved, name, change)
        }
        [Step::Key(list), Step::Named(name), inside @ ..] if list == "flows" => {
            let flows = list_of(resolved, "flows", &change.path)?;
            let members = members(flows, name);
            if members.is_empty() {
                return Err(no_such(&change.path, name, flows));
            }
            for index in members {
                put(&mut flows[index], inside, change)?;
            }
            Ok(())
        }
        [Step::Key(key)] if key == "duration_ns" => set_duration(resolved, change),
        path => put(resolved, path, change),
    }
}

/// A flow without its own `stop` runs to the end of the run.
fn set_duration(resolved: &mut Value, change: &Change) -> Result<(), Problem> {
    let before = resolved["duration_ns"].clone();
    for flow in list_of(resolved, "flows", &change.path)? {
        if flow["stop_ns"] == before {
            put(flow, &[Step::Key("stop_ns".into())], change)?;
        }
    }
    put(resolved, &[Step::Key("duration_ns".into())], change)
}

fn list_of<'a>(value: &'a mut Value, key: &str, path: &str) -> Result<&'a mut Vec<Value>, Problem> {
    let list = value.get_mut(key).and_then(Value::as_array_mut);
    list.ok_or_else(|| Problem::new(path, key, "a description with such a list"))
}

/// The number after a name: `bulk-7` of `bulk` is 7.
pub fn number_of(name: &str, of: &str) -> Option<u64> {
    let digits = name.strip_prefix(of)?.strip_prefix('-')?;
    let number: u64 = digits.parse().ok()?;
    (number > 0 && number.to_string() == digits).then_some(number)
}

fn name_of(flow: &Value) -> &str {
    flow["name"].as_str().unwrap_or_default()
}

/// Indices of the flow with that name or, if there is none, of those with a number after it.
fn members(flows: &[Value], name: &str) -> Vec<usize> {
    let places = |is_one: &dyn Fn(&str) -> bool| -> Vec<usize> {
        let named = flows.iter().enumerate();
        let named = named.filter(|(_, flow)| is_one(name_of(flow)));
        named.map(|(index, _)| index).collect()
    };
    let alone = places(&|found| found == name);
    match alone.is_empty() {
        true => places(&|found| number_of(found, name).is_some()),
        false => alone,
    }
}

fn no_such(path: &str, name: &str, flows: &[Value]) -> Problem {
    let names: Vec<_> = flows.iter().map(name_of).take(20).collect();
    Problem::new(path, name, format!("one of {}", names.join(", ")))
}

fn set_count(resolved: &mut Value, name: &str, change: &Change) -> Result<(), Problem> {
    let count = change.value.as_u64().filter(|n| *n <= MOST_EQUAL_FLOWS);
    let count = count.ok_or_else(|| {
        let allowed = format!("a whole number from 0 to {MOST_EQUAL_FLOWS}");
        Problem::new(&change.path, shown(&change.value), allowed)
    })?;
    let flows = list_of(resolved, "flows", &change.path)?;
    let members = members(flows, name);
    let Some(&first) = members.first() else {
        return Err(no_such(&change.path, name, flows));
    };
    if flows.len() - members.len() + count as usize > MOST_FLOWS {
        let allowed = format!("at most {MOST_FLOWS} flows together");
        return Err(Problem::new(&change.path, count, allowed));
    }
    let alike = flows[first].clone();
    let equal = (1..=count).map(|number| {
        let mut flow = alike.clone();
        flow["name"] = format!("{name}-{number}").into();
        flow
    });
    let equal: Vec<_> = equal.collect();
    let mut next = 0;
    flows.retain(|_| {
        next += 1;
        members.binary_search(&(next - 1)).is_err()
    });
    flows.splice(first..first, equal);
    Ok(())
}

fn put(value: &mut Value, path: &[Step], change: &Change) -> Result<(), Problem> {
    let Some((step, rest)) = path.split_first() else {
        let allowed = "a path that leads to one value";
        return Err(Problem::new(&change.path, &change.path, allowed));
    };
    let nowhere = |allowed: String| Problem::new(&change.path, shown(&change.value), allowed);
    let slot = match (step, value) {
        (Step::Key(key), Value::Object(table)) if is_left_out(key, rest) => {
            match change.value.as_array().is_some_and(Vec::is_empty) {
                true => table.remove(key),
                false => table.insert(key.clone(), change.value.clone()),
            };
            return Ok(());
        }
        (Step::Key(key), Value::Object(table)) => {
            let known: Vec<_> = table.keys().cloned().collect();
            let slot = table.get_mut(key);
            slot.ok_or_else(|| nowhere(format!("there is no {key}; keys: {}", known.join(", "))))?
        }
        (Step::Place(place), Value::Array(list)) => {
            let many = list.len();
            let slot = list.get_mut(*place);
            slot.ok_or_else(|| nowhere(format!("there are {many} of them, counted from 0")))?
        }
        (Step::Named(name), Value::Array(list)) => {
            let slot = list.iter_mut().find(|each| name_of(each) == name);
            slot.ok_or_else(|| nowhere(format!("there is none called {name}")))?
        }
        _ => return Err(nowhere("the path leads nowhere".into())),
    };
    match (rest, step) {
        ([], Step::Key(key)) => {
            *slot = read(key, change)?;
            Ok(())
        }
        _ => put(slot, rest, change),
    }
}

fn is_left_out(key: &str, rest: &[Step]) -> bool {
    rest.is_empty() && LEFT_OUT_WHEN_EMPTY.contains(&key)
}

/// The value for a key; tc text is parsed.
fn read(key: &str, change: &Change) -> Result<Value, Problem> {
    let refused = |error| Problem::of_qdisc(&change.path, &error);
    let text = match (key, &change.value) {
        ("qdisc", Value::String(text)) => tc::parse_qdisc(text).map_err(refused)?.to_json(),
        ("police", Value::String(text)) if text == "none" => return Ok(Value::Null),
        ("police", Value::String(text)) => tc::parse_police(text).map_err(refused)?.to_json(),
        (_, value) => return Ok(value.clone()),
    };
    Ok(serde_json::from_str(&text).unwrap_or_else(|_| Value::Object(Map::new())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_number_as_it_is_written_makes_a_member() {
        assert_eq!(number_of("bulk-7", "bulk"), Some(7));
        for name in [
            "bulk", "bulk-", "bulk-07", "bulk-0", "bulk-+1", "bulk-a", "bul-1",
        ] {
            assert_eq!(number_of(name, "bulk"), None, "{name}");
        }
    }
}
