//! Resolved descriptions, and tc's words.

use dumbbell_spec::Experiment;
use dumbbell_tc::{Police, Qdisc, parse_police, parse_qdisc, parse_qdisc_noting, script};
use dumbbell_tc::{parse_rate_bps, parse_size_bytes, parse_time_ns};

/// Longest error message: a few lines of a terminal, for any input.
const MAX_MESSAGE_BYTES: usize = 4096;

fn check_message(error: &impl ToString) {
    let message = error.to_string();
    assert!(!message.is_empty());
    assert!(
        message.len() <= MAX_MESSAGE_BYTES,
        "{} bytes of message",
        message.len()
    );
}

/// A description is refused with a path, or survives serialization and parsing unchanged.
pub(crate) fn description(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else {
        return;
    };
    match Experiment::from_json(text) {
        Ok(experiment) => {
            let written = serde_json::to_string(&experiment).expect("it can be written");
            let again = Experiment::from_json(&written).expect("what we write we read");
            assert_eq!(experiment, again);
            // Who lists queues and routes sees as many as there are.
            assert_eq!(
                experiment.queue_names().len(),
                2 * experiment.links.len(),
                "queues"
            );
        }
        Err(error) => check_message(&error),
    }
}

/// A discipline, policer, rate, size or time is refused with a message, or survives formatting and parsing,
/// as text and as JSON.
pub(crate) fn tc(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else {
        return;
    };
    match parse_qdisc(text) {
        Ok(qdisc) => {
            qdisc.check().expect("what is read can be said");
            assert_eq!(parse_qdisc(&qdisc.to_string()), Ok(qdisc.clone()));
            assert_eq!(Qdisc::from_json(&qdisc.to_json()), Ok(qdisc));
            assert!(parse_qdisc_noting(text).is_ok());
        }
        Err(error) => check_message(&error),
    }
    match parse_police(text) {
        Ok(police) => {
            assert_eq!(parse_police(&police.to_string()), Ok(police));
            assert_eq!(Police::from_json(&police.to_json()), Ok(police));
        }
        Err(error) => check_message(&error),
    }
    if let Err(error) = Qdisc::from_json(text) {
        check_message(&error);
    }
    if let Err(error) = script::split(text) {
        check_message(&error);
    }
    let refusals = [
        parse_rate_bps(text).err(),
        parse_size_bytes(text).err(),
        parse_time_ns(text).err(),
    ];
    for error in refusals.into_iter().flatten() {
        check_message(&error);
    }
}
