//! Units, tc text and the names that can stand in a description.

use crate::errors;
use dumbbell_tc as tc;
use pyo3::prelude::*;

/// The handle of the root where none is asked for.
const FIRST_HANDLE: u16 = 1;

fn unit_error(error: tc::UnitError) -> PyErr {
    errors::unit(
        error.to_string(),
        errors::Parts {
            value: error.value(),
            allowed: error.allowed(),
            hint: error.hint(),
            reason: error.reason().map(|reason| reason.to_string()),
        },
    )
}

fn qdisc_error(error: tc::QdiscError) -> PyErr {
    errors::qdisc(
        error.to_string(),
        errors::Parts {
            value: error.value(),
            allowed: error.allowed(),
            hint: error.hint(),
            reason: error.reason().map(|reason| reason.to_string()),
        },
    )
}

#[pyfunction]
fn rate_notices(text: &str) -> String {
    let notice = tc::rate_notice(text);
    tc::Notice::list_json(notice.as_slice())
}

#[pyfunction]
fn qdisc_notices(text: &str) -> PyResult<String> {
    let (_, notices) = tc::parse_qdisc_noting(text).map_err(qdisc_error)?;
    Ok(tc::Notice::list_json(&notices))
}

#[pyfunction]
fn police_notices(text: &str) -> PyResult<String> {
    let (_, notices) = tc::parse_police_noting(text).map_err(qdisc_error)?;
    Ok(tc::Notice::list_json(&notices))
}

#[pyfunction]
fn parse_size_bytes(text: &str) -> PyResult<u64> {
    tc::parse_size_bytes(text).map_err(unit_error)
}

#[pyfunction]
fn parse_rate_bps(text: &str) -> PyResult<u64> {
    tc::parse_rate_bps(text).map_err(unit_error)
}

#[pyfunction]
fn parse_time_ns(text: &str) -> PyResult<u64> {
    tc::parse_time_ns(text).map_err(unit_error)
}

#[pyfunction]
fn format_size(size_bytes: u64) -> String {
    tc::format_size(size_bytes)
}

#[pyfunction]
fn format_rate(rate_bps: u64) -> String {
    tc::format_rate(rate_bps)
}

#[pyfunction]
fn format_time(time_ns: u64) -> String {
    tc::format_time(time_ns)
}

#[pyfunction]
fn parse_qdisc(text: &str) -> PyResult<String> {
    let qdisc = tc::parse_qdisc(text).map_err(qdisc_error)?;
    Ok(qdisc.to_json())
}

#[pyfunction]
fn split_script(text: &str) -> PyResult<Option<String>> {
    let script = tc::script::split(text).map_err(qdisc_error)?;
    // Texts alone, of which serde makes no error.
    Ok(script.map(|script| serde_json::to_string(&script).unwrap_or_default()))
}

#[pyfunction]
fn render_qdisc(qdisc_json: &str) -> PyResult<String> {
    let qdisc = tc::Qdisc::from_json(qdisc_json).map_err(qdisc_error)?;
    Ok(qdisc.to_string())
}

#[pyfunction]
fn shaped_bps(qdisc_json: &str) -> PyResult<u64> {
    let qdisc = tc::Qdisc::from_json(qdisc_json).map_err(qdisc_error)?;
    Ok(qdisc.shaped_bps())
}

#[pyfunction]
fn parse_police(text: &str) -> PyResult<String> {
    let police = tc::parse_police(text).map_err(qdisc_error)?;
    Ok(police.to_json())
}

#[pyfunction]
fn render_police(police_json: &str) -> PyResult<String> {
    let police = tc::Police::from_json(police_json).map_err(qdisc_error)?;
    Ok(police.to_string())
}

#[pyfunction]
fn disciplines() -> String {
    tc::disciplines_json()
}

#[pyfunction]
fn police_table() -> String {
    tc::police_table_json()
}

#[pyfunction]
fn shown_size(size_bytes: u64) -> String {
    tc::units::shown::size(size_bytes)
}

#[pyfunction]
fn shown_rate(bytes_per_s: u64) -> String {
    tc::units::shown::rate(bytes_per_s)
}

#[pyfunction]
fn shown_time(time_ns: u64) -> String {
    tc::units::shown::time_ns(time_ns)
}

#[pyfunction]
fn congestion_controllers() -> Vec<&'static str> {
    dumbbell_engine::cca::NAMES.to_vec()
}

#[pyfunction]
fn sources() -> String {
    dumbbell_engine::spec::source::forms_json()
}

#[pyfunction]
fn description_tables() -> String {
    dumbbell_engine::spec::key::tables_json()
}

#[pyfunction]
fn tcp_settings() -> String {
    dumbbell_engine::spec::tcp::settings_json()
}

#[pyfunction]
#[pyo3(signature = (qdisc_json, *, device, parent=None, handle=1, options=""))]
fn qdisc_lines(
    qdisc_json: &str,
    device: &str,
    parent: Option<&str>,
    handle: u16,
    options: &str,
) -> PyResult<Vec<String>> {
    let qdisc = tc::Qdisc::from_json(qdisc_json).map_err(qdisc_error)?;
    let attachment = tc::qdisc::Attachment {
        device: Some(device),
        parent,
        handle,
        options,
    };
    Ok(qdisc.lines(&attachment))
}

#[pyfunction]
#[pyo3(signature = (qdisc_json, *, mtu_bytes))]
fn shown_qdiscs(qdisc_json: &str, mtu_bytes: u32) -> PyResult<String> {
    let qdisc = tc::Qdisc::from_json(qdisc_json).map_err(qdisc_error)?;
    Ok(qdisc.shown_json(tc::qdisc::Device { mtu_bytes }, FIRST_HANDLE))
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(parse_size_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(parse_rate_bps, module)?)?;
    module.add_function(wrap_pyfunction!(parse_time_ns, module)?)?;
    module.add_function(wrap_pyfunction!(format_size, module)?)?;
    module.add_function(wrap_pyfunction!(format_rate, module)?)?;
    module.add_function(wrap_pyfunction!(format_time, module)?)?;
    module.add_function(wrap_pyfunction!(rate_notices, module)?)?;
    module.add_function(wrap_pyfunction!(qdisc_notices, module)?)?;
    module.add_function(wrap_pyfunction!(police_notices, module)?)?;
    module.add_function(wrap_pyfunction!(parse_police, module)?)?;
    module.add_function(wrap_pyfunction!(render_police, module)?)?;
    module.add_function(wrap_pyfunction!(parse_qdisc, module)?)?;
    module.add_function(wrap_pyfunction!(split_script, module)?)?;
    module.add_function(wrap_pyfunction!(render_qdisc, module)?)?;
    module.add_function(wrap_pyfunction!(shaped_bps, module)?)?;
    module.add_function(wrap_pyfunction!(qdisc_lines, module)?)?;
    module.add_function(wrap_pyfunction!(shown_qdiscs, module)?)?;
    module.add_function(wrap_pyfunction!(shown_rate, module)?)?;
    module.add_function(wrap_pyfunction!(shown_size, module)?)?;
    module.add_function(wrap_pyfunction!(shown_time, module)?)?;
    module.add_function(wrap_pyfunction!(congestion_controllers, module)?)?;
    module.add_function(wrap_pyfunction!(sources, module)?)?;
    module.add_function(wrap_pyfunction!(description_tables, module)?)?;
    module.add_function(wrap_pyfunction!(tcp_settings, module)?)?;
    module.add_function(wrap_pyfunction!(police_table, module)?)?;
    module.add_function(wrap_pyfunction!(disciplines, module)?)
}
