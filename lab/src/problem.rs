//! An invalid request, with the details that a page displays next to a field.

use dumbbell_engine::EngineError;
use dumbbell_engine::spec::SpecError;
use dumbbell_tc::QdiscError;
use serde::Serialize;
use serde_json::Value;

/// Maximum length of a displayed value, in characters.
const MOST_SHOWN: usize = 120;
/// Maximum length of the sentence about permitted values: it may contain names from the
/// description.
const MOST_ALLOWED: usize = 1000;

/// Why a request was rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Path in the description; empty for the whole description.
    pub path: String,
    /// The rejected value.
    pub value: String,
    /// The permitted values, or the remedy.
    pub allowed: String,
    /// The nearest permitted word.
    pub hint: Option<String>,
    /// The reason, if tc would accept the value.
    pub reason: Option<String>,
}

impl Problem {
    /// A problem at a path, with the permitted values.
    pub fn new(path: impl Into<String>, value: impl ToString, allowed: impl Into<String>) -> Self {
        Problem {
            path: path.into(),
            value: shortened(&value.to_string(), MOST_SHOWN),
            allowed: shortened(&allowed.into(), MOST_ALLOWED),
            hint: None,
            reason: None,
        }
    }

    /// An error of the tc parser.
    pub fn of_qdisc(path: &str, error: &QdiscError) -> Problem {
        Problem {
            hint: error.hint().map(str::to_owned),
            reason: error.reason().map(|reason| reason.to_string()),
            ..Problem::new(path, error.value(), error.allowed())
        }
    }

    /// JSON text, `{"problem": {...}}`.
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

/// Text of a value for display.
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
