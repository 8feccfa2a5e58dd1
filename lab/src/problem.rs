//! What is wrong with a request, with the parts that a page shows beside a field.

use dumbbell_engine::EngineError;
use dumbbell_engine::spec::SpecError;
use dumbbell_tc::QdiscError;
use serde::Serialize;
use serde_json::Value;

/// Longest value that is shown again, letters.
const MOST_SHOWN: usize = 120;
/// Longest sentence about what is allowed: names in it come from the description.
const MOST_ALLOWED: usize = 1000;

/// Why something was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where, as a path of the description; empty for the whole of it.
    pub path: String,
    /// What was found there.
    pub value: String,
    /// What is allowed, or what to do.
    pub allowed: String,
    /// The nearest word that is allowed.
    pub hint: Option<String>,
    /// Why, where tc would take it.
    pub reason: Option<String>,
}

impl Problem {
    /// At a path, with what is allowed there.
    pub fn new(path: impl Into<String>, value: impl ToString, allowed: impl Into<String>) -> Self {
        Problem {
            path: path.into(),
            value: shortened(&value.to_string(), MOST_SHOWN),
            allowed: shortened(&allowed.into(), MOST_ALLOWED),
            hint: None,
            reason: None,
        }
    }

    /// What the grammar of tc says of a text.
    pub fn of_qdisc(path: &str, error: &QdiscError) -> Problem {
        Problem {
            hint: error.hint().map(str::to_owned),
            reason: error.reason().map(|reason| reason.to_string()),
            ..Problem::new(path, error.value(), error.allowed())
        }
    }

    /// As JSON, `{"problem": {...}}`.
    pub fn to_json(&self) -> String {
        serde_json::json!({ "problem": self }).to_string()
    }
}

impl From<SpecError> for Problem {
    fn from(error: SpecError) -> Problem {
        Problem::new(error.path, error.value, error.allowed)
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Problem {
        match error {
            EngineError::Spec(error) => error.into(),
            other => Problem {
                reason: Some(other.to_string()),
                ..Problem::new("", "the run", "a shorter run, less traffic or lower rates")
            },
        }
    }
}

/// A value as it is shown to a person.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => shortened(text, MOST_SHOWN),
        other => shortened(&other.to_string(), MOST_SHOWN),
    }
}

fn shortened(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
