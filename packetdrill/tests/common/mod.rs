//! Scripts of our own, in which a packet that nobody expects is a failure at once.

#![allow(dead_code, reason = "each test file uses some of it")]

use dumbbell_packetdrill::{Options, Verdict, check};

pub fn verdict(text: &str) -> Verdict {
    let options = Options {
        is_exact: true,
        ..Options::default()
    };
    check(text, &options).unwrap_or_else(|error| panic!("{error}: {text}"))
}

pub fn assert_passes(text: &str) {
    assert_eq!(verdict(text), Verdict::Passed, "{text}");
}

pub fn assert_fails(text: &str) {
    let verdict = verdict(text);
    assert!(matches!(verdict, Verdict::Failed(_)), "{verdict:?}: {text}");
}

/// What a script needs that is not simulated.
pub fn missing(text: &str) -> Vec<String> {
    match verdict(text) {
        Verdict::Unsupported(missing) => missing.missing,
        other => panic!("{other:?}: {text}"),
    }
}
