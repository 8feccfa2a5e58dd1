//! Packet scripts.

use crate::errors;
use dumbbell_engine::spec::tcp::Profile;
use dumbbell_packetdrill::fuzz::{Case, Controller, PlayedScript};
use dumbbell_packetdrill::{Options, SyntaxError, Verdict, check, record};
use pyo3::prelude::*;
use serde_json::{Value, json};

#[pyfunction]
#[pyo3(signature = (text, profile, gso_max_segs = 1))]
fn check_packet_script(
    py: Python<'_>,
    text: &str,
    profile: &str,
    gso_max_segs: u32,
) -> PyResult<String> {
    let profile = match profile {
        "linux-6.1" => Profile::Linux61,
        "rfc" => Profile::Rfc,
        other => {
            let allowed = "linux-6.1 or rfc";
            return Err(errors::spec_invalid("profile", other, allowed, None));
        }
    };
    let options = Options {
        profile,
        gso_max_segs: gso_max_segs.max(1),
        ..Options::default()
    };
    let verdict = py.detach(|| check(text, &options));
    Ok(as_json(verdict))
}

#[pyfunction]
#[pyo3(signature = (record))]
fn judge_packet_script_record(py: Python<'_>, record: &str) -> String {
    as_json(py.detach(|| record::judge(record)))
}

#[pyfunction]
#[pyo3(signature = (seed, number, gso_max_segs, controller = None))]
fn fuzz_packet_script(
    py: Python<'_>,
    seed: u64,
    number: u64,
    gso_max_segs: u32,
    controller: Option<&str>,
) -> PyResult<String> {
    let mut case = Case::drawn(seed, number).with_gso_max_segs(gso_max_segs);
    if let Some(name) = controller {
        let controller = Controller::try_from(name.to_owned()).map_err(|_| {
            let allowed = format!("one of {}", fuzzed_controllers().join(", "));
            errors::spec_invalid("controller", name, &allowed, None)
        })?;
        case = case.with_controller(controller);
    }
    Ok(py.detach(|| played(&case)).to_string())
}

#[pyfunction]
fn fuzzed_controllers() -> Vec<&'static str> {
    Controller::all().map(Controller::name).collect()
}

#[pyfunction]
#[pyo3(signature = (case))]
fn shorter_packet_scripts(py: Python<'_>, case: &str) -> PyResult<String> {
    let case = case_of(case)?;
    Ok(py.detach(|| all_played(&case.shorter())).to_string())
}

#[pyfunction]
#[pyo3(signature = (case))]
fn packet_scripts_of_each_phase(py: Python<'_>, case: &str) -> PyResult<String> {
    let case = case_of(case)?;
    Ok(py
        .detach(|| all_played(&case.with_each_phase()))
        .to_string())
}

fn case_of(text: &str) -> PyResult<Case> {
    serde_json::from_str(text).map_err(|error| {
        let allowed = "a case as fuzz_packet_script gives it";
        errors::spec_invalid("case", &error.to_string(), allowed, None)
    })
}

fn all_played(cases: &[Case]) -> Value {
    cases.iter().map(played).collect()
}

fn played(case: &Case) -> Value {
    let PlayedScript {
        script,
        near_timer_line,
        sent_pkts,
    } = case.played();
    json!({
        "case": json!(case).to_string(),
        "script": script,
        "near_timer_line": near_timer_line,
        "sent_pkts": sent_pkts,
    })
}

fn as_json(checked: Result<Verdict, SyntaxError>) -> String {
    match checked {
        Ok(verdict) => json!(verdict).to_string(),
        Err(error) => json!({
            "verdict": "malformed",
            "line": error.place.line,
            "column": error.place.column,
            "mistake": error.mistake.to_string(),
        })
        .to_string(),
    }
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check_packet_script, module)?)?;
    module.add_function(wrap_pyfunction!(judge_packet_script_record, module)?)?;
    module.add_function(wrap_pyfunction!(fuzz_packet_script, module)?)?;
    module.add_function(wrap_pyfunction!(fuzzed_controllers, module)?)?;
    module.add_function(wrap_pyfunction!(shorter_packet_scripts, module)?)?;
    module.add_function(wrap_pyfunction!(packet_scripts_of_each_phase, module)?)
}
