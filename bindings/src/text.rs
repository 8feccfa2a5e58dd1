//! Units and tc text.

use crate::errors;
use dumbbell_tc as tc;
use pyo3::prelude::*;

fn unit_error(error: tc::UnitError) -> PyErr {
    errors::unit(
        error.to_string(),
        error.value(),
        error.allowed(),
        error.hint(),
    )
}

fn qdisc_error(error: tc::QdiscError) -> PyErr {
    errors::qdisc(
        error.to_string(),
        error.value(),
        error.allowed(),
        error.hint(),
    )
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
